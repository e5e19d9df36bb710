//! The governor, on loads that are made up and a clock that is counted.

use super::*;
use headway_model::random::Random;
use std::ops::Range;

/// A second of a process that uses one CPU, whose locks are used so often that recording
/// all of it costs `exact` of that, and sampling with a window of 1 ms a fifth of that; counting
/// alone costs a twentieth, and a tenth of that where parks are thinned out.
fn second(exact: f64, window_ns: u64, thins: bool) -> Interval {
    let counting = if thins { 0.005 * exact } else { 0.05 * exact };
    let share = match window_ns {
        0 => exact,
        window => counting + 0.15 * exact * 1e6 / window as f64,
    };
    Interval {
        length: 1e9,
        process: 1e9,
        own: share * 1e9,
        bytes: share * 1e8,
        calls: exact * 1e6,
        ..Interval::default()
    }
}

fn governor(budget: f64) -> Governor {
    of(Bounds { budget: Some(budget), max_rate: None }, None)
}

fn of(bounds: Bounds, sampling_window_ns: Option<u64>) -> Governor {
    let max_rate = bounds.max_rate.map(|rate| rate as u64);
    let options = Options { budget: bounds.budget, max_rate, sampling_window_ns, ..Options::default() };
    Governor { can_thin: true, ..Governor::new(&options) }
}

/// Lengths of windows and what was paid, second by second.
fn play(governor: &mut Governor, loads: impl IntoIterator<Item = f64>) -> Vec<(u64, f64)> {
    let mut seconds = Vec::new();
    for exact in loads {
        let interval = second(exact, governor.window_ns, governor.thins);
        seconds.push((governor.window_ns, interval.own / 1e9));
        governor.decide(interval, false);
    }
    seconds
}

#[test]
fn what_fits_is_recorded_whole() {
    let mut governor = governor(0.01);
    assert!(play(&mut governor, [0.0, 0.002, 0.009, 0.009, 0.0]).iter().all(|(window, _)| *window == 0));
    let mut exact = of(Bounds::default(), None);
    assert!(play(&mut exact, [0.5; 20]).iter().all(|(window, _)| *window == 0));
}

#[test]
fn windows_have_bounds_and_what_cannot_be_kept_is_said_once() {
    for can_thin in [true, false] {
        let mut governor = Governor { can_thin, ..governor(0.001) };
        let seconds = play(&mut governor, [0.9; 30]);
        assert_eq!((seconds.last().unwrap().0, governor.thins), (WINDOWS_NS.1, can_thin));
        let said = governor.complains(DurationNs(30_000_000_000)).map(str::to_owned).expect("it is exceeded");
        assert!(said.starts_with("exceeded: from 27.0 s to 30.0 s, Headway took "), "{said}");
        assert!(
            said.contains(
                " of one CPU), although it sampled as rarely as it can. To record less: -e monitor,steal, or"
            ),
            "{said}"
        );
        assert_eq!(governor.complains(DurationNs(31_000_000_000)), None);
    }
}

#[test]
fn where_counting_costs_too_much_parks_are_thinned_out_until_it_fits_again() {
    let mut governor = governor(0.01);
    // Counting takes 4.5 % of a CPU.
    let seconds = play(&mut governor, [0.9; 30]);
    assert!(governor.thins && governor.complains(DurationNs::ZERO).is_none());
    let settled = seconds.iter().position(|(_, cost)| *cost < 0.01).unwrap();
    assert!(settled <= 5, "{seconds:?}");
    assert!(seconds[settled..].iter().all(|(window, cost)| *cost < 0.01 && *window >= THINNED_NS), "{seconds:?}");
    // It never tries in between what it knows to be too much.
    for _ in 0..300 {
        play(&mut governor, [0.9]);
        assert!(governor.thins);
    }
    // Counting would take 0.3 %, recording everything 6 %.
    play(&mut governor, [0.06; 15]);
    assert!(!governor.thins && governor.window_ns > 0);
    play(&mut governor, [0.001; 40]);
    assert_eq!((governor.thins, governor.window_ns), (false, 0));
}

#[test]
fn where_each_park_is_followed_or_none_is_recorded_none_is_thinned_out() {
    let can_thin = |event: &str| {
        let events = vec![event.to_owned()];
        Governor::new(&Options { thin_parks: true, sampling_window_ns: Some(1), events, ..Options::default() }).thins
    };
    assert_eq!(["causal", "mounts", "monitor", "park"].map(can_thin), [false, false, false, true]);
    assert!(governor(0.01).can_thin);
}

/// Thinning out parks does not make the file smaller.
#[test]
fn a_rate_that_cannot_be_kept_is_said_and_is_no_alarm_at_the_longest_window() {
    let mut governor = of(Bounds { budget: None, max_rate: Some(200.0) }, Some(WINDOWS_NS.1));
    let second = Interval { length: 1e9, process: 1e9, own: 1e6, bytes: 30_000.0, calls: 1e5, ..Interval::default() };
    for _ in 0..3 {
        governor.decide(second, false);
    }
    assert!(!governor.thins && !governor.is_alarming(second, second));
    assert_eq!(
        governor.complains(DurationNs(3_000_000_000)),
        Some(
            "exceeded: from 0 ns to 3.00 s, Headway wrote 29.3 KB a second, although it sampled as rarely as it can. To record \
             less: -e monitor,steal, or only sums: -e pressure. To allow this: a higher --max-rate"
        )
    );
}

#[test]
fn what_to_record_instead_fits_what_is_recorded() {
    let less = |events: &[&str]| {
        let events = events.iter().map(|event| (*event).to_owned()).collect();
        to_record_less(&Options { events, ..Options::default() })
    };
    assert_eq!(less(&[]), "To record less: -e monitor,steal, or only sums: -e pressure. ");
    assert_eq!(less(&["monitor", "cpu"]), "To record less: -e monitor, or only sums: -e pressure. ");
    assert_eq!(less(&["monitor", "steal"]), "To record only sums: -e pressure. ");
    assert_eq!(less(&["park"]), "To record only sums: -e pressure. ");
    assert_eq!([less(&["pressure"]), less(&["causal"])], ["", ""]);
}

#[test]
fn parks_are_thinned_out_where_the_files_rate_is_exceeded_more_than_the_budget() {
    let mut governor = of(Bounds { budget: Some(0.01), max_rate: Some(200.0) }, Some(WINDOWS_NS.1));
    let second = Interval { length: 1e9, process: 1e9, own: 3e7, bytes: 30_000.0, calls: 1e6, ..Interval::default() };
    governor.decide(second, false);
    assert!(governor.thins);
}

#[test]
fn a_process_that_uses_less_than_a_cpu_has_the_budget_of_one() {
    let calm = |own| Interval { length: 1e9, process: 5e6, own, calls: 100.0, ..Interval::default() };
    let windows = |own| {
        let mut governor = governor(0.01);
        for _ in 0..20 {
            governor.decide(calm(own), false);
        }
        governor.window_ns
    };
    assert_eq!(windows(9e6), 0);
    assert!(windows(11e6) > 0);
}

/// A process that uses one CPU, for so many seconds, as the draining thread looks at it: each 10 ms for an
/// alarm, once a second to decide. Records cost so much a second, and looks at owners so much if
/// they are not fewer. Gives the window and by how many times fewer looks there are.
fn steady(governor: &mut Governor, seconds: usize, records: f64, looks: f64) -> (u64, u64) {
    let mut since = Interval::default();
    let mut recent: VecDeque<Interval> = VecDeque::new();
    for tick in 1..=seconds * 100 {
        let fewer = governor.fewer_looks();
        let own = (records + looks / fewer as f64) / 100.0;
        let spent = Interval { length: TICK, process: TICK, own, calls: records / 1e5, ..Interval::default() };
        since = since.and(&spent);
        recent.push_back(spent);
        if recent.len() > 100 {
            recent.pop_front();
        }
        let is_alarm = !governor.held.is_empty() && is_alarming(governor, &recent);
        if is_alarm || tick % 100 == 0 {
            let fewer = governor.fewer_looks();
            let changes = governor.decide(std::mem::take(&mut since), is_alarm).is_some();
            if changes || fewer != governor.fewer_looks() {
                recent.clear();
            }
        }
    }
    (governor.window_ns, governor.fewer_looks())
}

#[test]
fn owners_are_looked_at_less_often_before_anything_is_sampled() {
    for over in [1.1, 1.3, 1.8] {
        let mut governor = governor(0.01);
        let (records, looks) = (over * 2e6, over * 8e6);
        assert_eq!(steady(&mut governor, 1, records, looks), (0, 1), "{over}: one second is not sure yet");
        assert_eq!(steady(&mut governor, 30, records, looks), (0, SLOWER), "{over}");
        assert_eq!(steady(&mut governor, 20, 1e6, 1e6), (0, 1), "{over}: there is room again");
        let (window, fewer) = steady(&mut governor, 10, 50e6, looks);
        assert!(window > FIRST_NS && fewer > 1, "{over}: {window} {fewer}");
    }
}

/// Looks cost four times as much where they are as frequent again.
#[test]
fn looks_do_not_become_frequent_again_where_that_would_be_too_much() {
    let mut governor = governor(0.01);
    steady(&mut governor, 5, 0.0, 11e6);
    for second in 0..60 {
        assert_eq!(steady(&mut governor, 1, 0.0, 11e6), (0, SLOWER), "second {second}");
    }
}

/// Two thousand threads that idle: beginning the recording costs more than two seconds' allowance.
#[test]
fn what_the_beginning_costs_is_no_reason_to_sample() {
    let mut governor = governor(0.01);
    let second = |own| Interval { length: 1e9, process: 1e9, own, calls: 100.0, ..Interval::default() };
    assert_eq!(governor.decide(second(80e6), false), None);
    for _ in 0..20 {
        governor.decide(second(2e6), false);
    }
    assert_eq!(governor.window_ns, 0);
}

/// A second's allowance, twice, within the first 50 ms: by hooks it is an alarm, by the agent's own
/// threads, which name classes and threads then, it is none. After the first second either is.
#[test]
fn what_hooks_cost_is_an_alarm_from_the_beginning() {
    let at = |ms: u64, own_threads: u64, hooks: u64| -> At {
        let spent = Spent::made_up(DurationNs(ms * 1_000_000), DurationNs(own_threads), DurationNs(hooks));
        (spent, 0, TimeNs(ms * 1_000_000))
    };
    let mut governor = governor(0.01);
    let is_alarm = |governor: &Governor, latest: At| {
        let recent = between(governor.load_that_goes_on(at(0, 0, 0)), governor.load_that_goes_on(latest));
        governor.is_alarming(recent, recent)
    };
    assert!(is_alarm(&governor, at(50, 0, 25_000_000)));
    assert!(!is_alarm(&governor, at(50, 25_000_000, 0)));
    // An alarm does not end the first second.
    governor.decide(Interval { length: 5e7, process: 5e7, own: 2.5e7, calls: 1e5, ..Interval::default() }, true);
    assert!(governor.window_ns > 0 && !is_alarm(&governor, at(50, 25_000_000, 0)));
    governor.has_begun = true;
    assert!(is_alarm(&governor, at(50, 25_000_000, 0)));
}

/// A megabyte a second may be written, and a tenth of a CPU would write ten.
#[test]
fn a_file_that_grows_too_fast_is_sampled_and_stays_below_its_rate_over_ten_seconds() {
    let bounds = Bounds { budget: Some(0.5), max_rate: Some(1e6) };
    let mut governor = of(bounds, None);
    play(&mut governor, [0.001; 10]);
    assert_eq!(governor.window_ns, 0);
    let seconds = play(&mut governor, [0.1; 60]);
    assert!(seconds[1].0 > 0 && governor.bound == SamplingBound::FileRate, "{seconds:?}");
    // The first second was over before it was seen: it counts in the ten that contain it.
    let rates: Vec<f64> =
        seconds[5..].windows(10).map(|ten| ten.iter().map(|(_, own)| own * 1e8 / 10.0).sum()).collect();
    assert!(rates.iter().all(|bytes| *bytes <= 1e6), "{rates:?}");
    let again = play(&mut governor, [0.001; 40]);
    assert_eq!(again.last().unwrap().0, 0, "{again:?}");
}

#[test]
fn the_bound_that_is_exceeded_more_decides() {
    for (budget, max_rate, bound) in [(0.01, 5e6, SamplingBound::Cpu), (0.05, 1e6, SamplingBound::FileRate)] {
        let mut governor = of(Bounds { budget: Some(budget), max_rate: Some(max_rate) }, None);
        play(&mut governor, [0.2; 3]);
        assert_eq!(governor.bound, bound);
    }
}

/// A look at the budget every 10 ms, as the draining thread takes it, for so many seconds of a load,
/// a function of the moment in seconds. What hooks cost, half of it all, is known as well as one
/// timed call in 1,024 says.
struct Simulation {
    governor: Governor,
    random: Random,
    tick: u64,
    /// Ticks since the last decision, and those of the last second.
    since: Vec<Interval>,
    recent: VecDeque<Interval>,
    /// What was paid in each tick, and the window that was chosen then.
    paid: Vec<f64>,
    windows: Vec<u64>,
}

/// Of the ticks of a second.
fn is_alarming(governor: &Governor, recent: &VecDeque<Interval>) -> bool {
    governor.is_alarming(together(recent), together(recent.iter().rev().take(50)))
}

/// Length of a tick, and ticks between a decision and its effect.
const TICK: f64 = 1e7;
const DELAY: usize = 2;
/// Ticks of ten seconds.
const HELD: usize = 1_000;

impl Simulation {
    fn new(seed: u64) -> Simulation {
        let random = Random::new(seed);
        Simulation {
            governor: governor(0.01),
            random,
            tick: 0,
            since: Vec::new(),
            recent: VecDeque::new(),
            paid: Vec::new(),
            windows: Vec::new(),
        }
    }

    fn run(&mut self, seconds: u64, load: impl Fn(f64) -> f64) {
        for _ in 0..seconds * 100 {
            let window = self.windows.iter().rev().nth(DELAY).copied().unwrap_or(0);
            let tick = self.measured(second(load(self.tick as f64 / 100.0), window, self.governor.thins));
            self.since.push(tick);
            self.recent.push_back(tick);
            if self.recent.len() > 100 {
                self.recent.pop_front();
            }
            let is_alarm = is_alarming(&self.governor, &self.recent);
            if is_alarm || self.since.len() == 100 {
                let changes = self.governor.decide(together(&self.since), is_alarm).is_some();
                self.since.clear();
                if changes {
                    self.recent.clear();
                }
            }
            self.windows.push(self.governor.window_ns);
            self.tick += 1;
        }
    }

    /// A tick of such a second, as it is measured.
    fn measured(&mut self, second: Interval) -> Interval {
        let part = TICK / 1e9;
        self.paid.push(second.own * part);
        let timed = second.calls * part / ONE_IN as f64;
        // Of each timed call its cost is known, of the others that there were 1,024 of them.
        let deviation = 0.5 * second.own * part / timed.sqrt().max(0.5);
        Interval {
            length: TICK,
            process: second.process * part,
            own: second.own * part + (self.random.uniform() * 2.0 - 1.0) * deviation,
            error: 2.0 * deviation,
            bytes: second.bytes * part,
            calls: second.calls * part,
            ..second
        }
    }

    /// The part of the process's CPU time that was paid over these ticks.
    fn share(&self, ticks: Range<usize>) -> f64 {
        let count = ticks.len() as f64;
        self.paid[ticks].iter().sum::<f64>() / (count * TICK)
    }

    /// The most that was paid in any ten seconds.
    fn most(&self) -> f64 {
        (0..=self.paid.len() - HELD).map(|from| self.share(from..from + HELD)).fold(0.0, f64::max)
    }

    /// How often windows became longer and then shorter again, or the other way round.
    fn turns(&self, ticks: Range<usize>) -> usize {
        let steps: Vec<bool> =
            self.windows[ticks].windows(2).filter(|pair| pair[0] != pair[1]).map(|pair| pair[1] > pair[0]).collect();
        steps.windows(2).filter(|pair| pair[0] != pair[1]).count()
    }
}

/// From a thousandth of what overruns the budget ten times to that, and back.
#[test]
fn a_load_that_changes_a_thousandfold_settles_within_two_seconds_and_no_ten_seconds_exceed_the_budget() {
    for seed in 1..=50 {
        let mut simulation = Simulation::new(seed);
        simulation.run(20, |_| 0.0001);
        simulation.run(40, |_| 0.1);
        simulation.run(40, |_| 0.0001);
        assert!(simulation.most() <= 0.01, "seed {seed}: {:.4} of ten seconds", simulation.most());
        // Two seconds after the load grew: within the budget from one second to the next.
        for second in 22..60 {
            let share = simulation.share(second * 100..(second + 1) * 100);
            assert!(share <= 0.0105, "seed {seed}: {share:.4} in second {second}");
        }
        assert!(simulation.turns(2_200..6_000) <= 1, "seed {seed}: {:?}", simulation.windows);
        assert_eq!(simulation.windows.last(), Some(&0), "seed {seed}: everything is recorded again");
        assert!(simulation.turns(6_000..10_000) <= 1, "seed {seed}");
    }
}

#[test]
fn a_load_that_comes_and_goes_every_few_seconds_stays_within_the_budget() {
    for (period, seed) in [(2.0, 1), (5.0, 2), (7.0, 3), (11.0, 4), (30.0, 5)] {
        let mut simulation = Simulation::new(seed);
        simulation.run(120, |now| if (now / period) as u64 % 2 == 0 { 0.0001 } else { 0.1 });
        assert!(simulation.most() <= 0.01, "every {period} s: {:.4} of ten seconds", simulation.most());
    }
}

#[test]
fn a_burst_is_no_alarm_where_windows_are_as_long_as_they_can_be() {
    let governor =
        |window| Governor { can_thin: false, ..of(Bounds { budget: Some(0.01), max_rate: None }, Some(window)) };
    // Twice a second's allowance of a process that uses one CPU, in 10 ms.
    let burst = Interval { length: 1e7, process: 1e7, own: 2e7, ..Interval::default() };
    assert!(governor(WINDOWS_NS.1 - 1).is_alarming(burst, burst));
    assert!(!governor(WINDOWS_NS.1).is_alarming(burst, burst));
    assert!(
        Governor { can_thin: true, ..governor(WINDOWS_NS.1) }.is_alarming(burst, burst),
        "parks can be thinned out"
    );
    assert!(!Governor { can_thin: true, thins: true, ..governor(WINDOWS_NS.1) }.is_alarming(burst, burst));
}

/// That of a recording of these events with a sample each so many ns.
fn with_samples(events: &str, interval_ns: u64) -> Governor {
    let options = format!("status,events={events},interval={interval_ns},budget=0.01");
    Governor::new(&Options::parse(&options).unwrap())
}

/// A second of a process that uses one CPU, of which samples cost `sampling` where they are taken as often as was asked
/// for, and the rest of the recording `rest`.
fn sampled_second(governor: &Governor, sampling: f64, rest: f64) -> Interval {
    let sampling = sampling / governor.sparser as f64;
    let own = (sampling + rest) * 1e9;
    Interval { length: 1e9, process: 1e9, own, sampling: sampling * 1e9, calls: 1e5, ..Interval::default() }
}

#[test]
fn samples_that_cost_too_much_are_taken_less_often_until_they_fit_again() {
    let mut governor = with_samples("monitor+cpu", 1_000_000);
    for _ in 0..10 {
        let second = sampled_second(&governor, 0.05, 0.001);
        governor.decide(second, false);
    }
    // A quarter of them would cost 1.35 % with the rest.
    assert_eq!((governor.sparser, governor.window_ns), (8, 0));
    let held = governor.sparser;
    for _ in 0..60 {
        let second = sampled_second(&governor, 0.05, 0.001);
        governor.decide(second, false);
        assert_eq!((governor.sparser, governor.window_ns), (held, 0));
    }
    for _ in 0..30 {
        let second = sampled_second(&governor, 0.002, 0.001);
        governor.decide(second, false);
    }
    assert_eq!((governor.sparser, governor.window_ns), (1, 0));
}

#[test]
fn samples_are_not_taken_less_often_for_what_locks_cost() {
    let mut governor = with_samples("monitor+cpu", 10_000_000);
    for _ in 0..10 {
        let second = sampled_second(&governor, 0.002, 0.05);
        governor.decide(second, false);
    }
    assert_eq!(governor.sparser, 1);
    assert!(governor.window_ns > 0);
}

#[test]
fn samples_are_taken_once_a_second_at_the_least() {
    for (events, interval_ns, most) in
        [("cpu", 10_000_000, 64), ("wall", 100_000_000, 10), ("cpu", 1_000_000_000, 1), ("monitor", 10_000_000, 1)]
    {
        assert_eq!(with_samples(events, interval_ns).sparsest, most, "{events}");
    }
    let mut governor = with_samples("cpu", 100_000_000);
    for _ in 0..30 {
        let second = sampled_second(&governor, 0.9, 0.0);
        governor.decide(second, false);
    }
    assert_eq!(governor.sparser, 10);
    let said = governor.complains(DurationNs(30_000_000_000)).expect("it is exceeded");
    assert!(said.contains("To take fewer samples: a longer -i. To allow this: --budget "), "{said}");
}
