//! What the environment took: intervals, transactions and lock owners, from
//! events to the report.

use headway_analysis::ledger::{EntryKind, Quality};
use headway_analysis::report::FindingKind;
use headway_analysis::steal::steal_report::StealReport;
use headway_analysis::{Analysis, Bound, Options, Report, ThreadFilter};
use headway_model::event::*;
use headway_model::schedule::Schedule;
use headway_model::{ChainId, DurationNs, Event, LockId, Seq, ThreadId, TimeNs};
use std::sync::Arc;

const S: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
const WORKER: ThreadId = ThreadId(11);
const OTHER: ThreadId = ThreadId(12);

fn at(ms: u64) -> TimeNs {
    TimeNs(S + ms * MS)
}

fn thread(id: ThreadId, name: &str) -> Event {
    Event::Thread(ThreadDef { id, name: name.into(), ..ThreadDef::default() })
}

fn begin() -> Vec<Event> {
    let settings = vec![("events".to_owned(), "monitor,park,steal".to_owned())];
    let producer = "headway test".to_owned();
    let info = RecordingInfo { start: at(0), settings, producer, ..RecordingInfo::default() };
    vec![Event::Recording(Arc::new(info)), thread(WORKER, "worker-1"), thread(OTHER, "worker-2")]
}

/// A second: what each thread ran and waited for a CPU, in ms; the machine's
/// busy and stolen time.
struct Second<'a> {
    number: u64,
    threads: &'a [(ThreadId, u64, u64)],
    process: u64,
    machine: (u64, u64),
    idle: u64,
    accounting: StealAccounting,
    throttled: u64,
}

impl Second<'_> {
    fn events(&self) -> Vec<Event> {
        let (start, duration) = (at(self.number * 1_000), DurationNs(S));
        let time = |thread, cpu: u64, wait: Option<u64>| {
            let run_queue = wait.map(|wait| DurationNs(wait * MS));
            Event::ThreadTime(ThreadTime { start, duration, thread, cpu: DurationNs(cpu * MS), run_queue })
        };
        let mut events: Vec<Event> = self.threads.iter().map(|(id, cpu, wait)| time(*id, *cpu, Some(*wait))).collect();
        events.push(time(ThreadId::NONE, self.process, None));
        if self.throttled > 0 {
            events.push(Event::Throttling(Throttling {
                start,
                duration,
                throttled: DurationNs(self.throttled * MS),
                periods: 10,
                throttled_periods: 9,
                quota: DurationNs(50 * MS),
                period: DurationNs(100 * MS),
                used: DurationNs(self.process * MS),
            }));
        }
        events.push(Event::MachineTime(MachineTime {
            start,
            duration,
            cpu: None,
            busy: DurationNs(self.machine.0 * MS),
            stolen: DurationNs(self.machine.1 * MS),
            idle: DurationNs(self.idle * MS),
            accounting: self.accounting,
        }));
        events
    }
}

fn second(number: u64, threads: &[(ThreadId, u64, u64)]) -> Second<'_> {
    let process = threads.iter().map(|(_, cpu, _)| cpu).sum();
    Second {
        number,
        threads,
        process,
        machine: (process, 0),
        idle: 0,
        accounting: StealAccounting::LeftOut,
        throttled: 0,
    }
}

fn report(events: &[Event], options: Options) -> Report {
    let mut analysis = Analysis::new(options);
    begin().iter().chain(events).for_each(|event| analysis.feed(event));
    analysis.finish()
}

fn steal(events: &[Event]) -> StealReport {
    report(events, Options::default()).steal.unwrap()
}

#[test]
fn a_recording_that_says_nothing_has_no_report() {
    assert_eq!(report(&[], Options::default()).steal, None);
}

#[test]
fn stolen_time_is_subtracted_only_where_thread_times_contain_it() {
    let of = |accounting| {
        let machine = (600, 400);
        let events = Second { accounting, machine, ..second(0, &[(WORKER, 500, 0), (OTHER, 250, 0)]) }.events();
        let steal = steal(&events);
        let worker = steal.threads.iter().find(|thread| thread.name == "worker-1").unwrap().totals;
        (steal.accounting, worker.cpu_ns / MS, worker.steal_ns / MS, worker.corrected_ns / MS)
    };
    assert_eq!(of(StealAccounting::Included), ("included", 500, 200, 300));
    // Without stolen time all CPUs were busy for 600; the threads used 750 of it.
    assert_eq!(of(StealAccounting::LeftOut), ("left out", 500, 266, 500));
    assert_eq!(of(StealAccounting::Unknown), ("unknown", 500, 200, 500));
}

#[test]
fn threads_groups_and_process_add_up_and_time_nobody_used_is_nobodys() {
    let machine = (800, 200);
    let accounting = StealAccounting::Included;
    let seconds = [
        Second { process: 500, machine, accounting, ..second(0, &[(WORKER, 300, 30), (OTHER, 100, 10)]) },
        Second { process: 100, machine, accounting, ..second(1, &[(WORKER, 100, 0)]) },
    ];
    let events: Vec<Event> = seconds.iter().flat_map(Second::events).collect();
    let steal = steal(&events);
    let shown = |row: &headway_analysis::steal::steal_report::Named| {
        (row.name.clone(), row.totals.cpu_ns / MS, row.totals.steal_ns / MS, row.totals.run_queue_ns / MS)
    };
    let threads: Vec<_> = steal.threads.iter().map(shown).collect();
    assert_eq!(threads, [("worker-1".into(), 400, 80, 30), ("worker-2".into(), 100, 20, 10)]);
    assert_eq!(steal.groups.iter().map(shown).collect::<Vec<_>>(), [("worker-*".into(), 500, 100, 40)]);
    // 100 ms were used by threads that nobody named.
    assert_eq!((steal.process.cpu_ns / MS, steal.process.steal_ns / MS), (600, 120));
    assert_eq!((steal.intervals, steal.windows.len(), steal.windows[1].start_ns), (2, 2, S));
    assert_eq!(steal.machine.steal_ns, 400 * MS);
}

#[test]
fn a_range_and_a_filter_choose_intervals_and_threads() {
    let events: Vec<Event> = (0..4).flat_map(|n| second(n, &[(WORKER, 100 + n, 0), (OTHER, 50, 0)]).events()).collect();
    let options = Options {
        from: Some(Bound::SinceStart(DurationNs(S))),
        to: Some(Bound::SinceStart(DurationNs(3 * S))),
        threads: Some(ThreadFilter::new("some", |name| name == "worker-1")),
        ..Options::default()
    };
    let steal = report(&events, options).steal.unwrap();
    assert_eq!(steal.threads.iter().map(|thread| thread.totals.cpu_ns / MS).collect::<Vec<_>>(), [203]);
    assert_eq!(steal.intervals, 2);
}

#[test]
fn samples_divide_stolen_time_cpu_by_cpu_when_they_have_arrived() {
    let mut events = begin();
    let mut second = Second { machine: (1_000, 100), ..second(0, &[(WORKER, 500, 0), (OTHER, 500, 0)]) }.events();
    let all = second.pop().unwrap();
    let cpu = |number, stolen| match &all {
        Event::MachineTime(all) => Event::MachineTime(MachineTime {
            cpu: Some(number),
            busy: DurationNs(500 * MS),
            stolen: DurationNs(stolen * MS),
            ..*all
        }),
        _ => unreachable!(),
    };
    events.extend(second);
    events.extend([cpu(0, 100), cpu(1, 0), all.clone()]);
    // They come after the interval, and before the watermark that ends it.
    let sample = |thread, cpu| {
        let weight = DurationNs(10 * MS);
        Event::Sample(Sample { time: at(500), thread, weight, cpu: Some(cpu), ..Sample::default() })
    };
    events.extend([Event::Watermark(at(900)), sample(WORKER, 1), sample(OTHER, 0), Event::Watermark(at(2_000))]);
    let mut analysis = Analysis::new(Options::default());
    events.iter().for_each(|event| analysis.feed(event));
    let steal = analysis.finish().steal.unwrap();
    let stolen: Vec<_> = steal.threads.iter().map(|thread| (&*thread.name, thread.totals.steal_ns / MS)).collect();
    assert_eq!(stolen, [("worker-1", 0), ("worker-2", 100)]);
    assert_eq!(steal.refined_intervals, 1);
}

fn transaction(kind: &str, start: u64, end: u64, cpu: Option<u64>) -> Transaction {
    Transaction {
        time: at(end),
        start: at(start),
        thread: WORKER,
        kind: kind.into(),
        count: 1,
        id: 1,
        cpu: cpu.map(|cpu| DurationNs(cpu * MS)),
        ..Transaction::default()
    }
}

#[test]
fn transactions_bear_what_their_thread_lost_by_the_cpu_time_they_used() {
    let mut events = vec![
        Event::Transaction(transaction("short", 100, 150, Some(30))),
        Event::Transaction(transaction("short", 200, 210, Some(10))),
        Event::Transaction(transaction("virtual", 300, 400, None)),
        Event::Transaction(Transaction { forgotten: true, ..transaction("short", 500, 900, None) }),
    ];
    // Of 80 ms CPU time, 40 in these transactions; 20 waited for a CPU.
    events.extend(second(0, &[(WORKER, 80, 20)]).events());
    events.push(Event::Watermark(at(1_000)));
    events.push(Event::Transaction(transaction("long", 900, 2_900, Some(200))));
    events.extend(second(1, &[(WORKER, 100, 50)]).events());
    events.extend(second(2, &[(WORKER, 160, 80)]).events());
    let steal = steal(&events);
    let [long, virtual_, short] = &steal.transactions[..] else { panic!("{:?}", steal.transactions) };
    assert_eq!((&*short.kind, short.count, short.not_ended, short.cpu_ns / MS), ("short", 2, 1, 40));
    assert_eq!((short.run_queue_ns / MS, short.wall.total_ns / MS), (10, 60));
    assert_eq!((&*virtual_.kind, virtual_.without_cpu, virtual_.run_queue_ns), ("virtual", 1, 0));
    // The second in the middle whole; 100 ms are left for edges that had room for
    // 80 and 160: five twelfths of their 20 and 80.
    assert_eq!((&*long.kind, long.run_queue_ns / (10 * MS)), ("long", 9));
    let median = short.wall.p50_ns as f64 / (10 * MS) as f64;
    assert!((median - 1.0).abs() < 0.001 && short.wall.max_ns >= 50 * MS, "{:?}", short.wall);
}

#[test]
fn many_told_together_count_as_many() {
    let sum = Transaction { count: 1_000, thread: ThreadId::NONE, ..transaction("tiny", 499, 500, Some(100)) };
    let mut events = vec![Event::Transaction(sum)];
    events.extend(second(0, &[(WORKER, 200, 40)]).events());
    let steal = steal(&events);
    let tiny = &steal.transactions[0];
    assert_eq!((tiny.count, tiny.wall.total_ns, tiny.cpu_ns), (1_000, S, 100 * MS));
    assert_eq!(tiny.run_queue_ns, 20 * MS);
}

#[test]
fn a_virtual_thread_fared_as_the_process_did() {
    let mounted = Transaction { thread: ThreadId(77), ..transaction("mounted", 100, 500, Some(100)) };
    let mut events = vec![Event::Transaction(mounted)];
    events.extend(second(0, &[(WORKER, 200, 40)]).events());
    let steal = steal(&events);
    let mounted = &steal.transactions[0];
    assert_eq!((mounted.count, mounted.without_cpu, mounted.cpu_ns), (1, 0, 100 * MS));
    assert_eq!(mounted.run_queue_ns, 20 * MS);
}

/// One is blocked for 400 ms by an owner that had a CPU for a quarter of its
/// ready time.
#[test]
fn a_lock_whose_owner_did_not_run_is_told_with_the_finding() {
    let lock = LockId(5);
    let mut events = vec![
        Event::Lock(LockDef { id: lock, class: "Shop".into(), name: "Shop.lock".into(), ..LockDef::default() }),
        Event::MonitorEnter(MonitorEnter {
            time: at(100),
            thread: OTHER,
            lock,
            seq: Seq(1),
            owner: WORKER,
            ..MonitorEnter::default()
        }),
        Event::MonitorExit(MonitorExit { time: at(500), thread: WORKER, lock, seq: Seq(2), ..MonitorExit::default() }),
        Event::MonitorEntered(MonitorEntered {
            time: at(500),
            start: at(100),
            thread: OTHER,
            lock,
            seq: Seq(3),
            ..MonitorEntered::default()
        }),
        Event::Watermark(at(900)),
    ];
    events.extend(Second { throttled: 750, ..second(0, &[(WORKER, 250, 750)]) }.events());
    events.push(Event::Watermark(at(2_000)));
    let report = report(&events, Options::default());
    let steal = report.steal.as_ref().unwrap();
    let [held] = &steal.locks[..] else { panic!("{:?}", steal.locks) };
    assert_eq!((held.blocked_ns / MS, held.owner_no_cpu_ns / MS), (400, 300));
    assert_eq!((held.slices, held.slices_no_cpu), (1, 1));
    let mut rows = &report.rows;
    for _ in &report.by {
        let [row] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((row.total_ns / MS, row.owner_no_cpu_ns / MS), (400, 300), "{row:?}");
        rows = &row.children;
    }
    let finding = report.findings.iter().find(|finding| finding.text.contains("for a CPU")).unwrap();
    assert_eq!(
        finding.text,
        "Thread `worker-1` waited 750 ms (19 % of the active thread time) for a CPU and ran for 250 ms: CPU throttling. \
         The container may use 0.50 CPUs. It used them up in 90 % of the quota's periods."
    );
    // The same number in table, report of the environment, ledger and finding.
    assert_eq!(report.ledger.ns(EntryKind::LockOwnerNoCpu) / MS, 300);
    let lock = report.findings.iter().find(|finding| finding.text.contains("blocked on `Shop.lock`")).unwrap();
    assert!(
        lock.text.ends_with("For about 75 % of the blocked time (38 % to 100 %), its owner had no CPU."),
        "{}",
        lock.text
    );
    let evidence = lock.evidence.iter().find(|evidence| evidence.what == "lock-owner-no-cpu").unwrap();
    assert_eq!((evidence.ns / MS, evidence.quality), (300, Quality::Estimated));
    assert_eq!((held.least_ns / MS, held.most_ns / MS), (150, 400));
}

/// An owner whose name the filter leaves out waits and lacks the CPU all the same.
#[test]
fn a_filter_on_blocked_threads_changes_nothing_about_their_owners() {
    let lock = LockId(5);
    let enter = MonitorEnter { time: at(100), thread: OTHER, lock, seq: Seq(1), owner: WORKER, ..Default::default() };
    let exit = MonitorExit { time: at(500), thread: WORKER, lock, seq: Seq(2), ..Default::default() };
    let entered =
        MonitorEntered { time: at(500), start: at(100), thread: OTHER, lock, seq: Seq(3), ..Default::default() };
    let park = Park { start: at(510), time: at(990), thread: WORKER, ..Park::default() };
    let mut events = vec![
        Event::MonitorEnter(enter),
        Event::MonitorExit(exit),
        Event::MonitorEntered(entered),
        Event::Park(park),
        Event::Watermark(at(995)),
    ];
    events.extend(second(0, &[(WORKER, 250, 250)]).events());
    events.push(Event::Watermark(at(2_000)));
    let no_cpu = |options| {
        let report = report(&events, options);
        let waited: Vec<u64> = report.waits.iter().map(|wait| wait.total_ns / MS).collect();
        (report.ledger.ns(EntryKind::LockOwnerNoCpu) / MS, waited)
    };
    let only_blocked =
        Options { threads: Some(ThreadFilter::new("worker-2", |name| name == "worker-2")), ..Options::default() };
    let (of_all, all_waits) = no_cpu(Options::default());
    assert_eq!(all_waits, [480], "the owner waited for most of the time in which it had no lock");
    assert_eq!(no_cpu(only_blocked), (of_all, Vec::new()));
}

/// A thread that hardly runs has little of the time for which its container was held back, and waits like the others.
#[test]
fn a_quota_that_is_used_up_in_most_periods_is_the_cause_though_a_thread_has_little_of_it() {
    let said = |throttled: u64| {
        let mut events = vec![Event::Watermark(at(0))];
        events.extend(Second { throttled, ..second(0, &[(WORKER, 250, 750)]) }.events());
        events.push(Event::Watermark(at(2_000)));
        let report = report(&events, Options::default());
        report.findings.iter().find(|finding| finding.text.contains("for a CPU")).unwrap().text.clone()
    };
    let why = "CPU throttling. The container may use 0.50 CPUs. It used them up in 90 % of the quota's periods.";
    assert!(said(300).ends_with(why), "{}", said(300));
    // Held back for a moment at the end of each period: that is not why it waited.
    assert!(said(100).contains("more threads were ready than there are CPUs"), "{}", said(100));
}

/// One thread is blocked on a lock that the other one owns.
fn blocked_on_lock(from: u64, to: u64) -> Vec<Event> {
    let lock = LockId(5);
    let enter = MonitorEnter { time: at(from), thread: OTHER, lock, seq: Seq(1), owner: WORKER, ..Default::default() };
    let exit = MonitorExit { time: at(to), thread: WORKER, lock, seq: Seq(2), ..Default::default() };
    let (time, start, seq) = (at(to), at(from), Seq(3));
    let entered = MonitorEntered { time, start, thread: OTHER, lock, seq, ..Default::default() };
    vec![Event::MonitorEnter(enter), Event::MonitorExit(exit), Event::MonitorEntered(entered)]
}

/// Of contentions that were only added up, owners lacked a CPU for the same part as of those recorded one by one:
/// in the list of locks, too.
#[test]
fn the_list_of_locks_has_the_number_of_the_ledger_where_contentions_are_sampled() {
    let with = |seed| Sampling { time: at(0), window: DurationNs(10 * S), seed, ..Sampling::default() };
    // The contention is recorded because the window's instant lies in it.
    let seed = (0..).find(|seed| Schedule::new(with(*seed)).hits(at(100), at(500))).unwrap();
    let mut events = vec![Event::Sampling(with(seed))];
    events.extend(blocked_on_lock(100, 500));
    let (lock, chain, total) = (LockId(5), ChainId::NONE, DurationNs(400 * MS));
    let (time, thread, on) = (at(950), OTHER, SpentOn::Monitor);
    events.push(Event::Spent(Spent { time, thread, lock, chain, on, count: 3, total }));
    events.push(Event::Watermark(at(960)));
    events.extend(second(0, &[(WORKER, 250, 750)]).events());
    events.push(Event::Watermark(at(2_000)));
    let report = report(&events, Options::default());
    let [held] = &report.steal.as_ref().unwrap().locks[..] else { panic!("{:?}", report.steal) };
    assert_eq!((held.blocked_ns / MS, held.owner_no_cpu_ns / MS), (800, 600));
    assert_eq!(held.owner_no_cpu_ns, report.ledger.ns(EntryKind::LockOwnerNoCpu));
    assert!((held.share - 0.75).abs() < 0.01, "{held:?}");
}

/// A lock that is free for most of the time, because nobody of those that wait has a CPU: the first sentence
/// says both.
#[test]
fn the_verdict_about_hand_offs_names_the_lack_of_cpus() {
    let mut events = blocked_on_lock(100, 900);
    for event in &mut events {
        if let Event::MonitorExit(e) = event {
            e.time = at(110);
        }
    }
    let of_blocked = |seconds: Second<'_>| {
        let mut events = events.clone();
        events.extend(seconds.events());
        events.push(Event::Watermark(at(2_000)));
        report(&events, Options::default())
    };
    let short = of_blocked(second(0, &[(WORKER, 500, 100), (OTHER, 100, 400)]));
    assert_eq!(short.findings[0].kind, FindingKind::HandOff, "{:?}", short.findings);
    let ends = "the next thread had not run yet. There were too few CPUs: threads waited for a CPU for 12 % of \
                the active thread time.";
    assert!(short.verdict.ends_with(ends), "{}", short.verdict);
    let enough = of_blocked(second(0, &[(WORKER, 500, 0), (OTHER, 100, 0)]));
    assert!(enough.verdict.ends_with("the next thread had not run yet."), "{}", enough.verdict);
}

/// A woken thread that has no CPU yet is in the finding about the lock and in that about CPUs: both say so, and how much
/// of it is certain.
#[test]
fn findings_about_hand_offs_and_about_cpus_say_that_they_overlap() {
    let mut events = blocked_on_lock(100, 1_900);
    for event in &mut events {
        if let Event::MonitorExit(e) = event {
            e.time = at(110);
        }
    }
    let lack = |from| second(from, &[(WORKER, 50, 0), (OTHER, 50, 900)]).events();
    events.extend(lack(0).into_iter().chain(lack(1)));
    events.push(Event::Watermark(at(2_000)));
    let report = report(&events, Options::default());
    let finding = |kind| report.findings.iter().find(|finding| finding.kind == kind).unwrap();
    let about_lock = &finding(FindingKind::HandOff).text;
    let place = 1 + report.findings.iter().position(|one| one.kind == FindingKind::Environment).unwrap();
    let ends = format!("A woken thread that has no CPU yet counts here and in finding {place}.");
    assert!(about_lock.ends_with(&ends), "{about_lock}");
    let details = &finding(FindingKind::Environment).details;
    let bar =
        "the bar shows 100 ms as ready (2.5 % of the active thread time), at least 1.70 s as waiting or blocked (woken threads that have no CPU yet)";
    assert!(details.iter().any(|detail| detail == bar), "{details:?}");
}

/// Somebody who sleeps lacks no CPU, however long others queue for one.
#[test]
fn an_owner_that_sleeps_lacks_no_cpu() {
    let mut events = blocked_on_lock(100, 900);
    // Of a second it executed 10 ms, and 20 ms it was ready and had no CPU.
    events.extend(second(0, &[(WORKER, 10, 20)]).events());
    events.push(Event::Watermark(at(2_000)));
    let report = report(&events, Options::default());
    let ms = |kind| report.ledger.ns(kind) / MS;
    assert_eq!((ms(EntryKind::LockOwnerNoCpu), ms(EntryKind::LockOwnerRan)), (16, 8));
    assert_eq!(ms(EntryKind::LockOwnerOffCpu), 776);
    let finding = &report.findings[0];
    assert_eq!(finding.owner_did, "For about 97 % of the blocked time, its owner was in sleep, I/O or native code.");
    assert!(finding.text.ends_with(&finding.owner_did), "{}", finding.text);
}

/// Threads that execute under a lock for 4 ms each, 20 times a second, and sleep without it.
#[test]
fn an_owner_that_sleeps_before_and_after_is_not_said_to_sleep_with_the_lock() {
    let lock = LockId(5);
    let mut events = Vec::new();
    for round in 0..20 {
        let (from, to, seq) = (at(50 * round), at(50 * round + 4), 3 * round + 1);
        let enter =
            MonitorEnter { time: from, thread: OTHER, lock, seq: Seq(seq), owner: WORKER, ..Default::default() };
        let exit = MonitorExit { time: to, thread: WORKER, lock, seq: Seq(seq + 1), ..Default::default() };
        let entered =
            MonitorEntered { time: to, start: from, thread: OTHER, lock, seq: Seq(seq + 2), ..Default::default() };
        events.extend([Event::MonitorEnter(enter), Event::MonitorExit(exit), Event::MonitorEntered(entered)]);
    }
    events.extend(second(0, &[(WORKER, 80, 0), (OTHER, 0, 0)]).events());
    events.push(Event::Watermark(at(2_000)));
    let report = report(&events, Options::default());
    // What fits the interval best is no claim.
    assert_eq!(report.ledger.ns(EntryKind::LockOwnerOffCpu) / 100_000, 736);
    let finding = &report.findings[0];
    assert!(
        finding.text.ends_with("owned it for 100 % of that time. The recording does not show what it did."),
        "{}",
        finding.text
    );
    let meanwhile = "blocked time: 100 % owner ran, slept or was in I/O (it is not known which)";
    assert!(finding.details.iter().any(|detail| detail == meanwhile), "{:?}", finding.details);
    let sleep = finding.evidence.iter().find(|evidence| evidence.what == "lock-owner-off-cpu").unwrap();
    assert_eq!(sleep.least_ns, Some(0));
}

#[test]
fn what_threads_do_that_neither_execute_nor_wait_for_anything_known_is_in_the_verdict() {
    let verdict = |cpu| report(&second(0, &[(WORKER, cpu, 0), (OTHER, cpu, 0)]).events(), Options::default()).verdict;
    assert_eq!(
        verdict(100),
        "No bottleneck in locks or waits. Threads spent 90 % of the active thread time in sleep, I/O, native code or the VM. To \
         see in which methods, record with `-e lock,steal,wall`."
    );
    assert_eq!(
        verdict(600),
        "No bottleneck in locks or waits. Threads executed code for 60 % of the active thread time. To see in which \
         methods, record with `-e lock,steal,cpu`."
    );
}

#[test]
fn each_cause_has_its_words() {
    let text = |second: Second<'_>| {
        let report = report(&second.events(), Options::default());
        report.findings.into_iter().map(|finding| finding.text).find(|text| text.contains("for a CPU"))
    };
    let stolen = text(Second { machine: (500, 500), ..second(0, &[(WORKER, 500, 0)]) }).unwrap();
    assert!(stolen.contains("waited 500 ms (") && stolen.contains("the hypervisor gave CPUs to other"), "{stolen}");
    let queue = text(second(0, &[(WORKER, 500, 500)])).unwrap();
    let said =
        "for a CPU and ran for 500 ms: more threads were ready than there are CPUs. Of the CPU time used on the machine, ";
    assert!(queue.contains(said), "{queue}");
    assert_eq!(text(second(0, &[(WORKER, 990, 10)])), None);
}

/// As of a process that may use one CPU of two.
#[test]
fn beside_idle_cpus_it_is_not_said_that_there_were_too_few() {
    let threads = [(WORKER, 700, 300), (OTHER, 200, 600)];
    let of_idle = |idle| report(&Second { idle, ..second(0, &threads) }.events(), Options::default());
    let said = of_idle(900);
    let text = &said.findings[0].text;
    assert!(
        text.contains(", although the machine's CPUs were idle for 50 % of the time. Threads become ready"),
        "{text}"
    );
    assert!(said.findings[0].details[0].ends_with("; threads waited for a CPU during the whole recording"));
    assert!(said.verdict.contains("waiting for a CPU"), "{}", said.verdict);
    let busy = &of_idle(200).findings[0];
    assert!(busy.text.contains("more threads were ready than there are CPUs"), "{}", busy.text);
    assert!(busy.details[0].ends_with("; too few CPUs during the whole recording"), "{:?}", busy.details);
}

#[test]
fn where_other_processes_had_the_cpus_the_verdict_says_so_and_what_the_program_lacks_besides() {
    let threads = [(WORKER, 200, 700), (OTHER, 0, 0)];
    let others = Second { machine: (1_800, 0), ..second(0, &threads) };
    let said = report(&others.events(), Options::default());
    assert_eq!(said.findings[0].kind, FindingKind::Environment);
    let text = &said.findings[0].text;
    assert!(text.contains("ran for 200 ms: other processes had most of the CPU time."), "{text}");
    let evidence = said.findings[0].evidence.iter().find(|evidence| evidence.what == "cpu-of-other-processes").unwrap();
    assert_eq!((evidence.ns / MS, evidence.share), (1_600, Some(1_600.0 / 1_800.0)));
    assert!(
        said.verdict.starts_with("Other processes had 89 % of the CPU time. Threads `worker-*` spent "),
        "{}",
        said.verdict
    );
    assert!(said.verdict.ends_with(" waiting for a CPU."), "{}", said.verdict);
    let during = "; threads waited for a CPU during the whole recording";
    assert!(said.findings[0].details[0].ends_with(during), "{:?}", said.findings[0].details);
    // Somebody is blocked on a lock besides, for less.
    let events = [blocked_on_lock(100, 500), others.events()].concat();
    let verdict = report(&events, Options::default()).verdict;
    assert!(verdict.starts_with("Other processes had 89 % of the CPU time. "), "{verdict}");
    assert!(verdict.contains(" waiting for a CPU. The largest loss in the program: Thread `"), "{verdict}");
    // Where they had a part of the time only, it may as well be the program's own threads.
    let some = Second { machine: (390, 0), ..second(0, &threads) };
    let text = &report(&some.events(), Options::default()).findings[0].text;
    assert!(text.contains("more threads were ready than there are CPUs"), "{text}");
}

/// Threads for one task each: a start waits for a CPU, whoever else uses one.
#[test]
fn what_threads_wait_around_their_lives_is_not_blamed_on_other_processes() {
    let said = |lived_ms: u64| {
        let point = |ms, thread| ThreadPoint { time: at(ms), thread };
        let request = ThreadId(21);
        let mut events = vec![thread(request, "request"), Event::ThreadStart(point(900 - lived_ms, request))];
        events.extend(Second { machine: (1_800, 0), ..second(0, &[(request, 20, 700), (OTHER, 0, 0)]) }.events());
        events.push(Event::ThreadEnd(point(900, request)));
        report(&events, Options::default())
    };
    let short = said(70);
    let finding = short.findings.iter().find(|one| one.kind == FindingKind::Environment).expect("a finding");
    let around =
        "ran for 20.0 ms: at least 90 % of this waiting was before the threads started or after they ended. Of the \
                  CPU time used on the machine, other processes had 99 %";
    assert!(finding.text.contains(around), "{}", finding.text);
    assert_eq!(
        finding.details[0],
        "all of it in the run queue (no steal, no throttling); threads waited for a CPU during the whole recording"
    );
    assert!(
        finding.details.iter().any(|one| one.ends_with("this part of the waiting (at least 630 ms)")),
        "{finding:?}"
    );
    assert!(!short.verdict.contains("Other processes"), "{}", short.verdict);
    assert!(
        short.verdict.ends_with(
            "waiting for a CPU. At least 90 % of this waiting was before the threads started or after they ended."
        ),
        "{}",
        short.verdict
    );
    let long = said(900);
    assert!(long.verdict.starts_with("Other processes had 99 % of the CPU time."), "{}", long.verdict);
}

#[test]
fn carriers_without_a_cpu_are_virtual_threads_that_wait_for_one() {
    let carriers = [1, 2].map(|id| {
        Event::Thread(ThreadDef {
            id: ThreadId(20 + id),
            name: format!("ForkJoinPool-1-worker-{id}").into(),
            group: "CarrierThreads".into(),
            is_service: true,
            ..ThreadDef::default()
        })
    });
    let mut events = carriers.to_vec();
    events.extend(second(0, &[(ThreadId(21), 500, 500), (ThreadId(22), 500, 500)]).events());
    let report = report(&events, Options::default());
    let ready = report.ledger.ns(EntryKind::RunQueue);
    let lack = report.findings.iter().find(|finding| finding.kind == FindingKind::Environment).unwrap();
    assert_eq!((ready / MS, lack.cost_ns / MS), (1_000, 1_000));
    let text = &lack.text;
    assert!(text.starts_with("Virtual threads waited 1.00 s (") && text.contains("ran for 1.00 s"), "{text}");
    assert!(report.verdict.starts_with("Virtual threads spent "), "{}", report.verdict);
    let users = report.ledger.cpu_users.unwrap();
    assert_eq!((users.application_ns / MS, users.vm_ns), (1_000, 0));
}

#[test]
fn where_several_groups_lack_cpus_the_finding_is_of_all_threads() {
    let lack = |waited: [u64; 2]| {
        let mut events = vec![thread(OTHER, "batch")];
        events.extend(second(0, &[(WORKER, 500, waited[0]), (OTHER, 500, waited[1])]).events());
        let report = report(&events, Options::default());
        let finding = report.findings.iter().find(|finding| finding.kind == FindingKind::Environment).unwrap();
        assert_eq!(finding.cost_ns, finding.evidence[0].ns);
        finding.text.split(" (").next().unwrap().to_owned()
    };
    assert_eq!(lack([500, 500]), "Threads waited 1.00 s");
    assert_eq!(lack([500, 100]), "Thread `worker-1` waited 500 ms");
}
