//! What of the totals rests on random instants.

use super::{clip, Aggregate, Range};
use crate::aspect::Aspect;
use crate::monitor::{Contention, Slice};
use crate::names::Names;
use crate::sampled::{Draw, Drawn, PartOf, Strata, Within};
use headway_model::schedule::Schedule;
use rustc_hash::FxHashMap;

/// Instants that are looked at in one slice: more of them are no longer a matter of chance.
const MOST_INSTANTS: u64 = 256;

impl Aggregate {
    /// Adds time that was shared out, along a path of the breakdown.
    pub(super) fn add_share_drawn(&mut self, path: usize, side: u32, drawn: &Drawn, ns: f64) {
        let lock = self.sides[side as usize].lock;
        let exact = self.exact_levels(drawn.any_thread);
        let owners = self.levels_without_owners();
        for level in exact..owners {
            let node = PartOf::Node(self.paths[path + level]);
            self.add_draw((lock, Within::Shared), node, &drawn.itself, ns);
        }
        if exact < owners {
            self.add_draw((lock, Within::Shared), PartOf::All, &drawn.itself, ns);
        }
        self.add_nodes_drawn(lock, path, exact, &drawn.owner, ns);
    }

    /// Adds time for which an instant says who had the lock.
    pub(super) fn add_owner_drawn(&mut self, lock: u32, slice: &Slice, draw: &Draw, ns: f64) {
        let part = match slice.basis {
            basis if basis.is_known() => PartOf::Owner(slice.owner.index() as u32),
            basis if basis.is_hand_off() => PartOf::HandOff(lock),
            _ => PartOf::Unknown(lock),
        };
        self.add_draw((lock, Within::Owned), PartOf::All, draw, ns);
        self.add_draw((lock, Within::Owned), part, draw, ns);
    }

    /// A contention was added of which it is known at random instants who had the lock.
    pub fn add_owners_drawn(&mut self, contention: &Contention<'_>, schedule: &Schedule, range: Range) {
        let Some(lock) = self.lock_ids.get(contention.lock) else { return };
        let exact = self.exact_levels(false);
        for slice in contention.slices {
            let Some(part) = clip(slice, range) else { continue };
            let end = slice.start + slice.duration;
            let instants = || schedule.some_within(slice.start, end, MOST_INSTANTS);
            let ns = (part.duration - part.paused) as f64 / instants().count().max(1) as f64;
            let path = self.path_of(contention, slice, range);
            for instant in instants() {
                let draw = Draw::certain(schedule, instant);
                self.add_owner_drawn(lock, slice, &draw, ns);
                if let Some(path) = path {
                    self.add_nodes_drawn(lock, path as usize, exact, &draw, ns);
                }
            }
        }
    }

    /// Levels of the breakdown that have an owner's aspect above them, or are one.
    fn add_nodes_drawn(&mut self, lock: u32, path: usize, exact: usize, draw: &Draw, ns: f64) {
        let (owners, levels) = (self.levels_without_owners(), self.tree.by().len());
        if owners == levels {
            return;
        }
        let above = exact.checked_sub(1).map(|level| self.paths[path + level]);
        let within = (lock, Within::Below(above));
        self.add_draw(within, PartOf::All, draw, ns);
        for level in owners..levels {
            self.add_draw(within, PartOf::Node(self.paths[path + level]), draw, ns);
        }
    }

    fn add_draw(&mut self, within: (u32, Within), part: PartOf, draw: &Draw, ns: f64) {
        self.folded += u64::from(!self.draws.add(within, part, draw, ns));
    }

    /// So many levels of the breakdown come before the first that is about owners.
    fn levels_without_owners(&self) -> usize {
        let by = self.tree.by();
        by.iter().position(|aspect| aspect.is_of_owner()).unwrap_or(by.len())
    }

    /// So many levels of the breakdown are exact, of what was only added up, too. Of virtual
    /// threads (`any_thread`) it is not known which one it was.
    fn exact_levels(&self, any_thread: bool) -> usize {
        let is_exact = |aspect: &Aspect| match aspect {
            Aspect::Kind | Aspect::LockClass | Aspect::LockName | Aspect::Lock | Aspect::Time => true,
            Aspect::ContenderThread | Aspect::ContenderGroup => !any_thread,
            _ => false,
        };
        let by = self.tree.by();
        by.iter().position(|aspect| !is_exact(aspect)).unwrap_or(by.len())
    }

    /// What intervals are computed from; `None` where everything is exact.
    pub fn strata(&self, names: &Names) -> Option<Strata<'_>> {
        let mut classes: FxHashMap<String, u32> = FxHashMap::default();
        self.draws.strata(|lock| {
            let count = classes.len() as u32;
            *classes.entry(names.lock_class_text(self.locks[lock as usize].lock)).or_insert(count)
        })
    }
}
