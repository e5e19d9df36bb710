//! All analyses of a recording, fed together.

mod sums;

use crate::aggregate::{clip, Aggregate, LockTotals, Range};
use crate::aspect::Aspect;
use crate::findings::{self, Grounds};
use crate::ledger::{self, Accounts, LockSplit, OwnersDid};
use crate::lock_groups::LockGroups;
use crate::long_contentions::LongContentions;
use crate::meanwhile::Meanwhile;
use crate::method::{Grouping, Owners, Rest, Samples};
use crate::monitor::{Contention, ContentionSink, Kind, OpenContention, Placing};
use crate::names::Names;
use crate::options::Options;
use crate::park::{ParkWait, Stragglers, Synchronizer};
use crate::pressure::pressure_report::PressureReport;
use crate::pressure::{java_version, Pressure, Recorded};
use crate::replays::Replays;
use crate::report::{has_only_sums, Report};
use crate::sampled::{Sampled, SamplingReport};
use crate::sites::Parks;
use crate::steal::Steal;
use crate::summary;
use crate::threads::{Running, Threads};
use crate::unmounted::Unmounted;
use crate::virtual_threads::VirtualThreads;
use crate::wait_class::WaitClasses;
use crate::wait_for::WaitFor;
use crate::waits::{Context, Waits};
use headway_model::event::{Degraded, OwnerSample, Park, RecordingInfo, Sample, SampleState, SelfCost, SpentOn};
use headway_model::{Event, LockId, Loss, ThreadId, TimeNs};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Takes in a recording's events, one by one, and says what they mean.
///
/// ```
/// use headway_analysis::{Analysis, Options};
/// use headway_model::{Event, TimeNs};
///
/// let mut analysis = Analysis::new(Options::default());
/// analysis.feed(&Event::Watermark(TimeNs(1_000_000_000)));
/// let report = analysis.finish();
/// assert_eq!(report.contentions, 0);
/// ```
///
/// [`Analysis::snapshot`] reports the state so far, without ending it.
#[derive(Debug)]
pub struct Analysis {
    pub(crate) options: Options,
    pub(crate) names: Names,
    pub(crate) aggregate: Aggregate,
    /// Conditional waiting, if the breakdown distinguishes kinds.
    pub(crate) waited: Option<Aggregate>,
    pub(crate) threads: Threads,
    pub(crate) waits: Waits,
    pub(crate) accounts: Accounts,
    pub(crate) samples: Samples,
    pub(crate) owners: Owners,
    pub(crate) meanwhile: Meanwhile,
    unmounted: Unmounted,
    /// True once there was a virtual thread.
    has_virtual: bool,
    pub(crate) parks: Parks,
    pub(crate) virtual_threads: VirtualThreads,
    pub(crate) pressure: Option<Pressure>,
    pub(crate) recorded_pressure: Recorded,
    pub(crate) steal: Steal,
    pub(crate) losses: BTreeMap<Loss, u64>,
    pub(crate) degraded: Vec<Degraded>,
    pub(crate) recording: Option<Arc<RecordingInfo>>,
    pub(crate) own_cost: SelfCost,
    pub(crate) others: BTreeMap<Arc<str>, u64>,
    pub(crate) events: u64,
    /// True once an event said where it stands in its lock's order.
    pub(crate) numbered: bool,
    pub(crate) replays: Replays,
    pub(crate) wait_for: WaitFor,
    pub(crate) stragglers: Stragglers,
    long: LongContentions,
    pub(crate) sampled: Sampled,
    range: Range,
    range_known: bool,
    /// The recording's start, as far as known.
    pub(crate) start: TimeNs,
    pub(crate) latest: TimeNs,
    /// True if events were dropped since the last watermark.
    drops_events: bool,
    /// True if the recording ended before all threads' events were read.
    is_unfinished: bool,
    /// The watermark after which none were dropped any more.
    dropped_until: TimeNs,
    accepted: FxHashMap<ThreadId, bool>,
}

impl Analysis {
    /// An analysis that has seen nothing yet.
    pub fn new(options: Options) -> Analysis {
        let bounds = options.bounds;
        Analysis {
            names: Names::default(),
            aggregate: Aggregate::new(&options),
            waited: options.by.contains(&Aspect::Kind).then(|| Aggregate::new(&options)),
            threads: Threads::new(bounds.threads),
            waits: Waits::new(bounds.sites),
            accounts: Accounts::new(bounds.threads),
            samples: Samples::new(bounds.leaves, Grouping::Together, false),
            owners: Owners::new(bounds.marks, bounds.leaves),
            meanwhile: Meanwhile::new(bounds.sites),
            unmounted: Unmounted::new(bounds.threads),
            has_virtual: false,
            parks: Parks::new(bounds.sites),
            virtual_threads: VirtualThreads::new(bounds.sites),
            pressure: options
                .pressure
                .map(|pressure| Pressure::new(pressure, bounds, options.threads.clone()).keeping_parts()),
            recorded_pressure: Recorded::new(bounds.pressure_cells),
            steal: Steal::new(bounds, options.threads.clone()),
            losses: BTreeMap::new(),
            degraded: Vec::new(),
            recording: None,
            own_cost: SelfCost::default(),
            others: BTreeMap::new(),
            events: 0,
            numbered: false,
            replays: Replays::new(bounds),
            wait_for: WaitFor::new(bounds.sites),
            stragglers: Stragglers::new(bounds.sites),
            long: LongContentions::default(),
            sampled: Sampled::new(bounds.pending_events),
            range: Range { from: TimeNs(0), to: TimeNs(u64::MAX) },
            range_known: false,
            start: TimeNs(0),
            latest: TimeNs(0),
            drops_events: false,
            is_unfinished: false,
            dropped_until: TimeNs(0),
            accepted: FxHashMap::default(),
            options,
        }
    }

    /// Takes in an event.
    pub fn feed(&mut self, event: &Event) {
        self.feed_to(event, &mut Nobody);
    }

    /// Takes in an event, and hands every blocked contention that it completes to
    /// `also`: whole, whatever the options leave out of the report.
    pub fn feed_to(&mut self, event: &Event, also: &mut dyn ContentionSink) {
        self.events += 1;
        if let Some(time) = event.time() {
            self.latest = self.latest.max(time);
            if !self.range_known {
                self.set_range(time);
            }
        }
        // Parks of threads that a filter leaves out are not fed.
        let counts = !matches!(event, Event::Park(park) if !self.accepts(park.thread));
        if let Some(pressure) = self.pressure.as_mut().filter(|_| counts) {
            pressure.feed(event, self.replays.parks.acquires(event, &self.names));
        }
        match event {
            Event::MonitorEnter(e) => {
                self.numbered |= e.seq.is_some();
                self.acts(e.thread, e.time);
            }
            Event::MonitorEntered(e) => {
                self.numbered |= e.seq.is_some();
                self.acts(e.thread, e.time);
            }
            Event::MonitorExit(e) => {
                self.threads.leaves(e.thread, e.lock, e.time);
                self.long.acts(e.thread, e.time);
                self.waits.left(e);
            }
            Event::MonitorNotify(e) => {
                self.acts(e.thread, e.time);
                self.waits.notified(e);
            }
            Event::MonitorWait(_) | Event::MonitorWaited(_) | Event::MonitorReentered(_) => {
                self.feed_wait(event, also);
            }
            _ => {
                self.steal.feed(event, also);
                return self.feed_other(event, also);
            }
        }
        self.feed_replay(event, also);
    }

    fn acts(&mut self, thread: ThreadId, time: TimeNs) {
        self.threads.acts(thread, time);
        self.long.acts(thread, time);
    }

    fn feed_wait(&mut self, event: &Event, also: &mut dyn ContentionSink) {
        match event {
            Event::MonitorWait(e) => self.acts(e.thread, e.time),
            Event::MonitorReentered(e) => self.acts(e.thread, e.time),
            _ => {}
        }
        let mut context = Context { names: &mut self.names, threads: &mut self.threads, range: self.range };
        match event {
            Event::MonitorWait(e) => {
                if self.has_virtual {
                    self.unmounted.waits(e.thread, (e.lock, e.chain), e.time, None);
                }
                if accepts(&self.options, &mut self.accepted, context.names, e.thread) {
                    self.waits.begin(e, &mut context);
                }
            }
            Event::MonitorWaited(e) => {
                if self.has_virtual && e.start > TimeNs(0) {
                    self.unmounted.waits(e.thread, (e.lock, e.chain), e.start, Some(e.time));
                }
                if accepts(&self.options, &mut self.accepted, context.names, e.thread) {
                    self.waits.end(e, &mut context);
                }
            }
            Event::MonitorReentered(e) => {
                self.waits.reentered(e, &mut context);
            }
            _ => {}
        }
        self.account_for_waits(also);
    }

    /// A thread that waits neither executes nor lacks a CPU.
    fn account_for_waits(&mut self, also: &mut dyn ContentionSink) {
        for wait in self.waits.take_ended() {
            self.steal.waited(wait.thread, wait.start, wait.end);
            self.accounts.waited(wait.thread, wait.start, wait.end);
            also.waited(&wait);
        }
    }

    fn feed_other(&mut self, event: &Event, also: &mut dyn ContentionSink) {
        match event {
            Event::Recording(info) => self.feed_recording(info),
            Event::Thread(def) => {
                self.accepted.remove(&def.id);
                self.has_virtual |= def.is_virtual;
                self.threads.known(def.id);
                self.names.feed(event);
            }
            Event::Method(..) | Event::Chain(_) | Event::Lock(_) => self.names.feed(event),
            Event::ThreadStart(e) => self.threads.started(e.thread, e.time),
            Event::ThreadEnd(e) => {
                self.threads.ended(e.thread, e.time);
                self.long.acts(e.thread, e.time);
            }
            Event::LongContention(seen) => self.long.add(seen),
            Event::StopTheWorld(_) => self.feed_replay(event, also),
            Event::Watermark(time) => {
                self.feed_replay(event, also);
                self.share_out(*time, also);
            }
            Event::Sampling(sampling) => {
                self.sampled.changes(*sampling);
                self.waits.shows_what_was_seen();
                self.feed_replay(event, also);
            }
            Event::ParkBegin(_) | Event::Park(_) | Event::Unpark(_) => self.feed_park(event, also),
            Event::ShortParks(parks) => self.add_short_parks(parks, event, also),
            Event::VirtualMount(mount) if self.accepts(mount.thread) => {
                self.virtual_threads.mount(mount, self.range);
            }
            Event::VirtualPinned(pinned) if self.accepts(pinned.thread) => {
                self.virtual_threads.pinned(pinned, self.range, &mut self.names);
            }
            Event::Spent(spent) if spent.on == SpentOn::Monitor => self.add_short_enters(spent, also),
            Event::Spent(spent) if spent.on == SpentOn::Wait => self.add_short_waits(spent),
            Event::Sample(sample) => {
                let in_range = self.range.from <= sample.time && sample.time < self.range.to;
                if in_range && self.accepts(sample.thread) {
                    self.samples.add(sample, &mut self.names);
                    let is_waiting = sample.state == SampleState::Waiting;
                    // Those by the wall clock see running threads beside those of CPU time.
                    if sample.state != SampleState::Runnable {
                        self.accounts.sampled(sample.thread, sample.weight.0, is_waiting);
                    }
                }
                self.owners.sample(sample);
            }
            Event::OwnerSample(seen) => self.add_owner_sample(seen),
            Event::Lost(cause, count) => {
                if matches!(cause, Loss::BufferFull | Loss::Unfinished | Loss::WriteFailed) {
                    self.drops_events = true;
                    if *count > 0 {
                        self.long.forget();
                    }
                }
                // Some threads' events were read beyond the last watermark, others' were not.
                self.is_unfinished |= *cause == Loss::Unfinished && *count > 0;
                *self.losses.entry(*cause).or_default() += count;
            }
            Event::Degraded(degraded) if !self.degraded.contains(degraded) => {
                self.degraded.push(degraded.clone());
            }
            Event::SelfCost(cost) => self.own_cost = *cost,
            Event::PressureWindow(_) | Event::PressurePhase(_) => self.recorded_pressure.feed(event),
            Event::Other(name) => *self.others.entry(name.clone()).or_default() += 1,
            _ => {}
        }
    }

    fn feed_replay(&mut self, event: &Event, also: &mut dyn ContentionSink) {
        let placing = self.replays.look(event, self.names.dictionary());
        if matches!(placing, Placing::Done) {
            return;
        }
        let mut collector = Collector {
            options: &self.options,
            accepted: &mut self.accepted,
            aggregate: &mut self.aggregate,
            accounts: &mut self.accounts,
            waited: self.waited.as_mut(),
            wait_for: &mut self.wait_for,
            names: &mut self.names,
            owners: &mut self.owners,
            range: self.range,
            pressure: self.pressure.as_mut(),
            steal: &mut self.steal,
            sampled: &mut self.sampled,
            also: &mut *also,
        };
        if self.replays.take(placing, event, &mut collector) {
            self.take_park_waits(also);
        }
        if let Event::Watermark(time) = event {
            if std::mem::take(&mut self.drops_events) {
                self.dropped_until = *time;
            }
            self.follow_owners();
            self.unmounted.look(*time, self.range, &mut self.names, &mut self.meanwhile);
            self.waits.explain(*time, &mut self.names);
            self.take_seen_waits();
            self.aggregate.settle();
            self.accounts.known_to(*time, self.replays.monitors.pauses());
        }
    }

    /// Waits by `Object.wait` that stand for others where waits are sampled.
    fn take_seen_waits(&mut self) {
        for wait in self.waits.take_seen() {
            self.sampled.wait(&wait, |thread| self.names.is_virtual(thread));
        }
    }

    fn follow_owners(&mut self) {
        let lock_of = |condition| self.replays.parks.lock_of(condition);
        self.wait_for.follow(self.replays.monitors.owners_by_id(), lock_of, &mut self.names);
    }

    fn feed_recording(&mut self, info: &Arc<RecordingInfo>) {
        self.latest = self.latest.max(info.start);
        if !self.range_known && info.start > TimeNs(0) {
            self.set_range(info.start);
        }
        self.replays.recorded_as(info);
        self.virtual_threads.recorded_on(java_version(&info.jvm_version));
        self.recording.get_or_insert_with(|| info.clone());
    }

    fn feed_park(&mut self, event: &Event, also: &mut dyn ContentionSink) {
        self.virtual_threads.park(event, self.range, &self.names);
        self.note_rest(event);
        match event {
            Event::ParkBegin(e) => {
                self.numbered |= e.seq.is_some();
                self.acts(e.thread, e.time);
            }
            Event::Unpark(e) => self.acts(e.thread, e.time),
            Event::Park(park) => {
                self.numbered |= park.seq.is_some();
                self.acts(park.thread, park.time);
                self.add_park(park, event);
            }
            _ => {}
        }
        self.feed_replay(event, also);
    }

    /// A thread parks for anything but a lock, or is back: what a virtual thread does then, it does
    /// for those who wait for it, too.
    fn note_rest(&mut self, event: &Event) {
        if !self.has_virtual {
            return;
        }
        let (thread, blocker, chain, start, end) = match event {
            Event::ParkBegin(e) => (e.thread, e.blocker, e.chain, e.time, None),
            Event::Park(e) if e.start > TimeNs(0) => (e.thread, e.blocker, e.chain, e.start, Some(e.time)),
            _ => return,
        };
        let what = self.replays.parks.synchronizer(event, &self.names);
        let Some(what) = what.filter(|what| !what.is_lock()) else { return };
        let is_idle = !what.is_conditional();
        if !is_idle {
            self.unmounted.waits(thread, (blocker, chain), start, end);
        }
        if self.names.is_virtual(thread) {
            if is_idle {
                self.unmounted.rests(thread, chain, start, end);
            }
            self.owners.rest(thread, Rest { chain, start, end: end.unwrap_or(TimeNs(u64::MAX)), is_idle });
        }
    }

    fn add_park(&mut self, park: &Park, event: &Event) {
        if !self.accepts(park.thread) {
            return;
        }
        let acquires = self.replays.parks.acquires(event, &self.names);
        let class = match self.names.lock(park.blocker) {
            Some(def) if !def.class.is_empty() => def.class.clone(),
            _ => park.blocker_class.clone(),
        };
        self.parks.add(park, &class, acquires, self.range);
    }

    /// Of a thread that others wait for only running and waiting are distinguished.
    fn add_owner_sample(&mut self, seen: &OwnerSample) {
        let state = match seen.sample.state {
            SampleState::Runnable => SampleState::Java,
            state => state,
        };
        self.owners.sample(&Sample { state, ..seen.sample });
        self.meanwhile.add(seen, self.range, &mut self.names);
    }

    /// Conditional waits that parked. The JDK's and the VM's own threads have
    /// nothing else to do.
    fn take_park_waits(&mut self, also: &mut dyn ContentionSink) {
        for lock in self.replays.parks.take_own_synchronizers() {
            self.names.synchronizer(lock);
        }
        let mut waits = self.replays.parks.take_waits();
        for wait in waits.drain(..) {
            also.park_wait(&wait);
            self.sampled.wait(&wait, |thread| self.names.is_virtual(thread));
            let is_service = self.names.thread(wait.thread).is_some_and(|def| def.is_service);
            if is_service {
                continue;
            }
            if !self.accepts(wait.thread) {
                // It does not count, but it may own locks on which others are blocked that do.
                self.steal.waited(wait.thread, wait.start, wait.end);
                continue;
            }
            if !wait.synchronizer.is_conditional() {
                self.account_for_rest(&wait);
                continue;
            }
            let mut context = Context { names: &mut self.names, threads: &mut self.threads, range: self.range };
            self.waits.park(&wait, &mut context);
            self.stragglers.add(&wait, self.range, &mut self.names);
        }
        self.replays.parks.give_back(waits);
        self.account_for_waits(also);
    }

    /// Sleep, and input and output, of virtual threads.
    fn account_for_rest(&mut self, wait: &ParkWait) {
        let is_io = wait.synchronizer == Synchronizer::Io;
        if let Some((start, end)) = self.range.clip(wait.start, wait.end) {
            self.accounts.parked(wait.thread, start, end, is_io);
        }
    }

    fn set_range(&mut self, start: TimeNs) {
        self.range_known = true;
        self.start = start;
        let from = self.options.from.map_or(start, |bound| bound.resolve(start));
        self.range.from = from.max(start);
        if let Some(to) = self.options.to {
            self.range.to = to.resolve(start).max(self.range.from);
        }
        if let Some(pressure) = &mut self.pressure {
            pressure.set_range(self.range.from, self.range.to);
        }
        self.steal.set_range(self.range.from, self.range.to);
    }

    fn accepts(&mut self, thread: ThreadId) -> bool {
        accepts(&self.options, &mut self.accepted, &self.names, thread)
    }

    /// The recording is over: what it means.
    pub fn finish(self) -> Report {
        self.finish_to(&mut Nobody)
    }

    /// The same, and hands the contentions that had not ended to `also`.
    pub fn finish_to(mut self, also: &mut dyn ContentionSink) -> Report {
        let end = self.latest;
        let read = self.long.owners(&self.owners, &mut self.names);
        let mut collector = Collector {
            options: &self.options,
            accepted: &mut self.accepted,
            aggregate: &mut self.aggregate,
            accounts: &mut self.accounts,
            waited: self.waited.as_mut(),
            wait_for: &mut self.wait_for,
            names: &mut self.names,
            owners: &mut self.owners,
            range: self.range,
            pressure: self.pressure.as_mut(),
            steal: &mut self.steal,
            sampled: &mut self.sampled,
            also: &mut *also,
        };
        // Whether a thread is still blocked is not known if events were dropped since.
        let threads = &self.threads;
        let is_end_unknown = self.drops_events || self.is_unfinished;
        let dropped_until = if is_end_unknown { end } else { self.dropped_until };
        let active = |thread| threads.active(thread).max(dropped_until);
        let mut open = self.replays.monitors.finish_with(end, active, &read, &mut collector);
        let owners = self.replays.monitors.owners_mut();
        open.extend(self.replays.parks.finish(end, active, &read, owners, &mut collector));
        self.long.complete(&mut open, active);
        self.take_park_waits(also);
        self.end_waits(end, &open);
        self.share_out(end, also);
        self.share_out_rest(also);
        self.follow_owners();
        self.unmounted.look(end, self.range, &mut self.names, &mut self.meanwhile);
        self.account_for_waits(also);
        open.retain(|contention| self.accepts(contention.thread));
        self.accounts.known_to(TimeNs(u64::MAX), self.replays.monitors.pauses());
        self.steal.finish(also);
        let pressure = self.pressure_report(end);
        self.report(&open, pressure, true)
    }

    /// The recording is over, with these contentions under way: so are the waits.
    fn end_waits(&mut self, end: TimeNs, open: &[OpenContention]) {
        let mut context = Context { names: &mut self.names, threads: &mut self.threads, range: self.range };
        let reacquiring: FxHashMap<ThreadId, TimeNs> = open
            .iter()
            .filter(|contention| contention.after_wait)
            .map(|contention| (contention.thread, contention.start))
            .collect();
        self.waits.finish(end, |thread| reacquiring.get(&thread).copied(), &mut context);
        self.waits.explain(TimeNs(u64::MAX), &mut self.names);
        self.take_seen_waits();
    }

    /// The blocked time of all threads where the recording has nothing but sums of it; 0 where it has more, or where only
    /// some of the threads are wanted.
    pub(crate) fn only_summed_ns(&self, range: Range) -> u64 {
        let settings = self.recording.as_ref().map_or(&[][..], |info| &info.settings);
        match self.options.threads.is_none() && has_only_sums(settings) {
            true => self.recorded_pressure.acquiring_ns(range.from, range.to),
            false => 0,
        }
    }

    /// True if some of the threads are virtual: sums of blocked time contain theirs, the ledger does not know when they lived.
    pub(crate) fn has_virtual_threads(&self) -> bool {
        self.threads.ids().any(|thread| self.names.is_virtual(thread))
    }

    /// From the events of acquisitions, or where the recording has none, from
    /// the windows that were recorded instead.
    fn pressure_report(&mut self, end: TimeNs) -> Option<PressureReport> {
        let asked = self.options.pressure?;
        let end = end.min(self.range.to).max(self.range.from);
        let from_events = self.pressure.as_ref().is_some_and(Pressure::saw_acquisitions);
        let grid = match &mut self.pressure {
            Some(pressure) if from_events || self.recorded_pressure.is_empty() => pressure.finish(end),
            _ => self.recorded_pressure.grid(self.range.from, end, asked.interval),
        };
        let groups = self.options.by.contains(&Aspect::LockName).then(|| {
            self.aggregate.settle();
            LockGroups::new(&self.aggregate, self.replays.monitors.owners_by_id(), &mut self.names)
        });
        let grid = match &groups {
            Some(groups) => grid.group(groups),
            None => grid,
        };
        Some(grid.report(self.start, asked.threshold, groups.as_ref(), &mut self.names))
    }

    /// What is known so far. Of what has not ended yet, only long contentions are in it.
    pub fn snapshot(&mut self) -> Report {
        let mut open = Vec::new();
        self.long.complete(&mut open, |thread| self.threads.active(thread));
        open.retain(|contention| self.accepts(contention.thread));
        self.report(&open, None, false)
    }

    fn report(&mut self, open: &[OpenContention], pressure: Option<PressureReport>, is_over: bool) -> Report {
        let range = Range { from: self.range.from, to: self.range.to.min(self.latest).max(self.range.from) };
        let running = self.running(range);
        self.aggregate.settle();
        let totals = self.aggregate.totals();
        // Where contentions were sampled, their owners did in all of them what they did in those.
        let scale = |lock: &LockId| totals.get(lock).map_or(1.0, LockTotals::recorded_scale);
        let mut through = self.wait_for.by_lock();
        through.iter_mut().for_each(|(lock, ns)| *ns = (*ns as f64 * scale(lock)) as u64);
        let active = |lock: LockId| totals.get(&lock).map_or(1.0, |totals| totals.active(&through));
        self.aggregate.set_off_cpu(&self.steal.owners().by_path(|lock| active(lock) * scale(&lock)));
        let split = |(lock, totals): (&LockId, &LockTotals)| {
            let did = OwnersDid {
                measured: self.steal.owners().of_lock(*lock).scaled(scale(lock)),
                idle: (self.owners.idle_ns(*lock) as f64 * scale(lock)) as u64,
            };
            let split = LockSplit::of(totals, &through, &did);
            (*lock, split.with_carriers(self.virtual_threads.carrier_wait_ns(*lock)))
        };
        let splits: FxHashMap<LockId, LockSplit> = totals.iter().map(split).collect();
        let split_of = |lock: LockId| splits.get(&lock).copied().unwrap_or_default();
        let steal = self.steal.report(self.start, &self.names, split_of);
        let classes = WaitClasses::new(self.waits.sites(), &self.names, &self.threads, range);
        let groups = LockGroups::new(&self.aggregate, self.replays.monitors.owners_by_id(), &mut self.names);
        let mut report = summary::summarise(self, range, running, open, &classes, &groups);
        report.ledger = ledger::assemble(self, range, &classes, &splits, steal.as_ref(), report.threads);
        debug_assert_eq!(report.ledger.unbalanced_ns, 0, "{:?}", report.ledger);
        report.pressure = pressure.filter(|_| !report.ledger.lives_unknown);
        report.steal = steal;
        let grounds = Grounds { classes: &classes, groups: &groups, splits: &splits, totals: &totals, is_over };
        report.findings = findings::find(self, &mut report, range, open, &grounds);
        report.verdict = findings::verdict(&report);
        report
    }

    /// See [`Report::sampling`].
    pub(crate) fn sampling(&self) -> Option<SamplingReport> {
        self.sampled.report(self.start)
    }

    /// False for a recording without starts and ends of threads, made by another tool that did
    /// not record them: when its threads lived is not known. JFR lists what it records.
    pub(crate) fn knows_lives(&self) -> bool {
        let Some(info) = self.recording.as_ref().filter(|info| self.is_foreign(info)) else { return true };
        let enabled = |(name, value): &(String, String)| name == "jdk.ThreadStart#enabled" && value == "true";
        self.threads.has_starts() || info.settings.iter().any(enabled)
    }

    /// True for the recording of another tool.
    pub(crate) fn is_foreign(&self, info: &RecordingInfo) -> bool {
        !self.numbered && !info.producer.starts_with("headway")
    }

    fn running(&self, range: Range) -> Running {
        let filter = self.options.threads.as_ref();
        let running = self.threads.running(range, &self.names, |thread| {
            filter.is_none_or(|filter| filter.accepts(&self.names.thread_text(thread)))
        });
        match self.knows_lives() {
            true => running,
            false => Running { threads: running.threads, ..Running::default() },
        }
    }
}

/// Sorts contentions out, and adds up the rest.
struct Collector<'a> {
    options: &'a Options,
    accepted: &'a mut FxHashMap<ThreadId, bool>,
    aggregate: &'a mut Aggregate,
    accounts: &'a mut Accounts,
    /// Conditional waiting, if the breakdown distinguishes kinds.
    waited: Option<&'a mut Aggregate>,
    wait_for: &'a mut WaitFor,
    names: &'a mut Names,
    owners: &'a mut Owners,
    range: Range,
    pressure: Option<&'a mut Pressure>,
    steal: &'a mut Steal,
    sampled: &'a mut Sampled,
    also: &'a mut dyn ContentionSink,
}

/// Takes contentions in and forgets them.
struct Nobody;

impl ContentionSink for Nobody {
    fn contention(&mut self, _: &Contention<'_>) {}
}

impl Collector<'_> {
    /// Counts a contention that is shorter than the minimum duration: of its time only that it was blocked time.
    fn leave_out(&mut self, contention: &Contention<'_>) {
        let parts = contention.slices.iter().filter_map(|slice| clip(slice, self.range));
        let (ns, paused) = parts.fold((0, 0), |(ns, paused), part| (ns + part.duration, paused + part.paused));
        if ns > 0 {
            self.aggregate.leave_out(1, ns);
            self.accounts.left_out(contention.thread, ns, paused);
        }
    }

    /// Waiting is added up apart, and only where it was asked for.
    fn conditional(&mut self, contention: &Contention<'_>) {
        let Some(waited) = &mut self.waited else { return };
        let counts = contention.duration >= self.options.min_duration;
        if counts && accepts(self.options, self.accepted, self.names, contention.thread) {
            waited.add(contention, self.range, self.names);
        }
    }
}

impl ContentionSink for Collector<'_> {
    fn contention(&mut self, contention: &Contention<'_>) {
        self.wait_for.contention(contention, self.range);
        if contention.kind == Kind::Conditional {
            return self.conditional(contention);
        }
        self.also.contention(contention);
        let names = &*self.names;
        self.sampled.contention(contention, |thread| names.is_virtual(thread));
        if let Some(pressure) = &mut self.pressure {
            pressure.contention(contention);
        }
        let accepted = accepts(self.options, self.accepted, self.names, contention.thread);
        let counts = accepted && contention.duration >= self.options.min_duration;
        if counts {
            let (ns, paused) = self.aggregate.add(contention, self.range, self.names);
            self.accounts.blocked(contention.thread, ns, paused);
            if let Some(schedule) = self.sampled.owners_drawn_by(contention) {
                self.aggregate.add_owners_drawn(contention, schedule, self.range);
            }
        }
        let (aggregate, range) = (&*self.aggregate, self.range);
        self.steal.contention(contention, |slice| aggregate.path_of(contention, slice, range).filter(|_| counts));
        if accepted && !counts {
            self.leave_out(contention);
        } else if accepted {
            self.owners.contention(contention, self.range, self.names, self.also);
        }
    }
}

fn accepts(options: &Options, accepted: &mut FxHashMap<ThreadId, bool>, names: &Names, thread: ThreadId) -> bool {
    let Some(filter) = &options.threads else { return true };
    if accepted.len() >= options.bounds.threads {
        // Only a shortcut; it fills again.
        accepted.clear();
    }
    *accepted.entry(thread).or_insert_with(|| filter.accepts(&names.thread_text(thread)))
}
