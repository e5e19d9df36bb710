//! What the page and `headway fleet view` say to each other. `web/src/fleet/contract.ts` is generated from these
//! types by a test of this crate.
//!
//! Every quantity is one of a view in `views.sql` or of a table, so that `headway sql` has the same number. Moments
//! are microseconds since the Unix epoch. Ids are hashes of 64 bits, which JavaScript's numbers cannot hold: they
//! are texts.

use crate::session::Only;
use serde::{Deserialize, Serialize};

#[cfg(test)]
use ts_rs::TS;

/// What the page knows at once.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct FleetOpening {
    /// Where the store is.
    pub store: String,
    /// Version of `headway-fleet`.
    pub version: String,
}

/// A lock of a service.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(deny_unknown_fields)]
pub struct LockOf {
    /// The service.
    pub service: String,
    /// The lock's `site_id`.
    pub site: String,
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Question {
    /// Rows of view `services`.
    Services {
        /// Of which rows.
        only: Only,
    },
    /// Rows of view `top_sites`, most blocked time first, without their JVMs: so that hours can answer.
    Locks {
        /// Of which rows.
        only: Only,
    },
    /// How many JVMs each row of [`Question::Locks`] has, in the same order. Only minutes can answer.
    LockJvms {
        /// Of which rows.
        only: Only,
    },
    /// Blocked time of some locks and of all, over time.
    OverTime {
        /// Of which rows.
        only: Only,
        /// Locks that have a line each.
        locks: Vec<LockOf>,
    },
    /// Rows of view `lock_stacks` of one lock, most blocked time first.
    Stacks {
        /// Of which rows.
        only: Only,
        /// The lock.
        lock: LockOf,
    },
    /// Rows of view `outlier_hosts`, the largest difference first.
    Hosts {
        /// Of which rows.
        only: Only,
    },
    /// Rows of view `regressions`, the largest difference first.
    Differences {
        /// Of which rows.
        only: Only,
    },
    /// Rows of view `phases`, the highest pressure first.
    Phases {
        /// Of which rows.
        only: Only,
    },
    /// What `headway fleet regressions` answers.
    Regressions {
        /// Of this service, else of all.
        service: Option<String>,
    },
    /// How far the search for regressions is.
    Progress,
}

/// An answer to the question of this name.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Answer {
    /// To [`Question::Services`].
    Services(Rows<ServiceRow>),
    /// To [`Question::Locks`].
    Locks(Rows<LockRow>),
    /// To [`Question::LockJvms`].
    LockJvms(Rows<LockJvmsRow>),
    /// To [`Question::OverTime`].
    OverTime(OverTime),
    /// To [`Question::Stacks`].
    Stacks(Rows<StackRow>),
    /// To [`Question::Hosts`].
    Hosts(Rows<HostRow>),
    /// To [`Question::Differences`].
    Differences(Rows<DifferenceRow>),
    /// To [`Question::Phases`].
    Phases(Rows<PhaseRow>),
    /// To [`Question::Regressions`].
    Regressions(Regressions),
    /// To [`Question::Progress`].
    Progress(Progress),
}

/// Rows of a view.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Rows<Row> {
    /// The first rows.
    pub rows: Vec<Row>,
    /// True if there are more.
    pub more: bool,
}

/// A service and version.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct ServiceRow {
    /// The service.
    pub service: String,
    /// The version.
    pub version: String,
    /// JVMs.
    pub jvms: u64,
    /// Hosts.
    #[serde(default)]
    pub hosts: u64,
    /// The first minute.
    pub first_us: i64,
    /// The last minute.
    pub last_us: i64,
    /// Running time of threads.
    pub running_ns: u64,
    /// CPU time; unknown if no recording has it.
    #[serde(default)]
    pub cpu_ns: Option<u64>,
    /// Steal time; unknown if no recording has it.
    #[serde(default)]
    pub steal_ns: Option<u64>,
    /// Transactions.
    pub operations: u64,
    /// Dropped events and other losses.
    pub dropped: u64,
    /// Locks that threads were blocked on.
    pub locks: u64,
    /// Contentions.
    pub contentions: u64,
    /// Blocked time.
    pub blocked_ns: u64,
    /// Blocked time per running time; unknown if running time is.
    #[serde(default)]
    pub blocked_share: Option<f64>,
}

/// A lock of a service and version.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct LockRow {
    /// The service.
    pub service: String,
    /// The version.
    pub version: String,
    /// Id of the lock.
    pub site: String,
    /// Its name.
    pub lock: String,
    /// Its class.
    pub class: String,
    /// `monitor` or `juc`.
    pub kind: String,
    /// Contentions.
    pub contentions: u64,
    /// Blocked time.
    pub blocked_ns: u64,
    /// Of that, hand-off.
    pub handoff_ns: u64,
    /// Of that, with an unknown owner.
    pub unknown_ns: u64,
    /// The longest contention.
    pub max_ns: u64,
    /// Blocked time per running time; unknown if running time is.
    #[serde(default)]
    pub blocked_share: Option<f64>,
}

/// The JVMs of a lock of a service and version.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct LockJvmsRow {
    /// The service.
    pub service: String,
    /// The version.
    pub version: String,
    /// Id of the lock.
    pub site: String,
    /// JVMs in which threads were blocked on it.
    pub jvms: u64,
}

/// Blocked time over time, in buckets of equal length without gaps.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct OverTime {
    /// Begin of the first bucket.
    pub first_us: i64,
    /// Length of a bucket: a minute, an hour or a day.
    pub bucket_us: i64,
    /// Blocked time of each lock that was asked for, by bucket.
    pub locks_ns: Vec<Vec<u64>>,
    /// Blocked time of all locks, by bucket.
    pub all_ns: Vec<u64>,
    /// Running time, by bucket.
    pub running_ns: Vec<u64>,
}

/// Contentions on a lock with the stacks of both sides.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct StackRow {
    /// The version.
    pub version: String,
    /// Contentions.
    pub contentions: u64,
    /// Blocked time.
    pub blocked_ns: u64,
    /// The waiters' stack, leaf first; empty if it is unknown.
    #[serde(default)]
    pub waiter_stack: Vec<String>,
    /// The owner's stack, leaf first; empty if it is unknown.
    #[serde(default)]
    pub owner_stack: Vec<String>,
}

/// A host beside the median of its service and version.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct HostRow {
    /// The service.
    pub service: String,
    /// The version.
    pub version: String,
    /// The host.
    pub host: String,
    /// JVMs on it.
    pub jvms: u64,
    /// Hosts of the service and version.
    pub hosts: u64,
    /// Blocked nanoseconds per second of running time; unknown if running time is.
    #[serde(default)]
    pub ns_per_s: Option<f64>,
    /// The median of all hosts.
    #[serde(default)]
    pub median_ns_per_s: Option<f64>,
    /// What the host has more than the median.
    #[serde(default)]
    pub more_ns_per_s: Option<f64>,
}

/// A lock in a version and in the one before.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct DifferenceRow {
    /// The service.
    pub service: String,
    /// The earlier version.
    pub old_version: String,
    /// The later version.
    pub new_version: String,
    /// The lock's name.
    pub lock: String,
    /// Its class.
    pub class: String,
    /// Blocked nanoseconds per second of running time before.
    #[serde(default)]
    pub old_ns_per_s: Option<f64>,
    /// And after.
    #[serde(default)]
    pub new_ns_per_s: Option<f64>,
    /// The difference.
    #[serde(default)]
    pub more_ns_per_s: Option<f64>,
}

/// A phase of high critical section pressure.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct PhaseRow {
    /// The service.
    pub service: String,
    /// The version.
    pub version: String,
    /// The host; unknown if the JVM's row is missing.
    #[serde(default)]
    pub host: Option<String>,
    /// When it began.
    pub from_us: i64,
    /// When it ended.
    pub to_us: i64,
    /// The lock's name.
    pub lock: String,
    /// Mean of critical section pressure.
    pub mean: f64,
    /// Its peak.
    pub peak: f64,
    /// The waiters' stack, leaf first; empty if it is unknown.
    #[serde(default)]
    pub waiter_stack: Vec<String>,
    /// The owner's stack, leaf first; empty if it is unknown.
    #[serde(default)]
    pub owner_stack: Vec<String>,
    /// Where the recording is: a path on the host; `None` if it is not kept.
    #[serde(default)]
    pub recording: Option<String>,
}

/// How far the search for regressions is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Progress {
    /// None is searched for.
    Idle,
    /// Rows of a service are read.
    Reading {
        /// The service.
        service: String,
        /// Its number, from 1 on.
        number: usize,
        /// Number of services.
        of: usize,
    },
    /// Versions are compared.
    Comparing,
    /// Names and stacks are read.
    Naming,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Regressions {
    /// The command with the same answer.
    pub command: String,
    /// The answer as a sentence.
    pub verdict: String,
    /// Services with two versions.
    pub services: Vec<Compared>,
    /// Services that have only one version.
    pub single_version: Vec<String>,
}

/// Two versions of a service.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Compared {
    /// The service.
    pub service: String,
    /// The earlier version.
    pub old_version: String,
    /// The later version.
    pub new_version: String,
    /// What was compared with what, what could have been found, and what stands in its way: a sentence each.
    pub sentences: Vec<String>,
    /// Locks that changed, regressions first.
    pub changed: Vec<Changed>,
}

/// A lock that changed.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub struct Changed {
    /// The lock's name.
    pub lock: String,
    /// `monitor` or `juc`.
    pub kind: String,
    /// True if it became worse.
    pub worse: bool,
    /// Relative change: 0.2 is 20 % more; `None` if the earlier version did not contend for it.
    pub change: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<[f64; 2]>,
    /// Of the changes with this q or a smaller one, the part that may be none.
    pub q: f64,
    /// Part of running time before.
    pub old_share: f64,
    /// And after.
    pub new_share: f64,
    /// The stack in which threads were blocked longest in the later version; empty if it did not become worse.
    pub waiter_stack: Vec<String>,
    /// The stack that owned the lock longest meanwhile.
    pub owner_stack: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use ts_rs::Config;

    const HEAD: &str = "\
// Made from fleet/command/src/view/contract.rs by its test; edit that instead, then
// (cd fleet && HEADWAY_UPDATE=1 cargo test -p headway-fleet contract)
";

    fn declared<T: TS>(config: &Config) -> String {
        let docs = T::docs().map(|docs| format!("{}\n", docs.trim_end())).unwrap_or_default();
        format!("\n{docs}export {}\n", T::decl(config))
    }

    fn contract() -> String {
        let config = Config::default().with_large_int("number");
        let declarations = [
            declared::<FleetOpening>,
            declared::<Only>,
            declared::<LockOf>,
            declared::<Question>,
            declared::<Answer>,
            declared::<Rows<ServiceRow>>,
            declared::<ServiceRow>,
            declared::<LockRow>,
            declared::<LockJvmsRow>,
            declared::<OverTime>,
            declared::<StackRow>,
            declared::<HostRow>,
            declared::<DifferenceRow>,
            declared::<PhaseRow>,
            declared::<Progress>,
            declared::<Regressions>,
            declared::<Compared>,
            declared::<Changed>,
        ];
        declarations.iter().fold(HEAD.to_owned(), |text, one| text + &one(&config))
    }

    #[test]
    fn the_contract_of_the_fleets_page_is_this_one() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/src/fleet/contract.ts");
        let wanted = contract();
        if std::env::var_os("HEADWAY_UPDATE").is_some() {
            std::fs::write(path, &wanted).expect("written");
        }
        let found = std::fs::read_to_string(path).unwrap_or_default();
        assert!(found == wanted, "{path} is stale: HEADWAY_UPDATE=1 cargo test -p headway-fleet contract");
    }
}
