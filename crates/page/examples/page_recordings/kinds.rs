//! Recordings of one kind each: waits and notifies, locks of `java.util.concurrent`, sums of short
//! contentions, contentions sampled at random instants, a file that was cut off.

use super::{at, random, Scene, CONDITION, MS};
use headway_model::event::{
    MonitorEnter, MonitorEntered, MonitorExit, MonitorNotify, MonitorReentered, MonitorWait, MonitorWaited, Park,
    ParkBegin, ParkLimit, ParkOutcome, Sampling, ShortParks, Spent, SpentOn, StopTheWorld, ThreadDef, ThreadPoint,
    Unpark, WaitOutcome,
};
use headway_model::schedule::Schedule;
use headway_model::{ChainId, DurationNs, Event, LockId, Seq, ThreadId};
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::path::Path;

const END: u64 = 4_000 * MS;
/// What was added up is written so often.
const SECOND: u64 = 1_000 * MS;
const LOCK: &str = "java.util.concurrent.locks.ReentrantLock$NonfairSync";
const SEMAPHORE: &str = "java.util.concurrent.Semaphore$NonfairSync";

/// Stands for the order of all parks and unparks, beside the orders of monitors.
const PARKS: LockId = LockId(u64::MAX);

impl Scene {
    /// Puts events in the order of their times, and numbers them.
    pub fn play(&mut self, mut events: Vec<(u64, Event)>) {
        events.sort_by_key(|(time, _)| *time);
        let mut latest = Latest::default();
        for (_, mut event) in events {
            self.give_number(&mut event, &mut latest);
            self.put(event);
        }
    }

    fn give_number(&mut self, event: &mut Event, latest: &mut Latest) {
        match event {
            Event::MonitorEnter(MonitorEnter { lock, seq, .. })
            | Event::MonitorExit(MonitorExit { lock, seq, .. })
            | Event::MonitorWait(MonitorWait { lock, seq, .. })
            | Event::MonitorWaited(MonitorWaited { lock, seq, .. })
            | Event::MonitorEntered(MonitorEntered { lock, seq, .. }) => *seq = self.number(*lock),
            Event::MonitorNotify(e) => {
                e.seq = self.number(e.lock);
                latest.notifies.insert(e.waiter, e.seq);
            }
            Event::MonitorReentered(e) => {
                e.start_seq = latest.notifies.get(&e.thread).copied().unwrap_or_default();
                e.seq = self.number(e.lock);
            }
            Event::ParkBegin(e) => {
                e.seq = self.number(PARKS);
                latest.begins.insert(e.thread, e.seq);
            }
            Event::Unpark(e) => {
                e.seq = self.number(PARKS);
                latest.unparks.insert(e.target, e.seq);
            }
            Event::Park(e) if latest.begins.contains_key(&e.thread) => {
                e.start_seq = latest.begins.remove(&e.thread).unwrap_or_default();
                e.unpark = latest.unparks.remove(&e.thread).unwrap_or_default();
                e.seq = self.number(PARKS);
            }
            _ => {}
        }
    }
}

/// The numbers that a later event refers to, by thread.
#[derive(Default)]
struct Latest {
    notifies: HashMap<ThreadId, Seq>,
    begins: HashMap<ThreadId, Seq>,
    unparks: HashMap<ThreadId, Seq>,
}

/// Spans in which something is taken.
#[derive(Default)]
struct Taken(Vec<(u64, u64)>);

impl Taken {
    fn is_free(&self, from: u64, to: u64) -> bool {
        self.0.iter().all(|(begin, end)| to < *begin || *end < from)
    }

    fn take(&mut self, from: u64, to: u64) {
        self.0.retain(|(_, end)| *end + 200 * MS > from);
        self.0.push((from, to));
    }
}

/// Consumers wait for what producers put into two queues; a notified consumer is blocked until the
/// producer leaves the queue. Some waits time out, a service thread waits, too, and the VM pauses.
pub fn queue(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut scene = Scene::new(path, &[])?;
    let consumers: Vec<ThreadId> = (0..9).map(|n| scene.thread(100 + n, &format!("consumer-{n}"))).collect();
    let producers: Vec<ThreadId> = (0..3).map(|n| scene.thread(200 + n, &format!("producer-{n}"))).collect();
    let service = ThreadId(300);
    let def = ThreadDef { id: service, name: "Reference Handler".into(), is_service: true, ..ThreadDef::default() };
    scene.put(Event::Thread(def));
    let names = [("Orders.queue", "java.util.ArrayDeque"), ("", "com.acme.shop.Mailbox")];
    let queues: Vec<LockId> = (1..).zip(names).map(|(id, (name, class))| scene.lock(id, class, name)).collect();
    let take = scene.chain(&["java.lang.Object.wait:-1", "com.acme.shop.Queue.take:33", "java.lang.Thread.run:1583"]);
    let put = scene.chain(&["com.acme.shop.Queue.put:21", "com.acme.shop.Producer.run:9", "java.lang.Thread.run:1583"]);
    let mut next = random();
    let mut events: Vec<(u64, Event)> = Vec::new();
    let mut busy: HashMap<ThreadId, u64> = HashMap::new();
    let mut held: Vec<Taken> = queues.iter().map(|_| Taken::default()).collect();
    let mut time = 3 * MS;
    while time < END - 100 * MS {
        time += 100_000 + next(900_000) as u64;
        let (place, producer) = (next(queues.len()), producers[next(producers.len())]);
        let waiter = if next(20) == 0 { service } else { consumers[next(consumers.len())] };
        let notified = time + 100_000 + next(1000) as u64 * if next(50) == 0 { 60_000 } else { 3_000 };
        let left = notified + 20_000 + next(1000) as u64 * if next(40) == 0 { 30_000 } else { 400 };
        let again = left + 15_000;
        let is_free = |thread: &ThreadId| busy.get(thread).is_none_or(|until| *until < time);
        let lock_is_free = held[place].is_free(time, time + 1) && held[place].is_free(notified, again);
        if !is_free(&waiter) || !is_free(&producer) || !lock_is_free {
            continue;
        }
        busy.insert(waiter, again);
        let lock = queues[place];
        let wait = MonitorWait { time: at(time), thread: waiter, lock, chain: take, ..MonitorWait::default() };
        events.push((time, Event::MonitorWait(wait)));
        let waited = MonitorWaited {
            time: at(notified),
            start: at(time),
            thread: waiter,
            lock,
            chain: take,
            ..MonitorWaited::default()
        };
        if next(6) == 0 {
            let waited = MonitorWaited { outcome: WaitOutcome::TimedOut, ..waited };
            events.push((notified, Event::MonitorWaited(waited)));
            continue;
        }
        busy.insert(producer, again);
        held[place].take(notified, again);
        let notify = MonitorNotify { time: at(notified), thread: producer, waiter, lock, seq: Seq::NONE };
        events.push((notified, Event::MonitorNotify(notify)));
        events.push((notified, Event::MonitorWaited(MonitorWaited { notifier: producer, ..waited })));
        let exit = MonitorExit { time: at(left), thread: producer, lock, chain: put, ..MonitorExit::default() };
        events.push((left, Event::MonitorExit(exit)));
        let reentered = MonitorReentered {
            time: at(again),
            start: at(notified),
            thread: waiter,
            lock,
            chain: take,
            ..MonitorReentered::default()
        };
        events.push((again, Event::MonitorReentered(reentered)));
    }
    for n in 1..20 {
        let (start, duration) = (at(n * 190 * MS), DurationNs(n * MS / 3));
        events.push((n * 190 * MS + duration.0, Event::StopTheWorld(StopTheWorld { start, duration })));
    }
    scene.play(events);
    scene.end(END)
}

/// Platform and virtual threads park for locks of `java.util.concurrent`, for permits and on conditions.
pub fn pool(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut scene = Scene::new(path, &[])?;
    let threads: Vec<ThreadId> = (0..30).map(|n| worker(&mut scene, n)).collect();
    let kinds = [(LOCK, "Pool.lock"), (LOCK, ""), (SEMAPHORE, "Pool.permits"), (CONDITION, ""), (LOCK, "Pool.lock")];
    let blockers: Vec<LockId> = (1..).zip(kinds).map(|(id, (class, name))| scene.lock(id, class, name)).collect();
    let chains: Vec<ChainId> = (0..blockers.len())
        .map(|n| scene.chain(&["jdk.internal.misc.Unsafe.park:-1", &format!("com.acme.Pool.take{n}:{}", 40 + n)]))
        .collect();
    let give = scene.chain(&["jdk.internal.misc.Unsafe.unpark:-1", "com.acme.Pool.give:17"]);
    let mut next = random();
    let mut events: Vec<(u64, Event)> = Vec::new();
    let mut busy: HashMap<ThreadId, u64> = HashMap::new();
    let mut held: Vec<Taken> = blockers.iter().map(|_| Taken::default()).collect();
    let mut time = 3 * MS;
    while time < END - 100 * MS {
        time += 20_000 + next(300_000) as u64;
        let place = next(blockers.len());
        let [thread, owner] = [threads[next(threads.len())], threads[next(threads.len())]];
        let given = time + 30_000 + next(1000) as u64 * if next(60) == 0 { 40_000 } else { 900 };
        let ended = given + 10_000 + next(50_000) as u64;
        let is_free = |thread: &ThreadId| busy.get(thread).is_none_or(|until| *until < time);
        if thread == owner || !is_free(&thread) || !is_free(&owner) || !held[place].is_free(time, ended) {
            continue;
        }
        busy.extend([(thread, ended), (owner, ended)]);
        held[place].take(time, ended);
        let (blocker, chain) = (blockers[place], chains[place]);
        let owner_of = if kinds[place].0 == LOCK { owner } else { ThreadId::NONE };
        let begin = ParkBegin {
            time: at(time),
            thread,
            seq: Seq::NONE,
            chain,
            blocker,
            owner: owner_of,
            limit: ParkLimit::None,
        };
        events.push((time, Event::ParkBegin(begin)));
        let unpark = Unpark { time: at(given), thread: owner, seq: Seq::NONE, chain: give, target: thread };
        events.push((given, Event::Unpark(unpark)));
        let park = Park {
            time: at(ended),
            start: at(time),
            thread,
            chain,
            blocker,
            owner: owner_of,
            outcome: ParkOutcome::Unparked,
            waker: owner,
            ..Park::default()
        };
        events.push((ended, Event::Park(park)));
    }
    scene.play(events);
    scene.end(END)
}

/// Workers wait for connections of a pool, all of them in the second half of the recording only; a lock
/// is contended once.
pub fn exhausted(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut scene = Scene::new(path, &[])?;
    let threads: Vec<ThreadId> = (0..6).map(|n| scene.thread(100 + n, &format!("order-worker-{n}"))).collect();
    for thread in &threads {
        scene.put(Event::ThreadStart(ThreadPoint { time: at(MS), thread: *thread }));
    }
    let (lock, blocker) = (scene.lock(1, "com.acme.shop.Shelf", "Stock.lock"), scene.lock(2, CONDITION, ""));
    let borrow = scene.chain(&["jdk.internal.misc.Unsafe.park:-1", "com.acme.Connections.borrow:40"]);
    let give = scene.chain(&["jdk.internal.misc.Unsafe.unpark:-1", "com.acme.Connections.giveBack:17"]);
    let reserve = scene.chain(&["com.acme.shop.Stock.reserve:44", "java.lang.Thread.run:1583"]);
    let mut events: Vec<(u64, Event)> = Vec::new();
    let (enter, exit, entered) = (500 * MS, 502 * MS, 503 * MS);
    let (thread, owner, seq) = (threads[0], threads[1], Seq::NONE);
    let begin = MonitorEnter { time: at(enter), thread, lock, seq, chain: reserve, owner };
    events.push((enter, Event::MonitorEnter(begin)));
    let end = MonitorExit { time: at(exit), thread: owner, lock, chain: reserve, ..MonitorExit::default() };
    events.push((exit, Event::MonitorExit(end)));
    let (time, start) = (at(entered), at(enter));
    let got = MonitorEntered { time, start, thread, lock, chain: reserve, ..MonitorEntered::default() };
    events.push((entered, Event::MonitorEntered(got)));
    for (n, thread) in threads.iter().enumerate().skip(1) {
        let waker = threads[0];
        for from in (END / 2..END - 200 * MS).step_by(150 * MS as usize) {
            let (from, to) = (from + n as u64 * MS, from + (140 + n as u64) * MS);
            let (limit, owner) = (ParkLimit::None, ThreadId::NONE);
            let begin = ParkBegin { time: at(from), thread: *thread, seq, chain: borrow, blocker, owner, limit };
            events.push((from, Event::ParkBegin(begin)));
            events.push((to, Event::Unpark(Unpark { time: at(to), thread: waker, seq, chain: give, target: *thread })));
            let (time, start, outcome) = (at(to), at(from), ParkOutcome::Unparked);
            let park = Park { time, start, thread: *thread, chain: borrow, blocker, outcome, waker, ..Park::default() };
            events.push((to, Event::Park(park)));
        }
    }
    scene.play(events);
    scene.end(END)
}

/// A pool whose worker waits for work nearly all the time.
pub fn idle(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut scene = Scene::new(path, &[])?;
    let thread = scene.thread(100, "worker-0");
    scene.put(Event::ThreadStart(ThreadPoint { time: at(MS), thread }));
    let blocker = scene.lock(1, CONDITION, "");
    let chain = scene.chain(&[
        "jdk.internal.misc.Unsafe.park:-1",
        "java.util.concurrent.LinkedBlockingQueue.take:435",
        "java.util.concurrent.ThreadPoolExecutor.getTask:1070",
        "java.util.concurrent.ThreadPoolExecutor.runWorker:1130",
        "java.lang.Thread.run:1583",
    ]);
    let waits = (10 * MS..END - 200 * MS).step_by(150 * MS as usize).map(|from| {
        let (time, start, blocker_class) = (at(from + 140 * MS), at(from), CONDITION.into());
        (from + 140 * MS, Event::Park(Park { time, start, thread, blocker, chain, blocker_class, ..Park::default() }))
    });
    scene.play(waits.collect());
    scene.end(END)
}

/// Every third is a virtual thread; the others start with the recording.
fn worker(scene: &mut Scene, n: u64) -> ThreadId {
    let (id, is_virtual) = (ThreadId(100 + n), n % 3 == 2);
    let name = if is_virtual { format!("task-{n}") } else { format!("worker-{n}") };
    scene.put(Event::Thread(ThreadDef { id, name: name.into(), is_virtual, ..ThreadDef::default() }));
    if !is_virtual {
        scene.put(Event::ThreadStart(ThreadPoint { time: at(2 * MS), thread: id }));
    }
    id
}

/// Contentions shorter than a minimum, of which there are sums only: once a second, of each thread,
/// lock and call stack; and parks below a floor. Longer contentions stand between them.
pub fn short(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut scene = Scene::new(path, &[("min_duration", "1000000 ns"), ("park_floor", "1000000 ns")])?;
    let threads: Vec<ThreadId> = (0..8).map(|n| scene.thread(100 + n, &format!("request-{n}"))).collect();
    let owner = scene.thread(200, "indexer");
    for thread in threads.iter().chain([&owner]) {
        scene.put(Event::ThreadStart(ThreadPoint { time: at(MS), thread: *thread }));
    }
    let locks: Vec<LockId> = (1..4).map(|id| scene.lock(id, "com.acme.shop.Shelf", "Stock.lock")).collect();
    let blockers = [scene.lock(10, LOCK, "Pool.lock"), scene.lock(11, CONDITION, "")];
    let chain = scene.chain(&["com.acme.shop.Stock.reserve:44", "java.lang.Thread.run:1583"]);
    let park = scene.chain(&["jdk.internal.misc.Unsafe.park:-1", "com.acme.Pool.take:40"]);
    let mut next = random();
    let mut events: Vec<(u64, Event)> = Vec::new();
    for second in 0..END / (1000 * MS) {
        let from = second * 1000 * MS + 10 * MS;
        for (n, thread) in threads.iter().enumerate() {
            let mut end = from;
            for lock in &locks {
                let (count, total) = (1 + next(500) as u64, DurationNs(1000 + next(200_000) as u64 * 1000));
                end += total.0 + next(30_000_000) as u64;
                let (time, thread, lock, on) = (at(end), *thread, *lock, SpentOn::Monitor);
                events.push((end, Event::Spent(Spent { time, thread, lock, chain, on, count, total })));
            }
            for blocker in blockers {
                let (count, total) = (1 + next(50) as u64, DurationNs(1000 + next(60_000) as u64 * 1000));
                end += total.0 + MS;
                let (time, thread) = (at(end), *thread);
                let parks = ShortParks { time, thread, blocker, chain: park, count, total };
                events.push((end, Event::ShortParks(parks)));
            }
            let (enter, lock) = (from + 800 * MS + n as u64 * 12 * MS, locks[n % locks.len()]);
            let (exit, thread) = (enter + 3 * MS + next(5_000_000) as u64, *thread);
            let (seq, entered) = (Seq::NONE, exit + 20_000);
            let begin = MonitorEnter { time: at(enter), thread, lock, seq, chain, owner };
            events.push((enter, Event::MonitorEnter(begin)));
            let end = MonitorExit { time: at(exit), thread: owner, lock, chain, ..MonitorExit::default() };
            events.push((exit, Event::MonitorExit(end)));
            let (time, start) = (at(entered), at(enter));
            let got = MonitorEntered { time, start, thread, lock, chain, ..MonitorEntered::default() };
            events.push((entered, Event::MonitorEntered(got)));
        }
    }
    scene.play(events);
    scene.end(END)
}

/// Two locks, each with two methods that own it in turn, sampled: contentions in which no random
/// instant lies are added up once a second, of each thread and lock.
pub fn sampled(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut scene = Scene::new(path, &[("sampling_window", "5000000 ns")])?;
    let sampling = Sampling { time: at(MS), window: DurationNs(5 * MS), seed: 7, ..Sampling::default() };
    let schedule = Schedule::new(sampling);
    let threads: Vec<ThreadId> = (0..8).map(|n| scene.thread(100 + n, &format!("request-{n}"))).collect();
    let owners = [scene.thread(200, "indexer"), scene.thread(201, "seller")];
    for thread in threads.iter().chain(&owners) {
        scene.put(Event::ThreadStart(ThreadPoint { time: at(MS), thread: *thread }));
    }
    scene.put(Event::Sampling(sampling));
    let names = [("com.acme.shop.Shelf", "Stock.lock"), ("com.acme.shop.Desk", "Orders.lock")];
    let locks: Vec<LockId> = (1..).zip(names).map(|(id, (class, name))| scene.lock(id, class, name)).collect();
    let mut chain = |leaf: &str| scene.chain(&[leaf, "java.lang.Thread.run:1583"]);
    let wanted = ["com.acme.shop.Stock.reserve:44", "com.acme.shop.Stock.list:51"].map(&mut chain);
    let owned = ["com.acme.shop.Stock.rebuild:77", "com.acme.shop.Stock.sell:90"].map(&mut chain);
    let mut next = random();
    let mut events: Vec<(u64, Event)> = Vec::new();
    for (lock, waiters) in locks.into_iter().zip(threads.chunks(4)) {
        let mut sums = Sums::default();
        let mut time = 3 * MS;
        while time < END - 20 * MS {
            let from = time + 200_000 + next(900_000) as u64;
            let by = usize::from(next(10) < if lock.0 == 1 { 3 } else { 6 });
            let mut hold = Hold { lock, owner: owners[by], owned: owned[by], exit: from + 400_000, is_seen: false };
            hold.exit += next(3_000_000) as u64;
            time = hold.exit;
            for thread in waiters {
                let (start, chain) = (from + next(300_000) as u64, wanted[usize::from(next(4) == 0)]);
                time += 20_000;
                match schedule.hits(at(start), at(time)) {
                    true => hold.block(*thread, chain, (start, time), &mut events),
                    false => sums.add(*thread, lock, (start, time)),
                }
            }
            hold.end(&mut events);
        }
        events.extend(sums.events());
    }
    events.extend((1..END / SECOND).map(|second| (second * SECOND, Event::Watermark(at(second * SECOND)))));
    scene.play(events);
    scene.end(END)
}

/// A lock is owned for some time while others are blocked on it.
struct Hold {
    lock: LockId,
    owner: ThreadId,
    owned: ChainId,
    exit: u64,
    /// True if a contention was recorded.
    is_seen: bool,
}

impl Hold {
    fn block(&mut self, thread: ThreadId, chain: ChainId, (from, to): (u64, u64), events: &mut Vec<(u64, Event)>) {
        self.is_seen = true;
        let (lock, owner, start) = (self.lock, self.owner, at(from));
        let begin = MonitorEnter { time: start, thread, lock, chain, owner, seq: Seq::NONE };
        let end = MonitorEntered { time: at(to), start, thread, lock, chain, ..MonitorEntered::default() };
        events.extend([(from, Event::MonitorEnter(begin)), (to, Event::MonitorEntered(end))]);
    }

    fn end(self, events: &mut Vec<(u64, Event)>) {
        let Hold { lock, owner: thread, owned: chain, exit, is_seen } = self;
        let end = MonitorExit { time: at(exit), thread, lock, chain, ..MonitorExit::default() };
        events.extend(is_seen.then_some((exit, Event::MonitorExit(end))));
    }
}

/// Number and time of what is not recorded one by one, by second, thread and lock.
#[derive(Default)]
struct Sums(BTreeMap<(u64, ThreadId, LockId), (u64, u64)>);

impl Sums {
    fn add(&mut self, thread: ThreadId, lock: LockId, (from, to): (u64, u64)) {
        let sum = self.0.entry((to / SECOND, thread, lock)).or_default();
        *sum = (sum.0 + 1, sum.1 + to - from);
    }

    fn events(self) -> impl Iterator<Item = (u64, Event)> {
        self.0.into_iter().map(|((second, thread, lock), (count, total))| {
            let end = ((second + 1) * SECOND).min(END) - MS;
            let (time, chain, on, total) = (at(end), ChainId::NONE, SpentOn::Monitor, DurationNs(total));
            (end, Event::Spent(Spent { time, thread, lock, chain, on, count, total }))
        })
    }
}

/// Nothing but CPU samples: most of them in one method, fewer in another, one in a third.
pub fn cpu(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut scene = Scene::new(path, &[("events", "cpu")])?;
    let threads = [scene.thread(100, "indexer-1"), scene.thread(101, "indexer-2")];
    for thread in threads {
        scene.put(Event::ThreadStart(ThreadPoint { time: at(MS), thread }));
    }
    let run = ["com.acme.shop.Index.run:20", "java.lang.Thread.run:1583"];
    let [hash, sort, start] =
        ["com.acme.shop.Index.hash:31", "com.acme.shop.Index.sort:52", "com.acme.shop.Index.start:7"]
            .map(|leaf| scene.chain(&[leaf, run[0], run[1]]));
    for n in 1..END / (10 * MS) {
        let chain = if n == 1 {
            start
        } else if n % 4 == 0 {
            sort
        } else {
            hash
        };
        super::sample(&mut scene, threads[n as usize % 2], chain, n * 10 * MS);
    }
    scene.end(END)
}

/// The first part of a recording, as a full disk leaves it: it ends in the middle of an event.
pub fn cut(path: &Path, whole: &Path) -> Result<(), Box<dyn Error>> {
    let bytes = std::fs::read(whole)?;
    std::fs::write(path, &bytes[..bytes.len() * 3 / 5])?;
    Ok(())
}
