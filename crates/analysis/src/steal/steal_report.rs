//! What `headway report --steal` shows: plain data, ready for JSON.

use headway_model::event::StealAccounting;
use headway_model::LockId;
use serde::Serialize;

/// Steal, throttling and run-queue time in a recording's range.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StealReport {
    /// `left out`, `included` or `unknown`: whether this kernel's thread times
    /// contain steal time. Only where they do is it subtracted.
    pub accounting: &'static str,
    /// Intervals measured.
    pub intervals: u64,
    /// Time covered by them.
    pub covered_ns: u64,
    /// Intervals whose steal time was divided CPU by CPU, because samples say
    /// where threads ran.
    pub refined_intervals: u64,
    /// False if the kernel does not report how long threads wait for a CPU.
    pub run_queue_known: bool,
    /// The machine, all processes together.
    pub machine: MachineTotals,
    /// The container's quota, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<QuotaReport>,
    /// The process: all its threads, the VM's own included.
    pub process: Totals,
    /// Threads, most CPU time first.
    pub threads: Vec<Named>,
    /// Groups of threads whose names differ in numbers only, likewise.
    pub groups: Vec<Named>,
    /// Kinds of transactions, longest in all first.
    pub transactions: Vec<TransactionReport>,
    /// Locks whose owners were runnable and did not run, most such time first.
    pub locks: Vec<HeldOff>,
    /// The process interval by interval: where it begins, counted from the
    /// recording's start, how long it is, and the times.
    pub windows: Vec<Window>,
}

/// CPU time of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineTotals {
    /// Time spent running something.
    pub busy_ns: u64,
    /// Steal time.
    pub steal_ns: u64,
    /// Idle time.
    pub idle_ns: u64,
}

impl MachineTotals {
    pub(crate) fn add(&mut self, other: &MachineTotals) {
        self.busy_ns += other.busy_ns;
        self.steal_ns += other.steal_ns;
        self.idle_ns += other.idle_ns;
    }
}

/// A quota and what it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuotaReport {
    /// CPU time allowed in a period; 0 if there is no limit.
    pub quota_ns: u64,
    /// Length of a period.
    pub period_ns: u64,
    /// Periods.
    pub periods: u64,
    /// How many of them were cut short.
    pub throttled_periods: u64,
    /// For how long, all CPUs added up.
    pub throttled_ns: u64,
}

impl QuotaReport {
    /// Adds what a later time says.
    pub(crate) fn add(&mut self, later: &QuotaReport) {
        (self.quota_ns, self.period_ns) = (later.quota_ns, later.period_ns);
        self.periods += later.periods;
        self.throttled_periods += later.throttled_periods;
        self.throttled_ns += later.throttled_ns;
    }
}

/// Where the ready time of a thread, a group or the process went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Totals {
    /// CPU time as the kernel gives it.
    pub cpu_ns: u64,
    /// CPU time without steal time.
    pub corrected_ns: u64,
    /// Steal time, an estimate.
    pub steal_ns: u64,
    /// Throttling, an estimate.
    pub throttled_ns: u64,
    /// Time waiting for a CPU. On most kernels this includes throttling.
    pub run_queue_ns: u64,
    /// Steal time and the larger of the other two, as part of all time in
    /// which the thread was runnable or running.
    pub runnable_share: f64,
}

impl Totals {
    /// How long they were ready to run and had no CPU. Most kernels count a quota's throttling as waiting in the run queue.
    pub fn lacked_ns(&self) -> u64 {
        self.steal_ns + self.throttled_ns.max(self.run_queue_ns)
    }
}

/// A thread or group.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Named {
    /// Its name.
    pub name: String,
    /// True if it belongs to the VM, the JDK or Headway.
    pub is_service: bool,
    /// True for carriers of virtual threads: service threads that run the program's code.
    #[serde(skip)]
    pub is_carrier: bool,
    /// How many threads it has; 1 for a thread.
    pub threads: u64,
    /// The name of one of them.
    #[serde(skip)]
    pub one: String,
    /// Its times.
    #[serde(flatten)]
    pub totals: Totals,
}

/// Transactions of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TransactionReport {
    /// What the application calls them.
    pub kind: String,
    /// How many ended.
    pub count: u64,
    /// How many were never seen to end; in no other metric.
    pub not_ended: u64,
    /// How many of `count` have no CPU time: in virtual threads, or ended on
    /// another thread. Their runnable time is not known either.
    pub without_cpu: u64,
    /// How long they took.
    pub wall: Spread,
    /// CPU time as the kernel gives it.
    pub cpu_ns: u64,
    /// CPU time without steal time.
    pub corrected_ns: u64,
    /// Time blocked acquiring monitors and locks of `java.util.concurrent`.
    pub blocked_ns: u64,
    /// Time parked for anything else.
    pub parked_ns: u64,
    /// Time in `Object.wait`.
    pub waited_ns: u64,
    /// Steal time.
    pub steal_ns: u64,
    /// Throttling.
    pub throttled_ns: u64,
    /// Time waiting for a CPU.
    pub run_queue_ns: u64,
    /// Runnable time of each: steal time and the larger of the other two.
    pub runnable: Spread,
}

/// Lengths, in ns; percentiles are exact to three digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spread {
    /// All together.
    pub total_ns: u64,
    /// Half are no longer than this.
    pub p50_ns: u64,
    /// Nine of ten.
    pub p90_ns: u64,
    /// 99 of 100.
    pub p99_ns: u64,
    /// 999 of 1000.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// A lock whose owners were runnable and did not run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldOff {
    /// The lock.
    #[serde(skip)]
    pub id: LockId,
    /// `Inventory.lock (com.acme.Inventory$1@1a2b3c)`.
    pub lock: String,
    /// Blocked time.
    pub blocked_ns: u64,
    /// How much of it the owner was runnable and did not run, an estimate: within an
    /// interval the owner's run-queue time is spread over the time in which it was
    /// neither blocked nor waiting. Where contentions were sampled, owners did in all of them what they did in
    /// those that were recorded one by one.
    pub owner_no_cpu_ns: u64,
    /// No less than this, and no more than `most_ns`, whatever the owner did when.
    pub least_ns: u64,
    /// See `least_ns`.
    pub most_ns: u64,
    /// `owner_no_cpu_ns` as a part of `blocked_ns`.
    pub share: f64,
    /// Parts of contentions with one owner each that this rests on: those that were recorded one by one.
    pub slices: u64,
    /// Those for more than half of which the owner had no CPU.
    pub slices_no_cpu: u64,
}

/// An interval of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Window {
    /// Where it begins.
    pub start_ns: u64,
    /// How long it is.
    pub duration_ns: u64,
    /// CPU time.
    pub cpu_ns: u64,
    /// Steal time.
    pub steal_ns: u64,
    /// Throttling.
    pub throttled_ns: u64,
    /// Time waiting for a CPU.
    pub run_queue_ns: u64,
    /// Measured intervals in it.
    #[serde(skip)]
    pub intervals: u64,
    /// Those whose steal time was divided CPU by CPU.
    #[serde(skip)]
    pub refined_intervals: u64,
    /// The machine meanwhile, all processes together.
    #[serde(skip)]
    pub machine: MachineTotals,
    /// The quota meanwhile; all zero if there is none.
    #[serde(skip)]
    pub quota: QuotaReport,
}

impl StealReport {
    /// True if steal time is in the CPU times of the kernel, and must be subtracted.
    pub fn corrects(&self) -> bool {
        self.accounting == StealAccounting::Included.name()
    }

    /// Keeps the `n` first rows of every list.
    pub fn keep_top(&mut self, n: usize) {
        self.threads.truncate(n);
        self.groups.truncate(n);
        self.transactions.truncate(n);
        self.locks.truncate(n);
    }
}
