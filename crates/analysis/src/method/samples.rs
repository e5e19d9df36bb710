//! Samples in a tree of calling contexts, running and waiting apart.

use super::call_tree::CallTree;
use super::context::{ContextTree, Step, ROOT};
use super::weight::{Grouping, Measure, Weight};
use crate::names::Names;
use headway_model::event::{Sample, SampleState};
use headway_model::{FrameKind, ThreadId};

/// Samples of threads on the CPU.
const ON_CPU: usize = 0;
/// Samples of threads that wait.
const WAITING: usize = 1;
/// Samples by the wall clock of threads that run or could, of recordings that
/// sample CPU time besides.
const RUNNABLE: usize = 2;
/// Samples of waiting threads of the VM, the JDK and Headway: how they wait says nothing of the program.
const SERVICE_WAITING: usize = 3;
/// How many kinds there are.
pub(crate) const LANES: usize = 4;

/// The lane of a sample.
pub(crate) const fn lane(state: SampleState) -> usize {
    match state {
        SampleState::Java | SampleState::Native => ON_CPU,
        SampleState::Waiting => WAITING,
        SampleState::Runnable => RUNNABLE,
    }
}

/// The lanes that make up a measure. Wall-clock time is running plus waiting;
/// where a sampler by the wall clock saw the running threads, too, CPU samples
/// would count the same time again.
pub(crate) const fn lanes(measure: Measure, has_runnable: bool) -> &'static [usize] {
    match (measure, has_runnable) {
        (Measure::Wall, true) => &[RUNNABLE, WAITING, SERVICE_WAITING],
        (Measure::Wall, false) => &[ON_CPU, WAITING, SERVICE_WAITING],
        _ => &[ON_CPU],
    }
}

/// What was counted besides the weights of contexts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleCounts {
    /// Samples of CPU time.
    pub running: u64,
    /// Samples of waiting threads.
    pub waiting: u64,
    /// Samples by the wall clock of threads that run or could.
    pub runnable: u64,
    /// Samples that do not say what time they stand for.
    pub unweighted: u64,
    /// Samples whose stack lacks its root.
    pub truncated: u64,
    /// Samples without any stack.
    pub without_stack: u64,
}

/// See the module's description.
#[derive(Debug)]
pub(crate) struct Samples {
    tree: ContextTree<LANES>,
    grouping: Grouping,
    counts: SampleCounts,
}

impl Samples {
    /// At most `bound` contexts.
    pub fn new(bound: usize, grouping: Grouping, lines: bool) -> Samples {
        Samples { tree: ContextTree::new(bound, lines), grouping, counts: SampleCounts::default() }
    }

    /// Takes a sample in; gives its context.
    pub fn add(&mut self, sample: &Sample, names: &mut Names) -> u32 {
        self.count(sample, names);
        let top = group(&mut self.tree, self.grouping, sample.thread, names);
        let context = self.tree.of_chain(top, sample.chain, names);
        let lane = match lane(sample.state) {
            WAITING if names.thread(sample.thread).is_some_and(|def| def.is_service) => SERVICE_WAITING,
            lane => lane,
        };
        self.tree.weigh(context, lane, Weight::sample(sample.weight.0));
        context
    }

    fn count(&mut self, sample: &Sample, names: &Names) {
        let counts = &mut self.counts;
        match lane(sample.state) {
            ON_CPU => counts.running += 1,
            WAITING => counts.waiting += 1,
            _ => counts.runnable += 1,
        }
        counts.unweighted += u64::from(sample.weight.0 == 0);
        match names.chain(sample.chain) {
            Some(def) => counts.truncated += u64::from(def.chain.truncated),
            None => counts.without_stack += 1,
        }
    }

    pub fn counts(&self) -> SampleCounts {
        self.counts
    }

    /// Weights that a memory bound put elsewhere.
    pub fn folded(&self) -> u64 {
        self.tree.folded
    }

    /// The sum of a measure.
    pub fn total(&self, measure: Measure) -> Weight {
        let mut total = Weight::default();
        lanes(measure, self.counts.runnable > 0).iter().for_each(|lane| total += self.tree.total(*lane));
        total
    }

    /// The sum of all waiting.
    pub fn waiting(&self) -> Weight {
        let mut all = self.tree.total(WAITING);
        all += self.tree.total(SERVICE_WAITING);
        all
    }

    /// The tree of what waiting threads of the application were in.
    pub fn waiting_tree(&self, names: &Names) -> CallTree {
        self.tree.to_call_tree(&[WAITING], names).0
    }

    /// The tree of a measure, and where each context went.
    pub fn to_call_tree(&self, measure: Measure, names: &Names) -> (CallTree, Vec<u32>) {
        self.tree.to_call_tree(lanes(measure, self.counts.runnable > 0), names)
    }
}

/// The context under which a thread's contexts hang.
pub(crate) fn group<const LANES: usize>(
    tree: &mut ContextTree<LANES>,
    grouping: Grouping,
    thread: ThreadId,
    names: &mut Names,
) -> u32 {
    let step = match grouping {
        Grouping::Together => return ROOT,
        Grouping::Thread => Step::Thread(thread),
        Grouping::Group => Step::Group(names.group(thread)),
    };
    tree.below(ROOT, step, FrameKind::default())
}
