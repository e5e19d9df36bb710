//! Threads and locks played through, with the truth about who held what.
//!
//! Locks are unfair, as HotSpot's are: a released lock is free until a queued
//! thread has woken up, and whoever comes first takes it.

use headway_model::event::*;
use headway_model::random::Random;
use headway_model::{ChainId, DurationNs, Event, LockId, Seq, ThreadId, TimeNs};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What is played.
#[derive(Clone, Copy, Debug)]
pub struct Play {
    pub threads: usize,
    pub locks: usize,
    /// Contended acquisitions after which it ends.
    pub acquisitions: usize,
    /// Mean time under a lock.
    pub hold_ns: u64,
    /// Mean time between locks.
    pub think_ns: u64,
    /// Time until a woken thread runs.
    pub wake_ns: u64,
    /// Exits that are not recorded although somebody is queued.
    pub missed_percent: u64,
    /// Holds that end in `Object.wait`.
    pub wait_percent: u64,
    pub seed: u64,
}

/// A span during which a thread really held a lock.
// The throughput example plays without looking at the truth.
#[allow(dead_code)]
#[derive(Clone, Copy, Debug)]
pub struct Hold {
    pub thread: ThreadId,
    pub from: u64,
    pub to: u64,
    /// The chain recorded at its exit.
    pub chain: ChainId,
}

/// What happened.
#[allow(dead_code)]
pub struct Played {
    pub events: Vec<Event>,
    /// Holds by lock, in time order.
    pub holds: Vec<Vec<Hold>>,
    pub end: TimeNs,
}

/// Chains of methods under locks begin here, so that they differ from those of
/// contenders.
pub const HOLDER_CHAIN: u64 = 1_000;
/// Chains of contenders begin here.
pub const CONTENDER_CHAIN: u64 = 2_000;
/// Chains of waits begin here.
pub const WAIT_CHAIN: u64 = 3_000;
/// Different chains of each kind.
pub const CHAINS: u64 = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// The thread wants a lock.
    Want(usize),
    /// The thread leaves the lock it holds.
    Leave(usize),
    /// The queued thread runs and tries again.
    Wake(usize),
    /// The waiting thread's timeout.
    Timeout(usize, u64),
}

#[derive(Clone, Copy, Default)]
struct Thread {
    lock: usize,
    blocked_since: u64,
    begin_seq: u64,
    chain: u64,
    after_wait: bool,
    wait_began: u64,
    waits: u64,
}

#[derive(Default)]
struct Lock {
    seq: u64,
    owner: Option<usize>,
    since: u64,
    queue: VecDeque<usize>,
    waiters: VecDeque<usize>,
}

struct Stage {
    play: Play,
    dice: Random,
    now: u64,
    serial: u64,
    steps: BinaryHeap<Reverse<(u64, u64, Step)>>,
    threads: Vec<Thread>,
    locks: Vec<Lock>,
    played: Played,
    acquired: usize,
}

const START: u64 = 1_000_000;

/// Plays it.
pub fn play(play: Play) -> Played {
    let mut stage = Stage {
        play,
        dice: Random::new(play.seed),
        now: START,
        serial: 0,
        steps: BinaryHeap::new(),
        threads: vec![Thread::default(); play.threads],
        locks: (0..play.locks).map(|_| Lock::default()).collect(),
        played: Played { events: Vec::new(), holds: vec![Vec::new(); play.locks], end: TimeNs(0) },
        acquired: 0,
    };
    for thread in 0..play.threads {
        let at = START + stage.around(play.think_ns);
        stage.schedule(at, Step::Want(thread));
    }
    while stage.acquired < play.acquisitions {
        let Some(Reverse((at, _, step))) = stage.steps.pop() else { break };
        stage.now = at;
        stage.step(step);
    }
    stage.played.end = TimeNs(stage.now);
    stage.played
}

impl Stage {
    /// A time whose mean is `mean`, now and then much longer.
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

    fn step(&mut self, step: Step) {
        match step {
            Step::Want(thread) => self.want(thread),
            Step::Leave(thread) => self.leave(thread),
            Step::Wake(thread) => self.wake(thread),
            Step::Timeout(thread, wait) => self.time_out(thread, wait),
        }
    }

    fn seq(&mut self, lock: usize) -> Seq {
        self.locks[lock].seq += 1;
        Seq(self.locks[lock].seq)
    }

    fn tell(&mut self, event: Event) {
        self.played.events.push(event);
    }

    fn want(&mut self, thread: usize) {
        let lock = (self.dice.next_u64() % self.play.locks as u64) as usize;
        self.threads[thread].lock = lock;
        self.enter(thread, lock);
    }

    fn enter(&mut self, thread: usize, lock: usize) {
        if self.locks[lock].owner.is_none() {
            return self.take(thread, lock);
        }
        let seq = self.seq(lock);
        let chain = CONTENDER_CHAIN + self.dice.next_u64() % CHAINS;
        self.threads[thread] = Thread {
            lock,
            blocked_since: self.now,
            begin_seq: seq.0,
            chain,
            after_wait: false,
            ..self.threads[thread]
        };
        let owner = self.locks[lock].owner.map_or(ThreadId::NONE, id);
        self.locks[lock].queue.push_back(thread);
        self.tell(Event::MonitorEnter(MonitorEnter {
            time: TimeNs(self.now),
            thread: id(thread),
            lock: lock_id(lock),
            seq,
            chain: ChainId(chain),
            owner,
        }));
    }

    fn take(&mut self, thread: usize, lock: usize) {
        self.locks[lock].owner = Some(thread);
        self.locks[lock].since = self.now;
        let hold = self.around(self.play.hold_ns);
        self.schedule(self.now + hold, Step::Leave(thread));
    }

    fn leave(&mut self, thread: usize) {
        let lock = self.threads[thread].lock;
        self.notify(thread, lock);
        let waits = self.dice.chance(self.play.wait_percent);
        let chain = if waits { WAIT_CHAIN } else { HOLDER_CHAIN } + self.dice.next_u64() % CHAINS;
        if waits {
            let seq = self.seq(lock);
            self.tell(Event::MonitorWait(MonitorWait {
                time: TimeNs(self.now),
                thread: id(thread),
                lock: lock_id(lock),
                seq,
                chain: ChainId(chain),
                timeout: DurationNs::ZERO,
            }));
        }
        let hold = Hold { thread: id(thread), from: self.locks[lock].since, to: self.now, chain: ChainId(chain) };
        self.played.holds[lock].push(hold);
        let missed = self.dice.chance(self.play.missed_percent);
        if !self.locks[lock].queue.is_empty() && !missed {
            let seq = self.seq(lock);
            self.tell(Event::MonitorExit(MonitorExit {
                time: TimeNs(self.now),
                thread: id(thread),
                lock: lock_id(lock),
                seq,
                chain: ChainId(chain),
                cause: if waits { ExitCause::Wait } else { ExitCause::Exit },
                ..MonitorExit::default()
            }));
        }
        self.locks[lock].owner = None;
        if let Some(next) = self.locks[lock].queue.front() {
            let at = self.now + self.play.wake_ns;
            self.schedule(at, Step::Wake(*next));
        }
        if waits {
            self.begin_wait(thread, lock, chain);
        } else {
            let at = self.now + self.around(self.play.think_ns);
            self.schedule(at, Step::Want(thread));
        }
    }

    fn begin_wait(&mut self, thread: usize, lock: usize, chain: u64) {
        let state = &mut self.threads[thread];
        state.chain = chain;
        state.wait_began = self.now;
        state.waits += 1;
        let wait = state.waits;
        self.locks[lock].waiters.push_back(thread);
        let at = self.now + 20 * self.play.hold_ns;
        self.schedule(at, Step::Timeout(thread, wait));
    }

    /// Moves the longest waiter to the queue.
    fn notify(&mut self, thread: usize, lock: usize) {
        let Some(waiter) = self.locks[lock].waiters.pop_front() else { return };
        let seq = self.seq(lock);
        self.tell(Event::MonitorNotify(MonitorNotify {
            time: TimeNs(self.now),
            thread: id(thread),
            waiter: id(waiter),
            lock: lock_id(lock),
            seq,
        }));
        let state = &mut self.threads[waiter];
        state.blocked_since = self.now;
        state.begin_seq = seq.0;
        state.after_wait = true;
        state.waits += 1;
        self.locks[lock].queue.push_back(waiter);
    }

    fn time_out(&mut self, thread: usize, wait: u64) {
        let lock = self.threads[thread].lock;
        if self.threads[thread].waits != wait {
            return;
        }
        self.locks[lock].waiters.retain(|waiter| *waiter != thread);
        self.tell_waited(thread, lock, WaitOutcome::TimedOut);
        self.enter(thread, lock);
    }

    fn tell_waited(&mut self, thread: usize, lock: usize, outcome: WaitOutcome) {
        let seq = self.seq(lock);
        let state = self.threads[thread];
        self.tell(Event::MonitorWaited(MonitorWaited {
            time: TimeNs(self.now),
            start: TimeNs(state.wait_began),
            thread: id(thread),
            lock: lock_id(lock),
            seq,
            chain: ChainId(state.chain),
            outcome,
            ..MonitorWaited::default()
        }));
    }

    fn wake(&mut self, thread: usize) {
        let lock = self.threads[thread].lock;
        if self.locks[lock].owner.is_some() || !self.locks[lock].queue.contains(&thread) {
            return;
        }
        self.locks[lock].queue.retain(|queued| *queued != thread);
        self.acquired += 1;
        let state = self.threads[thread];
        if state.after_wait {
            self.tell_waited(thread, lock, WaitOutcome::Notified);
        }
        let (seq, time, start) = (self.seq(lock), TimeNs(self.now), TimeNs(state.blocked_since));
        let (thread_id, lock_id, chain) = (id(thread), lock_id(lock), ChainId(state.chain));
        self.tell(match state.after_wait {
            true => Event::MonitorReentered(MonitorReentered {
                time,
                start,
                thread: thread_id,
                lock: lock_id,
                start_seq: Seq(state.begin_seq),
                seq,
                chain,
                bound: false,
            }),
            false => Event::MonitorEntered(MonitorEntered {
                time,
                start,
                thread: thread_id,
                lock: lock_id,
                seq,
                chain,
                previous_owner: ThreadId::NONE,
            }),
        });
        self.take(thread, lock);
    }
}

fn id(thread: usize) -> ThreadId {
    ThreadId(thread as u64 + 1)
}

/// The id of the lock with this index.
pub fn lock_id(lock: usize) -> LockId {
    LockId(lock as u64 + 1)
}
