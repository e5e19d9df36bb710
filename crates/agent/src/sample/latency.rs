//! How long the VM took to give stacks, and who took them.

use super::asking::Executor;
use std::fmt;
use std::time::Duration;

/// Steps per doubling: a quantile is right within 5 %.
const STEPS: f64 = 16.0;
/// Up to 2^40 ns, 18 minutes.
const BUCKETS: usize = 40 * 16;

/// See the module.
#[derive(Clone, Debug)]
pub struct Latencies {
    buckets: Vec<u64>,
    count: u64,
    longest: Duration,
    by_target: u64,
    by_requester: u64,
    by_vm: u64,
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies {
            buckets: vec![0; BUCKETS],
            count: 0,
            longest: Duration::ZERO,
            by_target: 0,
            by_requester: 0,
            by_vm: 0,
        }
    }
}

impl Latencies {
    /// Adds one.
    pub fn add(&mut self, took: Duration, executor: Executor) {
        let bucket = ((took.as_nanos().max(1) as f64).log2() * STEPS) as usize;
        if let Some(count) = self.buckets.get_mut(bucket.min(BUCKETS - 1)) {
            *count += 1;
        }
        self.count += 1;
        self.longest = self.longest.max(took);
        match executor {
            Executor::Target => self.by_target += 1,
            Executor::Requester => self.by_requester += 1,
            Executor::VmThread => self.by_vm += 1,
            Executor::Unknown => {}
        }
    }

    /// True if nothing was asked yet.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The time that this share of the answers took at most.
    pub fn quantile(&self, share: f64) -> Duration {
        let wanted = (self.count as f64 * share).ceil() as u64;
        let mut seen = 0;
        let bucket = self.buckets.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        let upper = 2f64.powf((bucket.unwrap_or(0) + 1) as f64 / STEPS);
        Duration::from_nanos(upper as u64).min(self.longest)
    }

    /// For the recording's settings.
    pub fn settings(&self) -> Vec<(String, String)> {
        let value = |name: &str, value: u128| (name.to_owned(), value.to_string());
        vec![
            value("stack_requests", self.count.into()),
            value("stack_request_p50_ns", self.quantile(0.5).as_nanos()),
            value("stack_request_p97_5_ns", self.quantile(0.975).as_nanos()),
            value("stack_request_max_ns", self.longest.as_nanos()),
            value("stacks_by_target", self.by_target.into()),
            value("stacks_by_requester", self.by_requester.into()),
            value("stacks_by_vm_thread", self.by_vm.into()),
        ]
    }
}

impl fmt::Display for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |time: Duration| time.as_nanos() as f64 / 1000.0;
        write!(
            f,
            "{} requests answered in {:.1} us (median), {:.1} us (97.5 %), {:.1} us (longest); taken by the thread \
             itself {}, by the sampling thread {}, by the VM's thread {}, not known {}",
            self.count,
            us(self.quantile(0.5)),
            us(self.quantile(0.975)),
            us(self.longest),
            self.by_target,
            self.by_requester,
            self.by_vm,
            self.count - self.by_target - self.by_requester - self.by_vm,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_within_their_steps() {
        let mut latencies = Latencies::default();
        assert!(latencies.is_empty());
        for us in 1..=1000 {
            latencies.add(Duration::from_micros(us), Executor::Target);
        }
        let median = latencies.quantile(0.5).as_nanos();
        assert!((500_000..=525_000).contains(&median), "{median}");
        let high = latencies.quantile(0.975).as_nanos();
        assert!((975_000..=1_000_000).contains(&high), "{high}");
        assert_eq!(latencies.quantile(1.0), Duration::from_millis(1));
    }

    #[test]
    fn extremes_find_a_bucket() {
        let mut latencies = Latencies::default();
        latencies.add(Duration::ZERO, Executor::Requester);
        latencies.add(Duration::from_secs(100_000), Executor::Unknown);
        assert_eq!(latencies.quantile(1.0).as_secs(), 1099);
        assert!(latencies.to_string().contains("not known 1"), "{latencies}");
    }
}
