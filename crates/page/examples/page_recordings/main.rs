//! Writes the recordings on which the page is tested: a shop whose stock is
//! locked by an indexer, the same after a change, one with hostile names, one of
//! many contentions, an empty one, one of each kind in `kinds.rs`; a large one (`--mb N`), one of many threads and ten times as
//! many locks (`--threads N`), or one of many call stacks (`--stacks N`).
//!
//! `page_recordings DIRECTORY [--mb N | --threads N | --stacks N]`

use headway_jfr::{RecordingWriter, WriterConfig};
use headway_model::event::{
    LockDef, MachineTime, MonitorEnter, MonitorEntered, MonitorExit, MonitorWait, MonitorWaited, Park, RecordingInfo,
    Sample, StealAccounting, ThreadDef, ThreadPoint, ThreadTime, Throttling, Transaction,
};
use headway_model::stack::ChainDef;
use headway_model::{
    CallChain, ChainId, Dictionary, DurationNs, Event, Frame, FrameKind, LockId, Method, MethodId, Seq, ThreadId,
    TimeNs,
};
use std::collections::HashMap;
use std::error::Error;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

mod kinds;
mod large;

const MS: u64 = 1_000_000;
const START: u64 = 5_000_000 * MS;

/// A recording under way: numbers events and names what they refer to.
struct Scene {
    writer: RecordingWriter,
    dictionary: Dictionary,
    numbers: HashMap<u64, u64>,
    methods: HashMap<String, u64>,
    chains: u64,
}

impl Scene {
    fn new(path: &Path, settings: &[(&str, &str)]) -> Result<Scene, Box<dyn Error>> {
        let _ = std::fs::remove_file(path);
        let info = RecordingInfo {
            start: TimeNs(START),
            epoch_offset_ns: 1_790_000_000_000_000_000,
            producer: "headway test".into(),
            jvm_name: "OpenJDK 64-Bit Server VM".into(),
            jvm_version: "21.0.5+11".into(),
            java_arguments: "com.acme.shop.Main --serve".into(),
            pid: 4711,
            jvm_start: TimeNs(START - 1000 * MS),
            settings: [&[("events", "monitor,park,cpu,steal")], settings]
                .concat()
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            ..RecordingInfo::default()
        };
        let writer = RecordingWriter::create(WriterConfig::new(path, Arc::new(info)))?;
        let (numbers, methods) = (HashMap::new(), HashMap::new());
        Ok(Scene { writer, dictionary: Dictionary::default(), numbers, methods, chains: 0 })
    }

    fn put(&mut self, event: Event) {
        self.dictionary.feed(&event);
        self.writer.event(&event, &self.dictionary);
    }

    fn end(self, after: u64) -> Result<(), Box<dyn Error>> {
        self.writer.finish(&self.dictionary, at(after))?;
        Ok(())
    }

    fn thread(&mut self, id: u64, name: &str) -> ThreadId {
        let def = ThreadDef { id: ThreadId(id), os_id: 100 + id as u32, name: name.into(), ..ThreadDef::default() };
        self.put(Event::Thread(def));
        ThreadId(id)
    }

    fn lock(&mut self, id: u64, class: &str, name: &str) -> LockId {
        let identity_hash = 0x1000 + id as u32;
        self.put(Event::Lock(LockDef { id: LockId(id), class: class.into(), identity_hash, name: name.into() }));
        LockId(id)
    }

    /// A chain of `class.method:line` frames, leaf first.
    fn chain(&mut self, frames: &[&str]) -> ChainId {
        let frames = frames.iter().map(|text| self.frame(text)).collect();
        self.chains += 1;
        let (id, chain) = (ChainId(self.chains), CallChain { frames, truncated: false });
        self.put(Event::Chain(Arc::new(ChainDef { id, chain })));
        id
    }

    fn frame(&mut self, text: &str) -> Frame {
        let (method, line) = text.rsplit_once(':').unwrap_or((text, "0"));
        let next = self.methods.len() as u64 + 1;
        let id = *self.methods.entry(method.to_owned()).or_insert(next);
        if id == next {
            let (class, name) = method.rsplit_once('.').unwrap_or(("", method));
            let file = class.rsplit_once('.').map_or(class, |(_, simple)| simple);
            let def = Method {
                class: class.into(),
                name: name.into(),
                source_file: format!("{file}.java").into(),
                ..Method::default()
            };
            self.put(Event::Method(MethodId(id), Arc::new(def)));
        }
        Frame {
            method: MethodId(id),
            bci: 1,
            line: line.parse().unwrap_or(0),
            kind: FrameKind::Compiled,
            approximate: false,
        }
    }

    fn number(&mut self, lock: LockId) -> Seq {
        let number = self.numbers.entry(lock.0).or_default();
        *number += 1;
        Seq(*number)
    }

    fn enter(&mut self, time: u64, thread: ThreadId, lock: LockId, chain: ChainId, owner: ThreadId) {
        let seq = self.number(lock);
        self.put(Event::MonitorEnter(MonitorEnter { time: at(time), thread, lock, seq, chain, owner }));
    }

    fn entered(&mut self, time: u64, since: u64, thread: ThreadId, lock: LockId, chain: ChainId) {
        let seq = self.number(lock);
        let (time, start) = (at(time), at(since));
        self.put(Event::MonitorEntered(MonitorEntered { time, start, thread, lock, seq, chain, ..Default::default() }));
    }

    fn exit(&mut self, time: u64, thread: ThreadId, lock: LockId, chain: ChainId) {
        let seq = self.number(lock);
        self.put(Event::MonitorExit(MonitorExit { time: at(time), thread, lock, seq, chain, ..Default::default() }));
    }
}

fn at(ns: u64) -> TimeNs {
    TimeNs(START + ns)
}

/// Six request threads need the stock; an indexer holds it for `hold` in each
/// second that is `contended`. `request-1` waits for it holding the orders. In
/// seconds that are `scarce` the indexer hardly runs, and a quota holds all back.
fn shop(path: &Path, hold: u64, seconds: u64, contended: Range<u64>, scarce: Range<u64>) -> Result<(), Box<dyn Error>> {
    let mut scene = Scene::new(path, &[])?;
    let indexer = scene.thread(10, "indexer-1");
    let requests: Vec<ThreadId> = (1..=6).map(|n| scene.thread(20 + n, &format!("request-{n}"))).collect();
    let mailer = scene.thread(40, "mailer-1");
    let stock = scene.lock(1, "java.lang.Object", "Stock.lock");
    let orders = scene.lock(2, "com.acme.shop.Orders", "");
    let mail = scene.lock(3, "java.util.ArrayDeque", "Mailer.queue");
    let queue = scene.lock(4, CONDITION, "");
    let root = ["java.util.concurrent.ThreadPoolExecutor.runWorker:1144", "java.lang.Thread.run:1583"];
    let rebuild =
        scene.chain(&[&["com.acme.shop.Stock.rebuildIndex:71", "com.acme.shop.Indexer.tick:30"], &root[..]].concat());
    let reserve =
        scene.chain(&[&["com.acme.shop.Stock.reserve:44", "com.acme.shop.Requests.serve:18"], &root[..]].concat());
    let place =
        scene.chain(&[&["com.acme.shop.Orders.place:52", "com.acme.shop.Requests.serve:19"], &root[..]].concat());
    let parse =
        scene.chain(&[&["com.acme.shop.Json.parse:101", "com.acme.shop.Requests.serve:15"], &root[..]].concat());
    let take = scene.chain(&[
        "java.lang.Object.wait:-1",
        "com.acme.shop.Mailer.take:33",
        "com.acme.shop.Mailer.run:21",
        "java.lang.Thread.run:1583",
    ]);
    let sort = scene.chain(
        &[
            &["com.acme.shop.Index.sort:12", "com.acme.shop.Stock.rebuildIndex:68", "com.acme.shop.Indexer.tick:30"],
            &root[..],
        ]
        .concat(),
    );
    let poll = scene.chain(
        &[&["jdk.internal.misc.Unsafe.park:-1", "java.util.concurrent.LinkedBlockingQueue.take:435"], &root[..]]
            .concat(),
    );
    for thread in requests.iter().chain([&indexer, &mailer]) {
        scene.put(Event::ThreadStart(ThreadPoint { time: at(2 * MS), thread: *thread }));
    }
    for second in 0..seconds {
        let s = second * 1000 * MS;
        samples(&mut scene, &requests, parse, s);
        waits(&mut scene, mailer, mail, take, s);
        for thread in &requests {
            park(&mut scene, *thread, queue, poll, s + 700 * MS, s + 980 * MS);
        }
        environment(&mut scene, indexer, &requests, s, scarce.contains(&second));
        if contended.contains(&second) {
            for n in 1..=hold / (10 * MS) {
                let chain = if n % 3 == 0 { rebuild } else { sort };
                sample(&mut scene, indexer, chain, s + 20 * MS + n * 10 * MS - MS);
            }
        }
        if contended.contains(&second) {
            let chains = [rebuild, reserve, place];
            contention(&mut scene, indexer, &requests, [stock, orders], chains, s + 20 * MS, hold);
        }
    }
    scene.end(seconds * 1000 * MS)
}

fn samples(scene: &mut Scene, threads: &[ThreadId], chain: ChainId, from: u64) {
    for n in 0..20 {
        sample(scene, threads[n as usize % threads.len()], chain, from + 5 * MS + n * 10 * MS);
    }
}

fn sample(scene: &mut Scene, thread: ThreadId, chain: ChainId, time: u64) {
    let weight = DurationNs(10 * MS);
    scene.put(Event::Sample(Sample { time: at(time), thread, chain, weight, ..Default::default() }));
}

/// What a second's sampling of the proc and cgroup file systems reports, and the
/// transactions of the second.
fn environment(scene: &mut Scene, indexer: ThreadId, requests: &[ThreadId], from: u64, scarce: bool) {
    let (start, duration) = (at(from), DurationNs(1000 * MS));
    let mut time = |thread: ThreadId, cpu: u64, waited: u64| {
        let (cpu, run_queue) = (DurationNs(cpu * MS), Some(DurationNs(waited * MS)));
        scene.put(Event::ThreadTime(ThreadTime { start, duration, thread, cpu, run_queue }));
    };
    time(indexer, if scarce { 60 } else { 320 }, if scarce { 700 } else { 15 });
    for thread in requests {
        time(*thread, if scarce { 70 } else { 90 }, if scarce { 120 } else { 5 });
    }
    time(ThreadId::NONE, if scarce { 500 } else { 900 }, 0);
    let throttled = DurationNs(if scarce { 600 * MS } else { 0 });
    let (quota, period) = (DurationNs(100 * MS), DurationNs(100 * MS));
    let (periods, throttled_periods) = (10, if scarce { 6 } else { 0 });
    let used = DurationNs(900 * MS);
    scene.put(Event::Throttling(Throttling {
        start,
        duration,
        throttled,
        periods,
        throttled_periods,
        quota,
        period,
        used,
    }));
    let (busy, stolen, idle) = (DurationNs(950 * MS), DurationNs(50 * MS), DurationNs(1000 * MS));
    let accounting = StealAccounting::LeftOut;
    scene.put(Event::MachineTime(MachineTime { start, duration, cpu: None, busy, stolen, idle, accounting }));
    for (n, thread) in requests.iter().enumerate() {
        let begin = from + n as u64 * 20 * MS;
        let kind = if n == 0 { "GET /orders" } else { "POST /stock" };
        scene.put(Event::Transaction(Transaction {
            time: at(begin + (if scarce { 700 } else { 400 + 10 * n as u64 }) * MS),
            start: at(begin),
            thread: *thread,
            kind: kind.into(),
            count: 1,
            id: from / MS + n as u64 + 1,
            cpu: Some(DurationNs(60 * MS)),
            blocked: DurationNs(250 * MS),
            ..Default::default()
        }));
    }
}

fn waits(scene: &mut Scene, thread: ThreadId, lock: LockId, chain: ChainId, from: u64) {
    let (begin, end) = (from + 10 * MS, from + 900 * MS);
    let seq = scene.number(lock);
    scene.put(Event::MonitorWait(MonitorWait { time: at(begin), thread, lock, seq, chain, ..Default::default() }));
    let seq = scene.number(lock);
    let (time, start) = (at(end), at(begin));
    scene.put(Event::MonitorWaited(MonitorWaited { time, start, thread, lock, seq, chain, ..Default::default() }));
}

const CONDITION: &str = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject";

fn park(scene: &mut Scene, thread: ThreadId, blocker: LockId, chain: ChainId, from: u64, to: u64) {
    let (time, start, blocker_class) = (at(to), at(from), CONDITION.into());
    scene.put(Event::Park(Park { time, start, thread, blocker, chain, blocker_class, ..Default::default() }));
}

fn contention(
    scene: &mut Scene,
    indexer: ThreadId,
    requests: &[ThreadId],
    [stock, orders]: [LockId; 2],
    [rebuild, reserve, place]: [ChainId; 3],
    from: u64,
    hold: u64,
) {
    let latency = MS / 20;
    for (n, thread) in requests.iter().take(4).enumerate() {
        scene.enter(from + (n as u64 + 1) * 5 * MS, *thread, stock, reserve, indexer);
    }
    for (n, thread) in requests.iter().skip(4).enumerate() {
        scene.enter(from + (n as u64 + 6) * 5 * MS, *thread, orders, place, requests[0]);
    }
    let mut time = from + hold;
    scene.exit(time, indexer, stock, rebuild);
    for (n, thread) in requests.iter().take(4).enumerate() {
        scene.entered(time + latency, from + (n as u64 + 1) * 5 * MS, *thread, stock, reserve);
        time += 8 * MS;
        if n < 3 {
            scene.exit(time, *thread, stock, reserve);
        }
        if n == 0 {
            scene.exit(time + MS, requests[0], orders, place);
            scene.entered(time + MS + latency, from + 30 * MS, requests[4], orders, place);
            scene.exit(time + 2 * MS, requests[4], orders, place);
            scene.entered(time + 2 * MS + latency, from + 35 * MS, requests[5], orders, place);
        }
    }
}

/// Names that try to be markup, a path, a formula, or without end; and many.
fn hostile(path: &Path, many: u64) -> Result<(), Box<dyn Error>> {
    let mut scene = Scene::new(path, &[])?;
    let names = [
        "<img src=x onerror=\"document.title='pwned'\">".to_owned(),
        "</script><script>document.title='pwned'</script>".to_owned(),
        "javascript:document.title='pwned'".to_owned(),
        "=HYPERLINK(\"http://example.invalid\")".to_owned(),
        "`backticks` & &amp; \"quotes\" \u{202e}right to left\u{0}null".to_owned(),
        "x".repeat(10 << 20),
    ];
    let mut time = MS;
    for (n, name) in names.iter().enumerate() {
        let n = n as u64;
        let blocked = scene.thread(10 + 2 * n, name);
        let owner = scene.thread(11 + 2 * n, &format!("owner {}", name.chars().take(4000).collect::<String>()));
        // Without end in one place is enough for a file that is quickly read.
        let short: String = name.chars().take(4000).collect();
        let lock = scene.lock(n + 1, &short, &short);
        let chain = scene.chain(&[&format!("{short}.run:1"), "java.lang.Thread.run:1"]);
        scene.enter(time, blocked, lock, chain, owner);
        scene.exit(time + 40 * MS, owner, lock, chain);
        scene.entered(time + 41 * MS, time, blocked, lock, chain);
        time += 50 * MS;
    }
    for (n, name) in names.iter().enumerate() {
        let (thread, kind) = (ThreadId(10 + 2 * n as u64), name.chars().take(4000).collect::<String>().into());
        let (start, end) = (at(MS), at(30 * MS));
        scene.put(Event::Transaction(Transaction {
            time: end,
            start,
            thread,
            kind,
            count: 1,
            id: n as u64 + 1,
            ..Default::default()
        }));
    }
    let time = many_of_each(&mut scene, time, many, many)?;
    scene.end(time + MS)
}

/// Each of many locks is contended once, by one of many threads.
fn many_of_each(scene: &mut Scene, from: u64, threads: u64, locks: u64) -> Result<u64, Box<dyn Error>> {
    let chain = scene.chain(&["com.acme.Many.run:1", "java.lang.Thread.run:1"]);
    let mut time = from;
    for n in 0..locks {
        let blocked = match n < threads {
            true => scene.thread(1000 + n, &format!("many-{n}")),
            false => ThreadId(1000 + n % threads),
        };
        let lock = scene.lock(1000 + n, "com.acme.Many", "");
        scene.enter(time, blocked, lock, chain, ThreadId(10));
        scene.exit(time + MS, ThreadId(10), lock, chain);
        scene.entered(time + MS + 1000, time, blocked, lock, chain);
        time += MS / 10;
        if n % 20_000 == 19_999 {
            scene.writer.flush(&scene.dictionary, at(time))?;
        }
    }
    Ok(time)
}

/// More contentions than a small page keeps one by one: of platform and virtual
/// threads, of which some end and others begin in the middle, on locks of which some
/// have one name.
fn crowd(path: &Path) -> Result<(), Box<dyn Error>> {
    const END: u64 = 8_000 * MS;
    const THREADS: u64 = 40;
    let mut scene = Scene::new(path, &[])?;
    let life = |n: u64| match n % 4 {
        0 => (2 * MS, END / 2 + n * MS),
        1 => (END / 2 - n * MS, END),
        _ => (2 * MS, END),
    };
    for n in 0..THREADS {
        let (id, is_virtual) = (ThreadId(100 + n), n >= 24);
        let name = if is_virtual { format!("order-{n}") } else { format!("request-{n}") };
        let def = ThreadDef { id, os_id: 100 + n as u32, name: name.into(), is_virtual, ..ThreadDef::default() };
        scene.put(Event::Thread(def));
    }
    let names = ["Stock.lock", "Orders.lock", "Mail.lock", "", "Stock.lock", "Stock.lock"];
    let locks: Vec<LockId> = (1..).zip(names).map(|(id, name)| scene.lock(id, "com.acme.shop.Shelf", name)).collect();
    let queue = scene.lock(90, CONDITION, "");
    let chains: Vec<ChainId> = (0..40)
        .map(|n| {
            let place = format!("com.acme.shop.C{}.take{}:{}", n % 8, n / 8, n + 10);
            scene.chain(&[&place, "com.acme.shop.Requests.serve:18", "java.lang.Thread.run:1583"])
        })
        .collect();
    let poll = scene.chain(&["jdk.internal.misc.Unsafe.park:-1", "com.acme.shop.Requests.next:9"]);
    let mut events: Vec<(u64, Event)> = Vec::new();
    for n in 0..THREADS {
        let ((begin, end), thread) = (life(n), ThreadId(100 + n));
        events.push((begin, Event::ThreadStart(ThreadPoint { time: at(begin), thread })));
        if end < END {
            events.push((end, Event::ThreadEnd(ThreadPoint { time: at(end), thread })));
        }
    }
    let mut next = random();
    let mut free = vec![0_u64; THREADS as usize];
    let mut unlocked = vec![0_u64; locks.len()];
    let mut time = 3 * MS;
    while time < END - 20 * MS {
        time += 10_000 + next(60_000) as u64;
        let place = next(locks.len()).min(next(locks.len()));
        let [waiter, owner] = [next(THREADS as usize), next(THREADS as usize)];
        let hold = 20_000 + next(1000) as u64 * if next(300) == 0 { 20_000 } else { 200 };
        let is_there = |n: usize| free[n] < time && life(n as u64).0 < time && time + hold + MS < life(n as u64).1;
        if waiter == owner || unlocked[place] > time || !is_there(waiter) || !is_there(owner) {
            continue;
        }
        let (thread, lock) = (ThreadId(100 + waiter as u64), locks[place]);
        let (owner_place, owner) = (owner, ThreadId(100 + owner as u64));
        let (chain, owned) = (chains[place * 5 + next(5)], chains[place * 5 + next(2)]);
        let (released, got) = (time + hold, time + hold + 15_000);
        for n in [waiter, owner_place] {
            free[n] = got;
        }
        unlocked[place] = got;
        let seq = Seq(0);
        events.push((time, Event::MonitorEnter(MonitorEnter { time: at(time), thread, lock, seq, chain, owner })));
        let exit = MonitorExit { time: at(released), thread: owner, lock, seq, chain: owned, ..Default::default() };
        events.push((released, Event::MonitorExit(exit)));
        let (start, time) = (at(time), at(got));
        events.push((
            got,
            Event::MonitorEntered(MonitorEntered { time, start, thread, lock, seq, chain, ..Default::default() }),
        ));
        if next(8) == 0 {
            let end = got + 200_000 + next(800_000) as u64;
            if end < life(waiter as u64).1 {
                free[waiter] = end;
                let (time, start, blocker_class) = (at(end), at(got), CONDITION.into());
                let park =
                    Park { time, start, thread, blocker: queue, chain: poll, blocker_class, ..Default::default() };
                events.push((end, Event::Park(park)));
            }
        }
        if next(5) == 0 {
            let weight = DurationNs(MS);
            let sample = Sample { time: start, thread: owner, chain: owned, weight, ..Default::default() };
            events.push((start.0 - START, Event::Sample(sample)));
        }
    }
    scene.play(events);
    scene.end(END)
}

/// Numbers below a bound, the same each time.
fn random() -> impl FnMut(usize) -> usize {
    let mut random: u64 = 88_172_645_463_325_252;
    move |bound: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) as usize % bound
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let directory = Path::new(arguments.first().ok_or("where to?")?);
    std::fs::create_dir_all(directory)?;
    if let [_, option, number] = arguments.as_slice() {
        return match option.as_str() {
            "--mb" => large::large(&directory.join(format!("large-{number}.jfr")), number.parse()?),
            "--stacks" => large::stacks(&directory.join(format!("stacks-{number}.jfr")), number.parse()?),
            "--threads" => {
                let mut scene = Scene::new(&directory.join(format!("many-{number}.jfr")), &[])?;
                let threads = number.parse()?;
                let end = many_of_each(&mut scene, MS, threads, 10 * threads)?;
                scene.end(end + MS)
            }
            _ => Err(format!("there is no option {option}").into()),
        };
    }
    shop(&directory.join("shop.jfr"), 300 * MS, 12, 2..12, 8..9)?;
    shop(&directory.join("shop-after.jfr"), 60 * MS, 12, 2..12, 8..9)?;
    shop(&directory.join("phase.jfr"), 300 * MS, 12, 4..7, 8..9)?;
    shop(&directory.join("scarce.jfr"), 200 * MS, 12, 2..12, 0..12)?;
    hostile(&directory.join("hostile.jfr"), 5_000)?;
    crowd(&directory.join("crowd.jfr"))?;
    kinds::cut(&directory.join("cut.jfr"), &directory.join("crowd.jfr"))?;
    kinds::queue(&directory.join("queue.jfr"))?;
    kinds::pool(&directory.join("pool.jfr"))?;
    kinds::idle(&directory.join("idle.jfr"))?;
    kinds::exhausted(&directory.join("exhausted.jfr"))?;
    kinds::short(&directory.join("short.jfr"))?;
    kinds::cpu(&directory.join("cpu.jfr"))?;
    kinds::sampled(&directory.join("sampled.jfr"))?;
    shop(&directory.join("empty.jfr"), 0, 0, 0..0, 0..0)
}
