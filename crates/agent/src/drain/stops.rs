//! Times in which the whole process was stopped, by a signal, a debugger, or with a machine that was
//! suspended. Threads seem to go on then with what they did before, so the recording says how long that was.

use headway_host::{task, KeptFile, Root};
use headway_model::DurationNs;
use std::time::Duration;

/// What is shorter can be anything.
const LEAST: Duration = Duration::from_secs(1);

/// How late the draining thread woke, less what its wait for a CPU explains.
pub(super) struct Stops {
    schedule: KeptFile,
    /// How long this thread has waited for a CPU, when that was last read.
    waited_ns: Option<u64>,
    /// How long ago that is.
    age: Duration,
    total: Duration,
}

impl Stops {
    /// Of the draining thread, which calls this.
    pub fn begin() -> Stops {
        let mut stops = Stops {
            schedule: task::schedule_file(&Root::default(), headway_sample::task::current()),
            waited_ns: None,
            age: Duration::ZERO,
            total: Duration::ZERO,
        };
        stops.waited_ns = stops.read();
        stops
    }

    fn read(&mut self) -> Option<u64> {
        task::schedule_from(&mut self.schedule).ok().map(|schedule| schedule.wait_ns)
    }

    /// The thread wanted to sleep for at most this long, and slept for so long.
    pub fn slept(&mut self, wanted: Duration, slept: Duration) {
        self.age += slept;
        // A busy thread sleeps briefly and often.
        if self.age < LEAST {
            return;
        }
        self.age = Duration::ZERO;
        let before = self.waited_ns;
        self.waited_ns = self.read();
        if let Some((before, now)) = before.zip(self.waited_ns) {
            let for_cpu = Duration::from_nanos(now.saturating_sub(before));
            self.add(slept.saturating_sub(wanted).saturating_sub(for_cpu));
        }
    }

    fn add(&mut self, unexplained: Duration) {
        if unexplained >= LEAST {
            self.total += unexplained;
        }
    }

    /// How long that was in all, if it ever was.
    pub fn sentence(&self) -> Option<String> {
        let total = DurationNs(u64::try_from(self.total.as_nanos()).unwrap_or(u64::MAX));
        (total > DurationNs(0)).then(|| {
            format!(
                "the whole process was stopped for {total} (SIGSTOP, a debugger, or a machine that was suspended): \
                 threads seem to go on meanwhile with what they did before"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_thread_that_did_not_wait_for_a_cpu_was_stopped() {
        let mut stops = Stops::begin();
        stops.slept(Duration::from_millis(100), Duration::from_millis(900));
        assert_eq!(stops.sentence(), None, "late by less than a second");
        stops.slept(Duration::from_secs(7), Duration::from_secs(5));
        assert_eq!(stops.sentence(), None, "woken before its time");
        stops.slept(Duration::from_secs(1), Duration::from_secs(6));
        let said = stops.sentence().unwrap_or_default();
        assert!(said.starts_with("the whole process was stopped for 5.00 s ("), "{said}");
    }
}
