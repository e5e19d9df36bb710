//! What samples lie in, and which targets are worth a try.
//!
//! A sample lies in a method if the method is anywhere on its stack, and in a
//! line likewise: what a method calls is a part of it, and would be faster with it.

use crate::definitions::Definitions;
use headway_causal::experiment::{Target, TargetKind};
use headway_model::{ChainId, Frame, FrameKind, MethodId};
use std::collections::hash_map::Entry;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most chains remembered; forgotten all at once beyond.
const MAX_CHAINS: usize = 16_384;
/// Most methods counted.
const MAX_COUNTED: usize = 4_096;
/// Packages of the JDK are not what a developer can change.
const NOT_IN_SCOPE: [&str; 6] = ["java.", "javax.", "jdk.", "sun.", "com.sun.", "io.headway.Headway"];

/// A frame as targets see it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
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
    frames: Arc<[Place]>,
}

impl Seen {
    /// A stack, compared with a target.
    pub fn of(frames: Arc<[Place]>, target: Option<&Target>) -> Seen {
        Seen { hit: target.and_then(|target| lies_in(&frames, target)), frames }
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
            let frames: Vec<Place> = frames.collect();
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

    fn place(&mut self, definitions: &Definitions, frame: Frame) -> Option<Place> {
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
        Some(Place { method: method.clone(), file: file.clone(), line: frame.line, is_compiled })
    }
}

/// The frame by which a stack lies in a target. A called method's own caller is
/// the next frame. What a thread holds no stack says.
fn lies_in(frames: &[Place], target: &Target) -> Option<usize> {
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
        TargetKind::Lock => None,
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
    /// When it was begun to choose: running and waiting.
    seen: u64,
    scope: Vec<String>,
    methods: HashMap<Arc<str>, u64>,
    is_choosing: bool,
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
        counts.choose(seen, ticks);
    }

    /// So much was slept, or waited for the world outside.
    pub fn count_off_cpu(&self, seen: &Seen, is_hit: bool, ticks: u64) {
        let mut counts = lock(&self.counts);
        if is_hit {
            counts.totals.hits += ticks;
            counts.totals.off_cpu += ticks;
        }
        counts.choose(seen, ticks);
        counts.choose_line(seen, ticks);
    }

    /// Samples so far.
    pub fn totals(&self) -> Totals {
        lock(&self.counts).totals
    }

    /// Begins to look for candidates within these packages or classes.
    pub fn choose_from(&self, scope: &[String]) {
        let mut counts = lock(&self.counts);
        let totals = counts.totals;
        *counts = Counts { totals, scope: scope.to_vec(), is_choosing: true, ..Counts::default() };
    }

    /// The methods with most samples since then, at most `most`.
    pub fn chosen(&self, most: usize) -> Vec<Target> {
        let mut counts = lock(&self.counts);
        counts.is_choosing = false;
        let methods = std::mem::take(&mut counts.methods);
        candidates(methods, counts.seen, most)
    }
}

impl Counts {
    fn choose(&mut self, seen: &Seen, ticks: u64) {
        if !self.is_choosing {
            return;
        }
        self.seen += ticks;
        let mut before: Vec<&str> = Vec::new();
        for place in seen.frames.iter() {
            if before.contains(&&*place.method) || !in_scope(&self.scope, &place.method) {
                continue;
            }
            before.push(&place.method);
            add(&mut self.methods, &place.method, ticks);
        }
    }

    /// A line that waits for time to pass or for the world outside: what could
    /// be made shorter is the line, not the method around it.
    fn choose_line(&mut self, seen: &Seen, ticks: u64) {
        let innermost = seen.frames.iter().find(|place| in_scope(&self.scope, &place.method));
        let Some(place) = innermost.filter(|place| self.is_choosing && place.line > 0 && !place.file.is_empty()) else {
            return;
        };
        add(&mut self.methods, &format!("{}:{}", place.file, place.line).into(), ticks);
    }
}

fn add(counts: &mut HashMap<Arc<str>, u64>, name: &Arc<str>, ticks: u64) {
    if let Some(count) = counts.get_mut(name) {
        *count += ticks;
    } else if counts.len() < MAX_COUNTED {
        counts.insert(name.clone(), ticks);
    }
}

fn in_scope(scope: &[String], method: &str) -> bool {
    match scope.is_empty() {
        true => !NOT_IN_SCOPE.iter().any(|prefix| method.starts_with(prefix)),
        false => scope.iter().any(|pattern| method.starts_with(pattern.trim_end_matches('*'))),
    }
}

/// Methods below 3 % of the samples could not show. Of methods that only call
/// each other one is enough: they have the same samples.
fn candidates(methods: HashMap<Arc<str>, u64>, all: u64, most: usize) -> Vec<Target> {
    let mut methods: Vec<(Arc<str>, u64)> = methods.into_iter().filter(|(_, count)| count * 100 >= all * 3).collect();
    let is_line = |name: &str| Target::parse(name).kind == TargetKind::Line;
    let is_run = |name: &str| name.ends_with(".run") || name.ends_with(".main") || name.contains("lambda$");
    methods.sort_by_cached_key(|(name, count)| (std::cmp::Reverse(*count), !is_line(name), is_run(name), name.clone()));
    methods.dedup_by_key(|(_, count)| *count);
    methods.into_iter().take(most).map(|(name, _)| Target::parse(&name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(method: &str, line: u32) -> Place {
        Place { method: method.into(), file: "Shop.java".into(), line, is_compiled: true }
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

    #[test]
    fn candidates_are_the_methods_with_most_samples_in_scope() {
        let targets = Targets::default();
        targets.choose_from(&["a.Shop*".to_owned()]);
        let frames = |names: &[&str]| Seen {
            hit: None,
            frames: names.iter().map(|name| place(name, 1)).collect::<Vec<_>>().into(),
        };
        targets.count(&frames(&["a.Shop.price", "a.Shop.order", "b.Main.main"]), false, 60);
        targets.count(&frames(&["a.Shop.order", "a.Shop.order", "b.Main.main"]), false, 39);
        targets.count(&frames(&["a.Shop.rare"]), false, 1);
        let names: Vec<String> = targets.chosen(5).into_iter().map(|target| target.name).collect();
        assert_eq!(names, ["a.Shop.order", "a.Shop.price"]);
    }

    #[test]
    fn the_jdk_is_not_in_scope_unless_it_is_asked_for() {
        assert!(!in_scope(&[], "java.util.HashMap.get") && in_scope(&[], "javafoo.Bar.baz"));
        assert!(in_scope(&["java.util".to_owned()], "java.util.HashMap.get"));
    }
}
