//! Tests that measure time let a majority of runs decide (`majority.rs` of the
//! end-to-end tests), and even that fails now and then on a machine that others use,
//! too. Such a test is run twice more, alone, after everything else; it counts as passed
//! only if both are good: two of three. Whatever else a test says when it fails, a
//! crash, a loss, a wrong file, a command that ended with an error, is never repeated.

use crate::jdks::Jdks;
use crate::process::run_and_read;
use crate::tally::Tally;
use crate::test::cargo_test;
use crate::Problem;

/// What a majority of runs against a test says: `in 2 of 3 runs: ...`, `in each run: ...`.
const VERDICTS: [&str; 2] = [" runs: ", "in each run: "];

/// What a failure's text has where more than a measured number was wrong.
const NO_MATTER_OF_TIME: [&str; 6] = ["signal: ", "SIGSEGV", "SIGABRT", "hs_err", "defect: ", "core dumped"];

/// Runs after the first that a test needs, all of them good.
const MORE: usize = 2;

/// Lines of a failed test's output that are said once more at the end.
const LAST_LINES: usize = 20;

/// A test that failed, and what it wrote.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    /// The test program's source file, without folder and ending: `accuracy` in `tests/accuracy.rs`.
    file: String,
    /// The test's name, with its modules.
    name: String,
    /// What it wrote, its last words among them.
    text: String,
}

impl Failure {
    /// True if it may be an accident of time.
    fn is_of_time(&self) -> bool {
        let has = |words: &[&str]| words.iter().any(|word| self.text.contains(word));
        has(&VERDICTS) && !has(&NO_MATTER_OF_TIME)
    }

    /// Its name and the end of what it wrote, where a panic says why.
    pub fn end(&self) -> String {
        let lines: Vec<&str> = self.text.lines().filter(|line| !is_of_backtrace(line)).collect();
        let last = lines.get(lines.len().saturating_sub(LAST_LINES)..).unwrap_or_default().join("\n");
        format!("failed: {} of {}\n{}\n", self.name, self.file, last.trim_end())
    }

    /// Whether it is right in each further run.
    fn is_right_again(&self, jdks: &Jdks) -> Result<bool, Problem> {
        for _ in 0..MORE {
            let mut test = cargo_test(jdks);
            test.args(["-p", "headway-e2e", "--test", &self.file, "--", "--exact", &self.name]);
            let (output, content) = run_and_read(&mut test)?;
            if Tally::of_cargo(&output, content) != (Tally { passed: 1, ..Tally::default() }) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// True if the line is a frame of a panic's backtrace, or belongs to one.
fn is_of_backtrace(line: &str) -> bool {
    let text = line.trim_start();
    let number = text.split(": ").next().unwrap_or_default();
    let is_frame = line.starts_with(' ') && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_frame || text.starts_with("at ") || text == "stack backtrace:" || text.starts_with("note: ")
}

/// The tests that failed in the output of `cargo test -- --show-output`.
pub fn failures(output: &str) -> Vec<Failure> {
    let mut found: Vec<Failure> = Vec::new();
    let (mut file, mut is_failing, mut is_open) = (String::new(), false, false);
    for line in output.lines() {
        if let Some(program) = line.strip_prefix("     Running ") {
            file = stem(program);
            (is_failing, is_open) = (false, false);
        } else if line == "failures:" {
            (is_failing, is_open) = (true, false);
        } else if line.starts_with("test result: ") {
            (is_failing, is_open) = (false, false);
        } else if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            is_open = is_failing;
            if is_failing {
                found.push(Failure { file: file.clone(), name: name.to_owned(), text: String::new() });
            }
        } else if let (true, Some(failure)) = (is_open, found.last_mut()) {
            failure.text.push_str(line);
            failure.text.push('\n');
        }
    }
    found
}

/// `accuracy` in `tests/accuracy.rs (target/debug/deps/accuracy-1)`.
fn stem(program: &str) -> String {
    let path = program.split(" (").next().unwrap_or(program);
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".rs").unwrap_or(name).to_owned()
}

/// Repeats what may be an accident of time, and says of every failure what it was.
/// Gives those that stay.
pub fn judge(tally: Tally, output: &str, jdks: &Jdks) -> Result<(Tally, Vec<Failure>), Problem> {
    let (mut judged, mut stay) = (tally, Vec::new());
    for failure in failures(output) {
        println!("\nfailed: {} of {}\n{}", failure.name, failure.file, failure.text);
        if failure.is_of_time() && failure.is_right_again(jdks)? {
            println!("{}: one run of {} was off, which is allowed: it measures time", failure.name, MORE + 1);
            judged = Tally { passed: judged.passed + 1, failed: judged.failed.saturating_sub(1), ..judged };
        } else {
            stay.push(failure);
        }
    }
    Ok((judged, stay))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "     Running tests/accuracy.rs (target/debug/deps/accuracy-1)

running 2 tests
test a ... ok
test b ... FAILED

successes:

---- a stdout ----
JDK 17: fine

failures:

---- b stdout ----
thread 'b' panicked at crates/e2e/tests/accuracy.rs:1:1:
in 2 of 3 runs: only 0.9 is attributed

failures:
    b

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
     Running tests/faults.rs (target/debug/deps/faults-1)

failures:

---- c stdout ----
a fault

failures:
    c

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
";

    #[test]
    fn failures_are_read_with_their_file_and_text() {
        let failures = failures(OUTPUT);
        let names: Vec<_> = failures.iter().map(|f| (f.file.as_str(), f.name.as_str())).collect();
        assert_eq!(names, [("accuracy", "b"), ("faults", "c")]);
        assert!(failures[0].text.contains("only 0.9 is attributed") && !failures[0].text.contains("fine"));
        assert_eq!(failures[1].text, "a fault\n\n");
    }

    #[test]
    fn the_end_of_a_failure_says_why_without_the_backtrace() {
        let text: String = (0..100).map(|line| format!("line {line}\n")).collect();
        let text =
            text + "1 of 170 faults:\n  but: no owner\nstack backtrace:\n   0: __rustc::begin\n             at /x.rs\n";
        let end = Failure { text, ..failures(OUTPUT).remove(0) }.end();
        assert!(end.starts_with("failed: b of accuracy\nline 82\n"), "{end}");
        assert!(end.ends_with("line 99\n1 of 170 faults:\n  but: no owner\n"), "{end}");
    }

    #[test]
    fn only_what_a_majority_of_runs_decided_is_repeated() {
        let failures = failures(OUTPUT);
        assert!(failures[0].is_of_time());
        assert!(!failures[1].is_of_time(), "a fault is no accident");
        let of = |text: &str| Failure { text: text.into(), ..self::failures(OUTPUT).remove(0) };
        assert!(!of("called `Result::unwrap()` on an `Err` value: exit status: 1").is_of_time(), "no majority");
        assert!(!of("in 2 of 3 runs: off\n  JDK 21: defect: 1 x seq_gap").is_of_time(), "a loss is no accident");
        let crash = of("in 2 of 3 runs: java ended with signal: 11 (SIGSEGV)");
        assert!(!crash.is_of_time(), "a crash is no accident");
    }
}
