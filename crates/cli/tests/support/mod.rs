//! What the tests of the command line have in common: running the binary,
//! the JDKs, the agent library, and programs to attach to.
#![allow(dead_code)] // Each test binary uses its part.

pub mod jdk;
pub mod recording;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The binary under test.
pub fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_headway"))
}

/// `headway ARGUMENTS`, in an environment that says nothing.
pub fn headway<I: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = I>) -> Command {
    let mut command = Command::new(program());
    command
        .args(arguments)
        .env("COLUMNS", "80")
        .env("TZ", "UTC")
        .env("HEADWAY_CONFIG", "")
        .env_remove("JAVA_TOOL_OPTIONS")
        .stdin(Stdio::null());
    command
}

/// `headway ARGUMENTS` with the agent library at hand.
pub fn headway_with_agent<I: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = I>) -> Command {
    let mut command = headway(arguments);
    command.env("HEADWAY_AGENT", agent_library());
    command
}

/// What a finished command said.
pub struct Said {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Said {
        Said {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// A text whose sentences are not broken into lines, wherever names of any length broke them.
pub fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs a command to its end.
pub fn said(command: &mut Command) -> Said {
    command.output().expect("the command starts").into()
}

/// Checks that a command fails with this code and this one sentence, the last
/// thing it says.
#[track_caller]
pub fn refuses(command: &mut Command, code: i32, sentence: &str) {
    let said = said(command);
    assert_eq!(said.code, Some(code), "exit code of {command:?}\n{}{}", said.stdout, said.stderr);
    assert!(said.stderr.contains(sentence), "{command:?} should say\n  {sentence}\nbut said\n  {}", said.stderr);
    let sentences = said.stderr.lines().filter(|line| line.starts_with("headway: ")).count();
    assert_eq!(sentences, 1, "one sentence, not\n{}", said.stderr);
    assert!(said.stderr.lines().last().is_some_and(|line| line.starts_with("headway: ")), "{}", said.stderr);
}

/// The agent library: `HEADWAY_AGENT` if set, else built beside the binary.
pub fn agent_library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        if let Some(path) = std::env::var_os("HEADWAY_AGENT") {
            return PathBuf::from(path);
        }
        let program = program();
        let profile_directory = program.parent().expect("a directory");
        let target_directory = profile_directory.parent().expect("a target directory");
        let mut build = Command::new(env!("CARGO"));
        build
            .args(["build", "--quiet", "-p", "headway-agent", "--target-dir"])
            .arg(target_directory)
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        if profile_directory.ends_with("release") {
            build.arg("--release");
        }
        assert!(build.status().expect("cargo runs").success(), "the agent does not build");
        profile_directory.join("libheadway.so")
    })
}

/// A process that is ended when the test ends.
pub struct Guarded(pub Child);

impl Guarded {
    pub fn spawn(command: &mut Command) -> Guarded {
        Guarded(command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}")))
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    pub fn lives(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if !self.lives() {
            return;
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
        // A JVM that is killed leaves its attach socket behind, which stands in the
        // way of the next one with this pid if that is another user's.
        let _ = std::fs::remove_file(format!("/tmp/.java_pid{}", self.pid()));
    }
}

/// Waits until `condition` holds, at most two minutes: a busy machine starts a JVM
/// in half of one.
#[track_caller]
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(120), "in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// True if the tool is there and may do what is asked of it; otherwise says
/// which one is not, and fails where `CI=true`.
pub fn permitted(what: &str, attempt: &mut Command) -> bool {
    let done = attempt.stdout(Stdio::null()).stderr(Stdio::null()).status();
    if done.is_ok_and(|status| status.success()) {
        return true;
    }
    let message = format!("{what} is not possible here: {attempt:?}");
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{message}");
    println!("SKIPPED: {message}");
    false
}
