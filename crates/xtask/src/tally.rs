//! How many tests passed and failed, read from what the test tools print.

use std::iter::Sum;
use std::ops::Add;

/// How a test says that it could not test something: a line that begins with this.
const SKIPPED: &str = "SKIPPED: ";

/// Tests that passed and failed, and what was skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Passed.
    pub passed: u64,
    /// Failed, did not compile, or ended without saying how.
    pub failed: u64,
    /// Tests, and parts of tests that passed, that could not run here.
    pub skipped: u64,
}

impl Tally {
    /// One check that passed or failed.
    pub fn one(passed: bool) -> Tally {
        Tally { passed: passed.into(), failed: (!passed).into(), skipped: 0 }
    }

    /// A tool that was not content has at least one failure, whatever it said.
    fn judged(self, content: bool) -> Tally {
        match self {
            Tally { failed: 0, .. } if !content => Tally { failed: 1, ..self },
            tally => tally,
        }
    }

    /// A skip is a failure where nothing may be left out.
    pub fn complete(self) -> Tally {
        Tally { failed: self.failed + self.skipped, ..self }
    }

    /// Reads the output of `cargo test -- --show-output`. A test program that
    /// ended without a result line (a crash, or its own way of testing) counts
    /// as one test.
    pub fn of_cargo(output: &str, content: bool) -> Tally {
        let mut tally = Tally::default();
        let mut silent = 0;
        let mut running = false;
        for line in output.lines() {
            // As cargo indents them: what tests print is not taken for it.
            if line.starts_with("     Running ") || line.starts_with("   Doc-tests ") {
                silent += u64::from(running);
                running = true;
            }
            if let Some(result) = line.strip_prefix("test result: ") {
                running = false;
                let skipped = before(result, " ignored");
                tally = tally + Tally { passed: before(result, " passed"), failed: before(result, " failed"), skipped };
            }
            tally.skipped += u64::from(line.trim_start().starts_with(SKIPPED));
        }
        silent += u64::from(running);
        let silent = match content {
            true => Tally { passed: silent, ..Tally::default() },
            false => Tally { failed: silent, ..Tally::default() },
        };
        (tally + silent).judged(content)
    }

    /// What the page's test runner counted.
    pub fn of_page(passed: u64, failed: u64, skipped: u64, content: bool) -> Tally {
        Tally { passed, failed, skipped }.judged(content && passed > 0)
    }

    /// Reads Surefire's report of one test class.
    pub fn of_surefire(report: &str) -> Tally {
        let suite = report.split("<testsuite").nth(1).and_then(|rest| rest.split('>').next()).unwrap_or_default();
        let count = |name: &str| {
            let value = suite.split(&format!(" {name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
            value.and_then(|value| value.parse::<u64>().ok()).unwrap_or(0)
        };
        let failed = count("failures") + count("errors");
        let skipped = count("skipped");
        Tally { passed: count("tests").saturating_sub(failed + skipped), failed, skipped }
    }

    /// All classes' reports, and whether Maven was content.
    pub fn of_maven(reports: impl Iterator<Item = String>, content: bool) -> Tally {
        reports.map(|report| Tally::of_surefire(&report)).sum::<Tally>().judged(content)
    }

    /// Reads the output of Python's unittest.
    pub fn of_unittest(output: &str, content: bool) -> Tally {
        let ran: u64 =
            output.lines().filter_map(|line| line.strip_prefix("Ran ")?.split(' ').next()?.parse::<u64>().ok()).sum();
        let numbers = |name: &str| -> u64 { output.split(name).skip(1).map(leading_number).sum() };
        let failed = numbers("failures=") + numbers("errors=");
        let skipped = numbers("skipped=");
        Tally { passed: ran.saturating_sub(failed + skipped), failed, skipped }.judged(content)
    }

    /// Reads the last line of `eval/diagnose.py`: programs diagnosed rightly, and not.
    pub fn of_diagnose(output: &str, content: bool) -> Tally {
        let last = output.lines().last().unwrap_or_default();
        let (passed, failed) = (before(last, " passed"), before(last, " failed"));
        Tally { passed, failed, skipped: 0 }.judged(content)
    }

    /// Reads the summary of the stress driver: rounds and failures.
    pub fn of_stress(output: &str, content: bool) -> Tally {
        let summary = output.lines().rev().find(|line| line.starts_with("stress: ")).unwrap_or_default();
        let failed = before(summary, " failures");
        Tally { passed: before(summary, " rounds").saturating_sub(failed), failed, skipped: 0 }.judged(content)
    }
}

/// The number in front of a word: 12 in `ok. 12 passed; 0 failed`.
fn before(text: &str, word: &str) -> u64 {
    let number = text.split(word).next().and_then(|front| front.rsplit(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn leading_number(text: &str) -> u64 {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

impl Add for Tally {
    type Output = Tally;
    fn add(self, other: Tally) -> Tally {
        Tally {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Tally>>(tallies: I) -> Tally {
        tallies.fold(Tally::default(), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(passed: u64, failed: u64) -> Tally {
        Tally { passed, failed, skipped: 0 }
    }

    fn skipping(passed: u64, skipped: u64) -> Tally {
        Tally { passed, failed: 0, skipped }
    }

    const TWO_PROGRAMS: &str = "   Compiling a v0.1.0
     Running unittests src/lib.rs (target/debug/deps/a-1)
test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
     Running tests/b.rs (target/debug/deps/b-2)
test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
   Doc-tests a
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
";

    #[test]
    fn cargo_results_add_up() {
        assert_eq!(Tally::of_cargo(TWO_PROGRAMS, false), tally(16, 2));
    }

    #[test]
    fn what_tests_skip_is_counted_and_a_failure_where_nothing_may_be_left_out() {
        let output = "     Running tests/b.rs (target/debug/deps/b-2)\n\nsuccesses:\n\n---- steal stdout ----\n\
                      SKIPPED: no control group with a quota\nRunning is printed by a test, too\n\
                      test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured\n";
        assert_eq!(Tally::of_cargo(output, true), skipping(3, 2));
        assert_eq!(Tally::of_cargo(output, true).complete(), Tally { passed: 3, failed: 2, skipped: 2 });
        assert_eq!(Tally::of_unittest("Ran 7 tests in 0.1s\n\nOK (skipped=2)\n", true), skipping(5, 2));
        assert_eq!(Tally::of_page(4, 0, 1, true), skipping(4, 1));
    }

    #[test]
    fn what_does_not_compile_is_a_failure() {
        assert_eq!(Tally::of_cargo("error[E0425]: cannot find value\n", false), tally(0, 1));
    }

    #[test]
    fn a_test_program_that_crashes_is_a_failure() {
        let crashed =
            "     Running unittests src/lib.rs (x)\nrunning 3 tests\nerror: test failed\n  (signal: 11, SIGSEGV)\n";
        assert_eq!(Tally::of_cargo(crashed, false), tally(0, 1));
        assert_eq!(Tally::of_cargo(&format!("{crashed}{TWO_PROGRAMS}"), false), tally(16, 3));
    }

    #[test]
    fn a_test_program_with_a_way_of_its_own_is_one_test() {
        assert_eq!(Tally::of_cargo("     Running tests/own.rs (x)\nfine\n", true), tally(1, 0));
    }

    #[test]
    fn surefire_reports_add_up() {
        let report = |tests, failures, errors, skipped| {
            format!(
                "<?xml version=\"1.0\"?>\n<testsuite xmlns:x=\"u\" name=\"a.B\" time=\"0.1\" tests=\"{tests}\" \
                 errors=\"{errors}\" skipped=\"{skipped}\" failures=\"{failures}\">\n<testcase/></testsuite>"
            )
        };
        let reports = [report(5, 1, 1, 1), report(3, 0, 0, 0)];
        assert_eq!(Tally::of_maven(reports.into_iter(), false), Tally { passed: 5, failed: 2, skipped: 1 });
        assert_eq!(Tally::of_maven(std::iter::empty(), false), tally(0, 1));
        assert_eq!(Tally::of_maven([report(3, 0, 0, 0)].into_iter(), true), tally(3, 0));
    }

    #[test]
    fn unittest_output_is_read() {
        assert_eq!(Tally::of_unittest("Ran 7 tests in 0.1s\n\nOK\n", true), tally(7, 0));
        assert_eq!(Tally::of_unittest("Ran 7 tests in 0.1s\n\nFAILED (failures=2, errors=1)\n", false), tally(4, 3));
        assert_eq!(Tally::of_unittest("SyntaxError\n", false), tally(0, 1));
    }

    #[test]
    fn programs_diagnosed_wrongly_are_failures() {
        let output = "WRONG semaphore 17 run: #0 Nothing\n1 of 2 causes named first\n9 passed, 1 failed\n";
        assert_eq!(Tally::of_diagnose(output, false), tally(9, 1));
        assert_eq!(Tally::of_diagnose("Traceback\n", false), tally(0, 1));
    }

    #[test]
    fn stress_rounds_are_tests() {
        let output = "round   1: x: ok\nstress: 6 rounds, 40 attach cycles, 1 failures in 60 s\n";
        assert_eq!(Tally::of_stress(output, false), tally(5, 1));
        assert_eq!(Tally::of_stress("killed\n", false), tally(0, 1));
    }
}
