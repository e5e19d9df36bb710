//! What an event costs when there are 10^2 or 10^6 of something: locks, lock
//! names, threads, virtual threads, call chains, blockers of java.util.concurrent.
//!
//! `scaling [--most N] [--number N] [--once] [WHAT]...`: nanoseconds of CPU time per event of the live
//! analysis (as the draining thread runs it), the writer, the report and the page,
//! and how much more that is than with 10^2. Each of the things lives for a few
//! operations and is not seen again, but the threads that use it are.
//!
//! All columns but one have the same operations for every number: there the cost
//! of what is seen for the first time grows from nothing to the whole. In `once`
//! each thing is used for one operation, whatever the number: an event costs the
//! same there if nothing depends on how many there were before. `--once` measures this
//! column alone, `--number` one number alone: what `perf record` sees then is of one kind.

use headway_analysis::pressure::online::OnlinePressure;
use headway_analysis::pressure::PressureOptions;
use headway_analysis::{Analysis, Aspect, Bounds, Options};
use headway_jfr::{IfTaken, RecordingWriter, WriterConfig};
use headway_model::event::*;
use headway_model::stack::{ChainDef, Frame};
use headway_model::{
    CallChain, ChainId, Dictionary, DurationNs, Event, FrameKind, LockId, Method, MethodId, Seq, ThreadId, TimeNs,
};
use headway_page::Recording;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

type Problem = Box<dyn Error>;

/// Operations at least, each of about three events.
const OPERATIONS: u64 = 400_000;
/// Where each thing is used once, a stream of fewer is repeated.
const ONCE_AT_LEAST: u64 = 100_000;
/// Of the recording's clock.
const OPERATION_NS: u64 = 20_000;
const SECOND_NS: u64 = 1_000_000_000;
/// Watermarks after which the draining thread forgets what died.
const GRACE: usize = 5;
/// Rows that `headway view` keeps.
const ROWS: usize = 1_500_000;
const START: TimeNs = TimeNs(1_000_000_000);

/// What there are many of.
#[derive(Clone, Copy, PartialEq)]
enum What {
    Locks,
    LockNames,
    Waits,
    Threads,
    VirtualThreads,
    Chains,
    Blockers,
}

const ALL: [(&str, What); 7] = [
    ("locks", What::Locks),
    ("lock-names", What::LockNames),
    ("waits", What::Waits),
    ("threads", What::Threads),
    ("virtual-threads", What::VirtualThreads),
    ("chains", What::Chains),
    ("blockers", What::Blockers),
];

fn main() -> Result<(), Problem> {
    let mut most = 1_000_000;
    let mut wanted = Vec::new();
    let mut only_once = false;
    let mut numbers = vec![100, 1_000, 10_000, 100_000, 1_000_000];
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--once" => only_once = true,
            "--number" => numbers = vec![words.next().ok_or("--number needs a number")?.parse()?],
            "--most" => most = words.next().ok_or("--most needs a number")?.parse()?,
            name => wanted.push(ALL.into_iter().find(|(known, _)| *known == name).ok_or(format!("no {name} here"))?),
        }
    }
    let wanted = if wanted.is_empty() { ALL.to_vec() } else { wanted };
    let place = tempfile::tempdir()?;
    println!("ns of CPU time per event (times what it is with 100)");
    println!(
        "{:<16} {:>8} {:>14} {:>14} {:>14} {:>14} {:>14} {:>9}",
        "what", "number", "once", "live", "write", "report", "page", "MB"
    );
    for (name, what) in wanted {
        let mut first = None;
        for number in numbers.iter().copied().filter(|number| *number <= most) {
            if only_once {
                println!("{name:<16} {number:>8} {:>14.0}", once(what, number));
                continue;
            }
            let costs = measure(what, number, &place.path().join("scaling.jfr"))?;
            let base = *first.get_or_insert(costs);
            let cell = |i: usize| format!("{:.0} ({:.2})", costs[i], costs[i] / base[i]);
            println!(
                "{name:<16} {number:>8} {:>14} {:>14} {:>14} {:>14} {:>14} {:>9}",
                cell(0),
                cell(1),
                cell(2),
                cell(3),
                cell(4),
                resident_mb()
            );
        }
    }
    Ok(())
}

/// The operations, in order, with a watermark each second.
struct Stream {
    what: What,
    number: u64,
    operations: u64,
    operation: u64,
    seqs: u64,
    last: u64,
}

impl Stream {
    /// So many things, used so many times all together.
    fn new(what: What, number: u64, operations: u64) -> Stream {
        Stream { what, number, operations, operation: 0, seqs: 0, last: u64::MAX }
    }

    /// What everything else refers to.
    fn beginning() -> Vec<Event> {
        let mut events = vec![Event::Recording(Arc::new(RecordingInfo {
            start: START,
            producer: "headway".to_owned(),
            ..RecordingInfo::default()
        }))];
        for i in 1..=8 {
            events.push(thread(i, &format!("worker-{i}"), false));
            let method = Method { class: "com.acme.Shop".into(), name: format!("step{i}").into(), ..Method::default() };
            events.push(Event::Method(MethodId(i), Arc::new(method)));
            events.push(chain(i, &[i, 1]));
        }
        events.push(lock(1, "com.acme.Shop", ""));
        events
    }

    /// The events of the next operation; `None` after the last.
    fn next(&mut self) -> Option<(Vec<Event>, TimeNs)> {
        if self.operation == self.operations {
            return None;
        }
        let one = self.operation * self.number / self.operations;
        let is_new = one != self.last;
        self.last = one;
        let begin = START.0 + self.operation * OPERATION_NS;
        self.operation += 1;
        let mut events = Vec::new();
        let at = |part: u64| TimeNs(begin + part * OPERATION_NS / 10);
        let (owner, waiter) = (ThreadId(1 + self.operation % 4), ThreadId(5 + self.operation % 4));
        let (mut waiter, mut lock_id, mut chain_id) = (waiter, LockId(1), ChainId(1 + self.operation % 8));
        // What is new has an id of its own, far from those of the beginning.
        let id = 1_000 + one;
        match self.what {
            What::Locks | What::LockNames | What::Waits | What::Blockers => lock_id = LockId(id),
            What::Threads | What::VirtualThreads => waiter = ThreadId(id),
            What::Chains => chain_id = ChainId(id),
        }
        if is_new && self.what != What::Threads && self.what != What::VirtualThreads && self.what != What::Chains {
            self.seqs = if self.what == What::Blockers { self.seqs } else { 0 };
        }
        if is_new {
            match self.what {
                What::Locks | What::Waits => events.push(lock(id, "com.acme.Row", "")),
                What::LockNames => events.push(lock(id, "com.acme.Row", &format!("Row.lock{one}"))),
                What::Blockers => events.push(lock(id, "java.util.concurrent.locks.ReentrantLock$NonfairSync", "")),
                What::Threads | What::VirtualThreads => {
                    let is_virtual = self.what == What::VirtualThreads;
                    events.push(thread(id, &format!("task-{one}"), is_virtual));
                    if !is_virtual {
                        events.push(Event::ThreadStart(ThreadPoint { time: at(0), thread: waiter }));
                    }
                }
                What::Chains => events.push(chain(id, &[1 + one % 8, 1])),
            }
        }
        let mut seq = || {
            self.seqs += 1;
            Seq(self.seqs)
        };
        match self.what {
            What::Blockers => {
                let (begun, given, ended) = (seq(), seq(), seq());
                let park = ParkBegin {
                    time: at(1),
                    thread: waiter,
                    seq: begun,
                    chain: chain_id,
                    blocker: lock_id,
                    owner,
                    ..ParkBegin::default()
                };
                events.push(Event::ParkBegin(park));
                let unpark = Unpark { time: at(5), thread: owner, seq: given, chain: ChainId(2), target: waiter };
                events.push(Event::Unpark(unpark));
                events.push(Event::Park(Park {
                    time: at(6),
                    start: at(1),
                    thread: waiter,
                    start_seq: begun,
                    seq: ended,
                    chain: chain_id,
                    blocker: lock_id,
                    owner,
                    outcome: ParkOutcome::Unparked,
                    unpark: given,
                    waker: owner,
                    ..Park::default()
                }));
            }
            What::Waits => {
                let (waits, notified, exits, waited, enters) = (seq(), seq(), seq(), seq(), seq());
                events.push(Event::MonitorWait(MonitorWait {
                    time: at(1),
                    thread: waiter,
                    lock: lock_id,
                    seq: waits,
                    chain: chain_id,
                    timeout: DurationNs(0),
                }));
                events.push(Event::MonitorNotify(MonitorNotify {
                    time: at(4),
                    thread: owner,
                    waiter,
                    lock: lock_id,
                    seq: notified,
                }));
                events.push(Event::MonitorExit(MonitorExit {
                    time: at(5),
                    thread: owner,
                    lock: lock_id,
                    seq: exits,
                    chain: ChainId(2),
                    ..MonitorExit::default()
                }));
                events.push(Event::MonitorWaited(MonitorWaited {
                    time: at(6),
                    start: at(1),
                    thread: waiter,
                    lock: lock_id,
                    seq: waited,
                    chain: chain_id,
                    ..MonitorWaited::default()
                }));
                events.push(Event::MonitorReentered(MonitorReentered {
                    time: at(7),
                    start: at(4),
                    thread: waiter,
                    lock: lock_id,
                    start_seq: notified,
                    seq: enters,
                    chain: chain_id,
                    bound: false,
                }));
            }
            _ => {
                let (enters, exits, entered) = (seq(), seq(), seq());
                events.push(Event::MonitorEnter(MonitorEnter {
                    time: at(1),
                    thread: waiter,
                    lock: lock_id,
                    seq: enters,
                    chain: chain_id,
                    owner,
                }));
                events.push(Event::MonitorExit(MonitorExit {
                    time: at(5),
                    thread: owner,
                    lock: lock_id,
                    seq: exits,
                    chain: ChainId(2),
                    ..MonitorExit::default()
                }));
                events.push(Event::MonitorEntered(MonitorEntered {
                    time: at(6),
                    start: at(1),
                    thread: waiter,
                    lock: lock_id,
                    seq: entered,
                    chain: chain_id,
                    previous_owner: ThreadId::NONE,
                }));
            }
        }
        let is_last = (self.operation * self.number / self.operations) != one || self.operation == self.operations;
        if is_last && self.what == What::Threads {
            events.push(Event::ThreadEnd(ThreadPoint { time: at(9), thread: waiter }));
        }
        Some((events, at(10)))
    }
}

fn thread(id: u64, name: &str, is_virtual: bool) -> Event {
    // Most virtual threads have no name.
    let name = if is_virtual { Arc::default() } else { name.into() };
    Event::Thread(ThreadDef { id: ThreadId(id), name, is_virtual, ..ThreadDef::default() })
}

/// A lock's class is shared by all locks of it, as in the agent and the reader.
fn lock(id: u64, class: &str, name: &str) -> Event {
    thread_local!(static LATEST: RefCell<Arc<str>> = RefCell::default());
    let class = LATEST.with_borrow_mut(|latest| {
        if **latest != *class {
            *latest = class.into();
        }
        latest.clone()
    });
    let name = if name.is_empty() { Arc::default() } else { name.into() };
    Event::Lock(LockDef { id: LockId(id), class, identity_hash: id as u32, name })
}

fn chain(id: u64, methods: &[u64]) -> Event {
    let frame = |method: &u64| Frame {
        method: MethodId(*method),
        bci: 0,
        line: 1,
        kind: FrameKind::Compiled,
        approximate: false,
    };
    let chain = CallChain { frames: methods.iter().map(frame).collect(), truncated: false };
    Event::Chain(Arc::new(ChainDef { id: ChainId(id), chain }))
}

/// ns per event of the live analysis of things used once and of the same operations
/// for every number, the writer, the report and the page.
fn measure(what: What, number: u64, file: &Path) -> Result<[f64; 5], Problem> {
    let once = once(what, number);
    let (live, events) = live(what, number, OPERATIONS.max(number));
    let write = write(what, number, file)?;
    let begin = cpu_seconds();
    let by = vec![Aspect::Lock, Aspect::OwnerMethod, Aspect::ContenderMethod];
    let options = Options { by, pressure: Some(PressureOptions::default()), ..Options::default() };
    let mut analysis = Analysis::new(options);
    for event in headway_jfr::Reader::open(file)? {
        analysis.feed(&event?);
    }
    let report = analysis.finish();
    if report.contentions == 0 {
        return Err("the recording has no contention".into());
    }
    drop(report);
    let report = cpu_seconds() - begin;
    let begin = process_seconds();
    drop(Recording::read(file, ROWS).map_err(|problem| problem.to_string())?);
    let page = process_seconds() - begin;
    let [live, write, report, page] = [live, write, report, page].map(|seconds| seconds * 1e9 / events as f64);
    Ok([once, live, write, report, page])
}

/// ns per event of the live analysis where each thing is used once. A short stream is
/// taken in again and again, each time by an analysis that knows nothing.
fn once(what: What, number: u64) -> f64 {
    if number >= ONCE_AT_LEAST {
        let (seconds, events) = live(what, number, number);
        return seconds * 1e9 / events as f64;
    }
    let mut stream = Stream::new(what, number, number);
    let mut events = Stream::beginning();
    while let Some((more, _)) = stream.next() {
        events.extend(more);
    }
    events.push(Event::Watermark(START + DurationNs(SECOND_NS)));
    let times = ONCE_AT_LEAST / number;
    let begin = cpu_seconds();
    for _ in 0..times {
        let mut drained = Drained::new(what);
        events.iter().for_each(|event| drained.take(event));
    }
    (cpu_seconds() - begin) * 1e9 / (times * events.len() as u64) as f64
}

/// As the draining thread does it: names kept, who blocked whom, pressure.
fn live(what: What, number: u64, operations: u64) -> (f64, u64) {
    let mut drained = Drained::new(what);
    for event in Stream::beginning() {
        drained.take(&event);
    }
    let mut stream = Stream::new(what, number, operations);
    let (mut events, mut seconds, mut second) = (0, 0.0, START.0 + SECOND_NS);
    // Made apart from what is measured, some at a time.
    let mut batch = Vec::new();
    loop {
        let next = stream.next();
        let is_over = next.is_none();
        if let Some((more, time)) = next {
            batch.extend(more);
            if time.0 >= second {
                batch.push(Event::Watermark(time));
                second += SECOND_NS;
            }
        }
        if batch.len() >= 4096 || is_over {
            events += batch.len() as u64;
            let begin = cpu_seconds();
            batch.drain(..).for_each(|event| drained.take(&event));
            seconds += cpu_seconds() - begin;
        }
        if is_over {
            break;
        }
    }
    let begin = cpu_seconds();
    drop(drained);
    (seconds + cpu_seconds() - begin, events)
}

struct Drained {
    what: What,
    dictionary: Dictionary,
    pressure: OnlinePressure,
    dying: Dying,
}

/// What died, by the watermark before it: forgotten when what names it is drained.
struct Dying(VecDeque<Vec<u64>>);

impl Default for Dying {
    fn default() -> Dying {
        Dying(VecDeque::from([Vec::new()]))
    }
}

impl Dying {
    fn feed(&mut self, event: &Event) {
        let id = match event {
            Event::Lock(def) if def.id.0 >= 1_000 => def.id.0,
            Event::ThreadEnd(end) => end.thread.0,
            Event::Thread(def) if def.is_virtual => def.id.0,
            _ => return,
        };
        if let Some(last) = self.0.back_mut() {
            last.push(id);
        }
    }

    /// A watermark: gives what nothing refers to any more.
    fn bury(&mut self) -> Vec<u64> {
        self.0.push_back(Vec::new());
        match self.0.len() > GRACE {
            true => self.0.pop_front().unwrap_or_default(),
            false => Vec::new(),
        }
    }
}

fn forget(what: What, id: u64, dictionary: &mut Dictionary) {
    match what {
        What::Threads | What::VirtualThreads => dictionary.forget_thread(ThreadId(id)),
        _ => dictionary.forget_lock(LockId(id)),
    }
}

impl Drained {
    fn new(what: What) -> Drained {
        let bounds = Bounds::online();
        Drained {
            what,
            dictionary: Dictionary::default(),
            pressure: OnlinePressure::new(PressureOptions::default(), bounds, START, true),
            dying: Dying::default(),
        }
    }

    fn take(&mut self, event: &Event) {
        self.dictionary.feed(event);
        self.pressure.feed(event, &self.dictionary);
        self.dying.feed(event);
        if let Event::Watermark(time) = event {
            self.pressure.advance(*time);
            self.bury();
        }
    }

    fn bury(&mut self) {
        for id in self.dying.bury() {
            if !matches!(self.what, What::Threads | What::VirtualThreads) {
                self.pressure.forget_lock(LockId(id));
            }
            forget(self.what, id, &mut self.dictionary);
        }
    }
}

fn write(what: What, number: u64, file: &Path) -> Result<f64, Problem> {
    let info = Arc::new(RecordingInfo { start: START, producer: "headway".to_owned(), ..RecordingInfo::default() });
    // One row after the other is written to the same place.
    let config = WriterConfig { if_taken: IfTaken::Replace, ..WriterConfig::new(file, info) };
    let mut writer = RecordingWriter::create(config)?;
    let mut dictionary = Dictionary::default();
    for event in Stream::beginning() {
        dictionary.feed(&event);
        writer.event(&event, &dictionary);
    }
    let mut stream = Stream::new(what, number, OPERATIONS.max(number));
    let mut dying = Dying::default();
    let (mut seconds, mut second, mut last) = (0.0, START.0 + SECOND_NS, START);
    let mut batch = Vec::new();
    loop {
        let next = stream.next();
        let is_over = next.is_none();
        if let Some((more, time)) = next {
            batch.extend(more);
            last = time;
        }
        let is_due = last.0 >= second;
        if batch.len() >= 4096 || is_over || is_due {
            let begin = cpu_seconds();
            for event in batch.drain(..) {
                dictionary.feed(&event);
                dying.feed(&event);
                writer.event(&event, &dictionary);
            }
            if is_due {
                writer.flush(&dictionary, last)?;
                dying.bury().into_iter().for_each(|id| forget(what, id, &mut dictionary));
                second += SECOND_NS;
            }
            seconds += cpu_seconds() - begin;
        }
        if is_over {
            break;
        }
    }
    let begin = cpu_seconds();
    writer.finish(&dictionary, last)?;
    Ok(seconds + cpu_seconds() - begin)
}

/// CPU time of this thread: the machine may be busy with other things.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0) as f64 / 1e9
}

/// CPU time of the process, to a hundredth of a second.
fn process_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// Most memory of this process so far.
fn resident_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()).unwrap_or(0) >> 10
}
