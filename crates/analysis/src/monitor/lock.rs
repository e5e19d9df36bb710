//! The replay of one lock: who is blocked on it, and what is certain about
//! its owner.

mod settling;

use super::contention::{Basis, Kind, Shared, Slice};
use super::crowd::Crowd;
use super::drawn::{append, Known};
use super::order::{LockEvent, LockEventKind, Order};
use super::owners::{Owner, OwnerId, OwnersById};
use super::segments::{Most, Segments};
use super::slicing::{Former, Mark, MarkKind, Slicer, LEAVING};
use headway_model::schedule::Schedule;
use headway_model::{ChainId, LockId, ThreadId, TimeNs};
use smallvec::SmallVec;
use std::collections::VecDeque;

/// Marks always kept, for contentions whose begin is reported only at their end.
const KEPT_MARKS: usize = 64;
/// Instants of one contention at which it is looked who had the lock.
const MOST_INSTANTS: u64 = 1 << 12;
/// So many marks are walked for a contention alone as quickly as it is found out
/// what they are for all.
const FEW_MARKS: usize = 16;

/// A blocked contention that is going on, or waits to be handed over.
#[derive(Debug, Default)]
pub(crate) struct Blocked {
    pub thread: ThreadId,
    pub chain: ChainId,
    pub start: TimeNs,
    /// Place of the begin in the lock's order; 0 if it has none.
    pub start_seq: u64,
    /// Marks that there were when it began, dropped ones included.
    start_mark: u32,
    /// When it ended; meaningless before it did.
    pub end: TimeNs,
    /// Place of the end in the lock's order.
    pub end_seq: u64,
    /// Marks that there were when it ended, dropped ones included.
    end_mark: u32,
    /// How many others were blocked on the lock when it began, or when it ended if that is more.
    waiters: u32,
    pub origin: Origin,
    pub bound: bool,
    /// Owner at the begin, if that can be trusted.
    pub owner: Option<(ThreadId, OwnerId)>,
    former: Former,
    /// Marks between its begin and the first one kept are missing.
    broken: bool,
    /// True if the thread itself was noted as an owner meanwhile.
    own_marks: bool,
    /// What was accounted for before its marks were dropped.
    settled: Option<Box<Settled>>,
}

impl Blocked {
    /// The owner when it began, `NONE` if that is not known.
    pub fn owner_at_begin(&self) -> ThreadId {
        self.owner.map_or(ThreadId::NONE, |(thread, _)| thread)
    }
}

#[derive(Debug)]
struct Settled {
    slicer: Slicer,
    slices: Vec<Slice>,
    up_to_seq: u64,
}

/// What began a blocked contention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A contended enter.
    #[default]
    Enter,
    /// A notify: the waiter must acquire the lock again.
    Notified,
    /// A wait that ended by itself. Only a re-entry says whether it blocked.
    Waited,
}

impl Origin {
    pub const fn after_wait(self) -> bool {
        matches!(self, Origin::Notified | Origin::Waited)
    }
}

/// What is counted while replaying.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub unpaired: u64,
    pub lost_numbers: u64,
    pub folded: u64,
    pub ends_lost: u64,
}

/// One lock.
#[derive(Debug, Default)]
pub(crate) struct LockReplay {
    id: LockId,
    pub kind: Kind,
    pub order: Order<LockEvent>,
    marks: VecDeque<Mark>,
    /// Marks that are not kept any more. May wrap, as what it is compared with.
    dropped: u32,
    /// `None` until they are worth working out: few locks have so many marks.
    segments: Option<Box<Segments>>,
    blocked: Crowd,
    /// Contentions that ended and wait until all pauses before their end are known.
    done: SmallVec<[Blocked; 1]>,
    /// Thread seen holding the lock last and not seen to release it.
    current: ThreadId,
    former: Former,
    /// Latest mark that is not kept any more.
    dropped_until: TimeNs,
    /// Last number that was dropped.
    last_lost: u64,
    /// Last number of which it was noted that it is dropped, see [`Self::note_lost`].
    noted_lost: u64,
    pub listed: bool,
}

impl LockReplay {
    /// A lock of which nothing is known.
    pub fn new(id: LockId, kind: Kind) -> LockReplay {
        LockReplay { id, kind, ..LockReplay::default() }
    }

    /// Makes this the replay of another lock, with the memory that this one had
    /// for marks: a new lock has as few of them as an old one.
    pub fn begin_anew(&mut self, id: LockId) {
        let mut marks = std::mem::take(&mut self.marks);
        marks.clear();
        marks.shrink_to(FEW_MARKS);
        *self = LockReplay { marks, listed: self.listed, ..LockReplay::new(id, self.kind) };
    }

    /// True if nothing would be lost by forgetting this lock.
    pub fn is_idle(&self) -> bool {
        self.order.waiting() == 0 && self.blocked.is_empty() && self.done.is_empty()
    }

    /// True if only a watermark is missing for nothing to be lost by forgetting it.
    pub fn could_settle(&self) -> bool {
        self.order.waiting() == 0 && self.blocked.is_empty()
    }

    /// Gives back memory that an idle lock does not need: of a million locks few
    /// are contended at a time.
    pub fn rest(&mut self) {
        if self.is_idle() {
            self.blocked = Crowd::default();
            self.done.shrink_to_fit();
            self.forget_segments();
            self.order.rest();
        }
    }

    fn forget_segments(&mut self) {
        if let Some(segments) = &mut self.segments {
            segments.begin_anew();
        }
    }

    fn mark_changed(&mut self, at: usize) {
        if let Some(segments) = &mut self.segments {
            segments.changed(at);
        }
    }

    /// True if a watermark can make this lock's replay go on.
    pub fn is_waiting(&self) -> bool {
        self.order.waiting() > 0 || !self.done.is_empty()
    }

    /// True if it has more marks than this, and than threads that are blocked: settling costs something for
    /// each of those.
    #[inline]
    pub fn is_full(&self, marks: usize) -> bool {
        self.marks.len() > marks && self.marks.len() > self.blocked.len()
    }

    /// How many marks are kept.
    #[cfg(test)]
    pub fn marks(&self) -> usize {
        self.marks.len()
    }

    /// Where the marks are kept.
    #[cfg(test)]
    pub fn marks_address(&self) -> *const Mark {
        self.marks.as_slices().0.as_ptr()
    }

    /// Takes in what is next in the lock's order, as far as it has arrived. True if that is the first of it since
    /// [`Self::listed`] was taken back.
    #[inline]
    pub fn replay_ready(&mut self, owners: &mut OwnersById, counts: &mut Counts) -> bool {
        while let Some(event) = self.order.next_ready() {
            self.replay(&event, owners, counts);
        }
        !std::mem::replace(&mut self.listed, true)
    }

    /// Takes in the next event of the lock's order.
    pub fn replay(&mut self, event: &LockEvent, owners: &mut OwnersById, counts: &mut Counts) {
        match event.kind {
            LockEventKind::Enter => self.enter(event, owners, counts),
            LockEventKind::Entered => self.acquired(event, owners, counts),
            LockEventKind::Reentered => self.acquired(event, owners, counts),
            LockEventKind::Exit => self.exit(event, owners, counts),
            LockEventKind::Wait => self.wait(event, owners, counts),
            LockEventKind::Notify => self.notify(event, owners, counts),
            LockEventKind::Waited => self.waited(event, Origin::Waited),
            LockEventKind::ReenterBegin => self.waited(event, Origin::Notified),
        }
    }

    /// A park on this lock is over: its contention ends. `acquired` if the thread
    /// may have the lock now.
    pub fn unparked(&mut self, event: &LockEvent, acquired: Option<MarkKind>, owners: &mut OwnersById) {
        let blocked = match self.blocked.remove(event.thread) {
            Some(blocked) => Some(blocked),
            None if event.start > TimeNs(0) && event.start <= event.time => Some(self.begin_told_late(event)),
            None => None,
        };
        if let Some(blocked) = blocked {
            self.end(event, blocked);
        }
        if let Some(kind) = acquired {
            self.taken(event, kind, owners);
        }
    }

    /// The thread was woken for this lock, and has it as far as `kind` says.
    pub fn taken(&mut self, event: &LockEvent, kind: MarkKind, owners: &mut OwnersById) {
        let owner = owners.intern(Owner::thread(self.id, event.thread));
        self.mark(event, event.thread, owner, kind);
        if kind == MarkKind::Acquired {
            self.now_holds(event.thread, event.time);
        }
    }

    /// The thread did not get the lock that it was woken for at `seq`.
    pub fn missed(&mut self, thread: ThreadId, seq: u64) {
        let at = self.marks.partition_point(|mark| mark.seq < seq);
        if let Some(mark) = self.marks.get_mut(at).filter(|mark| mark.seq == seq) {
            mark.kind = MarkKind::Woken;
            self.mark_changed(at);
        }
        if self.current == thread {
            self.current = ThreadId::NONE;
        }
    }

    /// A release of which it became known only now that it was of this lock.
    pub fn exited_before(&mut self, event: &LockEvent, kind: MarkKind, owners: &mut OwnersById) {
        let owner = self.exit_owner(event, owners);
        let at = self.marks.partition_point(|mark| mark.seq < event.seq);
        let nested = event.nested;
        let mark = Mark { seq: event.seq, time: event.time, thread: event.thread, owner, kind, nested };
        self.marks.insert(at, mark);
        self.mark_changed(at);
        self.note_own(event.thread);
        if at + 1 == self.marks.len() {
            self.now_left(event);
        }
    }

    /// Somebody released the lock.
    pub fn exited(&mut self, event: &LockEvent, kind: MarkKind, owners: &mut OwnersById) {
        let owner = self.exit_owner(event, owners);
        self.mark(event, event.thread, owner, kind);
        self.now_left(event);
    }

    /// The contention that has just begun is a re-acquisition after a wait, or not.
    pub fn after_wait(&mut self, thread: ThreadId, after_wait: bool) {
        if let Some(blocked) = self.blocked.get_mut(thread).filter(|_| after_wait) {
            blocked.origin = Origin::Notified;
        }
    }

    /// The thread's contention is reported in another way.
    pub fn forget(&mut self, thread: ThreadId) {
        self.blocked.remove(thread);
    }

    /// True if the thread is blocked on this lock.
    pub fn is_blocked(&self, thread: ThreadId) -> bool {
        self.blocked.contains(thread)
    }

    /// Numbers up to `last` are dropped.
    pub fn lose(&mut self, last: u64) {
        self.current = ThreadId::NONE;
        self.former = Former::default();
        self.last_lost = last;
        self.marks.push_back(Mark {
            seq: last,
            time: self.marks.back().map_or(self.dropped_until, |mark| mark.time),
            thread: ThreadId::NONE,
            owner: OwnerId::UNKNOWN,
            kind: MarkKind::Gap,
            nested: false,
        });
    }

    /// The same, of numbers that all locks share: to be called before the lock is
    /// used, so that a loss costs nothing for the locks that are not.
    pub fn note_lost(&mut self, last: u64) {
        if self.noted_lost < last {
            self.noted_lost = last;
            if !self.is_idle() {
                self.lose(last);
            }
        }
    }

    fn enter(&mut self, event: &LockEvent, owners: &mut OwnersById, counts: &mut Counts) {
        self.acts(event.thread, counts);
        let mut seen = None;
        if event.other.is_some() && event.other != event.thread {
            let owner = owners.intern(Owner::thread(self.id, event.other));
            let leaving = event.other != self.current && self.former.may_be_seen_leaving(event.other, event.time);
            seen = (!leaving).then_some((event.other, owner));
            // A begin that was reported late says nothing of what came in between.
            if self.marks.back().is_none_or(|last| last.time <= event.time + LEAVING) {
                self.mark(event, event.other, owner, MarkKind::Seen);
            }
        }
        let blocked = self.begin(event, Origin::Enter, seen);
        self.blocked.insert(event.thread, blocked);
    }

    fn acquired(&mut self, event: &LockEvent, owners: &mut OwnersById, counts: &mut Counts) {
        let begun = self.blocked.remove(event.thread);
        let told = event.start > TimeNs(0) && event.start <= event.time;
        let is_another = |begun: &Blocked| {
            told && event.kind == LockEventKind::Entered && begun.origin == Origin::Enter && begun.start != event.start
        };
        let begun = match begun {
            Some(begun) if is_another(&begun) => {
                counts.ends_lost += 1;
                None
            }
            begun => begun,
        };
        match begun {
            Some(blocked) => self.end(event, blocked),
            None if told => {
                let blocked = self.begin_told_late(event);
                self.end(event, blocked);
            }
            None => counts.unpaired += 1,
        }
        let only_bounded = event.kind == LockEventKind::Reentered && event.flag;
        if !only_bounded {
            let owner = owners.intern(Owner::thread(self.id, event.thread));
            self.mark_unblocked(event, owner, MarkKind::Acquired);
            self.now_holds(event.thread, event.time);
        }
    }

    fn end(&mut self, event: &LockEvent, mut blocked: Blocked) {
        if event.kind == LockEventKind::Reentered {
            if event.start > TimeNs(0) && blocked.settled.is_none() {
                blocked.start = event.start;
            }
            if blocked.origin == Origin::Enter {
                blocked.origin = Origin::Waited;
            }
            blocked.bound = event.flag;
        }
        if event.chain.is_some() {
            blocked.chain = event.chain;
        }
        blocked.end = event.time.max(blocked.start);
        blocked.end_seq = event.seq;
        blocked.end_mark = self.mark_count();
        blocked.waiters = blocked.waiters.max(self.blocked.len() as u32);
        self.done.push(blocked);
    }

    fn exit(&mut self, event: &LockEvent, owners: &mut OwnersById, counts: &mut Counts) {
        self.acts(event.thread, counts);
        let owner = self.exit_owner(event, owners);
        self.mark_unblocked(event, owner, MarkKind::Exit);
        self.now_left(event);
    }

    fn exit_owner(&self, event: &LockEvent, owners: &mut OwnersById) -> OwnerId {
        owners.intern(Owner {
            lock: self.id,
            thread: event.thread,
            chain: event.chain,
            frame: event.owner_frame,
            approximate: event.flag,
        })
    }

    fn now_left(&mut self, event: &LockEvent) {
        self.current = ThreadId::NONE;
        self.former = Former { thread: event.thread, until: event.time, left: true };
    }

    /// The thread alone is noted: which frame of the waiter's chain holds the
    /// lock is known only from an exit.
    fn wait(&mut self, event: &LockEvent, owners: &mut OwnersById, counts: &mut Counts) {
        self.acts(event.thread, counts);
        let owner = owners.intern(Owner::thread(self.id, event.thread));
        self.mark_unblocked(event, owner, MarkKind::Waiting);
        self.now_left(event);
    }

    fn notify(&mut self, event: &LockEvent, owners: &mut OwnersById, counts: &mut Counts) {
        self.acts(event.thread, counts);
        let owner = owners.intern(Owner::thread(self.id, event.thread));
        self.mark_unblocked(event, owner, MarkKind::Held);
        self.now_holds(event.thread, event.time);
        if event.other.is_none() {
            return;
        }
        let mut blocked = self.begin(event, Origin::Notified, Some((event.thread, owner)));
        blocked.thread = event.other;
        blocked.chain = ChainId::NONE;
        self.blocked.insert(event.other, blocked);
    }

    /// A wait ended: a re-entry may follow. One that a notify began goes on.
    fn waited(&mut self, event: &LockEvent, origin: Origin) {
        if !self.blocked.contains(event.thread) {
            let blocked = self.begin(event, origin, None);
            self.blocked.insert(event.thread, blocked);
        }
    }

    /// The thread did something with the lock that it cannot do while blocked
    /// on it: a contention still open has ended unseen, or never was one.
    fn acts(&mut self, thread: ThreadId, counts: &mut Counts) {
        if let Some(blocked) = self.blocked.remove(thread) {
            if blocked.origin == Origin::Enter {
                counts.ends_lost += 1;
            }
        }
    }

    fn now_holds(&mut self, thread: ThreadId, time: TimeNs) {
        if self.current.is_some() && self.current != thread {
            self.former = Former { thread: self.current, until: time, left: false };
        }
        self.current = thread;
    }

    fn begin(&self, event: &LockEvent, origin: Origin, owner: Option<(ThreadId, OwnerId)>) -> Blocked {
        Blocked {
            thread: event.thread,
            chain: event.chain,
            start: event.time,
            start_seq: event.seq,
            start_mark: self.mark_count(),
            end: event.time,
            end_seq: 0,
            end_mark: 0,
            waiters: self.blocked.len() as u32,
            origin,
            bound: false,
            owner,
            former: self.former,
            broken: false,
            own_marks: false,
            settled: None,
        }
    }

    /// A contention whose begin was not recorded, only reported by its end.
    fn begin_told_late(&self, event: &LockEvent) -> Blocked {
        let origin = match event.kind {
            LockEventKind::Reentered => Origin::Waited,
            _ => Origin::Enter,
        };
        let first_kept = self.marks.front().map_or(event.time, |mark| mark.time);
        Blocked {
            start: event.start,
            start_seq: 0,
            former: Former::default(),
            broken: self.dropped_until > event.start && first_kept > event.start,
            ..self.begin(event, origin, None)
        }
    }

    /// A blocked thread that is noted as an owner has a view of its own.
    fn note_own(&mut self, thread: ThreadId) {
        if let Some(blocked) = self.blocked.get_mut(thread) {
            blocked.own_marks = true;
        }
    }

    fn mark(&mut self, event: &LockEvent, thread: ThreadId, owner: OwnerId, kind: MarkKind) {
        self.note_own(thread);
        let nested = event.nested;
        self.marks.push_back(Mark { seq: event.seq, time: event.time, thread, owner, kind, nested });
    }

    /// The same for the event's own thread, which is not blocked.
    fn mark_unblocked(&mut self, event: &LockEvent, owner: OwnerId, kind: MarkKind) {
        let LockEvent { seq, time, thread, nested, .. } = *event;
        self.marks.push_back(Mark { seq, time, thread, owner, kind, nested });
    }

    /// Marks that there have been.
    fn mark_count(&self) -> u32 {
        self.dropped.wrapping_add(self.marks.len() as u32)
    }

    /// Where marks begin that are not `before`, which holds for the first ones.
    /// That is at the one with the number `hint`, unless marks came in between.
    fn first_mark(&self, hint: u32, before: impl Fn(&Mark) -> bool) -> usize {
        let at = (hint.wrapping_sub(self.dropped) as usize).min(self.marks.len());
        let fits = at.checked_sub(1).and_then(|last| self.marks.get(last)).is_none_or(&before)
            && !self.marks.get(at).is_some_and(&before);
        match fits {
            true => at,
            false => self.marks.partition_point(before),
        }
    }

    /// Takes out the contentions that ended before `watermark`.
    pub fn take_done(&mut self, watermark: TimeNs) -> SmallVec<[Blocked; 1]> {
        if self.done.iter().all(|blocked| blocked.end <= watermark) {
            return std::mem::take(&mut self.done);
        }
        let (ready, later) = std::mem::take(&mut self.done).into_iter().partition(|blocked| blocked.end <= watermark);
        self.done = later;
        ready
    }

    /// True if the end of a contention still open may be among what was dropped.
    pub fn may_have_lost_end(&self, blocked: &Blocked) -> bool {
        self.last_lost > blocked.start_seq
    }

    /// Takes out what is still blocked, as if it had ended at `end`.
    pub fn take_blocked(&mut self, end: TimeNs) -> SmallVec<[Blocked; 1]> {
        let mut all = self.blocked.take();
        let waiters = all.len() as u32;
        all.sort_by_key(|blocked| (blocked.start, blocked.thread));
        for blocked in &mut all {
            blocked.end = end.max(blocked.start);
            blocked.end_seq = u64::MAX;
            blocked.waiters = blocked.waiters.max(waiters);
        }
        all
    }

    /// Appends the slices of a contention.
    ///
    /// Who held the lock between two exits is the same for everybody who was
    /// blocked meanwhile: only what lies before the contention's first exit and
    /// after its last one is worked out for the contention alone. Says which slices
    /// are the same for all. Where that would be more than `most`, they are drawn;
    /// so they are where a crowd waits, each member blocked by all others.
    pub fn slice(
        &mut self,
        blocked: Blocked,
        in_flight: bool,
        most: &mut Most,
        out: &mut Vec<Slice>,
    ) -> Option<Shared> {
        let end = blocked.end;
        let thread = blocked.thread;
        // Nobody looked out for the marks of a thread whose begin was reported late.
        let shares = !blocked.own_marks && blocked.start_seq != 0;
        let (mut slicer, from_seq) = match blocked.settled {
            Some(settled) => {
                out.extend_from_slice(&settled.slices);
                (settled.slicer, settled.up_to_seq)
            }
            None => (new_slicer(&blocked), blocked.start_seq),
        };
        let first = match from_seq {
            0 => self.first_mark_after(blocked.start),
            seq => self.first_mark(blocked.start_mark, |mark| mark.seq <= seq),
        };
        let last = self.first_mark(blocked.end_mark, |mark| mark.seq < blocked.end_seq).max(first);
        let shares = shares && last - first > FEW_MARKS;
        let segments = match shares {
            true => {
                let segments = self.segments.get_or_insert_with(|| Box::new(Segments::new(self.kind)));
                segments.advance(&self.marks, last);
                Some(&**segments)
            }
            false => None,
        };
        let (mut at, mut same) = (first, None);
        while at < last {
            let Some(mark) = self.marks.get(at) else { break };
            slicer.mark(mark, end, out);
            at += 1;
            if let Some(segments) = segments.filter(|_| mark.is_exit()) {
                let found =
                    segments.shared(&self.marks, (at - 1, last), slicer.cursor(), end, (most, blocked.waiters), out);
                if let Some((to, time, shared)) = found {
                    slicer = Slicer::after_exit(thread, &self.marks[to], time);
                    at = to + 1;
                    same = Some(shared);
                }
            }
        }
        slicer.finish(end, in_flight, out);
        // Whoever takes off the end (clocks disagree) may have taken off these.
        same.filter(|shared| shared.end <= out.len())
    }

    /// Appends the slices of a contention of which a schedule says at which instants it is
    /// known who had the lock: each stands for its window.
    pub fn slice_by_instants(&self, blocked: &Blocked, schedule: &Schedule, out: &mut Vec<Slice>) {
        let (mut begin, end) = (blocked.start, blocked.end);
        let mut instants = schedule.some_within(begin, end, MOST_INSTANTS).peekable();
        let mut known = (OwnerId::UNKNOWN, Basis::NoMark);
        while let Some(instant) = instants.next() {
            known = self.owner_at(instant, blocked);
            if instants.peek().is_some() {
                let to = schedule.window_end(instant).clamp(begin, end);
                append(begin, to, known, out);
                begin = to;
            }
        }
        append(begin, end, known, out);
    }

    /// Who had the lock at an instant for which `blocked` waited: the first event after it
    /// says so.
    fn owner_at(&self, instant: TimeNs, blocked: &Blocked) -> Known {
        if instant <= self.dropped_until {
            return (OwnerId::UNKNOWN, Basis::Gap);
        }
        let first = self.marks.partition_point(|mark| mark.time < instant);
        for mark in self.marks.range(first..).take_while(|mark| mark.seq <= blocked.end_seq) {
            match mark.kind {
                MarkKind::Gap => return (OwnerId::UNKNOWN, Basis::Gap),
                MarkKind::Acquired | MarkKind::Woken if mark.thread == blocked.thread => {
                    return (OwnerId::UNKNOWN, Basis::WakeUp);
                }
                _ if mark.thread == blocked.thread => {}
                MarkKind::Exit => return (mark.owner, Basis::Exit),
                MarkKind::LastReader => return (mark.owner, Basis::LastReader),
                MarkKind::Held | MarkKind::Waiting | MarkKind::Seen => return (mark.owner, Basis::Held),
                MarkKind::Acquired | MarkKind::Woken => return (OwnerId::UNKNOWN, Basis::HandOver),
            }
        }
        (OwnerId::UNKNOWN, Basis::NoMark)
    }

    fn first_mark_after(&self, start: TimeNs) -> usize {
        let earlier = self.marks.iter().rposition(|mark| mark.kind != MarkKind::Gap && mark.time <= start);
        earlier.map_or(0, |at| at + 1)
    }

    /// Forgets the marks that no contention needs any more, and that are from before `from`.
    pub fn drop_marks(&mut self, from: TimeNs) {
        if self.marks.len() <= KEPT_MARKS {
            return;
        }
        let needed = self
            .blocked
            .iter()
            .chain(&self.done)
            .map(|blocked| match (&blocked.settled, blocked.start_seq) {
                (Some(settled), _) => settled.up_to_seq,
                // Its begin was reported by its end; it may need all there are.
                (None, 0) => 0,
                (None, seq) => seq,
            })
            .min()
            .unwrap_or(u64::MAX);
        let unneeded = self.marks.partition_point(|mark| mark.seq <= needed);
        // Who is blocked needs what happened since, whatever number it got when it was reported.
        let from = match from {
            TimeNs(u64::MAX) => from,
            _ => self.blocked.iter().chain(&self.done).fold(from, |from, blocked| from.min(blocked.start)),
        };
        let old = self.marks.partition_point(|mark| mark.time < from);
        let count = unneeded.min(self.marks.len() - KEPT_MARKS).min(old);
        if let Some(segments) = &mut self.segments {
            segments.forget(count);
        }
        self.dropped = self.dropped.wrapping_add(count as u32);
        for mark in self.marks.drain(..count) {
            self.dropped_until = self.dropped_until.max(mark.time);
        }
    }
}

fn new_slicer(blocked: &Blocked) -> Slicer {
    Slicer::new(blocked.thread, blocked.start, blocked.owner, blocked.former, blocked.broken)
}
