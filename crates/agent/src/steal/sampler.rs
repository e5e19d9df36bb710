//! Once an interval: what the kernel tells of machine, threads and control
//! group, as differences to the sample before.
//!
//! A thread that did not run costs one system call. What costs more (its
//! run-queue wait lies in a file) is asked only of threads that ran: a wait is
//! added up when it ends, and then the thread runs. So one that goes on for
//! longer than an interval counts in the interval in which it ends.

use super::clocks::Clocks;
use super::ended::Ended;
use super::native_definition;
use headway_host::control_group::{self, Quota};
use headway_host::machine::CpuTime;
use headway_host::{accounting, task, ControlGroup, Evidence, Machine, Root};
use headway_model::event::{MachineTime, StealAccounting, ThreadTime, Throttling};
use headway_model::{DurationNs, Event, ThreadId, TimeNs};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// Time between samples unless told otherwise.
pub const DEFAULT_INTERVAL_NS: u64 = 1_000_000_000;
/// Shortest and longest time between samples. The longest is shorter than the
/// draining thread remembers threads that ended.
pub const INTERVALS_NS: std::ops::RangeInclusive<u64> = 10_000_000..=4_000_000_000;
/// How often the kernel is asked for threads that are not Java's.
const NATIVE_EVERY_NS: u64 = 1_000_000_000;
/// How often a control group without a limit is looked at.
const UNLIMITED_EVERY_NS: u64 = 1_000_000_000;
/// Threads of which it is watched whether they only compute.
const MAX_WATCHED: usize = 8;

/// A thread to sample.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// Its id in the recording.
    pub thread: ThreadId,
    /// Its kernel id.
    pub os_id: u32,
}

/// What is known of a thread from the sample before.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    cpu_ns: u64,
    wait_ns: Option<u64>,
    /// How often it gave up its CPU by itself, if that is watched.
    switches: Option<u64>,
    /// Number of the sample that saw it last.
    seen: u64,
}

/// A thread's part of an interval.
#[derive(Clone, Copy, Debug)]
struct Ran {
    os_id: u32,
    cpu_ns: u64,
    wait_ns: u64,
    switches: (Option<u64>, Option<u64>),
}

/// See the module.
pub struct Sampler<C> {
    root: Root,
    clocks: C,
    interval_ns: u64,
    /// When the last sample was taken; `None` before the first.
    last: Option<TimeNs>,
    samples: u64,
    machine: Option<Machine>,
    group: Option<ControlGroup>,
    quotas: Vec<Option<Quota>>,
    process_ns: u64,
    threads: HashMap<ThreadId, Known>,
    natives: HashSet<u32>,
    natives_listed: TimeNs,
    accounting: StealAccounting,
    evidence: Evidence,
    told_quota: bool,
    quota_read: TimeNs,
}

impl<C: Clocks> Sampler<C> {
    /// A sampler that has seen nothing yet.
    pub fn new(root: Root, clocks: C, interval: Duration) -> Sampler<C> {
        let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
        let accounting = accounting::configured(&root);
        // A machine whose control groups cannot be seen has no quota to tell of.
        let group = ControlGroup::find(&root).ok().flatten();
        Sampler {
            root,
            clocks,
            interval_ns: interval_ns.clamp(*INTERVALS_NS.start(), *INTERVALS_NS.end()),
            last: None,
            samples: 0,
            machine: None,
            group,
            quotas: Vec::new(),
            process_ns: 0,
            threads: HashMap::new(),
            natives: HashSet::new(),
            natives_listed: TimeNs(0),
            accounting,
            evidence: Evidence::default(),
            told_quota: false,
            quota_read: TimeNs(0),
        }
    }

    /// True if the next sample should be taken.
    pub fn is_due(&self, now: TimeNs) -> bool {
        self.last.is_none_or(|last| now.since(last).0 >= self.interval_ns)
    }

    /// How long until then, at most `at_most`.
    pub fn patience(&self, now: TimeNs, at_most: Duration) -> Duration {
        let due = self.last.map_or(now, |last| last + DurationNs(self.interval_ns));
        Duration::from_nanos(due.since(now).0).min(at_most)
    }

    /// Takes a sample. The first only takes the readings to start from.
    pub fn sample(&mut self, now: TimeNs, found: impl Iterator<Item = Found>, ended: Vec<Ended>, out: &mut Vec<Event>) {
        let start = self.last.replace(now);
        self.samples += 1;
        let interval = Interval { start: start.unwrap_or(now), duration: now.since(start.unwrap_or(now)) };
        let stolen = self.machine(interval, start.is_some());
        let mut ran = Vec::new();
        let java: Vec<Found> = found.filter(|found| found.os_id != 0).collect();
        for found in &java {
            ran.extend(self.thread(*found, interval, out));
        }
        for last in ended {
            self.ended(last, interval, out);
        }
        ran.extend(self.natives(&java, interval, out));
        let sample = self.samples;
        self.threads.retain(|_, known| known.seen == sample || known.seen + 1 == sample);
        self.process(interval, out);
        if let Some(machine) = &stolen {
            self.decide(machine, interval, &ran);
        }
        self.quota(interval, out);
        self.tell(stolen, interval, out);
    }

    /// The machine's part of the interval; `None` for the first sample, or where
    /// it cannot be read.
    fn machine(&mut self, interval: Interval, has_start: bool) -> Option<Machine> {
        let now = Machine::read(&self.root).ok()?;
        let before = self.machine.replace(now.clone())?;
        (has_start && interval.duration.0 > 0).then(|| now.since(&before))
    }

    fn thread(&mut self, found: Found, interval: Interval, out: &mut Vec<Event>) -> Option<Ran> {
        let cpu_ns = self.clocks.thread_ns(found.os_id).or_else(|| task::cpu_ns(&self.root, found.os_id).ok())?;
        let before = self.threads.get(&found.thread).copied();
        if before.is_some_and(|before| before.cpu_ns == cpu_ns) {
            let known = self.threads.get_mut(&found.thread)?;
            known.seen = self.samples;
            known.switches = None;
            return None;
        }
        let wait_ns = task::schedule(&self.root, found.os_id).ok().map(|schedule| schedule.wait_ns);
        let ran = self.difference(before, cpu_ns, wait_ns, interval);
        let busy = ran.is_some_and(|ran| ran.cpu_ns * 4 >= interval.duration.0) && self.is_undecided();
        let watched = before.is_some_and(|before| before.switches.is_some());
        let switches = match busy || watched {
            true => task::voluntary_switches(&self.root, found.os_id).ok(),
            false => None,
        };
        let known = Known { cpu_ns, wait_ns, switches, seen: self.samples };
        self.threads.insert(found.thread, known);
        let mut ran = ran?;
        ran.os_id = found.os_id;
        ran.switches = (before.and_then(|before| before.switches), switches);
        tell_thread(found.thread, ran, wait_ns.is_some(), interval, out);
        Some(ran)
    }

    /// What a thread used since the sample before. One that is seen for the
    /// first time began in this interval, unless it used more than fits: then
    /// its past is not known, and it begins to count now.
    fn difference(&self, before: Option<Known>, cpu_ns: u64, wait_ns: Option<u64>, interval: Interval) -> Option<Ran> {
        if self.samples <= 1 {
            return None;
        }
        let from = before.unwrap_or_default();
        let ran = Ran {
            os_id: 0,
            cpu_ns: cpu_ns.saturating_sub(from.cpu_ns),
            wait_ns: wait_ns.unwrap_or(0).saturating_sub(from.wait_ns.unwrap_or(0)),
            switches: (None, None),
        };
        let fits = before.is_some() || ran.cpu_ns <= interval.duration.0;
        (fits && ran.cpu_ns > 0).then_some(ran)
    }

    fn ended(&mut self, last: Ended, interval: Interval, out: &mut Vec<Event>) {
        let before = self.threads.remove(&last.thread);
        if let Some(ran) = self.difference(before, last.cpu_ns, last.wait_ns, interval) {
            tell_thread(last.thread, ran, last.wait_ns.is_some(), interval, out);
        }
    }

    /// Threads of the VM itself: compilers, collectors. A Java thread is listed
    /// by the kernel before the VM tells of it, so one counts only from the
    /// second time on that it is found.
    fn natives(&mut self, java: &[Found], interval: Interval, out: &mut Vec<Event>) -> Vec<Ran> {
        let end = interval.start + interval.duration;
        if end.since(self.natives_listed).0 >= NATIVE_EVERY_NS || self.natives_listed == TimeNs(0) {
            self.natives_listed = end;
            self.list_natives(java, out);
        }
        // A thread that turned out to be Java's.
        for found in java {
            self.natives.remove(&found.os_id);
        }
        let natives: Vec<u32> = self.natives.iter().copied().collect();
        let mut ran = Vec::new();
        for os_id in natives {
            ran.extend(self.thread(Found { thread: ThreadId::native(os_id), os_id }, interval, out));
        }
        ran
    }

    fn list_natives(&mut self, java: &[Found], out: &mut Vec<Event>) {
        let java: HashSet<u32> = java.iter().map(|found| found.os_id).collect();
        let listed = task::ids(&self.root).unwrap_or_default();
        let others: HashSet<u32> = listed.into_iter().filter(|os_id| !java.contains(os_id)).collect();
        self.natives.retain(|os_id| others.contains(os_id));
        for os_id in others {
            let thread = ThreadId::native(os_id);
            if self.natives.contains(&os_id) {
                continue;
            }
            if self.samples > 1 && !self.threads.contains_key(&thread) {
                let cpu_ns = self.clocks.thread_ns(os_id).unwrap_or(0);
                let known = Known { cpu_ns, seen: self.samples, ..Known::default() };
                self.threads.insert(thread, known);
            }
            if let Ok(name) = task::name(&self.root, os_id) {
                self.natives.insert(os_id);
                out.push(Event::Thread(native_definition(os_id, name)));
            }
        }
    }

    /// The whole process: what its threads used, whatever became of them.
    fn process(&mut self, interval: Interval, out: &mut Vec<Event>) {
        let now = self.clocks.process_ns();
        let cpu_ns = now.saturating_sub(std::mem::replace(&mut self.process_ns, now));
        if self.samples > 1 {
            let cpu = DurationNs(cpu_ns);
            let Interval { start, duration } = interval;
            out.push(Event::ThreadTime(ThreadTime { start, duration, thread: ThreadId::NONE, cpu, run_queue: None }));
        }
    }

    fn is_undecided(&self) -> bool {
        self.accounting == StealAccounting::Unknown
    }

    /// Where the kernel's configuration does not say what thread times contain,
    /// threads that only computed in the interval do.
    fn decide(&mut self, machine: &Machine, interval: Interval, ran: &[Ran]) {
        if !self.is_undecided() || machine.all.stolen_ns == 0 {
            return;
        }
        let all_ns = (machine.all.busy_ns + machine.all.stolen_ns).max(1);
        let only_computed = |ran: &&Ran| matches!(ran.switches, (Some(before), Some(after)) if before == after);
        for ran in ran.iter().filter(only_computed).take(MAX_WATCHED) {
            let expected = u128::from(machine.all.stolen_ns) * u128::from(ran.cpu_ns) / u128::from(all_ns);
            let expected = u64::try_from(expected).unwrap_or(u64::MAX);
            self.evidence.add(interval.duration.0, ran.cpu_ns, ran.wait_ns, expected);
        }
        self.accounting = self.evidence.verdict();
    }

    /// The quota, once when there is one, and whenever it was looked at by the
    /// kernel since.
    fn quota(&mut self, interval: Interval, out: &mut Vec<Event>) {
        let Some(group) = &self.group else { return };
        let end = interval.start + interval.duration;
        let is_limited = self.quotas.iter().flatten().any(|quota| quota.quota_ns > 0);
        // Where there is no limit there may be one later.
        if !is_limited && self.samples > 1 && end.since(self.quota_read).0 < UNLIMITED_EVERY_NS {
            return;
        }
        self.quota_read = end;
        let now = group.read();
        let before = std::mem::replace(&mut self.quotas, now);
        let Some(quota) = control_group::since(&self.quotas, &before) else { return };
        if self.told_quota && quota.periods == 0 && quota.throttled_ns == 0 {
            return;
        }
        self.told_quota = true;
        out.push(Event::Throttling(Throttling {
            start: interval.start,
            duration: interval.duration,
            throttled: DurationNs(quota.throttled_ns),
            periods: quota.periods,
            throttled_periods: quota.throttled_periods,
            quota: DurationNs(quota.quota_ns),
            period: DurationNs(quota.period_ns),
            used: DurationNs(quota.used_ns),
        }));
    }

    /// The machine comes last: it ends the interval. Single CPUs only matter
    /// where something was stolen.
    fn tell(&self, machine: Option<Machine>, interval: Interval, out: &mut Vec<Event>) {
        let Some(machine) = machine else { return };
        let event = |cpu, time: CpuTime| {
            Event::MachineTime(MachineTime {
                start: interval.start,
                duration: interval.duration,
                cpu,
                busy: DurationNs(time.busy_ns),
                stolen: DurationNs(time.stolen_ns),
                idle: DurationNs(time.idle_ns),
                accounting: self.accounting,
            })
        };
        if machine.all.stolen_ns > 0 {
            out.extend(machine.cpus.iter().map(|(number, time)| event(Some(*number), *time)));
        }
        out.push(event(None, machine.all));
    }
}

#[derive(Clone, Copy)]
struct Interval {
    start: TimeNs,
    duration: DurationNs,
}

fn tell_thread(thread: ThreadId, ran: Ran, wait_known: bool, interval: Interval, out: &mut Vec<Event>) {
    out.push(Event::ThreadTime(ThreadTime {
        start: interval.start,
        duration: interval.duration,
        thread,
        cpu: DurationNs(ran.cpu_ns),
        run_queue: wait_known.then_some(DurationNs(ran.wait_ns)),
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::PathBuf;
    use std::rc::Rc;

    const S: u64 = 1_000_000_000;
    const TICK: u64 = 10_000_000;

    #[derive(Clone, Default)]
    struct FakeClocks {
        threads: Rc<RefCell<BTreeMap<u32, u64>>>,
        process: Rc<Cell<u64>>,
    }

    impl Clocks for FakeClocks {
        fn thread_ns(&self, os_id: u32) -> Option<u64> {
            self.threads.borrow().get(&os_id).copied()
        }

        fn process_ns(&self) -> u64 {
            self.process.get()
        }
    }

    /// A machine of files and clocks that a test turns on.
    struct Fake {
        directory: PathBuf,
        clocks: FakeClocks,
        sampler: Sampler<FakeClocks>,
        now: u64,
    }

    impl Drop for Fake {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.directory);
        }
    }

    impl Fake {
        fn new(name: &str, kernel: &str) -> Fake {
            let directory = std::env::temp_dir().join(format!("headway-sampler-{}-{name}", std::process::id()));
            let clocks = FakeClocks::default();
            let put = |path: &str, text: &str| put(&directory, path, text);
            put("proc/sys/kernel/osrelease", "1\n");
            put("boot/config-1", kernel);
            put("proc/stat", "cpu  0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\n");
            let sampler = Sampler::new(Root::at(&directory), clocks.clone(), Duration::from_secs(1));
            Fake { directory, clocks, sampler, now: S }
        }

        fn put(&self, path: &str, text: &str) {
            put(&self.directory, path, text);
        }

        fn thread(&self, os_id: u32, cpu_ns: u64, wait_ns: u64, switches: u64) {
            self.clocks.threads.borrow_mut().insert(os_id, cpu_ns);
            self.put(&format!("proc/self/task/{os_id}/schedstat"), &format!("{cpu_ns} {wait_ns} 1\n"));
            self.put(&format!("proc/self/task/{os_id}/status"), &format!("voluntary_ctxt_switches:\t{switches}\n"));
            self.put(&format!("proc/self/task/{os_id}/comm"), "Compiler\n");
        }

        fn machine(&self, busy: u64, stolen: u64, idle: u64) {
            let times = format!("{busy} 0 0 {idle} 0 0 0 {stolen}");
            self.put("proc/stat", &format!("cpu  {times}\ncpu0 {times}\n"));
        }

        /// A sample of these Java threads (id and kernel id), a second later.
        fn sample(&mut self, threads: &[(u64, u32)], ended: Vec<Ended>) -> Vec<Event> {
            self.now += S;
            let found = threads.iter().map(|(id, os_id)| Found { thread: ThreadId(*id), os_id: *os_id });
            let mut events = Vec::new();
            self.sampler.sample(TimeNs(self.now), found, ended, &mut events);
            events
        }
    }

    fn put(directory: &std::path::Path, path: &str, text: &str) {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Thread, CPU time and run-queue wait, of the events that tell them.
    fn times(events: &[Event]) -> Vec<(u64, u64, Option<u64>)> {
        let time = |event: &Event| match event {
            Event::ThreadTime(e) => Some((e.thread.0, e.cpu.0, e.run_queue.map(|wait| wait.0))),
            _ => None,
        };
        events.iter().filter_map(time).collect()
    }

    fn accounting(events: &[Event]) -> StealAccounting {
        let Some(Event::MachineTime(machine)) = events.last() else { panic!("no machine in {events:?}") };
        machine.accounting
    }

    #[test]
    fn threads_count_from_sample_to_sample_and_only_when_they_ran() {
        let mut fake = Fake::new("threads", "CONFIG_PARAVIRT_TIME_ACCOUNTING=y\n");
        fake.thread(11, 500, 50, 0);
        fake.thread(12, 700, 70, 0);
        assert_eq!(times(&fake.sample(&[(1, 11), (2, 12)], Vec::new())), []);
        fake.thread(11, 1_500, 150, 0);
        fake.thread(13, 40, 4, 0);
        fake.clocks.process.set(9_000);
        let ended = Ended { thread: ThreadId(4), cpu_ns: 30, wait_ns: Some(3) };
        let events = fake.sample(&[(1, 11), (2, 12), (3, 13)], vec![ended]);
        // The second did not run, the third began, the fourth began and ended.
        assert_eq!(times(&events), [(1, 1_000, Some(100)), (3, 40, Some(4)), (4, 30, Some(3)), (0, 9_000, None)]);
        let ended = Ended { thread: ThreadId(1), cpu_ns: 1_600, wait_ns: Some(160) };
        assert_eq!(times(&fake.sample(&[(2, 12), (3, 13)], vec![ended])), [(1, 100, Some(10)), (0, 0, None)]);
    }

    #[test]
    fn a_past_that_nobody_saw_is_not_this_intervals() {
        let mut fake = Fake::new("past", "");
        fake.sample(&[], Vec::new());
        fake.thread(11, 7 * S, 0, 0);
        assert_eq!(times(&fake.sample(&[(1, 11)], Vec::new())), [(0, 0, None)]);
        fake.thread(11, 7 * S + 5, 0, 0);
        assert_eq!(times(&fake.sample(&[(1, 11)], Vec::new())), [(1, 5, Some(0)), (0, 0, None)]);
    }

    #[test]
    fn threads_of_the_vm_count_from_the_second_time_on() {
        let mut fake = Fake::new("native", "");
        fake.sample(&[], Vec::new());
        fake.thread(21, 100, 0, 0);
        let events = fake.sample(&[], Vec::new());
        assert!(events
            .iter()
            .any(|event| matches!(event, Event::Thread(def) if &*def.name == "Compiler" && def.is_service)));
        assert_eq!(times(&events), [(0, 0, None)]);
        fake.thread(21, 150, 0, 0);
        let native = ThreadId::native(21).0;
        assert_eq!(times(&fake.sample(&[], Vec::new())), [(native, 50, Some(0)), (0, 0, None)]);
        // The VM says at last that it is one of Java's.
        fake.thread(21, 180, 0, 0);
        assert_eq!(times(&fake.sample(&[(5, 21)], Vec::new())), [(5, 180, Some(0)), (0, 0, None)]);
    }

    #[test]
    fn single_cpus_are_told_where_time_was_stolen() {
        let mut fake = Fake::new("machine", "CONFIG_PARAVIRT_TIME_ACCOUNTING=y\n");
        assert_eq!(fake.sample(&[], Vec::new()).len(), 0);
        fake.machine(50, 0, 50);
        let machine = |events: Vec<Event>| -> Vec<_> {
            let machine = |event| match event {
                Event::MachineTime(e) => Some((e.cpu, e.busy.0 / TICK, e.stolen.0 / TICK, e.idle.0 / TICK)),
                _ => None,
            };
            events.into_iter().filter_map(machine).collect()
        };
        assert_eq!(machine(fake.sample(&[], Vec::new())), [(None, 50, 0, 50)]);
        fake.machine(90, 30, 80);
        assert_eq!(machine(fake.sample(&[], Vec::new())), [(Some(0), 40, 30, 30), (None, 40, 30, 30)]);
    }

    /// A thread computes all the time while a tenth of it is stolen.
    fn after_a_while(name: &str, cpu_ns: u64, switching: bool) -> StealAccounting {
        let mut fake = Fake::new(name, "");
        let mut last = Vec::new();
        for second in 1..=8 {
            fake.thread(11, second * cpu_ns, 0, if switching { second } else { 3 });
            fake.machine(90 * second, 10 * second, 0);
            last = fake.sample(&[(1, 11)], Vec::new());
        }
        accounting(&last)
    }

    #[test]
    fn threads_that_only_compute_decide_where_the_kernel_does_not_say() {
        assert_eq!(after_a_while("included", S, false), StealAccounting::Included);
        assert_eq!(after_a_while("left-out", S * 9 / 10, false), StealAccounting::LeftOut);
        assert_eq!(after_a_while("sleeping", S * 9 / 10, true), StealAccounting::Unknown);
    }

    #[test]
    fn the_quota_is_told_once_and_then_when_it_was_used() {
        let mut fake = Fake::new("quota", "");
        fake.put("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        fake.put("proc/self/cgroup", "0::/\n");
        let stat = |periods: u64, throttled_us: u64| {
            format!("usage_usec 1\nnr_periods {periods}\nnr_throttled 0\nthrottled_usec {throttled_us}\n")
        };
        fake.put("sys/fs/cgroup/cpu.stat", &stat(10, 100));
        fake.put("sys/fs/cgroup/cpu.max", "50000 100000\n");
        fake.sampler = Sampler::new(Root::at(&fake.directory), fake.clocks.clone(), Duration::from_secs(1));
        let quota = |events: Vec<Event>| {
            events.into_iter().find_map(|event| match event {
                Event::Throttling(e) => Some((e.quota.0, e.throttled.0, e.periods)),
                _ => None,
            })
        };
        assert_eq!(quota(fake.sample(&[], Vec::new())), None);
        assert_eq!(quota(fake.sample(&[], Vec::new())), Some((50_000_000, 0, 0)));
        assert_eq!(quota(fake.sample(&[], Vec::new())), None);
        fake.put("sys/fs/cgroup/cpu.stat", &stat(20, 400));
        assert_eq!(quota(fake.sample(&[], Vec::new())), Some((50_000_000, 300_000, 10)));
    }

    #[test]
    fn samples_are_due_once_an_interval() {
        let mut fake = Fake::new("due", "");
        assert!(fake.sampler.is_due(TimeNs(0)));
        fake.sample(&[], Vec::new());
        let at = |ns: u64| TimeNs(fake.now + ns);
        assert!(!fake.sampler.is_due(at(S - 1)) && fake.sampler.is_due(at(S)));
        let patience = |ns, most| fake.sampler.patience(at(ns), Duration::from_nanos(most));
        assert_eq!(patience(S - 300, 5_000), Duration::from_nanos(300));
        assert_eq!(patience(0, 5_000), Duration::from_nanos(5_000));
        assert_eq!(patience(2 * S, 5_000), Duration::ZERO);
    }
}
