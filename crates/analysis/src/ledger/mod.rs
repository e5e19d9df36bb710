//! `ledger`: one account of thread time. Every nanosecond of the application's
//! threads is in exactly one entry, and the entries add up to their lifetime.
//!
//! Entries exclude each other by precedence. First the thread's own state: inside a
//! contention or a wait, that; else paused by the VM; else on CPU, ready, or off the
//! CPU for a reason that leaves no event. Inside a contention, at each instant: a VM
//! pause outranks a hand-off, a hand-off the owner's being blocked or waiting itself,
//! and that what the owner did with a CPU or without one.
//!
//! What events place is exact. What is measured per interval only (CPU time, run
//! queue, throttling, steal) is an estimate: CPU time spent while blocked (spinning)
//! and time in the run queue after a wake-up are in there, too, and are cut where
//! more was measured than a thread had left.
//!
//! * `accounts`: what each thread's own events say, while they are fed.
//! * `lock`: how the blocked time of a lock is split.
//! * `assemble`: the whole, at the end.

mod accounts;
mod assemble;
mod lock;

pub(crate) use accounts::Accounts;
pub(crate) use assemble::assemble;
pub(crate) use lock::{LockSplit, OwnersDid};

use serde::Serialize;
use std::collections::BTreeMap;

/// What a thread's time is spent on. Names are stable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EntryKind {
    /// Executing.
    Cpu,
    /// Ready to run, but without a CPU: other threads had it.
    RunQueue,
    /// Ready to run, but held back by the container's CPU quota.
    Throttled,
    /// Ready to run, but the hypervisor ran something else.
    Steal,
    /// Paused by the VM, neither blocked nor waiting.
    Pause,
    /// Blocked on a lock whose owner executed.
    LockOwnerRan,
    /// Blocked on a lock whose owner was itself blocked or waiting.
    LockOwnerWaited,
    /// Blocked on a lock whose owner was ready to run, but had no CPU.
    LockOwnerNoCpu,
    /// Blocked on a lock whose owner was off the CPU for another reason: sleep,
    /// input or output, native code.
    LockOwnerOffCpu,
    /// Blocked on a lock while the VM was paused.
    LockPause,
    /// Blocked on a lock that had been released: the next thread had not run yet.
    LockHandOff,
    /// Blocked on a lock that was free: the next one was a virtual thread, for which no
    /// carrier was free yet.
    LockHandOffCarrier,
    /// Blocked on a lock; what happened meanwhile is not known, or was left out because the contention was shorter than
    /// the minimum duration.
    LockUnknown,
    /// Waiting for a permit, a pooled object or room in a buffer.
    WaitPermit,
    /// Waiting for what another thread does: a result, a signal, its end.
    WaitResult,
    /// Waiting for work.
    WaitWork,
    /// Waiting for time to pass: sleep, poll.
    WaitTime,
    /// Input or output, where events report it.
    Io,
    /// Off the CPU without an event that says why: sleep, input or output, native
    /// code.
    OffCpu,
    /// Not recorded.
    #[default]
    Unknown,
}

impl EntryKind {
    /// Every kind, in the order in which they are shown.
    pub const ALL: [EntryKind; 20] = [
        EntryKind::Cpu,
        EntryKind::RunQueue,
        EntryKind::Throttled,
        EntryKind::Steal,
        EntryKind::Pause,
        EntryKind::LockOwnerRan,
        EntryKind::LockOwnerWaited,
        EntryKind::LockOwnerNoCpu,
        EntryKind::LockOwnerOffCpu,
        EntryKind::LockPause,
        EntryKind::LockHandOff,
        EntryKind::LockHandOffCarrier,
        EntryKind::LockUnknown,
        EntryKind::WaitPermit,
        EntryKind::WaitResult,
        EntryKind::WaitWork,
        EntryKind::WaitTime,
        EntryKind::Io,
        EntryKind::OffCpu,
        EntryKind::Unknown,
    ];

    /// True for being blocked on a lock.
    pub fn is_lock(self) -> bool {
        LOCK_ENTRIES.contains(&self)
    }

    /// The stable name, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            EntryKind::Cpu => "cpu",
            EntryKind::RunQueue => "run-queue",
            EntryKind::Throttled => "throttled",
            EntryKind::Steal => "steal",
            EntryKind::Pause => "pause",
            EntryKind::LockOwnerRan => "lock-owner-ran",
            EntryKind::LockOwnerWaited => "lock-owner-waited",
            EntryKind::LockOwnerNoCpu => "lock-owner-no-cpu",
            EntryKind::LockOwnerOffCpu => "lock-owner-off-cpu",
            EntryKind::LockPause => "lock-pause",
            EntryKind::LockHandOff => "lock-hand-off",
            EntryKind::LockHandOffCarrier => "lock-hand-off-carrier",
            EntryKind::LockUnknown => "lock-unknown",
            EntryKind::WaitPermit => "wait-permit",
            EntryKind::WaitResult => "wait-result",
            EntryKind::WaitWork => "wait-work",
            EntryKind::WaitTime => "wait-time",
            EntryKind::Io => "io",
            EntryKind::OffCpu => "off-cpu",
            EntryKind::Unknown => "unknown",
        }
    }

    /// What a reader calls it.
    pub const fn words(self) -> &'static str {
        match self {
            EntryKind::Cpu => "on CPU",
            EntryKind::RunQueue => "run queue",
            EntryKind::Throttled => "throttled",
            EntryKind::Steal => "steal",
            EntryKind::Pause => "VM pause",
            EntryKind::LockOwnerRan => "the owner executed",
            EntryKind::LockOwnerWaited => "the owner was itself blocked or waiting",
            EntryKind::LockOwnerNoCpu => "the owner had no CPU",
            EntryKind::LockOwnerOffCpu => "the owner was in sleep, I/O or native code",
            EntryKind::LockPause => "the VM was paused",
            EntryKind::LockHandOff => "the lock had been released and the next thread had not run yet",
            EntryKind::LockHandOffCarrier => "the lock had been released and the next virtual thread had no carrier",
            EntryKind::LockUnknown => "unknown",
            EntryKind::WaitPermit => "waiting for a permit, a pooled object or room",
            EntryKind::WaitResult => "waiting for another thread",
            EntryKind::WaitWork => "idle",
            EntryKind::WaitTime => "waiting for time to pass",
            EntryKind::Io => "I/O",
            EntryKind::OffCpu => "sleep, I/O or native code",
            EntryKind::Unknown => "unknown",
        }
    }
}

/// Entries that a picture shows as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The stable name.
    pub name: &'static str,
    /// What a reader calls it.
    pub words: &'static str,
    /// Its entries.
    pub entries: &'static [EntryKind],
}

impl Part {
    /// Every part, in the order in which they are shown. Idle threads
    /// ([`EntryKind::WaitWork`]) are in none: they lack nothing.
    pub const ALL: [Part; 9] = [
        Part { name: "cpu", words: "on CPU", entries: &[EntryKind::Cpu] },
        Part {
            name: "no-cpu",
            words: "ready, no CPU",
            entries: &[EntryKind::RunQueue, EntryKind::Throttled, EntryKind::Steal],
        },
        Part { name: "lock", words: "blocked on locks", entries: LOCK_ENTRIES },
        Part { name: "wait-thread", words: "waiting for other threads", entries: &[EntryKind::WaitResult] },
        Part { name: "wait-permit", words: "waiting for permits, pools, queues", entries: &[EntryKind::WaitPermit] },
        Part { name: "wait-time", words: "waiting for time to pass", entries: &[EntryKind::WaitTime] },
        Part { name: "pause", words: "VM pause", entries: &[EntryKind::Pause] },
        Part { name: "off-cpu", words: "sleep, I/O, native", entries: &[EntryKind::OffCpu, EntryKind::Io] },
        Part { name: "unknown", words: "not recorded", entries: &[EntryKind::Unknown] },
    ];
}

const LOCK_ENTRIES: &[EntryKind] = &[
    EntryKind::LockOwnerRan,
    EntryKind::LockOwnerWaited,
    EntryKind::LockOwnerNoCpu,
    EntryKind::LockOwnerOffCpu,
    EntryKind::LockPause,
    EntryKind::LockHandOff,
    EntryKind::LockHandOffCarrier,
    EntryKind::LockUnknown,
];

/// How well a number is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Quality {
    /// Events place it.
    #[default]
    Exact,
    /// From what is known per interval, or from samples.
    Estimated,
}

/// An entry of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Entry {
    /// What the time was spent on.
    pub entry: EntryKind,
    /// Thread time.
    pub total_ns: u64,
    /// Part of the ledger's `total_ns`.
    pub share: f64,
    /// How well it is known.
    pub quality: Quality,
}

/// Who had the machine's CPUs, in CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuUsers {
    /// The application's threads, carriers of virtual threads included.
    pub application_ns: u64,
    /// The garbage collector.
    pub gc_ns: u64,
    /// The just-in-time compilers.
    pub compiler_ns: u64,
    /// Threads of Headway's agent.
    pub headway_ns: u64,
    /// Other threads of the VM and the JDK.
    pub vm_ns: u64,
    /// Other processes.
    pub others_ns: u64,
    /// Nobody.
    pub idle_ns: u64,
}

/// The account of all threads' time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ledger {
    /// Application threads that lived in the range: as many as in the report.
    pub threads: u64,
    /// Sum of all entries: how long the application's platform threads lived, and of
    /// virtual threads what is recorded of them and their carriers' CPU time.
    pub total_ns: u64,
    /// True where it is not known when threads lived, as in recordings of other tools without
    /// starts and ends of threads. Then `total_ns` has only what events say, and
    /// shares of it say nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lives_unknown: bool,
    /// The entries that are not zero, in the order of [`EntryKind::ALL`].
    pub entries: Vec<Entry>,
    /// Part of `total_ns` that events claim beyond their threads' lifetime: events
    /// are missing, or contradict each other.
    #[serde(skip_serializing_if = "is_zero")]
    pub excess_ns: u64,
    /// What is missing between the entries and the threads' lifetime: an error in
    /// Headway. Always 0.
    pub unbalanced_ns: u64,
    /// Who had the CPUs, where that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_users: Option<CpuUsers>,
    /// By group of threads, of those whose CPU time was measured.
    #[serde(skip)]
    pub measured: BTreeMap<String, MeasuredGroup>,
}

/// What the ledger has of threads of a group whose CPU time was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeasuredGroup {
    /// Time of `run-queue`, `throttled` and `steal`.
    pub ready_ns: u64,
    /// All their time.
    pub lived_ns: u64,
}

impl CpuUsers {
    /// The process: its own threads and those of the VM, the JDK and Headway.
    pub const fn process_ns(&self) -> u64 {
        self.application_ns + self.gc_ns + self.compiler_ns + self.headway_ns + self.vm_ns
    }
}

impl Ledger {
    /// Time in an entry.
    pub fn ns(&self, kind: EntryKind) -> u64 {
        self.entries.iter().find(|entry| entry.entry == kind).map_or(0, |entry| entry.total_ns)
    }

    /// Time of threads that had something to do: all but idle time. 0 where it is not
    /// known when threads lived.
    pub fn active_ns(&self) -> u64 {
        if self.lives_unknown {
            return 0;
        }
        self.total_ns.saturating_sub(self.ns(EntryKind::WaitWork))
    }

    /// The parts that are not zero, with their time; they add up to
    /// [`Self::active_ns`], where that is known.
    pub fn parts(&self) -> impl Iterator<Item = (&'static Part, u64)> + '_ {
        let time = |part: &Part| part.entries.iter().map(|entry| self.ns(*entry)).sum();
        Part::ALL.iter().map(move |part| (part, time(part))).filter(|(_, ns)| *ns > 0)
    }
}

// serde's skip_serializing_if hands over a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(n: &u64) -> bool {
    *n == 0
}
