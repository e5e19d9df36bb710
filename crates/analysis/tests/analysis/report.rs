//! Reports of small recordings: rows, findings, filters, JSON.

use crate::picture::{at, draw, lock_id, thread_id, Picture, MS, ZERO};
use crate::story::{chain, lock, method, recording, thread};
use headway_analysis::report::{FindingKind, Report, Row, Value};
use headway_analysis::{Analysis, Aspect, Bound, Options, ThreadFilter};
use headway_model::event::*;
use headway_model::{ChainId, DurationNs, Event, LockId, Loss, Seq, ThreadId, TimeNs};
use std::sync::Arc;

const REBUILD: u64 = 1;
const RUN: u64 = 2;
const SELL: u64 = 3;
const HANDLE: u64 = 4;
const WAIT: u64 = 5;
const WAIT_FOR: u64 = 6;
const UPDATE: u64 = 7;
const EXECUTE: u64 = 8;

/// Names for a picture: T1 is the scheduler, the others are request threads.
/// Every chain of T1 is a rebuild, every other one a sale.
fn definitions(picture: &Picture) -> Vec<Event> {
    let mut events = vec![
        recording(at(0)),
        method(REBUILD, "com.acme.Inventory", "rebuildIndex"),
        method(RUN, "com.acme.Scheduler", "run"),
        method(SELL, "com.acme.Inventory", "sell"),
        method(HANDLE, "com.acme.Server", "handle"),
        method(WAIT, "java.lang.Object", "wait"),
        method(WAIT_FOR, "org.h2.mvstore.tx.Transaction", "waitFor"),
        method(UPDATE, "org.h2.command.dml.Update", "update"),
        method(EXECUTE, "com.acme.Payment", "execute"),
        lock(u64::from(b'a'), "com.acme.Inventory$1", 0x1a2b3c, "Inventory.lock"),
        lock(u64::from(b'b'), "java.util.Hashtable", 0, ""),
    ];
    for (index, name) in picture.names.iter().enumerate() {
        if name != "VM" {
            let name = if index == 0 { "scheduler-1".to_owned() } else { format!("http-nio-80-exec-{index}") };
            events.push(thread(thread_id(index).0, &name));
        }
    }
    let mut chains: Vec<Event> = picture.events.iter().filter_map(chain_of).collect();
    chains.dedup();
    events.extend(chains);
    events
}

fn chain_of(event: &Event) -> Option<Event> {
    let sale = [(SELL, 40), (HANDLE, 7)];
    let rebuild = [(REBUILD, 88), (RUN, 12)];
    let row_lock = [(WAIT, 0), (WAIT_FOR, 300), (WAIT_FOR, 250), (UPDATE, 80), (EXECUTE, 31), (HANDLE, 7), (RUN, 3)];
    let (thread, id, waits) = match event {
        Event::MonitorEnter(e) => (e.thread, e.chain, false),
        Event::MonitorExit(e) => (e.thread, e.chain, e.cause == ExitCause::Wait),
        Event::MonitorWait(e) => (e.thread, e.chain, true),
        _ => return None,
    };
    Some(match (waits, thread == thread_id(0)) {
        (true, _) => chain(id.0, &row_lock),
        (false, true) => chain(id.0, &rebuild),
        (false, false) => chain(id.0, &sale),
    })
}

fn analyse(picture: &str, options: Options) -> Report {
    analyse_picture(&draw(picture), options)
}

fn analyse_picture(picture: &Picture, options: Options) -> Report {
    let mut analysis = Analysis::new(options);
    for event in definitions(picture).iter().chain(&picture.events) {
        analysis.feed(event);
    }
    analysis.feed(&Event::Watermark(picture.end));
    analysis.finish()
}

pub fn by(list: &str) -> Options {
    Options { by: Aspect::parse_list(list).expect("aspects"), ..Options::default() }
}

/// The rows as text: `value total_ms xcount max_ms`, indented by level.
pub fn rows(report: &Report) -> String {
    fn write(rows: &[headway_analysis::report::Row], depth: usize, out: &mut Vec<String>) {
        for row in rows {
            let value = match &row.value {
                Value::Text(text) => text.clone(),
                Value::Chain(frames) => frames.join(" < "),
            };
            let (total, max) = (row.total_ns / MS, row.max_ns / MS);
            out.push(format!("{}{value} {total} x{} {max}", "  ".repeat(depth), row.count));
            write(&row.children, depth + 1, out);
        }
    }
    let mut out = Vec::new();
    write(&report.rows, 0, &mut out);
    out.join("\n")
}

pub fn texts(report: &Report) -> Vec<&str> {
    report.findings.iter().map(|finding| finding.text.as_str()).collect()
}

const HOT: &str = "
    T1: [a..................]        [a........]
    T2:   a~~~~~~~~~~~~~~~~~~[a.]
    T3:        a~~~~~~~~~~~~~~~~~~[a.]a~~~~~~~~~[a]
    ";

#[test]
fn rows_follow_the_aspects() {
    let report = analyse(HOT, by("lock,owner-method,contender-thread"));
    assert_eq!(
        rows(&report),
        "Inventory.lock (com.acme.Inventory$1@1a2b3c) 48 x3 19\n\
         \x20 com.acme.Inventory.rebuildIndex 40 x3 18\n\
         \x20   http-nio-80-exec-2 22 x2 13\n\
         \x20   http-nio-80-exec-1 18 x1 18\n\
         \x20 unknown 5 x3 3\n\
         \x20   http-nio-80-exec-2 4 x2 3\n\
         \x20   http-nio-80-exec-1 1 x1 1\n\
         \x20 com.acme.Inventory.sell 3 x1 3\n\
         \x20   http-nio-80-exec-2 3 x1 3"
    );
}

#[test]
fn chains_are_lists_of_frames_and_threads_fold_into_groups() {
    let report = analyse(HOT, by("contender-group,owner-chain,kind,lock-class"));
    assert_eq!(report.rows[0].value, Value::Text("http-nio-*-exec-*".to_owned()));
    let chains: Vec<&Value> = report.rows[0].children.iter().map(|row| &row.value).collect();
    assert_eq!(
        *chains[0],
        Value::Chain(vec!["com.acme.Inventory.rebuildIndex:88".to_owned(), "com.acme.Scheduler.run:12".to_owned()])
    );
    let kind = &report.rows[0].children[0].children[0];
    assert_eq!(kind.value, Value::Text("monitor".to_owned()));
    assert_eq!(kind.children[0].value, Value::Text("com.acme.Inventory$1".to_owned()));
}

#[test]
fn time_is_cut_at_intervals() {
    let options = Options { time_bucket: DurationNs(10 * MS), ..by("time") };
    let report = analyse(HOT, options);
    let times: Vec<String> =
        report.rows.iter().map(|row| format!("{} {}", row.value.headline(), row.total_ns / MS)).collect();
    assert_eq!(times, ["+0s 11", "+0.01s 20", "+0.02s 7", "+0.03s 10"]);
}

#[test]
fn a_wait_below_the_owner_is_charged_to_the_owner() {
    // T2 waits in waitFor, called by update, which holds the lock.
    let mut picture = draw(
        "
        T1:      a~~~~~~~~[a..]
        T2: [a........w________
        ",
    );
    for event in &mut picture.events {
        if let Event::MonitorExit(e) = event {
            e.owner_frame = 3;
        }
    }
    let report = analyse_picture(&picture, by("owner-method,owner-chain"));
    assert_eq!(report.rows[0].value.headline(), "org.h2.command.dml.Update.update");
    assert_eq!(report.rows[0].children[0].value.headline(), "org.h2.command.dml.Update.update:80");
}

#[test]
fn approximate_owners_are_marked() {
    let mut picture = draw(HOT);
    for event in &mut picture.events {
        if let Event::MonitorExit(e) = event {
            e.owner_approximate = e.thread == thread_id(0);
        }
    }
    let report = analyse_picture(&picture, by("owner-method"));
    assert_eq!(report.rows[0].approximate_ns, report.rows[0].total_ns);
    assert_eq!(report.rows[1].approximate_ns, 0);
}

#[test]
fn the_minimum_looks_at_whole_contentions() {
    let options = Options { min_duration: DurationNs(15 * MS), ..by("contender-thread") };
    let report = analyse(HOT, options);
    assert_eq!(report.contentions, 2);
    assert_eq!(report.blocked.below_minimum, 1);
    // Before any clipping: the range leaves one millisecond of each.
    let options = Options {
        min_duration: DurationNs(15 * MS),
        from: Some(Bound::SinceStart(DurationNs(15 * MS))),
        to: Some(Bound::SinceStart(DurationNs(16 * MS))),
        ..by("contender-thread")
    };
    let report = analyse(HOT, options);
    assert_eq!((report.contentions, report.blocked_ns), (2, 2 * MS));
    assert_eq!(report.duration_ns, MS);
}

/// A recording that was asked for a minimum has sums instead of short contentions.
#[test]
fn what_was_summed_up_stays_in_the_totals_without_an_owner() {
    let mut picture = draw(HOT);
    let told = analyse_picture(&picture, by("lock,owner-method"));
    let first = picture.events.iter().find_map(|event| match event {
        Event::MonitorEntered(e) => Some(*e),
        _ => None,
    });
    let MonitorEntered { time, thread, lock, chain, .. } = first.unwrap();
    let (count, total) = (10, DurationNs(5 * MS));
    picture.events.push(Event::Spent(Spent { time, thread, lock, chain, on: SpentOn::Monitor, count, total }));
    let report = analyse_picture(&picture, by("lock,owner-method"));
    assert_eq!((report.contentions, report.blocked_ns), (told.contentions + 10, told.blocked_ns + 5 * MS));
    assert_eq!((report.blocked.summed, report.blocked.summed_ns), (10, 5 * MS));
    assert_eq!(report.blocked.unknown_ns, told.blocked.unknown_ns + 5 * MS);
    assert_eq!(report.blocked.max_ns, told.blocked.max_ns, "the mean of the sum is shorter");
    let (row, before) = (&report.rows[0], &told.rows[0]);
    assert_eq!((row.total_ns, row.count, row.max_ns), (before.total_ns + 5 * MS, before.count + 10, before.max_ns));
    let of_nobody = |row: &Row| {
        let child = row.children.iter().find(|child| child.value.headline() == "unknown");
        child.map_or((0, 0), |child| (child.total_ns, child.count))
    };
    let (ns, count) = of_nobody(before);
    assert_eq!(of_nobody(row), (ns + 5 * MS, count + 10));
    assert_eq!(report.locks[0].total_ns, told.locks[0].total_ns + 5 * MS);
    // A minimum leaves them out: each was shorter than what is recorded one by one.
    let options = Options { min_duration: DurationNs(1), ..by("lock") };
    let report = analyse_picture(&picture, options);
    assert_eq!((report.blocked_ns, report.blocked.below_minimum), (told.blocked_ns, 10));
}

/// Ten contentions of 2 ms each, of which the last one ended after 35 ms: they count where they can have been.
#[test]
fn what_was_summed_up_stands_side_by_side_before_its_last_end() {
    let summed = |options: Options| {
        let mut analysis = Analysis::new(options);
        analysis.feed(&Event::Recording(Arc::new(RecordingInfo { start: at(0), ..RecordingInfo::default() })));
        let (thread, lock, chain) = (ThreadId(3), LockId(1), ChainId(1));
        let (time, count, total) = (at(35), 10, DurationNs(20 * MS));
        analysis.feed(&Event::Spent(Spent { time, thread, lock, chain, on: SpentOn::Monitor, count, total }));
        analysis.feed(&Event::Watermark(at(40)));
        analysis.finish()
    };
    let range = |from: u64, to: u64| {
        let bound = |ms: u64| Some(Bound::SinceStart(DurationNs(ms * MS)));
        let report = summed(Options { from: bound(from), to: bound(to), ..by("lock") });
        (report.blocked_ns / MS, report.contentions)
    };
    // From 18 to 20 ms one ends and another one begins.
    let ranges = [(0, 40), (0, 15), (17, 19), (18, 20), (34, 36)].map(|(from, to)| range(from, to));
    assert_eq!(ranges, [(20, 10), (0, 0), (2, 1), (2, 2), (1, 1)]);
    let report = summed(Options { time_bucket: DurationNs(10 * MS), ..by("kind,time") });
    // The one that goes on at 20 ms counts in both intervals, and once above them.
    assert_eq!(rows(&report), "monitor 20 x10 2\n  +0.01s 5 x3 2\n  +0.02s 10 x6 2\n  +0.03s 5 x3 2");
}

/// Parks below a floor are summed up, and their places in the order stay empty.
#[test]
fn places_of_parks_that_were_summed_up_are_no_loss() {
    let lost = |floor: &str| {
        let mut analysis = Analysis::new(by("lock"));
        let settings = vec![("park_floor".to_owned(), floor.to_owned())];
        analysis.feed(&Event::Recording(Arc::new(RecordingInfo {
            start: at(0),
            settings,
            ..RecordingInfo::default()
        })));
        for (seq, ms) in [(1, 10), (2, 20), (9, 30)] {
            let (start, time, seq) = (at(ms - 5), at(ms), Seq(seq));
            analysis.feed(&Event::Park(Park { start, time, seq, thread: ThreadId(3), ..Park::default() }));
        }
        analysis.feed(&Event::Watermark(at(40)));
        analysis.finish().losses.get("seq_gap").copied()
    };
    assert_eq!((lost("1000000"), lost("0").is_some()), (None, true));
}

#[test]
fn a_thread_filter_looks_at_the_blocked() {
    let options = Options {
        threads: Some(ThreadFilter::new("some", |name| name.ends_with("exec-1"))),
        ..by("contender-thread,owner-thread")
    };
    let report = analyse(HOT, options);
    assert_eq!(report.contentions, 1);
    assert_eq!(report.threads, 1);
    assert_eq!(report.rows[0].children[0].value.headline(), "scheduler-1");
}

#[test]
fn threads_of_one_name_are_told_apart() {
    let picture = draw(HOT);
    let mut events = definitions(&picture);
    events.push(thread(2, "worker"));
    events.push(thread(3, "worker"));
    let mut analysis = Analysis::new(by("contender-thread"));
    for event in events.iter().chain(&picture.events) {
        analysis.feed(event);
    }
    let report = analysis.finish();
    let names: Vec<&str> = report.rows.iter().map(|row| row.value.headline()).collect();
    assert_eq!(names, ["worker (#3)", "worker (#2)"]);
}

#[test]
fn the_json_has_the_promised_keys() {
    let mut picture = draw(HOT);
    picture.events.push(Event::Lost(Loss::BufferFull, 7));
    picture.events.push(Event::Degraded(Degraded {
        mechanism: "monitor-exit".into(),
        reason: "no symbol ObjectMonitor::ExitEpilog".into(),
    }));
    let report = analyse_picture(&picture, by("lock,owner-method"));
    let json = serde_json::to_value(&report).expect("serialises");
    assert_eq!(json["duration_ns"], 43 * MS);
    assert_eq!(json["threads"], 3);
    assert_eq!(json["blocked_ns"], report.blocked_ns);
    assert_eq!(json["contentions"], 3);
    assert_eq!(json["losses"], serde_json::json!({"buffer_full": 7}));
    assert_eq!(json["degraded"][0]["mechanism"], "monitor-exit");
    let row = &json["rows"][0];
    assert_eq!(row["aspect"], "lock");
    assert_eq!(row["value"], "Inventory.lock (com.acme.Inventory$1@1a2b3c)");
    assert_eq!(row["share"], 1.0);
    for key in ["total_ns", "count", "max_ns"] {
        assert!(row[key].as_u64().is_some_and(|n| n > 0), "{key}");
    }
    assert_eq!(row["children"][0]["aspect"], "owner-method");
    assert_eq!(row["children"][0]["children"], serde_json::json!([]));
}

#[test]
fn a_dominating_owner_is_named_with_its_caller() {
    let report = analyse(HOT, by("lock"));
    let hot = &report.findings[0];
    assert_eq!(hot.kind, FindingKind::HotLock);
    // 48 of 3 x 43 ms blocked, 40 of them by the rebuild.
    assert_eq!(
        hot.text,
        "Threads spent 48.0 ms (37 % of the active thread time) blocked on `Inventory.lock`. `Inventory.rebuildIndex` owned it \
         for 83 % of that time, called from `Scheduler.run` in thread `scheduler-1`."
    );
    assert_eq!(hot.cost_ns, report.blocked_ns);
}

#[test]
fn waiting_for_a_row_lock_is_a_finding_of_its_own() {
    let mut picture = draw(
        "
        T1: [b.w_____________________~~~[b]
        T2:               [b.........n.]
        T3:        a~~~[a]
        T4:     [a....]
        ",
    );
    for event in &mut picture.events {
        if let Event::MonitorWaited(e) = event {
            e.notifier = thread_id(1);
        }
    }
    let report = analyse_picture(&picture, by("lock"));
    let wait = &report.waits[0];
    // The wait ends where the re-acquisition begins, not when the thread says so.
    assert_eq!((wait.total_ns, wait.count, wait.notified), (22 * MS, 1, 1));
    assert_eq!(wait.notifiers[0].name, "http-nio-*-exec-*");
    assert!(!wait.idle);
    // Longer than any blocking, so it comes first, but is no blocked time.
    assert_eq!(report.findings[0].kind, FindingKind::Waiting);
    assert_eq!(
        report.findings[0].text,
        "Thread `scheduler-1` waited 22.0 ms (18 % of the active thread time) in `Transaction.waitFor`, called through a library from `Payment.execute`, \
         for a row that another transaction has locked. There was 1 wait, mean 22.0 ms. Waiting threads were woken by `Inventory.sell` in `http-nio-80-exec-1` (100 % of the waiting time)."
    );
    let spent =
        " waiting in `Payment.execute` for a row that another transaction has locked. Waiting threads were woken by \
                 `Inventory.sell` in `http-nio-80-exec-1` (100 % of the waiting time).";
    let is_of_it = report.verdict.starts_with("Thread `scheduler-1` spent ") && report.verdict.ends_with(spent);
    assert!(is_of_it, "{}", report.verdict);
    assert_eq!(report.blocked_ns, 7 * MS);
    assert_eq!(report.running_ns, report.duration_ns * 4 - 22 * MS);
}

#[test]
fn waiting_for_work_is_no_finding() {
    let picture = draw(
        "
        T1: [b.w________________________
        T2:       a~~~[a]
        T3:     [a....]
        ",
    );
    let mut analysis = Analysis::new(by("lock"));
    let mut events = definitions(&picture);
    events.push(method(90, "java.lang.Thread", "run"));
    events.push(method(91, "com.acme.Queue", "take"));
    events.push(chain(3, &[(WAIT, 0), (91, 5), (90, 1)]));
    for event in events.iter().chain(&picture.events) {
        analysis.feed(event);
    }
    analysis.feed(&Event::Watermark(picture.end));
    let report = analysis.finish();
    assert_eq!((report.waits[0].in_flight, report.waits[0].total_ns), (1, 25 * MS));
    assert!(report.waits[0].idle);
    assert!(report.findings.iter().all(|finding| finding.kind != FindingKind::Waiting));
}

#[test]
fn a_deadlock_is_named_first() {
    let options = Options { stuck_after: DurationNs(5 * MS), ..by("lock") };
    let report = analyse(
        "
        T1: [a...b~~~~~~~~~~
        T2: [b.....a~~~~~~~~
        T3:          a~~~~~~
        ",
        options,
    );
    assert_eq!(
        texts(&report)[0],
        "Deadlock: `scheduler-1` waits for `Hashtable#98`, owned by `http-nio-80-exec-1`; \
         `http-nio-80-exec-1` waits for `Inventory.lock`, owned by `scheduler-1`. \
         It has lasted for 9.00 ms."
    );
    assert_eq!(report.deadlocks[0].members.len(), 2);
    assert_eq!(report.in_flight.len(), 3);
    assert_eq!(
        texts(&report)[1],
        "Thread `http-nio-80-exec-2` is still blocked on `Inventory.lock`, for 7.00 ms so far, owned by `scheduler-1`."
    );
}

/// Whoever was blocked when events were dropped may have gone on since.
#[test]
fn nobody_is_said_to_be_blocked_whose_end_may_have_been_dropped() {
    let picture = draw(
        "
        T1: [a................
        T2:    a~~~~~~~~~~~~~~
        ",
    );
    let still_blocked = |dropped: Option<Loss>| {
        let mut analysis = Analysis::new(by("lock"));
        for event in definitions(&picture).iter().chain(&picture.events) {
            analysis.feed(event);
        }
        analysis.feed(&Event::Watermark(TimeNs(12 * MS)));
        dropped.into_iter().for_each(|loss| analysis.feed(&Event::Lost(loss, 3)));
        analysis.feed(&Event::Watermark(picture.end));
        let report = analysis.finish();
        (report.in_flight.len(), report.blocked_ns > 0)
    };
    assert_eq!(still_blocked(None), (1, true));
    assert_eq!(still_blocked(Some(Loss::SampleLost)), (1, true));
    for loss in [Loss::BufferFull, Loss::Unfinished, Loss::WriteFailed] {
        assert_eq!(still_blocked(Some(loss)), (0, false), "{loss:?}");
    }
    // Of a recording without time to end, some threads' events were read beyond
    // the last watermark.
    let mut unfinished = Analysis::new(by("lock"));
    definitions(&picture).iter().for_each(|event| unfinished.feed(event));
    unfinished.feed(&Event::Lost(Loss::Unfinished, 3));
    unfinished.feed(&Event::Watermark(TimeNs(1)));
    picture.events.iter().for_each(|event| unfinished.feed(event));
    assert_eq!(unfinished.finish().in_flight.len(), 0);
}

#[test]
fn many_short_owners_take_turns() {
    let report = analyse(
        "
        T1:                 [b]
        T2: [a....]
        T3:   a~~~~~[a....]
        T4:     a~~~~~~~~~~~[a....]
        T5:       a~~~~~~~~~~~~~~~~~[a...]
        ",
        by("lock"),
    );
    // One method, four threads: the method dominates, in the whole group.
    let text = texts(&report)[0];
    assert!(
        text.contains(
            "`Inventory.sell` owned it for 67 % of that time, called from `Server.handle` in 3 threads \
             `http-nio-*-exec-*`."
        ),
        "{text}"
    );
}

#[test]
fn owners_in_many_methods_take_turns() {
    let picture = draw(
        "
        T1: [a....]
        T2:   a~~~~[a.....]
        T3:     a~~~~~~~~~~[a......]
        T4:       a~~~~~~~~~~~~~~~~~[a.]
        ",
    );
    let mut analysis = Analysis::new(by("lock"));
    let mut events = definitions(&picture);
    for (event, name) in
        picture.events.iter().filter(|e| matches!(e, Event::MonitorExit(_))).zip(["add", "remove", "count"])
    {
        let Event::MonitorExit(exit) = event else { continue };
        events.push(method(60 + exit.chain.0, "com.acme.Inventory", name));
        events.push(chain(exit.chain.0, &[(60 + exit.chain.0, 1), (HANDLE, 7)]));
    }
    for event in events.iter().chain(&picture.events) {
        analysis.feed(event);
    }
    let report = analysis.finish();
    assert_eq!(report.findings[0].kind, FindingKind::SharedLock);
    assert_eq!(
        texts(&report)[0],
        "Threads spent 34.0 ms (35 % of the active thread time) blocked on `Inventory.lock`. 3 threads owned it in turn: \
         `Inventory.remove` for 41 % of that time, `Inventory.count` for 24 %, `Inventory.add` for 18 %; 18 % was hand-off."
    );
}

#[test]
fn virtual_threads_are_told_in_seconds() {
    let picture = draw(HOT);
    let mut events = definitions(&picture);
    for id in [2, 3] {
        events.push(Event::Thread(ThreadDef { id: ThreadId(id), is_virtual: true, ..ThreadDef::default() }));
    }
    let mut analysis = Analysis::new(by("contender-group"));
    for event in events.iter().chain(&picture.events) {
        analysis.feed(event);
    }
    let report = analysis.finish();
    assert_eq!(report.rows[0].value.headline(), "virtual thread #*");
    assert_eq!(report.blocked.virtual_ns, report.blocked_ns);
    assert!(
        texts(&report)[0].starts_with("Threads spent 48.0 ms blocked on `Inventory.lock`. "),
        "{:?}",
        texts(&report)
    );
}

#[test]
fn a_lock_that_nobody_holds_for_long_waits_for_cpu_time() {
    let report = analyse(
        "
        T1: [a]
        T2:  a~~~~~[a]
        T3:   a?~~~~~~~~~~~[a]
        ",
        by("lock"),
    );
    assert_eq!(report.findings[0].kind, FindingKind::HandOff);
    assert_eq!(
        texts(&report)[0],
        "Threads spent 19.0 ms (35 % of the active thread time) blocked on `Inventory.lock`. 84 % of that time is hand-off: the lock \
         had been released, but the next thread had not run yet (3 hand-offs, mean 5.33 ms; a hand-off counts once for each blocked thread). \
         In 69 % of the hand-off time, the blocked thread was the next one to get the lock; in the rest, another thread got it first."
    );
}

#[test]
fn a_lock_that_changes_hands_all_the_time_is_passed_on() {
    let twice = "
        T1: [a]            [a]
        T2:  a~~~~~[a]      a~~~~~[a]
        T3:   a?~~~~~~~~~~~[a]
        ";
    let report = analyse(twice, by("lock"));
    assert_eq!(report.findings[0].kind, FindingKind::HandOff);
    assert!(!texts(&report)[0].contains("in turn"), "three contentions are few: {}", texts(&report)[0]);
    let turns: String = (0..8).map(|_| "[a]  a~~~~~").collect();
    let others: String = (0..8).map(|_| " a~~~[a]   ").collect();
    let report = analyse(&format!("T1: {turns}[a]\nT2: {others} "), by("lock"));
    assert_eq!(report.findings[0].kind, FindingKind::HandOff, "{:?}", report.findings);
    let ends =
        "2 threads own it in turn for short times. Waking the next thread takes longer than the work under the lock.";
    assert!(texts(&report)[0].ends_with(ends), "{}", texts(&report)[0]);
}

/// Requests of one class are one row; a lock is shown alone where it was asked for.
#[test]
fn locks_of_one_name_are_one_row_and_their_instances_are_asked_for() {
    let mut picture = draw(HOT);
    let (first, second) = (lock_id(b'a'), headway_model::LockId(900));
    let mut others = picture.events.clone();
    for event in &mut others {
        match event {
            Event::MonitorEnter(e) => e.lock = second,
            Event::MonitorExit(e) => e.lock = second,
            Event::MonitorEntered(e) => e.lock = second,
            _ => {}
        }
    }
    picture.events.extend(others);
    let report_by = |list: &str, class: &str| {
        let mut analysis = Analysis::new(by(list));
        let mut events = definitions(&picture);
        events.push(lock(first.0, class, 0x1a, ""));
        // One more request, as a method of it calls its own object.
        let own = if class.ends_with(".Request") { "Request (this)" } else { "" };
        events.push(lock(second.0, class, 0x1b, own));
        events.iter().chain(&picture.events).for_each(|event| analysis.feed(event));
        analysis.feed(&Event::Watermark(picture.end));
        analysis.finish()
    };
    let report = report_by("lock-name,owner-method", "com.acme.Request");
    let total = report.blocked_ns;
    assert_eq!(report.rows.len(), 1, "{}", rows(&report));
    assert_eq!(report.rows[0].value.headline(), "Request (2 locks of com.acme.Request)");
    assert_eq!((report.rows[0].total_ns, report.rows[0].count), (total, 6));
    let children: Vec<u64> = report.rows[0].children.iter().map(|row| row.total_ns / MS).collect();
    assert_eq!(children, [80, 10, 6], "methods of both locks are one row, too");
    let pressure = report.pressure.as_ref().expect("pressure");
    assert_eq!((pressure.locks.len(), pressure.locks[0].acquiring_ns), (1, total));
    // Instances, if asked for.
    let report = report_by("lock,owner-method", "com.acme.Request");
    assert_eq!((report.rows.len(), report.pressure.expect("pressure").locks.len()), (2, 2));
    // A class that everybody locks on says nothing; but both are used at the same place.
    let report = report_by("lock-name", "java.lang.Object");
    assert_eq!(report.rows.len(), 1, "{}", rows(&report));
}

#[test]
fn a_pause_inside_a_contention_is_not_blamed_on_the_owner() {
    let report = analyse(
        "
        T1: [a..................]
        T2:   a~~~~~~~~~~~~~~~~~~[a]
        VM:     #############
        ",
        by("owner-method"),
    );
    let rows: Vec<(&str, u64)> = report.rows.iter().map(|row| (row.value.headline(), row.total_ns / MS)).collect();
    assert_eq!(rows, [("(VM pause)", 13), ("com.acme.Inventory.rebuildIndex", 5), ("unknown", 1)]);
    let blocked = &report.blocked;
    assert_eq!((blocked.owner_stack_ns / MS, blocked.pause_ns / MS), (5, 13));
    let parts = blocked.owner_stack_ns + blocked.owner_thread_ns + blocked.hand_off_ns + blocked.unknown_ns;
    assert_eq!(parts + blocked.pause_ns, report.blocked_ns);
    let lock = report.findings.iter().find(|finding| finding.text.contains("Inventory.lock")).expect("the lock");
    assert!(
        lock.text.ends_with("For 68 % of the blocked time, the VM was paused: the lock is not the cause."),
        "{}",
        lock.text
    );
    // The pause can be won back, but not by the lock's owner, and ranks with it.
    assert_eq!(lock.cost_ns, 6 * MS);
    assert_eq!(report.findings[0].kind, FindingKind::Pauses);
}

/// The verdict, the finding and its percentages are of one time: that without the pause.
#[test]
fn a_pause_that_is_not_most_of_a_contention_is_left_out_of_what_is_said_of_it() {
    let report = analyse(
        "
        T1: [a..................]
        T2:   a~~~~~~~~~~~~~~~~~~[a]
        VM:     ####
        ",
        by("owner-method"),
    );
    let lock = report.findings.iter().find(|finding| finding.text.contains("Inventory.lock")).expect("the lock");
    assert_eq!((report.blocked_ns, lock.cost_ns), (19 * MS, 15 * MS));
    assert!(lock.text.contains(" spent 15.0 ms ("), "{}", lock.text);
    assert!(lock.text.contains(" owned it for 93 % of that time"), "{}", lock.text);
    assert!(report.verdict.contains("(15.0 ms of ") && report.verdict.contains("for 93 % of that time"), "{report:?}");
    let owner = lock.evidence.iter().find(|evidence| evidence.what == "owner-method");
    assert!(owner.is_none(), "the sentence of an exact recording has it");
}

#[test]
fn a_mean_blocked_time_is_not_said_to_be_the_time_that_owners_had_the_lock() {
    let report = analyse(HOT, by("lock"));
    assert!(report.findings.iter().all(|finding| !finding.text.contains("each on average")), "{:?}", texts(&report));
}

#[test]
fn threads_that_were_blocked_all_the_time_come_first() {
    let mut picture = draw("T1: [a....]");
    picture.events.push(Event::Lost(Loss::BlockedThroughout, 2));
    let report = analyse_picture(&picture, by("lock"));
    assert_eq!(report.findings.len(), 1, "{:?}", texts(&report));
    let finding = &report.findings[0];
    assert_eq!((finding.kind, finding.cost_ns), (FindingKind::Stuck, 2 * report.duration_ns));
    assert!(
        finding.text.starts_with("2 threads were blocked on a monitor for the whole recording"),
        "{}",
        finding.text
    );
}

#[test]
fn nothing_found_is_said() {
    let report = analyse("T1: [a....]", by("lock"));
    assert_eq!(texts(&report), ["No thread was blocked on a monitor in 7.00 ms (1 application thread)."]);
    assert_eq!(report.findings[0].kind, FindingKind::Nothing);
    assert!(report.rows.is_empty());
    // Of a recording that goes on, it is not known whether threads are blocked now.
    let picture = draw("T1: [a........]\nT2:   a~~~~~~~[a]");
    let mut analysis = Analysis::new(by("lock"));
    let before = picture.events.iter().filter(|event| event.time() < Some(at(5)));
    definitions(&picture).iter().chain(before).for_each(|event| analysis.feed(event));
    let report = analysis.snapshot();
    let text = texts(&report)[0];
    assert!(text.starts_with("No contention of a monitor has ended in "), "{text}");
}

#[test]
fn losses_that_matter_come_before_what_they_spoil() {
    let mut picture = draw(HOT);
    picture.events.push(Event::Lost(Loss::BufferFull, 5_000));
    let report = analyse_picture(&picture, by("lock"));
    assert_eq!(report.findings[0].kind, FindingKind::Unreliable);
    assert!(report.findings[0].text.starts_with("What follows is incomplete: events dropped"));
    assert_eq!(report.findings[1].kind, FindingKind::HotLock);
}

#[test]
fn lives_waits_and_service_threads_make_running_time() {
    let mut picture = draw(HOT);
    let service =
        ThreadDef { id: ThreadId(50), name: "Reference Handler".into(), is_service: true, ..ThreadDef::default() };
    picture.events.insert(0, Event::Thread(service));
    picture.events.insert(0, thread(51, "late"));
    picture.events.push(Event::ThreadStart(ThreadPoint { time: at(20), thread: ThreadId(51) }));
    picture.events.push(Event::ThreadEnd(ThreadPoint { time: at(30), thread: ThreadId(51) }));
    let virtual_thread = ThreadDef { id: ThreadId(52), is_virtual: true, ..ThreadDef::default() };
    picture.events.insert(0, Event::Thread(virtual_thread));
    let report = analyse_picture(&picture, by("lock"));
    assert_eq!(report.running_ns, 3 * report.duration_ns + 10 * MS);
    assert_eq!(report.threads, 5);
}

#[test]
fn a_snapshot_does_not_end_the_analysis() {
    let picture = draw(HOT);
    let mut analysis = Analysis::new(by("lock"));
    for event in definitions(&picture) {
        analysis.feed(&event);
    }
    let half = picture.events.iter().position(|event| event.time() > Some(at(26))).expect("a half");
    for event in &picture.events[..half] {
        analysis.feed(event);
    }
    analysis.feed(&Event::Watermark(at(26)));
    assert_eq!(analysis.snapshot().contentions, 2);
    for event in &picture.events[half..] {
        analysis.feed(event);
    }
    assert_eq!(analysis.finish().contentions, 3);
}

#[test]
fn stop_the_world_is_kept_apart() {
    let picture = format!("{HOT}\nVM:       ####");
    let report = analyse(&picture, by("lock"));
    assert_eq!(report.pauses.total_ns, 4 * MS);
    assert!(report.blocked.pause_ns >= 4 * MS);
    assert_eq!(report.rows[0].pause_ns, report.blocked.pause_ns);
    assert_eq!(TimeNs(ZERO), at(0));
}
