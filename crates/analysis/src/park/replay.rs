//! The replay of all parks, in their order.

use super::classifier::Classifier;
use super::event::{ParkEvent, ParkEventKind};
use super::synchronizer::{Classified, Release};
use super::wait::{ParkWait, Waker};
use super::Synchronizer;
use crate::monitor::hand_over::{HandOver, Told};
use crate::monitor::lock::Counts;
use crate::monitor::order::{Arrival, LockEvent, LockEventKind, Next, Order};
use crate::monitor::slicing::MarkKind;
use crate::monitor::table::LockTable;
use crate::monitor::{Basis, ContentionSink, Kind, OwnersById};
use crate::names::Names;
use crate::options::Bounds;
use headway_model::event::{ParkOutcome, Sampling};
use headway_model::{ChainId, Dictionary, DurationNs, Event, LockId, ThreadId, TimeNs};
use rustc_hash::FxHashMap;

/// What a replay counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParkCounts {
    /// Parks whose beginning is not known.
    pub unpaired: u64,
    /// Numbers missing in the order of parks and unparks.
    pub lost_numbers: u64,
    /// Times that a memory bound folded details.
    pub folded: u64,
    /// Parks whose end was dropped.
    pub ends_lost: u64,
    /// Slices of which it was checked that they add up to their contention.
    pub slices_checked: u64,
    /// Contentions whose slices did not.
    pub slices_wrong: u64,
}

/// What an event says about parks.
#[derive(Debug)]
pub(crate) enum Prepared {
    /// It has a place in the order.
    Placed(ParkEvent),
    /// A park of a recording without an order.
    Told(ParkEvent),
    /// The world was stopped.
    Pause(TimeNs, DurationNs),
    /// What is sampled changes.
    Sampling(Sampling),
    /// Nothing earlier follows.
    Watermark(TimeNs),
    /// Nothing.
    Nothing,
}

/// A thread as the replay knows it.
#[derive(Debug, Default)]
pub(super) struct Parker {
    pub parked: Option<Parked>,
    /// An unpark that came before the park that it ends.
    permit: Option<Given>,
    /// A lock that it was woken for, and the number of the mark that says so.
    woken_for: Option<(LockId, u64)>,
    /// The condition it waited on last.
    condition: LockId,
    /// The lock that it released last to wait on one of its conditions.
    released: LockId,
    last_wait: Option<LastWait>,
}

/// The last conditional wait of a thread that is over: on what, when it ended and what ended it.
#[derive(Clone, Copy, Debug)]
struct LastWait {
    blocker: LockId,
    synchronizer: Synchronizer,
    end: TimeNs,
    root: Waker,
}

/// A park that is going on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parked {
    pub blocker: LockId,
    pub owner: ThreadId,
    pub what: Classified,
    pub chain: ChainId,
    pub start: TimeNs,
    pub start_seq: u64,
    pub has_limit: bool,
    given: Option<Given>,
}

impl Parked {
    /// True if the park that an end without the number of a begin describes is another one.
    fn is_another(&self, ended: &Parked) -> bool {
        ended.start_seq == 0 && ended.start > TimeNs(0) && self.start != ended.start
    }

    /// The conditional wait that it was.
    pub fn wait(&self, thread: ThreadId, end: TimeNs, outcome: Option<ParkOutcome>, waker: Waker) -> ParkWait {
        ParkWait {
            thread,
            chain: self.chain,
            blocker: self.blocker,
            synchronizer: self.what.synchronizer,
            start: self.start,
            end: end.max(self.start),
            has_limit: self.has_limit,
            outcome,
            woken_for_nothing: false,
            waker,
            root: waker,
        }
    }
}

/// An unpark and the root of the wake-up that it passes on.
#[derive(Clone, Copy, Debug)]
struct Given {
    waker: Waker,
    root: Waker,
    release: Release,
    /// What the waker was last blocked on.
    last_blocked: LockId,
}

impl Given {
    /// Who ended the wait: whoever passes a wake-up on from within its own wait did not, and nobody did where another
    /// thread left the queue.
    fn ended_by(&self) -> Waker {
        match self.release {
            Release::PassesOn => self.root,
            Release::GivesUp => Waker::default(),
            _ => self.waker,
        }
    }
}

/// Replays parks into contentions and waits.
#[derive(Debug)]
pub struct ParkReplay {
    order: Order<ParkEvent>,
    pub(super) classifier: Classifier,
    pub(super) parkers: FxHashMap<ThreadId, Parker>,
    /// Number of parkers at which those that are not parked are forgotten.
    parkers_most: usize,
    pub(super) locks: LockTable,
    /// The lock of each condition, as far as learned.
    lock_of: FxHashMap<LockId, LockId>,
    pub(super) listed: Vec<u32>,
    pub(super) told: Vec<Told>,
    pub(super) waits: Vec<ParkWait>,
    watermark: TimeNs,
    pub(super) hand_over: HandOver,
    pub(super) counts: Counts,
    pub(super) last_lost: u64,
    gaps_expected: bool,
    pub(super) bounds: Bounds,
}

impl ParkReplay {
    /// A replay that keeps to `bounds`.
    pub fn new(bounds: Bounds) -> ParkReplay {
        ParkReplay {
            order: Order::default(),
            classifier: Classifier::new(bounds.sites),
            parkers: FxHashMap::default(),
            parkers_most: bounds.threads,
            locks: LockTable::new(Kind::Juc, bounds.locks),
            lock_of: FxHashMap::default(),
            listed: Vec::new(),
            told: Vec::new(),
            waits: Vec::new(),
            watermark: TimeNs(0),
            hand_over: HandOver::new(&bounds),
            counts: Counts::default(),
            last_lost: 0,
            gaps_expected: false,
            bounds,
        }
    }

    /// What was counted so far.
    pub fn counts(&self) -> ParkCounts {
        ParkCounts {
            unpaired: self.counts.unpaired,
            lost_numbers: self.counts.lost_numbers,
            folded: self.counts.folded + self.hand_over.drawn(),
            ends_lost: self.counts.ends_lost,
            slices_checked: self.hand_over.checked,
            slices_wrong: self.hand_over.wrong,
        }
    }

    /// What an event says about parks. Apart from [`ParkReplay::take`], because
    /// who takes the contentions in may need the names, too.
    ///
    /// `last_blocked` is what the event's thread was last blocked on.
    pub(crate) fn prepare(&mut self, event: &Event, last_blocked: LockId, names: &Dictionary) -> Prepared {
        let classifier = &mut self.classifier;
        match event {
            Event::ParkBegin(e) if e.seq.is_some() => Prepared::Placed(ParkEvent::begin(e, classifier, names)),
            Event::Park(e) if e.seq.is_some() => Prepared::Placed(ParkEvent::end(e, classifier, names)),
            Event::Park(e) => Prepared::Told(ParkEvent::end(e, classifier, names)),
            Event::Unpark(e) if e.seq.is_some() => {
                Prepared::Placed(ParkEvent::unpark(e, last_blocked, classifier, names))
            }
            Event::StopTheWorld(e) => Prepared::Pause(e.start, e.duration),
            Event::Sampling(e) => Prepared::Sampling(*e),
            Event::Watermark(time) => Prepared::Watermark(*time),
            _ => Prepared::Nothing,
        }
    }

    /// Takes in what an event says.
    pub(crate) fn take(&mut self, prepared: &Prepared, owners: &mut OwnersById, sink: &mut impl ContentionSink) {
        match prepared {
            Prepared::Placed(event) => self.place(*event, owners, sink),
            Prepared::Told(event) => self.told_at_end(event, owners, sink),
            Prepared::Pause(start, duration) => self.hand_over.pauses.add(*start, *duration),
            Prepared::Sampling(sampling) => self.hand_over.schedules.add(*sampling),
            Prepared::Watermark(time) => self.advance(*time, owners, sink),
            Prepared::Nothing => {}
        }
    }

    fn place(&mut self, event: ParkEvent, owners: &mut OwnersById, sink: &mut impl ContentionSink) {
        if let Some(begin) = begin_of(&event) {
            // Mostly there already; a recording may leave it out.
            if self.order.insert(begin, self.bounds.pending_events) == Arrival::Late {
                let found = self.order.unlose(begin.seq);
                self.found(found);
            }
        }
        if self.order.pass(&event) {
            self.replay(&event, owners, sink);
        } else {
            match self.order.insert(event, self.bounds.pending_events) {
                Arrival::Placed => {}
                Arrival::Late => return self.late(&event, owners, sink),
                Arrival::TooFar => self.make_room(event, owners, sink),
            }
        }
        while let Some(event) = self.order.next_ready() {
            self.replay(&event, owners, sink);
        }
    }

    /// The waits that are over since this was called last.
    pub(crate) fn take_waits(&mut self) -> Vec<ParkWait> {
        std::mem::take(&mut self.waits)
    }

    /// Gives their list back, emptied: mostly there is one at a time.
    pub(crate) fn give_back(&mut self, waits: Vec<ParkWait>) {
        const FEW: usize = 4;
        if waits.capacity() <= FEW {
            self.waits = waits;
        }
    }

    /// The same for who needs neither those waits nor [`Self::take_own_synchronizers`].
    pub(crate) fn forget_waits(&mut self) {
        let mut waits = self.take_waits();
        waits.clear();
        self.give_back(waits);
        self.take_own_synchronizers();
    }

    /// Blockers found to be developers' own synchronizers since this was called last.
    pub(crate) fn take_own_synchronizers(&mut self) -> Vec<LockId> {
        self.classifier.take_own()
    }

    /// True if the event is about time in which a thread acquired a lock.
    pub(crate) fn acquires(&mut self, event: &Event, names: &Names) -> bool {
        self.classifier.acquires(event, names.dictionary())
    }

    /// What a thread parks for, or parked for; `None` for events of other kinds.
    pub(crate) fn synchronizer(&mut self, event: &Event, names: &Names) -> Option<Synchronizer> {
        let names = names.dictionary();
        let what = match event {
            Event::ParkBegin(e) => self.classifier.park_begin(e, names),
            Event::Park(e) => self.classifier.park(e, names),
            _ => return None,
        };
        Some(what.synchronizer)
    }

    /// Says whether the recording leaves parks out on purpose (a floor), so that
    /// missing numbers are no loss.
    pub fn expect_gaps(&mut self, expected: bool) {
        self.gaps_expected = expected;
    }

    fn found(&mut self, found: bool) {
        let was_lost = found && !self.gaps_expected;
        self.counts.lost_numbers = self.counts.lost_numbers.saturating_sub(u64::from(was_lost));
    }

    pub(super) fn advance(&mut self, watermark: TimeNs, owners: &mut OwnersById, sink: &mut impl ContentionSink) {
        self.watermark = self.watermark.max(watermark);
        while let Some(next) = self.order.next(self.watermark, self.bounds.pending_events) {
            match next {
                Next::Event(event) => self.replay(&event, owners, sink),
                Next::Gap { count, last } => self.lose(count, last),
            }
        }
        let needed_from = self.hand_over.schedules.needed_from(self.watermark);
        for index in std::mem::take(&mut self.listed) {
            let Some((lock, replay)) = self.locks.get_mut(index as usize) else { continue };
            replay.note_lost(self.last_lost);
            for blocked in replay.take_done(self.watermark) {
                self.hand_over.give(*lock, replay, blocked, owners, sink);
            }
            replay.drop_marks(needed_from);
            replay.listed = replay.is_waiting();
            if replay.listed {
                self.listed.push(index);
            }
        }
        self.give_told(self.watermark, owners, sink);
        self.counts.folded += owners.take_folded();
    }

    /// The event is further ahead than there is room: gives up what is missing
    /// in between.
    fn make_room(&mut self, event: ParkEvent, owners: &mut OwnersById, sink: &mut impl ContentionSink) {
        self.counts.folded += 1;
        while let Some(next) = self.order.next(TimeNs(u64::MAX), self.bounds.pending_events) {
            match next {
                Next::Event(event) => self.replay(&event, owners, sink),
                Next::Gap { count, last } => self.lose(count, last),
            }
        }
        if let Some(Next::Gap { count, last }) = self.order.jump_to(event.seq) {
            self.lose(count, last);
        }
        self.order.insert(event, self.bounds.pending_events);
    }

    fn lose(&mut self, count: u64, last: u64) {
        if self.gaps_expected {
            return;
        }
        self.counts.lost_numbers += count;
        self.last_lost = last;
    }

    /// An event whose number was given up. The time that it says is counted.
    fn late(&mut self, event: &ParkEvent, owners: &mut OwnersById, sink: &mut impl ContentionSink) {
        let found = self.order.unlose(event.seq);
        self.found(found);
        let (true, Some((parked, outcome))) = (found, parked_of(event)) else { return };
        if parked.start == TimeNs(0) || parked.start > event.time {
            return;
        }
        self.forget_park(event);
        if parked.what.synchronizer.is_lock() {
            self.tell(event, &Parked { owner: ThreadId::NONE, ..parked }, Basis::Gap, owners, sink);
        } else {
            let wait = parked.wait(event.thread, event.time, Some(outcome), Waker::default());
            self.wait(wait, owners, sink);
        }
    }

    /// The end of a park came too late: nothing may count it a second time.
    fn forget_park(&mut self, event: &ParkEvent) {
        let ParkEventKind::End { start_seq, .. } = event.kind else { return };
        let Some(parker) = self.parkers.get_mut(&event.thread) else { return };
        if parker.parked.is_none_or(|parked| parked.start_seq != start_seq) {
            return;
        }
        let parked = parker.parked.take();
        let index = parked.and_then(|parked| self.locks.find(parked.blocker));
        if let Some((_, replay)) = index.and_then(|index| self.locks.get_mut(index as usize)) {
            replay.note_lost(self.last_lost);
            replay.forget(event.thread);
        }
    }

    fn replay(&mut self, event: &ParkEvent, owners: &mut OwnersById, sink: &mut impl ContentionSink) {
        match event.kind {
            ParkEventKind::Begin { blocker, owner, what, has_limit } => {
                let (chain, start, start_seq) = (event.chain, event.time, event.seq);
                let parked = Parked { blocker, owner, what, chain, start, start_seq, has_limit, given: None };
                self.begin(event, parked, owners);
            }
            ParkEventKind::Unpark { target, release, last_blocked } => {
                self.unpark(event, target, (release, last_blocked), owners);
            }
            ParkEventKind::End { .. } => self.end(event, owners, sink),
        }
    }

    fn begin(&mut self, event: &ParkEvent, mut parked: Parked, owners: &mut OwnersById) {
        self.bound_parkers();
        let parker = self.parkers.entry(event.thread).or_default();
        // Its end was dropped, or it would not park again. Locks count that themselves.
        let former = parker.parked.take();
        self.counts.ends_lost += u64::from(former.is_some_and(|former| !former.what.synchronizer.is_lock()));
        let woken_for = parker.woken_for.take();
        // Of a sampled park the unpark may have been recorded and the park not.
        let is_sampled = self.hand_over.schedules.sampling(event.time, event.time).is_some();
        let given = parker.permit.take().filter(|given| !is_sampled || given.waker.time >= event.time);
        let condition = parker.condition;
        let released = std::mem::take(&mut parker.released);
        let Parked { blocker, owner, what, .. } = parked;
        if let Some(given) = given {
            self.exit(&given, &parked, true, owners);
            parked.given = Some(given);
        }
        if let Some(parker) = self.parkers.get_mut(&event.thread) {
            parker.parked = Some(parked);
            if what.synchronizer.is_conditional() {
                parker.condition = blocker;
            }
        }
        if !what.synchronizer.is_lock() || blocker.is_none() {
            self.belongs(blocker, released);
            return;
        }
        if what.after_wait {
            self.belongs(condition, blocker);
        }
        if let Some((lock, seq)) = woken_for.filter(|(lock, _)| *lock == blocker) {
            if let Some(index) = self.locks.find(lock) {
                let replay = &mut self.locks[index as usize].1;
                replay.note_lost(self.last_lost);
                replay.missed(event.thread, seq);
            }
        }
        if let Some(index) = self.lock(blocker) {
            let replay = &mut self.locks[index as usize].1;
            replay.replay(&shape(event, LockEventKind::Enter, owner), owners, &mut self.counts);
            replay.after_wait(event.thread, what.after_wait);
        }
    }

    /// The lock of a condition, as far as learned.
    pub(crate) fn lock_of(&self, condition: LockId) -> Option<LockId> {
        self.lock_of.get(&condition).copied()
    }

    /// Learns the lock of a condition.
    fn belongs(&mut self, condition: LockId, lock: LockId) {
        if condition.is_some() && lock.is_some() && condition != lock && self.lock_of.len() < self.bounds.locks {
            self.lock_of.insert(condition, lock);
        }
    }

    /// What the unpark says about the lock of a condition: the thread that
    /// releases it may just have got it, or be about to wait on the condition.
    fn learn(&mut self, event: &ParkEvent, release: Release, parked: Option<&Parked>) {
        let Some(parker) = self.parkers.get_mut(&event.thread) else { return };
        // A thread that did not get its lock does nothing but park again.
        let held = parker.woken_for.take();
        let Some(parked) = parked else { return };
        match (parked.what.synchronizer.is_lock(), release) {
            (true, Release::Awaiting) => parker.released = parked.blocker,
            (false, Release::Exclusive) => {
                if let Some((lock, _)) = held.filter(|_| !self.lock_of.contains_key(&parked.blocker)) {
                    self.belongs(parked.blocker, lock);
                }
            }
            _ => {}
        }
    }

    fn unpark(
        &mut self,
        event: &ParkEvent,
        target: ThreadId,
        (release, last_blocked): (Release, LockId),
        owners: &mut OwnersById,
    ) {
        let waker = Waker { thread: event.thread, chain: event.chain, time: event.time, seq: event.seq };
        let parked = self.parkers.get(&target).and_then(|parker| parker.parked);
        let root = self.root(waker, release, (target, parked.as_ref()));
        self.learn(event, release, parked.as_ref());
        let given = Given { waker, root, release, last_blocked };
        let Some(parked) = parked else {
            self.bound_parkers();
            self.parkers.entry(target).or_default().permit = Some(given);
            return;
        };
        if parked.given.is_some() {
            // It is on its way already.
            return;
        }
        self.exit(&given, &parked, false, owners);
        if let Some(parked) = self.parkers.get_mut(&target).and_then(|parker| parker.parked.as_mut()) {
            parked.given = Some(given);
        }
    }

    /// Who began the wake-up: a thread that was itself woken from the same
    /// blocker while the target waited only passes it on. Where threads do not meet, it may also have got
    /// a permit then, and return it now. No thread ends its own wait: one that returned permits, and waits
    /// before they are taken, is woken by the thread that passes the wake-up on.
    fn root(&self, waker: Waker, release: Release, (target, parked): (ThreadId, Option<&Parked>)) -> Waker {
        let passed = || {
            let synchronizer = parked?.what.synchronizer;
            let parked = parked.filter(|parked| parked.blocker.is_some() && !synchronizer.is_lock())?;
            let LastWait { blocker, synchronizer: at, end, root } = self.parkers.get(&waker.thread)?.last_wait?;
            // At a phaser, each thread parks on another object.
            let is_same = match synchronizer {
                Synchronizer::Phaser => release == Release::PassesOn && at == synchronizer,
                _ => blocker == parked.blocker && (synchronizer.is_rendezvous() || release == Release::PassesOn),
            };
            (is_same && end > parked.start && root.seq != 0 && root.thread != target).then_some(root)
        };
        passed().unwrap_or(waker)
    }

    /// An unpark of a thread that waits for a lock, or for a condition of a
    /// lock, is somebody's exit from that lock.
    fn exit(&mut self, given: &Given, parked: &Parked, before: bool, owners: &mut OwnersById) {
        let lock = match parked.what.synchronizer.is_lock() {
            true => parked.blocker,
            false => self.lock_of.get(&parked.blocker).copied().unwrap_or(LockId::NONE),
        };
        let kind = match given.release {
            Release::Exclusive | Release::Awaiting | Release::Unknown => MarkKind::Exit,
            Release::Shared => MarkKind::LastReader,
            Release::PassesOn | Release::GivesUp | Release::No => return,
        };
        if lock.is_none() || (given.release == Release::Unknown && !parked.what.synchronizer.is_lock()) {
            return;
        }
        let Some(index) = self.lock(lock) else { return };
        let replay = &mut self.locks[index as usize].1;
        if replay.is_blocked(given.waker.thread) {
            return;
        }
        let event = LockEvent {
            seq: given.waker.seq,
            time: given.waker.time,
            chain: given.waker.chain,
            nested: given.last_blocked.is_some() && given.last_blocked != lock,
            ..blank(given.waker.thread, LockEventKind::Exit)
        };
        match before {
            true => replay.exited_before(&event, kind, owners),
            false => replay.exited(&event, kind, owners),
        }
    }

    fn end(&mut self, event: &ParkEvent, owners: &mut OwnersById, sink: &mut impl ContentionSink) {
        let ParkEventKind::End { unpark, waker, .. } = event.kind else { return };
        let Some((told, outcome)) = parked_of(event) else { return };
        self.bound_parkers();
        let parker = self.parkers.entry(event.thread).or_default();
        let mut begun = parker.parked.take();
        // Where parks are sampled, the end alone says when the park began: an earlier one's end is missing.
        if begun.is_some_and(|begun| begun.is_another(&told)) {
            self.counts.ends_lost += 1;
            let index = begun.take().and_then(|begun| self.locks.find(begun.blocker));
            if let Some((_, replay)) = index.and_then(|index| self.locks.get_mut(index as usize)) {
                replay.forget(event.thread);
            }
        }
        let parker = self.parkers.entry(event.thread).or_default();
        // Where parks are sampled, only the end of one says that there was one, and what ended it came before.
        let early = parker.permit.take_if(|given| begun.is_none() && unpark != 0 && given.waker.seq == unpark);
        if begun.is_none() && (told.start == TimeNs(0) || told.start > event.time) {
            self.counts.unpaired += 1;
            return;
        }
        let mut parked = begun.unwrap_or(told);
        if parked.chain.is_none() {
            (parked.chain, parked.what) = (told.chain, told.what);
        }
        if let Some(given) = early {
            self.exit(&given, &parked, true, owners);
            parked.given = Some(given);
        }
        let given = parked.given.filter(|given| unpark == 0 || given.waker.seq == unpark);
        let given = given.filter(|_| matches!(outcome, ParkOutcome::Unparked | ParkOutcome::Unknown));
        if !parked.what.synchronizer.is_lock() {
            let named = Waker { thread: waker, chain: ChainId::NONE, time: event.time, seq: unpark };
            let (waker, root) = given.map_or((named, named), |given| (given.ended_by(), given.root));
            let wait = parked.wait(event.thread, event.time, Some(outcome), waker);
            let woken_for_nothing = given.is_some_and(|given| given.release == Release::GivesUp);
            self.wait(ParkWait { root, woken_for_nothing, ..wait }, owners, sink);
            if let Some(parker) = self.parkers.get_mut(&event.thread) {
                let (blocker, synchronizer) = (parked.blocker, parked.what.synchronizer);
                parker.last_wait = Some(LastWait { blocker, synchronizer, end: event.time, root });
            }
        }
        self.came_back(event, &parked, given, outcome, owners, sink);
    }

    /// What a thread's coming back says about the lock it waited for.
    fn came_back(
        &mut self,
        event: &ParkEvent,
        parked: &Parked,
        given: Option<Given>,
        outcome: ParkOutcome,
        owners: &mut OwnersById,
        sink: &mut impl ContentionSink,
    ) {
        let is_lock = parked.what.synchronizer.is_lock();
        let lock = match is_lock {
            true => parked.blocker,
            false => self.lock_of.get(&parked.blocker).copied().unwrap_or(LockId::NONE),
        };
        if lock.is_none() {
            if is_lock {
                self.tell(event, parked, Basis::SeenAtEnter, owners, sink);
            }
            return;
        }
        let woken = outcome == ParkOutcome::Unparked
            && given.is_some_and(|given| !matches!(given.release, Release::PassesOn | Release::GivesUp | Release::No));
        let kind = match parked.what.synchronizer {
            Synchronizer::ReadLock | Synchronizer::StampedRead => MarkKind::Woken,
            _ if woken => MarkKind::Acquired,
            _ => MarkKind::Woken,
        };
        let Some(index) = self.lock(lock) else { return };
        let replay = &mut self.locks[index as usize].1;
        let shape = LockEvent { start: parked.start, ..shape(event, LockEventKind::Entered, ThreadId::NONE) };
        let mark = (outcome == ParkOutcome::Unparked).then_some(kind);
        match is_lock {
            true => replay.unparked(&shape, mark, owners),
            false if woken => replay.taken(&shape, kind, owners),
            false => return,
        }
        if !replay.listed {
            replay.listed = true;
            self.listed.push(index);
        }
        if replay.is_full(self.bounds.marks) {
            self.settle(index, owners, sink);
        }
        if mark == Some(MarkKind::Acquired) {
            if let Some(parker) = self.parkers.get_mut(&event.thread) {
                parker.woken_for = Some((lock, event.seq));
            }
        }
    }

    fn settle(&mut self, index: u32, owners: &OwnersById, sink: &mut impl ContentionSink) {
        let Some((lock, replay)) = self.locks.get_mut(index as usize) else { return };
        for blocked in replay.take_done(TimeNs(u64::MAX)) {
            self.hand_over.give(*lock, replay, blocked, owners, sink);
        }
        if replay.settle(self.bounds.slices_per_contention) {
            self.counts.folded += 1;
        }
        replay.drop_marks(TimeNs(u64::MAX));
    }

    fn lock(&mut self, id: LockId) -> Option<u32> {
        let Some(index) = self.locks.find_or_add(id) else {
            self.counts.folded += 1;
            return None;
        };
        self.locks[index as usize].1.note_lost(self.last_lost);
        Some(index)
    }

    /// Forgets threads that are not parked once there are too many; the next time
    /// when there are twice as many as are left, so that it costs little per event.
    fn bound_parkers(&mut self) {
        if self.parkers.len() < self.parkers_most {
            return;
        }
        self.parkers.retain(|_, parker| parker.parked.is_some());
        if self.parkers.len() >= self.bounds.threads {
            self.counts.folded += 1;
            self.parkers.clear();
        }
        self.parkers_most = (2 * self.parkers.len()).max(self.bounds.threads);
    }
}

/// A park and how it ended, as its end says it.
pub(super) fn parked_of(end: &ParkEvent) -> Option<(Parked, ParkOutcome)> {
    let ParkEventKind::End { blocker, owner, what, has_limit, start, start_seq, outcome, .. } = end.kind else {
        return None;
    };
    Some((Parked { blocker, owner, what, chain: end.chain, start, start_seq, has_limit, given: None }, outcome))
}

/// The begin of a park, as its end reports it.
fn begin_of(end: &ParkEvent) -> Option<ParkEvent> {
    let ParkEventKind::End { blocker, owner, what, has_limit, start, start_seq, .. } = end.kind else { return None };
    let kind = ParkEventKind::Begin { blocker, owner, what, has_limit };
    (start_seq != 0).then_some(ParkEvent { seq: start_seq, time: start, kind, ..*end })
}

fn blank(thread: ThreadId, kind: LockEventKind) -> LockEvent {
    LockEvent {
        seq: 0,
        time: TimeNs(0),
        start: TimeNs(0),
        thread,
        other: ThreadId::NONE,
        chain: ChainId::NONE,
        owner_frame: 0,
        flag: false,
        nested: false,
        kind,
    }
}

fn shape(event: &ParkEvent, kind: LockEventKind, other: ThreadId) -> LockEvent {
    LockEvent { seq: event.seq, time: event.time, chain: event.chain, other, ..blank(event.thread, kind) }
}
