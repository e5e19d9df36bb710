//! The part of a report that is about samples.

use super::samples::Samples;
use super::weight::{Measure, Unit, Weight};
use super::{CallTree, Origin};
use crate::aggregate::share;
use crate::names::Names;
use serde::Serialize;

/// Contexts that a report names at most.
const MOST_PATHS: usize = 100;

/// Methods in which a thread waits for another one: events show that.
const WAITS: [&str; 2] = ["java.lang.Object.wait", "jdk.internal.misc.Unsafe.park"];

/// Execution samples. Shares are parts of the samples of running threads: of
/// their time, or where samples do not say what time they stand for, of their
/// number.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SampleReport {
    /// How many samples.
    pub count: u64,
    /// How many of running threads (in Java or native code).
    pub running: u64,
    /// How many of waiting threads.
    pub waiting: u64,
    /// What `methods` and `paths` show: CPU time, or where the recording has
    /// no samples of it, wall-clock time.
    pub measure: Measure,
    /// What shares are shares of: time, or the number of samples.
    pub unit: Unit,
    /// Time that the samples of running threads stand for.
    pub running_ns: u64,
    /// Time that the samples of waiting threads stand for.
    pub waiting_ns: u64,
    /// Samples whose stack lacks its root.
    pub truncated: u64,
    /// Samples without any stack.
    pub without_stack: u64,
    /// Methods, most self time first.
    pub methods: Vec<SampledMethod>,
    /// Calling contexts with most time of their own.
    pub stacks: Vec<SampledPath>,
    /// The same of samples of waiting threads, without those in waits that events show: threads in sleep, I/O or native
    /// code, and blocked ones.
    #[serde(skip)]
    pub off_cpu: Vec<SampledPath>,
    /// The time of all such samples, those included that have no place in `off_cpu`.
    #[serde(skip)]
    pub off_cpu_ns: u64,
}

/// A method in samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SampledMethod {
    /// `pkg.Class.method`.
    pub method: String,
    /// Samples in which it was the leaf.
    pub self_samples: u64,
    /// Samples in which it was anywhere on the stack.
    pub total_samples: u64,
    /// Time that the former stand for.
    pub self_ns: u64,
    /// Time that the latter stand for.
    pub total_ns: u64,
    /// Its own part of the whole.
    pub self_share: f64,
    /// Its part of the whole with all that it called.
    pub total_share: f64,
}

impl SampledMethod {
    /// True if it was the leaf at least once. Of blocked time, only locks are.
    pub fn has_self_time(&self) -> bool {
        self.self_samples > 0 || self.self_ns > 0
    }
}

/// A calling context in samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SampledPath {
    /// Its own part of the whole.
    pub share: f64,
    /// Time of its own.
    pub ns: u64,
    /// Samples of its own.
    pub samples: u64,
    /// The call stack, leaf first.
    pub stack: Vec<String>,
}

impl SampleReport {
    /// Keeps the `n` first of every list.
    pub fn keep_top(&mut self, n: usize) {
        self.methods.truncate(n);
        self.stacks.truncate(n);
    }
}

/// Part of the blocked time below which samples of the owner say too little of what it did.
const LEAST_COVERAGE: f64 = 0.05;
/// Samples from which on something is said of what owners did.
const FEW: u64 = 5;
/// The same of samples that cover less than [`HALF`] of the time: a few of them may all be of one short moment.
const FEW_OF_PART: u64 = 20;
const HALF: f64 = 0.5;

/// True if so many samples, which cover such a part of the time, say what owners did. Parks, such a part of what is
/// covered, are known exactly.
pub fn suffice(covered: f64, samples: u64, parked: f64) -> bool {
    let least = if covered < HALF { FEW_OF_PART } else { FEW };
    covered >= LEAST_COVERAGE && (samples >= least || parked >= HALF)
}

/// What the owner of a contended lock executed while others waited.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OwnerActivity {
    /// The lock.
    pub lock: String,
    /// The method that owned it; `unknown` where that is not known.
    pub owner_method: String,
    /// Time threads were blocked by it, without pauses of the VM; of a sampled recording, the part
    /// that was recorded one by one.
    pub blocked_ns: u64,
    /// Part of `blocked_ns` that the samples account for: each stands for its
    /// time once per thread that was blocked. Less where the owner was neither
    /// running nor sampled while it waited; may exceed `blocked_ns` by chance.
    pub sampled_ns: u64,
    /// Part of `sampled_ns` in which the owner itself waited.
    pub waiting_ns: u64,
    /// Part of `sampled_ns` in which the owner, a virtual thread, was parked: exact.
    #[serde(skip_serializing_if = "is_zero")]
    pub parked_ns: u64,
    /// `sampled_ns` as a part of `blocked_ns`, 1 at most: the part of the blocked time of
    /// which samples of the owner are known. 0 where samples have no weight.
    pub coverage: f64,
    /// Samples, each once per thread that was blocked.
    pub samples: u64,
    /// Samples, each once: how many stacks of the owner there are.
    pub samples_taken: u64,
    /// Samples of the owner whose stack lacks the frame that owned the lock: they
    /// say nothing about the critical section, and count nowhere else.
    pub outside_samples: u64,
    /// Lines of code that ran, most time first.
    pub lines: Vec<OwnerSpot>,
    /// Call stacks from the method that owned the lock to what ran, most time first.
    pub stacks: Vec<OwnerPath>,
}

impl OwnerActivity {
    /// True if the samples say what the owner did; see [`suffice`].
    pub fn suffices(&self) -> bool {
        let covered = if self.sampled_ns > 0 { self.coverage } else { 1.0 };
        suffice(covered, self.samples_taken, self.parked_ns as f64 / self.sampled_ns.max(1) as f64)
    }

    /// The part of the sampled time in which the owner itself did not run.
    pub fn not_running(&self) -> f64 {
        self.waiting_ns as f64 / self.sampled_ns.max(1) as f64
    }
}

// serde's skip_serializing_if hands over a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// A line of code that an owner executed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OwnerSpot {
    /// `pkg.Class.method:line`.
    pub frame: String,
    /// Part of the sampled time.
    pub share: f64,
}

/// A call stack from the method that owned a lock to what it executed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OwnerPath {
    /// Part of the sampled time.
    pub share: f64,
    /// Leaf first; the last frame is the method that owned the lock.
    pub stack: Vec<String>,
}

impl OwnerActivity {
    /// Keeps the `n` first of every list.
    pub fn keep_top(&mut self, n: usize) {
        self.lines.truncate(n);
        self.stacks.truncate(n);
    }
}

impl Samples {
    /// What the samples say; `None` if there were none.
    pub fn report(&self, names: &Names) -> Option<SampleReport> {
        let counts = self.counts();
        let count = counts.running + counts.waiting + counts.runnable;
        if count == 0 {
            return None;
        }
        let measure = if counts.running > 0 { Measure::Cpu } else { Measure::Wall };
        let (tree, _) = self.to_call_tree(measure, names);
        let cpu = self.total(Measure::Cpu);
        let waiting = self.waiting_tree(names);
        Some(SampleReport {
            count,
            running: counts.running,
            waiting: counts.waiting,
            measure,
            unit: tree.unit(),
            running_ns: cpu.ns,
            waiting_ns: self.waiting().ns,
            truncated: counts.truncated,
            without_stack: counts.without_stack,
            methods: flat(&tree),
            stacks: hot_paths(&tree, MOST_PATHS),
            off_cpu: off_cpu(&waiting),
            off_cpu_ns: off_cpu_ns(&waiting),
        })
    }
}

/// True for a method in which threads wait as events show.
fn is_wait(frame: &str) -> bool {
    WAITS.iter().any(|wait| frame.starts_with(wait))
}

/// See [`SampleReport::off_cpu`].
fn off_cpu(waiting: &CallTree) -> Vec<SampledPath> {
    let mut paths = hot_paths(waiting, MOST_PATHS);
    paths.retain(|path| !path.stack.iter().any(|frame| is_wait(frame)));
    paths
}

/// See [`SampleReport::off_cpu_ns`].
fn off_cpu_ns(waiting: &CallTree) -> u64 {
    let mut waits = vec![false; waiting.len()];
    let mut ns = 0;
    for (at, context) in waiting.contexts() {
        let is_in_wait = waits[context.parent as usize] || is_wait(waiting.method(context.method).name);
        waits[at as usize] = is_in_wait;
        ns += if is_in_wait { 0 } else { context.own.ns };
    }
    ns
}

/// Methods of a tree, most of their own first, without what is not known, which is separate.
pub fn flat(tree: &CallTree) -> Vec<SampledMethod> {
    let share = |weight| share_of(tree, weight);
    tree.flat()
        .into_iter()
        .filter(|sum| tree.method(sum.method).origin != Origin::Unknown)
        .map(|sum| SampledMethod {
            method: tree.method(sum.method).name.to_owned(),
            self_samples: sum.own.count,
            total_samples: sum.total.count,
            self_ns: sum.own.ns,
            total_ns: sum.total.ns,
            self_share: share(sum.own),
            total_share: share(sum.total),
        })
        .collect()
}

/// The contexts of a tree with most weight of their own.
pub fn hot_paths(tree: &CallTree, most: usize) -> Vec<SampledPath> {
    let describe = |context: u32| {
        let own = tree.context(context).map_or(Weight::default(), |context| context.own);
        let chain = tree.path(context).into_iter().rev().map(|at| tree.text(at)).collect();
        SampledPath { share: share_of(tree, own), ns: own.ns, samples: own.count, stack: chain }
    };
    tree.hottest(most).into_iter().map(describe).collect()
}

fn share_of(tree: &CallTree, weight: Weight) -> f64 {
    let unit = tree.unit();
    share(weight.in_unit(unit), tree.total().in_unit(unit))
}
