//! Which targets are worth a try, by what samples and waits say.
//!
//! Methods that only call each other have the same samples, and experiments on both
//! would say the same twice: of such only one becomes a candidate. A method that is on
//! every stack gains as much as it is sped up, which nobody needs an experiment for;
//! it is left out where there is something within it.
//!
//! A line that waits for time to pass, or for the world outside, is a candidate
//! itself: what could be made shorter is the line, not the method around it. Waiting is
//! compared with waiting alone, or a hundred idle threads would hide what runs.
//!
//! What nobody could act on is no candidate either, and said to be none: the progress
//! point itself and the loop around it, which gain as much as they are sped up; classes
//! that the compiler or the VM made up, since what they call is on the same stacks; and
//! the sleep by which a loop sets its own pace.

use super::targets::{is_called, SampledLine, Seen};
use crate::naming::without_run;
use headway_causal::experiment::Target;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Most stacks that are kept apart; others are left out.
const MAX_STACKS: usize = 4_096;
/// Less than this part of the samples could not show.
const LEAST_SHARE: f64 = 0.03;
/// Of two with this part of their stacks in common one is enough.
const ALIKE: f64 = 0.9;
/// What lies in this part of all stacks that ran is the program itself.
const EVERYTHING: f64 = 0.9;
/// Packages of the JDK are not what a developer can change.
const NOT_IN_SCOPE: [&str; 6] = ["java.", "javax.", "jdk.", "sun.", "com.sun.", "io.headway.Headway"];
/// What names of classes have in them that nobody wrote: of lambdas, method handles,
/// reflection and proxies.
const GENERATED: [&str; 6] =
    ["$$Lambda", "LambdaForm", "GeneratedMethodAccessor", "GeneratedConstructorAccessor", ".$Proxy", "CGLIB$$"];
/// Names that one sentence has room for.
const NAMED: usize = 6;

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
    progress: Vec<String>,
    /// By the address of their frames, which they keep, and whether they waited.
    stacks: HashMap<(usize, bool), Stack>,
}

/// What came of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// The candidates, the most seen first.
    pub targets: Vec<Target>,
    /// What was seen as often, and why it is none.
    pub left_out: Vec<(String, Why)>,
}

/// Why something is no candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// It is what is counted.
    ProgressPoint,
    /// It calls what is counted, and does little else itself.
    AroundProgress,
    /// It lies in nearly everything that runs.
    Everything,
    /// It sets the pace of a loop.
    Pace,
    /// Nobody wrote it.
    Generated,
}

impl Why {
    fn words(self) -> &'static str {
        match self {
            Why::ProgressPoint => "the progress point itself",
            Why::AroundProgress => "the loop around the progress point",
            Why::Everything => "on nearly every stack",
            Why::Pace => "the sleep that sets a loop's pace",
            Why::Generated => "generated code",
        }
    }
}

impl Chosen {
    /// What was left out and why, in one line; and what to do if nothing is left.
    pub fn left_out_sentence(&self) -> Option<String> {
        let mut named: Vec<String> =
            self.left_out.iter().take(NAMED).map(|(name, why)| format!("{name} ({})", why.words())).collect();
        match self.left_out.len().checked_sub(NAMED) {
            None | Some(0) => {}
            Some(more) => named.push(format!("{more} more")),
        }
        let hint = match self.targets.is_empty() {
            true => " Nothing else was seen to run: name what to speed up with --target.",
            false => "",
        };
        (!named.is_empty()).then(|| format!("Not tried as targets: {}.{hint}", named.join(", ")))
    }
}

impl Choosing {
    /// Begins, within these packages or classes. `progress` is what is counted.
    pub fn begin(&mut self, scope: &[String], progress: &[String]) {
        *self = Choosing { is_on: true, scope: scope.to_vec(), progress: progress.to_vec(), stacks: HashMap::new() };
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

    /// The candidates, at most `most`. Nothing more is taken.
    pub fn end(&mut self, most: usize) -> Chosen {
        let chosen = std::mem::take(self);
        let mut stacks: Vec<(bool, Stack)> =
            chosen.stacks.into_iter().map(|((_, waited), stack)| (waited, stack)).collect();
        // The same whatever the addresses were.
        stacks.sort_by(|(_, a), (_, b)| b.ticks.cmp(&a.ticks).then_with(|| names(a).cmp(names(b))));
        Seeking { scope: &chosen.scope, progress: &chosen.progress, stacks: &stacks }.candidates(most)
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

    /// Periods that it ran.
    fn ran(&self, stacks: &[(bool, Stack)]) -> u64 {
        let ran = |at: &usize| stacks.get(*at).filter(|(waited, _)| !waited).map_or(0, |(_, stack)| stack.ticks);
        self.stacks.iter().map(ran).sum()
    }

    fn says_little(&self) -> bool {
        !self.is_line && says_little(&self.name)
    }
}

/// Where threads begin, and what the compiler made: others say more.
fn says_little(method: &str) -> bool {
    let last = method.rsplit('.').next().unwrap_or_default();
    ["run", "main", "call"].contains(&last) || method.contains("lambda$")
}

/// True for a method of a class that nobody wrote. What it was made from it calls, so
/// that is on the same stacks.
fn is_generated(method: &str) -> bool {
    GENERATED.iter().any(|mark| method.contains(mark))
}

/// `com.acme.Shop$$Lambda.0x00007f2d.run` is `com.acme.Shop$$Lambda`: the rest is another
/// one in each run.
fn generated_class(method: &str) -> &str {
    without_run(method.rsplit_once('.').map_or(method, |(class, _)| class))
}

/// A line as a candidate, and where it stands on which stacks.
type WaitingLine<'a> = (Candidate, Vec<(&'a Stack, usize)>);

/// What is sought, and where.
struct Seeking<'a> {
    scope: &'a [String],
    progress: &'a [String],
    stacks: &'a [(bool, Stack)],
}

impl Seeking<'_> {
    fn candidates(&self, most: usize) -> Chosen {
        let sum = |waited: bool| -> u64 {
            self.stacks.iter().filter(|(w, _)| waited == *w).map(|(_, stack)| stack.ticks).sum()
        };
        let (running, waiting) = (sum(false), sum(true));
        let around = self.around_progress(running);
        let mut left_out = Vec::new();
        let mut lines = self.waiting_lines();
        lines.retain(|(line, _)| line.ticks as f64 >= LEAST_SHARE * waiting as f64);
        let lines = without(lines, &mut left_out, |line, places| {
            places.iter().any(|(stack, at)| self.sets_pace(stack, *at, &around)).then(|| (line.name.clone(), Why::Pace))
        });
        let mut methods = self.methods();
        methods.retain(|(method, ())| {
            let ran = method.ran(self.stacks);
            ran > 0 && ran as f64 >= LEAST_SHARE * running as f64
        });
        let methods = without(methods, &mut left_out, |method, ()| {
            let why = self.why_not(&method.name, &around)?;
            let name = if why == Why::Generated { generated_class(&method.name) } else { &method.name };
            Some((name.to_owned(), why))
        });
        // Half of the places at most are for lines.
        let mut kept: Vec<Candidate> = Vec::new();
        take_unlike(&mut kept, lines, self.stacks, most.div_ceil(2));
        // One more than there is room for: the program itself may go.
        take_unlike(&mut kept, methods, self.stacks, most + 1);
        let is_everything =
            |one: &Candidate| !one.is_line && running > 0 && one.ran(self.stacks) as f64 >= EVERYTHING * running as f64;
        if kept.iter().any(|one| !is_everything(one)) {
            let (everything, rest) = kept.into_iter().partition(is_everything);
            let everything: Vec<Candidate> = everything;
            left_out.extend(everything.into_iter().map(|one| (one.name, Why::Everything)));
            kept = rest;
        }
        kept.sort_by_key(|one| (Reverse(one.ticks), one.name.clone()));
        left_out.sort_by(|(a, why_a), (b, why_b)| (why_a, a).cmp(&(why_b, b)));
        left_out.dedup();
        Chosen { targets: kept.into_iter().take(most).map(|one| Target::parse(&one.name)).collect(), left_out }
    }

    fn why_not(&self, method: &str, around: &BTreeSet<&str>) -> Option<Why> {
        if self.is_progress(method) {
            return Some(Why::ProgressPoint);
        }
        if is_generated(method) {
            return Some(Why::Generated);
        }
        around.contains(method).then_some(Why::AroundProgress)
    }

    fn is_progress(&self, method: &str) -> bool {
        self.progress.iter().any(|point| is_called(method, point))
    }

    /// Methods that call a progress point and whose own code, with what of the JDK it
    /// calls, hardly runs: a loop, or the whole piece of work.
    fn around_progress(&self, running: u64) -> BTreeSet<&str> {
        let mut callers: BTreeSet<&str> = BTreeSet::new();
        let mut own: BTreeMap<&str, u64> = BTreeMap::new();
        for (waited, stack) in self.stacks {
            let mut ours = stack.frames.iter().map(|place| &*place.method);
            if let Some(innermost) = ours.clone().find(|method| self.is_own(method)).filter(|_| !waited) {
                *own.entry(innermost).or_default() += stack.ticks;
            }
            if ours.any(|method| self.is_progress(method)) {
                callers.extend(ours.filter(|method| !self.is_progress(method)));
            }
        }
        let own = |method: &str| own.get(method).copied().unwrap_or(0) as f64;
        callers.retain(|method| own(method) < LEAST_SHARE * running.max(1) as f64);
        callers
    }

    /// In scope, and written by somebody.
    fn is_own(&self, method: &str) -> bool {
        in_scope(self.scope, method) && !is_generated(method)
    }

    /// True if a thread sleeps at this frame of the stack to set a loop's pace: in the loop
    /// around a progress point, or in the method that the thread runs. A task of a pool or
    /// what a loop calls may sleep for another reason.
    fn sets_pace(&self, stack: &Stack, at: usize, around: &BTreeSet<&str>) -> bool {
        let (inside, outside) = stack.frames.split_at(at.min(stack.frames.len()));
        let is_sleep = inside.iter().any(|place| place.method.starts_with("java.lang.Thread.sleep"));
        let Some((place, outside)) = outside.split_first().filter(|_| is_sleep) else { return false };
        if self.is_progress(&place.method) || outside.iter().any(|place| self.is_progress(&place.method)) {
            return false;
        }
        let begins = |method: &str| {
            ["java.lang.", "jdk.internal."].iter().any(|prefix| method.starts_with(prefix))
                || is_generated(method)
                || says_little(method)
        };
        around.contains(&*place.method) || outside.iter().all(|place| begins(&place.method))
    }

    /// Every method in scope, with the stacks that it is on.
    fn methods(&self) -> Vec<(Candidate, ())> {
        let mut found: BTreeMap<&str, (Candidate, ())> = BTreeMap::new();
        for (at, (_, stack)) in self.stacks.iter().enumerate() {
            for place in stack.frames.iter().filter(|place| in_scope(self.scope, &place.method)) {
                add(&mut found, &*place.method, at, stack.ticks);
            }
        }
        found.into_iter().map(|(name, (one, ()))| (Candidate { name: name.to_owned(), ..one }, ())).collect()
    }

    /// The innermost line in scope of every stack that waited, and where it stands on which.
    fn waiting_lines(&self) -> Vec<WaitingLine<'_>> {
        let mut found: BTreeMap<(&str, u32), WaitingLine<'_>> = BTreeMap::new();
        for (at, (_, stack)) in self.stacks.iter().enumerate().filter(|(_, (waited, _))| *waited) {
            let innermost = stack.frames.iter().position(|place| self.is_own(&place.method));
            let Some((depth, place)) = innermost.and_then(|depth| Some((depth, stack.frames.get(depth)?))) else {
                continue;
            };
            if place.line > 0 && !place.file.is_empty() {
                add(&mut found, (&*place.file, place.line), at, stack.ticks).push((stack, depth));
            }
        }
        let named = |((file, line), (one, places)): ((&str, u32), (Candidate, _))| {
            (Candidate { name: format!("{file}:{line}"), is_line: true, ..one }, places)
        };
        found.into_iter().map(named).collect()
    }
}

/// Takes out what is no candidate, and notes it.
fn without<T>(
    found: Vec<(Candidate, T)>,
    left_out: &mut Vec<(String, Why)>,
    why_not: impl Fn(&Candidate, &T) -> Option<(String, Why)>,
) -> Vec<Candidate> {
    let mut rest = Vec::new();
    for (one, more) in found {
        match why_not(&one, &more) {
            Some(reason) => left_out.push(reason),
            None => rest.push(one),
        }
    }
    rest
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

/// A stack lies in something; once, however often it is on it. What is kept beside it.
fn add<K: Ord, T: Default>(found: &mut BTreeMap<K, (Candidate, T)>, key: K, at: usize, ticks: u64) -> &mut T {
    let none = Candidate { name: String::new(), is_line: false, stacks: Vec::new(), ticks: 0 };
    let (one, beside) = found.entry(key).or_insert((none, T::default()));
    if one.stacks.last() != Some(&at) {
        one.stacks.push(at);
        one.ticks += ticks;
    }
    beside
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
        let chosen = choose(scope, &[], most, ran, waited);
        chosen.targets.into_iter().map(|target| target.name).collect()
    }

    fn choose(scope: &[&str], progress: &[&str], most: usize, ran: &[(&str, u64)], waited: &[(&str, u64)]) -> Chosen {
        let owned = |names: &[&str]| names.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        let mut choosing = Choosing::default();
        choosing.begin(&owned(scope), &owned(progress));
        let stacks: Vec<(Seen, bool, u64)> = ran
            .iter()
            .map(|(text, ticks)| (stack(text), false, *ticks))
            .chain(waited.iter().map(|(text, ticks)| (stack(text), true, *ticks)))
            .collect();
        stacks.iter().for_each(|(seen, has_waited, ticks)| choosing.take(seen, *has_waited, *ticks));
        choosing.end(most)
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
        let idle = [("java.lang.Thread.sleep:1 < a.Idle.nap:5 < a.Idle.poll:9", 100_000)];
        assert_eq!(
            chosen(&[], 4, &[("a.A.work:1", 50), ("a.B.work:1", 50)], &idle),
            ["Idle.java:5", "a.A.work", "a.B.work"]
        );
    }

    fn left_out(chosen: &Chosen) -> Vec<(&str, Why)> {
        chosen.left_out.iter().map(|(name, why)| (name.as_str(), *why)).collect()
    }

    #[test]
    fn the_progress_point_and_the_loop_around_it_are_no_targets() {
        let ran = [
            ("a.Shop.price:1 < a.Shop.order:2 < a.Driver.drive:3 < a.Driver.lambda$main$0:4", 40),
            ("a.Shop.stock:1 < a.Shop.order:2 < a.Driver.drive:3 < a.Driver.lambda$main$0:4", 20),
            ("a.Other.clean:1 < a.Other.loop:2", 40),
        ];
        let chosen = choose(&[], &["a.Shop.order"], 5, &ran, &[]);
        let names: Vec<&str> = chosen.targets.iter().map(|target| target.name.as_str()).collect();
        assert_eq!(names, ["a.Other.clean", "a.Shop.price", "a.Shop.stock"]);
        let around = Why::AroundProgress;
        let expected =
            [("a.Shop.order", Why::ProgressPoint), ("a.Driver.drive", around), ("a.Driver.lambda$main$0", around)];
        assert_eq!(left_out(&chosen), expected);
        let sentence = chosen.left_out_sentence().unwrap();
        assert!(sentence.starts_with("Not tried as targets: a.Shop.order (the progress point itself), "), "{sentence}");
    }

    #[test]
    fn a_caller_of_the_progress_point_that_works_itself_is_a_target() {
        let ran = [("a.Shop.done:1 < a.Shop.work:2 < a.B.x:1", 1), ("a.Shop.work:7 < a.B.x:1", 60), ("a.C.y:1", 40)];
        let chosen = choose(&[], &["a.Shop.done"], 5, &ran, &[]);
        assert!(chosen.targets.iter().any(|target| target.name == "a.Shop.work"), "{chosen:?}");
    }

    #[test]
    fn what_nobody_wrote_is_no_target_but_what_it_calls_is() {
        let ran = [
            ("a.Shop.lambda$price$0:1 < a.Shop$$Lambda.0x00007f2d4801.apply:0 < java.util.Map.get:1", 50),
            ("a.Shop.stock:1 < a.Shop$$Lambda/0x01.run:0", 30),
            ("a.Bean.get:1 < jdk.internal.reflect.GeneratedMethodAccessor7.invoke:0 < a.LambdaForm$MH.invoke:0", 20),
        ];
        let chosen = choose(&[], &[], 5, &ran, &[]);
        let names: Vec<&str> = chosen.targets.iter().map(|target| target.name.as_str()).collect();
        assert_eq!(names, ["a.Shop.lambda$price$0", "a.Shop.stock", "a.Bean.get"]);
        assert_eq!(left_out(&chosen), [("a.LambdaForm$MH", Why::Generated), ("a.Shop$$Lambda", Why::Generated)]);
        assert_eq!(chosen.left_out_sentence().unwrap().matches("generated code").count(), 2);
    }

    #[test]
    fn the_sleep_that_sets_a_loops_pace_is_no_target_and_others_are() {
        let ran =
            [("a.Shop.price:1 < a.Shop.order:2 < a.Driver.drive:3", 50), ("a.Other.clean:1 < a.Other.loop:2", 50)];
        let sleep = "java.lang.Thread.sleep0:1 < java.lang.Thread.sleep:2";
        let waited: Vec<(String, u64)> = [
            // In the loop around the progress point.
            ("a.Driver.drive:9 < a.Driver.start:2", 10),
            // In what a thread runs.
            ("b.Feeder.feed:5 < b.Feeder.lambda$go$1:6 < b.Feeder$$Lambda/0x2.run:0 < java.lang.Thread.run:7", 10),
            // Within a piece of work, in a task of a pool, in what is called.
            ("a.Shop.order:8 < a.Driver.drive:3", 10),
            ("c.Task.run:3 < java.util.concurrent.ThreadPoolExecutor.runWorker:4 < java.lang.Thread.run:5", 10),
            ("c.Retry.pause:3 < c.Retry.backOff:4 < java.lang.Thread.run:5", 10),
        ]
        .map(|(stack, ticks)| (format!("{sleep} < {stack}"), ticks))
        .into();
        let waited: Vec<(&str, u64)> = waited.iter().map(|(text, ticks)| (text.as_str(), *ticks)).collect();
        let chosen = choose(&[], &["a.Shop.order"], 12, &ran, &waited);
        let lines: Vec<&str> =
            chosen.targets.iter().map(|target| target.name.as_str()).filter(|name| name.contains(':')).collect();
        assert_eq!(lines, ["Retry.java:3", "Shop.java:8", "Task.java:3"]);
        let paces: Vec<&(String, Why)> = chosen.left_out.iter().filter(|(_, why)| *why == Why::Pace).collect();
        assert_eq!(paces.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["Driver.java:9", "Feeder.java:5"]);
    }

    #[test]
    fn many_that_are_left_out_are_counted() {
        let left_out = (0..9).map(|n| (format!("a.A.m{n}"), Why::Everything)).collect();
        let sentence = Chosen { targets: Vec::new(), left_out }.left_out_sentence().unwrap();
        assert!(
            sentence.contains("a.A.m5 (on nearly every stack), 3 more. Nothing else was seen to run"),
            "{sentence}"
        );
        assert_eq!(Chosen::default().left_out_sentence(), None);
    }

    #[test]
    fn the_jdk_is_not_in_scope_unless_it_is_asked_for() {
        assert!(!in_scope(&[], "java.util.HashMap.get") && in_scope(&[], "javafoo.Bar.baz"));
        assert!(in_scope(&["java.util".to_owned()], "java.util.HashMap.get"));
    }
}
