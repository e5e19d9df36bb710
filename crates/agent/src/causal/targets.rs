//! What samples lie in.
//!
//! A sample lies in a method if the method is anywhere on its stack, and in a
//! line likewise: what a method calls is a part of it, and would be faster with it.

use super::choosing::{Choosing, Chosen};
use crate::definitions::Definitions;
use crate::options::Wishes;
use headway_causal::experiment::{Target, TargetKind};
use headway_model::{ChainId, Frame, FrameKind, MethodId};
use std::collections::hash_map::Entry;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most chains remembered; forgotten all at once beyond.
const MAX_CHAINS: usize = 16_384;

/// A frame as targets see it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SampledLine {
    /// `pkg.Class.method`.
    pub method: Arc<str>,
    /// `File.java`.
    pub file: Arc<str>,
    /// 0 if unknown.
    pub line: u32,
    /// False if it ran in the interpreter.
    pub is_compiled: bool,
}

/// What the matcher found of a sample.
#[derive(Clone, Default)]
pub struct Seen {
    /// The frame by which it lies in the target; `None` if it does not.
    pub hit: Option<usize>,
    frames: Arc<[SampledLine]>,
}

impl Seen {
    /// A stack, compared with a target.
    pub fn of(frames: Arc<[SampledLine]>, target: Option<&Target>) -> Seen {
        Seen { hit: target.and_then(|target| lies_in(&frames, target)), frames }
    }

    /// The stack, leaf first.
    pub fn frames(&self) -> &Arc<[SampledLine]> {
        &self.frames
    }

    /// True if the target's own method ran in the interpreter.
    fn is_interpreted(&self) -> bool {
        self.hit.and_then(|at| self.frames.get(at)).is_some_and(|place| !place.is_compiled)
    }
}

struct Chain {
    /// Which target it was compared with last, and what came of it.
    compared: u64,
    seen: Seen,
}

/// The sampler's memory of chains.
#[derive(Default)]
pub struct Matcher {
    chains: HashMap<ChainId, Chain>,
    methods: HashMap<MethodId, (Arc<str>, Arc<str>)>,
}

impl Matcher {
    /// Forgets everything: ids have become others'.
    pub fn forget(&mut self) {
        self.chains.clear();
        self.methods.clear();
    }

    /// Looks at a sample's chain; `resolve` gives the frames' methods and lines
    /// the first time.
    pub fn look(
        &mut self,
        causal: &super::Causal,
        definitions: &Definitions,
        chain: ChainId,
        resolve: impl FnOnce() -> Vec<Frame>,
    ) -> Seen {
        if chain == ChainId::NONE {
            return Seen::default();
        }
        if self.chains.len() >= MAX_CHAINS {
            self.chains.clear();
        }
        if !self.chains.contains_key(&chain) {
            let frames = resolve().into_iter().filter_map(|frame| self.place(definitions, frame));
            let frames: Vec<SampledLine> = frames.collect();
            self.chains.insert(chain, Chain { compared: 0, seen: Seen { hit: None, frames: frames.into() } });
        }
        let Some(known) = self.chains.get_mut(&chain) else { return Seen::default() };
        let (number, target) = causal.targets.current();
        if known.compared != number {
            known.compared = number;
            known.seen.hit = target.and_then(|target| lies_in(&known.seen.frames, &target));
        }
        known.seen.clone()
    }

    fn place(&mut self, definitions: &Definitions, frame: Frame) -> Option<SampledLine> {
        let (method, file) = match self.methods.entry(frame.method) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let known = definitions.method_of(frame.method)?;
                if known.class.is_empty() {
                    return None;
                }
                let name = format!("{}.{}", known.class, known.name);
                unknown.insert((name.into(), known.source_file.clone()))
            }
        };
        let is_compiled = matches!(frame.kind, FrameKind::Compiled | FrameKind::Inlined);
        Some(SampledLine { method: method.clone(), file: file.clone(), line: frame.line, is_compiled })
    }
}

/// The frame by which a stack lies in a target. A called method's own caller is
/// the next frame. What a thread holds no stack says.
fn lies_in(frames: &[SampledLine], target: &Target) -> Option<usize> {
    match target.kind {
        TargetKind::Method => frames.iter().position(|place| is_called(&place.method, &target.name)),
        TargetKind::Line => frames.iter().position(|place| {
            let line = target.name.strip_prefix(&*place.file).and_then(|rest| rest.strip_prefix(':'));
            !place.file.is_empty() && line.is_some_and(|line| line.parse() == Ok(place.line))
        }),
        TargetKind::Call => target.name.split_once(" < ").and_then(|(callee, caller)| {
            frames
                .windows(2)
                .position(|pair| matches!(pair, [a, b] if is_called(&a.method, callee) && is_called(&b.method, caller)))
        }),
        TargetKind::Lock | TargetKind::Everything => None,
    }
}

/// A method may be named without its package, or a part of it.
pub fn is_called(method: &str, name: &str) -> bool {
    method.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// The target of the experiment under way, and what samples say of others.
#[derive(Default)]
pub struct Targets {
    current: Mutex<(u64, Option<Arc<Target>>)>,
    counts: Mutex<Counts>,
}

/// Samples so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// All of running application threads.
    pub all: u64,
    /// Those in the target, and what was slept there.
    pub hits: u64,
    /// Of them what was slept or waited for the world outside.
    pub off_cpu: u64,
    /// Of them what ran in the interpreter.
    pub interpreted: u64,
}

/// Samples, and what is counted of them.
#[derive(Default)]
struct Counts {
    totals: Totals,
    choosing: Choosing,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Targets {
    /// Its number, and what it is.
    pub fn current(&self) -> (u64, Option<Arc<Target>>) {
        let current = lock(&self.current);
        (current.0, current.1.clone())
    }

    /// What counts as a hit from now on.
    pub fn aim(&self, target: Option<Target>) {
        let mut current = lock(&self.current);
        *current = (current.0 + 1, target.map(Arc::new));
    }

    /// A sample.
    pub fn count(&self, seen: &Seen, is_hit: bool, ticks: u64) {
        let mut counts = lock(&self.counts);
        counts.totals.all += ticks;
        if is_hit {
            counts.totals.hits += ticks;
            counts.totals.interpreted += if seen.is_interpreted() { ticks } else { 0 };
        }
        counts.choosing.take(seen, false, ticks);
    }

    /// So much was slept, or waited for the world outside.
    pub fn count_off_cpu(&self, seen: &Seen, is_hit: bool, ticks: u64) {
        let mut counts = lock(&self.counts);
        if is_hit {
            counts.totals.hits += ticks;
            counts.totals.off_cpu += ticks;
        }
        counts.choosing.take(seen, true, ticks);
    }

    /// Samples so far.
    pub fn totals(&self) -> Totals {
        lock(&self.counts).totals
    }

    /// Begins to look for candidates within the packages or classes that are wished.
    pub fn choose_from(&self, wishes: &Wishes) {
        lock(&self.counts).choosing.begin(&wishes.scope, &wishes.points());
    }

    /// The candidates since then, at most `most`.
    pub fn chosen(&self, most: usize) -> Chosen {
        lock(&self.counts).choosing.end(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(method: &str, line: u32) -> SampledLine {
        SampledLine { method: method.into(), file: "Shop.java".into(), line, is_compiled: true }
    }

    fn target(kind: TargetKind, name: &str) -> Target {
        Target { kind, name: name.to_owned() }
    }

    #[test]
    fn a_stack_lies_in_each_of_its_methods_lines_and_calls() {
        let stack = [place("a.Shop.price", 7), place("a.Shop.order", 42), place("a.Main.main", 3)];
        let lies = |kind, name| lies_in(&stack, &target(kind, name)).is_some();
        assert!(lies(TargetKind::Method, "a.Shop.order") && lies(TargetKind::Method, "Shop.order"));
        assert!(!lies(TargetKind::Method, "hop.order") && !lies(TargetKind::Method, "a.Shop.ord"));
        assert!(lies(TargetKind::Line, "Shop.java:42") && !lies(TargetKind::Line, "Shop.java:4"));
        assert!(lies(TargetKind::Call, "a.Shop.price < a.Shop.order"));
        assert!(!lies(TargetKind::Call, "a.Shop.price < a.Main.main"));
    }
}
