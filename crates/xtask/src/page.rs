//! The page: built by npm before the command that holds it, and tested.
//!
//! What is installed is what `web/package-lock.json` says. The page is built
//! again when something below `web/` is newer than what was built.

use crate::jdks::Jdks;
use crate::process::{build_directory, cargo, is_on_path, program, root, run, run_and_read, target_directory};
use crate::tally::Tally;
use crate::test::Outcome;
use crate::{fleet, packages, Problem};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// Names under which systems install a browser that the tests can drive.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The variable that says which browser to take.
const BROWSER: &str = "HEADWAY_CHROMIUM";

/// Lines of what a failed test said that are repeated at the end: the difference comes first, then calls.
const FIRST_LINES: usize = 20;

/// Builds the page unless what is there is up to date.
pub fn build() -> Result<(), Problem> {
    install()?;
    let built = modified(&web().join("dist/index.html"));
    if built.is_some_and(|built| sources().into_iter().all(|source| modified(&source).is_some_and(|m| m <= built))) {
        return Ok(());
    }
    run(npm(&["run", "build", "--silent"]).env("NODE_ENV", "production"))
}

/// The page's own tests: of its logic, and of the page in a browser, which shows a JVM of `jdks` too.
pub fn tests(browser_tests: bool, jdks: &Jdks) -> Result<Outcome, Problem> {
    build()?;
    if !browser_tests {
        return counted("page.json", |_| Ok(()));
    }
    counted("page-browser.json", |vitest| {
        in_browser(vitest)?.envs(jdks.variables());
        Ok(())
    })
}

/// The page of a store in a browser. The fleet's own tests have built the programs that it needs.
pub fn fleet_tests() -> Result<Outcome, Problem> {
    counted("page-fleet.json", |vitest| {
        vitest.args(["--config", "e2e/fleet.config.ts"]).env(BROWSER, the_browser()?);
        vitest.env("HEADWAY_FLEET", fleet::for_tests("headway-fleet"));
        vitest.env("HEADWAY_GENERATOR", fleet::for_tests("headway-generator"));
        Ok(())
    })
}

/// Runs vitest as `prepare` says, counts, and keeps what failed tests say.
fn counted(report: &str, prepare: impl FnOnce(&mut Command) -> Result<(), Problem>) -> Result<Outcome, Problem> {
    let mut vitest = vitest();
    vitest.args(["--reporter=default", "--reporter=json"]);
    let report = build_directory().join(report);
    fs::create_dir_all(build_directory())?;
    let _ = fs::remove_file(&report); // an older one must not be counted
    vitest.arg(format!("--outputFile={}", report.display()));
    prepare(&mut vitest)?;
    let (_, content) = run_and_read(&mut vitest)?;
    let counted = fs::read_to_string(&report).ok().and_then(|text| serde_json::from_str::<Counted>(&text).ok());
    let counted = counted.unwrap_or_default();
    let tally = Tally::of_page(counted.passed, counted.failed, counted.pending, content);
    Ok(Outcome { tally, failures: counted.failures() })
}

/// `./hw pictures [--renew]`: compares each page with its picture, or takes all pictures again.
pub fn pictures(rest: &[String]) -> Result<(), Problem> {
    let renew = match rest {
        [] => false,
        [option] if option == "--renew" => true,
        _ => return Err(crate::Misuse("takes only --renew".to_owned()).into()),
    };
    crate::products::rust(&["headway-cli"])?;
    let mut vitest = vitest();
    vitest.env("HEADWAY_UPDATE", if renew { "1" } else { "" });
    run(in_browser(&mut vitest)?.arg("e2e/pictures.test.ts"))
}

fn vitest() -> Command {
    npm(&["exec", "--", "vitest", "run"])
}

/// Has vitest run what needs a browser, the command and recordings.
fn in_browser(vitest: &mut Command) -> Result<&mut Command, Problem> {
    vitest.args(["--config", "e2e/vitest.config.ts"]).env(BROWSER, the_browser()?);
    Ok(vitest.env("HEADWAY_BIN", crate::products::headway()).env("HEADWAY_RECORDINGS", recordings()?))
}

fn the_browser() -> Result<PathBuf, Problem> {
    browser().ok_or_else(|| "no browser (package chromium); HEADWAY_CHROMIUM says where one is".into())
}

/// True if the tests can find a browser, installing one where that is possible.
pub fn has_browser() -> bool {
    browser().is_some() || (packages::install_one_of(&["chromium"]) && browser().is_some())
}

/// Says where the browser is, if there is one.
pub fn tell_browser(tests: &mut Command) {
    if let Some(browser) = browser() {
        tests.env(BROWSER, browser);
    }
}

/// What vitest's JSON says.
#[derive(Debug, Default, Deserialize)]
struct Counted {
    #[serde(rename = "numPassedTests")]
    passed: u64,
    #[serde(rename = "numFailedTests")]
    failed: u64,
    #[serde(rename = "numPendingTests", default)]
    pending: u64,
    #[serde(rename = "testResults", default)]
    files: Vec<TestFile>,
}

/// A file of tests in vitest's JSON.
#[derive(Debug, Default, Deserialize)]
struct TestFile {
    name: String,
    /// Why the file as a whole failed; empty if it did not.
    #[serde(default)]
    message: String,
    #[serde(rename = "assertionResults", default)]
    tests: Vec<OneTest>,
}

/// A test in vitest's JSON.
#[derive(Debug, Default, Deserialize)]
struct OneTest {
    #[serde(rename = "fullName")]
    name: String,
    #[serde(rename = "failureMessages", default)]
    failures: Vec<String>,
}

impl Counted {
    /// Each failed test and the first lines of what it said, as the end of the whole run repeats them.
    fn failures(&self) -> String {
        let mut text = String::new();
        for file in &self.files {
            let name = Path::new(&file.name).file_name().unwrap_or_default().to_string_lossy();
            if !file.message.trim().is_empty() {
                text.push_str(&failure("the file", &name, &file.message));
            }
            for test in &file.tests {
                test.failures.iter().for_each(|said| text.push_str(&failure(&test.name, &name, said)));
            }
        }
        text
    }
}

/// A failed test, its file and the first lines of what it said, without calls in libraries.
fn failure(test: &str, file: &str, said: &str) -> String {
    let own = said.trim().lines().filter(|line| !line.contains("node_modules/") && !line.contains("(node:"));
    let lines: Vec<&str> = own.take(FIRST_LINES).collect();
    format!("failed: {test} of {file}\n{}\n", lines.join("\n"))
}

fn browser() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(BROWSER).filter(|named| !named.is_empty()) {
        return Some(PathBuf::from(named));
    }
    BROWSERS.into_iter().find(|name| is_on_path(name)).map(PathBuf::from)
}

/// Writes the recordings that the page is tested on.
fn recordings() -> Result<PathBuf, Problem> {
    let place = target_directory().join("page-recordings");
    let mut make = cargo();
    make.args(["run", "--release", "--locked", "--quiet", "-p", "headway-page", "--example", "page_recordings", "--"]);
    run(make.arg(&place))?;
    Ok(place)
}

fn install() -> Result<(), Problem> {
    let wanted = modified(&web().join("package-lock.json"));
    let installed = modified(&web().join("node_modules/.package-lock.json"));
    match installed >= wanted && installed.is_some() {
        true => Ok(()),
        false => run(&mut npm(&["ci", "--no-audit", "--no-fund", "--loglevel=error"])),
    }
}

fn npm(arguments: &[&str]) -> Command {
    let mut npm = program("npm");
    npm.current_dir(web()).args(arguments);
    npm
}

fn web() -> PathBuf {
    root().join("web")
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

/// What the built page is made from.
fn sources() -> Vec<PathBuf> {
    let own = ["index.html", "package-lock.json", "package.json", "tsconfig.json", "vite.config.ts"];
    let mut found: Vec<PathBuf> = own.into_iter().map(|name| web().join(name)).collect();
    let mut open = vec![web().join("src")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            match entry.is_dir() {
                true => open.push(entry),
                false => found.push(entry),
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_tests_of_the_page_are_named_with_what_they_said() {
        let json = r#"{ "numPassedTests": 1, "numFailedTests": 1, "testResults": [
            { "name": "/somewhere/page.test.ts", "message": "", "assertionResults": [
                { "fullName": "locks are sorted", "failureMessages": [] },
                { "fullName": "parks are listed", "failureMessages": ["Error: expected 2 to be 3\n    at there\n    at a (/node_modules/b.js:1)"] }] },
            { "name": "/somewhere/live.test.ts", "message": "no JVM", "assertionResults": [] }] }"#;
        let counted: Counted = serde_json::from_str(json).unwrap();
        let expected = "failed: parks are listed of page.test.ts\nError: expected 2 to be 3\n    at there\n\
                        failed: the file of live.test.ts\nno JVM\n";
        assert_eq!((counted.failed, counted.failures().as_str()), (1, expected));
    }
}
