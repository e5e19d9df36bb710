//! What an analysis hands over: plain data, ready for JSON, for a terminal
//! and for a page. Nothing here is formatted for a width.
//!
//! `serde_json::to_string(&report)` gives the documented JSON of
//! `headway report --json`; keys that are empty are left out, except those
//! that every report has.

mod recording;

use crate::aspect::Aspect;
pub use crate::findings::{Gist, ShortLived};
use crate::ledger::{EntryKind, Ledger, Quality};
pub use crate::method::sample_report::{OwnerActivity, OwnerPath, OwnerSpot, SampleReport, SampledMethod, SampledPath};
use crate::monitor::Kind;
use crate::park::Synchronizer;
use crate::pressure::pressure_report::PressureReport;
use crate::sampled::SamplingReport;
use crate::selection::Selection;
use crate::steal::steal_report::StealReport;
pub use crate::virtual_threads::{PinReason, PinSite, VirtualThreadsReport};
pub(crate) use recording::{has_only_sums, records};
pub use recording::{RecordingSummary, CALLS_FOR_AN_ESTIMATE};
use serde::Serialize;
use std::collections::BTreeMap;

/// The value of rows whose owner, chain or method could not be proven.
pub const UNKNOWN: &str = "unknown";

/// The value of rows in which the whole VM was paused, whoever owned the lock.
pub const PAUSED: &str = "(VM pause)";

/// The value of rows that hold what a memory bound folded together.
pub const FOLDED: &str = "(folded: memory bound)";

/// Rows of one level below one row, and locks, that a report shows one by one:
/// the most expensive. What is left is one row, or one pair of numbers, for all others.
pub const MOST_TOLD: usize = 10_000;

/// The whole result. Times are nanoseconds; shares are fractions, 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// Length of the reported range.
    pub duration_ns: u64,
    /// Application threads that lived in the range.
    pub threads: u64,
    /// Time threads were blocked acquiring monitors and locks of
    /// `java.util.concurrent`, all threads together.
    pub blocked_ns: u64,
    /// Number of contentions.
    pub contentions: u64,
    /// The breakdown that was asked for, sorted by total.
    pub rows: Vec<Row>,
    /// Dropped events, by cause (`docs/metrics.md`).
    pub losses: BTreeMap<String, u64>,
    /// Mechanisms that were degraded while recording.
    pub degraded: Vec<DegradedMechanism>,

    /// Which threads the report is about.
    pub selection: Selection,
    /// The aspects of the levels of `rows`.
    pub by: Vec<Aspect>,
    /// What is wrong, in one sentence.
    pub verdict: String,
    /// What matters, in plain words, most time first. Never empty.
    pub findings: Vec<Finding>,
    /// Running time of the application's platform threads: their life in the
    /// range without waits.
    pub running_ns: u64,
    /// Where the time of the application's threads went.
    pub ledger: Ledger,
    /// How the blocked time was accounted for.
    pub blocked: BlockedTime,
    /// Locks with blocked time, most first; the first 10,000.
    pub locks: Vec<LockSummary>,
    /// The locks that are not among them.
    #[serde(skip_serializing_if = "Others::is_none")]
    pub other_locks: Others,
    /// Waits (`Object.wait` and parks that acquire no lock), longest first. Not blocked time.
    pub waits: Vec<WaitSite>,
    /// Contentions in flight at the end of the range, longest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub in_flight: Vec<InFlight>,
    /// Deadlocks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deadlocks: Vec<Deadlock>,
    /// Chains of owners that were themselves blocked, most blocked time first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wait_chains: Vec<WaitForChain>,
    /// Pauses of the VM.
    pub pauses: Pauses,
    /// Execution samples, if the recording has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<SampleReport>,
    /// What owners of contended locks executed while others waited, if the
    /// recording has samples of them, most blocked time first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owner_activity: Vec<OwnerActivity>,
    /// Parks by blocker class, longest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parks: Vec<ParkSite>,
    /// Virtual threads, if there were carriers of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_threads: Option<VirtualThreadsReport>,
    /// Threads that came and went, if they are many: for the verdict.
    #[serde(skip)]
    pub short_lived: Option<ShortLived>,
    /// Critical section pressure, if it was asked for: `headway report
    /// --pressure` shows it, with a JSON document of its own.
    #[serde(skip)]
    pub pressure: Option<PressureReport>,
    /// What the environment took, if the recording says: `headway report
    /// --steal` shows it, with a JSON document of its own.
    #[serde(skip)]
    pub steal: Option<StealReport>,
    /// Events of types that Headway does not analyse, by type name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub other_events: BTreeMap<String, u64>,
    /// What stands for what, if contentions and waits were sampled: totals are exact
    /// then, shares by call stack and owner estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingReport>,
    /// What made the recording, and of what.
    pub recording: RecordingSummary,
}

/// A row of the breakdown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// What `value` is a value of.
    pub aspect: Aspect,
    /// The value; chains are lists of frames.
    pub value: Value,
    /// Blocked time.
    pub total_ns: u64,
    /// Contentions with time in this row. A contention counts once per
    /// row, but in each of the rows of the owners that blocked it in turn.
    pub count: u64,
    /// The longest time that one contention spent in this row.
    pub max_ns: u64,
    /// Part of the report's `blocked_ns`.
    pub share: f64,
    /// How far `total_ns` may be off, if it is an estimate by random instants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// Part of `total_ns` in which the VM was paused.
    #[serde(skip_serializing_if = "is_zero")]
    pub pause_ns: u64,
    /// Part of `total_ns` whose owner frame is only approximately known.
    #[serde(skip_serializing_if = "is_zero")]
    pub approximate_ns: u64,
    /// Part of `total_ns` in which the owner probably was runnable, but did not run; an estimate.
    #[serde(skip_serializing_if = "is_zero")]
    pub owner_no_cpu_ns: u64,
    /// How many rows this one stands for: those beyond the first 10,000. `max_ns` is
    /// then the longest of any of them.
    #[serde(skip_serializing_if = "is_zero")]
    pub others: u64,
    /// The next level.
    pub children: Vec<Row>,
}

/// How far an estimate by random instants may be off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// Lower end of the interval of 95 %.
    pub low_ns: u64,
    /// Its upper end.
    pub high_ns: u64,
    /// Random instants at which this was seen; an instant counts once for each lock.
    pub instants: u64,
}

impl Interval {
    /// Its ends as parts of a whole: 0 to 1.
    pub fn of(&self, whole_ns: u64) -> (f64, f64) {
        let part = |ns: u64| crate::aggregate::share(ns, whole_ns).min(1.0);
        (part(self.low_ns), part(self.high_ns))
    }
}

/// Locks that are not listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Others {
    /// How many.
    pub count: u64,
    /// Blocked or acquiring time of all of them.
    pub total_ns: u64,
}

impl Others {
    /// True if every lock is listed.
    pub fn is_none(&self) -> bool {
        self.count == 0
    }

    /// Takes in the locks beyond the first `n`, of which each has so much time.
    pub fn take_beyond<T>(&mut self, locks: &mut Vec<T>, n: usize, ns: impl Fn(&T) -> u64) {
        for lock in locks.drain(n.min(locks.len())..) {
            self.count += 1;
            self.total_ns += ns(&lock);
        }
    }
}

/// A value of an aspect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Value {
    /// A name.
    Text(String),
    /// A call chain, leaf first, frames as `pkg.Class.method:line`.
    Chain(Vec<String>),
}

impl Value {
    /// One line: the name, or the chain's leaf.
    pub fn headline(&self) -> &str {
        match self {
            Value::Text(text) => text,
            Value::Chain(frames) => frames.first().map_or("", String::as_str),
        }
    }
}

/// A mechanism that was degraded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DegradedMechanism {
    /// Its name, as in the agent's status.
    pub mechanism: String,
    /// Why, and what was used instead.
    pub reason: String,
}

/// The kind of a finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FindingKind {
    /// A deadlock.
    Deadlock,
    /// Dropped events or degraded mechanisms make the other findings unreliable.
    Unreliable,
    /// A contention in flight.
    Stuck,
    /// One lock, and mostly one method that owned it.
    HotLock,
    /// One lock that many threads own for short times.
    SharedLock,
    /// A lock whose blocked time is hand-off, not work of its owners.
    HandOff,
    /// A phase of high pressure that the average hides.
    Phase,
    /// What blocked a lock's owner while others were blocked by it.
    #[serde(rename = "wait-chain")]
    WaitFor,
    /// Threads wait for each other while one takes much longer.
    Straggler,
    /// Threads wait in the middle of their work.
    Waiting,
    /// Threads were runnable and did not run.
    Environment,
    /// Virtual threads kept their carriers while they parked.
    Pinned,
    /// The VM paused all threads.
    Pauses,
    /// Where time went, by samples.
    Samples,
    /// Where threads park.
    Parks,
    /// There is nothing to report.
    #[default]
    Nothing,
}

/// Something a reader should know.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// What kind of thing it says.
    pub kind: FindingKind,
    /// One or two sentences. Names of code stand in backticks.
    pub text: String,
    /// What it is about: a lock, a method, a group of threads. Empty where that is
    /// nothing single.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// More, one line each, most important first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// Call stacks that it rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<FindingStack>,
    /// What is known about stacks like these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<Advice>,
    /// Thread time that could be won back at most; 0 where that cannot be said.
    pub cost_ns: u64,
    /// `cost_ns` as part of what the sentence says it is part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// The numbers that it rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// What the verdict says of it.
    #[serde(skip)]
    pub gist: Gist,
    /// Of `text`, the sentence that says what kept the owner of the lock from releasing it; empty if it says nothing of it.
    #[serde(skip)]
    pub owner_did: String,
}

/// A known cause, of the catalogue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Advice {
    /// Its stable name.
    pub id: String,
    /// Versions of the library or of Java that it is about.
    pub versions: String,
    /// Why threads wait there.
    pub why: String,
    /// What helps.
    pub fix: String,
    /// Where more is said.
    pub link: String,
}

impl Advice {
    /// Why, and what to do: two lines.
    pub fn lines(&self) -> [String; 2] {
        let Advice { versions, why, fix, link, .. } = self;
        [format!("known cause ({versions}): {why}"), format!("fix: {fix} ({link})")]
    }
}

/// A call stack of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindingStack {
    /// Whose: `owned by`, `called from`, `waiting`.
    pub whose: String,
    /// Its frames, leaf first.
    pub frames: Vec<String>,
}

/// A number that a finding rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// What it is: the name of a ledger's entry, or `blocked`, `waited`, `samples`, `parks`.
    pub what: String,
    /// Thread time.
    pub ns: u64,
    /// The same as a part of the finding's whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// How well it is known.
    pub quality: Quality,
    /// No less than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_ns: Option<u64>,
    /// No more than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_ns: Option<u64>,
    /// For which part of the time anything is known of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f64>,
    /// How far `ns` may be off, if it is an estimate by random instants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
}

impl Evidence {
    /// What events say.
    pub fn exact(what: &str, ns: u64, share: Option<f64>) -> Evidence {
        let what = what.to_owned();
        let (least_ns, most_ns, coverage, interval) = (None, None, None, None);
        Evidence { what, ns, share, quality: Quality::Exact, least_ns, most_ns, coverage, interval }
    }

    /// It is an estimate after all.
    pub(crate) fn estimate(&mut self) {
        self.quality = Quality::Estimated;
    }

    /// An entry of the ledger.
    pub(crate) fn of(entry: EntryKind, ns: u64, quality: Quality, share: Option<f64>) -> Evidence {
        Evidence { quality, ..Evidence::exact(entry.name(), ns, share) }
    }
}

/// How the blocked time was accounted for. The parts add up to `Report::blocked_ns`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockedTime {
    /// The owner's thread and call stack are known.
    pub owner_stack_ns: u64,
    /// The owner's thread is known, its call stack is not.
    pub owner_thread_ns: u64,
    /// Hand-off: after a release, before the next acquisition.
    pub hand_off_ns: u64,
    /// The owner is unknown.
    pub unknown_ns: u64,
    /// The whole VM was paused, whoever owned the lock.
    pub pause_ns: u64,
    /// Of all these, re-acquisitions after `Object.wait`.
    pub after_wait_ns: u64,
    /// Of all these, locks of `java.util.concurrent`.
    pub juc_ns: u64,
    /// Of `owner_stack_ns`, time in which readers held a lock together,
    /// charged to the one that left last.
    pub last_reader_ns: u64,
    /// Of all these, contentions in flight at the end.
    pub in_flight_ns: u64,
    /// Of all these, contentions whose end was not observed; the latest possible end is taken.
    pub bounded_ns: u64,
    /// Of all these, in virtual threads.
    pub virtual_ns: u64,
    /// The longest contention.
    pub max_ns: u64,
    /// Slices of which it was checked that they add up to their contention.
    pub slices_checked: u64,
    /// Contentions whose slices did not add up: an error in Headway. Always 0.
    pub slices_wrong: u64,
    /// The minimum duration that was asked for: shorter contentions are left out; 0 if none was.
    pub minimum_ns: u64,
    /// Contentions left out because they were shorter than the minimum duration.
    pub below_minimum: u64,
    /// Their time. The ledger has it as blocked time (`lock-unknown`); nothing else includes it.
    pub below_minimum_ns: u64,
    /// Contentions that the recording has as sums only, because they were shorter than
    /// its minimum duration.
    pub summed: u64,
    /// Their time, a part of `unknown_ns`.
    pub summed_ns: u64,
    /// Contentions whose end was dropped.
    pub ends_dropped: u64,
}

/// A lock with blocked time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LockSummary {
    /// `Inventory.lock (com.acme.Inventory@1a2b3c)`.
    pub lock: String,
    /// Class of the lock object.
    pub class: String,
    /// Blocked time.
    pub total_ns: u64,
    /// Number of contentions.
    pub count: u64,
    /// The longest.
    pub max_ns: u64,
    /// Part of the report's `blocked_ns`.
    pub share: f64,
    /// Hand-off: the lock had been released and the next thread had not run yet.
    pub hand_off_ns: u64,
    /// Time whose owner is unknown (hand-off not included).
    pub unknown_ns: u64,
    /// Time in which the VM was paused, in neither of these.
    #[serde(skip_serializing_if = "is_zero")]
    pub pause_ns: u64,
    /// Re-acquisitions after `Object.wait`.
    pub after_wait_ns: u64,
    /// Threads that were blocked.
    pub waiters: u64,
    /// Threads known to have owned it while others were blocked.
    pub owners: u64,
}

/// Waits on one class of object with one call stack:
/// `Object.wait`, or a park that is no lock acquisition.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitSite {
    /// What is waited for.
    pub synchronizer: Synchronizer,
    /// The lock, if all waits were on one; otherwise its class.
    pub lock: String,
    /// Class of the lock object.
    pub class: String,
    /// The first method that is not part of the waiting mechanism.
    pub method: String,
    /// The waiters' call stack, leaf first.
    pub stack: Vec<String>,
    /// Time waited until notify, timeout or interrupt.
    pub total_ns: u64,
    /// Number of waits, those in flight at the end included.
    pub count: u64,
    /// The longest.
    pub max_ns: u64,
    /// How many were notified or unparked (or woken spuriously).
    pub notified: u64,
    /// How many timed out.
    pub timed_out: u64,
    /// How many were interrupted.
    pub interrupted: u64,
    /// How many had not ended.
    pub in_flight: u64,
    /// How many of those have a time limit, which ends them although nobody wakes the thread.
    pub in_flight_with_limit: u64,
    /// Different threads that waited.
    pub threads: u64,
    /// Groups of the waiting threads, most waits first.
    pub groups: Vec<Named>,
    /// Groups of the threads that notified them, most often first.
    pub notifiers: Vec<Named>,
    /// Who unparked them, by thread group and method, most waited time first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wakers: Vec<WakerSummary>,
    /// Which entry of the ledger it belongs to.
    pub entry: EntryKind,
    /// True if the threads were idle: they waited for work or, like a main thread, for other threads to end.
    pub idle: bool,
}

/// Who ended waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WakerSummary {
    /// The thread group.
    pub group: String,
    /// The first method that is not part of the waking mechanism, if there is one outside of the class that waits; as
    /// in findings. `unknown` if not recorded.
    pub method: String,
    /// The call stack that ended most of the waited time, leaf first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
    /// Waits that it ended.
    pub count: u64,
    /// How long these had lasted.
    pub total_ns: u64,
}

/// A name and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Named {
    /// The name.
    pub name: String,
    /// How often.
    pub count: u64,
}

/// A contention in flight at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InFlight {
    /// The blocked thread.
    pub thread: String,
    /// The lock.
    pub lock: String,
    /// How long so far.
    pub blocked_ns: u64,
    /// The owner of the lock, as far as known.
    pub owner: String,
    /// The blocked thread's call stack, leaf first.
    pub stack: Vec<String>,
}

/// Threads in a circle, each blocked on a lock that the next one owns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Deadlock {
    /// The members of the circle.
    pub members: Vec<InFlight>,
}

/// A lock whose owner was itself blocked, and so on to the root.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitForChain {
    /// From the lock that threads were blocked on to the root.
    pub links: Vec<WaitForLink>,
    /// Time that threads were blocked on the first lock while its owner was
    /// blocked in this way. A part of that lock's blocked time.
    pub blocked_ns: u64,
    /// In how many slices of contentions.
    pub count: u64,
    /// Part of the report's `blocked_ns`.
    pub share: f64,
}

/// A link of a wait chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitForLink {
    /// What kind of blocking it is. After `conditional` nothing follows.
    pub kind: Kind,
    /// The lock, or what was waited for.
    pub lock: String,
    /// The method that owned it, or that ended the wait; `unknown` if not known.
    pub method: String,
    /// A thread that did.
    pub thread: String,
}

/// Pauses of the VM.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pauses {
    /// How many.
    pub count: u64,
    /// All together.
    pub total_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// Parks on one class of blocker.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ParkSite {
    /// Class of the blocker; `(none)` if there was none.
    pub blocker_class: String,
    /// True if parking there means waiting for a lock, as far as the class says.
    pub is_lock: bool,
    /// Time parked.
    pub total_ns: u64,
    /// How often.
    pub count: u64,
    /// The longest.
    pub max_ns: u64,
    /// Different threads.
    pub threads: u64,
}

/// Waits are named after what they are for from this part of them on: as what nearly all, or most of them are for.
const NEARLY_ALL: f64 = 0.99;
const MOSTLY: f64 = 0.9;

impl Report {
    /// How long threads waited, without idle ones.
    pub fn waited_ns(&self) -> u64 {
        self.waited_by_method().values().sum()
    }

    /// The same, by the method that waited.
    pub fn waited_by_method(&self) -> BTreeMap<&str, u64> {
        let mut methods: BTreeMap<&str, u64> = BTreeMap::new();
        for site in self.waits.iter().filter(|site| !site.idle) {
            *methods.entry(&site.method).or_default() += site.total_ns;
        }
        methods
    }

    /// `waiting for a database connection`, where findings say that nearly all of these entries of the ledger is that.
    pub fn awaited(&self, entries: &[EntryKind]) -> Option<String> {
        let all: u64 = entries.iter().map(|entry| self.ledger.ns(*entry)).sum();
        let is_one = |what: &str| entries.iter().any(|entry| entry.name() == what);
        let mut by: BTreeMap<&str, u64> = BTreeMap::new();
        let is_wait = |kind| matches!(kind, FindingKind::Waiting | FindingKind::Straggler);
        for finding in self.findings.iter().filter(|finding| is_wait(finding.kind)) {
            let waited = finding.evidence.iter().filter(|evidence| is_one(&evidence.what)).map(|evidence| evidence.ns);
            *by.entry(finding.gist.awaited()).or_default() += waited.sum::<u64>();
        }
        let (awaited, ns) = by.into_iter().filter(|(awaited, _)| !awaited.is_empty()).max_by_key(|(_, ns)| *ns)?;
        match ns as f64 / all.max(1) as f64 {
            part if part >= NEARLY_ALL => Some(format!("waiting for {awaited}")),
            part if part >= MOSTLY => Some(format!("waiting, mostly for {awaited}")),
            _ => None,
        }
    }

    /// Keeps the `n` first rows of every level, and of every other list. The
    /// rows left out are not in any total less: parents keep theirs, and locks are
    /// among the others.
    pub fn keep_top(&mut self, n: usize) {
        keep_top(&mut self.rows, n);
        self.other_locks.take_beyond(&mut self.locks, n, |lock| lock.total_ns);
        self.waits.truncate(n);
        self.parks.truncate(n);
        if let Some(samples) = &mut self.samples {
            samples.keep_top(n);
        }
        self.owner_activity.truncate(n);
        self.owner_activity.iter_mut().for_each(|activity| activity.keep_top(n));
    }
}

fn keep_top(rows: &mut Vec<Row>, n: usize) {
    rows.truncate(n);
    for row in rows {
        keep_top(&mut row.children, n);
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
    use crate::ledger::Entry;

    #[test]
    fn waits_are_named_after_what_nearly_all_of_them_are_for() {
        let finding = |awaited: &str, what: &str, ns| Finding {
            kind: FindingKind::Waiting,
            gist: Gist::of_wait(awaited),
            evidence: vec![Evidence::exact(what, ns, None)],
            ..Finding::default()
        };
        let entry = |entry, total_ns| Entry { entry, total_ns, share: 0.0, quality: Quality::Exact };
        let waits = [EntryKind::WaitPermit, EntryKind::WaitResult];
        let mut report = Report::default();
        report.ledger.entries = vec![entry(EntryKind::WaitPermit, 900), entry(EntryKind::WaitResult, 100)];
        report.findings = vec![finding("a row", "wait-permit", 900), finding("a result", "wait-result", 100)];
        assert_eq!(report.awaited(&waits).as_deref(), Some("waiting, mostly for a row"));
        assert_eq!(report.awaited(&waits[..1]).as_deref(), Some("waiting for a row"));
        assert_eq!(report.awaited(&waits[1..]).as_deref(), Some("waiting for a result"));
        report.findings[1].kind = FindingKind::Straggler;
        assert_eq!(report.awaited(&waits[1..]).as_deref(), Some("waiting for a result"));
        report.findings[1] = finding("a row", "wait-result", 95);
        assert_eq!(report.awaited(&waits).as_deref(), Some("waiting for a row"));
        report.findings[0] = finding("a permit", "wait-permit", 800);
        assert_eq!(report.awaited(&waits), None);
    }
}
