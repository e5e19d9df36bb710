//! What samples lie in, and which targets are worth a try.
//!
//! A sample lies in a method if the method is anywhere on its stack, and in a
//! line likewise: what a method calls is a part of it, and would be faster with it.

use crate::definitions::Definitions;
use headway_causal::experiment::{Target, TargetKind};
use headway_model::{ChainId, MethodId};
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
}

/// What the matcher found of a sample.
#[derive(Clone, Default)]
pub struct Seen {
    /// True if it lies in the target.
    pub is_hit: bool,
    frames: Arc<[Place]>,
}

struct Chain {
    frames: Arc<[Place]>,
    /// Which target it was compared with last, and what came of it.
    compared: (u64, bool),
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
        resolve: impl FnOnce() -> Vec<(MethodId, u32)>,
    ) -> Seen {
        if chain == ChainId::NONE {
            return Seen::default();
        }
        if self.chains.len() >= MAX_CHAINS {
            self.chains.clear();
        }
        if !self.chains.contains_key(&chain) {
            let frames = resolve().into_iter().filter_map(|(method, line)| self.place(definitions, method, line));
            let frames: Vec<Place> = frames.collect();
            self.chains.insert(chain, Chain { frames: frames.into(), compared: (0, false) });
        }
        let Some(known) = self.chains.get_mut(&chain) else { return Seen::default() };
        let (number, target) = causal.targets.current();
        if known.compared.0 != number {
            known.compared = (number, target.is_some_and(|target| lies_in(&known.frames, &target)));
        }
        Seen { is_hit: known.compared.1, frames: known.frames.clone() }
    }

    fn place(&mut self, definitions: &Definitions, method: MethodId, line: u32) -> Option<Place> {
        let (method, file) = match self.methods.entry(method) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let known = definitions.method_of(method)?;
                if known.class.is_empty() {
                    return None;
                }
                let name = format!("{}.{}", known.class, known.name);
                unknown.insert((name.into(), known.source_file.clone()))
            }
        };
        Some(Place { method: method.clone(), file: file.clone(), line })
    }
}

/// True if a stack lies in a target. A called method's own caller is the next
/// frame.
fn lies_in(frames: &[Place], target: &Target) -> bool {
    match target.kind {
        TargetKind::Method => frames.iter().any(|place| is_called(&place.method, &target.name)),
        TargetKind::Line => frames.iter().any(|place| {
            let line = target.name.strip_prefix(&*place.file).and_then(|rest| rest.strip_prefix(':'));
            !place.file.is_empty() && line.is_some_and(|line| line.parse() == Ok(place.line))
        }),
        TargetKind::Call => target.name.split_once(" < ").is_some_and(|(callee, caller)| {
            frames
                .windows(2)
                .any(|pair| matches!(pair, [a, b] if is_called(&a.method, callee) && is_called(&b.method, caller)))
        }),
    }
}

/// A method may be named without its package, or a part of it.
fn is_called(method: &str, name: &str) -> bool {
    method.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// The target of the experiment under way, and what samples say of others.
#[derive(Default)]
pub struct Targets {
    current: Mutex<(u64, Option<Arc<Target>>)>,
    counts: Mutex<Counts>,
}

/// Samples since the last look.
#[derive(Default)]
pub struct Counts {
    /// All of application threads.
    pub all: u64,
    /// Those in the target.
    pub hits: u64,
    scope: Vec<String>,
    methods: HashMap<Arc<str>, u64>,
    is_choosing: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Targets {
    fn current(&self) -> (u64, Option<Arc<Target>>) {
        let current = lock(&self.current);
        (current.0, current.1.clone())
    }

    /// What counts as a hit from now on.
    pub fn aim(&self, target: Option<Target>) {
        let mut current = lock(&self.current);
        *current = (current.0 + 1, target.map(Arc::new));
    }

    /// A sample.
    pub fn count(&self, seen: &Seen, ticks: u64) {
        let mut counts = lock(&self.counts);
        counts.all += ticks;
        counts.hits += if seen.is_hit { ticks } else { 0 };
        if !counts.is_choosing {
            return;
        }
        let mut before: Vec<&str> = Vec::new();
        for place in seen.frames.iter() {
            if before.contains(&&*place.method) || !in_scope(&counts.scope, &place.method) {
                continue;
            }
            before.push(&place.method);
            if let Some(count) = counts.methods.get_mut(&place.method) {
                *count += ticks;
            } else if counts.methods.len() < MAX_COUNTED {
                counts.methods.insert(place.method.clone(), ticks);
            }
        }
    }

    /// Samples so far: all, and those in the target.
    pub fn counts(&self) -> (u64, u64) {
        let counts = lock(&self.counts);
        (counts.all, counts.hits)
    }

    /// Begins to look for candidates within these packages or classes.
    pub fn choose_from(&self, scope: &[String]) {
        let mut counts = lock(&self.counts);
        *counts = Counts { scope: scope.to_vec(), is_choosing: true, ..Counts::default() };
    }

    /// The methods with most samples since then, at most `most`.
    pub fn chosen(&self, most: usize) -> Vec<Target> {
        let mut counts = lock(&self.counts);
        counts.is_choosing = false;
        let methods = std::mem::take(&mut counts.methods);
        candidates(methods, counts.all, most)
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
    let is_run = |name: &str| name.ends_with(".run") || name.ends_with(".main") || name.contains("lambda$");
    methods.sort_by_cached_key(|(name, count)| (std::cmp::Reverse(*count), is_run(name), name.clone()));
    methods.dedup_by_key(|(_, count)| *count);
    let target = |(name, _): (Arc<str>, u64)| Target { kind: TargetKind::Method, name: name.to_string() };
    methods.into_iter().take(most).map(target).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(method: &str, line: u32) -> Place {
        Place { method: method.into(), file: "Shop.java".into(), line }
    }

    fn target(kind: TargetKind, name: &str) -> Target {
        Target { kind, name: name.to_owned() }
    }

    #[test]
    fn a_stack_lies_in_each_of_its_methods_lines_and_calls() {
        let stack = [place("a.Shop.price", 7), place("a.Shop.order", 42), place("a.Main.main", 3)];
        let lies = |kind, name| lies_in(&stack, &target(kind, name));
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
            is_hit: false,
            frames: names.iter().map(|name| place(name, 1)).collect::<Vec<_>>().into(),
        };
        targets.count(&frames(&["a.Shop.price", "a.Shop.order", "b.Main.main"]), 60);
        targets.count(&frames(&["a.Shop.order", "a.Shop.order", "b.Main.main"]), 39);
        targets.count(&frames(&["a.Shop.rare"]), 1);
        let names: Vec<String> = targets.chosen(5).into_iter().map(|target| target.name).collect();
        assert_eq!(names, ["a.Shop.order", "a.Shop.price"]);
    }

    #[test]
    fn the_jdk_is_not_in_scope_unless_it_is_asked_for() {
        assert!(!in_scope(&[], "java.util.HashMap.get") && in_scope(&[], "javafoo.Bar.baz"));
        assert!(in_scope(&["java.util".to_owned()], "java.util.HashMap.get"));
    }
}
