//! The thread that makes one experiment after another. It belongs to no Java
//! thread and calls nothing of the VM.
//!
//! Windows with delays and windows without take turns, so that each experiment
//! has its like right beside it. Between two windows debts are paid, and what is
//! left is forgiven. A window is as long as it takes to see enough visits.

use super::allocation::Allocation;
use super::causal;
use super::pay;
use super::window::{self, InFlight, Stand};
use crate::agent::Agent;
use crate::clock;
use crate::ending::{Deadline, WITHIN};
use crate::masked_signals::MaskedSignals;
use crate::options::Wishes;
use headway_causal::accounting::Account;
use headway_causal::experiment::{Experiment, Target, TargetKind};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Length of the first window, and bounds of later ones.
const WINDOW: Duration = Duration::from_millis(250);
const WINDOWS: (Duration, Duration) = (Duration::from_millis(150), Duration::from_secs(8));
/// A window with fewer visits is too short, with more it may be shorter.
const VISITS: (u64, u64) = (10, 80);
/// Pause between two windows.
const COOL_OFF: Duration = Duration::from_millis(10);
/// Longest time for which debts are waited for.
const PAID_WITHIN: Duration = Duration::from_millis(200);
/// Windows of the warm-up, at least and at most, and how long it lasts at most
/// from the first visit on.
const WARM_UP: (usize, usize) = (4, 16);
const WARM_WITHIN: Duration = Duration::from_secs(5);
/// The program is warm when these many windows differ by no more than this.
const STEADY: (usize, f64) = (3, 0.1);
/// Speedups that are tried by default, in percent.
const SPEEDUPS: [u32; 4] = [25, 50, 75, 100];
/// Candidates that are tried where no target is named.
const CANDIDATES: usize = 8;
/// By how much all threads are slowed in a window that asks whether work arrives at its own
/// pace, in percent, and how often delays are inserted then.
const SLOWED_BY: u32 = 20;
const SLOWED_EVERY: Duration = Duration::from_millis(1);
/// Experiments between two such windows: few at first, so that a short run has some.
const BETWEEN_SLOWED: (usize, usize) = (2, 10);
/// Such windows of which the first ones come often.
const SLOWED_AT_FIRST: usize = 4;

/// The session's end of the thread.
pub struct ExperimentsHandle {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ExperimentsHandle {
    /// Ends the experiment under way; nobody is delayed any more.
    pub fn finish(&mut self, deadline: Deadline) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A panic of it is no reason to lose the recording, nor is one that hangs.
            let _ = deadline.join(thread);
        }
        causal().end_window();
        causal().on.store(false, Ordering::SeqCst);
    }
}

impl Drop for ExperimentsHandle {
    fn drop(&mut self) {
        self.finish(Deadline::within(WITHIN));
    }
}

/// Begins to experiment. `period_ns` is the CPU time between two samples.
///
/// # Errors
/// No thread can be had.
pub fn spawn(agent: &'static Agent, wishes: Wishes, period_ns: u64) -> io::Result<ExperimentsHandle> {
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let _masked = MaskedSignals::all_but_faults();
    let thread = std::thread::Builder::new().name("headway-causal".to_owned()).spawn(move || {
        let _own = agent.own_cost.own_thread();
        let cpus = std::thread::available_parallelism().map_or(0, |cpus| cpus.get() as u32);
        let run = Run {
            agent,
            wishes,
            period_ns,
            cpus,
            stop: stopped,
            window: WINDOW,
            number: 0,
            made: Vec::new(),
            in_flight: InFlight::default(),
            brake: Account::new(),
            slowed: 0,
            until_slowed: BETWEEN_SLOWED.0,
            random: clock::now().0 | 1,
        };
        run.go();
    })?;
    Ok(ExperimentsHandle { stop, thread: Some(thread) })
}

struct Run {
    agent: &'static Agent,
    wishes: Wishes,
    period_ns: u64,
    cpus: u32,
    stop: Arc<AtomicBool>,
    window: Duration,
    number: u64,
    made: Vec<Experiment>,
    in_flight: InFlight,
    /// Is ahead of all threads while they are slowed.
    brake: Account,
    /// Windows so far in which they were.
    slowed: usize,
    /// Experiments until the next one.
    until_slowed: usize,
    random: u64,
}

impl Run {
    fn go(mut self) {
        let causal = causal();
        causal.settle(self.agent);
        causal.on.store(true, Ordering::SeqCst);
        causal.targets.choose_from(&self.wishes);
        let mut targets: Vec<Target> = self.wishes.targets.iter().map(|name| Target::parse(name)).collect();
        if self.wishes.end_to_end {
            return self.run_from_start_to_end(targets.first());
        }
        self.warm_up();
        let are_candidates = targets.is_empty();
        let mut said = false;
        while targets.is_empty() && !self.is_over() {
            let chosen = causal.targets.chosen(CANDIDATES);
            // Said when it is final, and once if it is not.
            if let Some(sentence) = chosen.left_out_sentence().filter(|_| !chosen.targets.is_empty() || !said) {
                self.agent.definitions.degraded("causal", &sentence);
                said = true;
            }
            targets = chosen.targets;
            if targets.is_empty() {
                causal.targets.choose_from(&self.wishes);
                self.window(None, 0);
            }
        }
        let speedups = match self.wishes.speedups.is_empty() {
            true => SPEEDUPS.to_vec(),
            false => self.wishes.speedups.clone(),
        };
        let stop = self.stop.clone();
        let mut allocation = Allocation::new(targets, speedups, are_candidates);
        while !self.is_over() {
            let mut round = allocation.round(&self.made, &self.most_visited());
            self.shuffle(&mut round);
            for (target, speedup) in round.iter().take_while(|_| !stop.load(Ordering::SeqCst)) {
                self.pair(target, *speedup);
                self.slow_all_now_and_then();
            }
        }
    }

    /// Whether work arrives at its own pace, only slower threads can show. Latencies need
    /// no such thing: they become longer then, too.
    fn slow_all_now_and_then(&mut self) {
        self.until_slowed = self.until_slowed.saturating_sub(1);
        if self.until_slowed > 0 || !self.wishes.latency.is_empty() {
            return;
        }
        self.pair(&Target::everything(), SLOWED_BY);
        self.slowed += 1;
        self.until_slowed = if self.slowed < SLOWED_AT_FIRST { BETWEEN_SLOWED.0 } else { BETWEEN_SLOWED.1 };
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn pair(&mut self, target: &Target, speedup: u32) {
        self.window(None, 0);
        if !self.is_over() {
            self.window(Some(target), speedup);
        }
    }

    /// Until the program is as fast in one window as in the next.
    fn warm_up(&mut self) {
        let mut rates: Vec<f64> = Vec::new();
        let mut until = Instant::now() + WARM_WITHIN;
        while !self.is_over() && rates.len() < WARM_UP.1 {
            let Some(window) = self.window(None, 0) else { return };
            let visits = window.visits.values().copied().max().unwrap_or(0);
            if visits == 0 {
                // Somebody has to visit first, however long that takes.
                rates.clear();
                until = Instant::now() + WARM_WITHIN;
                continue;
            }
            if rates.is_empty() {
                // What ran before is how the program starts.
                causal().targets.choose_from(&self.wishes);
            }
            rates.push(visits as f64 / window.duration_ns as f64);
            let last = rates.get(rates.len().saturating_sub(STEADY.0)..).unwrap_or_default();
            let (low, high) =
                last.iter().fold((f64::MAX, 0.0), |(low, high): (f64, f64), rate| (low.min(*rate), high.max(*rate)));
            let is_steady = rates.len() >= WARM_UP.0 && high - low <= STEADY.1 * high;
            if is_steady || Instant::now() >= until {
                return;
            }
        }
    }

    fn most_visited(&self) -> String {
        let points = causal().points.all();
        let most = points.into_iter().max_by_key(|(_, visits)| *visits);
        most.map_or(String::new(), |(name, _)| name.to_string())
    }

    /// The whole run is one window.
    fn run_from_start_to_end(&mut self, target: Option<&Target>) {
        let speedup = self.wishes.speedups.first().copied().unwrap_or(0);
        let target = target.filter(|_| speedup > 0);
        let causal = causal();
        causal.aim(target.cloned());
        causal.settle(self.agent);
        let before = Stand::now(self.agent, &self.wishes);
        causal.begin_window(self.period_ns, if target.is_some() { speedup } else { 0 });
        while self.wait(Duration::from_secs(1)) {}
        causal.end_window();
        let window = self.measured(target, speedup, &before, &Stand::now(self.agent, &self.wishes));
        window::tell(self.agent, &window::as_a_whole(window), before.time);
    }

    /// Waits; false if the run is over.
    fn wait(&self, time: Duration) -> bool {
        self.wait_and(time, &mut InFlight::default())
    }

    /// Waits while all threads are slowed by a part of the time, as if a target that runs
    /// all the time and on no thread of theirs were faster by it.
    fn wait_and_slow(&self, time: Duration, percent: u32) -> bool {
        let causal = causal();
        self.brake.settle(&causal.ledger);
        let (begun, mut slowed) = (Instant::now(), Duration::ZERO);
        while begun.elapsed() < time {
            if self.is_over() {
                return false;
            }
            std::thread::park_timeout(SLOWED_EVERY);
            // A busy machine wakes this thread late: the last delay is for all the time so far.
            let due = begun.elapsed() * percent / 100;
            self.brake.hit(&causal.ledger, (due - slowed).as_nanos() as u64);
            slowed = due;
            pay::remind_all(causal, self.agent);
        }
        true
    }

    /// Waits, and looks meanwhile how much work is under way.
    fn wait_and(&self, time: Duration, in_flight: &mut InFlight) -> bool {
        let until = Instant::now() + time;
        while !self.is_over() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            let step = if self.wishes.latency.is_empty() { left } else { left.min(window::LOOK_EVERY) };
            std::thread::park_timeout(step);
            in_flight.look(&self.wishes);
        }
        false
    }

    fn measured(&self, target: Option<&Target>, speedup: u32, before: &Stand, after: &Stand) -> Experiment {
        Experiment {
            number: self.number,
            target: target.cloned().unwrap_or_default(),
            speedup: if target.is_some() { f64::from(speedup) / 100.0 } else { 0.0 },
            period_ns: self.period_ns,
            cpus: self.cpus,
            ..after.since(before)
        }
    }

    /// One window; `None` if it was cut short.
    fn window(&mut self, target: Option<&Target>, speedup: u32) -> Option<Experiment> {
        let causal = causal();
        causal.aim(target.cloned());
        causal.watch_streams(self.agent);
        causal.settle(self.agent);
        let mut in_flight = std::mem::take(&mut self.in_flight);
        let before = Stand::now(self.agent, &self.wishes);
        in_flight.begin(&self.wishes);
        causal.begin_window(self.period_ns, speedup);
        let is_whole = match target.is_some_and(|target| target.kind == TargetKind::Everything) {
            true => self.wait_and_slow(self.window, speedup),
            false => self.wait_and(self.window, &mut in_flight),
        };
        causal.end_window();
        let after = Stand::now(self.agent, &self.wishes);
        let mut window = self.measured(target, speedup, &before, &after);
        in_flight.add_to(&mut window, &self.wishes);
        self.in_flight = in_flight;
        self.cool_off();
        if !is_whole {
            return None;
        }
        self.adapt(&window);
        window::tell(self.agent, &window, before.time);
        self.made.push(window.clone());
        self.number += 1;
        Some(window)
    }

    /// Debts are paid in the pause, as far as threads run.
    fn cool_off(&self) {
        let causal = causal();
        let until = Instant::now() + PAID_WITHIN;
        while self.wait(COOL_OFF) && pay::is_owed(causal, self.agent) && Instant::now() < until {}
        causal.settle(self.agent);
    }

    /// The next window's length.
    fn adapt(&mut self, window: &Experiment) {
        let Some(visits) = window.visits.values().copied().max() else { return };
        if visits < VISITS.0 && visits > 0 {
            self.window = (self.window * 2).min(WINDOWS.1);
        } else if visits > VISITS.1 {
            self.window = (self.window / 2).max(WINDOWS.0);
        }
    }

    fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            all.swap(last, (self.random % (last as u64 + 1)) as usize);
        }
    }
}
