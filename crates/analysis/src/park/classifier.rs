//! What a park is for and what an unpark means: the one place that decides, for the
//! report, the pressure of both halves, `top` and transactions.
//!
//! The frames through which a thread parked say most (`synchronizer.rs`). Where the
//! stack was not taken, the class of the blocker decides; and where that is none of the
//! JDK's, a blocker that somebody owned exclusively is a lock.

use super::synchronizer::{classify, release, Classified, Release};
use super::Synchronizer;
use headway_model::event::{Park, ParkBegin, Spent, SpentOn, Unpark};
use headway_model::{ChainId, Dictionary, Event, LockId};
use rustc_hash::FxHashMap;

/// Remembers what was said of call stacks.
#[derive(Debug)]
pub struct Classifier {
    parks: FxHashMap<(ChainId, LockId), Classified>,
    unparks: FxHashMap<ChainId, Release>,
    /// Blockers found to be developers' own synchronizers, until they are taken.
    own: Vec<LockId>,
    bound: usize,
}

impl Default for Classifier {
    fn default() -> Classifier {
        Classifier::new(8_192)
    }
}

impl Classifier {
    /// Remembers so many call stacks at most.
    pub fn new(bound: usize) -> Classifier {
        Classifier { parks: FxHashMap::default(), unparks: FxHashMap::default(), own: Vec::new(), bound }
    }

    /// True if the event is about time in which a thread acquired a lock: somebody owned
    /// it meanwhile. False for waits, and for events that are about neither.
    pub fn acquires(&mut self, event: &Event, names: &Dictionary) -> bool {
        let what = match event {
            Event::ParkBegin(e) => self.park_begin(e, names),
            Event::Park(e) => self.park(e, names),
            Event::ShortParks(e) => self.classify(e.chain, e.blocker, false, "", names),
            Event::Spent(Spent { on: SpentOn::Monitor, .. }) => return true,
            Event::Spent(Spent { on: SpentOn::Wait, .. }) => return false,
            Event::Spent(e) => self.classify(e.chain, e.lock, e.on == SpentOn::OwnedPark, "", names),
            _ => return false,
        };
        what.synchronizer.is_lock()
    }

    pub(crate) fn park_begin(&mut self, e: &ParkBegin, names: &Dictionary) -> Classified {
        self.classify(e.chain, e.blocker, e.owner.is_some(), "", names)
    }

    pub(crate) fn park(&mut self, e: &Park, names: &Dictionary) -> Classified {
        self.classify(e.chain, e.blocker, e.owner.is_some(), &e.blocker_class, names)
    }

    pub(super) fn unpark(&mut self, e: &Unpark, names: &Dictionary) -> Release {
        if self.unparks.len() >= self.bound {
            // Only a shortcut; it fills again.
            self.unparks.clear();
        }
        *self.unparks.entry(e.chain).or_insert_with(|| release(frames(e.chain, names)))
    }

    /// Developers' own synchronizers found since this was asked last.
    pub(super) fn take_own(&mut self) -> Vec<LockId> {
        std::mem::take(&mut self.own)
    }

    fn classify(
        &mut self,
        chain: ChainId,
        blocker: LockId,
        owned: bool,
        class: &str,
        names: &Dictionary,
    ) -> Classified {
        let say = || {
            let class = match names.lock(blocker) {
                Some(def) if !def.class.is_empty() => &def.class,
                _ => class,
            };
            classify(class, frames(chain, names))
        };
        if chain.is_none() {
            let mut said = say();
            if owned && said.synchronizer == Synchronizer::Other {
                said.synchronizer = Synchronizer::ExclusiveSynchronizer;
            }
            return said;
        }
        if blocker.is_none() && !class.is_empty() {
            // Recordings of other tools may name a class without an object.
            return say();
        }
        if self.parks.len() >= self.bound {
            self.parks.clear();
        }
        let (own, bound) = (&mut self.own, self.bound);
        *self.parks.entry((chain, blocker)).or_insert_with(|| {
            let said = say();
            let user =
                matches!(said.synchronizer, Synchronizer::ExclusiveSynchronizer | Synchronizer::SharedSynchronizer);
            if user && own.len() < bound {
                own.push(blocker);
            }
            said
        })
    }
}

/// Class and method of each frame of a call stack as they are defined, leaf first.
fn frames(chain: ChainId, names: &Dictionary) -> impl Iterator<Item = (&str, &str)> {
    let def = names.chain(chain);
    def.into_iter().flat_map(|def| &def.chain.frames).map(|frame| {
        let method = names.method(frame.method);
        method.map_or(("", ""), |method| (&*method.class, &*method.name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_model::event::{LockDef, Spent};
    use headway_model::ThreadId;

    fn names(class: &str) -> Dictionary {
        let mut names = Dictionary::default();
        names.feed(&Event::Lock(LockDef { id: LockId(1), class: class.into(), ..LockDef::default() }));
        names
    }

    #[test]
    fn without_a_call_stack_the_class_decides_and_then_the_owner() {
        let park = |class: &str, owner: u64| {
            let begin = ParkBegin { blocker: LockId(1), owner: ThreadId(owner), ..ParkBegin::default() };
            Classifier::new(8).acquires(&Event::ParkBegin(begin), &names(class))
        };
        let nobody = ThreadId::NONE.0;
        assert!(park("java.util.concurrent.locks.ReentrantLock$NonfairSync", nobody));
        assert!(!park("java.util.concurrent.Semaphore$NonfairSync", 7), "a semaphore is no lock, whoever owned it");
        assert!(park("com.acme.Mutex", 7));
        assert!(!park("com.acme.Mutex", nobody));
    }

    #[test]
    fn sums_are_classified_like_what_they_sum_up() {
        let sum = |class: &str, on| {
            let spent = Spent { lock: LockId(1), on, ..Spent::default() };
            Classifier::new(8).acquires(&Event::Spent(spent), &names(class))
        };
        assert!(sum("java.lang.Object", SpentOn::Monitor));
        assert!(sum("com.acme.Mutex", SpentOn::OwnedPark));
        assert!(!sum("com.acme.Mutex", SpentOn::Park));
        assert!(sum("java.util.concurrent.locks.StampedLock", SpentOn::Park));
    }
}
