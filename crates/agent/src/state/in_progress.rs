//! A park that began and has not ended.
//!
//! # Protocol
//! Only the parking thread begins and ends. `state` is written last at the begin
//! (release) and first at the end; it holds the begin's number, which no other
//! park has, and whether the begin was sent already. The draining thread sends
//! the begins of parks that go on (where a floor keeps the thread from doing it)
//! by one exchange of that word: if it succeeds, what was read before belongs to
//! this park. Nobody waits. A park that was under way when the recording began
//! (`park::under_way`) is begun by who finds it, while its thread
//! does not record yet, and ended by whoever exchanges the word.

use crate::exchanged::Awaited;
use crate::raw::{limit_of_word, limit_to_word};
use headway_model::event::ParkBegin;
use headway_model::{ChainId, LockId, Seq, ThreadId, TimeNs};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const SENT: u64 = 1;

/// See the module. All-zero memory is a thread that is not parked.
#[derive(Debug, Default)]
#[repr(C)]
pub struct InProgress {
    state: AtomicU64,
    thread: AtomicU64,
    start: AtomicU64,
    chain: AtomicU64,
    blocker: AtomicU64,
    owner: AtomicU64,
    limit: AtomicU64,
    /// Written and read by the parking thread only.
    thinned: AtomicBool,
}

impl InProgress {
    /// Begins; `is_sent` if the begin is already on its way to the recording.
    #[inline]
    pub fn begin(&self, begin: &ParkBegin, is_sent: bool) {
        self.thread.store(begin.thread.0, Ordering::Relaxed);
        self.start.store(begin.time.0, Ordering::Relaxed);
        self.chain.store(begin.chain.0, Ordering::Relaxed);
        self.blocker.store(begin.blocker.0, Ordering::Relaxed);
        self.owner.store(begin.owner.0, Ordering::Relaxed);
        self.limit.store(limit_to_word(begin.limit), Ordering::Relaxed);
        self.thinned.store(false, Ordering::Relaxed);
        self.state.store(begin.seq.0 << 1 | u64::from(is_sent), Ordering::Release);
    }

    /// Ends: what began, and whether that was sent.
    #[inline]
    pub fn end(&self) -> Option<(ParkBegin, bool)> {
        let state = self.state.swap(0, Ordering::Acquire);
        (state != 0).then(|| (self.read(state), state & SENT != 0))
    }

    /// The park in progress, which was not sent, was left out of what is counted. Parking thread only.
    #[inline]
    pub fn set_thinned(&self) {
        self.thinned.store(true, Ordering::Relaxed);
    }

    /// True if the last park was left out of what is counted. Parking thread only.
    #[inline]
    pub fn is_thinned(&self) -> bool {
        self.thinned.load(Ordering::Relaxed)
    }

    /// Ends the park in progress if it began at `since` or later and was not sent. True if it did; else
    /// nothing changes.
    #[inline]
    pub fn end_unsent(&self, since: TimeNs) -> bool {
        let state = self.state.load(Ordering::Relaxed);
        state != 0
            && state & SENT == 0
            && self.start.load(Ordering::Relaxed) >= since.0
            && self.state.compare_exchange(state, 0, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Ends the park of this number, unless it is over: what began. Anybody may
    /// ask; one of them gets it.
    pub fn end_of(&self, seq: Seq) -> Option<ParkBegin> {
        let state = self.state.load(Ordering::Acquire);
        if state >> 1 != seq.0 || state == 0 {
            return None;
        }
        let begin = self.read(state);
        let ended = self.state.compare_exchange(state, 0, Ordering::AcqRel, Ordering::Relaxed);
        ended.is_ok().then_some(begin)
    }

    /// The begin of a park that goes on since before a moment, if it was not sent;
    /// it is now.
    pub fn send(&self, before: TimeNs) -> Option<ParkBegin> {
        let state = self.state.load(Ordering::Acquire);
        if state == 0 || state & SENT != 0 {
            return None;
        }
        let begin = self.read(state);
        if begin.time >= before {
            return None;
        }
        let sent = self.state.compare_exchange(state, state | SENT, Ordering::AcqRel, Ordering::Relaxed);
        sent.is_ok().then_some(begin)
    }

    /// The park in progress, if there is one and its thread changes nothing.
    pub fn peek(&self) -> Option<ParkBegin> {
        let state = self.state.load(Ordering::Acquire);
        (state != 0).then(|| self.read(state))
    }

    /// The same of a park whose begin is in the recording, or on its way there.
    pub fn peek_sent(&self) -> Option<ParkBegin> {
        let state = self.state.load(Ordering::Acquire);
        (state & SENT != 0).then(|| self.read(state))
    }

    /// The number of the park in progress; `NONE` if there is none.
    #[inline]
    pub fn seq(&self) -> Seq {
        Seq(self.state.load(Ordering::Relaxed) >> 1)
    }

    /// True if its call chain was not walked: the park is recorded only if a random instant
    /// turns out to lie in it.
    #[inline]
    pub fn is_sampled(&self) -> bool {
        self.chain.load(Ordering::Relaxed) == ChainId::NONE.0
    }

    /// Since when the thread is parked.
    #[inline]
    pub fn start(&self) -> Option<TimeNs> {
        let state = self.state.load(Ordering::Acquire);
        (state != 0).then(|| TimeNs(self.start.load(Ordering::Relaxed)))
    }

    /// What the thread is parked on; `NONE` if it is not parked.
    #[inline]
    pub fn blocker(&self) -> LockId {
        match self.state.load(Ordering::Acquire) {
            0 => LockId::NONE,
            _ => LockId(self.blocker.load(Ordering::Relaxed)),
        }
    }

    /// What the thread waits for, where and since when; `NONE` if it is not parked.
    #[inline]
    pub fn waits_for(&self) -> Awaited {
        let is_parked = self.state.load(Ordering::Acquire) != 0;
        let word = |word: &AtomicU64| if is_parked { word.load(Ordering::Relaxed) } else { 0 };
        Awaited {
            lock: LockId(word(&self.blocker)),
            chain: ChainId(word(&self.chain)),
            since: TimeNs(word(&self.start)),
        }
    }

    fn read(&self, state: u64) -> ParkBegin {
        ParkBegin {
            time: TimeNs(self.start.load(Ordering::Relaxed)),
            thread: ThreadId(self.thread.load(Ordering::Relaxed)),
            seq: Seq(state >> 1),
            chain: ChainId(self.chain.load(Ordering::Relaxed)),
            blocker: LockId(self.blocker.load(Ordering::Relaxed)),
            owner: ThreadId(self.owner.load(Ordering::Relaxed)),
            limit: limit_of_word(self.limit.load(Ordering::Relaxed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_model::event::ParkLimit;

    #[test]
    fn a_begin_is_sent_once() {
        let begin = ParkBegin {
            time: TimeNs(5),
            thread: ThreadId(7),
            seq: Seq(9),
            chain: ChainId(2),
            blocker: LockId(3),
            owner: ThreadId(8),
            limit: ParkLimit::UntilEpochMs(1_700_000_000_000),
        };
        let cell = InProgress::default();
        let now = TimeNs(6);
        assert_eq!((cell.send(now), cell.end()), (None, None));
        cell.begin(&begin, false);
        assert_eq!(cell.seq(), Seq(9));
        assert_eq!(cell.send(begin.time), None, "its thread may have done something since");
        assert_eq!((cell.send(now), cell.send(now)), (Some(begin), None));
        assert_eq!(cell.end(), Some((begin, true)));
        cell.begin(&begin, true);
        assert_eq!(cell.end_of(Seq(8)), None);
        assert_eq!((cell.end_of(Seq(9)), cell.end_of(Seq(9)), cell.end()), (Some(begin), None, None));
        cell.begin(&begin, true);
        assert_eq!((cell.send(now), cell.end(), cell.end()), (None, Some((begin, true)), None));
    }

    #[test]
    fn a_park_that_was_sent_is_not_dropped() {
        let cell = InProgress::default();
        let begin = ParkBegin { time: TimeNs(5), seq: Seq(9), ..ParkBegin::default() };
        assert!(!cell.end_unsent(TimeNs(0)), "there is none");
        cell.begin(&begin, false);
        cell.set_thinned();
        assert!(!cell.end_unsent(TimeNs(6)) && cell.is_thinned(), "it is older");
        assert!(cell.end_unsent(TimeNs(5)) && !cell.end_unsent(TimeNs(5)));
        cell.begin(&begin, false);
        assert!(!cell.is_thinned(), "another park");
        assert!(cell.send(TimeNs(6)).is_some() && !cell.end_unsent(TimeNs(5)));
        assert_eq!(cell.end(), Some((begin, true)));
    }
}
