//! What one window measures: how things stood before it and after it, and how
//! much work was under way meanwhile.

use super::causal;
use super::targets::Totals;
use crate::agent::Agent;
use crate::clock;
use crate::options::Wishes;
use headway_causal::experiment::{Experiment, END_OF_PROGRAM};
use headway_model::{event, DurationNs, Event, Loss, TimeNs};
use std::collections::BTreeMap;
use std::time::Duration;

/// How often it is looked how much work is under way.
pub const LOOK_EVERY: Duration = Duration::from_millis(1);

/// How things stood at a moment.
pub struct Stand {
    /// When.
    pub time: TimeNs,
    delay: u64,
    stopped: u64,
    samples: Totals,
    wakes: u64,
    /// Of each thread that lives, by the kernel's number.
    run_queue: BTreeMap<u32, u64>,
    visits: BTreeMap<String, u64>,
}

impl Stand {
    /// Now.
    pub fn now(agent: &Agent, wishes: &Wishes) -> Stand {
        let causal = causal();
        Stand {
            run_queue: causal.run_queue.of_all(agent),
            wakes: causal.wakes(agent),
            delay: causal.ledger.total(),
            stopped: causal.stopped_ns(),
            samples: causal.targets.totals(),
            visits: visits(wishes),
            time: clock::now(),
        }
    }

    /// What happened since then.
    pub fn since(&self, before: &Stand) -> Experiment {
        let visits = self.visits.iter().map(|(name, visits)| {
            let earlier = before.visits.get(name).copied().unwrap_or(0);
            (name.clone(), visits - earlier)
        });
        let stopped_ns = self.stopped - before.stopped;
        Experiment {
            start_ns: before.time.0,
            duration_ns: self.time.since(before.time).0.saturating_sub(stopped_ns),
            stopped_ns,
            delay_ns: self.delay - before.delay,
            selected_samples: self.samples.hits - before.samples.hits,
            samples: self.samples.all - before.samples.all,
            off_cpu: self.samples.off_cpu - before.samples.off_cpu,
            interpreted: self.samples.interpreted - before.samples.interpreted,
            // Threads that ended took theirs with them.
            wakes: self.wakes.saturating_sub(before.wakes),
            run_queue_ns: gained(&before.run_queue, &self.run_queue),
            visits: visits.collect(),
            ..Experiment::default()
        }
    }
}

/// What the threads of now have more than before. Those that ended meanwhile take
/// nothing away from the others.
fn gained(before: &BTreeMap<u32, u64>, now: &BTreeMap<u32, u64>) -> u64 {
    now.iter().map(|(thread, ns)| ns.saturating_sub(before.get(thread).copied().unwrap_or(0))).sum()
}

/// Visits of the points that were asked for or visited. Others have names from
/// earlier recordings, or are ends of latency points.
fn visits(wishes: &Wishes) -> BTreeMap<String, u64> {
    let is_end = |name: &String| wishes.latency.iter().any(|(begin, end)| begin == name || end == name);
    let points = causal().points.all().into_iter().map(|(name, visits)| (name.to_string(), visits));
    let is_asked = |name: &String| wishes.progress.contains(name);
    points.filter(|(name, visits)| is_asked(name) || *visits > 0 && !is_end(name)).collect()
}

/// How much work is under way: begun and not ended.
#[derive(Default)]
pub struct InFlight {
    looks: u64,
    points: Vec<UnderWay>,
}

#[derive(Clone, Copy, Default)]
struct UnderWay {
    sum: i64,
    ended_before: u64,
    ended: u64,
    /// Work that was under way before anybody counted shows as ends without
    /// begins.
    missed: i64,
}

impl InFlight {
    /// A window begins.
    pub fn begin(&mut self, wishes: &Wishes) {
        self.look(wishes);
        self.looks = 0;
        for point in &mut self.points {
            (point.sum, point.ended_before) = (0, point.ended);
        }
    }

    /// Looks.
    pub fn look(&mut self, wishes: &Wishes) {
        let points = &causal().points;
        let counts = wishes.latency.iter().map(|(begin, end)| (points.visits_of(begin), points.visits_of(end)));
        self.take(counts);
    }

    fn take(&mut self, counts: impl ExactSizeIterator<Item = (u64, u64)>) {
        self.points.resize(counts.len(), UnderWay::default());
        self.looks += 1;
        for (point, (begun, ended)) in self.points.iter_mut().zip(counts) {
            let under_way = begun as i64 - ended as i64;
            point.missed = point.missed.max(-under_way);
            point.sum += under_way + point.missed;
            point.ended = ended;
        }
    }

    /// What the window showed of each latency point.
    pub fn add_to(&self, window: &mut Experiment, wishes: &Wishes) {
        for ((begin, end), point) in wishes.latency.iter().zip(&self.points) {
            let name = format!("{begin} to {end}");
            window.visits.insert(name.clone(), point.ended - point.ended_before);
            // Never quite nothing: 0 stands for points that have no latency.
            let looks = self.looks.max(1) as f64;
            window.in_flight.insert(name, (point.sum as f64 / looks).max(0.5 / looks));
        }
    }
}

/// The window as that of a program which just ends.
pub fn as_a_whole(mut window: Experiment) -> Experiment {
    window.visits = [(END_OF_PROGRAM.to_owned(), 1)].into();
    window
}

/// Puts a window into the recording, once for each point.
pub fn tell(agent: &Agent, window: &Experiment, start: TimeNs) {
    let is_baseline = window.is_baseline();
    let event = |(point, visits): (&String, &u64)| {
        Event::Experiment(event::Experiment {
            start,
            end: start + DurationNs(window.duration_ns + window.stopped_ns),
            number: window.number,
            speedup: window.speedup as f32,
            delay: DurationNs(window.delay_ns),
            stopped: DurationNs(window.stopped_ns),
            selected_samples: window.selected_samples,
            samples: window.samples,
            period: DurationNs(window.period_ns),
            cpus: window.cpus,
            off_cpu: window.off_cpu,
            interpreted: window.interpreted,
            wakes: window.wakes,
            run_queue: DurationNs(window.run_queue_ns),
            in_flight: window.in_flight.get(point).copied().unwrap_or(0.0) as f32,
            visits: *visits,
            kind: if is_baseline { "".into() } else { window.target.kind.name().into() },
            target: window.target.name.as_str().into(),
            point: point.as_str().into(),
        })
    };
    let mut events: Vec<Event> = window.visits.iter().map(event).collect();
    // It waits among the samples; what finds no room there is dropped as they are.
    let lost = agent.samples.push(&mut events);
    agent.losses.add(Loss::SampleLost, lost);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(begun_and_ended: &[&[(u64, u64)]]) -> Experiment {
        let wishes = Wishes { latency: vec![("a".to_owned(), "b".to_owned())], ..Wishes::default() };
        let mut in_flight = InFlight::default();
        let mut window = Experiment::default();
        for looks in begun_and_ended {
            in_flight.looks = 0;
            for point in &mut in_flight.points {
                (point.sum, point.ended_before) = (0, point.ended);
            }
            looks.iter().for_each(|counts| in_flight.take([*counts].into_iter()));
            in_flight.add_to(&mut window, &wishes);
        }
        window
    }

    #[test]
    fn a_thread_that_ends_takes_nothing_from_the_others() {
        let (before, now) = (BTreeMap::from([(1, 5), (2, 900)]), BTreeMap::from([(1, 25), (3, 7)]));
        assert_eq!(gained(&before, &now), 20 + 7);
    }

    #[test]
    fn the_mean_of_what_is_under_way_is_that_of_the_looks() {
        let window = window(&[&[(5, 5)], &[(8, 6), (10, 6), (10, 10), (12, 10)]]);
        assert_eq!((window.visits["a to b"], window.in_flight["a to b"]), (5, 2.0));
    }

    #[test]
    fn work_that_began_before_anybody_counted_is_under_way_all_the_same() {
        // Three ends whose begins were not seen.
        let window = window(&[&[(0, 0), (1, 4)], &[(2, 4), (2, 4)]]);
        assert_eq!((window.visits["a to b"], window.in_flight["a to b"]), (0, 1.0));
    }
}
