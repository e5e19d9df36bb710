//! What most of some runs show.
//!
//! A machine that is busy with other things disturbs single runs of a program
//! that measures time: a thread that was woken gets its CPU late, and the
//! program's own clock sees that where a recording does not, or the other way
//! round. So one run proves nothing. One good run of several proves nothing
//! either: a rule that is wrong now and then passes. More than half of the runs
//! have to be right, each thing that is checked by itself.
//!
//! Where a limit is so near to the truth that a busy machine keeps most runs from
//! it, there are two: a wide one, which most runs must keep, because a wrong rule
//! is off by more; and the near one, which one run must reach.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Runs so far, and what was wrong in them.
#[derive(Debug)]
pub struct Majority<Check> {
    most: usize,
    runs: usize,
    wrong: BTreeMap<Check, Vec<String>>,
}

impl<Check: Ord> Majority<Check> {
    /// Of at most so many runs, an odd number.
    ///
    /// # Panics
    /// If it is even: then there may be no majority.
    pub fn of(most: usize) -> Majority<Check> {
        assert!(most % 2 == 1, "{most} runs may have no majority");
        Majority { most, runs: 0, wrong: BTreeMap::new() }
    }

    /// Counts one run, by what was wrong in it; each check counts once.
    /// `Break` when further runs could not change the outcome.
    pub fn add(&mut self, wrong: impl IntoIterator<Item = (Check, String)>) -> ControlFlow<()> {
        self.runs += 1;
        let by_check: BTreeMap<Check, String> = wrong.into_iter().collect();
        for (check, sentence) in by_check {
            self.wrong.entry(check).or_default().push(sentence);
        }
        let worst = self.wrong.values().map(Vec::len).max().unwrap_or(0);
        let left = self.most.saturating_sub(self.runs);
        match worst >= self.needed() || worst + left < self.needed() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// Runs that are more than half of all.
    fn needed(&self) -> usize {
        self.most / 2 + 1
    }

    /// What was wrong in more than half of the runs, or in half of those so far
    /// if the runs ended early.
    pub fn failures(self) -> Vec<String> {
        let needed = self.needed().min(self.runs / 2 + 1);
        let failed = self.wrong.into_values().filter(|sentences| sentences.len() >= needed);
        failed
            .map(|sentences| format!("in {} of {} runs: {}", sentences.len(), self.runs, sentences.join("; ")))
            .collect()
    }
}

/// What was wrong in every run so far.
#[derive(Debug)]
pub struct InEachRun<Check> {
    wrong: Option<BTreeMap<Check, String>>,
}

impl<Check: Ord> InEachRun<Check> {
    /// Before the first run.
    #[allow(clippy::new_without_default)]
    pub fn new() -> InEachRun<Check> {
        InEachRun { wrong: None }
    }

    /// Counts one run. True if nothing was wrong in all of them.
    pub fn add(&mut self, wrong: impl IntoIterator<Item = (Check, String)>) -> bool {
        let mut now: BTreeMap<Check, String> = wrong.into_iter().collect();
        if let Some(before) = &self.wrong {
            now.retain(|check, _| before.contains_key(check));
        }
        let is_right = now.is_empty();
        self.wrong = Some(now);
        is_right
    }

    /// What was wrong in all runs, as the last one had it.
    pub fn failures(self) -> Vec<String> {
        let wrong = self.wrong.unwrap_or_default();
        wrong.into_values().map(|sentence| format!("in each run: {sentence}")).collect()
    }
}

/// What the last good run gave, if more than half of at most so many runs are good.
///
/// # Errors
/// What was wrong in the others.
pub fn majority<T>(most: usize, mut run: impl FnMut(usize) -> Result<T, String>) -> Result<T, String> {
    let mut votes = Majority::of(most);
    let mut good = None;
    for number in 0..most {
        let outcome = run(number);
        let flow = match outcome {
            Ok(value) => {
                good = Some(value);
                votes.add([])
            }
            Err(failure) => votes.add([((), failure)]),
        };
        if flow.is_break() {
            break;
        }
    }
    let failures = votes.failures();
    match good {
        Some(value) if failures.is_empty() => Ok(value),
        _ => Err(failures.join("\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a majority of runs ends, of which these are good (`+`) and bad (`-`), and how many were needed.
    fn outcome(runs: &str) -> (bool, usize) {
        let mut made = 0;
        let result = majority(runs.len(), |number| {
            made += 1;
            match runs.as_bytes()[number] {
                b'+' => Ok(()),
                _ => Err(format!("run {number}")),
            }
        });
        (result.is_ok(), made)
    }

    #[test]
    fn one_good_run_of_several_is_not_enough() {
        assert_eq!(outcome("+----"), (false, 4));
        assert_eq!(outcome("-+--+"), (false, 4));
        assert_eq!(outcome("---++"), (false, 3));
    }

    #[test]
    fn more_than_half_is_enough_and_ends_the_runs() {
        assert_eq!(outcome("+++--"), (true, 3));
        assert_eq!(outcome("-++-+"), (true, 5));
        assert_eq!(outcome("++-"), (true, 2));
        assert_eq!(outcome("-"), (false, 1));
    }

    #[test]
    fn what_is_wrong_in_each_run_stays() {
        let wrong =
            |checks: &[&'static str]| checks.iter().map(|check| (*check, (*check).to_owned())).collect::<Vec<_>>();
        let mut runs = InEachRun::new();
        assert!(!runs.add(wrong(&["a", "b"])));
        assert!(!runs.add(wrong(&["b", "c"])));
        assert!(!runs.add(wrong(&["b"])));
        assert_eq!(runs.failures(), ["in each run: b"]);
        let mut runs = InEachRun::new();
        assert!(!runs.add(wrong(&["a"])));
        assert!(runs.add(wrong(&["c"])));
        assert!(runs.failures().is_empty());
    }

    #[test]
    fn each_check_has_its_own_majority() {
        let wrong = |check: &'static str| [(check, check.to_owned())];
        let mut votes = Majority::of(3);
        assert!(votes.add(wrong("a")).is_continue());
        assert!(votes.add(wrong("b")).is_continue());
        assert!(votes.add(wrong("a")).is_break());
        assert_eq!(votes.failures(), ["in 2 of 3 runs: a; a"]);
    }
}
