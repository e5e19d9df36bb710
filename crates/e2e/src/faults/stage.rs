//! What a fault may use while it is tried: the tools under test, JDKs, a
//! directory that goes away afterwards, and programs that end with it.

use crate::guarded::Guarded;
use crate::jdk::Jdk;
use crate::report::Report;
use crate::tools::{self, Tools};
use crate::Problem;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};
use tempfile::TempDir;

/// Longest time until a program is ready: a busy machine starts a JVM in half of it.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// Longest time that a command line may take.
const COMMAND_WITHIN: Duration = Duration::from_secs(90);
/// Longest time until something has happened that happens by itself. What never happens is a
/// fault; how late it comes is the machine's.
const PATIENCE: Duration = Duration::from_secs(90);
/// Contentions that a report must have.
const FEWEST: u64 = 20;
/// What the target's threads spend their time in.
pub const OWNER: &str = "io.headway.workloads.faults.Target";

/// See the module.
pub struct Stage {
    /// The tools under test.
    pub tools: Tools,
    directory: TempDir,
}

/// What a finished command line said.
#[derive(Debug)]
pub struct Said {
    /// Exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Said {
    /// The command's last sentence, without its own name.
    pub fn sentence(&self) -> &str {
        let last = self.stderr.lines().rev().find(|line| line.starts_with("headway: "));
        last.map_or("", |line| line.trim_start_matches("headway: "))
    }

    /// Everything, for a message.
    pub fn all(&self) -> String {
        format!("exit code {:?}\n{}{}", self.code, tools::tail(&self.stdout), tools::tail(&self.stderr))
    }
}

impl Stage {
    /// A stage for one fault.
    ///
    /// # Errors
    /// The tools are not built.
    pub fn new() -> Result<Stage, Problem> {
        Ok(Stage { tools: Tools::find()?, directory: TempDir::with_prefix("headway-fault-")? })
    }

    /// The JDK of this release.
    ///
    /// # Errors
    /// It is not here.
    pub fn jdk(&self, release: u32) -> Result<Jdk, Problem> {
        Jdk::find(release).ok_or_else(|| format!("no JDK {release} here").into())
    }

    /// A path in the stage's directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The same as text.
    pub fn name(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// A program of this crate.
    pub fn own_program(&self, name: &str) -> PathBuf {
        self.tools.headway.with_file_name(name)
    }

    /// `headway ARGUMENTS` in the stage's directory.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(&self.tools.headway);
        command.args(arguments).current_dir(self.directory.path()).stdin(Stdio::null());
        command.env_remove("JAVA_TOOL_OPTIONS").env("COLUMNS", "1000");
        command
    }

    /// Runs `headway ARGUMENTS` to its end.
    ///
    /// # Errors
    /// It cannot be run, or does not end.
    pub fn headway<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Result<Said, Problem> {
        self.finish(&mut self.command(arguments))
    }

    /// Runs a command to its end.
    ///
    /// # Errors
    /// It cannot be run, or does not end in time.
    pub fn finish(&self, command: &mut Command) -> Result<Said, Problem> {
        let (out, err) = (self.unique("stdout"), self.unique("stderr"));
        let mut child = Guarded(command.stdout(File::create(&out)?).stderr(File::create(&err)?).spawn()?);
        let deadline = Instant::now() + COMMAND_WITHIN;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if Instant::now() > deadline {
                return Err(format!("{command:?} did not end within {} s", COMMAND_WITHIN.as_secs()).into());
            }
            thread::sleep(Duration::from_millis(10));
        };
        let text = |path: &Path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok(Said { code: status.code(), stdout: text(&out)?, stderr: text(&err)? })
    }

    /// A file that is nobody else's, made at once: several threads ask for one.
    fn unique(&self, stem: &str) -> PathBuf {
        let mut paths = (0..).map(|n: u32| self.path(&format!("{stem}-{n}")));
        let is_free = |path: &PathBuf| {
            let made = File::options().write(true).create_new(true).open(path);
            made.map_or_else(|error| error.kind() != std::io::ErrorKind::AlreadyExists, |_| true)
        };
        paths.find(is_free).unwrap_or_else(|| self.path(stem))
    }

    /// The command of a contended program on a JVM with these options.
    pub fn java<S: AsRef<OsStr>>(&self, java: &Path, options: &[S], arguments: &[&str]) -> Command {
        let mut command = Command::new(java);
        command.args(["-Xmx128m", "-XX:+IgnoreUnrecognizedVMOptions"]).args(options);
        command.arg(format!("-XX:ErrorFile={}", self.name("hs_err.log")));
        command.arg("-jar").arg(&self.tools.workloads).arg("faults").args(arguments);
        command.current_dir(self.directory.path()).stdin(Stdio::null());
        command
    }

    /// A contended program that runs on this JDK.
    ///
    /// # Errors
    /// It does not become ready.
    pub fn contended(&self, release: u32, options: &[&str]) -> Result<Guarded, Problem> {
        let java = self.jdk(release)?.tool("java");
        self.ready(&mut self.java(&java, options, &[]))
    }

    /// Starts a program and waits until it says that it is ready.
    ///
    /// # Errors
    /// It ends before, or takes too long.
    pub fn ready(&self, command: &mut Command) -> Result<Guarded, Problem> {
        let (out, err) = (self.unique("program"), self.unique("program-err"));
        let mut child = Guarded(command.stdout(File::create(&out)?).stderr(File::create(&err)?).spawn()?);
        let deadline = Instant::now() + READY_WITHIN;
        while !fs::read_to_string(&out)?.contains("READY") {
            if let Some(status) = child.try_wait()? {
                let said = tools::tail(&fs::read_to_string(&err)?);
                return Err(format!("{command:?} ended with {status}:\n{said}").into());
            }
            if Instant::now() > deadline {
                return Err(format!("{command:?} did not become ready").into());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(child)
    }

    /// Records a program for a moment, by attaching; gives the report. For longer if there
    /// were too few contentions: a busy machine lets the program run seldom.
    ///
    /// # Errors
    /// A command fails, or the program does not survive.
    pub fn record(&self, program: &mut Guarded, options: &[&str]) -> Result<Report, Problem> {
        let (pid, file) = (program.pid(), self.name("recording.jfr"));
        let mut lengths = ["1500ms", "8s", "30s"].into_iter();
        loop {
            let length = lengths.next();
            let mut arguments = vec!["record", "--force", "-d", length.unwrap_or("60s"), "-o", &file];
            arguments.extend(options);
            arguments.push(&pid);
            let said = self.headway(arguments)?;
            if said.code != Some(0) {
                return Err(said.all().into());
            }
            self.survives(program)?;
            let report = self.report(&file)?;
            if report.contentions >= FEWEST || length.is_none() {
                return Ok(report);
            }
        }
    }

    /// Waits until a recording has more contentions than its report must have.
    ///
    /// # Errors
    /// It does not get them.
    pub fn await_contentions(&self, pid: &str) -> Result<(), Problem> {
        eventually("contentions in the recording", || {
            let status = self.headway(["status", "--json", pid])?;
            let status: serde_json::Value = serde_json::from_str(&status.stdout).unwrap_or_default();
            Ok(status.pointer("/events/monitor_enter").and_then(serde_json::Value::as_u64) > Some(2 * FEWEST))
        })
    }

    /// The report of a recording, by owners' methods.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn report(&self, file: &str) -> Result<Report, Problem> {
        let output = tools::run(&self.tools.headway, ["report", "--json", "--by", "owner-method,owner-chain", file])?;
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// The program runs on, and its VM wrote no error file.
    ///
    /// # Errors
    /// It does not.
    pub fn survives(&self, program: &mut Guarded) -> Result<(), Problem> {
        if let Ok(text) = fs::read_to_string(self.path("hs_err.log")) {
            let head: Vec<&str> = text.lines().take(12).collect();
            return Err(format!("the VM crashed:\n{}", head.join("\n")).into());
        }
        match program.try_wait()? {
            None => Ok(()),
            Some(status) => Err(format!("the program ended with {status}").into()),
        }
    }

    /// Text with what changes from run to run taken out: this stage's
    /// directory, process ids, the home directories of JDKs.
    pub fn plain(&self, text: &str, pids: &[&str]) -> String {
        let mut plain = text.replace(&format!("{}/", self.directory.path().display()), "");
        for pid in pids {
            plain = plain.replace(pid, "PID");
        }
        without_place(&plain).replace('|', "\\|")
    }
}

/// A text without the random part of the name of a private directory.
fn without_place(text: &str) -> String {
    const PLACE: &str = "/.headway-";
    let mut parts = text.split(PLACE);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, rest| plain + PLACE + "ID" + rest.trim_start_matches(|c: char| c.is_ascii_hexdigit()))
}

/// A report that shows contentions, and the owner's call stack for most of the blocked time in
/// which there was one: on a busy machine much of it is hand-off.
///
/// # Errors
/// It does not, with the numbers.
pub fn shows_owners(report: &Report) -> Result<String, Problem> {
    let owned_ns = report.blocked_ns.saturating_sub(report.blocked.hand_off_ns);
    let with_chain = report.blocked.owner_stack_ns as f64 / owned_ns.max(1) as f64;
    if report.contentions < FEWEST || with_chain < 0.5 || !by_target(report) {
        return Err(format!(
            "{} contentions, {with_chain:.2} of the owned time with the owner's call stack: {:?}",
            report.contentions, report.degraded
        )
        .into());
    }
    Ok("contentions with the owners' call stacks".to_owned())
}

fn by_target(report: &Report) -> bool {
    report.rows.iter().any(|row| row.value.as_str().is_some_and(|name| name.starts_with(OWNER)))
}

/// A report that shows contentions, with a reason for what is missing.
///
/// # Errors
/// There is no contention, or the reason is not given.
pub fn shows_less(report: &Report, words: &str) -> Result<String, Problem> {
    let reason = report.degraded.iter().find(|degraded| degraded.reason.contains(words));
    match (report.contentions, reason) {
        (FEWEST.., Some(degraded)) => Ok(format!("contentions; \"{}: {}\"", degraded.mechanism, degraded.reason)),
        (contentions, _) => Err(format!("{contentions} contentions; {:?}", report.degraded).into()),
    }
}

/// A command that refused with this code and one sentence with these words.
///
/// # Errors
/// It did not.
pub fn refused(stage: &Stage, said: &Said, code: i32, words: &str, pids: &[&str]) -> Result<String, Problem> {
    let sentences = said.stderr.lines().filter(|line| line.starts_with("headway: ")).count();
    if said.code != Some(code) || !said.sentence().contains(words) || sentences != 1 {
        return Err(format!("not exit code {code} with one sentence with \"{words}\": {}", said.all()).into());
    }
    Ok(format!("exit code {code}: \"{}\"", stage.plain(said.sentence(), pids)))
}

/// Waits until something is so.
///
/// # Errors
/// It is not, for long; or it cannot be found out.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> Result<bool, Problem>) -> Result<(), Problem> {
    let deadline = Instant::now() + PATIENCE;
    while !is_so()? {
        if Instant::now() > deadline {
            return Err(format!("still not so after {} s: {what}", PATIENCE.as_secs()).into());
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Waits until each thread of a process has this state: what a signal changes, it changes when the
/// thread gets a CPU, and those that have not had one answer still.
///
/// # Errors
/// It does not, or the process is gone.
pub fn await_state(pid: &str, state: char) -> Result<(), Problem> {
    eventually(&format!("process {pid} in state {state}"), || {
        let tasks = fs::read_dir(format!("/proc/{pid}/task"))?.flatten();
        let mut stats = tasks.filter_map(|task| fs::read_to_string(task.path().join("stat")).ok());
        Ok(stats.all(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(state))))
    })
}

/// True if a program is on the path.
pub fn has(program: &str) -> bool {
    env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|place| place.join(program).is_file()))
}
