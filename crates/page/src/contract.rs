//! What the page and its data source say to each other.
//!
//! The page asks one [`Query`] at a time and gets one [`Answer`]. A served page
//! asks the running command, which answers with [`crate::Recording`]; a page in
//! one file asks the columns that are embedded in it. The types here are the
//! only place where both meet: `web/src/data/contract.ts` is generated from them
//! by a test of this crate.
//!
//! Times are nanoseconds since the recording's start. Ids (threads, locks,
//! frames, chains, texts) are indices of the recording's names; 0 is "unknown".

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[cfg(test)]
use ts_rs::TS;

mod link;
mod waits;
mod whole;

pub use link::{Link, Named, Seen};
pub use waits::{IdleWaits, WaitPlace};
pub use whole::{
    Blocker, Estimates, LockPressure, Machine, NameHeldOff, ParkStatistics, Phase, Pressure, Quota, Ready, Spread,
    Steal, StealWindow, Transactions, Whole,
};

/// What a row of the recording's table is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Kind {
    /// Blocked on a monitor (`synchronized`).
    Monitor,
    /// Blocked on a lock of `java.util.concurrent`.
    Juc,
    /// Waiting in `Object.wait`.
    Wait,
    /// Parked for anything but a lock: work, a latch, a future, a time.
    Park,
    /// A sample on the CPU clock.
    Cpu,
    /// A sample on the wall clock.
    Wall,
    /// An application's platform thread is alive.
    Alive,
    /// The whole VM was stopped.
    Paused,
    /// A sample of a lock's owner while somebody was blocked on it.
    Inside,
    /// Measured CPU time, without steal; the row's span is the interval.
    Ran,
    /// Time the hypervisor took, of the interval.
    Steal,
    /// Time the quota held the thread back, of the interval.
    Throttled,
    /// Time ready and waiting for a CPU, of the interval.
    Queued,
    /// A transaction; what the application calls it stands in place of a lock.
    Transaction,
}

impl Kind {
    /// Every kind; the place is the number in the table.
    pub const ALL: [Kind; 14] = [
        Kind::Monitor,
        Kind::Juc,
        Kind::Wait,
        Kind::Park,
        Kind::Cpu,
        Kind::Wall,
        Kind::Alive,
        Kind::Paused,
        Kind::Inside,
        Kind::Ran,
        Kind::Steal,
        Kind::Throttled,
        Kind::Queued,
        Kind::Transaction,
    ];
}

/// How it is known who held the lock, how a wait ended, or what a sample saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum How {
    /// Nothing to say.
    #[default]
    None,
    /// The owner's own exit was recorded: thread and chain are known exactly.
    Exit,
    /// The owner was seen to hold the lock; thread only.
    Seen,
    /// The recording names the previous owner only.
    Previous,
    /// Nobody: the lock was changing hands.
    HandOff,
    /// The recording does not show it.
    Unknown,
    /// Notified, or unparked.
    Notified,
    /// The time ran out.
    TimedOut,
    /// Interrupted.
    Interrupted,
    /// Woken for no reason that can be seen.
    Spurious,
    /// Had not ended when the recording did.
    Unfinished,
    /// Sampled in Java code.
    Java,
    /// Sampled in native code.
    Native,
    /// Sampled while waiting, sleeping or blocked.
    Waiting,
}

impl How {
    /// Every value; the place is the number in the table.
    pub const ALL: [How; 14] = [
        How::None,
        How::Exit,
        How::Seen,
        How::Previous,
        How::HandOff,
        How::Unknown,
        How::Notified,
        How::TimedOut,
        How::Interrupted,
        How::Spurious,
        How::Unfinished,
        How::Java,
        How::Native,
        How::Waiting,
    ];
}

/// What rows are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "kebab-case")]
pub enum Aspect {
    /// [`Kind`], by its number.
    Kind,
    /// Class of the lock or blocker, a text.
    LockClass,
    /// What the code calls it, objects of one name together, a text.
    LockName,
    /// The lock or blocker.
    Lock,
    /// The thread that was blocked, waited or was sampled.
    ContenderThread,
    /// Its group, a text.
    ContenderGroup,
    /// The method that wanted the lock, waited or was sampled, a text.
    ContenderMethod,
    /// The thread's call chain.
    ContenderChain,
    /// The thread that held the lock, or that ended the wait.
    OwnerThread,
    /// Its group, a text.
    OwnerGroup,
    /// The method that held the lock, a text.
    OwnerMethod,
    /// The call chain of the frame that held the lock.
    OwnerChain,
    /// What the owner was executing, up to the frame that held the lock.
    Inside,
    /// Number of the interval when the range is cut into equal ones.
    Time,
    /// [`How`], by its number.
    How,
    /// What kind of thread: 0 platform, 1 virtual, 2 of the JVM itself, 3 likewise: a carrier of virtual threads.
    ThreadKind,
}

impl Aspect {
    /// True if it says something of the owner, or of how the owner is known.
    pub fn is_of_owner(self) -> bool {
        matches!(
            self,
            Aspect::OwnerThread
                | Aspect::OwnerGroup
                | Aspect::OwnerMethod
                | Aspect::OwnerChain
                | Aspect::Inside
                | Aspect::How
        )
    }
}

/// A condition: the aspect has this value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Pick {
    /// What.
    pub by: Aspect,
    /// Its value, in words that stay the same when the recording is read again: a name,
    /// a thread's key, the hash of a call chain.
    pub key: String,
}

/// What counts. Texts are looked for anywhere in a name, whatever their case;
/// with `=` in front the whole name must be equal. Empty texts let all pass.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Filter {
    /// Of the thread that was blocked, waited or was sampled.
    pub thread: String,
    /// Of the lock or its class.
    pub lock: String,
    /// Of any method on the chain of the thread or of the lock's owner.
    pub method: String,
    /// True if the JVM's own threads count in waits and samples too.
    pub services: bool,
}

/// Conditions on the methods of one of the call stacks that a row has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Stacks {
    /// Which call stack: `contender-chain`, `owner-chain` or `inside`. Nothing matches any other aspect.
    pub of: Aspect,
    /// Methods that are all on it, by their whole names.
    pub with: Vec<String>,
    /// Methods of which none is on it.
    pub without: Vec<String>,
}

/// The part of a recording that a query is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Scope {
    /// Which recording, where several are compared.
    pub recording: usize,
    /// Begin of the range.
    pub from: u64,
    /// End of the range.
    pub to: u64,
    /// What counts.
    pub filter: Filter,
    /// Kinds of rows that count.
    pub kinds: Vec<Kind>,
    /// Further conditions, all of which must hold.
    pub within: Vec<Pick>,
    /// Conditions on a call stack; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub stacks: Option<Stacks>,
    /// Keys of the only threads that count; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub threads: Option<Vec<String>>,
}

/// A question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(tag = "ask", rename_all = "lowercase")]
pub enum Query {
    /// Totals along a sequence of aspects.
    Group {
        /// The part looked at.
        scope: Scope,
        /// The levels.
        by: Vec<Aspect>,
        /// Intervals of the range for `time`.
        intervals: u32,
        /// Groups of each parent that are shown, largest first.
        limit: usize,
    },
    /// What each thread did, when.
    Lanes {
        /// The part looked at.
        scope: Scope,
        /// Threads shown, from this place in the order on.
        first: usize,
        /// How many threads.
        count: usize,
        /// Details shorter than the range divided by this are joined.
        pixels: u32,
    },
    /// The longest entries.
    Longest {
        /// The part looked at.
        scope: Scope,
        /// How many.
        limit: usize,
    },
    /// Everything about one entry.
    Entry {
        /// Which recording.
        recording: usize,
        /// What it is.
        kind: Kind,
        /// Its begin.
        start: u64,
        /// The thread, by its key.
        thread: String,
    },
    /// What only an analysis of the whole recording can say.
    Whole {
        /// Which recording.
        recording: usize,
    },
}

/// The answer to the query of the same name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(tag = "answer", rename_all = "lowercase")]
pub enum Answer {
    /// See [`Groups`].
    Group(Groups),
    /// See [`Lanes`].
    Lanes(Lanes),
    /// The entries, longest first.
    Longest {
        /// The entries.
        entries: Vec<Entry>,
        /// Names of all ids in it.
        names: Names,
    },
    /// The entry.
    Entry {
        /// The contention; `None` if there is none such, or if it was added up.
        entry: Option<Entry>,
        /// Names of all ids in it.
        names: Names,
    },
    /// See [`Whole`].
    Whole {
        /// What is known.
        whole: Whole,
        /// Names of all ids in it.
        names: Names,
    },
}

impl Answer {
    /// The same groups without the names of their ids, which may be most of an answer by call stacks.
    #[must_use]
    pub fn without_names(self) -> Answer {
        match self {
            Answer::Group(groups) => Answer::Group(Groups { names: Names::default(), ..groups }),
            other => other,
        }
    }
}

/// Totals of groups, level by level; a group comes after its parent. Columns
/// have one entry per group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Groups {
    /// Time of everything in scope.
    pub total_ns: u64,
    /// Entries (or samples) in scope.
    pub count: u64,
    /// The group that it is a part of; -1 on the first level.
    pub parent: Vec<i32>,
    /// Value of the level's aspect.
    pub value: Vec<u32>,
    /// Time.
    pub total: Vec<u64>,
    /// Entries with time in it.
    pub entries: Vec<u64>,
    /// The longest time that one entry spent in it.
    pub max: Vec<u64>,
    /// Part of the time in which the whole VM was stopped.
    pub stopped: Vec<u64>,
    /// Part of the time whose owner frame is only approximately known.
    pub approximate: Vec<u64>,
    /// Part of the time that the next level does not have: stacks of short contentions
    /// are kept by longer intervals and groups of threads than their time is.
    pub rest: Vec<u64>,
    /// The same of everything in scope. Where the scope itself is about stacks, time at
    /// its edges of which it is unknown on which side it lies; estimated, in no total.
    pub rest_ns: u64,
    /// Groups of the first level beyond the limit.
    pub left_out: u64,
    /// Conditions on values that the recording does not have, by their keys.
    pub unknown: Vec<String>,
    /// Names of all ids in it.
    pub names: Names,
}

/// What threads did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Lanes {
    /// Threads of the application in scope.
    pub threads: usize,
    /// Those asked for.
    pub lanes: Vec<Lane>,
    /// Names of all ids in it.
    pub names: Names,
}

/// What a thread did. Columns have one entry per segment, in time order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Lane {
    /// The thread.
    pub thread: u32,
    /// Time blocked in scope.
    pub blocked_ns: u64,
    /// Begin.
    pub start: Vec<u64>,
    /// Length.
    pub span: Vec<u64>,
    /// Time in it: less than its length where it is made of several.
    pub total: Vec<u64>,
    /// [`Kind`], by its number.
    pub kind: Vec<u8>,
    /// Begin of the longest contention in it; -1 where only sums are left.
    pub longest: Vec<i64>,
    /// Entries joined in it.
    pub joined: Vec<u32>,
    /// True where it is a wait of an idle thread.
    pub idle: Vec<bool>,
}

/// An entry: a contention, a wait, a park, a sample or a transaction, as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// [`Kind`], by its number.
    pub kind: u8,
    /// Begin.
    pub start: u64,
    /// Length.
    pub span: u64,
    /// The thread.
    pub thread: u32,
    /// Its chain.
    pub chain: u32,
    /// The lock.
    pub lock: u32,
    /// True for a re-acquisition after `Object.wait`.
    pub after_wait: bool,
    /// True if it had not ended when the recording did.
    pub unfinished: bool,
    /// True if it stands for several short ones that were added up.
    pub summed: bool,
    /// True for a wait of an idle thread.
    pub idle: bool,
    /// Who held the lock meanwhile.
    pub slices: Vec<Slice>,
}

/// A part of an entry during which one thread, or nobody known, held the lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Slice {
    /// Begin.
    pub start: u64,
    /// Length.
    pub span: u64,
    /// The owner, or who ended the wait.
    pub owner: u32,
    /// Its chain.
    pub chain: u32,
    /// How that is known.
    pub how: How,
    /// Part of it in which the whole VM was stopped.
    pub stopped: u64,
    /// True where the owner's frame is only approximately known.
    pub approximate: bool,
    /// True where the owner was probably not running for most of it.
    pub no_cpu: bool,
}

/// What ids stand for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Names {
    /// Classes, groups and methods.
    pub texts: BTreeMap<u32, String>,
    /// Threads.
    pub threads: BTreeMap<u32, Thread>,
    /// Locks and blockers.
    pub locks: BTreeMap<u32, Lock>,
    /// Frames.
    pub frames: BTreeMap<u32, Frame>,
    /// Call chains, frames leaf first.
    pub chains: BTreeMap<u32, Vec<u32>>,
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Thread {
    /// Its name; never empty.
    pub name: String,
    /// Text of its group: the name with counters folded.
    pub group: u32,
    /// 0 platform, 1 virtual, 2 of the JVM itself, 3 likewise: a carrier of virtual threads.
    pub kind: u8,
    /// More than 0 if it stands for so many threads of its group, whose short
    /// contentions are not kept apart.
    pub others: u32,
    /// The same, and no other's, however the recording is read: `request-1#21`. Without a number if it is no thread,
    /// but what virtual threads did of which it is not known which one it was.
    pub key: String,
}

/// A lock or blocker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Lock {
    /// `Inventory.lock (com.acme.Inventory$1@1a2b3c)`.
    pub name: String,
    /// What a sentence calls it: `Inventory.lock`.
    pub short: String,
    /// Text of its class.
    pub class: u32,
    /// Text of what the code calls it; of its class if nothing better is known.
    pub title: u32,
}

/// A frame of a call chain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Frame {
    /// Text of the method.
    pub method: u32,
    /// Source line, 0 if unknown.
    pub line: u32,
    /// True for the JDK's own code.
    pub jdk: bool,
    /// Source file; empty if unknown.
    pub file: String,
    /// The source line's text, where sources were given.
    pub source: String,
}

/// What is known of a recording before anything is asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Facts {
    /// The file's name.
    pub file: String,
    /// Its length.
    pub duration_ns: u64,
    /// When it began, milliseconds of the Unix epoch; 0 if unknown.
    pub start_epoch_ms: f64,
    /// What made it: `headway 0.1.0`, `jfr`, `async-profiler`.
    pub producer: String,
    /// True if the maker records no owners' chains.
    pub foreign: bool,
    /// JVM name and version.
    pub jvm: String,
    /// Process id.
    pub pid: u32,
    /// Main class and arguments.
    pub java_arguments: String,
    /// Active settings.
    pub settings: Vec<(String, String)>,
    /// Events read.
    pub events: u64,
    /// CPU time of Headway's own threads.
    pub own_cpu_ns: u64,
    /// Estimated CPU time of its work on application threads; `None` if that was too rare for an estimate.
    #[serde(default)]
    pub hook_cpu_ns: Option<u64>,
    /// CPU time of the process meanwhile; 0 if unknown.
    #[serde(default)]
    pub process_cpu_ns: u64,
    /// For how long the start of the recording paused the process at most.
    pub attach_pause_ns: u64,
    /// Application threads that lived in it.
    pub threads: u64,
    /// Blocked time of the whole recording.
    pub blocked_ns: u64,
    /// Running time of the application's platform threads.
    pub running_ns: u64,
    /// Contentions.
    pub contentions: u64,
    /// Random instants at which contentions and waits were sampled; 0 where everything was recorded.
    /// Totals by lock, thread and time are exact all the same, unless it `thins`.
    #[serde(default)]
    pub instants: u64,
    /// True if parks of threads that park very often were only counted near random instants, at times: their
    /// totals are estimates then.
    #[serde(default)]
    pub thins: bool,
    /// How many pauses of the whole VM, and how long together.
    pub pauses: (u64, u64),
    /// What is wrong, in one or two sentences; names of code stand in backticks.
    pub verdict: String,
    /// Which threads were recorded, in a sentence; empty if all were.
    #[serde(default)]
    pub selection: String,
    /// Where thread time went.
    pub ledger: Ledger,
    /// Virtual threads, if there were carriers of them.
    #[serde(default)]
    pub virtual_threads: Option<VirtualThreads>,
    /// Where threads waited longest, but not for work; the most time first.
    #[serde(default)]
    pub waits: Vec<WaitPlace>,
    /// What the names of code in the verdict and the findings are names of.
    pub links: Vec<Link>,
    /// What matters, most expensive first.
    pub findings: Vec<Finding>,
    /// What is missing.
    pub losses: Vec<Loss>,
    /// Mechanisms that were not active: name, why.
    pub degraded: Vec<(String, String)>,
    /// What is wrong with the file.
    pub problems: Vec<String>,
    /// Entries of each kind, by its number; 0 where nothing was recorded.
    pub entries: Vec<u64>,
    /// True if samples say how much time they stand for.
    pub samples_weighted: bool,
    /// Entries that were added up per interval because there were too many.
    pub summed: u64,
    /// Length of those intervals: a range of whole ones has exact totals by thread, lock and kind. 0 if there are none.
    pub base_ns: u64,
    /// Length of the intervals in which the stacks of what was added up are kept.
    pub stacks_ns: u64,
    /// True if those stacks are kept by groups of threads.
    pub stacks_by_group: bool,
    /// Threads whose short contentions are in the sum of the others of their group.
    pub folded_threads: u64,
    /// Locks whose short contentions are in the sum of the others of their name.
    pub folded_locks: u64,
    /// How long threads waited, without idle ones: as in the report.
    pub waited_ns: u64,
    /// Where idle threads waited.
    pub idle_waits: Vec<IdleWaits>,
    /// Virtual threads that the recording knows, among the threads of the application.
    pub known_virtual_threads: u64,
}

/// Where the time of the application's threads went, in the whole recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Ledger {
    /// Application threads.
    pub threads: u64,
    /// Time of threads that had something to do.
    pub active_ns: u64,
    /// Time of threads that waited for work.
    pub idle_ns: u64,
    /// What the active time was spent on; the parts add up to it.
    pub parts: Vec<LedgerPart>,
    /// Time on CPU, and runnable, that was measured while threads waited, were blocked or idle: in those parts.
    pub while_waiting_ns: (u64, u64),
}

/// How long virtual threads could run and did not, and what kept their carriers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct VirtualThreads {
    /// How often one that had parked was unparked and ran again.
    pub mounts: u64,
    /// From the unpark until it ran, all of them together.
    pub mount_delay_ns: u64,
    /// The longest.
    pub max_mount_delay_ns: u64,
    /// Part of it in which no carrier took the thread.
    pub waiting_for_carrier_ns: u64,
    /// Part of it in which an idle carrier was woken.
    pub waiting_for_cpu_ns: u64,
    /// How often one parked and kept its carrier.
    pub pinned: u64,
    /// How long, together.
    pub pinned_ns: u64,
    /// Where, longest first.
    pub pins: Vec<Pin>,
    /// Carriers.
    pub carriers: u64,
    /// Part of the carriers' time in which they were not idle.
    pub occupancy: Option<f64>,
}

/// A call stack with which virtual threads were pinned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Pin {
    /// The method that waited.
    pub method: String,
    /// The frame that pins; empty if unknown.
    pub frame: String,
    /// Why it pins; empty if unknown.
    pub reason: String,
    /// How often.
    pub count: u64,
    /// Together.
    pub total_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// What part of the active time was spent on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct LedgerPart {
    /// Its stable name.
    pub name: String,
    /// What a reader calls it.
    pub words: String,
    /// Thread time.
    pub ns: u64,
    /// The ledger's entries in it: what a reader calls each, its time, and whether
    /// that is an estimate.
    pub entries: Vec<(String, u64, bool)>,
}

/// Something a reader should know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// `hot-lock`, `deadlock`, ...: the names of `headway report --json`.
    pub kind: String,
    /// One or two sentences; names of code stand in backticks.
    pub text: String,
    /// More, one line each.
    pub details: Vec<String>,
    /// Thread time that it costs.
    pub cost: u64,
    /// Of `text`, the sentence that says what kept the lock's owner; empty if it says nothing of it.
    pub owner_did: String,
}

/// Something that is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Loss {
    /// Its stable name.
    pub name: String,
    /// How often.
    pub count: u64,
    /// What it means.
    pub explanation: String,
}

/// What a page is given to begin with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Opening {
    /// The recordings: one, or two to compare (before, after); none while nothing is known of them yet.
    pub recordings: Vec<Facts>,
    /// Version of Headway.
    pub version: String,
    /// If the recording is still being written or read, how far it was read.
    pub live: Option<Now>,
}

/// How far a recording was read that is still being written, or still being read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "camelCase")]
pub struct Now {
    /// Changes with each reading; answers may change with it.
    pub generation: u64,
    /// Changes where ids stand for something else than before: the front of the recording was removed, and
    /// times count from a later moment; or what the whole recording says takes the place of first results.
    pub beginning: u64,
    /// By how much times count from a later moment than in the first reading.
    pub removed_ns: u64,
    /// The recording; none if the generation is the one that was asked about.
    pub recordings: Vec<Facts>,
    /// Why nothing is added any more, a sentence; empty while the recording goes on.
    pub ended: String,
    /// When to ask again.
    pub again_ms: u32,
    /// How much of the files was read, as long as they are being read for the first time. Until then
    /// there are no recordings, or those of the first part of the files.
    pub reading: Option<Reading>,
}

/// How much of files was read, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub struct Reading {
    /// What was read.
    pub bytes: u64,
    /// What there is.
    pub of: u64,
}
