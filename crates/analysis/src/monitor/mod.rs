//! `monitor`: replays the events of each lock into contentions, split
//! by who held the lock.
//!
//! [`MonitorReplay`] brings the events of each lock into the lock's own order,
//! notes what is certain about its owner, and hands every contention to a
//! [`ContentionSink`] once all that happened before the contention's end has arrived.
//! The rules of who gets which part are in `slicing.rs`.

mod contention;
pub(crate) mod coverage;
mod crowd;
mod drawn;
pub(crate) mod going;
pub(crate) mod hand_over;
pub(crate) mod lock;
pub(crate) mod order;
mod owners;
mod segments;
pub(crate) mod slicing;
pub(crate) mod table;

#[cfg(test)]
pub(crate) use contention::List;
pub(crate) use contention::Shared;
pub use contention::{Basis, Contention, ContentionSink, Kind, OwnerSample, Slice, Sum, SumPart, Waited};
pub use owners::{Owner, OwnerId, OwnersById};

use crate::options::Bounds;
use crate::pauses::Pauses;
use going::ReadOwners;
use hand_over::{HandOver, Told};
use headway_model::event::{MonitorEnter, MonitorEntered, MonitorReentered};
use headway_model::{ChainId, Event, LockId, Seq, ThreadId, TimeNs};
use lock::{Counts, Origin};
use order::{Arrival, LockEvent, LockEventKind, Next};
use rustc_hash::FxHashMap;
use table::LockTable;

/// From so many locks on, those on which nothing is going on give back memory.
const MANY: usize = 1 << 12;

/// Replays monitor events into contentions.
#[derive(Debug)]
pub struct MonitorReplay {
    locks: LockTable,
    /// Locks that a watermark can make go on.
    listed: Vec<u32>,
    /// Contended enters without a number, by thread and lock.
    unnumbered: FxHashMap<(ThreadId, LockId), MonitorEnter>,
    /// Contentions of recordings that do not number their events.
    told: Vec<Told>,
    watermark: TimeNs,
    owners: OwnersById,
    hand_over: HandOver,
    counts: Counts,
    gaps_expected: bool,
    last_blocked: LockId,
    bounds: Bounds,
}

/// How far an event was taken in that has a place in its lock's order.
#[derive(Debug)]
pub(crate) enum Placing {
    /// It was.
    Done,
    /// What is left hands contentions over.
    Rest(Rest),
    /// It has none.
    Without,
}

/// An event that did not find its place, or after which a lock has too many marks.
#[derive(Debug)]
pub(crate) struct Rest {
    lock: LockId,
    index: u32,
    event: LockEvent,
    /// `None` if there is no room for another lock.
    arrival: Option<Arrival>,
}

/// What a replay counted, besides the contentions it handed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayCounts {
    /// Acquisitions whose beginning is not known.
    pub unpaired: u64,
    /// Numbers missing in the order of locks.
    pub lost_numbers: u64,
    /// Times that a memory bound folded details.
    pub folded: u64,
    /// Contentions whose end was dropped.
    pub ends_lost: u64,
    /// Slices of which it was checked that they add up to their contention.
    pub slices_checked: u64,
    /// Contentions whose slices did not.
    pub slices_wrong: u64,
}

/// A contention that had not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenContention {
    /// The blocked thread.
    pub thread: ThreadId,
    /// Its chain; `NONE` for a re-acquisition.
    pub chain: ChainId,
    /// The lock.
    pub lock: LockId,
    /// Since when.
    pub start: TimeNs,
    /// Who owns the lock now, as far as known.
    pub owner: ThreadId,
    /// Since when that is known.
    pub owner_from: TimeNs,
    /// Until when it surely did; later than all events if it does now.
    pub owner_until: TimeNs,
    /// True if the owner was read while it went on, which is done for contentions without a time limit that last.
    pub is_read: bool,
    /// True for a re-acquisition after `Object.wait`.
    pub after_wait: bool,
    /// True if it began before the recording; `start` is the recording's then.
    pub is_older_than_recording: bool,
}

impl OpenContention {
    /// Who owns the lock, since when that is known, and until when it is sure.
    pub(crate) fn set_owner(&mut self, owner: (ThreadId, TimeNs, TimeNs)) {
        (self.owner, self.owner_from, self.owner_until) = owner;
    }
}

impl MonitorReplay {
    /// A replay that keeps to `bounds`.
    pub fn new(bounds: Bounds) -> MonitorReplay {
        MonitorReplay {
            locks: LockTable::new(Kind::Monitor, bounds.locks),
            listed: Vec::new(),
            unnumbered: FxHashMap::default(),
            told: Vec::new(),
            watermark: TimeNs(0),
            owners: OwnersById::new(bounds.leaves),
            hand_over: HandOver::new(&bounds),
            counts: Counts::default(),
            gaps_expected: false,
            last_blocked: LockId::NONE,
            bounds,
        }
    }

    /// Says whether the recording leaves events out on purpose (a minimum
    /// duration), so that missing numbers are no loss.
    pub fn expect_gaps(&mut self, expected: bool) {
        self.gaps_expected = expected;
    }

    /// Says what the thread of the next event was last blocked on.
    pub(crate) fn was_blocked_on(&mut self, lock: LockId) {
        self.last_blocked = lock;
    }

    /// Every owner so far.
    pub(crate) fn owners_by_id(&self) -> &OwnersById {
        &self.owners
    }

    /// The same, for the replay of parks: all owners have one numbering.
    pub(crate) fn owners_mut(&mut self) -> &mut OwnersById {
        &mut self.owners
    }

    /// The pauses taken in so far.
    pub(crate) fn pauses(&self) -> &Pauses {
        &self.hand_over.pauses
    }

    /// What was counted so far.
    pub fn counts(&self) -> ReplayCounts {
        ReplayCounts {
            unpaired: self.counts.unpaired,
            lost_numbers: self.counts.lost_numbers,
            folded: self.counts.folded + self.hand_over.pauses.folded + self.hand_over.drawn(),
            ends_lost: self.counts.ends_lost,
            slices_checked: self.hand_over.checked,
            slices_wrong: self.hand_over.wrong,
        }
    }

    /// Takes in an event; ones that say nothing about monitors change nothing.
    pub fn feed(&mut self, event: &Event, sink: &mut impl ContentionSink) {
        match self.place(event) {
            Placing::Done => {}
            Placing::Rest(rest) => self.make_up(rest, sink),
            Placing::Without => self.feed_without_place(event, sink),
        }
    }

    /// Takes in an event that has a place in its lock's order, as most have,
    /// as far as that hands nothing over.
    #[inline]
    pub(crate) fn place(&mut self, event: &Event) -> Placing {
        let Some((id, mut event)) = numbered(event) else { return Placing::Without };
        if event.kind == LockEventKind::Enter {
            event.flag = self.hand_over.schedules.any_samples();
        }
        let nested = self.last_blocked.is_some() && self.last_blocked != id;
        self.place_at(id, LockEvent { nested, ..event })
    }

    /// The rest of what an event asks for that has a place in its lock's order.
    pub(crate) fn make_up(&mut self, rest: Rest, sink: &mut impl ContentionSink) {
        match rest.arrival {
            Some(Arrival::Placed) => {}
            Some(Arrival::Late) => self.late(rest.index, rest.event, sink),
            Some(Arrival::TooFar) => self.make_room(rest.index, rest.event, sink),
            None => return self.settle_another(rest, sink),
        }
        if self.is_full(rest.index) {
            self.settle(rest.index, sink);
        }
    }

    /// Takes in an event without such a place.
    pub(crate) fn feed_without_place(&mut self, event: &Event, sink: &mut impl ContentionSink) {
        match event {
            Event::MonitorEnter(e) if e.seq.is_none() => {
                self.enter_unnumbered(e);
            }
            Event::MonitorEntered(e) if e.seq.is_none() => self.entered_unnumbered(e, sink),
            Event::MonitorReentered(e) => self.reentered(e, sink),
            Event::StopTheWorld(e) => self.hand_over.pauses.add(e.start, e.duration),
            Event::Sampling(e) => self.hand_over.schedules.add(*e),
            Event::Watermark(time) => self.advance(*time, sink),
            _ => {}
        }
    }

    /// The stream is over: hands over what still waits, with what is still
    /// blocked counted up to `end`. `active` says when a thread was last seen
    /// to do something: one that did something later is not blocked any more.
    pub fn finish(
        &mut self,
        end: TimeNs,
        active: impl Fn(ThreadId) -> TimeNs,
        sink: &mut impl ContentionSink,
    ) -> Vec<OpenContention> {
        self.finish_with(end, active, &ReadOwners::default(), sink)
    }

    /// The same; `read` has the owners that were read of what is still blocked.
    pub(crate) fn finish_with(
        &mut self,
        end: TimeNs,
        active: impl Fn(ThreadId) -> TimeNs,
        read: &ReadOwners,
        sink: &mut impl ContentionSink,
    ) -> Vec<OpenContention> {
        self.listed = (0..self.locks.len() as u32).collect();
        self.advance(TimeNs(u64::MAX), sink);
        let mut open = Vec::new();
        for (lock, replay) in self.locks.iter_mut() {
            for blocked in replay.take_blocked(end) {
                let ended = blocked.origin == Origin::Waited
                    || active(blocked.thread) > blocked.start
                    || replay.may_have_lost_end(&blocked);
                if ended {
                    self.counts.ends_lost += u64::from(blocked.origin == Origin::Enter);
                    continue;
                }
                let mut contention = OpenContention {
                    thread: blocked.thread,
                    chain: blocked.chain,
                    lock: *lock,
                    start: blocked.start,
                    owner: ThreadId::NONE,
                    owner_from: TimeNs(0),
                    owner_until: TimeNs(0),
                    is_read: false,
                    after_wait: blocked.origin.after_wait(),
                    is_older_than_recording: false,
                };
                let seen = (blocked.owner_at_begin(), blocked.start);
                self.hand_over.give_open(*lock, replay, blocked, read, &mut self.owners, sink);
                contention.set_owner(self.hand_over.last_owner(&self.owners, seen));
                open.push(contention);
            }
        }
        open.sort_by_key(|contention| (contention.start, contention.thread));
        open
    }

    /// Replays an event if it is next in the lock's order, and keeps it until the
    /// ones before it are there if it is not.
    fn place_at(&mut self, lock: LockId, event: LockEvent) -> Placing {
        let Some(index) = self.locks.find_or_add(lock) else {
            return Placing::Rest(Rest { lock, index: u32::MAX, event, arrival: None });
        };
        let replay = &mut self.locks[index as usize].1;
        let arrival = match replay.order.pass(&event) {
            true => {
                replay.replay(&event, &mut self.owners, &mut self.counts);
                Arrival::Placed
            }
            false => replay.order.insert(event, self.bounds.pending_events),
        };
        if arrival == Arrival::Placed {
            if replay.replay_ready(&mut self.owners, &mut self.counts) {
                self.listed.push(index);
            }
            if !replay.is_full(self.bounds.marks) {
                return Placing::Done;
            }
        }
        Placing::Rest(Rest { lock, index, event, arrival: Some(arrival) })
    }

    /// True if the lock has more marks than are kept.
    fn is_full(&self, index: u32) -> bool {
        self.locks.get(index as usize).is_some_and(|(_, replay)| replay.is_full(self.bounds.marks))
    }

    /// Replays what is next in the lock's order, as far as it has arrived or the watermark says that it will not.
    fn go_on(&mut self, index: u32) {
        let Some((_, replay)) = self.locks.get_mut(index as usize) else { return };
        while let Some(next) = replay.order.next(self.watermark, self.bounds.pending_events) {
            match next {
                Next::Event(event) => replay.replay(&event, &mut self.owners, &mut self.counts),
                Next::Gap { count, last } if !self.gaps_expected => {
                    self.counts.lost_numbers += count;
                    replay.lose(last);
                }
                Next::Gap { .. } => {}
            }
        }
    }

    /// An event whose number was given up or is taken. The contention that it
    /// ends is counted all the same.
    fn late(&mut self, index: u32, event: LockEvent, sink: &mut impl ContentionSink) {
        let (lock, replay) = &mut self.locks[index as usize];
        let found = replay.order.unlose(event.seq);
        self.counts.lost_numbers = self.counts.lost_numbers.saturating_sub(u64::from(found && !self.gaps_expected));
        let ends = matches!(event.kind, LockEventKind::Entered | LockEventKind::Reentered);
        if found && ends && event.start > TimeNs(0) && event.start <= event.time {
            self.told.push(Told {
                kind: Kind::Monitor,
                event: MonitorEntered {
                    time: event.time,
                    start: event.start,
                    thread: event.thread,
                    lock: *lock,
                    chain: event.chain,
                    ..MonitorEntered::default()
                },
                owner: OwnerId::UNKNOWN,
                basis: Basis::Gap,
                after_wait: event.kind == LockEventKind::Reentered,
                bound: event.kind == LockEventKind::Reentered && event.flag,
            });
            self.bound_told(sink);
        } else {
            self.counts.folded += u64::from(found);
        }
    }

    /// The event is further ahead than there is room: gives up what is
    /// missing in between.
    fn make_room(&mut self, index: u32, event: LockEvent, sink: &mut impl ContentionSink) {
        self.counts.folded += 1;
        let watermark = std::mem::replace(&mut self.watermark, TimeNs(u64::MAX));
        self.go_on(index);
        let replay = &mut self.locks[index as usize].1;
        if let Some(Next::Gap { count, last }) = replay.order.jump_to(event.seq) {
            self.counts.lost_numbers += if self.gaps_expected { 0 } else { count };
            replay.lose(last);
        }
        let is_placed = replay.order.insert(event, self.bounds.pending_events) == Arrival::Placed;
        if is_placed && replay.replay_ready(&mut self.owners, &mut self.counts) {
            self.listed.push(index);
        }
        self.watermark = watermark;
        self.settle(index, sink);
    }

    /// There are too many locks: hands over what another one has only kept for a
    /// watermark, and gives its place to the event's.
    fn settle_another(&mut self, rest: Rest, sink: &mut impl ContentionSink) {
        self.counts.folded += 1;
        let Some(index) = self.locks.place_to_settle() else { return };
        self.settle(index, sink);
        self.locks.replace(index, rest.lock);
        if let Placing::Rest(rest) = self.place_at(rest.lock, rest.event) {
            self.make_up(rest, sink);
        }
    }

    /// Hands over and accounts for whatever the lock's marks are kept for,
    /// and drops them.
    fn settle(&mut self, index: u32, sink: &mut impl ContentionSink) {
        self.give_done(index, TimeNs(u64::MAX), sink);
        let replay = &mut self.locks[index as usize].1;
        if replay.settle(self.bounds.slices_per_contention) {
            self.counts.folded += 1;
        }
        replay.drop_marks(TimeNs(u64::MAX));
    }

    fn advance(&mut self, watermark: TimeNs, sink: &mut impl ContentionSink) {
        self.watermark = self.watermark.max(watermark);
        let many = self.locks.len() > MANY;
        let needed_from = self.hand_over.schedules.needed_from(self.watermark);
        for index in std::mem::take(&mut self.listed) {
            let Some((_, replay)) = self.locks.get_mut(index as usize) else { continue };
            replay.listed = true;
            self.go_on(index);
            self.give_done(index, self.watermark, sink);
            let replay = &mut self.locks[index as usize].1;
            replay.drop_marks(needed_from);
            replay.listed = replay.is_waiting();
            if replay.listed {
                self.listed.push(index);
            } else if many {
                replay.rest();
            }
        }
        self.give_told(self.watermark, sink);
        self.counts.folded += self.owners.take_folded();
    }

    fn give_done(&mut self, index: u32, watermark: TimeNs, sink: &mut impl ContentionSink) {
        let Some((lock, replay)) = self.locks.get_mut(index as usize) else { return };
        for blocked in replay.take_done(watermark) {
            self.hand_over.give(*lock, replay, blocked, &self.owners, sink);
        }
    }

    fn enter_unnumbered(&mut self, enter: &MonitorEnter) {
        if self.unnumbered.len() >= self.bounds.threads {
            self.counts.folded += 1;
            self.unnumbered.clear();
        }
        self.unnumbered.insert((enter.thread, enter.lock), *enter);
    }

    fn entered_unnumbered(&mut self, entered: &MonitorEntered, sink: &mut impl ContentionSink) {
        let enter = self.unnumbered.remove(&(entered.thread, entered.lock));
        let mut event = *entered;
        if event.start == TimeNs(0) {
            event.start = enter.map_or(TimeNs(0), |enter| enter.time);
        }
        if event.start == TimeNs(0) || event.start > event.time {
            self.counts.unpaired += 1;
            return;
        }
        let at_enter = enter.map_or(ThreadId::NONE, |enter| enter.owner);
        let (owner, basis) = match (event.previous_owner.is_some(), at_enter.is_some()) {
            (true, _) => (event.previous_owner, Basis::PreviousOwner),
            (false, true) => (at_enter, Basis::SeenAtEnter),
            (false, false) => (ThreadId::NONE, Basis::NoMark),
        };
        let owner = self.owners.intern(Owner::thread(event.lock, owner));
        self.told.push(Told { kind: Kind::Monitor, event, owner, basis, after_wait: false, bound: false });
        self.bound_told(sink);
    }

    fn reentered(&mut self, e: &MonitorReentered, sink: &mut impl ContentionSink) {
        if e.seq.is_some() {
            if let Some(index) = self.locks.find_or_add(e.lock) {
                let replay = &mut self.locks[index as usize].1;
                let begin = LockEvent::begin_of(e);
                let found = replay.order.note_begin(begin);
                self.counts.lost_numbers =
                    self.counts.lost_numbers.saturating_sub(u64::from(found && !self.gaps_expected));
            }
            if let Placing::Rest(rest) = self.place_at(e.lock, end_of_reentry(e)) {
                self.make_up(rest, sink);
            }
            return;
        }
        if e.start == TimeNs(0) || e.start > e.time {
            self.counts.unpaired += 1;
            return;
        }
        let event = MonitorEntered {
            time: e.time,
            start: e.start,
            thread: e.thread,
            lock: e.lock,
            seq: Seq::NONE,
            chain: e.chain,
            previous_owner: ThreadId::NONE,
        };
        self.told.push(Told {
            kind: Kind::Monitor,
            event,
            owner: OwnerId::UNKNOWN,
            basis: Basis::NoMark,
            after_wait: true,
            bound: e.bound,
        });
        self.bound_told(sink);
    }

    fn bound_told(&mut self, sink: &mut impl ContentionSink) {
        if self.told.len() >= self.bounds.pending_events {
            self.give_told(TimeNs(u64::MAX), sink);
        }
    }

    fn give_told(&mut self, watermark: TimeNs, sink: &mut impl ContentionSink) {
        let mut told = std::mem::take(&mut self.told);
        told.retain(|contention| {
            let ready = contention.event.time <= watermark;
            if ready {
                self.hand_over.give_told(contention, &self.owners, sink);
            }
            !ready
        });
        self.told = told;
    }
}

fn end_of_reentry(e: &MonitorReentered) -> LockEvent {
    LockEvent {
        seq: e.seq.0,
        time: e.time,
        start: e.start,
        thread: e.thread,
        other: ThreadId::NONE,
        chain: e.chain,
        owner_frame: 0,
        flag: e.bound,
        nested: false,
        kind: LockEventKind::Reentered,
    }
}

/// The lock and the event in one shape, if it has a place in a lock's order.
fn numbered(event: &Event) -> Option<(LockId, LockEvent)> {
    let blank = LockEvent {
        seq: 0,
        time: TimeNs(0),
        start: TimeNs(0),
        thread: ThreadId::NONE,
        other: ThreadId::NONE,
        chain: ChainId::NONE,
        owner_frame: 0,
        flag: false,
        nested: false,
        kind: LockEventKind::Enter,
    };
    macro_rules! shape {
        ($e:expr, $kind:ident $(, $field:ident: $value:expr)*) => {
            ($e.lock, LockEvent {
                seq: $e.seq.0,
                time: $e.time,
                thread: $e.thread,
                kind: LockEventKind::$kind,
                $($field: $value,)*
                ..blank
            })
        };
    }
    let (lock, event) = match event {
        Event::MonitorEnter(e) => shape!(e, Enter, chain: e.chain, other: e.owner),
        Event::MonitorEntered(e) => {
            shape!(e, Entered, chain: e.chain, start: e.start, other: e.previous_owner)
        }
        Event::MonitorExit(e) => shape!(
            e, Exit, chain: e.chain, owner_frame: e.owner_frame, flag: e.owner_approximate
        ),
        Event::MonitorWait(e) => shape!(e, Wait, chain: e.chain),
        Event::MonitorNotify(e) => shape!(e, Notify, other: e.waiter),
        Event::MonitorWaited(e) => shape!(e, Waited, chain: e.chain, start: e.start),
        _ => return None,
    };
    (event.seq != 0).then_some((lock, event))
}
