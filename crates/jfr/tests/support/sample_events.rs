//! One event of each kind, with the definitions that they need.

use super::synthetic::START;
use headway_model::event::*;
use headway_model::stack::ChainDef;
use headway_model::*;
use std::sync::Arc;

pub const MS: u64 = 1_000_000;

pub fn at(ms: u64) -> TimeNs {
    TimeNs(START.0 + ms * MS + 7)
}

fn thread(id: ThreadId, os_id: u32, name: &str, group: &str, is_virtual: bool, is_service: bool) -> Event {
    Event::Thread(ThreadDef { id, os_id, name: name.into(), group: group.into(), is_virtual, is_service })
}

pub const MAIN: ThreadId = ThreadId(1);
pub const WORKER: ThreadId = ThreadId(22);
pub const VIRTUAL: ThreadId = ThreadId(1000);
pub const CHAIN: ChainId = ChainId(70);
pub const WAIT_CHAIN: ChainId = ChainId(71);
pub const LOCK: LockId = LockId(9);
pub const BLOCKER: LockId = LockId(10);
pub const BLOCKER_CLASS: &str = "java.util.concurrent.locks.ReentrantLock$NonfairSync";

pub fn definitions() -> Vec<Event> {
    let method = |id, class: &str, name: &str, descriptor: &str, source: &str, access_flags, hidden| {
        let (class, name) = (class.into(), name.into());
        let method =
            Method { class, name, descriptor: descriptor.into(), source_file: source.into(), access_flags, hidden };
        Event::Method(MethodId(id), Arc::new(method))
    };
    let frame = |method, bci, line, kind, approximate| Frame { method: MethodId(method), bci, line, kind, approximate };
    let chain = |id, frames, truncated| Event::Chain(Arc::new(ChainDef { id, chain: CallChain { frames, truncated } }));
    vec![
        thread(MAIN, 101, "main", "main", false, false),
        thread(WORKER, 102, "Arbeiter-ü", "main", false, false),
        thread(VIRTUAL, 0, "", "VirtualThreads", true, false),
        thread(ThreadId::native(99), 99, "C2 CompilerThre", "", false, true),
        method(5, "com.acme.Inventory", "rebuildIndex", "(JLjava/lang/String;)V", "Inventory.java", 1, false),
        method(6, "com.acme.Inventory$$Lambda/0x00007f0001", "run", "()V", "", 0x1011, true),
        method(7, "", "pthread_cond_wait", "", "", 0, false),
        method(8, "java.lang.Object", "wait", "(J)V", "Object.java", 0x111, false),
        chain(
            CHAIN,
            vec![
                frame(5, 17, 42, FrameKind::Inlined, true),
                frame(5, 0, 40, FrameKind::Compiled, false),
                frame(6, 3, 0, FrameKind::Interpreted, false),
            ],
            true,
        ),
        chain(
            WAIT_CHAIN,
            vec![
                frame(7, -1, 0, FrameKind::Native, false),
                frame(8, 1, 450, FrameKind::Interpreted, false),
                frame(5, 17, 42, FrameKind::Interpreted, false),
            ],
            false,
        ),
        Event::Lock(LockDef {
            id: LOCK,
            class: "com.acme.Inventory".into(),
            identity_hash: 0x7ead_beef,
            name: "Inventory.lock".into(),
        }),
        Event::Lock(LockDef { id: BLOCKER, class: BLOCKER_CLASS.into(), identity_hash: 0, name: "".into() }),
    ]
}

/// One of each, some in all their variants. In the order of one thread's time.
pub fn events() -> Vec<Event> {
    let (thread, lock, chain) = (MAIN, LOCK, CHAIN);
    let waited = |ms, seq, outcome, notifier| MonitorWaited {
        time: at(ms),
        start: at(ms - 10),
        thread,
        lock,
        seq: Seq(seq),
        chain: WAIT_CHAIN,
        timeout: DurationNs(250 * MS),
        outcome,
        notifier,
    };
    let sample = |ms, state, weight| {
        Event::Sample(Sample { time: at(ms), thread, chain, state, weight: DurationNs(weight), cpu: None })
    };
    let on_cpu = |ms, state, cpu| {
        let (weight, cpu) = (DurationNs(MS), Some(cpu));
        Event::Sample(Sample { time: at(ms), thread: VIRTUAL, chain: WAIT_CHAIN, state, weight, cpu })
    };
    let pinned = |monitor_frame| {
        let (time, start, chain) = (at(68), at(67), WAIT_CHAIN);
        Event::VirtualPinned(VirtualPinned { time, start, thread: VIRTUAL, carrier: WORKER, chain, monitor_frame })
    };
    let begin = |ms, seq, blocker, owner, limit| {
        Event::ParkBegin(ParkBegin { time: at(ms), thread: VIRTUAL, seq: Seq(seq), chain, blocker, owner, limit })
    };
    let park = |ms, seq, limit, outcome, unpark| {
        let (time, start, start_seq, seq) = (at(ms), at(ms - 3), Seq(seq - 2), Seq(seq));
        let (blocker_class, owner) = (BLOCKER_CLASS.into(), WORKER);
        let (unpark, waker) = if unpark == 0 { (Seq::NONE, ThreadId::NONE) } else { (Seq(unpark), WORKER) };
        let (thread, blocker) = (VIRTUAL, BLOCKER);
        let park = Park {
            time,
            start,
            thread,
            start_seq,
            seq,
            chain,
            blocker_class,
            blocker,
            owner,
            limit,
            outcome,
            unpark,
            waker,
        };
        Event::Park(park)
    };
    let exit = |ms, seq, owner_frame, owner_approximate, cause| {
        let (time, seq) = (at(ms), Seq(seq));
        Event::MonitorExit(MonitorExit {
            time,
            thread: WORKER,
            lock,
            seq,
            chain: WAIT_CHAIN,
            owner_frame,
            owner_approximate,
            cause,
        })
    };
    vec![
        Event::ThreadStart(ThreadPoint { time: at(1), thread: WORKER }),
        Event::MonitorEnter(MonitorEnter { time: at(10), thread, lock, seq: Seq(1), chain, owner: WORKER }),
        exit(20, 2, 0, false, ExitCause::Exit),
        exit(21, 3, 2, true, ExitCause::Wait),
        Event::MonitorEntered(MonitorEntered {
            time: at(22),
            start: at(10),
            thread,
            lock,
            seq: Seq(4),
            chain,
            previous_owner: WORKER,
        }),
        Event::MonitorWait(MonitorWait {
            time: at(30),
            thread,
            lock,
            seq: Seq(5),
            chain: WAIT_CHAIN,
            timeout: DurationNs(250 * MS),
        }),
        Event::MonitorNotify(MonitorNotify { time: at(40), thread: WORKER, waiter: MAIN, lock, seq: Seq(6) }),
        Event::MonitorWaited(waited(41, 7, WaitOutcome::Notified, WORKER)),
        Event::MonitorWaited(waited(42, 8, WaitOutcome::TimedOut, ThreadId::NONE)),
        Event::MonitorWaited(waited(43, 9, WaitOutcome::Interrupted, ThreadId::NONE)),
        Event::MonitorReentered(MonitorReentered {
            time: at(50),
            start: at(41),
            thread,
            lock,
            start_seq: Seq(6),
            seq: Seq(10),
            chain: WAIT_CHAIN,
            bound: true,
        }),
        Event::Park(Park {
            time: at(60),
            start: at(51),
            thread: VIRTUAL,
            chain,
            blocker_class: BLOCKER_CLASS.into(),
            blocker: BLOCKER,
            ..Park::default()
        }),
        Event::Park(Park { time: at(61), start: at(60), thread, ..Park::default() }),
        begin(61, 1, BLOCKER, WORKER, ParkLimit::None),
        Event::Unpark(Unpark { time: at(62), thread: WORKER, seq: Seq(2), chain: WAIT_CHAIN, target: VIRTUAL }),
        park(63, 3, ParkLimit::None, ParkOutcome::Unparked, 2),
        begin(63, 4, LockId::NONE, ThreadId::NONE, ParkLimit::For(DurationNs(1_500_000_001))),
        park(64, 6, ParkLimit::For(DurationNs(1_500_000_001)), ParkOutcome::TimedOut, 0),
        begin(64, 7, BLOCKER, ThreadId::NONE, ParkLimit::UntilEpochMs(1_790_000_000_123)),
        park(65, 9, ParkLimit::UntilEpochMs(1_790_000_000_123), ParkOutcome::Interrupted, 0),
        park(66, 11, ParkLimit::None, ParkOutcome::Spurious, 0),
        park(67, 13, ParkLimit::None, ParkOutcome::Unknown, 0),
        begin(67, 14, BLOCKER, ThreadId::NONE, ParkLimit::Unknown),
        park(67, 15, ParkLimit::Unknown, ParkOutcome::Unknown, 0),
        Event::MonitorWait(MonitorWait {
            time: at(67),
            thread: WORKER,
            lock: LockId::NONE,
            seq: Seq::NONE,
            chain: WAIT_CHAIN,
            timeout: UNKNOWN_TIMEOUT,
        }),
        Event::MonitorWaited(MonitorWaited {
            thread: WORKER,
            seq: Seq::NONE,
            timeout: UNKNOWN_TIMEOUT,
            ..waited(67, 0, WaitOutcome::Notified, VIRTUAL)
        }),
        Event::LongContention(LongContention {
            time: at(67),
            start: at(60),
            thread: WORKER,
            lock: BLOCKER,
            chain: WAIT_CHAIN,
            owner: VIRTUAL,
            is_older: true,
        }),
        Event::VirtualMount(VirtualMount {
            time: at(67),
            unparked: at(65),
            ready: at(66),
            thread: VIRTUAL,
            carrier: WORKER,
            blocker: BLOCKER,
        }),
        pinned(Some(1)),
        pinned(None),
        Event::ShortParks(ShortParks {
            time: at(68),
            thread: WORKER,
            blocker: BLOCKER,
            chain: WAIT_CHAIN,
            count: 1_000,
            total: DurationNs(7 * MS),
        }),
        Event::Spent(Spent {
            time: at(69),
            thread: WORKER,
            lock: LOCK,
            chain: WAIT_CHAIN,
            on: SpentOn::Monitor,
            count: 2_000,
            total: DurationNs(5 * MS),
        }),
        Event::Spent(Spent {
            time: at(69),
            thread: WORKER,
            lock: LOCK,
            chain: ChainId::NONE,
            on: SpentOn::Wait,
            count: 300,
            total: DurationNs(4 * MS),
        }),
        Event::Sampling(Sampling {
            time: at(70),
            window: DurationNs(MS),
            seed: u64::MAX - 5,
            bound: SamplingBound::FileRate,
            thins: true,
        }),
        Event::PressureWindow(PressureWindow {
            start: at(60),
            duration: DurationNs(10 * MS),
            lock: LockId::NONE,
            acquiring: DurationNs(31 * MS),
            running: DurationNs(40 * MS),
        }),
        Event::PressureWindow(PressureWindow {
            start: at(60),
            duration: DurationNs(10 * MS),
            lock: BLOCKER,
            acquiring: DurationNs(30 * MS + 1),
            running: DurationNs(40 * MS),
        }),
        Event::PressurePhase(PressurePhase {
            start: at(50),
            end: at(70),
            lock: LOCK,
            mean: 0.0625,
            peak: 0.75,
            acquiring_chain: CHAIN,
            owner_chain: WAIT_CHAIN,
        }),
        Event::PressurePhase(PressurePhase { start: at(70), end: at(71), lock: LOCK, ..PressurePhase::default() }),
        Event::ParkStatistics(ParkStatistics {
            time: at(71),
            blocker: BLOCKER,
            thread: VIRTUAL,
            chain,
            times_parked: 1 << 40,
            parked_now: 63,
            peak_parked: 64,
            thread_time: DurationNs(1 << 50),
            real_time: DurationNs(15 * MS),
            first_parked: at(51),
            last_alive: at(70),
        }),
        on_cpu(61, SampleState::Java, 0),
        on_cpu(62, SampleState::Native, 65_535),
        on_cpu(63, SampleState::Runnable, 3),
        sample(62, SampleState::Java, 10 * MS),
        sample(63, SampleState::Native, 10 * MS),
        sample(64, SampleState::Waiting, 0),
        Event::OwnerSample(OwnerSample {
            sample: Sample {
                time: at(65),
                thread: WORKER,
                chain,
                state: SampleState::Waiting,
                weight: DurationNs(10 * MS),
                cpu: None,
            },
            lock: BLOCKER,
            waiter_chain: WAIT_CHAIN,
            waiters: 4,
        }),
        Event::MachineTime(MachineTime {
            start: at(60),
            duration: DurationNs(10 * MS),
            cpu: None,
            busy: DurationNs(20 * MS),
            stolen: DurationNs(10 * MS),
            idle: DurationNs(0),
            accounting: StealAccounting::LeftOut,
        }),
        Event::MachineTime(MachineTime {
            start: at(60),
            duration: DurationNs(10 * MS),
            cpu: Some(127),
            busy: DurationNs(1),
            stolen: DurationNs(2),
            idle: DurationNs(3),
            accounting: StealAccounting::Included,
        }),
        Event::MachineTime(MachineTime { start: at(60), ..MachineTime::default() }),
        Event::ThreadTime(ThreadTime {
            start: at(60),
            duration: DurationNs(10 * MS),
            thread: WORKER,
            cpu: DurationNs(9_999_999),
            run_queue: Some(DurationNs(0)),
        }),
        Event::ThreadTime(ThreadTime {
            start: at(60),
            duration: DurationNs(10 * MS),
            thread: ThreadId::NONE,
            cpu: DurationNs(1 << 45),
            run_queue: None,
        }),
        Event::Throttling(Throttling {
            start: at(60),
            duration: DurationNs(10 * MS),
            throttled: DurationNs(7 * MS),
            periods: 10,
            throttled_periods: 4,
            quota: DurationNs(50 * MS),
            period: DurationNs(100 * MS),
            used: DurationNs(5 * MS),
        }),
        Event::Experiment(Experiment {
            start: at(60),
            end: at(66),
            number: 3,
            speedup: 0.75,
            delay: DurationNs(2 * MS),
            stopped: DurationNs(5),
            selected_samples: 11,
            samples: 40,
            period: DurationNs(MS),
            cpus: 2,
            off_cpu: 4,
            interpreted: 2,
            wakes: 77,
            run_queue: DurationNs(9),
            in_flight: 1.5,
            visits: 1 << 40,
            kind: "method".into(),
            target: "shop.Inventory.rebuildIndex".into(),
            point: "order ü".into(),
        }),
        Event::Transaction(Transaction {
            time: at(66),
            start: at(60),
            thread: VIRTUAL,
            kind: "checkout".into(),
            count: 1,
            id: 7,
            parent: 6,
            cpu: None,
            blocked: DurationNs(1),
            parked: DurationNs(2),
            waited: DurationNs(3),
            forgotten: true,
        }),
        Event::Transaction(Transaction {
            time: at(66),
            start: at(65),
            kind: "search ü".into(),
            count: 1 << 33,
            cpu: Some(DurationNs(0)),
            ..Transaction::default()
        }),
        Event::StopTheWorld(StopTheWorld { start: at(65), duration: DurationNs(1234) }),
        Event::Lost(Loss::SeqGap, 3),
        Event::Lost(Loss::BufferFull, 1 << 40),
        Event::Degraded(Degraded {
            mechanism: "walker".into(), reason: "vmStructs lack „Method\u{1F600}“.".into()
        }),
        Event::CpuLoad(CpuLoad { time: at(70), jvm_user: 0.25, jvm_system: 0.125, machine_total: 1.0 }),
        Event::SelfCost(SelfCost {
            time: at(71),
            own_cpu: DurationNs(5 * MS),
            attach_pause: DurationNs(77),
            memory_bytes: 16 << 20,
            attach_cpu: DurationNs(3 * MS),
            process_cpu: DurationNs(900 * MS),
            hook_cpu: DurationNs(4 * MS),
            hook_cpu_error: DurationNs(MS),
            timed_calls: 31,
        }),
        Event::ThreadEnd(ThreadPoint { time: at(72), thread: WORKER }),
    ]
}

/// The event as a reader gives it: times since the Unix epoch.
pub fn as_read(event: &Event, offset: i64) -> Event {
    let move_time = |time: &mut TimeNs| time.0 = time.0.wrapping_add_signed(offset);
    let mut event = event.clone();
    match &mut event {
        Event::ThreadStart(e) | Event::ThreadEnd(e) => move_time(&mut e.time),
        Event::MonitorEnter(e) => move_time(&mut e.time),
        Event::MonitorExit(e) => move_time(&mut e.time),
        Event::MonitorWait(e) => move_time(&mut e.time),
        Event::MonitorNotify(e) => move_time(&mut e.time),
        Event::MonitorEntered(e) => [&mut e.time, &mut e.start].into_iter().for_each(move_time),
        Event::MonitorWaited(e) => [&mut e.time, &mut e.start].into_iter().for_each(move_time),
        Event::MonitorReentered(e) => [&mut e.time, &mut e.start].into_iter().for_each(move_time),
        Event::Park(e) => [&mut e.time, &mut e.start].into_iter().for_each(move_time),
        Event::ParkBegin(e) => move_time(&mut e.time),
        Event::Unpark(e) => move_time(&mut e.time),
        Event::LongContention(e) => [&mut e.time, &mut e.start].into_iter().for_each(move_time),
        Event::VirtualMount(e) => [&mut e.time, &mut e.unparked, &mut e.ready].into_iter().for_each(move_time),
        Event::VirtualPinned(e) => [&mut e.time, &mut e.start].into_iter().for_each(move_time),
        Event::ShortParks(e) => move_time(&mut e.time),
        Event::Spent(e) => move_time(&mut e.time),
        Event::Sampling(e) => move_time(&mut e.time),
        Event::PressureWindow(e) => move_time(&mut e.start),
        Event::PressurePhase(e) => [&mut e.start, &mut e.end].into_iter().for_each(move_time),
        Event::ParkStatistics(e) => {
            [&mut e.time, &mut e.first_parked, &mut e.last_alive].into_iter().for_each(move_time);
        }
        Event::Sample(e) => move_time(&mut e.time),
        Event::OwnerSample(e) => move_time(&mut e.sample.time),
        Event::MachineTime(e) => move_time(&mut e.start),
        Event::ThreadTime(e) => move_time(&mut e.start),
        Event::Throttling(e) => move_time(&mut e.start),
        Event::Transaction(e) => [&mut e.time, &mut e.start].into_iter().for_each(move_time),
        Event::Experiment(e) => [&mut e.start, &mut e.end].into_iter().for_each(move_time),
        Event::StopTheWorld(e) => move_time(&mut e.start),
        Event::CpuLoad(e) => move_time(&mut e.time),
        Event::SelfCost(e) => move_time(&mut e.time),
        Event::Watermark(time) => move_time(time),
        _ => {}
    }
    event
}
