//! `./hw test`: everything that can be checked, and one closing line.
//!
//! A suite that does not compile or crashes is a failure, and so is whatever was
//! skipped where `CI` is `true`. What is built is built once: checks and tests share
//! one target directory, the loom models (other flags) have their own.

use crate::jdks::Jdks;
use crate::process::{cargo, program, root, run, run_and_read, target_directory};
use crate::tally::Tally;
use crate::{
    diagnose, dist, eval, fleet, guard, java, licences, page, products, repeats, stress, takes_nothing, tidy, Problem,
};
use std::process::Command;
use std::time::Instant;

/// What ran so far.
struct Session {
    jdks: Jdks,
    suites: Vec<Suite>,
    /// True if the page could not be looked at.
    without_browser: bool,
    /// True if the packages are not here of which the evaluation's programs are made.
    without_evaluation: bool,
}

struct Suite {
    name: &'static str,
    outcome: Outcome,
    seconds: f64,
}

/// How a suite ended.
pub struct Outcome {
    /// Its tests, counted.
    pub tally: Tally,
    /// The part of what each failed test wrote that says why, where that is known apart from the rest.
    pub failures: String,
}

impl From<Tally> for Outcome {
    fn from(tally: Tally) -> Outcome {
        Outcome { tally, failures: String::new() }
    }
}

/// Lints that tests, examples and benchmarks may break: a panic there is a
/// failed test, not a crash in somebody else's process.
const ALLOWED_IN_TESTS: [&str; 4] = ["-A", "clippy::unwrap_used", "-A", "clippy::expect_used"];

/// Crates whose protocols are checked under loom, and where their models are.
const LOOM_MODELS: [(&str, &[&str]); 2] =
    [("headway-signal", &["--test", "models"]), ("headway-hook", &["--lib", "--", "table"])];

/// See the file's head.
pub fn test(rest: &[String]) -> Result<(), Problem> {
    takes_nothing(rest)?;
    let mut session =
        Session { jdks: Jdks::for_tests(), suites: Vec::new(), without_browser: false, without_evaluation: false };
    session.check_jdks();
    session.check_browser();
    session.check("format", |_| run(cargo().args(["fmt", "--all", "--check"])));
    session.check("house rules", |_| tidy::tidy(&[]));
    session.check("licences", |_| licences::licences(&[]));
    session.check("lints", |_| lint_products());
    session.check("lints of tests", |_| lint_tests());
    session.check("build", |_| products::rust(&["headway-cli", "headway-agent", "headway-e2e"]));
    session.check("release recipes", |_| dist::recipes());
    session.suite("java", maven_tests);
    session.evaluation();
    let fleet_ahead = fleet::Ahead::begin();
    session.suite("rust", cargo_tests);
    session.diagnosis();
    session.suite("page", |jdks| page::tests(false, jdks));
    session.page_in_a_browser();
    session.suite("loom", loom_tests);
    session.check("fleet: format", |_| fleet::format());
    fleet_ahead.wait();
    session.check("fleet: lints", |_| fleet::lints(&ALLOWED_IN_TESTS));
    session.suite("fleet", |_| fleet::tests());
    session.store_in_a_browser();
    session.suite("fleet on Spark", fleet::on_spark);
    session.suite("guard", |_| guard::compare());
    session.suite("python", python_tests);
    session.suite("stress, one minute", stress_minute);
    session.close()
}

impl Session {
    fn check_jdks(&mut self) {
        let missing = self.jdks.missing();
        if must_be_complete() {
            self.add("JDKs", Tally::one(missing.is_empty()), 0.0);
        }
    }

    /// Before everything that wants one. Where there is none, that is said, and in CI a failure.
    fn check_browser(&mut self) {
        self.without_browser = !page::has_browser();
        if must_be_complete() {
            self.add("browser", Tally::one(!self.without_browser), 0.0);
        }
    }

    fn page_in_a_browser(&mut self) {
        if !self.without_browser {
            self.suite("page in a browser", |jdks| page::tests(true, jdks));
        }
    }

    /// After the fleet's own tests, which build what is served.
    fn store_in_a_browser(&mut self) {
        if !self.without_browser {
            self.suite("store in a browser", |_| page::fleet_tests());
        }
    }

    /// The evaluation's programs. They draw in a hundred megabytes, which only `./hw eval` and CI fetch.
    fn evaluation(&mut self) {
        let mut is_here = true;
        self.suite("evaluation compiles", |jdks| {
            is_here = eval::compiles(jdks, must_be_complete())?;
            Ok(Tally { passed: is_here.into(), skipped: (!is_here).into(), ..Tally::default() })
        });
        self.without_evaluation = !is_here;
    }

    /// Whether reports name the cause, on programs with a known one.
    fn diagnosis(&mut self) {
        match self.without_evaluation {
            true => self.add("diagnosis", Tally { skipped: 1, ..Tally::default() }, 0.0),
            false => self.suite("diagnosis", diagnose::subset),
        }
    }

    /// Something that is right or wrong as a whole.
    fn check(&mut self, name: &'static str, check: impl FnOnce(&Jdks) -> Result<(), Problem>) {
        self.suite(name, |jdks| {
            check(jdks)?;
            Ok(Tally::one(true))
        });
    }

    /// Something that has tests to count.
    fn suite<T: Into<Outcome>>(&mut self, name: &'static str, suite: impl FnOnce(&Jdks) -> Result<T, Problem>) {
        println!("\n== {name}");
        let start = Instant::now();
        let outcome = suite(&self.jdks).map(Into::into).unwrap_or_else(|problem| {
            let failures = format!("{name}: {problem}\n");
            print!("{failures}");
            Outcome { tally: Tally::one(false), failures }
        });
        self.add(name, outcome, start.elapsed().as_secs_f64());
    }

    fn add(&mut self, name: &'static str, outcome: impl Into<Outcome>, seconds: f64) {
        let mut outcome = outcome.into();
        if must_be_complete() {
            outcome.tally = outcome.tally.complete();
        }
        self.suites.push(Suite { name, outcome, seconds });
    }

    fn close(self) -> Result<(), Problem> {
        println!();
        for Suite { name, outcome, seconds } in &self.suites {
            let Tally { passed, failed, skipped } = outcome.tally;
            println!("{name:<20} {passed:>6} passed {failed:>4} failed {skipped:>4} skipped {seconds:>8.1} s");
        }
        for release in self.jdks.missing() {
            println!("not tested: JDK {release}, which is not here");
        }
        if self.without_browser {
            println!("not tested: the page in a browser, because there is none (package chromium)");
        }
        if self.without_evaluation {
            println!("not compiled: the evaluation's programs, whose packages were never fetched here (./hw eval)");
        }
        // Once more where it is looked for: what a test wrote is far above by now.
        for suite in &self.suites {
            print!("{}", suite.outcome.failures);
        }
        let Tally { passed, failed, skipped } = self.suites.iter().map(|suite| suite.outcome.tally).sum();
        println!("{passed} passed, {failed} failed, {skipped} skipped");
        match failed {
            0 => Ok(()),
            _ => Err(failing(&self.suites).into()),
        }
    }
}

/// True where nothing may be left out.
fn must_be_complete() -> bool {
    std::env::var("CI").as_deref() == Ok("true")
}

fn failing(suites: &[Suite]) -> String {
    let names: Vec<_> = suites.iter().filter(|suite| suite.outcome.tally.failed > 0).map(|suite| suite.name).collect();
    format!("failures in {}", names.join(", "))
}

fn lint_products() -> Result<(), Problem> {
    run(cargo().args(["clippy", "--workspace", "--locked", "--quiet", "--keep-going", "--", "-D", "warnings"]))
}

fn lint_tests() -> Result<(), Problem> {
    let mut clippy = cargo();
    clippy.args(["clippy", "--workspace", "--locked", "--quiet", "--keep-going", "--tests", "--examples", "--benches"]);
    run(clippy.args(["--", "-D", "warnings"]).args(ALLOWED_IN_TESTS))
}

fn maven_tests(jdks: &Jdks) -> Result<Tally, Problem> {
    for old in java::surefire_reports() {
        std::fs::remove_file(old)?; // so that no earlier run is counted
    }
    let content = run(&mut java::maven(jdks.with_compiler(), &["package"]));
    if let Err(problem) = &content {
        println!("{problem}");
    }
    let reports = java::surefire_reports().into_iter().filter_map(|report| std::fs::read_to_string(report).ok());
    Ok(Tally::of_maven(reports, content.is_ok()))
}

/// A `cargo test` that knows the JDKs, the browser and the command line that it tests.
pub fn cargo_test(jdks: &Jdks) -> Command {
    let mut tests = cargo();
    tests.args(["test", "--locked"]).env("HEADWAY_BIN", products::headway());
    jdks.tell(&mut tests);
    page::tell_browser(&mut tests);
    tests
}

fn cargo_tests(jdks: &Jdks) -> Result<Outcome, Problem> {
    let mut tests = cargo_test(jdks);
    // Passed tests say on their output what they skipped.
    tests.args(["--workspace", "--no-fail-fast", "--", "--show-output"]);
    let (output, content) = run_and_read(&mut tests)?;
    let (tally, failures) = repeats::judge(Tally::of_cargo(&output, content), &output, jdks)?;
    Ok(Outcome { tally, failures: failures.iter().map(repeats::Failure::end).collect() })
}

fn loom_tests(_: &Jdks) -> Result<Tally, Problem> {
    let mut total = Tally::default();
    for (name, models) in LOOM_MODELS {
        let mut cargo = cargo();
        cargo.args(["test", "--locked", "--release", "-p", name]).args(models);
        cargo.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", target_directory().join("loom"));
        let (output, content) = run_and_read(&mut cargo)?;
        total = total + Tally::of_cargo(&output, content);
    }
    Ok(total)
}

fn python_tests(_: &Jdks) -> Result<Tally, Problem> {
    let mut total = Tally::default();
    for folder in python_folders()? {
        // The evaluation's numbers come from libraries, in a Python of its own.
        let mut tests = if folder == "eval" { eval::python()? } else { program("python3") };
        tests.args(["-B", "-m", "unittest", "discover", "-s", &folder]);
        let (output, content) = run_and_read(&mut tests)?;
        total = total + Tally::of_unittest(&output, content);
    }
    Ok(total)
}

/// Folders under version control that hold `test_*.py`.
fn python_folders() -> Result<Vec<String>, Problem> {
    let tests = tidy::files()?.into_iter().filter(|file| is_python_test(file));
    let mut folders: Vec<String> =
        tests.filter_map(|file| file.rsplit_once('/').map(|(folder, _)| folder.to_owned())).collect();
    folders.sort();
    folders.dedup();
    Ok(folders)
}

fn is_python_test(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.starts_with("test_") && name.ends_with(".py")
}

fn stress_minute(jdks: &Jdks) -> Result<Tally, Problem> {
    let mut driver: Command = stress::driver(jdks);
    driver.args(["--minutes", "1"]).current_dir(root());
    let (output, content) = run_and_read(&mut driver)?;
    Ok(Tally::of_stress(&output, content))
}
