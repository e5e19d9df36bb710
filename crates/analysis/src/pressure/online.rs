//! Pressure while the program runs: intervals closed one after the other,
//! phases reported as they begin and end, and a picture of now.

use super::counters::{Blocked, Counting, Share};
use super::live;
use super::parks::Parks;
use super::phases::{fraction, Phase};
use super::windows::{lives, Cell, Window};
use super::{Pressure, PressureOptions};
use crate::monitor::{Basis, Contention, ContentionSink, Kind};
use crate::names::method;
use crate::options::Bounds;
use crate::park::Classifier;
use crate::replays::Contentions;
use headway_model::event::{PressurePhase, PressureWindow};
use headway_model::{ChainId, Dictionary, DurationNs, Event, LockId, ThreadId, TimeNs};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Intervals remembered for the picture of now.
pub const HISTORY: usize = 120;
/// Locks followed from interval to interval.
const MOST_FOLLOWED: usize = 512;
/// Locks whose owners are looked for. One takes up to 4 KB, and a lock on which nothing is going on gives its place to
/// another one: more are needed only where threads are blocked on so many locks at a time.
const MOST_REPLAYED: usize = 4 * MOST_FOLLOWED;
/// Locks of which a window is recorded, per interval.
const MOST_RECORDED: usize = 64;
/// Pressure below which a window of a single lock is not recorded.
const WORTH_RECORDING: f64 = 0.001;
/// Pressure from which on it is worth knowing who acquires and who holds.
pub const LOW_THRESHOLD: f64 = 0.01;

/// A lock that is followed from interval to interval.
#[derive(Debug, Default)]
pub(super) struct Followed {
    /// Pressure of the last intervals, newest last.
    pub history: VecDeque<f32>,
    /// Pressure of the last interval.
    pub now: f64,
    /// Highest pressure of an interval so far.
    pub max: f64,
    /// Time that threads spent acquiring it.
    pub acquiring_ns: u64,
    /// Chains that weighed most when they were last known.
    pub acquiring_chain: ChainId,
    pub owner_chain: (ChainId, u16),
    pub phase: Option<Phase>,
    last_seen: u64,
}

/// What became known when an interval was closed.
#[derive(Debug, Default)]
pub struct Closed {
    /// To be recorded: all locks together, then the locks that stand out.
    pub windows: Vec<PressureWindow>,
    /// Phases that began with this interval.
    pub begun: Vec<Phase>,
    /// Phases that ended with the interval before.
    pub ended: Vec<Phase>,
    /// Locks whose call chains are worth taking: first above a low threshold,
    /// at a new maximum, or in a phase.
    pub wanted: Vec<LockId>,
}

/// Pressure while the program runs.
#[derive(Debug)]
pub struct OnlinePressure {
    pressure: Pressure,
    classifier: Classifier,
    /// Who owned the locks; without it owners are taken from their exits.
    contentions: Option<Box<Contentions>>,
    pub(super) followed: FxHashMap<LockId, Followed>,
    /// Pressure of all locks together in the last intervals.
    pub(super) history: VecDeque<f32>,
    pub(super) now: f64,
    pub(super) intervals: u64,
    pub(super) parks: Parks,
    pub(super) counting: Counting,
    next: TimeNs,
    folded: u64,
}

impl OnlinePressure {
    /// Measures from `start` on. With a replay it is known who owned a lock during a contention; without,
    /// owners are taken from their exits.
    pub fn new(options: PressureOptions, bounds: Bounds, start: TimeNs, with_replay: bool) -> OnlinePressure {
        let mut pressure = Pressure::new(options, bounds, None);
        pressure.set_range(start, TimeNs(u64::MAX));
        if !with_replay {
            pressure.take_owners_at_exits();
        }
        let for_replay = Bounds { locks: bounds.locks.min(MOST_REPLAYED), ..bounds };
        OnlinePressure {
            pressure,
            classifier: Classifier::new(bounds.sites),
            contentions: with_replay.then(|| Box::new(Contentions::new(for_replay))),
            followed: FxHashMap::default(),
            history: VecDeque::new(),
            now: 0.0,
            intervals: 0,
            parks: Parks::default(),
            counting: Counting::default(),
            next: start,
            folded: 0,
        }
    }

    /// What is measured.
    pub fn options(&self) -> PressureOptions {
        self.pressure.options
    }

    /// Takes in an event. `names` has the definitions that it refers to.
    pub fn feed(&mut self, event: &Event, names: &Dictionary) {
        self.pressure.feed(event, self.classifier.acquires(event, names));
        self.parks.feed(event);
        if let Some(contentions) = &mut self.contentions {
            let (pressure, followed) = (&mut self.pressure, &mut self.followed);
            contentions.feed(event, names, &mut Owners { pressure, followed, closed_until: self.next });
        }
    }

    /// The thread was found in `Object.wait` or parked when the recording began at
    /// `since`; false if its events say that it has done something meanwhile.
    pub fn found_waiting(&mut self, thread: ThreadId, since: TimeNs, in_monitor: bool) -> bool {
        self.pressure.activities.found(thread, since, in_monitor)
    }

    /// A thread that was found waiting is seen to run at `time`, of which there
    /// may be no event: the mechanisms that report the end of a wait were not in
    /// force when it began.
    pub fn resumes(&mut self, thread: ThreadId, time: TimeNs) {
        self.pressure.resumes(thread, time);
    }

    /// True if the thread still waits as it was found.
    pub fn is_found_waiting(&self, thread: ThreadId) -> bool {
        self.pressure.activities.is_found(thread)
    }

    /// A lock's object died, and all its events were fed.
    pub fn forget_lock(&mut self, lock: LockId) {
        // A phase is reported when it has ended.
        if self.followed.get(&lock).is_some_and(|followed| followed.phase.is_none()) {
            self.followed.remove(&lock);
        }
        let contentions = self.pressure.forget_lock(lock);
        self.counting.forgotten(contentions);
        self.parks.forget(lock);
    }

    /// Details that a memory bound folded together.
    pub fn folded(&self) -> u64 {
        self.folded + self.parks.folded + self.pressure.folded()
    }

    /// True if the thread's events say nothing of what it is doing: it runs,
    /// sleeps, or does I/O.
    pub fn is_running(&self, thread: ThreadId) -> bool {
        self.pressure.activities.is_running(thread)
    }

    pub(super) fn census(&self) -> super::activity::Census {
        self.pressure.activities.census()
    }

    /// All events before `watermark` were fed: closes the intervals that ended
    /// by then.
    pub fn advance(&mut self, watermark: TimeNs) -> Vec<Closed> {
        let mut closed = Vec::new();
        while self.end_of_next() <= watermark {
            let end = self.end_of_next();
            closed.push(self.close(end));
        }
        closed
    }

    /// The recording ends at `end`: closes the interval under way too, and ends
    /// every phase.
    pub fn finish(&mut self, end: TimeNs) -> Vec<Closed> {
        let mut closed = self.advance(end);
        if end > self.next {
            closed.push(self.close(end));
        }
        let mut last = Closed::default();
        last.ended.extend(self.followed.values_mut().filter_map(|followed| followed.phase.take()));
        last.ended.sort_by_key(|phase| (phase.start, phase.lock));
        closed.push(last);
        closed
    }

    /// Up to when intervals are closed.
    pub(super) fn closed_until(&self) -> TimeNs {
        self.next
    }

    fn end_of_next(&self) -> TimeNs {
        self.next + self.pressure.windows.interval()
    }

    fn close(&mut self, end: TimeNs) -> Closed {
        let start = self.next;
        self.pressure.settle(end);
        self.pressure.windows.extend_to(end);
        let window = self.pressure.windows.take_first().unwrap_or_default();
        let duration = end.since(start);
        let lived = lives(self.pressure.activities.lives(), start, end, duration, 1).into_iter().sum();
        let running = window.running(lived);
        self.pressure.activities.forget_before(end);
        self.next = end;
        self.intervals += 1;
        self.now = fraction(window.acquiring, running);
        remember(&mut self.history, self.now);
        let mut closed = Closed { windows: windows(&window, start, duration, running), ..Closed::default() };
        self.count(&window);
        self.follow(window, start, end, running, &mut closed);
        self.counting.sums.phases += closed.begun.len() as u64;
        if self.followed.values().any(|followed| followed.phase.is_some()) {
            self.counting.sums.phase_ns += duration.0;
        }
        closed
    }

    /// Adds an interval to the sums that only grow.
    fn count(&mut self, window: &Window) {
        let pressure = &mut self.pressure;
        let share = |(lock, cell): (&LockId, &Cell)| Share {
            lock: *lock,
            owner: cell.owners.heaviest(),
            blocked: Blocked { blocked_ns: cell.acquiring, contentions: pressure.new_contentions(*lock) },
        };
        self.counting.interval(window.cells.iter().map(share), window.acquiring);
        self.counting.sums.waited_ns += window.waiting;
    }

    /// Gives the intervals that are over to their series, as long as `dictionary` knows
    /// what their locks are called.
    pub fn name_counters(&mut self, dictionary: &Dictionary) {
        let followed = &self.followed;
        self.counting.name(|share| {
            let lock = dictionary.lock(share.lock)?;
            let name = match &*lock.name {
                // Objects without a name would have a series each.
                "" => method::readable_class(&lock.class).to_string(),
                name => name.to_owned(),
            };
            // Who owned it is often known only when its contention is over.
            let (chain, frame) =
                share.owner.or_else(|| Some(followed.get(&share.lock)?.owner_chain)).unwrap_or_default();
            Some((name, live::chain(chain, frame, dictionary).0))
        });
    }

    fn follow(&mut self, window: Window, start: TimeNs, end: TimeNs, running: u64, closed: &mut Closed) {
        let threshold = self.pressure.options.threshold;
        self.choose(&window, running);
        for (lock, cell) in &window.cells {
            let Some(followed) = self.followed.get_mut(lock) else { continue };
            let pressure = fraction(cell.acquiring, running);
            if pressure >= LOW_THRESHOLD && (pressure > followed.max || pressure >= threshold) {
                closed.wanted.push(*lock);
            }
            followed.last_seen = self.intervals;
            followed.now = pressure;
            followed.max = followed.max.max(pressure);
            followed.acquiring_ns += cell.acquiring;
            followed.acquiring_chain = cell.acquirers.heaviest().unwrap_or(followed.acquiring_chain);
            followed.owner_chain = cell.owners.heaviest().unwrap_or(followed.owner_chain);
            if pressure >= threshold {
                let begins = followed.phase.is_none();
                let phase = followed.phase.get_or_insert_with(|| Phase::begin(*lock, start));
                phase.add(cell, running, end);
                phase.know(followed.acquiring_chain, followed.owner_chain);
                if begins {
                    closed.begun.push(phase.clone());
                }
            }
        }
        let intervals = self.intervals;
        for followed in self.followed.values_mut() {
            if followed.last_seen != intervals {
                followed.now = 0.0;
            }
            remember(&mut followed.history, followed.now);
            if let Some(mut phase) = followed.phase.take_if(|phase| phase.end < end) {
                // What was asked for in its last interval came after it.
                phase.know(followed.acquiring_chain, followed.owner_chain);
                closed.ended.push(phase);
            }
        }
        closed.begun.sort_by_key(|phase| phase.lock);
        closed.ended.sort_by_key(|phase| (phase.start, phase.lock));
    }

    /// Decides which locks of an interval are followed from now on, the heaviest
    /// first. Programs make locks by the thousand that somebody waits for once: of
    /// the lightest no window is recorded and no picture is shown, so that nothing
    /// is dropped where they find no room. A lock that weighs is dropped, and counted.
    fn choose(&mut self, window: &Window, running: u64) {
        let is_new = |(lock, _): &(&LockId, &Cell)| !self.followed.contains_key(lock);
        let mut new: Vec<(&LockId, &Cell)> = window.cells.iter().filter(is_new).collect();
        new.sort_unstable_by_key(|(lock, cell)| (std::cmp::Reverse(cell.acquiring), **lock));
        let free = MOST_FOLLOWED.saturating_sub(self.followed.len());
        let mut leaving = match new.len() > free {
            true => self.by_worth(window),
            false => Vec::new(),
        }
        .into_iter()
        .peekable();
        for (lock, cell) in new {
            let is_full = self.followed.len() >= MOST_FOLLOWED;
            let gives_way = leaving.next_if(|(acquiring, ..)| is_full && *acquiring < cell.acquiring);
            if let Some((acquiring, _, least)) = gives_way {
                self.followed.remove(&least);
                self.goes_without(acquiring, running);
            }
            if self.followed.len() < MOST_FOLLOWED {
                self.followed.insert(*lock, Followed::default());
            } else {
                self.goes_without(cell.acquiring, running);
            }
        }
    }

    /// A lock is not followed though time was spent on it in this interval.
    fn goes_without(&mut self, acquiring: u64, running: u64) {
        self.folded += u64::from(fraction(acquiring, running) >= WORTH_RECORDING);
    }

    /// The locks followed that may give way, by what they weigh in the interval;
    /// among those that weigh nothing the one that has been quiet longest is first.
    fn by_worth(&self, window: &Window) -> Vec<(u64, u64, LockId)> {
        let acquiring = |lock| window.cells.get(lock).map_or(0, |cell| cell.acquiring);
        let free = self.followed.iter().filter(|(_, followed)| followed.phase.is_none());
        let mut worth: Vec<_> = free.map(|(lock, f)| (acquiring(lock), f.last_seen, *lock)).collect();
        worth.sort_unstable();
        worth
    }
}

/// Notes who owned the locks that are followed.
struct Owners<'a> {
    pressure: &'a mut Pressure,
    followed: &'a mut FxHashMap<LockId, Followed>,
    closed_until: TimeNs,
}

impl ContentionSink for Owners<'_> {
    /// Who held the lock is known only when a contention is over; by then its
    /// first intervals may be closed.
    fn contention(&mut self, contention: &Contention<'_>) {
        if contention.kind == Kind::Conditional {
            return;
        }
        self.pressure.contention(contention);
        let Some(followed) = self.followed.get_mut(&contention.lock) else { return };
        for slice in contention.slices.iter().filter(|slice| slice.basis == Basis::Exit) {
            let owner = contention.owners.get(slice.owner);
            if owner.chain.is_none() {
                continue;
            }
            let owner = (owner.chain, owner.frame);
            followed.owner_chain = owner;
            let closed_part = slice.start + slice.duration.min(self.closed_until.since(slice.start));
            if let Some(phase) = &mut followed.phase {
                phase.add_owner(owner, closed_part.since(slice.start.max(phase.start)).0);
            }
        }
    }
}

fn remember(history: &mut VecDeque<f32>, pressure: f64) {
    if history.len() == HISTORY {
        history.pop_front();
    }
    history.push_back(pressure as f32);
}

fn windows(window: &Window, start: TimeNs, duration: DurationNs, running: u64) -> Vec<PressureWindow> {
    let of = |lock, acquiring| PressureWindow {
        start,
        duration,
        lock,
        acquiring: DurationNs(acquiring),
        running: DurationNs(running),
    };
    let mut locks: Vec<PressureWindow> = window
        .cells
        .iter()
        .filter(|(_, cell)| fraction(cell.acquiring, running) >= WORTH_RECORDING)
        .map(|(lock, cell)| of(*lock, cell.acquiring))
        .collect();
    locks.sort_by_key(|window| (std::cmp::Reverse(window.acquiring), window.lock));
    locks.truncate(MOST_RECORDED);
    locks.insert(0, of(LockId::NONE, window.acquiring));
    locks
}

impl Phase {
    /// The event that records the phase.
    pub fn event(&self) -> Event {
        Event::PressurePhase(PressurePhase {
            start: self.start,
            end: self.end,
            lock: self.lock,
            mean: self.mean() as f32,
            peak: self.peak as f32,
            acquiring_chain: self.acquiring_chain(),
            owner_chain: self.owner_chain().0,
        })
    }
}
