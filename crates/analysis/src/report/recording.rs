//! What a report says of the recording itself.

use serde::Serialize;

/// What made the recording, and of what.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordingSummary {
    /// `headway 0.1.0`, `jfr`, `async-profiler`.
    pub producer: String,
    /// True for a recording of another tool: it has no order of lock events, so that
    /// owners' call stacks are not known.
    pub foreign: bool,
    /// JVM name and version.
    pub jvm: String,
    /// Process id.
    pub pid: u32,
    /// Main class and arguments.
    pub java_arguments: String,
    /// First moment, nanoseconds on the recording's clock.
    pub start_ns: u64,
    /// How long the recording lasted, whatever part of it the report is about.
    pub duration_ns: u64,
    /// Unix epoch minus the recording's clock; 0 where times are epoch.
    pub epoch_offset_ns: i64,
    /// Events analysed.
    pub events: u64,
    /// CPU time of Headway's own threads.
    #[serde(skip_serializing_if = "is_zero")]
    pub own_cpu_ns: u64,
    /// CPU time of Headway's hooks on application threads, estimated.
    #[serde(skip_serializing_if = "is_zero")]
    pub hook_cpu_ns: u64,
    /// How far its interval of 95 % reaches to each side.
    #[serde(skip_serializing_if = "is_zero")]
    pub hook_cpu_error_ns: u64,
    /// Calls of hooks that were timed for the estimate, one in 1,024.
    #[serde(skip_serializing_if = "is_zero")]
    pub timed_calls: u64,
    /// CPU time of the process while it was recorded.
    #[serde(skip_serializing_if = "is_zero")]
    pub process_cpu_ns: u64,
    /// CPU time that beginning the recording took on the thread that did.
    #[serde(skip_serializing_if = "is_zero")]
    pub attach_cpu_ns: u64,
    /// For how long the start of the recording paused the process at most.
    #[serde(skip_serializing_if = "is_zero")]
    pub attach_pause_ns: u64,
    /// Settings of the recording, name and value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<(String, String)>,
}

/// True if these settings of a recording say that it was asked to record this (`park`, `steal`).
pub(crate) fn records(settings: &[(String, String)], event: &str) -> bool {
    // Beside another event, pressure is computed from the events of locks, which are recorded, too.
    let is_of_locks = event == "monitor" || event == "park";
    let mut events = events(settings);
    events.any(|word| word == event || is_of_locks && word == PRESSURE) && !(is_of_locks && has_only_sums(settings))
}

/// True if the recording was asked for sums of blocked time alone.
pub(crate) fn has_only_sums(settings: &[(String, String)]) -> bool {
    let mut events = events(settings).peekable();
    events.peek().is_some() && events.all(|word| word == PRESSURE)
}

const PRESSURE: &str = "pressure";

fn events(settings: &[(String, String)]) -> impl Iterator<Item = &str> {
    let of = settings.iter().find(|(name, _)| name == "events").map_or("", |(_, value)| value);
    of.split([',', '+']).filter(|word| !word.is_empty())
}

/// Timed calls from which on their mean and spread say something.
pub const CALLS_FOR_AN_ESTIMATE: u64 = 10;

impl RecordingSummary {
    /// CPUs that the process was allowed to use when the recording began; `None` if the recording does not say.
    pub fn cpus(&self) -> Option<u64> {
        let (_, value) = self.settings.iter().find(|(name, _)| name == "cpus")?;
        value.parse().ok().filter(|cpus| *cpus > 0)
    }

    /// CPU time of Headway's work on application threads; `None` if it was too rare for an estimate.
    pub fn estimated_hook_cpu_ns(&self) -> Option<u64> {
        (self.timed_calls >= CALLS_FOR_AN_ESTIMATE).then_some(self.hook_cpu_ns)
    }
}

// serde's skip_serializing_if hands over a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_cpus_is_known_if_the_recording_says_it() {
        let recorded_with = |settings: &[(&str, &str)]| RecordingSummary {
            settings: settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            ..RecordingSummary::default()
        };
        assert_eq!(recorded_with(&[("events", "lock"), ("cpus", "16")]).cpus(), Some(16));
        for without in [&[][..], &[("cpus", "0")], &[("cpus", "many")]] {
            assert_eq!(recorded_with(without).cpus(), None);
        }
    }
}
