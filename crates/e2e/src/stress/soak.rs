//! A soak: one JVM under the stress workload for hours, and everything that
//! command lines can do to it, in random order, several at once, some killed.

use crate::guarded::Guarded;
use crate::jdk::Jdk;
use crate::stress::watch;
use crate::tools::{self, Tools};
use crate::Problem;
use serde_json::Value;
use std::cell::Cell;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// What command lines said that ran beside others.
const CLIENTS_SAID: &str = "clients";
/// Longest time until the workload's threads run.
const READY_WITHIN: Duration = Duration::from_secs(120);
/// Longest time that a command line may take.
const COMMAND_WITHIN: Duration = Duration::from_secs(120);
/// Longest time after a client is killed until its recording has ended: five
/// seconds of the lease, and what a busy machine adds.
const LEASE_WITHIN: Duration = Duration::from_secs(20);
/// What a command line says that gave up before it asked for anything: the agent's thread
/// did not get a CPU for 10 s. It may come again, so often at a time, and is counted.
const SLOW: (&str, u32) = ("it did not answer within", 3);
/// What `stop` says, with exit code 1, where a busy machine does not let the agent complete the
/// file within the bound: the file is completed afterwards.
const LATE: &str = "writing goes on";
/// More resident memory than this at the end than in the third quarter is growth.
const GROWTH_BYTES: u64 = 32 << 20;
/// Longest time from the workload's own end to the process's.
const END_WITHIN: Duration = Duration::from_secs(120);
/// The last seconds are left alone, so that no command meets the program's end.
const QUIET_END: Duration = Duration::from_secs(20);

/// What is recorded, in turns.
const EVENTS: [&str; 6] = ["lock", "lock,cpu", "monitor", "pressure", "lock,wall", "lock,steal"];

/// What command lines do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Record,
    RecordTogether,
    StartDumpStop,
    StartTwice,
    KillClient,
    InterruptClient,
    Detach,
    ThreadDump,
}

const ACTS: [Act; 8] = [
    Act::Record,
    Act::RecordTogether,
    Act::StartDumpStop,
    Act::StartTwice,
    Act::KillClient,
    Act::InterruptClient,
    Act::Detach,
    Act::ThreadDump,
];

/// What a soak did.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// How often each act was done.
    pub acts: [u32; ACTS.len()],
    /// Recordings that were read again.
    pub recordings: u32,
    /// Contentions in them.
    pub contentions: u64,
    /// Resident memory in the third and in the last quarter.
    pub resident: Option<(u64, u64)>,
    /// Open files after the first act and after the last.
    pub files: Option<(usize, usize)>,
    /// Command lines that had to come again since the agent did not answer in time.
    pub slow: u32,
    /// Recordings whose end took longer than a `stop` waits, and came later.
    pub late: u32,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total: u32 = self.acts.iter().sum();
        write!(f, "{total} acts (")?;
        for (i, (act, n)) in ACTS.iter().zip(self.acts).enumerate() {
            write!(f, "{}{act:?} {n}", if i > 0 { ", " } else { "" })?;
        }
        write!(f, "), {} recordings read with {} contentions", self.recordings, self.contentions)?;
        if let Some((third, last)) = self.resident {
            write!(f, ", resident {} -> {} MiB", third >> 20, last >> 20)?;
        }
        if let Some((first, last)) = self.files {
            write!(f, ", open files {first} -> {last}")?;
        }
        if self.slow > 0 {
            write!(f, ", {} command lines came again after 10 s without an answer", self.slow)?;
        }
        if self.late > 0 {
            write!(f, ", {} recordings were complete only after `stop` had returned", self.late)?;
        }
        Ok(())
    }
}

/// Soaks one JDK.
///
/// # Errors
/// A crash, a hang, growth, a command line that fails where it should not, or
/// a recording that cannot be read. The directory is kept then and named.
pub fn soak(tools: &Tools, jdk: &Jdk, flags: &[&str], length: Duration, seed: u64) -> Result<Outcome, Problem> {
    let directory = TempDir::with_prefix("headway-soak-")?;
    let soaked = Soak { tools, jdk, directory: directory.path(), slow: Cell::new(0), late: Cell::new(0) }
        .run(flags, length, seed);
    soaked.map_err(|problem| {
        let crash = fs::read_to_string(directory.path().join("hs_err.log")).unwrap_or_default();
        let head: Vec<&str> = crash.lines().take(40).collect();
        let kept = directory.keep();
        format!("{problem}\n{}\nfiles: {}", head.join("\n"), kept.display()).into()
    })
}

struct Soak<'a> {
    tools: &'a Tools,
    jdk: &'a Jdk,
    directory: &'a Path,
    slow: Cell<u32>,
    late: Cell<u32>,
}

impl Soak<'_> {
    fn run(&self, flags: &[&str], length: Duration, seed: u64) -> Result<Outcome, Problem> {
        let mut target = self.spawn(flags, length, seed)?;
        self.await_ready(&mut target)?;
        let mut outcome = Outcome::default();
        let mut memory = watch::Memory::default();
        let mut random = fastrand::Rng::with_seed(seed);
        let end = Instant::now() + length.saturating_sub(QUIET_END);
        while Instant::now() < end {
            let i = random.usize(..ACTS.len());
            let (Some(act), Some(count)) = (ACTS.get(i), outcome.acts.get_mut(i)) else { continue };
            *count += 1;
            let number: u32 = outcome.acts.iter().sum();
            self.act(*act, number, &target, &mut random, &mut outcome)
                .map_err(|problem| format!("act {number}, {act:?}: {problem}"))?;
            if let Some(status) = target.try_wait()? {
                return Err(format!("the workload ended with {status} during act {number}, {act:?}").into());
            }
            if let Some(usage) = watch::usage(target.id()) {
                memory.add(usage);
                outcome.files = Some((outcome.files.map_or(usage.files, |(first, _)| first), usage.files));
            }
        }
        outcome.resident = memory.settled_and_last();
        (outcome.slow, outcome.late) = (self.slow.get(), self.late.get());
        let status = tools::wait_at_most(&mut target, QUIET_END + END_WITHIN)?;
        if !status.success() {
            return Err(format!("the workload ended with {status}:\n{}", self.output()).into());
        }
        check_flat(&outcome)?;
        Ok(outcome)
    }

    fn spawn(&self, flags: &[&str], length: Duration, seed: u64) -> Result<Guarded, Problem> {
        let mut java = Command::new(self.jdk.tool("java"));
        java.args(flags).args(["-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch"]);
        java.arg(format!("-XX:ErrorFile={}", self.directory.join("hs_err.log").display()));
        java.arg("-jar").arg(&self.tools.workloads).args(["stress", "--seconds", &length.as_secs().to_string()]);
        java.args(["--seed", &seed.to_string()]).current_dir(self.directory).stdin(Stdio::null());
        java.stdout(File::create(self.directory.join("stdout"))?).stderr(File::create(self.directory.join("stderr"))?);
        Ok(Guarded(java.spawn()?))
    }

    fn output(&self) -> String {
        let texts = ["stdout", "stderr"].map(|name| fs::read_to_string(self.directory.join(name)).unwrap_or_default());
        texts.map(|text| tools::tail(&text)).concat()
    }

    fn await_ready(&self, target: &mut Child) -> Result<(), Problem> {
        let deadline = Instant::now() + READY_WITHIN;
        while !fs::read_to_string(self.directory.join("stdout"))?.contains("READY") {
            if target.try_wait()?.is_some() || Instant::now() > deadline {
                return Err(format!("the workload did not become ready:\n{}", self.output()).into());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn act(
        &self,
        act: Act,
        number: u32,
        target: &Guarded,
        random: &mut fastrand::Rng,
        outcome: &mut Outcome,
    ) -> Result<(), Problem> {
        let pid = target.pid();
        let file = self.directory.join(format!("{number}.jfr"));
        let name = file.display().to_string();
        let events = random.choice(EVENTS).unwrap_or("lock");
        let pause = Duration::from_millis(random.u64(50..1500));
        match act {
            Act::Record => {
                self.expect(&["record", "-d", "1s", "-e", events, "-o", &name, &pid], &[0])?;
                self.read(&file, events, outcome)?;
            }
            Act::RecordTogether => self.together(random.usize(2..6), number, &pid)?,
            Act::StartDumpStop => {
                let dumped = self.directory.join(format!("{number}-dumped.jfr"));
                self.expect(&["start", "-e", events, "-o", &name, &pid], &[0])?;
                thread::sleep(pause);
                self.expect(&["dump", "-o", &dumped.display().to_string(), &pid], &[0])?;
                self.expect(&["status", &pid], &[0])?;
                self.stop(&["stop", &pid])?;
                fs::remove_file(dumped)?;
                self.read(&file, "", outcome)?;
            }
            Act::StartTwice => {
                self.expect(&["start", "-e", events, "-o", &name, &pid], &[0])?;
                self.expect(&["start", "-o", &name, &pid], &[1])?;
                thread::sleep(pause);
                self.stop(&["stop", &pid])?;
            }
            Act::KillClient | Act::InterruptClient => {
                let mut client = self.client(&["record", "-d", "600s", "-e", events, "-o", &name, &pid])?;
                self.await_recording(&pid, true, COMMAND_WITHIN)?;
                thread::sleep(pause);
                let signal = if act == Act::KillClient { "-KILL" } else { "-TERM" };
                Command::new("kill").args([signal, &client.pid()]).status()?;
                tools::wait_at_most(&mut client, COMMAND_WITHIN)?;
                self.await_recording(&pid, false, LEASE_WITHIN)?;
                self.read(&file, "", outcome)?;
            }
            Act::Detach => {
                self.expect(&["start", "-e", events, "-o", &name, &pid], &[0])?;
                thread::sleep(pause);
                self.stop(&["stop", "--detach", &pid])?;
            }
            Act::ThreadDump => {
                self.expect(&["start", "-e", events, "-o", &name, &pid], &[0])?;
                let mut jcmd = Command::new(self.jdk.tool("jcmd"));
                jcmd.args([&pid, "Thread.print"]).stdin(Stdio::null()).stdout(Stdio::null());
                jcmd.stderr(Stdio::null()).status()?;
                self.stop(&["stop", &pid])?;
            }
        }
        let _ = fs::remove_file(file);
        Ok(())
    }

    /// Several command lines at once: at least one records, the others do, too,
    /// or say who does.
    fn together(&self, clients: usize, number: u32, pid: &str) -> Result<(), Problem> {
        let all: Vec<(Guarded, PathBuf)> = (0..clients)
            .map(|i| {
                let file = self.directory.join(format!("{number}-{i}.jfr"));
                let client = self.client(&["record", "-d", "1s", "-o", &file.display().to_string(), pid])?;
                Ok((client, file))
            })
            .collect::<Result<_, Problem>>()?;
        let mut good = 0;
        for (mut client, file) in all {
            let status = tools::wait_at_most(&mut client, COMMAND_WITHIN)?;
            good += u32::from(status.success());
            if ![Some(0), Some(1)].contains(&status.code()) {
                let said = fs::read_to_string(self.directory.join(CLIENTS_SAID))?;
                return Err(format!("a command line of {clients} ended with {status}:\n{}", tools::tail(&said)).into());
            }
            let _ = fs::remove_file(file);
        }
        match good {
            0 => Err(format!("none of {clients} command lines recorded").into()),
            _ => Ok(()),
        }
    }

    fn client(&self, arguments: &[&str]) -> Result<Guarded, Problem> {
        let mut command = Command::new(&self.tools.headway);
        command.args(arguments).current_dir(self.directory).stdin(Stdio::null());
        let said = File::options().create(true).append(true).open(self.directory.join(CLIENTS_SAID))?;
        Ok(Guarded(command.stdout(Stdio::null()).stderr(said).spawn()?))
    }

    /// Ends a recording; its file is complete afterwards.
    fn stop(&self, arguments: &[&str]) -> Result<(), Problem> {
        match self.expect(arguments, &[0]) {
            Err(problem) if problem.to_string().contains(LATE) => {
                self.late.set(self.late.get() + 1);
                let pid = arguments.last().copied().unwrap_or_default();
                self.await_recording(pid, false, COMMAND_WITHIN)
            }
            outcome => outcome.map(drop),
        }
    }

    /// Runs a command line that must end with one of these codes.
    fn expect(&self, arguments: &[&str], codes: &[i32]) -> Result<String, Problem> {
        let (sentence, most) = SLOW;
        for _ in 1..most {
            match self.expect_now(arguments, codes) {
                Err(problem) if problem.to_string().contains(sentence) => self.slow.set(self.slow.get() + 1),
                outcome => return outcome,
            }
        }
        self.expect_now(arguments, codes)
    }

    fn expect_now(&self, arguments: &[&str], codes: &[i32]) -> Result<String, Problem> {
        let mut command = Command::new(&self.tools.headway);
        command.args(arguments).current_dir(self.directory).stdin(Stdio::null());
        let (out, err) = (self.directory.join("out"), self.directory.join("err"));
        let mut child = Guarded(command.stdout(File::create(&out)?).stderr(File::create(&err)?).spawn()?);
        let status = tools::wait_at_most(&mut child, COMMAND_WITHIN)?;
        let (out, err) = (fs::read_to_string(out)?, fs::read_to_string(err)?);
        match status.code().is_some_and(|code| codes.contains(&code)) {
            true => Ok(out),
            false => Err(format!("headway {} ended with {status}:\n{}", arguments.join(" "), tools::tail(&err)).into()),
        }
    }

    fn await_recording(&self, pid: &str, on: bool, within: Duration) -> Result<(), Problem> {
        let deadline = Instant::now() + within;
        loop {
            let status = self.expect(&["status", "--json", pid], &[0])?;
            // A recording is over when its file is complete.
            let is_written = !status.contains("still being written");
            let status: Value = serde_json::from_str(&status)?;
            if status.get("recording").is_some_and(Value::is_string) == on && (on || is_written) {
                return Ok(());
            }
            if Instant::now() > deadline {
                let what = if on { "the recording did not begin" } else { "the recording goes on" };
                return Err(format!("{what} after {} s", within.as_secs()).into());
            }
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// Reads a recording with our own tool and with the JDK's.
    fn read(&self, file: &Path, events: &str, outcome: &mut Outcome) -> Result<(), Problem> {
        let name = file.display().to_string();
        let report = self.expect(&["report", "--json", &name], &[0])?;
        let report: Value = serde_json::from_str(&report)?;
        let number = |path: &str| report.pointer(path).and_then(Value::as_u64).unwrap_or(0);
        if number("/losses/panic") + number("/blocked/slices_wrong") > 0 {
            return Err(format!(
                "{} panics, {} wrong slices",
                number("/losses/panic"),
                number("/blocked/slices_wrong")
            )
            .into());
        }
        let contentions = number("/contentions");
        if contentions == 0 && events.contains("lock") {
            return Err("the recording has no contention".into());
        }
        tools::run(&self.jdk.tool("jfr"), ["summary", &name])?;
        outcome.recordings += 1;
        outcome.contentions += contentions;
        Ok(())
    }
}

fn check_flat(outcome: &Outcome) -> Result<(), Problem> {
    if let Some((third, last)) = outcome.resident.filter(|(third, last)| *last > third + GROWTH_BYTES) {
        return Err(format!("resident memory grew from {} to {} MiB", third >> 20, last >> 20).into());
    }
    match outcome.files.filter(|(first, last)| *last > first + 4) {
        Some((first, last)) => Err(format!("{last} files are open, {first} were after the first act").into()),
        None => Ok(()),
    }
}
