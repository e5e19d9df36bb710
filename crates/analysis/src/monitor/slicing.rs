//! Splits a contention by who held the lock.
//!
//! What is recorded about a lock are *marks*: moments at which something
//! about its owner is certain. Between two neighbouring marks a claim is made
//! only if the marks prove it:
//!
//! | from | to | the time between |
//! |---|---|---|
//! | anything but another owner | exit of O | O's, with the chain of the exit: O held the lock already, or barged in |
//! | O seen holding | exit of O, or O seen holding | O's |
//! | exit | acquisition by P | unknown: the lock changed hands |
//! | P seen holding | exit of O, or O seen holding | unknown: P's exit was not recorded |
//! | P seen holding | acquisition by O | unknown, likewise |
//! | last exit | end of the contention | unknown: wake-up |
//! | missing events | anything | unknown |
//! | exit | somebody woken | unknown: what happened until then was not recorded |
//!
//! "Seen holding" are an acquisition, a notify, the beginning of a wait, and
//! the owner that some contender read when it began to block. The last is the
//! weakest: an exit takes its number before the lock is free, so a contender
//! that comes right then still reads the owner that is leaving. A look proves
//! nothing about the thread that left within [`LEAVING`].
//!
//! A contention during which nobody was seen to release or acquire the lock goes
//! to the owner read at its beginning, marked [`Basis::SeenAtEnter`].

use super::contention::{Basis, Slice};
use super::owners::OwnerId;
use headway_model::{DurationNs, ThreadId, TimeNs};

/// How long a thread may stay the lock's owner after its exit took its number:
/// the release follows within a microsecond, unless the thread is scheduled out.
pub(crate) const LEAVING: DurationNs = DurationNs(50_000);

/// A thread known to have held the lock before whoever holds it now.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Former {
    pub thread: ThreadId,
    /// When that was last certain.
    pub until: TimeNs,
    /// True if it was seen to leave: nobody holds the lock from then on until
    /// somebody is known to.
    pub left: bool,
}

impl Former {
    /// True if a look at the owner at `time` may have seen this thread leave.
    pub fn may_be_seen_leaving(self, thread: ThreadId, time: TimeNs) -> bool {
        thread == self.thread && time <= self.until + LEAVING
    }
}

/// What is certain at a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkKind {
    /// The thread holds the lock and releases it right after.
    Exit,
    /// Readers hold the lock, and the thread is the last of them to leave.
    LastReader,
    /// A thread woken for the lock came back: until here, after an exit,
    /// nothing is recorded about it.
    Woken,
    /// The thread has just acquired the lock.
    Acquired,
    /// The thread holds the lock.
    Held,
    /// The thread holds the lock and is about to wait on it, releasing it.
    Waiting,
    /// A contender read that the thread owns the lock.
    Seen,
    /// Events are missing here.
    Gap,
}

/// A moment at which something about a lock's owner is certain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// Place in the lock's order.
    pub seq: u64,
    /// When. Times of different threads may disagree with `seq` a little.
    pub time: TimeNs,
    /// Who.
    pub thread: ThreadId,
    /// Who, with which chain; for kinds without a chain the thread alone.
    pub owner: OwnerId,
    /// What.
    pub kind: MarkKind,
    /// See [`Slice::owner_blocked`].
    pub nested: bool,
}

impl Mark {
    /// True if what comes after does not depend on what came before.
    pub fn is_exit(&self) -> bool {
        matches!(self.kind, MarkKind::Exit | MarkKind::LastReader)
    }
}

/// A thread known to hold the lock from the cursor on.
#[derive(Clone, Copy, Debug)]
struct Claim {
    thread: ThreadId,
    owner: OwnerId,
    /// Last moment at which it was seen holding.
    until: TimeNs,
    /// True if all that is known was read when the contention began.
    from_enter: bool,
    /// True if it was about to release the lock in `Object.wait`.
    leaving: bool,
}

impl Claim {
    /// What remains when another thread turns out to hold the lock.
    fn former(self) -> Former {
        Former { thread: self.thread, until: self.until, left: false }
    }
}

/// Walks along the marks inside one contention.
#[derive(Clone, Debug)]
pub(crate) struct Slicer {
    /// The blocked thread; marks of its own are not about this contention.
    thread: ThreadId,
    /// Up to here the contention is accounted for.
    cursor: TimeNs,
    claim: Option<Claim>,
    former: Former,
    released: bool,
    broken: bool,
    nested: bool,
}

impl Slicer {
    /// A contention of `thread` beginning at `start`, when `owner` was read from
    /// the lock; `former` is the thread known to have held it before. `broken`
    /// if marks between the start and the first one given are missing.
    pub fn new(
        thread: ThreadId,
        start: TimeNs,
        owner: Option<(ThreadId, OwnerId)>,
        former: Former,
        broken: bool,
    ) -> Slicer {
        let claim = owner.filter(|_| !broken).map(|(thread, owner)| Claim {
            thread,
            owner,
            until: start,
            from_enter: true,
            leaving: false,
        });
        Slicer { thread, cursor: start, claim, former, released: false, broken, nested: true }
    }

    /// The state after `exit` at `time`, which is the same whatever was before.
    pub fn after_exit(thread: ThreadId, exit: &Mark, time: TimeNs) -> Slicer {
        let former = Former { thread: exit.thread, until: time, left: true };
        Slicer { cursor: time, released: true, ..Slicer::new(thread, time, None, former, false) }
    }

    /// The same state in a contention of this thread.
    pub fn seen_by(&self, thread: ThreadId) -> Slicer {
        Slicer { thread, ..self.clone() }
    }

    /// Up to when the contention is accounted for.
    pub fn cursor(&self) -> TimeNs {
        self.cursor
    }

    /// Takes in the next mark in the lock's order, before `end`.
    pub fn mark(&mut self, mark: &Mark, end: TimeNs, out: &mut Vec<Slice>) {
        if mark.kind == MarkKind::Gap {
            return self.lose_track(out);
        }
        if mark.thread == self.thread {
            return;
        }
        let time = mark.time.clamp(self.cursor, end.max(self.cursor));
        self.nested = mark.nested || !matches!(mark.kind, MarkKind::Exit | MarkKind::LastReader);
        match mark.kind {
            MarkKind::Exit => self.exit(mark, time, Basis::Exit, out),
            MarkKind::LastReader => self.exit(mark, time, Basis::LastReader, out),
            MarkKind::Woken => self.woken(time, out),
            MarkKind::Acquired => self.acquired(mark, time, out),
            MarkKind::Held => self.seen(mark, time, out),
            MarkKind::Waiting => self.seen(mark, time, out),
            MarkKind::Seen => {
                if self.is_news(mark) {
                    self.seen(mark, time, out);
                }
            }
            MarkKind::Gap => {}
        }
    }

    /// Accounts for the rest, up to the contention's end. If it is `in_flight`,
    /// who held the lock last holds it still, as far as recorded.
    pub fn finish(mut self, end: TimeNs, in_flight: bool, out: &mut Vec<Slice>) {
        self.nested = true;
        if end < self.cursor {
            // Marks were taken in before the end was known, and the threads'
            // clocks disagree.
            return trim(out, self.cursor.since(end));
        }
        let Some(claim) = self.claim else {
            let basis = match (self.broken, self.released) {
                (true, _) => Basis::Gap,
                // Somebody who has barged in may hold it and has not left yet.
                (false, true) if in_flight => Basis::NoMark,
                (false, true) => Basis::WakeUp,
                (false, false) => Basis::NoMark,
            };
            return self.emit(end, OwnerId::UNKNOWN, basis, out);
        };
        if !claim.leaving && (claim.from_enter || in_flight) {
            return self.emit(end, claim.owner, Basis::SeenAtEnter, out);
        }
        self.close_claim(out);
        let basis = if claim.leaving { Basis::WakeUp } else { Basis::ExitMissed };
        self.emit(end, OwnerId::UNKNOWN, basis, out);
    }

    /// A look at the owner says something unless the owner it saw may be the
    /// one that had just left.
    fn is_news(&self, mark: &Mark) -> bool {
        let leaving = match self.claim {
            Some(claim) if claim.thread == mark.thread && !claim.leaving => return true,
            Some(claim) if claim.leaving => claim.former(),
            _ => self.former,
        };
        !leaving.may_be_seen_leaving(mark.thread, mark.time)
    }

    fn exit(&mut self, mark: &Mark, time: TimeNs, basis: Basis, out: &mut Vec<Slice>) {
        if self.begin_span(mark.thread, time, out) {
            self.emit(time, mark.owner, basis, out);
        }
        self.claim = None;
        self.former = Former { thread: mark.thread, until: time, left: true };
        self.released = true;
    }

    fn woken(&mut self, time: TimeNs, out: &mut Vec<Slice>) {
        if self.claim.is_none() && self.released && !self.broken {
            self.emit(time, OwnerId::UNKNOWN, Basis::HandOver, out);
        }
    }

    fn seen(&mut self, mark: &Mark, time: TimeNs, out: &mut Vec<Slice>) {
        self.begin_span(mark.thread, time, out);
        let from_enter = mark.kind == MarkKind::Seen && self.claim.is_some_and(|claim| claim.from_enter);
        self.claim = Some(Claim {
            thread: mark.thread,
            owner: mark.owner,
            until: time,
            from_enter,
            leaving: mark.kind == MarkKind::Waiting,
        });
    }

    fn acquired(&mut self, mark: &Mark, time: TimeNs, out: &mut Vec<Slice>) {
        match self.claim {
            Some(claim) if claim.leaving => {
                self.close_claim(out);
                self.emit(time, OwnerId::UNKNOWN, Basis::HandOver, out);
                self.former = claim.former();
            }
            Some(claim) if claim.from_enter => {
                self.emit(time, claim.owner, Basis::SeenAtEnter, out);
                self.former = claim.former();
            }
            Some(claim) => {
                self.close_claim(out);
                self.emit(time, OwnerId::UNKNOWN, Basis::ExitMissed, out);
                self.former = claim.former();
            }
            None if self.broken => self.emit(time, OwnerId::UNKNOWN, Basis::Gap, out),
            None if self.former.left => self.emit(time, OwnerId::UNKNOWN, Basis::HandOver, out),
            None => self.emit(time, OwnerId::UNKNOWN, Basis::NoMark, out),
        }
        self.broken = false;
        self.claim =
            Some(Claim { thread: mark.thread, owner: mark.owner, until: time, from_enter: false, leaving: false });
    }

    /// `thread` holds the lock at `time`. True if it did from the cursor on;
    /// otherwise accounts for the time until `time`.
    fn begin_span(&mut self, thread: ThreadId, time: TimeNs, out: &mut Vec<Slice>) -> bool {
        match self.claim {
            Some(claim) if claim.thread == thread => true,
            Some(claim) => {
                self.close_claim(out);
                self.former = claim.former();
                self.claim = None;
                if !claim.leaving {
                    self.emit(time, OwnerId::UNKNOWN, Basis::ExitMissed, out);
                }
                claim.leaving
            }
            None if self.broken => {
                self.emit(time, OwnerId::UNKNOWN, Basis::Gap, out);
                self.broken = false;
                false
            }
            None => true,
        }
    }

    fn lose_track(&mut self, out: &mut Vec<Slice>) {
        self.close_claim(out);
        self.claim = None;
        self.broken = true;
    }

    /// Accounts for the time up to the last moment the claimed owner was seen.
    fn close_claim(&mut self, out: &mut Vec<Slice>) {
        if let Some(claim) = self.claim {
            self.emit(claim.until, claim.owner, Basis::Held, out);
        }
    }

    fn emit(&mut self, to: TimeNs, owner: OwnerId, basis: Basis, out: &mut Vec<Slice>) {
        if to <= self.cursor {
            return;
        }
        out.push(Slice {
            start: self.cursor,
            duration: to.since(self.cursor),
            stop_the_world: DurationNs::ZERO,
            owner,
            basis,
            owner_blocked: self.nested && owner.is_known(),
            stands_for: 1,
        });
        self.cursor = to;
    }
}

/// Takes `excess` off the end.
fn trim(slices: &mut Vec<Slice>, mut excess: DurationNs) {
    while excess > DurationNs::ZERO {
        let Some(last) = slices.last_mut() else { return };
        if last.duration > excess {
            last.duration = last.duration - excess;
            return;
        }
        excess = excess - last.duration;
        slices.pop();
    }
}
