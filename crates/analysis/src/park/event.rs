//! Parks and unparks in one shape, with what their frames say.

use super::classifier::Classifier;
use super::synchronizer::{Classified, Release};
use crate::monitor::order::Numbered;
use headway_model::event::{Park, ParkBegin, ParkLimit, ParkOutcome, Unpark};
use headway_model::{ChainId, Dictionary, LockId, ThreadId, TimeNs};

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
        /// The thread comes back at some time, whoever unparks it.
        has_limit: bool,
    },
    End {
        blocker: LockId,
        owner: ThreadId,
        what: Classified,
        has_limit: bool,
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

impl ParkEvent {
    pub fn begin(e: &ParkBegin, classifier: &mut Classifier, names: &Dictionary) -> ParkEvent {
        let (what, has_limit) = (classifier.park_begin(e, names), e.limit != ParkLimit::None);
        let kind = ParkEventKind::Begin { blocker: e.blocker, owner: e.owner, what, has_limit };
        ParkEvent { seq: e.seq.0, time: e.time, thread: e.thread, chain: e.chain, kind }
    }

    pub fn end(e: &Park, classifier: &mut Classifier, names: &Dictionary) -> ParkEvent {
        let kind = ParkEventKind::End {
            blocker: e.blocker,
            owner: e.owner,
            what: classifier.park(e, names),
            has_limit: e.limit != ParkLimit::None,
            start: e.start,
            start_seq: e.start_seq.0,
            outcome: e.outcome,
            unpark: e.unpark.0,
            waker: e.waker,
        };
        ParkEvent { seq: e.seq.0, time: e.time, thread: e.thread, chain: e.chain, kind }
    }

    pub fn unpark(e: &Unpark, last_blocked: LockId, classifier: &mut Classifier, names: &Dictionary) -> ParkEvent {
        let release = classifier.unpark(e, names);
        let kind = ParkEventKind::Unpark { target: e.target, release, last_blocked };
        ParkEvent { seq: e.seq.0, time: e.time, thread: e.thread, chain: e.chain, kind }
    }
}
