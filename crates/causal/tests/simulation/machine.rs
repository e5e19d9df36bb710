//! Threads, locks, barriers and queues in virtual time, with more CPUs than
//! threads. Every thread repeats its program for ever. Sampling, delays and
//! credit are what the agent does, by the same accounts.

use headway_causal::accounting::{Account, Ledger, SLICE_NS};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// CPU time between two samples of a thread.
pub const PERIOD: u64 = 1_000_000;

/// One step of a thread.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// Computes in a line, for so many us.
    Run(&'static str, u64),
    /// Sleeps in a line, for so many us.
    Sleep(&'static str, u64),
    /// Sleeps until the next multiple of so many us.
    Tick(u64),
    Acquire(usize),
    Release(usize),
    /// Waits for so many threads to come here.
    Barrier(usize, usize),
    /// Puts into a queue with room for so many.
    Put(usize, usize),
    Take(usize),
    Visit,
}

/// What a thread that was blocked gets.
#[derive(Clone, Copy, PartialEq)]
pub enum Credit {
    /// What the accounts do.
    Clamped,
    /// Delays inserted meanwhile, and not its own debt (coz).
    Inserted,
    /// Nothing.
    Nothing,
}

#[derive(Clone, Copy)]
pub struct Rules {
    pub batch: u32,
    pub credit: Credit,
    /// How long after a sample it is looked at, in us.
    pub lag: u64,
    /// How much longer than asked a thread is delayed at most, in us: it has to wait for
    /// a CPU.
    pub oversleeps: u64,
    /// A thread wakes others only when its own samples were looked at.
    pub own_samples_first: bool,
    /// The excess of a thread's delay counts before its hits.
    pub excess_first: bool,
}

pub const OURS: Rules =
    Rules { batch: 1, credit: Credit::Clamped, lag: 0, oversleeps: 0, own_samples_first: true, excess_first: true };

/// What a window showed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    pub duration: u64,
    pub delay: u64,
    pub visits: u64,
    pub samples: u64,
    pub selected: u64,
}

struct Thread {
    program: Vec<Op>,
    at: usize,
    /// Of the step under way, if it began.
    left: Option<u64>,
    to_sample: u64,
    account: Account,
    samples: u32,
    hits: u32,
    pieces: u64,
    owes: bool,
    sleeping: Option<u64>,
    asleep: bool,
    blocked: bool,
    blocked_total: u64,
}

#[derive(Default)]
struct Queue {
    items: usize,
    takers: VecDeque<usize>,
    putters: VecDeque<usize>,
}

pub struct Machine {
    now: u64,
    events: BinaryHeap<Reverse<(u64, u64, usize)>>,
    order: u64,
    threads: Vec<Thread>,
    ledger: Ledger,
    rules: Rules,
    target: &'static str,
    speedup: f64,
    locks: Vec<(bool, VecDeque<usize>)>,
    barriers: Vec<Vec<usize>>,
    queues: Vec<Queue>,
    seen: Seen,
    /// Whose samples in the target are not yet looked at, and when they will be.
    late: VecDeque<(usize, u64)>,
}

/// Stands for the sampler among the threads' numbers.
const SAMPLER: usize = usize::MAX;

/// What becomes of a thread's turn.
enum Turn {
    Next,
    At(u64),
    Blocked,
}

impl Machine {
    pub fn new(programs: &[Vec<Op>], rules: Rules, target: &'static str, speedup: f64) -> Machine {
        let thread = |(at, program): (usize, &Vec<Op>)| Thread {
            program: program.clone(),
            at: 0,
            left: None,
            // Not all at once.
            to_sample: PERIOD * (at as u64 * 37 % 100 + 1) / 101,
            account: Account::new(),
            samples: 0,
            hits: 0,
            pieces: 0,
            owes: false,
            sleeping: None,
            asleep: false,
            blocked: false,
            blocked_total: 0,
        };
        let mut machine = Machine {
            now: 0,
            events: BinaryHeap::new(),
            order: 0,
            threads: programs.iter().enumerate().map(thread).collect(),
            ledger: Ledger::new(),
            rules,
            target,
            speedup,
            locks: vec![(false, VecDeque::new()); 4],
            barriers: vec![Vec::new(); 4],
            queues: (0..8).map(|_| Queue::default()).collect(),
            seen: Seen::default(),
            late: VecDeque::new(),
        };
        (0..programs.len()).for_each(|thread| machine.at(0, thread));
        machine
    }

    fn at(&mut self, time: u64, thread: usize) {
        self.order += 1;
        self.events.push(Reverse((time, self.order, thread)));
    }

    /// Goes on for so many ms, and gives what it saw.
    pub fn run(&mut self, ms: u64) -> Seen {
        let (start, end) = (self.now, self.now + ms * 1_000_000);
        let delay = self.ledger.total();
        self.seen = Seen::default();
        while let Some(Reverse((time, ..))) = self.events.peek() {
            if *time > end {
                break;
            }
            let Some(Reverse((time, _, thread))) = self.events.pop() else { break };
            self.now = time;
            match thread {
                SAMPLER => self.look(),
                thread => self.turn(thread),
            }
        }
        self.now = end;
        Seen { duration: end - start, delay: self.ledger.total() - delay, ..self.seen }
    }

    fn turn(&mut self, thread: usize) {
        loop {
            match self.step(thread) {
                Turn::Next => {}
                Turn::At(time) => return self.at(time, thread),
                Turn::Blocked => return,
            }
        }
    }

    fn step(&mut self, id: usize) -> Turn {
        let thread = &mut self.threads[id];
        if let Some(slept) = thread.sleeping.take() {
            thread.account.slept(&self.ledger, slept);
        }
        if thread.owes {
            return self.pay(id);
        }
        let op = thread.program[thread.at];
        match op {
            Op::Run(line, us) => self.compute(id, line, us * 1_000),
            Op::Sleep(line, us) => self.sleep(id, line, us * 1_000),
            Op::Tick(us) => self.tick(id, us * 1_000),
            Op::Visit => {
                self.seen.visits += 1;
                self.done(id)
            }
            Op::Acquire(lock) => self.acquire(id, lock),
            _ if self.rules.own_samples_first && self.looked_at(id) > self.now && self.wakes(id, op) => {
                Turn::At(self.looked_at(id))
            }
            _ if self.threads[id].account.debt(&self.ledger) > 0 && self.wakes(id, op) => self.pay(id),
            Op::Release(lock) => self.release(id, lock),
            Op::Barrier(barrier, threads) => self.meet(id, barrier, threads),
            Op::Put(queue, room) => self.put(id, queue, room),
            Op::Take(queue) => self.take(id, queue),
        }
    }

    /// True if the step may wake another thread: then debts are paid before.
    fn wakes(&self, id: usize, op: Op) -> bool {
        match op {
            Op::Barrier(barrier, threads) => !self.threads[id].blocked && self.barriers[barrier].len() + 1 == threads,
            Op::Put(..) | Op::Take(_) => !self.threads[id].blocked,
            _ => true,
        }
    }

    fn pay(&mut self, id: usize) -> Turn {
        let thread = &mut self.threads[id];
        let debt = thread.account.debt(&self.ledger);
        thread.owes = debt > 0;
        if debt == 0 {
            return Turn::Next;
        }
        // More and less, in turn.
        thread.pieces += 1;
        let slice = debt.min(SLICE_NS) + self.rules.oversleeps * 1_000 * (thread.pieces % 5) / 4;
        thread.sleeping = Some(slice);
        Turn::At(self.now + slice)
    }

    fn done(&mut self, id: usize) -> Turn {
        let thread = &mut self.threads[id];
        thread.at = (thread.at + 1) % thread.program.len();
        thread.left = None;
        Turn::Next
    }

    fn compute(&mut self, id: usize, line: &'static str, ns: u64) -> Turn {
        let thread = &mut self.threads[id];
        let Some(left) = thread.left else {
            let chunk = ns.min(thread.to_sample);
            thread.left = Some(ns - chunk);
            thread.to_sample -= chunk;
            return Turn::At(self.now + chunk);
        };
        if thread.to_sample == 0 {
            thread.to_sample = PERIOD;
            self.sample(id, line);
            return Turn::Next;
        }
        if left == 0 {
            return self.done(id);
        }
        let chunk = left.min(thread.to_sample);
        thread.left = Some(left - chunk);
        thread.to_sample -= chunk;
        Turn::At(self.now + chunk)
    }

    fn sample(&mut self, id: usize, line: &'static str) {
        let thread = &mut self.threads[id];
        thread.samples += 1;
        thread.hits += u32::from(line == self.target);
        self.seen.samples += 1;
        self.seen.selected += u64::from(line == self.target);
        if thread.samples == self.rules.batch {
            let hits = std::mem::take(&mut thread.hits);
            (thread.samples, thread.owes) = (0, true);
            for _ in 0..hits {
                let due = self.now + self.rules.lag * 1_000;
                self.late.push_back((id, due));
                match self.rules.lag {
                    0 => self.look(),
                    _ => self.at(due, SAMPLER),
                }
            }
        }
    }

    /// The oldest sample is looked at.
    fn look(&mut self) {
        let Some((id, _)) = self.late.pop_front() else { return };
        let (account, delay) = (&self.threads[id].account, (self.speedup * PERIOD as f64) as u64);
        match self.rules.excess_first {
            true => account.hit(&self.ledger, delay),
            false => account.hit_alone(&self.ledger, delay),
        }
    }

    /// When all samples of a thread will have been looked at.
    fn looked_at(&self, id: usize) -> u64 {
        self.late.iter().filter(|(late, _)| *late == id).map(|(_, due)| *due).max().unwrap_or(0)
    }

    fn sleep(&mut self, id: usize, line: &'static str, ns: u64) -> Turn {
        if !std::mem::replace(&mut self.threads[id].asleep, true) {
            return Turn::At(self.now + ns);
        }
        self.threads[id].asleep = false;
        self.done(id);
        let thread = &mut self.threads[id];
        if line == self.target {
            thread.account.hit(&self.ledger, (self.speedup * ns as f64) as u64);
        }
        thread.owes = true;
        Turn::Next
    }

    fn tick(&mut self, id: usize, ns: u64) -> Turn {
        if !std::mem::replace(&mut self.threads[id].asleep, true) {
            return Turn::At((self.now / ns + 1) * ns);
        }
        self.threads[id].asleep = false;
        self.threads[id].owes = true;
        self.done(id)
    }

    fn block(&mut self, id: usize) -> Turn {
        let thread = &mut self.threads[id];
        thread.blocked = true;
        thread.blocked_total = self.ledger.total();
        thread.account.block(&self.ledger, self.now);
        Turn::Blocked
    }

    /// The blocked step is over for this thread.
    fn wake(&mut self, id: usize) {
        let thread = &mut self.threads[id];
        thread.blocked = false;
        match self.rules.credit {
            Credit::Clamped => thread.account.woken(&self.ledger, self.now),
            Credit::Inserted => {
                thread.account.returned();
                thread.account.slept(&self.ledger, self.ledger.total() - thread.blocked_total);
            }
            Credit::Nothing => thread.account.returned(),
        }
        self.done(id);
        self.at(self.now, id);
    }

    fn acquire(&mut self, id: usize, lock: usize) -> Turn {
        let (held, waiting) = &mut self.locks[lock];
        if std::mem::replace(held, true) {
            waiting.push_back(id);
            return self.block(id);
        }
        self.done(id)
    }

    fn release(&mut self, id: usize, lock: usize) -> Turn {
        let (held, waiting) = &mut self.locks[lock];
        match waiting.pop_front() {
            Some(next) => self.wake(next),
            None => *held = false,
        }
        self.done(id)
    }

    fn meet(&mut self, id: usize, barrier: usize, threads: usize) -> Turn {
        if self.barriers[barrier].len() + 1 < threads {
            self.barriers[barrier].push(id);
            return self.block(id);
        }
        for other in std::mem::take(&mut self.barriers[barrier]) {
            self.wake(other);
        }
        self.done(id)
    }

    fn put(&mut self, id: usize, queue: usize, room: usize) -> Turn {
        let (items, taker) = (self.queues[queue].items, self.queues[queue].takers.pop_front());
        if let Some(taker) = taker {
            self.wake(taker);
            return self.done(id);
        }
        if items == room {
            self.queues[queue].putters.push_back(id);
            return self.block(id);
        }
        self.queues[queue].items += 1;
        self.done(id)
    }

    fn take(&mut self, id: usize, queue: usize) -> Turn {
        if self.queues[queue].items == 0 {
            self.queues[queue].takers.push_back(id);
            return self.block(id);
        }
        match self.queues[queue].putters.pop_front() {
            Some(putter) => self.wake(putter),
            None => self.queues[queue].items -= 1,
        }
        self.done(id)
    }
}

/// What a speedup of a line gains, by these rules.
pub fn gain_by(rules: Rules, programs: &[Vec<Op>], line: &'static str, speedup: f64) -> f64 {
    let period = |speedup| {
        let mut machine = Machine::new(programs, rules, line, speedup);
        machine.run(500);
        let seen = machine.run(30_000);
        (seen.duration - seen.delay) as f64 / seen.visits as f64
    };
    1.0 - period(speedup) / period(0.0)
}

/// What a speedup of a line gains.
pub fn gain(programs: &[Vec<Op>], line: &'static str, speedup: f64) -> f64 {
    gain_by(OURS, programs, line, speedup)
}

/// Speeds a line up by several amounts and compares with what is known, within
/// a point.
pub fn check(programs: &[Vec<Op>], line: &'static str, truth: impl Fn(f64) -> f64) {
    for speedup in [0.1, 0.25, 0.5, 0.75, 1.0] {
        let (found, truth) = (gain(programs, line, speedup), truth(speedup));
        assert!((found - truth).abs() <= 0.01, "{line} sped up by {speedup}: {found:.4} instead of {truth:.4}");
    }
}
