//! Goes through a recording and adds up.

use crate::cells::{Cells, LockKey, WaitKey};
use crate::identity;
use crate::minute::{Minute, Minutes, MINUTE_NS};
use crate::names::Names;
use crate::rows::{CpuMinute, Jvm, LoadMinute, Phase, Rolled};
use headway_analysis::monitor::{Contention, ContentionSink, Kind, OwnersById, Slice, Sum, Waited};
use headway_analysis::park::ParkWait;
use headway_analysis::{Analysis, Options, Report};
use headway_jfr::{Problem, Reader};
use headway_model::event::{RecordingInfo, Sample, SampleState};
use headway_model::{Event, LockId, ThreadId, TimeNs};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Pairs of a thread and a minute whose waits are kept; beyond, running time is too long
/// and counted as folded.
const MOST_WAITED: usize = 1 << 20;

/// What a recording does not say about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The machine, container or pod.
    pub host: String,
    /// What the JVM is an instance of.
    pub service: String,
    /// Which version of that.
    pub version: String,
    /// `production`, `staging`.
    pub environment: String,
    /// `name=value`.
    pub labels: Vec<String>,
    /// CPUs of the machine.
    pub cpus: Option<u32>,
}

/// Takes in a recording's events and ends in rows.
#[derive(Debug)]
pub struct Rollup {
    analysis: Analysis,
    rows: Rows,
}

impl Default for Rollup {
    fn default() -> Rollup {
        Rollup::new()
    }
}

impl Rollup {
    /// A rollup that has seen nothing yet.
    pub fn new() -> Rollup {
        Rollup { analysis: Analysis::new(Options { by: Vec::new(), ..Options::default() }), rows: Rows::default() }
    }

    /// Reads a recording to its end.
    ///
    /// # Errors
    /// There is no such file, or nothing in it can be read as a recording.
    pub fn read(path: impl AsRef<Path>, source: &Source) -> Result<Rolled, Problem> {
        let mut reader = Reader::open(path)?.with_one_clock();
        let mut rollup = Rollup::new();
        let mut problems = Vec::new();
        for item in &mut reader {
            match item {
                Ok(event) => rollup.feed(&event),
                Err(problem) => problems.push(problem.to_string()),
            }
        }
        let mut rolled = rollup.finish(source);
        rolled.clock_jumps = reader.clock_jumps().to_vec();
        rolled.problems = problems;
        Ok(rolled)
    }

    /// Takes in an event.
    pub fn feed(&mut self, event: &Event) {
        self.rows.feed(event);
        self.analysis.feed_to(event, &mut self.rows);
    }

    /// The recording is over.
    pub fn finish(self, source: &Source) -> Rolled {
        let Rollup { analysis, mut rows } = self;
        let report = analysis.finish_to(&mut rows);
        rows.finish(&report, source)
    }
}

/// When a thread lived.
#[derive(Clone, Copy, Debug, Default)]
struct Life {
    started: Option<TimeNs>,
    ended: Option<TimeNs>,
}

type CpuKey = (Minute, Option<i64>, &'static str);

#[derive(Debug, Default)]
struct Rows {
    names: Names,
    locks: Cells<LockKey>,
    waits: Cells<WaitKey>,
    cpu: FxHashMap<CpuKey, (u64, u64)>,
    lives: FxHashMap<ThreadId, Life>,
    waited: FxHashMap<(ThreadId, Minute), u64>,
    operations: BTreeMap<Minute, u64>,
    dropped: BTreeMap<Minute, u64>,
    info: Option<Arc<RecordingInfo>>,
    /// First moment; `None` before anything has a time.
    start: Option<TimeNs>,
    latest: TimeNs,
    minutes: Minutes,
    folded: u64,
}

impl Rows {
    fn feed(&mut self, event: &Event) {
        if let Event::Recording(info) = event {
            self.latest = self.latest.max(info.start);
            if info.start > TimeNs(0) {
                self.begin(info.start);
            }
            self.info.get_or_insert_with(|| info.clone());
        }
        if let Some(time) = event.time() {
            self.latest = self.latest.max(time);
            self.begin(time);
        }
        self.names.feed(event);
        self.follow_threads(event);
        match event {
            Event::Sample(sample) => self.sample(sample),
            Event::Transaction(e) if !e.forgotten => {
                *self.operations.entry(self.minutes.of(e.time)).or_default() += e.count;
            }
            Event::Lost(_, count) if *count > 0 => {
                *self.dropped.entry(self.minutes.of(self.latest)).or_default() += count;
            }
            _ => {}
        }
    }

    /// The first time that is known is where the recording begins.
    fn begin(&mut self, time: TimeNs) {
        if self.start.is_none() {
            self.start = Some(time);
            self.minutes = Minutes::from(time);
        }
    }

    /// Threads that the report counts: those that are defined or do something.
    fn follow_threads(&mut self, event: &Event) {
        let thread = match event {
            Event::Thread(def) => def.id,
            Event::ThreadStart(e) => {
                self.lives.entry(e.thread).or_default().started = Some(e.time);
                return;
            }
            Event::ThreadEnd(e) => {
                self.lives.entry(e.thread).or_default().ended = Some(e.time);
                return;
            }
            Event::MonitorEnter(e) => e.thread,
            Event::MonitorEntered(e) => e.thread,
            Event::MonitorExit(e) => e.thread,
            Event::MonitorNotify(e) => e.thread,
            Event::MonitorWait(e) => e.thread,
            Event::MonitorReentered(e) => e.thread,
            Event::ParkBegin(e) => e.thread,
            Event::Park(e) => e.thread,
            Event::Unpark(e) => e.thread,
            Event::ShortParks(e) => e.thread,
            _ => return,
        };
        self.lives.entry(thread).or_default();
    }

    fn sample(&mut self, sample: &Sample) {
        let state = match sample.state {
            SampleState::Java => "java",
            SampleState::Native => "native",
            _ => return,
        };
        if self.start.is_none_or(|start| sample.time < start) {
            return;
        }
        let key = (self.minutes.of(sample.time), self.names.stack(sample.chain, 0), state);
        let sums = self.cpu.entry(key).or_default();
        sums.0 += 1;
        sums.1 += sample.weight.0;
    }

    /// Divides a slice among minutes and adds it up. Gives its time in the contention's
    /// first minute.
    fn slice(&mut self, key: LockKey, slice: &Slice, first: Minute, from: TimeNs) -> u64 {
        let end = slice.start + slice.duration;
        let start = slice.start.max(from);
        if start >= end {
            return 0;
        }
        let all = slice.stop_the_world.0;
        let paused = match start == slice.start {
            true => all,
            false => (u128::from(all) * u128::from(end.since(start).0) / u128::from(slice.duration.0)) as u64,
        };
        let mut in_first = 0;
        for (part, paused) in self.minutes.divide(start, end, paused) {
            let cell = self.locks.of(LockKey { minute: part.minute, ..key });
            let ns = part.ns() - paused;
            cell.ns += part.ns();
            cell.pause_ns += paused;
            if slice.basis.is_hand_off() {
                cell.handoff_ns += ns;
            } else if !slice.basis.is_known() {
                cell.unknown_ns += ns;
            }
            in_first += if part.minute == first { part.ns() } else { 0 };
        }
        in_first
    }

    fn finish(mut self, report: &Report, source: &Source) -> Rolled {
        let start = self.start.unwrap_or_default();
        let jvm = self.jvm(source, start);
        let load = self.load(report, start);
        let sites = self.locks.sites(&mut self.names);
        let phases = self.phases(report, start, &sites);
        let Rows { mut names, locks, waits, cpu, folded, .. } = self;
        let folded = folded + locks.folded + waits.folded;
        let locks = locks.into_rows(&mut names);
        let waits = waits.into_rows(&mut names);
        let cpu: BTreeMap<CpuKey, (u64, u64)> = cpu.into_iter().collect();
        let row = |((minute, stack, state), (samples, cpu_ns))| CpuMinute { minute, stack, state, samples, cpu_ns };
        let cpu = cpu.into_iter().map(row).collect();
        let (sites, stacks) = names.into_rows();
        Rolled { jvm, sites, stacks, locks, waits, load, phases, cpu, folded, ..Rolled::default() }
    }

    fn jvm(&self, source: &Source, start: TimeNs) -> Jvm {
        let unknown = RecordingInfo::default();
        let info = self.info.as_deref().unwrap_or(&unknown);
        let started_ns = if info.jvm_start.0 > 0 { info.jvm_start.0 } else { start.0 };
        let Source { host, service, version, environment, labels, cpus } = source.clone();
        let mut labels = labels;
        labels.sort_unstable();
        Jvm {
            id: identity::jvm(&host, info.pid, started_ns),
            host,
            service,
            version,
            environment,
            labels,
            jdk: info.jvm_version.clone(),
            pid: info.pid,
            cpus,
            started_ns,
            start_ns: start.0,
            end_ns: self.latest.0,
        }
    }

    fn load(&self, report: &Report, start: TimeNs) -> Vec<LoadMinute> {
        let end = self.latest.max(start);
        let mut rows: BTreeMap<Minute, LoadMinute> = BTreeMap::new();
        let minutes = self.minutes;
        // A recording of no length has a minute all the same: something may have been dropped.
        for minute in [minutes.of(start), minutes.of_end(end)] {
            rows.entry(minute).or_default();
        }
        for part in minutes.split(start, end) {
            rows.entry(part.minute).or_default().covered_ns += part.ns();
        }
        // Recordings of other tools may not say when threads lived.
        if !report.ledger.lives_unknown {
            for (minute, ns) in self.running(start, end) {
                rows.entry(minute).or_default().running_ns += ns;
            }
        }
        for (minute, count) in &self.operations {
            rows.entry(*minute).or_default().operations += count;
        }
        let mut dropped = self.dropped.clone();
        // What the analysis found missing has no time.
        let found = report.losses.values().sum::<u64>().saturating_sub(dropped.values().sum());
        *dropped.entry(minutes.of_end(end)).or_default() += found;
        for (minute, count) in dropped {
            rows.entry(minute).or_default().dropped += count;
        }
        for window in report.steal.iter().flat_map(|steal| &steal.windows) {
            let from = TimeNs(start.0.saturating_add(window.start_ns));
            let to = TimeNs(from.0.saturating_add(window.duration_ns.max(1)));
            let cpu = minutes.divide(from, to, window.cpu_ns);
            for ((part, cpu_ns), (_, steal_ns)) in cpu.zip(minutes.divide(from, to, window.steal_ns)) {
                let row = rows.entry(part.minute).or_default();
                *row.cpu_ns.get_or_insert(0) += cpu_ns;
                *row.steal_ns.get_or_insert(0) += steal_ns;
            }
        }
        rows.into_iter().map(|(minute, row)| LoadMinute { minute, ..row }).collect()
    }

    /// Running time by minute. A thread that waits longer than it lives in one minute, by
    /// the recording's clocks, makes up for it in the others.
    fn running(&self, start: TimeNs, end: TimeNs) -> BTreeMap<Minute, u64> {
        let mut running: BTreeMap<Minute, u64> = BTreeMap::new();
        for (thread, life) in &self.lives {
            let def = self.names.thread(*thread);
            let counts = def.is_none_or(|def| !def.is_service && !def.is_virtual);
            if !counts || thread.0 & ThreadId::NATIVE != 0 {
                continue;
            }
            let (from, to) = (life.started.unwrap_or(start).max(start), life.ended.unwrap_or(end).min(end));
            let mut over = 0;
            for part in self.minutes.split(from, to) {
                let waited = self.waited.get(&(*thread, part.minute)).copied().unwrap_or(0) + over;
                *running.entry(part.minute).or_default() += part.ns().saturating_sub(waited);
                over = waited.saturating_sub(part.ns());
            }
        }
        running
    }

    fn phases(&mut self, report: &Report, start: TimeNs, sites: &FxHashMap<LockId, i64>) -> Vec<Phase> {
        let mut phases = Vec::new();
        for lock in report.pressure.iter().flat_map(|pressure| &pressure.locks) {
            for phase in &lock.phases {
                let site = sites.get(&lock.id).copied();
                phases.push(Phase {
                    start_ns: start.0 + phase.start_ns,
                    end_ns: start.0 + phase.end_ns,
                    site: site.unwrap_or_else(|| self.names.site(lock.id, Kind::Monitor.name(), None)),
                    mean: phase.csp_mean,
                    peak: phase.csp_peak,
                    acquiring_ns: phase.acquiring_ns,
                    waiter_stack: self.names.shown_stack(&phase.waiter_stack),
                    owner_stack: self.names.shown_stack(&phase.owner_stack),
                });
            }
        }
        phases.sort_by_key(|phase| (phase.start_ns, phase.site, phase.end_ns));
        phases
    }
}

impl ContentionSink for Rows {
    fn contention(&mut self, contention: &Contention<'_>) {
        let end = contention.start + contention.duration;
        let Some(from) = self.start.map(|start| start.max(contention.start)).filter(|from| *from < end) else { return };
        let first = self.minutes.of(from);
        let base = LockKey {
            minute: first,
            lock: contention.lock,
            kind: contention.kind,
            waiter: self.names.stack(contention.chain, 0),
            owner: None,
            is_virtual: self.names.is_virtual(contention.thread),
        };
        // Time in the first minute by owner: few, mostly one.
        let mut owners: SmallVec<[(Option<i64>, u64); 4]> = SmallVec::new();
        let mut total = 0;
        for slice in contention.slices {
            let owned = contention.owner(slice);
            let owner = match slice.basis.is_known() && owned.chain.is_some() {
                true => self.names.owner_stack(owned.chain, owned.frame),
                false => None,
            };
            let in_first = self.slice(LockKey { owner, ..base }, slice, first, from);
            total += (slice.start + slice.duration).since(slice.start.max(from)).0;
            match owners.iter_mut().find(|(known, _)| *known == owner) {
                Some((_, ns)) => *ns += in_first,
                None => owners.push((owner, in_first)),
            }
        }
        let most = owners.iter().map(|(_, ns)| *ns).max().unwrap_or(0);
        let owner = owners.iter().find(|(_, ns)| *ns == most).and_then(|(owner, _)| *owner);
        self.locks.of(LockKey { owner, ..base }).count(total, 1);
    }

    fn waited(&mut self, wait: &Waited) {
        let is_virtual = self.names.is_virtual(wait.thread);
        let stack = self.names.stack(wait.chain, 0);
        let key = WaitKey {
            minute: self.minutes.of(wait.start),
            lock: wait.lock,
            synchronizer: wait.synchronizer,
            stack,
            is_virtual,
        };
        self.lives.entry(wait.thread).or_default();
        self.waits.of(key).count(wait.end.since(wait.start).0, 1);
        for part in self.minutes.split(wait.start, wait.end) {
            self.waits.of(WaitKey { minute: part.minute, ..key }).ns += part.ns();
            if is_virtual {
                continue;
            }
            let place = (wait.thread, part.minute);
            match self.waited.len() < MOST_WAITED || self.waited.contains_key(&place) {
                true => *self.waited.entry(place).or_default() += part.ns(),
                false => self.folded += 1,
            }
        }
    }

    fn waited_sum(&mut self, wait: &ParkWait, sum: &Sum) {
        if self.start.is_none_or(|start| sum.time < start) {
            return;
        }
        let minute = self.minutes.of_end(sum.time);
        let (stack, is_virtual) = (self.names.stack(sum.chain, 0), self.names.is_virtual(sum.thread));
        let cell =
            self.waits.of(WaitKey { minute, lock: sum.lock, synchronizer: wait.synchronizer, stack, is_virtual });
        cell.ns += sum.total_ns;
        cell.count(sum.mean_ns, sum.count);
        let place = (sum.thread, minute);
        match self.waited.len() < MOST_WAITED || self.waited.contains_key(&place) {
            _ if is_virtual => {}
            true => *self.waited.entry(place).or_default() += sum.total_ns,
            false => self.folded += 1,
        }
    }

    fn summed(&mut self, sum: &Sum, owners: &OwnersById) {
        if (sum.count, sum.total_ns) == (0, 0) || self.start.is_none_or(|start| sum.time < start) {
            return;
        }
        self.lives.entry(sum.thread).or_default();
        let minute = self.minutes.of_end(sum.time);
        let stack = self.names.stack(sum.chain, 0);
        let is_virtual = self.names.is_virtual(sum.thread);
        let cell = match sum.kind {
            // Those that the report counts come by as waits, too.
            Kind::Conditional => return,
            kind => {
                let owned = owners.get(sum.owner);
                let is_known = sum.basis.is_known() && owned.chain.is_some();
                let owner = is_known.then(|| self.names.owner_stack(owned.chain, owned.frame)).flatten();
                self.locks.of(LockKey { minute, lock: sum.lock, kind, waiter: stack, owner, is_virtual })
            }
        };
        cell.ns += sum.total_ns;
        cell.handoff_ns += if sum.basis.is_hand_off() { sum.total_ns } else { 0 };
        cell.unknown_ns += if sum.basis.is_hand_off() || sum.basis.is_known() { 0 } else { sum.total_ns };
        cell.count(sum.mean_ns, sum.count);
    }
}

// A minute is what everything is divided by.
const _: () = assert!(MINUTE_NS == 60 * 1_000_000_000);
