//! One round: the stress workload in one JVM configuration, under Headway.

use crate::report::Report;
use crate::stress::configuration::Configuration;
use crate::stress::watch::{self, Memory, Usage};
use crate::tools::{self, Tools};
use crate::Problem;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longest time from a round's end to the process's.
const END_WITHIN: Duration = Duration::from_secs(120);

/// Longest time until the workload's threads run.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// More resident memory than this in a round's last quarter than in the
/// quarter before is growth. The heap is touched beforehand, so what is left is
/// code, classes, monitors, and what the agent uses, which has a bound of
/// 16 MiB. Where a JVM grew nevertheless, the same round without Headway is the
/// measure.
const GROWTH_BYTES: u64 = 48 << 20;

/// Most rounds without Headway that a round is measured by. A VM that makes a
/// monitor of every lock (LockingMode=0, UseHeavyMonitors) gives their memory
/// back late and unevenly: without Headway, JDK 25 grew by 17 MiB in one round
/// and by 221 in another.
const ROUNDS_ALONE: u32 = 3;

/// How often memory is looked at.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// Files that may stay open after a recording has ended: the agent's library.
const FILES_LEFT: usize = 2;

/// What is recorded where experiments are made, and what counts as progress then.
const EXPERIMENTS: &str = "causal";
const PROGRESS: &str = "io.headway.workloads.stress.ExactCounters.step";
/// Length of a recording with experiments, as for `-d`: enough for some.
const EXPERIMENTS_FOR: &str = "4s";

/// How Headway gets into the JVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Loaded at start, recording all the time.
    AtStart,
    /// Attached, started and stopped again and again.
    AttachCycles,
    /// Not at all: what the JVM does by itself.
    Without,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Way::AtStart => "at start",
            Way::AttachCycles => "attach cycles",
            Way::Without => "without Headway",
        })
    }
}

/// What a good round did.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Recordings started and stopped by attaching.
    pub cycles: u32,
    /// Blocked contentions in the recordings that were looked at.
    pub contentions: u64,
    /// Resident memory when it had settled, and at the end.
    pub resident: Option<(u64, u64)>,
}

impl Outcome {
    fn grown_bytes(&self) -> u64 {
        self.resident.map_or(0, |(settled, last)| last.saturating_sub(settled))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cycles, {} contentions", self.cycles, self.contentions)?;
        if let Some((settled, last)) = self.resident {
            write!(f, ", resident {} -> {} MiB", settled >> 20, last >> 20)?;
        }
        Ok(())
    }
}

/// What each round is like.
#[derive(Clone, Copy, Debug)]
pub struct Manner<'a> {
    /// How Headway gets in.
    pub way: Way,
    /// How long.
    pub length: Duration,
    /// Of the workload.
    pub seed: u64,
    /// What is recorded, as for `-e`; empty for what is recorded unless asked.
    pub events: &'a str,
    /// How threads are sampled, as for `--engine`; empty for what is best here.
    pub engine: &'a str,
}

/// Plays one round.
///
/// # Errors
/// What went wrong: a crash (with the head of the VM's error file), a hang, a
/// broken invariant, growth, a recording that cannot be read. The directory
/// with all files is kept then and named.
pub fn play(tools: &Tools, how: &Configuration, manner: Manner<'_>) -> Result<Outcome, Problem> {
    let directory = TempDir::with_prefix("headway-stress-")?;
    let round = Round { tools, how, manner, directory: directory.path() };
    let (played, crash) = (round.play(), round.crash());
    let played = played.and_then(|outcome| check_growth(&round, outcome));
    match (played, crash) {
        (Ok(outcome), None) => Ok(outcome),
        (played, crash) => {
            let problem = played.err().map_or_else(|| "the VM crashed".to_owned(), |problem| problem.to_string());
            let kept = directory.keep();
            Err(format!("{problem}\n{}    files: {}", crash.unwrap_or_default(), kept.display()).into())
        }
    }
}

#[derive(Clone, Copy)]
struct Round<'a> {
    tools: &'a Tools,
    how: &'a Configuration,
    manner: Manner<'a>,
    directory: &'a Path,
}

impl Round<'_> {
    fn play(&self) -> Result<Outcome, Problem> {
        let mut child = self.spawn()?;
        let mut outcome = Outcome::default();
        let watched = self.watch(&mut child, &mut outcome);
        if watched.is_err() && child.try_wait()?.is_none() {
            child.kill()?;
        }
        let status = tools::wait_at_most(&mut child, END_WITHIN)?;
        if !status.success() {
            return Err(format!("the workload ended with {status}:\n{}", self.output()).into());
        }
        watched?;
        if self.manner.way == Way::AtStart {
            outcome.contentions = self.check_recording(&self.recording())?;
        }
        if outcome.contentions == 0 && self.manner.way != Way::Without {
            return Err("the recording has no contention".into());
        }
        Ok(outcome)
    }

    fn spawn(&self) -> Result<Child, Problem> {
        let mut command = Command::new(self.how.jdk.tool("java"));
        command.args(&self.how.flags).args(["-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch"]);
        command.arg(format!("-XX:ErrorFile={}", self.error_file().display()));
        if self.manner.way == Way::AtStart {
            let agent = self.tools.agent.display();
            let events = match self.manner.events {
                "" => String::new(),
                EXPERIMENTS => format!(",events={EXPERIMENTS},progress={PROGRESS}"),
                events => format!(",events={}", events.replace(',', "+").replace("lock", "monitor+park")),
            };
            let engine = match self.manner.engine {
                "" => String::new(),
                engine => format!(",engine={engine}"),
            };
            command.arg(format!("-agentpath:{agent}=start,file={}{events}{engine}", self.recording().display()));
        }
        command.arg("-jar").arg(&self.tools.workloads).arg("stress");
        command.args([
            "--seconds",
            &self.manner.length.as_secs().max(1).to_string(),
            "--seed",
            &self.manner.seed.to_string(),
        ]);
        command.current_dir(self.directory).stdin(Stdio::null());
        command.stdout(File::create(self.output_file())?).stderr(File::create(self.directory.join("stderr"))?);
        Ok(command.spawn()?)
    }

    /// Looks at the process until it ends, and attaches meanwhile.
    fn watch(&self, child: &mut Child, outcome: &mut Outcome) -> Result<(), Problem> {
        self.await_ready(child)?;
        let (pid, ended) = (child.id(), AtomicBool::new(false));
        let (done, memory) = thread::scope(|scope| {
            let sampler = scope.spawn(|| sample_memory(pid, &ended));
            let done = self.attend(child, outcome);
            ended.store(true, Ordering::Relaxed);
            (done, sampler.join().unwrap_or_default())
        });
        outcome.resident = memory.settled_and_last();
        done
    }

    fn attend(&self, child: &mut Child, outcome: &mut Outcome) -> Result<(), Problem> {
        let deadline = Instant::now() + self.manner.length + END_WITHIN;
        // The workload's last moments are left alone, so that no cycle meets its exit.
        let last_cycle = Instant::now() + self.manner.length.saturating_sub(Duration::from_secs(2));
        let mut files = None;
        // Past the deadline, the wait that follows reports the hang.
        while child.try_wait()?.is_none() && Instant::now() < deadline {
            if self.manner.way == Way::AttachCycles && Instant::now() < last_cycle {
                match self.cycle(child.id(), outcome.cycles) {
                    Ok(contentions) => outcome.contentions += contentions,
                    // On a busy machine it took so long that it met the exit after all.
                    Err(_) if Instant::now() >= last_cycle => break,
                    Err(problem) => return Err(problem),
                }
                outcome.cycles += 1;
                check_files(&mut files, watch::usage(child.id()))?;
            } else {
                thread::sleep(SAMPLE_EVERY);
            }
        }
        Ok(())
    }

    fn await_ready(&self, child: &mut Child) -> Result<(), Problem> {
        let deadline = Instant::now() + READY_WITHIN;
        while !fs::read_to_string(self.output_file())?.contains("READY") {
            if let Some(status) = child.try_wait()? {
                return Err(format!("the workload ended with {status} before it was ready:\n{}", self.output()).into());
            }
            if Instant::now() > deadline {
                return Err("the workload did not become ready".into());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Starts a recording, lets it run for a moment, stops it; looks into some.
    fn cycle(&self, pid: u32, number: u32) -> Result<u64, Problem> {
        let pid = pid.to_string();
        let file = self.directory.join(format!("cycle-{number}.jfr"));
        let headway = &self.tools.headway;
        let file_name = file.display().to_string();
        if self.manner.events == EXPERIMENTS {
            return self.experiment(&pid, &file);
        }
        let mut start = vec!["start", "-o", &file_name];
        if !self.manner.events.is_empty() {
            start.extend(["-e", self.manner.events]);
        }
        if !self.manner.engine.is_empty() {
            start.extend(["--engine", self.manner.engine]);
        }
        start.push(&pid);
        tools::run(headway, start)?;
        let pause = 50 + (self.manner.seed.wrapping_mul(31).wrapping_add(u64::from(number) * 97)) % 700;
        thread::sleep(Duration::from_millis(pause));
        if number % 5 == 1 {
            tools::run(headway, ["status", &pid])?;
        }
        tools::run(headway, ["stop", &pid])?;
        let contentions = if number % 4 == 0 { self.check_recording(&file)? } else { 0 };
        fs::remove_file(&file)?;
        Ok(contentions)
    }

    /// Experiments for a while, attached; the recording must have some.
    fn experiment(&self, pid: &str, file: &Path) -> Result<u64, Problem> {
        let (headway, file_name) = (&self.tools.headway, file.display().to_string());
        let record = ["causal", "record", "-d", EXPERIMENTS_FOR, "--progress", PROGRESS, "-o", &file_name, pid];
        tools::run(headway, record)?;
        let report = tools::run(headway, ["causal", "report", "--json", &file_name])?;
        let report: serde_json::Value = serde_json::from_slice(&report.stdout)?;
        if report.get("periods").and_then(serde_json::Value::as_u64).unwrap_or(0) == 0 {
            return Err("the recording has no experiments".into());
        }
        let contentions = self.check_recording(file)?;
        fs::remove_file(file)?;
        Ok(contentions)
    }

    /// Reads a recording with our own tool and with the JDK's.
    fn check_recording(&self, file: &Path) -> Result<u64, Problem> {
        let file = file.display().to_string();
        let json = tools::run(&self.tools.headway, ["report", "--json", &file])?;
        let report: Report = serde_json::from_slice(&json.stdout)?;
        if report.blocked.slices_wrong > 0 {
            return Err(format!("{} contentions whose slices do not add up", report.blocked.slices_wrong).into());
        }
        if let Some(panics) = report.losses.get("panic").filter(|n| **n > 0) {
            return Err(format!("{panics} panics were contained").into());
        }
        tools::run(&self.how.jdk.tool("jfr"), ["summary", &file])?;
        Ok(report.contentions)
    }

    fn recording(&self) -> PathBuf {
        self.directory.join("stress.jfr")
    }

    fn error_file(&self) -> PathBuf {
        self.directory.join("hs_err.log")
    }

    fn output_file(&self) -> PathBuf {
        self.directory.join("stdout")
    }

    fn output(&self) -> String {
        let texts = ["stdout", "stderr"].map(|name| fs::read_to_string(self.directory.join(name)).unwrap_or_default());
        texts.map(|text| tools::tail(&text)).concat()
    }

    /// What the VM's error file says about a crash.
    fn crash(&self) -> Option<String> {
        let text = fs::read_to_string(self.error_file()).ok()?;
        let head: Vec<&str> = text.lines().filter(|line| !line.trim_matches('#').trim().is_empty()).take(40).collect();
        Some(format!("    crash: {}\n", head.join("\n    ")))
    }
}

fn sample_memory(pid: u32, ended: &AtomicBool) -> Memory {
    let mut memory = Memory::default();
    while !ended.load(Ordering::Relaxed) {
        if let Some(usage) = watch::usage(pid).filter(|usage| usage.resident_bytes > 0) {
            memory.add(usage);
        }
        thread::sleep(SAMPLE_EVERY);
    }
    memory
}

fn check_growth(round: &Round, outcome: Outcome) -> Result<Outcome, Problem> {
    let grown = outcome.grown_bytes();
    let mut alone = 0;
    for _ in 0..ROUNDS_ALONE {
        if grown <= alone + GROWTH_BYTES {
            return Ok(outcome);
        }
        alone =
            alone.max(Round { manner: Manner { way: Way::Without, ..round.manner }, ..*round }.play()?.grown_bytes());
    }
    if grown <= alone + GROWTH_BYTES {
        return Ok(outcome);
    }
    let (grown, alone) = (grown >> 20, alone >> 20);
    Err(format!("resident memory grew by {grown} MiB, in {ROUNDS_ALONE} rounds without Headway by {alone} at most")
        .into())
}

/// The first cycle sets what is open between recordings; later ones may not add to it.
fn check_files(first: &mut Option<usize>, now: Option<Usage>) -> Result<(), Problem> {
    let Some(now) = now else {
        return Ok(());
    };
    let before = *first.get_or_insert(now.files);
    if now.files > before + FILES_LEFT {
        return Err(format!("{} files are open after a cycle, {before} were after the first", now.files).into());
    }
    Ok(())
}
