//! `steal`: what the environment took. In virtual machines and containers a
//! thread can be ready and still not run: the hypervisor suspended its CPU
//! (stolen time), the container's quota ran out (throttling), or other threads
//! had the CPUs (run-queue wait).
//!
//! * [`attribution`]: the machine's stolen time, divided among threads.
//! * `history`: what each thread used and lacked, interval by interval.
//! * `transactions`: units of work that the application named, by kind.
//! * `owners`: contentions whose owner was not running.
//! * [`steal_report`]: the result.
//!
//! An interval is put together from the events of its threads and ends with
//! that of the machine. It is divided when a watermark says that its samples
//! have arrived.

pub mod attribution;
pub mod steal_report;

mod history;
mod owners;
mod transactions;

use crate::ledger::LockSplit;
use crate::monitor::{Contention, ContentionSink, Slice};
use crate::names::Names;
use crate::options::{Bounds, ThreadFilter};
use attribution::{CpuShare, Interval};
use headway_model::event::{MachineTime, RecordingInfo, Sample, StealAccounting, ThreadTime, Throttling};
use headway_model::{DurationNs, Event, LockId, ThreadId, TimeNs};
use history::{History, Spent};
pub(crate) use owners::OfLock;
use owners::OwnersOffCpu;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};
use steal_report::{MachineTotals, Named, QuotaReport, StealReport, Totals, Window};
use transactions::Transactions;

/// Intervals that wait for their samples.
const MAX_WAITING: usize = 1_024;
/// An interval is known no later than this after its end: it lasts for 4 s at most, and is
/// written once a second.
const KNOWN_WITHIN: DurationNs = DurationNs(10_000_000_000);
/// Windows kept; of more, neighbours are put together.
const MAX_WINDOWS: usize = 2_048;

/// What a thread used and lacked in a measured interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ThreadInterval {
    /// The thread.
    pub thread: ThreadId,
    /// When the interval began.
    pub start: TimeNs,
    /// When it ended.
    pub end: TimeNs,
    /// Its times. `runnable_share` is how much of the time in which it had work to
    /// do it probably was not running: what a lock that it held meanwhile looked
    /// contended for nothing.
    pub totals: Totals,
}

/// An interval as its events report it.
#[derive(Clone, Debug, Default)]
struct Measured {
    start: TimeNs,
    duration: DurationNs,
    threads: Vec<ThreadTime>,
    process_ns: u64,
    cpus: Vec<(u16, CpuShare)>,
    throttling: Throttling,
    machine: MachineTime,
}

impl Measured {
    fn end(&self) -> TimeNs {
        self.start + self.duration
    }

    fn machine_totals(&self) -> MachineTotals {
        let MachineTime { busy, stolen, idle, .. } = self.machine;
        MachineTotals { busy_ns: busy.0, steal_ns: stolen.0, idle_ns: idle.0 }
    }

    /// The container's quota; `None` if there is none.
    fn quota(&self) -> Option<QuotaReport> {
        let Throttling { quota, period, periods, throttled_periods, throttled, .. } = self.throttling;
        (quota.0 > 0 || throttled.0 > 0).then_some(QuotaReport {
            quota_ns: quota.0,
            period_ns: period.0,
            periods,
            throttled_periods,
            throttled_ns: throttled.0,
        })
    }
}

/// Takes in events, and says what the environment took.
#[derive(Debug)]
pub(crate) struct Steal {
    enabled: bool,
    current: Option<Measured>,
    waiting: VecDeque<Measured>,
    /// Up to when what happened has found its intervals, or there are none.
    known: TimeNs,
    samples: VecDeque<Sample>,
    max_samples: usize,
    history: History,
    transactions: Transactions,
    owners: OwnersOffCpu,
    threads: FxHashMap<ThreadId, Spent>,
    max_threads: usize,
    filter: Option<ThreadFilter>,
    from: TimeNs,
    to: TimeNs,
    process: Spent,
    machine: MachineTotals,
    quota: Option<QuotaReport>,
    accounting: StealAccounting,
    intervals: u64,
    covered_ns: u64,
    refined: u64,
    run_queue_known: bool,
    windows: Vec<Window>,
    folded: u64,
}

impl Steal {
    pub fn new(bounds: Bounds, filter: Option<ThreadFilter>) -> Steal {
        Steal {
            enabled: false,
            current: None,
            waiting: VecDeque::new(),
            known: TimeNs(0),
            samples: VecDeque::new(),
            max_samples: bounds.leaves,
            history: History::new(bounds.leaves),
            transactions: Transactions::new(bounds.pending_events),
            owners: OwnersOffCpu::new(bounds.marks),
            threads: FxHashMap::default(),
            max_threads: bounds.threads,
            filter,
            from: TimeNs(0),
            to: TimeNs(u64::MAX),
            process: Spent::default(),
            machine: MachineTotals::default(),
            quota: None,
            accounting: StealAccounting::Unknown,
            intervals: 0,
            covered_ns: 0,
            refined: 0,
            run_queue_known: false,
            windows: Vec::new(),
            folded: 0,
        }
    }

    /// What counts: intervals whose middle lies in the range.
    pub fn set_range(&mut self, from: TimeNs, to: TimeNs) {
        (self.from, self.to) = (from, to);
    }

    /// Takes in an event, and hands `also` what has become known of threads.
    pub fn feed(&mut self, event: &Event, also: &mut dyn ContentionSink) {
        match event {
            Event::ThreadTime(e) => {
                let interval = self.interval(e.start, e.duration, also);
                match e.thread.is_none() {
                    true => interval.process_ns = e.cpu.0,
                    false => interval.threads.push(*e),
                }
            }
            Event::Throttling(e) => self.interval(e.start, e.duration, also).throttling = *e,
            Event::MachineTime(e) => self.machine(e, also),
            Event::Sample(e) if self.enabled && e.cpu.is_some() => self.sample(e),
            Event::Transaction(e) => self.transactions.add(e, &self.history),
            Event::Watermark(time) => self.settle(*time, also),
            Event::Recording(info) => self.enabled |= wants_steal(info),
            _ => {}
        }
    }

    /// Takes in a contention. `path` says where a slice of it is found in the
    /// breakdown.
    pub fn contention(&mut self, contention: &Contention<'_>, path: impl Fn(&Slice) -> Option<u32>) {
        if self.enabled {
            self.owners.contention(contention, self.from, self.to, path);
        }
    }

    /// The thread waited: its time without a CPU lies elsewhere.
    pub fn waited(&mut self, thread: ThreadId, start: TimeNs, end: TimeNs) {
        if self.enabled {
            self.owners.away(thread, start, end);
        }
    }

    /// A thread's times; `None` if it was never measured.
    pub fn totals_of(&self, thread: ThreadId) -> Option<Totals> {
        self.threads.get(&thread).map(|spent| self.totals(spent))
    }

    /// What owners of locks did.
    pub fn owners(&self) -> &OwnersOffCpu {
        &self.owners
    }

    /// The interval that begins at `start`. Where the machine cannot be read no
    /// event ends an interval but the next one.
    fn interval(&mut self, start: TimeNs, duration: DurationNs, also: &mut dyn ContentionSink) -> &mut Measured {
        self.enabled = true;
        if self.current.as_ref().is_some_and(|current| current.start != start) {
            self.close(also);
        }
        self.current.get_or_insert_with(|| Measured { start, duration, ..Measured::default() })
    }

    fn machine(&mut self, e: &MachineTime, also: &mut dyn ContentionSink) {
        let share = CpuShare { busy_ns: e.busy.0, stolen_ns: e.stolen.0 };
        let interval = self.interval(e.start, e.duration, also);
        match e.cpu {
            Some(number) => interval.cpus.push((number, share)),
            None => {
                interval.machine = *e;
                self.close(also);
            }
        }
    }

    fn close(&mut self, also: &mut dyn ContentionSink) {
        self.waiting.extend(self.current.take());
        if self.waiting.len() > MAX_WAITING {
            self.settle_first(also);
        }
    }

    fn sample(&mut self, sample: &Sample) {
        if self.samples.len() >= self.max_samples {
            self.samples.pop_front();
            self.folded += 1;
        }
        self.samples.push_back(*sample);
    }

    fn settle(&mut self, watermark: TimeNs, also: &mut dyn ContentionSink) {
        while self.waiting.front().is_some_and(|interval| interval.end() <= watermark) {
            self.settle_first(also);
        }
        // Without intervals (a machine that cannot be read) nothing waits for them for ever. What is
        // pending is looked at each time, so that this is not done for each watermark.
        if watermark.since(self.known) > KNOWN_WITHIN + KNOWN_WITHIN {
            self.known_to(watermark - KNOWN_WITHIN, also);
        }
    }

    /// The intervals up to `time` are known.
    fn known_to(&mut self, time: TimeNs, also: &mut dyn ContentionSink) {
        self.known = self.known.max(time);
        self.transactions.known_to(time, &self.history);
        self.owners.known_to(time, &mut self.history, also);
    }

    fn settle_first(&mut self, also: &mut dyn ContentionSink) {
        let Some(measured) = self.waiting.pop_front() else { return };
        let samples = self.samples_of(&measured);
        let middle = measured.start + DurationNs(measured.duration.0 / 2);
        self.divide(&measured, samples, self.from <= middle && middle < self.to, also);
        self.known_to(measured.end(), also);
    }

    /// Weights of the interval's samples by thread and CPU. Samples of different
    /// threads are in no order, so those of later intervals stay.
    fn samples_of(&mut self, measured: &Measured) -> FxHashMap<ThreadId, FxHashMap<u16, u64>> {
        let mut weights: FxHashMap<ThreadId, FxHashMap<u16, u64>> = FxHashMap::default();
        let end = measured.end();
        self.samples.retain(|sample| {
            if sample.time >= measured.start && sample.time < end {
                if let Some(cpu) = sample.cpu {
                    *weights.entry(sample.thread).or_default().entry(cpu).or_default() += sample.weight.0.max(1);
                }
            }
            sample.time >= end
        });
        weights
    }

    fn divide(
        &mut self,
        measured: &Measured,
        samples: FxHashMap<ThreadId, FxHashMap<u16, u64>>,
        counts: bool,
        also: &mut dyn ContentionSink,
    ) {
        let machine = &measured.machine;
        self.accounting = machine.accounting;
        self.history.set_included(machine.accounting == StealAccounting::Included);
        let known: u64 = measured.threads.iter().map(|time| time.cpu.0).sum();
        let mut threads: Vec<(ThreadId, u64)> = measured.threads.iter().map(|time| (time.thread, time.cpu.0)).collect();
        // Threads that nobody named: what is left of the process.
        threads.push((ThreadId::NONE, measured.process_ns.saturating_sub(known)));
        let interval = Interval {
            accounting: machine.accounting,
            all: CpuShare { busy_ns: machine.busy.0, stolen_ns: machine.stolen.0 },
            cpus: measured.cpus.clone(),
            threads,
            samples,
        };
        let refines = !interval.cpus.is_empty() && !interval.samples.is_empty();
        let stolen = interval.stolen();
        let mut process = Spent { cpu: known.max(measured.process_ns) as f64, ..Spent::default() };
        let held_back = held_back(&measured.throttling, process.cpu);
        process.throttled = held_back * process.cpu;
        for (index, (thread, cpu)) in interval.threads.iter().enumerate() {
            let stolen = stolen.get(index).copied().unwrap_or(0) as f64;
            let wait = measured.threads.get(index).and_then(|time| time.run_queue);
            self.run_queue_known |= wait.is_some();
            let run_queue = wait.map_or(0.0, |wait| wait.0 as f64);
            let spent = Spent { cpu: *cpu as f64, stolen, throttled: held_back * *cpu as f64, run_queue };
            process.stolen += stolen;
            process.run_queue += run_queue;
            if thread.is_some() {
                also.thread_interval(&self.told(*thread, measured, &spent));
                self.add_thread(*thread, measured, spent, counts);
            }
        }
        self.history.add(ThreadId::NONE, measured.start, measured.end(), process);
        if counts {
            self.refined += u64::from(refines);
            self.add_totals(measured, process, refines);
        }
    }

    fn told(&self, thread: ThreadId, measured: &Measured, spent: &Spent) -> ThreadInterval {
        let (start, end) = (measured.start, measured.end());
        ThreadInterval { thread, start, end, totals: self.totals(spent) }
    }

    fn add_thread(&mut self, thread: ThreadId, measured: &Measured, spent: Spent, counts: bool) {
        self.history.add(thread, measured.start, measured.end(), spent);
        if !counts {
            return;
        }
        if self.threads.len() >= self.max_threads && !self.threads.contains_key(&thread) {
            self.folded += 1;
            return;
        }
        self.threads.entry(thread).or_default().add(spent, 1.0);
    }

    fn add_totals(&mut self, measured: &Measured, process: Spent, refines: bool) {
        self.intervals += 1;
        self.covered_ns += measured.duration.0;
        self.process.add(process, 1.0);
        let (machine, quota) = (measured.machine_totals(), measured.quota());
        self.machine.add(&machine);
        if let Some(quota) = &quota {
            self.quota.get_or_insert_with(QuotaReport::default).add(quota);
        }
        let ns = |time: f64| time.round() as u64;
        self.windows.push(Window {
            start_ns: measured.start.0,
            duration_ns: measured.duration.0,
            cpu_ns: ns(process.cpu),
            steal_ns: ns(process.stolen),
            throttled_ns: ns(process.throttled),
            run_queue_ns: ns(process.run_queue),
            intervals: 1,
            refined_intervals: u64::from(refines),
            machine,
            quota: quota.unwrap_or_default(),
        });
        if self.windows.len() > MAX_WINDOWS {
            self.windows = self.windows.chunks(2).filter_map(joined).collect();
        }
    }

    /// The recording is over: nothing is waited for any more.
    pub fn finish(&mut self, also: &mut dyn ContentionSink) {
        self.close(also);
        self.settle(TimeNs(u64::MAX), also);
        self.known_to(TimeNs(u64::MAX), also);
    }

    /// Details that found no room.
    pub fn folded(&self) -> u64 {
        self.folded + self.history.folded + self.transactions.folded + self.owners.folded
    }

    /// What is known so far; `None` if the recording says nothing about it.
    /// Times count from `start`.
    ///
    /// `split` says into which parts a lock's blocked time is divided.
    pub fn report(&self, start: TimeNs, names: &Names, split: impl Fn(LockId) -> LockSplit) -> Option<StealReport> {
        let transactions = self.transactions.report(self.corrects());
        if self.intervals == 0 && transactions.is_empty() {
            return None;
        }
        let (threads, groups) = self.rows(names);
        let from_start = |window: &Window| Window { start_ns: window.start_ns.saturating_sub(start.0), ..*window };
        Some(StealReport {
            accounting: self.accounting.name(),
            intervals: self.intervals,
            covered_ns: self.covered_ns,
            refined_intervals: self.refined,
            run_queue_known: self.run_queue_known,
            machine: self.machine,
            quota: self.quota,
            process: self.totals(&self.process),
            threads,
            groups,
            transactions,
            locks: self.owners.report(names, split),
            windows: self.windows.iter().map(from_start).collect(),
        })
    }

    /// True if stolen time must be subtracted from CPU times.
    fn corrects(&self) -> bool {
        self.accounting == StealAccounting::Included
    }

    fn rows(&self, names: &Names) -> (Vec<Named>, Vec<Named>) {
        let mut threads = Vec::new();
        let mut groups: BTreeMap<(String, bool, bool), (Spent, u64, String)> = BTreeMap::new();
        for (id, spent) in &self.threads {
            let name = names.thread_text(*id);
            if !self.filter.as_ref().is_none_or(|filter| filter.accepts(&name)) {
                continue;
            }
            let is_service = names.thread(*id).map_or(id.0 & ThreadId::NATIVE != 0, |thread| thread.is_service);
            let is_carrier = names.is_carrier(*id);
            let (of_group, count, one) = groups.entry((names.group_text(*id), is_service, is_carrier)).or_default();
            of_group.add(*spent, 1.0);
            *count += 1;
            one.clone_from(&name);
            let totals = self.totals(spent);
            threads.push(Named { one: name.clone(), name, is_service, is_carrier, threads: 1, totals });
        }
        let group = |((name, is_service, is_carrier), (spent, threads, one)): (_, (Spent, u64, String))| {
            let totals = self.totals(&spent);
            Named { name, is_service, is_carrier, threads, one, totals }
        };
        let mut groups: Vec<Named> = groups.into_iter().map(group).collect();
        for rows in [&mut threads, &mut groups] {
            rows.sort_by(|a, b| b.totals.cpu_ns.cmp(&a.totals.cpu_ns).then_with(|| a.name.cmp(&b.name)));
        }
        (threads, groups)
    }

    fn totals(&self, spent: &Spent) -> Totals {
        let ns = |time: f64| time.round() as u64;
        let corrected = if self.corrects() { (spent.cpu - spent.stolen).max(0.0) } else { spent.cpu };
        let ready = corrected + spent.lost();
        Totals {
            cpu_ns: ns(spent.cpu),
            corrected_ns: ns(corrected),
            steal_ns: ns(spent.stolen),
            throttled_ns: ns(spent.throttled),
            run_queue_ns: ns(spent.run_queue),
            runnable_share: if ready > 0.0 { spent.lost() / ready } else { 0.0 },
        }
    }
}

/// For how long a thread was held back for each ns of CPU time: the quota holds
/// back those who use it up.
fn held_back(throttling: &Throttling, process_cpu: f64) -> f64 {
    let used = (throttling.used.0 as f64).max(process_cpu);
    match used > 0.0 {
        true => throttling.throttled.0 as f64 / used,
        false => 0.0,
    }
}

fn joined(windows: &[Window]) -> Option<Window> {
    let mut windows = windows.iter();
    let mut joined = *windows.next()?;
    for window in windows {
        joined.duration_ns = (window.start_ns + window.duration_ns).saturating_sub(joined.start_ns);
        joined.cpu_ns += window.cpu_ns;
        joined.steal_ns += window.steal_ns;
        joined.throttled_ns += window.throttled_ns;
        joined.run_queue_ns += window.run_queue_ns;
        joined.intervals += window.intervals;
        joined.refined_intervals += window.refined_intervals;
        joined.machine.add(&window.machine);
        if window.quota != QuotaReport::default() {
            joined.quota.add(&window.quota);
        }
    }
    Some(joined)
}

/// True if the recording was asked to say what the environment took.
fn wants_steal(info: &RecordingInfo) -> bool {
    crate::report::records(&info.settings, "steal")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nobody;

    impl ContentionSink for Nobody {
        fn contention(&mut self, _: &Contention<'_>) {}
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn where_no_interval_is_measured_nothing_waits_for_one_for_ever() {
        let mut steal = Steal::new(Bounds::offline(), None);
        steal.enabled = true;
        let mut most = 0;
        for ms in 0..200_000 {
            steal.waited(ThreadId(1 + ms % 7), TimeNs(ms * MS), TimeNs((ms + 1) * MS));
            if ms % 1000 == 999 {
                steal.feed(&Event::Watermark(TimeNs(ms * MS)), &mut Nobody);
            }
            most = most.max(steal.owners.waiting());
        }
        assert!((10_000..30_000).contains(&most), "{most} of the last 10 to 20 s");
    }
}
