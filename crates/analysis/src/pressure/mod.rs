//! `pressure`: critical section pressure (CSP), per lock and interval.
//!
//! CSP of a lock in an interval = time that threads spent acquiring it, over
//! the running time of all threads; running time is a thread's life in the
//! interval without its condition waits. It is 0 where a lock impedes nobody
//! and 1 where every thread does nothing but acquire it. (David, Thomas,
//! Lawall, Muller: Continuously measuring critical section pressure with the
//! Free-Lunch profiler, OOPSLA 2014.)
//!
//! The tempting alternatives mislead, see [`pressure_report::OlderMetrics`]: they say
//! how busy a lock is, not how much of the program's progress it costs.
//!
//! * `activity`: what each thread is doing, known from its own events; out of it
//!   come spans of acquiring and of waiting.
//! * `windows`: spans and lives, cut at the intervals' edges and added up.
//! * [`phases`]: consecutive intervals above a threshold.
//! * `offline`: all intervals of a recording, at its end.
//! * [`online`]: intervals closed one after the other as watermarks allow.
//! * [`live`]: a picture of now, for `headway top`.
//! * `recorded`: windows and phases that a recording holds ready-made.
//!
//! The same [`Pressure`] serves both. Offline nothing is closed before the
//! end; online an interval is closed when a watermark says that all its events
//! have arrived, with what is still in flight counted up to its edge.

mod activity;
pub mod counters;
pub mod live;
mod offline;
pub mod online;
mod parks;
pub mod phases;
pub mod pressure_report;
mod recorded;
mod tally;
mod windows;

pub(crate) use recorded::Recorded;

use crate::monitor::{Basis, Contention};
use crate::options::{Bounds, ThreadFilter};
use activity::{Activities, Role, Spent};
use headway_model::event::{MonitorExit, ThreadDef};
use headway_model::{ChainId, DurationNs, Event, LockId, ThreadId, TimeNs};
use rustc_hash::FxHashMap;
use windows::Windows;

/// A call chain from one of its frames on.
pub(crate) type OwnerChain = (ChainId, u16);

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PressureOptions {
    /// Length of an interval, 10 ms at least.
    pub interval: DurationNs,
    /// Pressure from which on an interval belongs to a phase, 0 to 1.
    pub threshold: f64,
}

impl PressureOptions {
    /// The shortest interval: below it, edges weigh more than what is between.
    pub const SHORTEST: DurationNs = DurationNs(10_000_000);
}

impl Default for PressureOptions {
    /// Seconds, and phases from 5 % on.
    fn default() -> PressureOptions {
        PressureOptions { interval: DurationNs(1_000_000_000), threshold: 0.05 }
    }
}

/// Counts of one lock, over the whole range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LockCounts {
    /// Contentions.
    pub failed: u64,
    /// Time under the lock that somebody provably spent while others waited,
    /// once for each of those others.
    pub held_ns: u64,
    /// The slices that `held_ns` consists of.
    pub held: u64,
    /// How many of `failed` the counters have already.
    pub counted: u64,
}

/// Takes in events and adds up who acquired and who ran, interval by interval.
#[derive(Debug)]
pub struct Pressure {
    options: PressureOptions,
    bounds: Bounds,
    filter: Option<ThreadFilter>,
    activities: Activities,
    windows: Windows,
    counts: FxHashMap<LockId, LockCounts>,
    /// True if a virtual thread keeps its carrier while it blocks on a monitor.
    pinned: bool,
    /// True if owners' chains come from exits alone (there is no replay).
    owners_at_exits: bool,
    /// True if it is kept how acquiring time divides.
    keeps_parts: bool,
    folded: u64,
}

impl Pressure {
    /// Measures from `start` on; `filter` says which threads count.
    pub fn new(options: PressureOptions, bounds: Bounds, filter: Option<ThreadFilter>) -> Pressure {
        let options = PressureOptions { interval: options.interval.max(DurationNs(1)), ..options };
        Pressure {
            options,
            bounds,
            filter,
            activities: Activities::new(bounds.threads),
            windows: Windows::new(options.interval, bounds),
            counts: FxHashMap::default(),
            pinned: false,
            owners_at_exits: false,
            keeps_parts: false,
            folded: 0,
        }
    }

    /// The part of time that counts. Intervals begin at `from`.
    pub fn set_range(&mut self, from: TimeNs, to: TimeNs) {
        self.windows.set_range(from, to);
    }

    /// Takes owners' chains from exits: there is no replay that hands over
    /// contentions.
    pub(crate) fn take_owners_at_exits(&mut self) {
        self.owners_at_exits = true;
    }

    /// Keeps how the time spent acquiring each lock divides, for its phases.
    pub(crate) fn keeping_parts(self) -> Pressure {
        Pressure { keeps_parts: true, ..self }
    }

    /// True if any acquisition was seen.
    pub(crate) fn saw_acquisitions(&self) -> bool {
        !self.counts.is_empty()
    }

    /// Details that a memory bound folded together.
    pub(crate) fn folded(&self) -> u64 {
        self.folded + self.windows.folded + self.activities.folded
    }

    /// Takes in an event; ones that say nothing about threads or locks change
    /// nothing. `acquires` is what [`Classifier::acquires`](crate::park::Classifier)
    /// says about it.
    pub fn feed(&mut self, event: &Event, acquires: bool) {
        let (activities, mut spent) = self.parts();
        activities.leaves_found(event, &mut spent);
        match event {
            Event::MonitorEnter(e) => activities.enters(e, &mut spent),
            Event::MonitorEntered(e) => activities.entered(e, &mut spent),
            Event::MonitorWait(e) => activities.waits(e, &mut spent),
            Event::MonitorNotify(e) => activities.notifies(e, &mut spent),
            Event::MonitorWaited(e) => activities.waited(e, &mut spent),
            Event::MonitorReentered(e) => activities.reentered(e, &mut spent),
            Event::MonitorExit(e) => {
                activities.exits(e, &mut spent);
                if self.owners_at_exits {
                    self.owner_at_exit(e);
                }
            }
            Event::ParkBegin(e) => activities.parks(e, acquires, &mut spent),
            Event::Park(e) => activities.parked(e, acquires, &mut spent),
            Event::ShortParks(e) => activities.parked_shortly(e, acquires, &mut spent),
            Event::Spent(e) => activities.adds(e, acquires, &mut spent),
            Event::Unpark(e) => activities.acts(e.thread, e.time, &mut spent),
            Event::ThreadStart(e) => activities.starts(e.thread, e.time),
            Event::ThreadEnd(e) => activities.ends(e.thread, e.time, &mut spent),
            _ => self.feed_definition(event),
        }
    }

    /// What threads do, and where the time that they spent goes.
    fn parts(&mut self) -> (&mut Activities, Ledger<'_>) {
        let spent = Ledger {
            windows: &mut self.windows,
            counts: &mut self.counts,
            pinned: self.pinned,
            bound: self.bounds.locks,
            folded: &mut self.folded,
        };
        (&mut self.activities, spent)
    }

    /// A thread that was found waiting runs again.
    pub(crate) fn resumes(&mut self, thread: ThreadId, time: TimeNs) {
        let (activities, mut spent) = self.parts();
        activities.resumes(thread, time, &mut spent);
    }

    fn feed_definition(&mut self, event: &Event) {
        match event {
            Event::Recording(info) => self.pinned = java_version(&info.jvm_version).is_some_and(|java| java < 24),
            Event::Thread(def) => {
                let role = self.role(def);
                self.activities.known(def.id, role);
            }
            _ => {}
        }
    }

    fn role(&self, def: &ThreadDef) -> Role {
        if self.filter.as_ref().is_some_and(|filter| !filter.accepts(&def.name)) {
            return Role::LeftOut;
        }
        match (def.is_virtual, def.is_service) {
            (true, _) => Role::Virtual,
            (false, true) if &*def.group == "CarrierThreads" => Role::Carrier,
            (false, true) => Role::LeftOut,
            (false, false) if def.id.0 & ThreadId::NATIVE != 0 => Role::LeftOut,
            (false, false) => Role::Application,
        }
    }

    /// A lock's object died; nothing refers to it any more. Gives its contentions that the
    /// counters do not have yet.
    pub(crate) fn forget_lock(&mut self, lock: LockId) -> u64 {
        self.counts.remove(&lock).map_or(0, |counts| counts.failed - counts.counted)
    }

    /// Contentions on a lock, since this was asked last.
    pub(crate) fn new_contentions(&mut self, lock: LockId) -> u64 {
        let Some(counts) = self.counts.get_mut(&lock) else { return 0 };
        counts.failed - std::mem::replace(&mut counts.counted, counts.failed)
    }

    fn owner_at_exit(&mut self, exit: &MonitorExit) {
        if exit.chain.is_some() {
            // How long it held the lock is not recorded in this mode.
            let at = (exit.time, exit.time + DurationNs(1));
            self.windows.add_owner(exit.lock, (exit.chain, exit.owner_frame), at.0, at.1);
        }
    }

    /// Takes in who owned the lock during a contention.
    pub(crate) fn contention(&mut self, contention: &Contention<'_>) {
        let exits = || contention.slices.iter().filter(|slice| slice.basis == Basis::Exit);
        if let Some(counts) = self.counts.get_mut(&contention.lock) {
            exits().for_each(|slice| {
                counts.held_ns += slice.duration.0;
                counts.held += u64::from(slice.stands_for);
            });
        }
        let owners = exits().filter_map(|slice| {
            let from = contention.owner(slice);
            let owner = (from.chain, from.frame);
            from.chain.is_some().then_some((owner, slice.start, slice.start + slice.duration))
        });
        let span = (contention.start, contention.start + contention.duration);
        let keeps_parts = self.keeps_parts && self.activities.counts(contention.thread);
        let slices = if keeps_parts { contention.slices } else { &[] };
        self.windows.add_owners(contention.lock, span, owners, slices);
    }

    /// Counts what is in flight up to `until`.
    fn settle(&mut self, until: TimeNs) {
        let mut spent = Ledger {
            windows: &mut self.windows,
            counts: &mut self.counts,
            pinned: self.pinned,
            bound: self.bounds.locks,
            folded: &mut self.folded,
        };
        self.activities.settle(until, &mut spent);
        self.windows.settled(until);
    }
}

/// Where spans are added up.
struct Ledger<'a> {
    windows: &'a mut Windows,
    counts: &'a mut FxHashMap<LockId, LockCounts>,
    pinned: bool,
    bound: usize,
    folded: &'a mut u64,
}

impl Spent for Ledger<'_> {
    fn fail(&mut self, lock: LockId, count: u64) {
        if self.counts.len() >= self.bound && !self.counts.contains_key(&lock) {
            *self.folded += 1;
            return;
        }
        self.counts.entry(lock).or_default().failed += count;
    }

    fn acquired(&mut self, role: Role, lock: LockId, chain: ChainId, span: (TimeNs, TimeNs), in_monitor: bool) {
        // A carrier that a blocked virtual thread keeps is already counted.
        let adds_running = role == Role::Virtual && !(in_monitor && self.pinned);
        if matches!(role, Role::Application | Role::Virtual) {
            self.windows.add_acquiring(lock, chain, span.0, span.1, adds_running);
        }
    }

    fn waited(&mut self, role: Role, span: (TimeNs, TimeNs), in_monitor: bool) {
        let counts = match role {
            Role::Application | Role::Carrier => true,
            Role::Virtual => in_monitor && self.pinned,
            Role::LeftOut => false,
        };
        if counts {
            self.windows.add_waiting(span.0, span.1);
        }
    }
}

/// `17` of `17.0.15+6` or `1.8.0_402` (8).
pub(crate) fn java_version(text: &str) -> Option<u32> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    match numbers.next()?.ok()? {
        1 => numbers.next()?.ok(),
        version => Some(version),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_java_are_told_from_their_strings() {
        assert_eq!(java_version("17.0.15+6-Debian-1deb12u1"), Some(17));
        assert_eq!(java_version("1.8.0_402-b06"), Some(8));
        assert_eq!(java_version("25"), Some(25));
        assert_eq!(java_version(""), None);
    }
}
