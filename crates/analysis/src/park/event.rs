//! Parks and unparks in one shape, with what their frames say.

use super::synchronizer::{classify, release, Classified, Release};
use super::Synchronizer;
use crate::monitor::order::Numbered;
use crate::names::Names;
use headway_model::event::{Park, ParkBegin, ParkOutcome, Unpark};
use headway_model::{ChainId, LockId, ThreadId, TimeNs};
use rustc_hash::FxHashMap;

/// Something that happened in the order of all parks and unparks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParkEvent {
    pub seq: u64,
    pub time: TimeNs,
    pub thread: ThreadId,
    pub chain: ChainId,
    pub kind: ParkEventKind,
}

/// Kinds of [`ParkEvent`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum ParkEventKind {
    Begin {
        blocker: LockId,
        owner: ThreadId,
        what: Classified,
    },
    End {
        blocker: LockId,
        owner: ThreadId,
        what: Classified,
        start: TimeNs,
        start_seq: u64,
        outcome: ParkOutcome,
        unpark: u64,
        waker: ThreadId,
    },
    Unpark {
        target: ThreadId,
        release: Release,
        last_blocked: LockId,
    },
}

impl Numbered for ParkEvent {
    fn seq(&self) -> u64 {
        self.seq
    }

    fn time(&self) -> TimeNs {
        self.time
    }
}

/// Remembers what was said of chains.
#[derive(Debug)]
pub(crate) struct Classifier {
    parks: FxHashMap<(ChainId, LockId), Classified>,
    unparks: FxHashMap<ChainId, Release>,
    /// Blockers found to be developers' own synchronizers.
    pub own: Vec<LockId>,
    bound: usize,
}

impl Classifier {
    pub fn new(bound: usize) -> Classifier {
        Classifier { parks: FxHashMap::default(), unparks: FxHashMap::default(), own: Vec::new(), bound }
    }

    pub fn begin(&mut self, e: &ParkBegin, names: &Names) -> ParkEvent {
        let what = self.park(e.chain, e.blocker, "", names);
        let kind = ParkEventKind::Begin { blocker: e.blocker, owner: e.owner, what };
        ParkEvent { seq: e.seq.0, time: e.time, thread: e.thread, chain: e.chain, kind }
    }

    pub fn end(&mut self, e: &Park, names: &Names) -> ParkEvent {
        let kind = ParkEventKind::End {
            blocker: e.blocker,
            owner: e.owner,
            what: self.park(e.chain, e.blocker, &e.blocker_class, names),
            start: e.start,
            start_seq: e.start_seq.0,
            outcome: e.outcome,
            unpark: e.unpark.0,
            waker: e.waker,
        };
        ParkEvent { seq: e.seq.0, time: e.time, thread: e.thread, chain: e.chain, kind }
    }

    pub fn unpark(&mut self, e: &Unpark, last_blocked: LockId, names: &Names) -> ParkEvent {
        if self.unparks.len() >= self.bound {
            // Only a shortcut; it fills again.
            self.unparks.clear();
        }
        let release = *self.unparks.entry(e.chain).or_insert_with(|| release(names.raw_frames(e.chain)));
        let kind = ParkEventKind::Unpark { target: e.target, release, last_blocked };
        ParkEvent { seq: e.seq.0, time: e.time, thread: e.thread, chain: e.chain, kind }
    }

    /// What a thread with this chain parks for.
    pub fn park(&mut self, chain: ChainId, blocker: LockId, class: &str, names: &Names) -> Classified {
        let say = || {
            let class = match names.lock(blocker) {
                Some(def) if !def.class.is_empty() => &def.class,
                _ => class,
            };
            classify(class, names.raw_frames(chain))
        };
        if chain.is_none() || (blocker.is_none() && !class.is_empty()) {
            // Foreign recordings may name a class without an object.
            return say();
        }
        if self.parks.len() >= self.bound {
            self.parks.clear();
        }
        let own = &mut self.own;
        *self.parks.entry((chain, blocker)).or_insert_with(|| {
            let said = say();
            let user =
                matches!(said.synchronizer, Synchronizer::ExclusiveSynchronizer | Synchronizer::SharedSynchronizer);
            if user {
                own.push(blocker);
            }
            said
        })
    }
}
