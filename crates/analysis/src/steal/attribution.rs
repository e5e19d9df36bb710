//! Whose time the hypervisor took.
//!
//! The machine's stolen time in an interval is divided among the threads that
//! ran in it, in proportion to their CPU time (Hofer: Efficient Runtime
//! Analysis and Visualization ..., thesis, Linz 2016, chapter 5):
//!
//! stolen(T) = stolen · cpu(T) / cpu(all), where cpu(all) is the apparent CPU
//! time of the whole machine, other processes included. What falls to these is
//! given to nobody here.
//!
//! Where samples say on which CPU a thread ran, each CPU's stolen time is
//! divided among those who ran on it. Threads without samples are taken to have
//! run where time is left.
//!
//! The tempting alternative, to give all of it to this process, blames it for
//! what its neighbours on the same machine suffered.

use headway_model::event::StealAccounting;
use headway_model::ThreadId;
use rustc_hash::FxHashMap;

/// CPU and stolen time of a CPU or of all, in ns. The machine's own CPU times
/// leave stolen time out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuShare {
    /// Time spent running something.
    pub busy_ns: u64,
    /// Stolen time.
    pub stolen_ns: u64,
}

/// An interval to divide.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    /// What thread times contain.
    pub accounting: StealAccounting,
    /// All CPUs.
    pub all: CpuShare,
    /// Single CPUs by number; may be empty.
    pub cpus: Vec<(u16, CpuShare)>,
    /// Threads that ran, and their CPU time in ns.
    pub threads: Vec<(ThreadId, u64)>,
    /// How much samples weigh, by thread and CPU.
    pub samples: FxHashMap<ThreadId, FxHashMap<u16, u64>>,
}

impl Interval {
    /// The CPU time of a share as threads are charged for it.
    fn apparent(&self, share: CpuShare) -> f64 {
        match self.accounting {
            StealAccounting::LeftOut => share.busy_ns as f64,
            // Where it is not known the published formula holds.
            StealAccounting::Included | StealAccounting::Unknown => (share.busy_ns + share.stolen_ns) as f64,
        }
    }

    /// Each thread's stolen time in ns, in the order of `threads`.
    pub fn stolen(&self) -> Vec<u64> {
        let by_cpu: u64 = self.cpus.iter().map(|(_, share)| share.stolen_ns).sum();
        let refined = by_cpu > 0 && self.threads.iter().any(|(thread, _)| self.samples.contains_key(thread));
        let times: Vec<f64> = self.threads.iter().map(|(_, cpu)| *cpu as f64).collect();
        if !refined {
            return rounded(&divide(self.all.stolen_ns as f64, self.apparent(self.all), &times));
        }
        let mut stolen = self.by_cpu();
        // Of CPUs that came or went within the interval only the sum is known.
        let rest = self.all.stolen_ns.saturating_sub(by_cpu) as f64;
        for (sum, more) in stolen.iter_mut().zip(divide(rest, self.apparent(self.all), &times)) {
            *sum += more;
        }
        rounded(&stolen)
    }

    fn by_cpu(&self) -> Vec<f64> {
        let capacity: Vec<f64> = self.cpus.iter().map(|(_, share)| self.apparent(*share)).collect();
        let mut used = vec![vec![0f64; self.cpus.len()]; self.threads.len()];
        let mut left = capacity.clone();
        for ((thread, cpu), used) in self.threads.iter().zip(&mut used) {
            let Some(samples) = self.samples.get(thread) else { continue };
            let weight = |number: &u16| samples.get(number).copied().unwrap_or(0) as f64;
            let all: f64 = self.cpus.iter().map(|(number, _)| weight(number)).sum();
            for (((number, _), used), left) in self.cpus.iter().zip(used).zip(&mut left) {
                *used = if all > 0.0 { *cpu as f64 * weight(number) / all } else { 0.0 };
                *left = (*left - *used).max(0.0);
            }
        }
        let room: f64 = left.iter().sum();
        let (left, room) = if room > 0.0 { (left, room) } else { (capacity.clone(), capacity.iter().sum()) };
        for ((_, cpu), used) in self.threads.iter().zip(&mut used) {
            if used.iter().any(|used| *used > 0.0) || room <= 0.0 {
                continue;
            }
            for (used, left) in used.iter_mut().zip(&left) {
                *used = *cpu as f64 * left / room;
            }
        }
        let mut stolen = vec![0f64; self.threads.len()];
        for (index, (_, share)) in self.cpus.iter().enumerate() {
            let on_it: Vec<f64> = used.iter().map(|used| used.get(index).copied().unwrap_or(0.0)).collect();
            for (sum, part) in stolen.iter_mut().zip(divide(share.stolen_ns as f64, self.apparent(*share), &on_it)) {
                *sum += part;
            }
        }
        stolen
    }
}

/// Divides by use. The kernel's ticks are coarse: where threads used more than
/// there was, they get all of it and no more.
fn divide(stolen: f64, apparent: f64, used: &[f64]) -> Vec<f64> {
    let all = apparent.max(used.iter().sum());
    used.iter().map(|used| if all > 0.0 { stolen * used / all } else { 0.0 }).collect()
}

fn rounded(parts: &[f64]) -> Vec<u64> {
    parts.iter().map(|part| part.round() as u64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: u64 = 10_000_000;
    const HALF: u64 = TICK / 2;

    fn share(busy: u64, stolen: u64) -> CpuShare {
        CpuShare { busy_ns: busy * TICK, stolen_ns: stolen * TICK }
    }

    fn threads(ticks: &[u64]) -> Vec<(ThreadId, u64)> {
        ticks.iter().zip(1..).map(|(ticks, id)| (ThreadId(id), ticks * TICK)).collect()
    }

    fn published() -> Interval {
        Interval {
            accounting: StealAccounting::Included,
            all: share(10, 10),
            cpus: vec![(0, share(5, 5)), (1, share(5, 5)), (2, share(0, 0))],
            threads: threads(&[10, 9, 1]),
            ..Interval::default()
        }
    }

    #[test]
    fn the_published_example() {
        assert_eq!(published().stolen(), [10 * HALF, 9 * HALF, HALF]);
        let unknown = Interval { accounting: StealAccounting::Unknown, ..published() };
        assert_eq!(unknown.stolen(), [10 * HALF, 9 * HALF, HALF]);
    }

    #[test]
    fn the_same_where_thread_times_leave_stolen_time_out() {
        let left_out = Interval { accounting: StealAccounting::LeftOut, threads: threads(&[5, 4, 1]), ..published() };
        assert_eq!(left_out.stolen(), [10 * HALF, 8 * HALF, 2 * HALF]);
    }

    /// Samples know what the published way cannot: the third thread was not
    /// running when its CPU was suspended.
    #[test]
    fn samples_tell_on_which_cpu_a_thread_suffered() {
        let on = |cpus: &[(u16, u64)]| cpus.iter().copied().collect::<FxHashMap<u16, u64>>();
        let mut interval = published();
        interval.cpus = vec![(0, share(5, 5)), (1, share(5, 4)), (2, share(1, 0))];
        interval.all = share(11, 9);
        interval.samples = [(ThreadId(1), on(&[(0, 7)])), (ThreadId(2), on(&[(1, 9)])), (ThreadId(3), on(&[(2, 1)]))]
            .into_iter()
            .collect();
        assert_eq!(interval.stolen(), [5 * TICK, 4 * TICK, 0]);
    }

    #[test]
    fn threads_without_samples_ran_where_time_is_left() {
        let mut interval = published();
        interval.cpus = vec![(0, share(5, 5)), (1, share(10, 0))];
        interval.all = share(15, 5);
        interval.threads = threads(&[10, 5]);
        interval.samples = [(ThreadId(1), [(0, 3)].into_iter().collect())].into_iter().collect();
        assert_eq!(interval.stolen(), [5 * TICK, 0]);
        // Both were sampled nowhere that is known: as published.
        interval.samples = [(ThreadId(1), [(7, 3)].into_iter().collect())].into_iter().collect();
        assert_eq!(interval.stolen(), [10 * TICK / 4, 5 * TICK / 4]);
    }

    #[test]
    fn never_more_than_was_stolen_is_given() {
        let interval = Interval { threads: threads(&[40, 40]), ..published() };
        assert_eq!(interval.stolen(), [5 * TICK, 5 * TICK]);
        let nothing = Interval { all: share(0, 0), cpus: Vec::new(), ..published() };
        assert_eq!(nothing.stolen(), [0, 0, 0]);
        let idle = Interval { threads: Vec::new(), ..published() };
        assert!(idle.stolen().is_empty());
    }

    #[test]
    fn neighbours_on_the_machine_have_their_part() {
        let interval = Interval { all: share(30, 10), cpus: Vec::new(), threads: threads(&[10, 10]), ..published() };
        assert_eq!(interval.stolen(), [10 * TICK / 4, 10 * TICK / 4]);
    }
}
