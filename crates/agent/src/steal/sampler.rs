//! Once an interval: what the kernel says of machine, threads and control
//! group, as differences to the sample before.
//!
//! Which threads are looked at is decided in [`tracked`](super::tracked). Their
//! run-queue wait, which lies in a file, is asked only of threads that ran: a
//! wait is added up when it ends, and then the thread runs. So one that goes on
//! for longer than an interval counts in the interval in which it ends.
//!
//! What the kernel says of the machine is the costliest to read, and in ticks
//! of 10 ms. While hardly anything is stolen it is read once a second, and
//! divided by time among the intervals since; these wait for it.

use super::clocks::Clocks;
use super::native_definition;
use super::pending_intervals::PendingIntervals;
use super::tracked::Tracked;
use crate::options::STEAL_INTERVALS_NS;
use crate::state::Ended;
use headway_host::control_group::{self, Quota};
use headway_host::machine::CpuTime;
use headway_host::{accounting, task, ControlGroup, Evidence, KeptFile, Machine, Root};
use headway_model::event::{StealAccounting, ThreadTime, Throttling};
use headway_model::{DurationNs, Event, ThreadId, TimeNs};
use std::time::Duration;

/// Time between samples by default.
pub const DEFAULT_INTERVAL_NS: u64 = 1_000_000_000;
/// How often it is asked whether there are new threads that are not Java's.
const NATIVE_EVERY_NS: u64 = 1_000_000_000;
/// How often they are listed even if their number is the same.
const LIST_EVERY_NS: u64 = 10_000_000_000;
/// How often a control group without a limit is looked at.
const UNLIMITED_EVERY_NS: u64 = 1_000_000_000;
/// How often the machine is looked at while little is stolen.
const MACHINE_EVERY_NS: u64 = 1_000_000_000;
/// The part of the machine's time from which on much is stolen.
const MUCH: u64 = 20;
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

/// A thread's part of an interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ran {
    pub cpu_ns: u64,
    pub wait_ns: u64,
    /// How often it gave up its CPU by itself, before and after; if watched.
    pub switches: (Option<u64>, Option<u64>),
}

/// See the module.
pub struct Sampler<C> {
    root: Root,
    interval_ns: u64,
    /// When the last sample was taken; `None` before the first.
    last: Option<TimeNs>,
    samples: u64,
    machine_file: KeptFile,
    machine: Option<Machine>,
    machine_read: TimeNs,
    is_much_stolen: bool,
    /// Intervals since.
    pending: PendingIntervals,
    group: Option<ControlGroup>,
    quotas: Vec<Option<Quota>>,
    threads: Tracked<C>,
    natives_counted: TimeNs,
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
        // A machine whose control groups cannot be seen has no quota.
        let group = ControlGroup::find(&root).ok().flatten();
        Sampler {
            machine_file: Machine::file(&root),
            threads: Tracked::new(root.clone(), clocks),
            root,
            interval_ns: interval_ns.clamp(*STEAL_INTERVALS_NS.start(), *STEAL_INTERVALS_NS.end()),
            last: None,
            samples: 0,
            machine: None,
            machine_read: TimeNs(0),
            is_much_stolen: false,
            pending: PendingIntervals::default(),
            group,
            quotas: Vec::new(),
            natives_counted: TimeNs(0),
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

    /// Takes a sample. The first only takes the readings to start from. `java`
    /// are all of Java's threads, if they are others than for the sample before.
    /// What waits for the next look at the machine is not reported yet, unless this
    /// `is_last`.
    pub fn sample(
        &mut self,
        now: TimeNs,
        java: Option<Vec<Found>>,
        ended: Vec<Ended>,
        is_last: bool,
        out: &mut Vec<Event>,
    ) {
        let start = self.last.replace(now);
        self.samples += 1;
        let interval = Interval { start: start.unwrap_or(now), duration: now.since(start.unwrap_or(now)) };
        let is_due = is_last || self.is_machine_due(now);
        let machine = is_due.then(|| self.machine(now, start.is_some())).flatten();
        let mut events = Vec::new();
        self.threads.begin();
        self.threads.ended(ended, interval, &mut events);
        if let Some(java) = java {
            self.threads.set_java(java.into_iter());
        }
        self.natives(now, &mut events);
        let ran = self.threads.look(interval, self.is_undecided(), &mut events);
        if let Some(machine) = machine.as_ref().filter(|_| self.pending.is_empty()) {
            self.decide(machine, interval, &ran);
        }
        self.quota(interval, &mut events);
        self.pending.add(interval, events);
        if is_due {
            self.pending.tell(machine.as_ref(), self.accounting, out);
        }
    }

    fn is_machine_due(&self, now: TimeNs) -> bool {
        let is_old = now.since(self.machine_read).0 >= MACHINE_EVERY_NS;
        self.machine.is_none() || is_old || self.is_much_stolen || self.is_undecided() || self.pending.is_full()
    }

    /// The machine since it was last looked at; `None` for the first time, or
    /// where it cannot be read.
    fn machine(&mut self, now: TimeNs, has_start: bool) -> Option<Machine> {
        let since = now.since(std::mem::replace(&mut self.machine_read, now)).0;
        let Ok(read) = Machine::read_from(&mut self.machine_file, self.root.tick_ns) else {
            self.machine = None;
            return None;
        };
        let before = self.machine.replace(read.clone())?;
        let machine = (has_start && since > 0).then(|| read.since(&before))?;
        let CpuTime { busy_ns, stolen_ns, idle_ns } = machine.all;
        self.is_much_stolen = stolen_ns.saturating_mul(MUCH) > busy_ns + stolen_ns + idle_ns;
        Some(machine)
    }

    /// Looks for threads of the VM itself: compilers, collectors. A Java thread is
    /// listed by the kernel before the VM reports it, so one counts only from
    /// the moment on at which it is found.
    fn natives(&mut self, now: TimeNs, out: &mut Vec<Event>) {
        let is_first = self.samples == 1;
        if !is_first && now.since(self.natives_counted).0 < NATIVE_EVERY_NS {
            return;
        }
        self.natives_counted = now;
        if is_first || now.since(self.natives_listed).0 >= LIST_EVERY_NS || self.threads.are_others() {
            self.natives_listed = now;
            self.threads.list_natives(|root, os_id| match task::name(root, os_id) {
                Ok(name) => {
                    out.push(Event::Thread(native_definition(os_id, name)));
                    true
                }
                Err(_) => false,
            });
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
}

/// From one sample to the next.
#[derive(Clone, Copy)]
pub(super) struct Interval {
    pub start: TimeNs,
    pub duration: DurationNs,
}

/// Says what a thread used.
pub(super) fn tell_thread(thread: ThreadId, ran: Ran, wait_known: bool, interval: Interval, out: &mut Vec<Event>) {
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
        reads: Rc<Cell<u64>>,
        threads: Rc<RefCell<BTreeMap<u32, u64>>>,
        process: Rc<Cell<u64>>,
    }

    impl Clocks for FakeClocks {
        fn thread_ns(&self, os_id: u32) -> Option<u64> {
            self.reads.set(self.reads.get() + 1);
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
            self.sampler.sample(TimeNs(self.now), Some(found.collect()), ended, false, &mut events);
            events
        }
    }

    fn put(directory: &std::path::Path, path: &str, text: &str) {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Thread, CPU time and run-queue wait, of the events that report them.
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
        assert_eq!(times(&events), [(4, 30, Some(3)), (1, 1_000, Some(100)), (3, 40, Some(4)), (0, 9_000, None)]);
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

    /// Many idle threads, of which one begins to compute.
    #[test]
    fn idle_threads_are_looked_at_when_the_process_used_more_than_is_known() {
        let mut fake = Fake::new("idle", "");
        let threads: Vec<(u64, u32)> = (1..=1_000).map(|n| (n, n as u32)).collect();
        for (_, os_id) in &threads {
            fake.clocks.threads.borrow_mut().insert(*os_id, 5);
        }
        for _ in 0..4 {
            assert!(times(&fake.sample(&threads, Vec::new())).iter().all(|(thread, ..)| *thread == 0));
        }
        // All were looked at just now. Less than a thousandth of a CPU: somebody else did that, or it can wait.
        fake.thread(700, 5 + S / 2_000, 7, 0);
        fake.clocks.process.set(S / 2_000);
        fake.clocks.reads.set(0);
        assert_eq!(times(&fake.sample(&threads, Vec::new())), [(0, S / 2_000, None)]);
        assert_eq!(fake.clocks.reads.get(), 0);
        fake.thread(700, 5 + S / 4, 8, 0);
        fake.clocks.process.set(S / 4);
        let told = times(&fake.sample(&threads, Vec::new()));
        assert_eq!(told, [(700, S / 4, Some(8)), (0, S / 4 - S / 2_000, None)]);
        // Now it is looked at in any case.
        fake.thread(700, 10 + S / 4, 8, 0);
        assert_eq!(times(&fake.sample(&threads, Vec::new()))[0], (700, 5, Some(0)));
    }

    #[test]
    fn the_process_of_many_threads_is_told_less_often_and_loses_nothing() {
        let mut fake = Fake::new("process", "");
        fake.sampler = Sampler::new(Root::at(&fake.directory), fake.clocks.clone(), Duration::from_millis(100));
        let threads: Vec<(u64, u32)> = (1..=1_000).map(|n| (n, n as u32)).collect();
        for (_, os_id) in &threads {
            fake.clocks.threads.borrow_mut().insert(*os_id, 0);
        }
        let (mut told_ns, mut told) = (0, 0);
        for n in 0..=20 {
            // One thread that is known to run, and what nobody is known to have used.
            fake.thread(1, n * 50_000_000, 0, 0);
            fake.clocks.process.set(n * 50_010_000);
            fake.now -= S - 100_000_000;
            for (thread, cpu_ns, _) in times(&fake.sample(&threads, Vec::new())) {
                told_ns += cpu_ns;
                told += u64::from(thread == 0);
            }
        }
        assert_eq!(told, 2, "every second");
        // The thread, reported in every interval, and the rest of the process.
        assert_eq!(told_ns, 20 * 50_000_000 + 20 * 50_010_000 - 18 * 50_000_000);
    }

    /// Start in hundreds of ms and stolen ms, of the whole machine.
    fn stolen(events: &[Event]) -> Vec<(u64, u64)> {
        let stolen = |event: &Event| match event {
            Event::MachineTime(e) if e.cpu.is_none() => Some((e.start.0 / 100_000_000, e.stolen.0 / 1_000_000)),
            _ => None,
        };
        events.iter().filter_map(stolen).collect()
    }

    #[test]
    fn while_little_is_stolen_the_machine_is_read_once_a_second_and_loses_nothing() {
        let mut fake = Fake::new("rarely", "CONFIG_PARAVIRT_TIME_ACCOUNTING=y\n");
        fake.sampler = Sampler::new(Root::at(&fake.directory), fake.clocks.clone(), Duration::from_millis(100));
        fake.now = 0;
        let mut sample = |n: u64, stolen_ticks: u64| {
            fake.machine(n * 10 - stolen_ticks, stolen_ticks, 0);
            fake.thread(11, n * 1_000, 0, 0);
            fake.now = n * 100_000_000;
            let found = Some(vec![Found { thread: ThreadId(1), os_id: 11 }]);
            let mut events = Vec::new();
            fake.sampler.sample(TimeNs(fake.now), found, Vec::new(), n == 24, &mut events);
            (stolen(&events), times(&events).iter().filter(|(thread, ..)| *thread == 1).count())
        };
        assert_eq!(sample(10, 0), (vec![], 0));
        for n in 11..20 {
            assert_eq!(sample(n, 0), (vec![], 0), "held");
        }
        // Half of the tenth interval; it may have been in any of them.
        assert_eq!(sample(20, 5), ((10..20).map(|at| (at, 5)).collect(), 10));
        // Half of each from now on: a twentieth is much, and each interval is read.
        assert_eq!(sample(21, 10), (vec![], 0), "what was read at 20 was little");
        assert_eq!(sample(22, 15), (vec![], 0));
        assert_eq!(sample(23, 20), (vec![], 0));
        let (last, threads) = sample(24, 25);
        assert_eq!((last, threads), ((20..24).map(|at| (at, 50)).collect(), 4), "the last waits for nothing");
    }

    #[test]
    fn while_much_is_stolen_each_interval_has_its_own() {
        let mut fake = Fake::new("much", "CONFIG_PARAVIRT_TIME_ACCOUNTING=y\n");
        fake.sampler = Sampler::new(Root::at(&fake.directory), fake.clocks.clone(), Duration::from_millis(500));
        let mut sample = |n: u64, stolen_ticks: u64| {
            fake.machine(50 * n - stolen_ticks, stolen_ticks, 0);
            let mut events = Vec::new();
            fake.sampler.sample(TimeNs(n * S / 2), Some(Vec::new()), Vec::new(), false, &mut events);
            stolen(&events)
        };
        assert_eq!(sample(2, 0), []);
        assert_eq!(sample(3, 10), []);
        assert_eq!(sample(4, 30), [(10, 150), (15, 150)]);
        assert_eq!(sample(5, 70), [(20, 400)]);
        assert_eq!(sample(6, 70), [(25, 0)]);
        assert_eq!(sample(7, 70), [], "little again");
        assert_eq!(sample(8, 70), [(30, 0), (35, 0)]);
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
