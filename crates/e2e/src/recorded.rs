//! A predictable workload that ran under a profiler: its truth, its recording.

use crate::guarded::Guarded;
use crate::jdk::Jdk;
use crate::profiler::Profiler;
use crate::report::Report;
use crate::tools::{self, Tools};
use crate::truth::Truth;
use crate::Problem;
use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longest time until a workload is warm.
const READY_WITHIN: Duration = Duration::from_secs(120);

/// Longest time from the begin of a workload's measured part to its end; it may go on
/// for a minute until it has contended.
const END_WITHIN: Duration = Duration::from_secs(240);

/// The event with which JFR says that buffers were full.
const DATA_LOSS: &str = "jdk.DataLoss";

/// A workload to run.
#[derive(Clone, Copy, Debug)]
pub struct Workload<'a> {
    /// Scenario and options of `predict`.
    pub arguments: &'a [&'a str],
    /// Options of the JVM.
    pub jvm_options: &'a [&'a str],
    /// Whether to attach when the program is warm; loaded at start otherwise.
    pub attach: bool,
}

/// A workload that is warm and waits until it is asked to contend.
#[derive(Debug)]
pub struct Warm {
    child: Guarded,
    go: PathBuf,
}

impl Warm {
    /// Runs `command` until the program says that it is ready.
    fn start(command: &[String], directory: &Path) -> Result<Warm, Problem> {
        let (go, output) = (directory.join("go"), directory.join("output"));
        let mut java = Command::new(&command[0]);
        java.args(&command[1..]).arg("--await").arg(&go).stdin(Stdio::null()).stdout(File::create(&output)?);
        let mut child = Guarded(java.spawn()?);
        let deadline = Instant::now() + READY_WITHIN;
        while !fs::read_to_string(&output)?.contains("READY") {
            if Instant::now() > deadline || child.try_wait()?.is_some() {
                return Err("the program did not become ready".into());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(Warm { child, go })
    }

    /// The JVM's process id.
    pub fn pid(&self) -> String {
        self.child.pid()
    }

    fn run_to_its_end(mut self) -> Result<(), Problem> {
        fs::write(&self.go, "")?;
        let status = tools::wait_at_most(&mut self.child, END_WITHIN)?;
        match status.success() {
            true => Ok(()),
            false => Err(format!("the program ended with {status}").into()),
        }
    }
}

/// A workload that ran under a profiler.
pub struct Recorded {
    tools: Tools,
    jdk: Jdk,
    directory: TempDir,
}

impl Recorded {
    /// Runs a workload under Headway, for `HEADWAY_E2E_SECONDS` (2 unless set).
    ///
    /// # Errors
    /// Something did not run, or ended with an error.
    pub fn run(tools: &Tools, jdk: &Jdk, workload: &Workload) -> Result<Recorded, Problem> {
        let recorded = Recorded { tools: tools.clone(), jdk: jdk.clone(), directory: TempDir::new()? };
        let command = recorded.command(workload);
        if workload.attach {
            recorded.attach_when_warm(&command)?;
        } else {
            let mut arguments = ["run", "-q", "--exact", "-o"].map(str::to_owned).to_vec();
            arguments.extend([recorded.recording(), "--".into()]);
            arguments.extend(command);
            tools::run(&tools.headway, arguments)?;
        }
        Ok(recorded)
    }

    /// Runs a workload with a profiler that records all lock events from the JVM's start.
    ///
    /// # Errors
    /// Something did not run, or ended with an error.
    pub fn run_under(profiler: &Profiler, tools: &Tools, jdk: &Jdk, arguments: &[&str]) -> Result<Recorded, Problem> {
        let recorded = Recorded { tools: tools.clone(), jdk: jdk.clone(), directory: TempDir::new()? };
        let jvm_options = profiler.lock_options(tools, &recorded.recording(), recorded.directory.path())?;
        let jvm_options: Vec<&str> = jvm_options.iter().map(String::as_str).collect();
        let command = recorded.command(&Workload { arguments, jvm_options: &jvm_options, attach: false });
        tools::run(Path::new(&command[0]), &command[1..])?;
        Ok(recorded)
    }

    /// What the program measured of itself.
    ///
    /// # Errors
    /// It wrote no truth.
    pub fn truth(&self) -> Result<Truth, Problem> {
        Ok(serde_json::from_str(&fs::read_to_string(self.truth_file())?)?)
    }

    /// What `headway report` says of the recording, broken down by these aspects, with more options.
    ///
    /// # Errors
    /// There is no report.
    pub fn report(&self, by: &str, more: &[&str]) -> Result<Report, Problem> {
        let recording = self.recording();
        let mut arguments = vec!["report", "--json", "--top", "1000000", "--by", by];
        arguments.extend(more);
        arguments.push(&recording);
        let output = tools::run(&self.tools.headway, arguments)?;
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Lets the JDK's own tool read the recording.
    ///
    /// # Errors
    /// It cannot, or finds no contended enter in it.
    pub fn check_with_jdk_tools(&self) -> Result<(), Problem> {
        let (jfr, recording) = (self.jdk.tool("jfr"), self.recording());
        let printed = thread::scope(|scope| {
            let summary = scope.spawn(|| tools::run(&jfr, ["summary", &recording]));
            let printed = tools::run(&jfr, ["print", "--events", "jdk.JavaMonitorEnter", &recording]);
            summary.join().map_err(|_| "`jfr summary` was not run")??;
            printed
        })?;
        if String::from_utf8_lossy(&printed.stdout).contains("jdk.JavaMonitorEnter {") {
            return Ok(());
        }
        Err("`jfr print` shows no contended enter".into())
    }

    /// How often JFR says, in a recording of its own, that it dropped events; `headway report`
    /// does not read that.
    ///
    /// # Errors
    /// The JDK's tool cannot read the recording.
    pub fn data_losses(&self) -> Result<u64, Problem> {
        let arguments = ["print", "--events", DATA_LOSS, &self.recording()];
        let printed = tools::run(&self.jdk.tool("jfr"), arguments)?;
        Ok(String::from_utf8_lossy(&printed.stdout).matches(&format!("{DATA_LOSS} {{")).count() as u64)
    }

    fn command(&self, workload: &Workload) -> Vec<String> {
        let mut command = vec![self.jdk.tool("java").display().to_string()];
        command.extend(workload.jvm_options.iter().map(|option| (*option).to_owned()));
        command.extend(["-jar".into(), self.tools.workloads.display().to_string(), "predict".into()]);
        command.extend(workload.arguments.iter().map(|argument| (*argument).to_owned()));
        let seconds = env::var("HEADWAY_E2E_SECONDS").unwrap_or_else(|_| "2".into());
        if !workload.arguments.contains(&"--seconds") {
            command.extend(["--seconds".into(), seconds]);
        }
        command.extend(["--truth".into(), self.truth_file().display().to_string()]);
        command
    }

    /// Attaches to a program whose code is compiled, before it contends. The
    /// recording ends with the JVM.
    fn attach_when_warm(&self, command: &[String]) -> Result<(), Problem> {
        let program = Warm::start(command, self.directory.path())?;
        let pid = program.pid();
        let started = tools::run(&self.tools.headway, ["start", "--exact", "-o", &self.recording(), &pid]);
        program.run_to_its_end()?;
        started.map(drop)
    }

    /// Starts a workload and hands it to `attached` when it is warm, with the
    /// recording's path; then lets it run to its end. What `attached` says is
    /// given beside what was recorded.
    ///
    /// # Errors
    /// Something did not run, or ended with an error.
    pub fn attached_by<T>(
        tools: &Tools,
        jdk: &Jdk,
        workload: &Workload,
        attached: impl FnOnce(&Warm, &str) -> Result<T, Problem>,
    ) -> Result<(Recorded, T), Problem> {
        let recorded = Recorded { tools: tools.clone(), jdk: jdk.clone(), directory: TempDir::new()? };
        let program = Warm::start(&recorded.command(workload), recorded.directory.path())?;
        let said = attached(&program, &recorded.recording());
        program.run_to_its_end()?;
        Ok((recorded, said?))
    }

    fn truth_file(&self) -> PathBuf {
        self.directory.path().join("truth.json")
    }

    fn recording(&self) -> String {
        self.directory.path().join("recording.jfr").display().to_string()
    }
}
