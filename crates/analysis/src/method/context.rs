//! The tree of calling contexts while it grows.
//!
//! A context is a method together with the contexts that led to it; contexts
//! with the same methods from the root on are one (Ammons et al., Exploiting
//! hardware performance counters with flow and context sensitive profiling,
//! PLDI 1997). A weight belongs to the context that was executing, so that the
//! sum over all contexts is the whole. Stacks whose root is missing hang below
//! a node of their own, which stands for the frames that are not known; a
//! sample without any stack belongs to that node itself (Hofer, Efficient
//! sampling-based profiling, section 3.2.4).
//!
//! Memory is bounded: beyond the bound, what would need a new context is
//! weighed at the nearest one that exists, below it in a node for such things.

use super::call_tree::{CallTree, Method, Origin, TreeBuilder, NO_OWNER, UNKNOWN_FRAMES};
use super::weight::Weight;
use crate::names::{NameId, Names, TextId};
use crate::report::{FOLDED, PAUSED};
use headway_model::{ChainId, Frame, FrameKind, LockId, ThreadId};
use rustc_hash::FxHashMap;

/// The root of every tree.
pub(crate) const ROOT: u32 = 0;

/// What leads from a context to one below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// A call; the line is 0 where lines are not distinguished.
    Call(NameId, u32),
    /// Everything below is of this thread.
    Thread(ThreadId),
    /// Everything below is of these threads.
    Group(TextId),
    /// Everything below happened while this lock was contended.
    Lock(LockId),
    /// Frames that are not known.
    Unknown,
    /// Time for which no owner of a lock is known, or in which the lock had none.
    NoOwner,
    /// The whole VM was paused, whoever owned the lock.
    Paused,
    /// Contexts that a memory bound did not let us keep.
    Folded,
}

#[derive(Clone, Copy, Debug)]
struct Node<const LANES: usize> {
    parent: u32,
    step: Step,
    /// Of the frame seen last.
    kind: FrameKind,
    own: [Weight; LANES],
}

/// See the module's description. Each context has a weight per lane.
#[derive(Debug)]
pub(crate) struct ContextTree<const LANES: usize> {
    nodes: Vec<Node<LANES>>,
    children: FxHashMap<(u32, Step), u32>,
    /// Where chains led to, from where; only a shortcut.
    leaves: FxHashMap<(u32, ChainId), u32>,
    lines: bool,
    bound: usize,
    /// Weights that the bound put elsewhere.
    pub folded: u64,
}

impl<const LANES: usize> ContextTree<LANES> {
    /// A tree of at most `bound` contexts; `lines` distinguishes calls from different
    /// lines apart.
    pub fn new(bound: usize, lines: bool) -> ContextTree<LANES> {
        let root =
            Node { parent: ROOT, step: Step::Unknown, kind: FrameKind::default(), own: [Weight::default(); LANES] };
        ContextTree {
            nodes: vec![root],
            children: FxHashMap::default(),
            leaves: FxHashMap::default(),
            lines,
            bound: bound.clamp(1, u32::MAX as usize / 2),
            folded: 0,
        }
    }

    /// The context one step below `parent`, or the one for what cannot be kept.
    pub fn below(&mut self, parent: u32, step: Step, kind: FrameKind) -> u32 {
        if let Some(node) = self.children.get(&(parent, step)) {
            if let Some(node) = self.nodes.get_mut(*node as usize) {
                node.kind = kind;
            }
            return *node;
        }
        // There are at most as many folding contexts as others.
        if self.nodes.len() >= self.bound && step != Step::Folded {
            self.folded += 1;
            return self.below(parent, Step::Folded, FrameKind::default());
        }
        let node = self.nodes.len() as u32;
        self.nodes.push(Node { parent, step, kind, own: [Weight::default(); LANES] });
        self.children.insert((parent, step), node);
        node
    }

    /// The context of a whole chain below `from`.
    pub fn of_chain(&mut self, from: u32, chain: ChainId, names: &mut Names) -> u32 {
        if let Some(leaf) = self.leaves.get(&(from, chain)) {
            return *leaf;
        }
        let leaf = match names.chain(chain) {
            Some(def) => {
                let top =
                    if def.chain.truncated { self.below(from, Step::Unknown, FrameKind::default()) } else { from };
                self.of_frames(top, &def.chain.frames, names)
            }
            None => self.below(from, Step::Unknown, FrameKind::default()),
        };
        if self.leaves.len() >= self.bound {
            // Only a shortcut; it fills again.
            self.leaves.clear();
        }
        self.leaves.insert((from, chain), leaf);
        leaf
    }

    /// The context of some frames (leaf first) below `from`.
    pub fn of_frames(&mut self, from: u32, frames: &[Frame], names: &mut Names) -> u32 {
        let mut at = from;
        for frame in frames.iter().rev() {
            let line = if self.lines { frame.line } else { 0 };
            at = self.below(at, Step::Call(names.method(frame.method), line), frame.kind);
            if self.nodes.get(at as usize).is_some_and(|node| node.step == Step::Folded) {
                break;
            }
        }
        at
    }

    /// Adds to a context.
    pub fn weigh(&mut self, node: u32, lane: usize, weight: Weight) {
        if let Some(own) = self.nodes.get_mut(node as usize).and_then(|node| node.own.get_mut(lane)) {
            *own += weight;
        }
    }

    /// The sum of a lane.
    pub fn total(&self, lane: usize) -> Weight {
        let mut total = Weight::default();
        self.nodes.iter().filter_map(|node| node.own.get(lane)).for_each(|own| total += *own);
        total
    }

    /// The contexts that have a weight in one of the lanes, or lead to such,
    /// with readable names. The second part says where each context went.
    pub fn to_call_tree(&self, lanes: &[usize], names: &Names) -> (CallTree, Vec<u32>) {
        let own: Vec<Weight> = self.nodes.iter().map(|node| sum(&node.own, lanes)).collect();
        let mut wanted: Vec<bool> = own.iter().map(|own| !own.is_zero()).collect();
        // Parents come before their children.
        for (index, node) in self.nodes.iter().enumerate().rev() {
            if wanted.get(index).copied().unwrap_or_default() {
                if let Some(parent) = wanted.get_mut(node.parent as usize) {
                    *parent = true;
                }
            }
        }
        let mut builder = TreeBuilder::default();
        let mut places = vec![ROOT; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate().skip(1) {
            if wanted.get(index).copied().unwrap_or_default() {
                let parent = places.get(node.parent as usize).copied().unwrap_or(ROOT);
                let place = put(&mut builder, parent, node.step, node.kind, names);
                if let Some(slot) = places.get_mut(index) {
                    *slot = place;
                }
            }
        }
        for (own, place) in own.iter().zip(&places) {
            builder.weigh(*place, *own);
        }
        (builder.finish(), places)
    }
}

fn sum(own: &[Weight], lanes: &[usize]) -> Weight {
    let mut total = Weight::default();
    lanes.iter().filter_map(|lane| own.get(*lane)).for_each(|own| total += *own);
    total
}

fn put(builder: &mut TreeBuilder, parent: u32, step: Step, kind: FrameKind, names: &Names) -> u32 {
    let (text, origin) = match step {
        Step::Call(name, line) => {
            let text = names.method_name(name).map_or("", |name| name.full.as_str());
            let source = names.source(name);
            let origin = if source.is_native { Origin::Native } else { Origin::Java };
            return builder.below(parent, Method { name: text, source_file: &source.file, origin }, line, kind);
        }
        Step::Thread(thread) => (names.thread_text(thread), Origin::Threads),
        Step::Group(group) => (names.text(group).to_owned(), Origin::Threads),
        Step::Lock(lock) => (names.lock_text(lock), Origin::Lock),
        Step::Unknown => (UNKNOWN_FRAMES.to_owned(), Origin::Unknown),
        Step::NoOwner => (NO_OWNER.to_owned(), Origin::Unknown),
        Step::Paused => (PAUSED.to_owned(), Origin::Unknown),
        Step::Folded => (FOLDED.to_owned(), Origin::Unknown),
    };
    builder.below(parent, Method { name: &text, source_file: "", origin }, 0, kind)
}
