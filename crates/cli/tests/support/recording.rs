//! Recordings with known content, written by the project's own writer.

use headway_jfr::{RecordingWriter, WriterConfig};
use headway_model::event::{
    Degraded, ExitCause, Experiment, LockDef, MonitorEnter, MonitorEntered, MonitorExit, MonitorWait, MonitorWaited,
    Park, ParkBegin, ParkLimit, ParkOutcome, RecordingInfo, SelfCost, StopTheWorld, ThreadDef, ThreadPoint, Unpark,
    WaitOutcome,
};
use headway_model::stack::ChainDef;
use headway_model::{
    CallChain, ChainId, Dictionary, DurationNs, Event, Frame, FrameKind, LockId, Loss, Method, MethodId, Seq, ThreadId,
    TimeNs,
};
use std::path::Path;
use std::sync::Arc;

const MS: u64 = 1_000_000;
/// The recording's clock starts here; its time 0 is 2026-01-02 03:04:05 UTC.
const START: u64 = 1_000 * MS;
const EPOCH_OFFSET_NS: i64 = 1_767_323_045_000_000_000 - START as i64;

const REBUILDER: ThreadId = ThreadId(21);
const READER_1: ThreadId = ThreadId(22);
const READER_2: ThreadId = ThreadId(23);
const INVENTORY: LockId = LockId(1);
const QUEUE: LockId = LockId(2);
const REBUILD: ChainId = ChainId(1);
const GET: ChainId = ChainId(2);
const TAKE: ChainId = ChainId(3);

/// A recording under construction.
pub struct Scenario {
    writer: RecordingWriter,
    dictionary: Dictionary,
    now: TimeNs,
}

impl Scenario {
    /// Begins a recording that knows its threads, methods and locks.
    pub fn begin(path: &Path) -> Scenario {
        let info = Arc::new(RecordingInfo {
            start: TimeNs(START),
            epoch_offset_ns: EPOCH_OFFSET_NS,
            producer: "headway 0.1.0".into(),
            jvm_name: "OpenJDK 64-Bit Server VM".into(),
            jvm_version: "17.0.15+6".into(),
            java_arguments: "com.acme.shop.Main --port 8080".into(),
            pid: 4711,
            settings: vec![("events".into(), "monitor".into())],
            ..RecordingInfo::default()
        });
        let writer = RecordingWriter::create(WriterConfig::new(path, info)).expect("the recording can be made");
        let mut scenario = Scenario { writer, dictionary: Dictionary::default(), now: TimeNs(START) };
        scenario.define();
        scenario
    }

    fn define(&mut self) {
        for (id, name) in [(REBUILDER, "index-rebuilder"), (READER_1, "http-nio-1"), (READER_2, "http-nio-2")] {
            self.put(Event::Thread(ThreadDef { id, os_id: id.0 as u32, name: name.into(), ..ThreadDef::default() }));
            self.put(Event::ThreadStart(ThreadPoint { time: TimeNs(START), thread: id }));
        }
        let lock = |id, class: &str, name: &str, hash| LockDef {
            id,
            class: class.into(),
            identity_hash: hash,
            name: name.into(),
        };
        self.put(Event::Lock(lock(INVENTORY, "java.lang.Object", "Inventory.lock", 0x1a2b3c)));
        self.put(Event::Lock(lock(QUEUE, "com.acme.shop.OrderQueue", "", 0x4d5e6f)));
        self.chain(REBUILD, &[("com.acme.shop.Inventory", "rebuildIndex", 42), ("com.acme.shop.Scheduler", "run", 17)]);
        self.chain(GET, &[("com.acme.shop.Inventory", "get", 30), ("com.acme.shop.Checkout", "order", 88)]);
        self.chain(TAKE, &[("java.lang.Object", "wait", 0), ("com.acme.shop.OrderQueue", "take", 12)]);
    }

    fn chain(&mut self, id: ChainId, frames: &[(&str, &str, u32)]) {
        let mut chain = CallChain::default();
        for (nth, (class, name, line)) in frames.iter().enumerate() {
            let method = MethodId(id.0 * 10 + nth as u64);
            let names =
                Method { class: (*class).into(), name: (*name).into(), descriptor: "()V".into(), ..Method::default() };
            self.put(Event::Method(method, Arc::new(names)));
            chain.frames.push(Frame { method, bci: 4, line: *line, kind: FrameKind::Compiled, approximate: false });
        }
        self.put(Event::Chain(Arc::new(ChainDef { id, chain })));
    }

    /// From here on names have this in them, as those of a hostile program could.
    pub fn hostile(&mut self, payload: &str) {
        for id in [REBUILDER, READER_1, READER_2] {
            let name = format!("t{}{payload}", id.0).into();
            self.put(Event::Thread(ThreadDef { id, os_id: id.0 as u32, name, ..ThreadDef::default() }));
        }
        for (id, class) in [(INVENTORY, "Lock"), (QUEUE, "Queue")] {
            let (class, name) = (format!("{class}{payload}").into(), format!("n{payload}").into());
            self.put(Event::Lock(LockDef { id, class, identity_hash: 7, name }));
        }
        let class = format!("Class{payload}");
        self.chain(REBUILD, &[(&class, payload, 42), ("com.acme.shop.Scheduler", "run", 17)]);
        self.chain(GET, &[(&class, payload, 30), ("com.acme.shop.Checkout", "order", 88)]);
        self.degraded(payload, payload);
        self.put(Event::Other(payload.into()));
    }

    fn put(&mut self, event: Event) {
        self.dictionary.feed(&event);
        if let Some(time) = event.time() {
            self.now = self.now.max(time);
        }
        self.writer.event(&event, &self.dictionary);
    }

    /// A loss.
    pub fn drops(&mut self, cause: Loss, count: u64) {
        self.put(Event::Lost(cause, count));
    }

    /// A mechanism that was not active.
    pub fn degraded(&mut self, mechanism: &str, reason: &str) {
        self.put(Event::Degraded(Degraded { mechanism: mechanism.into(), reason: reason.into() }));
    }

    /// Writes what there is, as the agent does every second.
    pub fn flush(&mut self) {
        self.writer.flush(&self.dictionary, self.now).expect("the recording can be written");
    }

    /// Ends the recording one second after its start, or when its last event
    /// happened.
    pub fn finish(mut self) {
        self.now = self.now.max(TimeNs(START + 1_000 * MS));
        self.put(Event::SelfCost(SelfCost {
            time: self.now,
            own_cpu: DurationNs(3 * MS),
            attach_pause: DurationNs(2 * MS),
            memory_bytes: 1 << 20,
            attach_cpu: DurationNs(5 * MS),
            process_cpu: DurationNs(500 * MS),
            hook_cpu: DurationNs(MS),
            hook_cpu_error: DurationNs(MS / 4),
            timed_calls: 60,
        }));
        self.flush();
        self.writer.finish(&self.dictionary, self.now).expect("the recording can be finished");
    }

    /// Ten rounds of 40 ms in which both readers want what the rebuilder holds:
    ///
    /// ```text
    /// rebuilder  hold a.....................release
    /// reader 1     .want a~~~~~~~~~~~~~~~~~~~hold.release
    /// reader 2       .want a~~~~~~~~~~~~~~~~~~~~~~~~~~~~~hold
    /// ```
    pub fn contention(&mut self) {
        let mut seq = 0;
        let mut next = || {
            seq += 1;
            Seq(seq)
        };
        for round in 0..10 {
            let at = |ms: u64| TimeNs(START + (round * 50 + ms) * MS);
            let lock = INVENTORY;
            for (ms, thread) in [(2, READER_1), (4, READER_2)] {
                self.put(Event::MonitorEnter(MonitorEnter {
                    time: at(ms),
                    thread,
                    lock,
                    seq: next(),
                    chain: GET,
                    owner: REBUILDER,
                }));
            }
            let exit = |time, thread, seq, chain| {
                Event::MonitorExit(MonitorExit {
                    time,
                    thread,
                    lock,
                    seq,
                    chain,
                    owner_frame: 0,
                    owner_approximate: false,
                    cause: ExitCause::Exit,
                })
            };
            let entered = |time, start, thread, seq, previous_owner| {
                Event::MonitorEntered(MonitorEntered { time, start, thread, lock, seq, chain: GET, previous_owner })
            };
            self.put(exit(at(40), REBUILDER, next(), REBUILD));
            self.put(entered(at(40), at(2), READER_1, next(), REBUILDER));
            self.put(exit(at(41), READER_1, next(), GET));
            self.put(entered(at(41), at(4), READER_2, next(), READER_1));
            self.flush();
        }
    }

    /// One thread waits for work, and is notified.
    pub fn waiting(&mut self) {
        let (start, end) = (TimeNs(START + 100 * MS), TimeNs(START + 900 * MS));
        let (thread, lock, chain) = (REBUILDER, QUEUE, TAKE);
        self.put(Event::MonitorWait(MonitorWait {
            time: start,
            thread,
            lock,
            seq: Seq(1),
            chain,
            ..MonitorWait::default()
        }));
        self.put(Event::MonitorWaited(MonitorWaited {
            time: end,
            start,
            thread,
            lock,
            seq: Seq(2),
            chain,
            outcome: WaitOutcome::Notified,
            notifier: READER_1,
            ..MonitorWaited::default()
        }));
    }

    /// Ten rounds of 50 ms in which the rebuilder holds a `ReentrantLock` that
    /// both readers want; each parks for it, 38 and 36 ms.
    pub fn parking(&mut self) {
        let (cache, park, unlock) = (LockId(3), ChainId(4), ChainId(5));
        self.put(Event::Lock(LockDef {
            id: cache,
            class: "java.util.concurrent.locks.ReentrantLock$NonfairSync".into(),
            identity_hash: 0xcafe,
            name: "Cache.lock".into(),
        }));
        let queued = "java.util.concurrent.locks.AbstractQueuedSynchronizer";
        let support = "java.util.concurrent.locks.LockSupport";
        let lock = "java.util.concurrent.locks.ReentrantLock";
        self.chain(
            park,
            &[(support, "park", 0), (queued, "acquire", 0), (lock, "lock", 0), ("com.acme.shop.Cache", "get", 21)],
        );
        self.chain(
            unlock,
            &[(support, "unpark", 0), (queued, "release", 0), (lock, "unlock", 0), ("com.acme.shop.Cache", "scan", 55)],
        );
        let mut seq = 0;
        let mut next = || {
            seq += 1;
            Seq(seq)
        };
        for round in 0..10 {
            let at = |ms: u64| TimeNs(START + (round * 50 + ms) * MS);
            let mut begun = Vec::new();
            for (ms, thread) in [(2, READER_1), (4, READER_2)] {
                let begin = ParkBegin {
                    time: at(ms),
                    thread,
                    seq: next(),
                    chain: park,
                    blocker: cache,
                    owner: REBUILDER,
                    limit: ParkLimit::None,
                };
                begun.push(begin);
                self.put(Event::ParkBegin(begin));
            }
            for (begin, waker) in begun.into_iter().zip([REBUILDER, READER_1]) {
                let unpark = next();
                let target = begin.thread;
                self.put(Event::Unpark(Unpark { time: at(40), thread: waker, seq: unpark, chain: unlock, target }));
                self.put(Event::Park(Park {
                    time: at(40),
                    start: begin.time,
                    thread: target,
                    start_seq: begin.seq,
                    seq: next(),
                    chain: park,
                    blocker: cache,
                    owner: REBUILDER,
                    outcome: ParkOutcome::Unparked,
                    unpark,
                    waker,
                    ..Park::default()
                }));
            }
            self.flush();
        }
    }

    /// Experiments with one method: ten windows, every other one without delays.
    pub fn experiments(&mut self) {
        for number in 0..10 {
            let (speedup, kind, target) =
                if number % 2 == 0 { (0.0, "", "") } else { (1.0, "method", "Index.rebuild") };
            let start = TimeNs(START + number * 90 * MS);
            self.put(Event::Experiment(Experiment {
                start,
                end: TimeNs(start.0 + 80 * MS),
                number,
                speedup,
                selected_samples: 30,
                samples: 80,
                period: DurationNs(MS),
                cpus: 2,
                visits: 100 + number,
                kind: kind.into(),
                target: target.into(),
                point: "Shop.served".into(),
                ..Experiment::default()
            }));
        }
    }

    /// The whole VM stands still for 5 ms.
    pub fn pause(&mut self) {
        self.put(Event::StopTheWorld(StopTheWorld { start: TimeNs(START + 210 * MS), duration: DurationNs(5 * MS) }));
    }
}

/// Writes the recording that most tests look at.
pub fn shop(path: &Path) {
    let mut scenario = Scenario::begin(path);
    scenario.contention();
    scenario.finish();
}
