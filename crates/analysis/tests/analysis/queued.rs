//! Synchronizers of `java.util.concurrent` played through, with the truth
//! about who held what.
//!
//! A released lock is free at once; the first in the queue is unparked if it
//! is known to be parked, runs some time later, and tries again. Whoever comes
//! first takes the lock: a thread that barges in while the first one is on its
//! way leaves without unparking anybody. Readers share a lock, and each reader
//! that got it wakes the next one in the queue.

use crate::story::{chain, lock, method, recording, thread};
use headway_model::event::*;
use headway_model::random::Random;
use headway_model::{ChainId, Event, LockId, Seq, ThreadId, TimeNs};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// What is played.
#[derive(Clone, Copy, Debug)]
pub struct Play {
    pub threads: usize,
    pub locks: usize,
    /// Parks after which it ends.
    pub parks: usize,
    /// Mean time under a lock.
    pub hold_ns: u64,
    /// Mean time between locks.
    pub think_ns: u64,
    /// Time until a woken thread runs.
    pub wake_ns: u64,
    /// How many acquisitions are shared.
    pub read_percent: u64,
    /// Holds that end in a condition's `await`, until the next release signals.
    pub await_percent: u64,
    /// Parks that report their begin only at their end.
    pub no_begin: bool,
    pub seed: u64,
}

/// A span during which a thread really held a lock.
#[derive(Clone, Copy, Debug)]
pub struct Hold {
    pub thread: ThreadId,
    pub from: u64,
    pub to: u64,
    /// The chain of its release.
    pub chain: ChainId,
    pub shared: bool,
}

/// What happened.
pub struct Played {
    pub events: Vec<Event>,
    /// Holds by lock, in the order of their ends.
    pub holds: Vec<Vec<Hold>>,
    /// Time parked for locks, and on conditions.
    pub parked_ns: u64,
    pub awaited_ns: u64,
    pub end: TimeNs,
}

/// Different chains of each kind.
pub const CHAINS: u64 = 10;
const LOCK: u64 = 100;
const READ: u64 = 200;
const WRITE: u64 = 300;
const AWAIT: u64 = 400;
const AGAIN: u64 = 500;
/// Chains of releases begin here.
pub const RELEASE: u64 = 600;
const RELEASE_SHARED: u64 = 700;
const PROPAGATE: u64 = 800;
const RELEASE_TO_AWAIT: u64 = 900;
/// Conditions have ids from here on.
pub const CONDITIONS: u64 = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Want(usize),
    Leave(usize),
    Wake(usize),
}

#[derive(Clone, Copy, Default)]
struct Runner {
    lock: usize,
    shared: bool,
    parked: Option<Parked>,
    /// The unpark that woke it.
    given: Option<(u64, ThreadId)>,
    since: u64,
    awaits: bool,
    again: bool,
}

#[derive(Clone, Copy)]
struct Parked {
    since: u64,
    seq: u64,
    chain: u64,
    on_condition: bool,
    owner: ThreadId,
}

#[derive(Default)]
struct Queued {
    writer: Option<usize>,
    readers: Vec<usize>,
    queue: VecDeque<usize>,
    /// The first one was unparked and has not come back yet.
    on_its_way: bool,
    waiters: VecDeque<usize>,
}

struct Stage {
    play: Play,
    dice: Random,
    now: u64,
    serial: u64,
    seq: u64,
    steps: BinaryHeap<Reverse<(u64, u64, Step)>>,
    runners: Vec<Runner>,
    locks: Vec<Queued>,
    played: Played,
    parks: usize,
}

const START: u64 = 1_000_000;

/// Plays it.
pub fn play(play: Play) -> Played {
    let mut stage = Stage {
        play,
        dice: Random::new(play.seed),
        now: START,
        serial: 0,
        seq: 0,
        steps: BinaryHeap::new(),
        runners: vec![Runner::default(); play.threads],
        locks: (0..play.locks).map(|_| Queued::default()).collect(),
        played: Played {
            events: Vec::new(),
            holds: vec![Vec::new(); play.locks],
            parked_ns: 0,
            awaited_ns: 0,
            end: TimeNs(0),
        },
        parks: 0,
    };
    for thread in 0..play.threads {
        let at = START + stage.around(play.think_ns);
        stage.schedule(at, Step::Want(thread));
    }
    while stage.parks < play.parks {
        let Some(Reverse((at, _, step))) = stage.steps.pop() else { break };
        stage.now = stage.now.max(at);
        match step {
            Step::Want(thread) => stage.want(thread),
            Step::Leave(thread) => stage.leave(thread),
            Step::Wake(thread) => stage.wake(thread),
        }
    }
    stage.played.end = TimeNs(stage.now);
    stage.played
}

impl Stage {
    fn around(&mut self, mean: u64) -> u64 {
        let base = mean / 4 + self.dice.next_u64() % mean.max(1);
        match self.dice.chance(4) {
            true => base * 6,
            false => base.max(1),
        }
    }

    fn schedule(&mut self, at: u64, step: Step) {
        self.serial += 1;
        self.steps.push(Reverse((at, self.serial, step)));
    }

    fn next_seq(&mut self) -> Seq {
        self.seq += 1;
        Seq(self.seq)
    }

    fn chain(&mut self, kind: u64) -> ChainId {
        ChainId(kind + self.dice.next_u64() % CHAINS)
    }

    fn want(&mut self, thread: usize) {
        let lock = (self.dice.next_u64() % self.play.locks as u64) as usize;
        let shared = self.dice.chance(self.play.read_percent);
        self.runners[thread] = Runner { lock, shared, ..Runner::default() };
        let queued = &self.locks[lock];
        // A reader does not overtake a writer that is first in the queue.
        let writer_first = queued.queue.front().is_some_and(|first| !self.runners[*first].shared);
        match self.is_free(thread) && !(shared && writer_first) {
            true => self.take(thread),
            false => {
                self.locks[lock].queue.push_back(thread);
                self.park(thread);
            }
        }
    }

    fn is_free(&self, thread: usize) -> bool {
        let runner = &self.runners[thread];
        let lock = &self.locks[runner.lock];
        lock.writer.is_none() && (runner.shared || lock.readers.is_empty())
    }

    fn take(&mut self, thread: usize) {
        let runner = &mut self.runners[thread];
        runner.since = self.now;
        let lock = &mut self.locks[runner.lock];
        match runner.shared {
            true => lock.readers.push(thread),
            false => lock.writer = Some(thread),
        }
        let hold = self.around(self.play.hold_ns);
        self.schedule(self.now + hold, Step::Leave(thread));
    }

    fn park(&mut self, thread: usize) {
        let runner = self.runners[thread];
        let kind = match (runner.awaits, runner.again, self.play.read_percent > 0, runner.shared) {
            (true, ..) => AWAIT,
            (_, true, ..) => AGAIN,
            (_, _, false, _) => LOCK,
            (_, _, _, true) => READ,
            (_, _, _, false) => WRITE,
        };
        let chain = self.chain(kind);
        let owner = match runner.awaits {
            true => ThreadId::NONE,
            false => self.locks[runner.lock].writer.map_or(ThreadId::NONE, id),
        };
        let seq = self.next_seq();
        let parked = Parked { since: self.now, seq: seq.0, chain: chain.0, on_condition: runner.awaits, owner };
        self.runners[thread].parked = Some(parked);
        if self.play.no_begin {
            return;
        }
        let blocker = self.blocker(thread);
        self.played.events.push(Event::ParkBegin(ParkBegin {
            time: TimeNs(self.now),
            thread: id(thread),
            seq,
            chain,
            blocker,
            owner,
            limit: ParkLimit::None,
        }));
    }

    fn blocker(&self, thread: usize) -> LockId {
        let runner = &self.runners[thread];
        match runner.awaits {
            true => LockId(CONDITIONS + runner.lock as u64),
            false => lock_id(runner.lock),
        }
    }

    fn unpark(&mut self, from: usize, target: usize, kind: u64) -> ChainId {
        let (seq, chain) = (self.next_seq(), self.chain(kind));
        self.runners[target].given = Some((seq.0, id(from)));
        self.played.events.push(Event::Unpark(Unpark {
            time: TimeNs(self.now),
            thread: id(from),
            seq,
            chain,
            target: id(target),
        }));
        let at = self.now + self.play.wake_ns;
        self.schedule(at, Step::Wake(target));
        chain
    }

    fn leave(&mut self, thread: usize) {
        let runner = self.runners[thread];
        let awaits = !runner.shared && self.dice.chance(self.play.await_percent);
        let lock = &mut self.locks[runner.lock];
        // A signal moves the longest waiter to the lock's queue, still parked.
        if let Some(waiter) = lock.waiters.pop_front().filter(|_| !runner.shared) {
            lock.queue.push_back(waiter);
        }
        match runner.shared {
            true => lock.readers.retain(|reader| *reader != thread),
            false => lock.writer = None,
        }
        let last = lock.readers.is_empty();
        let first = lock.queue.front().copied().filter(|_| last && !lock.on_its_way);
        let chain = first.map(|first| {
            self.locks[runner.lock].on_its_way = true;
            let kind = match (runner.shared, awaits) {
                (true, _) => RELEASE_SHARED,
                (_, true) => RELEASE_TO_AWAIT,
                _ => RELEASE,
            };
            self.unpark(thread, first, kind)
        });
        self.played.holds[runner.lock].push(Hold {
            thread: id(thread),
            from: runner.since,
            to: self.now,
            chain: chain.unwrap_or(ChainId::NONE),
            shared: runner.shared,
        });
        if awaits {
            self.locks[runner.lock].waiters.push_back(thread);
            self.runners[thread].awaits = true;
            self.park(thread);
        } else {
            let at = self.now + self.around(self.play.think_ns);
            self.schedule(at, Step::Want(thread));
        }
    }

    fn wake(&mut self, thread: usize) {
        let runner = self.runners[thread];
        let Some(parked) = runner.parked else { return };
        let length = self.now - parked.since;
        match parked.on_condition {
            true => self.played.awaited_ns += length,
            false => self.played.parked_ns += length,
        }
        self.parks += 1;
        let (unpark, waker) = runner.given.expect("woken by an unpark");
        let (seq, blocker) = (self.next_seq(), self.blocker(thread));
        self.played.events.push(Event::Park(Park {
            time: TimeNs(self.now),
            start: TimeNs(parked.since),
            thread: id(thread),
            start_seq: Seq(parked.seq),
            seq,
            chain: ChainId(parked.chain),
            blocker,
            owner: parked.owner,
            outcome: ParkOutcome::Unparked,
            unpark: Seq(unpark),
            waker,
            ..Park::default()
        }));
        let again = runner.again || runner.awaits;
        self.runners[thread] = Runner { parked: None, given: None, awaits: false, again, ..runner };
        self.locks[runner.lock].on_its_way = false;
        if !self.is_free(thread) {
            return self.park(thread);
        }
        self.locks[runner.lock].queue.pop_front();
        self.take(thread);
        let next = self.locks[runner.lock].queue.front().copied();
        if let Some(next) = next.filter(|next| runner.shared && self.runners[*next].shared) {
            self.locks[runner.lock].on_its_way = true;
            self.unpark(thread, next, PROPAGATE);
        }
    }
}

pub fn id(thread: usize) -> ThreadId {
    ThreadId(thread as u64 + 1)
}

pub fn lock_id(lock: usize) -> LockId {
    LockId(lock as u64 + 1)
}

/// What everything in a play is called.
pub fn definitions(play: &Play) -> Vec<Event> {
    let mut names = Naming { methods: BTreeMap::new(), events: vec![recording(TimeNs(START))] };
    let class = match play.read_percent {
        0 => "java.util.concurrent.locks.ReentrantLock$NonfairSync",
        _ => "java.util.concurrent.locks.ReentrantReadWriteLock$NonfairSync",
    };
    for index in 0..play.locks {
        names.events.push(lock(lock_id(index).0, class, 0x100 + index as u32, "Inventory.lock"));
        let condition = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject";
        names.events.push(lock(CONDITIONS + index as u64, condition, 0, ""));
    }
    for index in 0..play.threads {
        names.events.push(thread(id(index).0, &format!("worker-{index}")));
    }
    let park = "jdk.internal.misc.Unsafe.park j.locks.LockSupport.park";
    let unpark = "jdk.internal.misc.Unsafe.unpark j.locks.LockSupport.unpark";
    let kinds = [
        (LOCK, format!("{park} AQS.acquire AQS.acquire j.locks.ReentrantLock.lock com.acme.Shop.sell")),
        (READ, format!("{park} AQS.acquire AQS.acquireShared j.locks.ReentrantReadWriteLock$ReadLock.lock com.acme.Shop.look")),
        (WRITE, format!("{park} AQS.acquire AQS.acquire j.locks.ReentrantReadWriteLock$WriteLock.lock com.acme.Shop.sell")),
        (AWAIT, format!("{park} AQS$ConditionNode.block AQS$ConditionObject.await com.acme.Shop.restock")),
        (AGAIN, format!("{park} AQS.acquire AQS$ConditionObject.await com.acme.Shop.restock")),
        (RELEASE, format!("{unpark} AQS.signalNext AQS.release j.locks.ReentrantLock.unlock com.acme.Inventory.rebuild")),
        (RELEASE_TO_AWAIT, format!("{unpark} AQS.signalNext AQS.release AQS$ConditionObject.enableWait AQS$ConditionObject.await com.acme.Shop.restock")),
        (RELEASE_SHARED, format!("{unpark} AQS.signalNext AQS.releaseShared j.locks.ReentrantReadWriteLock$ReadLock.unlock com.acme.Shop.look")),
        (PROPAGATE, format!("{unpark} AQS.signalNextIfShared AQS.acquire AQS.acquireShared com.acme.Shop.look")),
    ];
    for (kind, frames) in kinds {
        for index in 0..CHAINS {
            names.chain(kind + index, &frames, index as u32 + 1);
        }
    }
    names.events
}

/// Methods and chains by their names.
pub struct Naming {
    methods: BTreeMap<String, u64>,
    pub events: Vec<Event>,
}

impl Naming {
    /// No names yet.
    pub fn new() -> Naming {
        Naming { methods: BTreeMap::new(), events: Vec::new() }
    }

    /// A chain of `class.method`, leaf first; `AQS` and `j.` stand for longer names.
    pub fn chain(&mut self, id: u64, frames: &str, line: u32) {
        let frames: Vec<(u64, u32)> = frames.split_whitespace().map(|frame| (self.method(frame), line)).collect();
        self.events.push(chain(id, &frames));
    }

    fn method(&mut self, short: &str) -> u64 {
        let name = short.replace("AQS", "j.locks.AbstractQueuedSynchronizer");
        let name = match name.strip_prefix("j.") {
            Some(rest) => format!("java.util.concurrent.{rest}"),
            None => name,
        };
        let next = self.methods.len() as u64 + 1;
        let id = *self.methods.entry(name.clone()).or_insert(next);
        if id == next {
            let (class, name) = name.rsplit_once('.').expect("class.method");
            self.events.push(method(id, class, name));
        }
        id
    }
}
