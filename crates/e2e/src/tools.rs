//! The programs under test, as built: `headway`, its agent, the workloads.

use crate::Problem;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The agent's file name.
const AGENT: &str = "libheadway.so";

/// Where the workloads jar is built, below the project's root.
const WORKLOADS: &str = "java/workloads/target/headway-workloads.jar";

/// The programs under test.
#[derive(Clone, Debug)]
pub struct Tools {
    /// The command line.
    pub headway: PathBuf,
    /// The agent library, beside it.
    pub agent: PathBuf,
    /// The workloads.
    pub workloads: PathBuf,
}

impl Tools {
    /// Finds what was built: the command line where `HEADWAY_BIN` says, else
    /// among what cargo built, optimised or not; the jar where
    /// `HEADWAY_WORKLOADS` says, else where Maven puts it.
    ///
    /// # Errors
    /// Says what is missing and how it is built.
    pub fn find() -> Result<Tools, Problem> {
        let headway = find_headway()?;
        let agent = headway.with_file_name(AGENT);
        let workloads = env::var_os("HEADWAY_WORKLOADS").map_or_else(|| root().join(WORKLOADS), PathBuf::from);
        if !workloads.is_file() {
            return Err(format!("{} is missing; `mvn -f java package` builds it", workloads.display()).into());
        }
        Ok(Tools { headway, agent, workloads })
    }
}

/// The project's root.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

fn find_headway() -> Result<PathBuf, Problem> {
    if let Some(path) = env::var_os("HEADWAY_BIN") {
        return Ok(path.into());
    }
    let own = env::current_exe()?;
    // What is shipped first: a debug build beside the tests may be of another day.
    let near = || own.ancestors().take(5);
    let mut candidates = near().map(|d| d.join("release/headway")).chain(near().map(|d| d.join("headway")));
    candidates.find(|headway| headway.is_file() && headway.with_file_name(AGENT).is_file()).ok_or_else(|| {
        "headway and libheadway.so are missing; `cargo build --release -p headway-cli -p headway-agent` \
             builds them, HEADWAY_BIN says where they are"
            .into()
    })
}

/// Waits for a process, at most so long.
///
/// # Errors
/// If it does not end; it is killed then, after it was asked for a thread dump
/// (which a JVM prints on its standard output).
pub fn wait_at_most(child: &mut Child, limit: Duration) -> Result<ExitStatus, Problem> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() > deadline {
            let _ = Command::new("kill").arg("-QUIT").arg(child.id().to_string()).status();
            thread::sleep(Duration::from_secs(3));
            child.kill()?;
            child.wait()?;
            return Err(format!("process {} did not end within {} s", child.id(), limit.as_secs()).into());
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Runs a program to its end and gives what it printed.
///
/// # Errors
/// If it cannot be run or its exit code is not 0; the sentence has the end of
/// what it said.
pub fn run<I, S>(program: &Path, arguments: I) -> Result<Output, Problem>
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    let output = command.output().map_err(|e| format!("cannot run {}: {e}", program.display()))?;
    if output.status.success() {
        return Ok(output);
    }
    Err(format!(
        "{command:?} ended with {}:\n{}{}",
        output.status,
        tail(&String::from_utf8_lossy(&output.stdout)),
        tail(&String::from_utf8_lossy(&output.stderr))
    )
    .into())
}

/// The last lines of a text.
pub fn tail(text: &str) -> String {
    const LINES: usize = 30;
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(LINES);
    lines[from..].iter().map(|line| format!("    {line}\n")).collect()
}
