//! Which targets are worth a try, by what samples and waits say.
//!
//! Methods that only call each other have the same samples, and experiments on both
//! would say the same twice: of such only one becomes a candidate. A method that is on
//! every stack gains as much as it is sped up, which nobody needs an experiment for;
//! it is left out where there is something within it.
//!
//! A line that waits for time to pass, or for the world outside, is a candidate of its
//! own: what could be made shorter is the line, not the method around it. Waiting is
//! compared with waiting alone, or a hundred idle threads would hide what runs.

use super::targets::{SampledLine, Seen};
use headway_causal::experiment::Target;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Most stacks that are told apart; others are left out.
const MAX_STACKS: usize = 4_096;
/// Less than this part of the samples could not show.
const LEAST_SHARE: f64 = 0.03;
/// Of two with this part of their stacks in common one is enough.
const ALIKE: f64 = 0.9;
/// What lies in this part of all stacks is the program itself.
const EVERYTHING: f64 = 0.9;
/// Packages of the JDK are not what a developer can change.
const NOT_IN_SCOPE: [&str; 6] = ["java.", "javax.", "jdk.", "sun.", "com.sun.", "io.headway.Headway"];

struct Stack {
    frames: Arc<[SampledLine]>,
    /// Periods that it ran, or waited.
    ticks: u64,
}

/// What was seen since it was begun to choose.
#[derive(Default)]
pub struct Choosing {
    is_on: bool,
    scope: Vec<String>,
    /// By the address of their frames, which they keep, and whether they waited.
    stacks: HashMap<(usize, bool), Stack>,
}

impl Choosing {
    /// Begins, within these packages or classes.
    pub fn begin(&mut self, scope: &[String]) {
        *self = Choosing { is_on: true, scope: scope.to_vec(), stacks: HashMap::new() };
    }

    /// A stack that ran, or waited for the world outside, for so many periods.
    pub fn take(&mut self, seen: &Seen, has_waited: bool, ticks: u64) {
        if !self.is_on {
            return;
        }
        let key = (Arc::as_ptr(seen.frames()).cast::<u8>() as usize, has_waited);
        if let Some(stack) = self.stacks.get_mut(&key) {
            stack.ticks += ticks;
        } else if self.stacks.len() < MAX_STACKS {
            self.stacks.insert(key, Stack { frames: seen.frames().clone(), ticks });
        }
    }

    /// The candidates, at most `most`, the most seen first. Nothing more is taken.
    pub fn end(&mut self, most: usize) -> Vec<Target> {
        let chosen = std::mem::take(self);
        let mut stacks: Vec<(bool, Stack)> =
            chosen.stacks.into_iter().map(|((_, waited), stack)| (waited, stack)).collect();
        // The same whatever the addresses were.
        stacks.sort_by(|(_, a), (_, b)| b.ticks.cmp(&a.ticks).then_with(|| names(a).cmp(names(b))));
        candidates(&chosen.scope, &stacks, most)
    }
}

fn names(stack: &Stack) -> impl Iterator<Item = (&str, u32)> {
    stack.frames.iter().map(|place| (&*place.method, place.line))
}

/// Something that could be a target, and the stacks that lie in it.
struct Candidate {
    name: String,
    is_line: bool,
    stacks: Vec<usize>,
    ticks: u64,
}

impl Candidate {
    /// What part of the time of either belongs to both.
    fn likeness(&self, other: &Candidate, stacks: &[(bool, Stack)]) -> f64 {
        let ticks = |at: &usize| stacks.get(*at).map_or(0, |(_, stack)| stack.ticks);
        let both: u64 = self.stacks.iter().filter(|at| other.stacks.binary_search(at).is_ok()).map(ticks).sum();
        both as f64 / (self.ticks + other.ticks).saturating_sub(both).max(1) as f64
    }

    /// Where threads begin, and what the compiler made: others say more.
    fn says_little(&self) -> bool {
        let last = self.name.rsplit('.').next().unwrap_or_default();
        !self.is_line && (["run", "main", "call"].contains(&last) || self.name.contains("lambda$"))
    }
}

fn candidates(scope: &[String], stacks: &[(bool, Stack)], most: usize) -> Vec<Target> {
    let sum = |waited: Option<bool>| -> u64 {
        stacks.iter().filter(|(w, _)| waited.is_none_or(|waited| waited == *w)).map(|(_, stack)| stack.ticks).sum()
    };
    let (running, waiting, all) = (sum(Some(false)), sum(Some(true)), sum(None));
    let mut lines = waiting_lines(scope, stacks);
    lines.retain(|line| line.ticks as f64 >= LEAST_SHARE * waiting as f64);
    let mut methods = methods(scope, stacks);
    methods.retain(|method| {
        let ran = |at: &usize| stacks.get(*at).filter(|(waited, _)| !waited).map_or(0, |(_, stack)| stack.ticks);
        let ran: u64 = method.stacks.iter().map(ran).sum();
        ran > 0 && ran as f64 >= LEAST_SHARE * running as f64
    });
    // Half of the places at most are for lines.
    let mut kept: Vec<Candidate> = Vec::new();
    take_unlike(&mut kept, lines, stacks, most.div_ceil(2));
    // One more than there is room for: the program itself may go.
    take_unlike(&mut kept, methods, stacks, most + 1);
    let is_everything = |one: &Candidate| one.ticks as f64 >= EVERYTHING * all as f64;
    if kept.iter().any(|one| !is_everything(one)) {
        kept.retain(|one| one.is_line || !is_everything(one));
    }
    kept.sort_by_key(|one| (Reverse(one.ticks), one.name.clone()));
    kept.into_iter().take(most).map(|one| Target::parse(&one.name)).collect()
}

/// Adds those that are not like one which is there already.
fn take_unlike(kept: &mut Vec<Candidate>, mut more: Vec<Candidate>, stacks: &[(bool, Stack)], most: usize) {
    more.sort_by_key(|one| (Reverse(one.ticks), one.says_little(), one.name.clone()));
    for one in more {
        let alike = kept.iter().position(|other| other.likeness(&one, stacks) >= ALIKE);
        let has_room = kept.len() < most;
        match alike.and_then(|at| kept.get_mut(at)) {
            Some(other) if other.says_little() && !one.says_little() => *other = one,
            Some(_) => {}
            None if has_room => kept.push(one),
            None => {}
        }
    }
}

/// Every method in scope, with the stacks that it is on.
fn methods(scope: &[String], stacks: &[(bool, Stack)]) -> Vec<Candidate> {
    let mut found: BTreeMap<&str, Candidate> = BTreeMap::new();
    for (at, (_, stack)) in stacks.iter().enumerate() {
        for place in stack.frames.iter().filter(|place| in_scope(scope, &place.method)) {
            add(&mut found, &place.method, at, stack.ticks);
        }
    }
    let named = |(name, one): (&str, Candidate)| Candidate { name: name.to_owned(), ..one };
    found.into_iter().map(named).collect()
}

/// The innermost line in scope of every stack that waited.
fn waiting_lines(scope: &[String], stacks: &[(bool, Stack)]) -> Vec<Candidate> {
    let mut found: BTreeMap<(&str, u32), Candidate> = BTreeMap::new();
    for (at, (_, stack)) in stacks.iter().enumerate().filter(|(_, (waited, _))| *waited) {
        let innermost = stack.frames.iter().find(|place| in_scope(scope, &place.method));
        if let Some(place) = innermost.filter(|place| place.line > 0 && !place.file.is_empty()) {
            add(&mut found, (&*place.file, place.line), at, stack.ticks);
        }
    }
    let named = |((file, line), one)| Candidate { name: format!("{file}:{line}"), is_line: true, ..one };
    found.into_iter().map(named).collect()
}

/// A stack lies in something; once, however often it is on it.
fn add<K: Ord>(found: &mut BTreeMap<K, Candidate>, key: K, at: usize, ticks: u64) {
    let none = Candidate { name: String::new(), is_line: false, stacks: Vec::new(), ticks: 0 };
    let one = found.entry(key).or_insert(none);
    if one.stacks.last() != Some(&at) {
        one.stacks.push(at);
        one.ticks += ticks;
    }
}

fn in_scope(scope: &[String], method: &str) -> bool {
    match scope.is_empty() {
        true => !NOT_IN_SCOPE.iter().any(|prefix| method.starts_with(prefix)),
        false => scope.iter().any(|pattern| method.starts_with(pattern.trim_end_matches('*'))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a.A.inner:7 < a.A.outer:3`, innermost first.
    fn stack(text: &str) -> Seen {
        let place = |frame: &str| {
            let (method, line) = frame.split_once(':').unwrap();
            let file = format!("{}.java", method.split('.').rev().nth(1).unwrap());
            SampledLine { method: method.into(), file: file.into(), line: line.parse().unwrap(), is_compiled: true }
        };
        Seen::of(text.split(" < ").map(place).collect(), None)
    }

    fn chosen(scope: &[&str], most: usize, ran: &[(&str, u64)], waited: &[(&str, u64)]) -> Vec<String> {
        let mut choosing = Choosing::default();
        choosing.begin(&scope.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>());
        let stacks: Vec<(Seen, bool, u64)> = ran
            .iter()
            .map(|(text, ticks)| (stack(text), false, *ticks))
            .chain(waited.iter().map(|(text, ticks)| (stack(text), true, *ticks)))
            .collect();
        stacks.iter().for_each(|(seen, has_waited, ticks)| choosing.take(seen, *has_waited, *ticks));
        choosing.end(most).into_iter().map(|target| target.name).collect()
    }

    #[test]
    fn the_methods_with_most_samples_in_scope_and_not_the_program_itself() {
        let ran = [
            ("a.Shop.price:1 < a.Shop.order:2 < b.Main.main:3", 60),
            ("a.Shop.order:2 < a.Shop.order:2 < b.Main.main:3", 25),
            ("a.Shop.stock:9 < b.Main.main:3", 14),
            ("a.Shop.rare:4 < b.Main.main:3", 1),
        ];
        assert_eq!(chosen(&["a.Shop*"], 5, &ran, &[]), ["a.Shop.order", "a.Shop.price", "a.Shop.stock"]);
        assert_eq!(chosen(&[], 5, &ran, &[]), ["a.Shop.order", "a.Shop.price", "a.Shop.stock"]);
        assert_eq!(chosen(&["a.Shop*"], 1, &ran, &[]), ["a.Shop.order"]);
    }

    #[test]
    fn of_methods_that_only_call_each_other_one_that_says_something() {
        let ran = [
            ("a.A.inner:1 < a.A.outer:2 < a.A.lambda$go$0:3", 50),
            ("a.A.outer:2 < a.A.lambda$go$0:3", 2),
            ("a.B.other:1", 48),
        ];
        assert_eq!(chosen(&[], 5, &ran, &[]), ["a.A.outer", "a.B.other"]);
        // Where there is nothing else, the program itself is better than nothing.
        assert_eq!(chosen(&[], 5, &[("a.A.work:1 < a.A.main:2", 10)], &[]), ["a.A.work"]);
    }

    #[test]
    fn a_line_that_waits_has_a_place_however_many_methods_run() {
        let ran: Vec<(String, u64)> = (0..20).map(|n| (format!("a.M{n}.work:1 < a.A.transfer:9"), 50)).collect();
        let ran: Vec<(&str, u64)> = ran.iter().map(|(text, ticks)| (text.as_str(), *ticks)).collect();
        let back_off = ("java.lang.Thread.sleep:1 < a.A.pause:7 < a.A.backOff:8 < a.A.transfer:9", 40);
        let names = chosen(&[], 4, &ran, &[back_off]);
        assert!(names.contains(&"A.java:7".to_owned()) && names.len() == 4, "{names:?}");
        assert!(!names.contains(&"a.A.transfer".to_owned()), "{names:?}");
    }

    #[test]
    fn idle_threads_do_not_hide_what_runs() {
        let idle = [("java.lang.Thread.sleep:1 < a.Idle.nap:5", 100_000)];
        assert_eq!(
            chosen(&[], 4, &[("a.A.work:1", 50), ("a.B.work:1", 50)], &idle),
            ["Idle.java:5", "a.A.work", "a.B.work"]
        );
    }

    #[test]
    fn the_jdk_is_not_in_scope_unless_it_is_asked_for() {
        assert!(!in_scope(&[], "java.util.HashMap.get") && in_scope(&[], "javafoo.Bar.baz"));
        assert!(in_scope(&["java.util".to_owned()], "java.util.HashMap.get"));
    }
}
