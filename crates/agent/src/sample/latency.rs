//! How long the VM took to give stacks, and who took them.

use super::asking::Executor;
use hdrhistogram::Histogram;
use std::fmt;
use std::time::Duration;

/// Longer ones count as this: 18 minutes.
const LONGEST_NS: u64 = 1 << 40;
/// Digits of a quantile that are right.
const DIGITS: u8 = 2;

/// See the module.
#[derive(Clone, Debug)]
pub struct Latencies {
    /// In ns; `None` if there is no memory for it.
    histogram: Option<Histogram<u64>>,
    count: u64,
    longest: Duration,
    by_target: u64,
    by_requester: u64,
    by_vm: u64,
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies {
            histogram: Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).ok(),
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
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX).clamp(1, LONGEST_NS);
        if let Some(histogram) = &mut self.histogram {
            histogram.saturating_record(ns);
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
        let ns = self.histogram.as_ref().map_or(0, |histogram| histogram.value_at_quantile(share));
        Duration::from_nanos(ns.min(LONGEST_NS)).min(self.longest)
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
