//! Who gave a thread its permit to go on.
//!
//! # Protocol
//! An unpark writes its mark *before* it gives the permit, so whoever comes back
//! because of it finds the mark. The permit is one, however many give it: the
//! first giver's mark stays until the thread has taken it. Givers claim the mark
//! by one exchange of [`NONE`] for [`BUSY`], write, and publish the number last
//! (release); nobody waits for anybody. A giver that comes while a mark stands
//! leaves its number in `again`: if the thread takes the mark before that
//! permit is there, its next park ends at once, and only `again` says why.

use headway_model::{Seq, ThreadId, TimeNs};
use std::sync::atomic::{AtomicU64, Ordering};

const NONE: u64 = 0;
const BUSY: u64 = u64::MAX;

/// See the module. All-zero memory is a thread without a permit.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Permit {
    seq: AtomicU64,
    waker: AtomicU64,
    time: AtomicU64,
    again: AtomicU64,
}

/// An unpark, as its target finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// Its number.
    pub seq: Seq,
    /// Who gave it; `NONE` if not known any more.
    pub waker: ThreadId,
    /// When; zero if not known any more.
    pub time: TimeNs,
}

impl Given {
    /// The number of an unpark that is not recorded: who finds it still knows who woke it.
    pub const UNRECORDED: Seq = Seq(1 << 62);

    /// The number of the unpark, if it was recorded.
    pub fn recorded_seq(&self) -> Seq {
        if self.seq == Given::UNRECORDED {
            Seq::NONE
        } else {
            self.seq
        }
    }
}

impl Permit {
    /// Says that the permit is about to be given.
    #[inline]
    pub fn give(&self, seq: Seq, waker: ThreadId, time: TimeNs) {
        if self.seq.compare_exchange(NONE, BUSY, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.again.store(seq.0, Ordering::Relaxed);
            return;
        }
        self.waker.store(waker.0, Ordering::Relaxed);
        self.time.store(time.0, Ordering::Relaxed);
        self.seq.store(seq.0, Ordering::Release);
    }

    /// Takes the permit that ended a park. A permit given after `deadline` did
    /// not end it and stays.
    #[inline]
    pub fn take(&self, deadline: Option<TimeNs>) -> Option<Given> {
        let seq = self.seq.load(Ordering::Acquire);
        if seq == NONE || seq == BUSY {
            return None;
        }
        let given = TimeNs(self.time.load(Ordering::Relaxed));
        if deadline.is_some_and(|deadline| given > deadline) {
            return None;
        }
        let waker = ThreadId(self.waker.load(Ordering::Relaxed));
        self.seq.store(NONE, Ordering::Release);
        let again = self.again.load(Ordering::Relaxed);
        if again != NONE && again < seq && seq != Given::UNRECORDED.0 {
            // Redundant after all: it explains nothing that is still to come.
            let _ = self.again.compare_exchange(again, NONE, Ordering::Relaxed, Ordering::Relaxed);
        }
        Some(Given { seq: Seq(seq), waker, time: given })
    }

    /// Takes the number of an unpark that came while another's mark stood.
    #[inline]
    pub fn take_again(&self) -> Option<Given> {
        match self.again.swap(NONE, Ordering::Relaxed) {
            NONE => None,
            seq => Some(Given { seq: Seq(seq), waker: ThreadId::NONE, time: TimeNs(0) }),
        }
    }

    /// True if a permit waits to be taken.
    pub fn is_given(&self) -> bool {
        self.seq.load(Ordering::Relaxed) != NONE
    }

    /// When the permit that waits came.
    pub fn given_at(&self) -> TimeNs {
        TimeNs(self.time.load(Ordering::Relaxed))
    }

    /// Forgets it.
    pub fn clear(&self) {
        self.seq.store(NONE, Ordering::Relaxed);
        self.again.store(NONE, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_giver_is_named_and_a_second_explains_the_next_return() {
        let permit = Permit::default();
        assert_eq!(permit.take(None), None);
        permit.give(Seq(5), ThreadId(1), TimeNs(50));
        permit.give(Seq(6), ThreadId(2), TimeNs(60));
        assert_eq!(permit.take(None), Some(Given { seq: Seq(5), waker: ThreadId(1), time: TimeNs(50) }));
        assert_eq!(permit.take(None), None);
        assert_eq!(permit.take_again(), Some(Given { seq: Seq(6), waker: ThreadId::NONE, time: TimeNs(0) }));
        assert_eq!(permit.take_again(), None);
    }

    #[test]
    fn a_redundant_giver_is_forgotten_with_the_next_permit() {
        let permit = Permit::default();
        permit.give(Seq(5), ThreadId(1), TimeNs(50));
        permit.give(Seq(6), ThreadId(2), TimeNs(60));
        assert!(permit.take(None).is_some());
        permit.give(Seq(7), ThreadId(3), TimeNs(70));
        assert_eq!(permit.take(None), Some(Given { seq: Seq(7), waker: ThreadId(3), time: TimeNs(70) }));
        assert_eq!(permit.take_again(), None);
    }

    #[test]
    fn a_permit_given_after_the_deadline_waits_for_the_next_park() {
        let permit = Permit::default();
        permit.give(Seq(5), ThreadId(1), TimeNs(50));
        assert_eq!(permit.take(Some(TimeNs(49))), None);
        assert!(permit.is_given());
        assert_eq!(permit.take(Some(TimeNs(90))), Some(Given { seq: Seq(5), waker: ThreadId(1), time: TimeNs(50) }));
    }
}
