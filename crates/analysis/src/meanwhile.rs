//! What threads did while others waited for what they had, or made: stacks that were
//! sampled just then, by the place where the others waited.

use crate::aggregate::Range;
use crate::names::{Names, PathId, TextId};
use headway_model::event::OwnerSample;
use headway_model::TimeNs;
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

/// What was done while somebody waited at a place.
#[derive(Debug, Default)]
struct AtPlace {
    seen: FxHashMap<Actor, Seen>,
    /// The elapsed time that samples stand for, however many threads were sampled in it; until when.
    elapsed_ns: u64,
    until: TimeNs,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Meanwhile {
    places: FxHashMap<Place, AtPlace>,
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
        let ns = sample.sample.weight.0;
        self.count((class, waits), actor, Seen { count: 1, ns });
        // A sample stands for the time before it.
        if let Some(of_place) = self.places.get_mut(&(class, waits)) {
            of_place.elapsed_ns += time.since(of_place.until).0.min(ns);
            of_place.until = of_place.until.max(time);
        }
    }

    /// More of the elapsed time is known, at most so much.
    pub fn lasts(&mut self, place: Place, ns: u64) {
        if let Some(of_place) = self.places.get_mut(&place) {
            of_place.elapsed_ns += ns;
        }
    }

    /// Takes in what was seen of a stack while somebody waited at a place.
    pub fn count(&mut self, place: Place, actor: Actor, more: Seen) {
        if more.count == 0 {
            return;
        }
        let of_place = self.places.entry(place).or_default();
        if !of_place.seen.contains_key(&actor) {
            if self.kept >= self.bound {
                self.folded += 1;
                return;
            }
            self.kept += 1;
        }
        let seen = of_place.seen.entry(actor).or_default();
        seen.count += more.count;
        seen.ns += more.ns;
    }

    /// What was done while somebody waited there.
    pub fn of(&self, class: TextId, waits: Option<PathId>) -> impl Iterator<Item = (&Actor, &Seen)> {
        waits.and_then(|waits| self.places.get(&(class, waits))).into_iter().flat_map(|of_place| &of_place.seen)
    }

    /// For how long these were seen, whatever somebody waited for.
    pub fn ns_of(&self, is_one: impl Fn(&Actor) -> bool) -> u64 {
        let seen = self.places.values().flat_map(|of_place| &of_place.seen);
        seen.filter(|(actor, _)| is_one(actor)).map(|(_, seen)| seen.ns).sum()
    }

    /// The elapsed time in which threads were sampled where somebody waited while one of these was seen, or more.
    pub fn elapsed_of(&self, is_one: impl Fn(&Actor) -> bool) -> u64 {
        let places = self.places.values().filter(|of_place| of_place.seen.keys().any(&is_one));
        places.map(|of_place| of_place.elapsed_ns).sum()
    }

    /// The elapsed time in which threads were sampled while somebody waited there.
    pub fn elapsed_ns(&self, class: TextId, waits: Option<PathId>) -> u64 {
        waits.and_then(|waits| self.places.get(&(class, waits))).map_or(0, |of_place| of_place.elapsed_ns)
    }
}
