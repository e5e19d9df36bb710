//! The workspace `fleet/`: checks and tests, like those of the workspace above it.

use crate::jdks::Jdks;
use crate::process::{build_directory, cargo, is_on_path, program, root, run, run_and_read};
use crate::python::{packages, packages_of_sources};
use crate::tally::Tally;
use crate::{page, pairs, takes_nothing, Misuse, Problem};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// The S3 server of `./hw fleet-test`: a separate program, only for tests, which is built of its sources by Go.
const SERVER: &str = "github.com/versity/versitygw/cmd/versitygw";
/// Its version; `docs/fleet.md` and `docs/fleet-internals.md` name it, too.
const SERVER_VERSION: &str = "v1.8.0";
/// The test program that needs it (`fleet/command/tests/s3`), and the variable by which that finds it.
const SERVER_TESTS: &str = "s3";
const SERVER_PATH: &str = "HEADWAY_S3_SERVER";
/// Apache Spark from PyPI, and what packs it.
const SPARK: [&str; 2] = ["fleet/spark/requirements.txt", "fleet/spark/build-requirements.txt"];
/// The test program that needs nothing else (`fleet/command/tests/spark`), and the variable by which it finds Spark.
const SPARK_TESTS: &str = "spark";
const SPARK_HOME: &str = "HEADWAY_SPARK";
/// DuckDB and pandas from PyPI, the test program that needs them, and the variable by which it finds them.
const READERS: &str = "fleet/readers/requirements.txt";
const READER_TESTS: &str = "readers";
const READERS_PATH: &str = "HEADWAY_READERS";
/// What Spark needs for S3, and the variable for the folder with it.
const SPARK_ON_S3: &str = "fleet/spark/pom.xml";
const SPARK_ON_S3_PATH: &str = "HEADWAY_SPARK_S3";

/// What `./hw fleet-eval` takes.
const EVALUATION: [&str; 4] = ["--fleet", "--null", "--planted", "--seed"];

/// Cargo in the fleet's workspace, which has its own lock file and target directory.
pub fn in_fleet() -> Command {
    let mut command = cargo();
    enter(&mut command);
    command
}

/// Makes a command of cargo one of the fleet's workspace.
pub fn enter(command: &mut Command) {
    command.current_dir(root().join("fleet"));
    // What cargo says of this program: ring is built again where it differs, and DataFusion with it, for minutes.
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_about_a_package(&name.to_string_lossy())) {
        command.env_remove(name);
    }
}

/// Is it a variable that cargo sets for the package that it runs?
fn is_about_a_package(variable: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| variable.starts_with(prefix))
}

/// `headway-fleet`, built as for its tests: fast enough for a small store, and ready much sooner than a release.
pub fn built() -> Result<PathBuf, Problem> {
    page::build()?;
    run(in_fleet().args(["build", "--locked", "--quiet", "--package", "headway-fleet"]))?;
    Ok(for_tests("headway-fleet"))
}

/// Where a program of the fleet's workspace is that was built for its tests.
pub fn for_tests(name: &str) -> PathBuf {
    let place = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("fleet/target"), PathBuf::from);
    place.join("debug").join(name)
}

/// Is it formatted?
pub fn format() -> Result<(), Problem> {
    run(in_fleet().args(["fmt", "--all", "--check"]))
}

/// A build of what lints and tests of the fleet need, at the lowest priority: DataFusion takes minutes, and
/// end-to-end tests of what is above this workspace wait most of the time.
pub struct Ahead(Option<Child>);

impl Ahead {
    /// Begins. What fails here fails again where it is needed, and is reported there.
    pub fn begin() -> Ahead {
        let mut nice = program("nice");
        nice.args(["-n", "19", "sh", "-c", BUILD_AHEAD, "sh"]).arg(cargo().get_program());
        enter(&mut nice);
        Ahead(nice.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok())
    }

    /// Waits for its end, so that nothing is built twice.
    pub fn wait(mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.wait();
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The first argument is cargo.
const BUILD_AHEAD: &str = "\"$1\" check --workspace --locked --quiet --all-targets; \
                           \"$1\" test --workspace --locked --quiet --no-run";

/// Does clippy have nothing to say? In tests panics are allowed.
pub fn lints(allowed_in_tests: &[&str]) -> Result<(), Problem> {
    let clippy = || {
        let mut clippy = in_fleet();
        clippy.args(["clippy", "--workspace", "--locked", "--quiet", "--keep-going"]);
        clippy
    };
    run(clippy().args(["--", "-D", "warnings"]))?;
    // `--tests` leaves out what only `./hw fleet-test` runs.
    for tests in [&["--tests"][..], &["--test", SERVER_TESTS, "--test", SPARK_TESTS, "--test", READER_TESTS]] {
        run(clippy().args(tests).args(["--", "-D", "warnings"]).args(allowed_in_tests))?;
    }
    Ok(())
}

/// All its tests.
pub fn tests() -> Result<Tally, Problem> {
    let mut tests = in_fleet();
    tests.args(["test", "--workspace", "--locked", "--no-fail-fast", "--", "--show-output"]);
    let (output, content) = run_and_read(&mut tests)?;
    Ok(Tally::of_cargo(&output, content))
}

/// Does Spark answer what DataFusion answers, on this machine? Do DuckDB and pandas read the same rows?
pub fn on_spark(jdks: &Jdks) -> Result<Tally, Problem> {
    let mut tests = with_spark(jdks)?;
    tests.args(["--test", SPARK_TESTS, "--test", READER_TESTS, "--", "--show-output"]);
    tests.env(READERS_PATH, packages("fleet-readers", READERS)?);
    let (output, content) = run_and_read(&mut tests)?;
    Ok(Tally::of_cargo(&output, content))
}

/// A `cargo test` of the command that finds Spark, and a JDK for it.
fn with_spark(jdks: &Jdks) -> Result<Command, Problem> {
    let [requirements, tools] = SPARK;
    let spark = packages_of_sources("spark", requirements, tools)?;
    let mut tests = in_fleet();
    tests.args(["test", "--locked", "--package", "headway-fleet"]);
    // Its programs find its Python packages here.
    tests.env(SPARK_HOME, spark.join("pyspark")).env("PYTHONPATH", spark);
    if let Some(home) = jdks.with_compiler() {
        tests.env("JAVA_HOME", home);
    }
    Ok(tests)
}

/// `./hw fleet-test`: the store on a real S3 server, and Spark with a master and workers on it; the tests start and
/// end them.
pub fn on_s3(rest: &[String]) -> Result<(), Problem> {
    takes_nothing(rest)?;
    let (server, jars) = (server()?, spark_on_s3()?);
    let began = Instant::now();
    let mut tests = with_spark(&Jdks::for_tests())?;
    tests.args(["--test", SERVER_TESTS, "--test", SPARK_TESTS, "--", "--show-output"]);
    tests.env(SERVER_PATH, server).env(SPARK_ON_S3_PATH, jars);
    let (output, content) = run_and_read(&mut tests)?;
    let Tally { passed, failed, .. } = Tally::of_cargo(&output, content);
    println!("on {SERVER} {SERVER_VERSION}, {:.0} s, building the tests included", began.elapsed().as_secs_f64());
    println!("{passed} passed, {failed} failed");
    match (passed, failed) {
        (0, 0) => Err("no test ran".into()),
        (_, 0) => Ok(()),
        _ => Err(format!("{failed} tests failed").into()),
    }
}

/// `./hw fleet-eval`: how often regressions are missed, and how often there are none where some are reported, on
/// made-up fleets (`fleet/regress/examples/calibrate.rs`).
pub fn evaluate(rest: &[String]) -> Result<(), Problem> {
    let mut arguments = Vec::new();
    for (name, value) in pairs(rest, &EVALUATION)? {
        value.parse::<u64>().map_err(|_| Misuse(format!("{name} takes a number, not \"{value}\"")))?;
        arguments.extend([name, value]);
    }
    let mut calibrate = in_fleet();
    calibrate.args(["run", "--quiet", "--release", "--locked", "--package", "headway-regress"]);
    run(calibrate.args(["--example", "calibrate", "--"]).args(arguments))
}

/// The folder with what Spark needs for S3; fetched when the versions change.
fn spark_on_s3() -> Result<PathBuf, Problem> {
    let folder = build_directory().join("spark-on-s3");
    let stamp = folder.join("pom.xml");
    let wanted = std::fs::read(root().join(SPARK_ON_S3))?;
    if std::fs::read(&stamp).ok().as_ref() != Some(&wanted) {
        eprintln!("hw: fetching the packages of {SPARK_ON_S3}, 640 MB");
        let mut maven = program("mvn");
        maven.args(["-q", "-B", "-f", SPARK_ON_S3, "dependency:copy-dependencies"]);
        run(maven.arg(format!("-DoutputDirectory={}", folder.display())))?;
        std::fs::write(stamp, wanted)?;
    }
    Ok(folder)
}

/// The server's program; built the first time.
fn server() -> Result<PathBuf, Problem> {
    let folder = root().join("fleet/target/s3").join(SERVER_VERSION);
    let server = folder.join("versitygw");
    if server.is_file() {
        return Ok(server);
    }
    if !is_on_path("go") {
        return Err(format!("the S3 server {SERVER} is built by Go, which is not here (https://go.dev/dl)").into());
    }
    println!("building {SERVER} {SERVER_VERSION}, once: some minutes");
    let mut go = program("go");
    go.args(["install", "-trimpath", &format!("{SERVER}@{SERVER_VERSION}")]);
    run(go.env("GOBIN", &folder).env("GOFLAGS", "-mod=mod"))?;
    Ok(server)
}

#[cfg(test)]
mod tests {
    use super::in_fleet;

    #[test]
    fn the_fleet_is_not_built_again_because_of_who_starts_cargo() {
        // Cargo sets them for this test, as for `./hw`.
        for name in ["CARGO_PKG_NAME", "CARGO_MANIFEST_DIR"] {
            assert!(std::env::var_os(name).is_some(), "{name} is not set here");
            assert!(in_fleet().get_envs().any(|(removed, value)| removed == name && value.is_none()), "{name}");
        }
    }
}
