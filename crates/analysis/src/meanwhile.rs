//! What threads did while others waited for what they had, or made: stacks that were
//! sampled just then, by the place where the others waited.

use crate::aggregate::Range;
use crate::names::{Names, PathId, TextId};
use headway_model::event::OwnerSample;
use rustc_hash::FxHashMap;

/// Where somebody waits: on what class of object, with which stack.
pub(crate) type Place = (TextId, PathId);
/// Who did something meanwhile: threads of a group, with a stack.
pub(crate) type Actor = (TextId, PathId);

/// Samples of one stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub count: u64,
    pub ns: u64,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Meanwhile {
    places: FxHashMap<Place, FxHashMap<Actor, Seen>>,
    kept: usize,
    bound: usize,
    pub folded: u64,
}

impl Meanwhile {
    /// At most `bound` stacks.
    pub fn new(bound: usize) -> Meanwhile {
        Meanwhile { places: FxHashMap::default(), kept: 0, bound, folded: 0 }
    }

    /// Takes in a sample.
    pub fn add(&mut self, sample: &OwnerSample, range: Range, names: &mut Names) {
        let time = sample.sample.time;
        if time < range.from || time >= range.to {
            return;
        }
        let class = names.lock_class(sample.lock);
        let paths = names.path(sample.waiter_chain, 0).zip(names.path(sample.sample.chain, 0));
        let Some((waits, path)) = paths else { return };
        let actor = (names.group(sample.sample.thread), path);
        self.count((class, waits), actor, Seen { count: 1, ns: sample.sample.weight.0 });
    }

    /// Takes in what was seen of a stack while somebody waited at a place.
    pub fn count(&mut self, place: Place, actor: Actor, more: Seen) {
        if more.count == 0 {
            return;
        }
        let of_place = self.places.entry(place).or_default();
        if !of_place.contains_key(&actor) {
            if self.kept >= self.bound {
                self.folded += 1;
                return;
            }
            self.kept += 1;
        }
        let seen = of_place.entry(actor).or_default();
        seen.count += more.count;
        seen.ns += more.ns;
    }

    /// What was done while somebody waited there.
    pub fn of(&self, class: TextId, waits: Option<PathId>) -> impl Iterator<Item = (&Actor, &Seen)> {
        waits.and_then(|waits| self.places.get(&(class, waits))).into_iter().flatten()
    }
}
