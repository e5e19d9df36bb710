//! What attaching, detaching and a killed JVM cost, in numbers.

use super::machines::compile;
use super::stage::{shows_owners, Stage};
use super::targets::signal;
use super::Fault;
use crate::guarded::Guarded;
use crate::majority::majority;
use crate::Problem;
use serde_json::Value;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

const GROUP: &str = "What attaching and a killed JVM cost";

/// Cycles until what is allocated once is allocated.
const WARM_UP: usize = 10;
/// Cycles that are measured.
const CYCLES: usize = 50;
/// Times that memory may have grown by too much, before it does not.
const TIMES: usize = 3;
/// Most resident memory that the cycles may add.
const MOST_KIB: u64 = 2048;
/// Recordings of a program with ever new call stacks that are measured.
const RECORDINGS: usize = 20;
/// Contentions of a recording, on average, without which this shows nothing.
const FEWEST: u64 = 20;
/// How long each of them is at least.
const RECORDING: Duration = Duration::from_millis(700);
/// Most resident memory that they may add: what the largest of them had more than those
/// before.
const MOST_KIB_OF_STACKS: u64 = 8192;
/// More if there were as many call stacks that each has less than this. Kept, one takes
/// about four times that.
const BYTES_OF_STACK: u64 = 1024;
/// Half of the pauses at attach are shorter. On a quiet machine the median is 0.4 to 2.3 ms, and
/// a single pause is as long as the VM's thread has to wait for a CPU in it: two seconds were seen at a
/// load of 60. What makes each of them long, as reading symbols meanwhile would, moves the median.
const MEDIAN_PAUSE: Duration = Duration::from_millis(100);
/// Libraries that a large program has loaded.
const LIBRARIES: usize = 500;
/// A recording is brought into its file once a second: 0.3 s were missing. A busy machine adds to it.
const MOST_MISSING: Duration = Duration::from_secs(3);
/// JVMs that are killed, of which more than half must miss no more.
const KILLED: usize = 3;

/// See the module.
pub fn faults() -> Vec<Fault> {
    let mut faults = Vec::new();
    for release in [17, 21, 25] {
        faults.push(cycles(release));
    }
    for release in [17, 25] {
        faults.push(new_stacks(release));
    }
    faults.push(libraries());
    for release in [17, 25] {
        faults.push(killed(release));
    }
    faults
}

/// Attaches, records and detaches so often; how long each attach paused the program.
fn attach(stage: &Stage, program: &Guarded, times: usize) -> Result<Vec<Duration>, Problem> {
    let (pid, file) = (program.pid(), stage.name("cycle.jfr"));
    (0..times)
        .map(|_| {
            let started = stage.headway(["start", "--force", "-o", &file, &pid])?;
            let stopped = stage.headway(["stop", "--detach", "--json", &pid])?;
            if let Some(said) = [&started, &stopped].into_iter().find(|said| said.code != Some(0)) {
                return Err(said.all().into());
            }
            let reply: Value = serde_json::from_str(&stopped.stdout)?;
            let pause = reply.get("attach_pause_ns").and_then(Value::as_u64);
            pause.map(Duration::from_nanos).ok_or_else(|| "no pause is reported".into())
        })
        .collect()
}

/// Memory of a process's own that is in use, in KiB: not what it maps from files.
fn anonymous_kib(program: &Guarded) -> Result<u64, Problem> {
    let rollup = fs::read_to_string(format!("/proc/{}/smaps_rollup", program.pid()))?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Anonymous:")).ok_or("no such line")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

/// By how much something lets the memory of a process grow, in KiB; it gives the most that it may. What
/// is kept each time grows as much in each of some times, what is allocated once and late does not.
fn grows(program: &Guarded, mut something: impl FnMut() -> Result<u64, Problem>) -> Result<u64, Problem> {
    let mut all = Vec::new();
    for _ in 0..TIMES {
        let before = anonymous_kib(program)?;
        let most = something()?;
        let grown = anonymous_kib(program)?.saturating_sub(before);
        if grown < most {
            return Ok(grown);
        }
        all.push(grown);
    }
    Err(format!("memory grew by {all:?} KiB").into())
}

/// Median and longest, if the median is not too long.
fn pauses(mut pauses: Vec<Duration>) -> Result<String, Problem> {
    pauses.sort();
    let median = pauses.get(pauses.len() / 2).copied().ok_or("there was no attach")?;
    let longest = pauses.last().copied().unwrap_or_default();
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let seen = format!("pause at attach: median {:.2} ms, longest {:.2} ms", millis(median), millis(longest));
    match median > MEDIAN_PAUSE {
        true => Err(seen.into()),
        false => Ok(seen),
    }
}

fn cycles(release: u32) -> Fault {
    let what = format!("{CYCLES} times `start` and `stop --detach` of JDK {release}");
    let expected = "all succeed; memory grows by less than 2 MiB; half of the pauses at attach are shorter than 100 ms";
    Fault::new(GROUP, what, expected, move |stage| {
        // A heap that is in memory from the beginning does not grow, nor do the arenas of
        // C2, which takes 3 MB for one large method.
        let options = ["-Xms128m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];
        let mut program = stage.contended(release, &options)?;
        attach(stage, &program, WARM_UP)?;
        let mut seen = String::new();
        let grown = grows(&program, || {
            seen = pauses(attach(stage, &program, CYCLES)?)?;
            Ok(MOST_KIB)
        })?;
        stage.survives(&mut program)?;
        Ok(format!("memory grew by {grown} KiB; {seen}"))
    })
}

fn new_stacks(release: u32) -> Fault {
    let what = format!(
        "{RECORDINGS} recordings of JDK {release} whose monitor is contended from ever new call stacks, by threads \
         that come and go"
    );
    let expected = "all succeed; memory grows by less than 8 MiB, or 1 KiB for each call stack";
    Fault::new(GROUP, what, expected, move |stage| {
        let options = ["-Xms128m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];
        let mut java = stage.java(&stage.jdk(release)?.tool("java"), &options, &["stacks"]);
        let mut program = stage.ready(&mut java)?;
        let (pid, file) = (program.pid(), stage.name("stacks.jfr"));
        let record = || -> Result<u64, Problem> {
            let started = stage.headway(["start", "-e", "monitor", "--force", "-o", &file, &pid])?;
            thread::sleep(RECORDING);
            let stopped = stage.headway(["stop", "--json", &pid])?;
            if let Some(said) = [&started, &stopped].into_iter().find(|said| said.code != Some(0)) {
                return Err(said.all().into());
            }
            let reply: Value = serde_json::from_str(&stopped.stdout)?;
            Ok(reply["events"]["monitor_enter"].as_u64().ok_or_else(|| stopped.all())?)
        };
        // Several times as many where the machine is so busy that there were too few contentions.
        let record_often = |recordings: usize| -> Result<u64, Problem> {
            let (mut contentions, mut made) = (0, 0);
            while made < recordings || made < 10 * recordings && contentions <= FEWEST * recordings as u64 {
                contentions += record()?;
                made += 1;
            }
            Ok(contentions)
        };
        record_often(WARM_UP)?;
        let mut contentions = 0;
        let grown = grows(&program, || {
            contentions = record_often(RECORDINGS)?;
            Ok(MOST_KIB_OF_STACKS.max(contentions * BYTES_OF_STACK / 1024))
        })?;
        stage.survives(&mut program)?;
        match contentions > FEWEST * RECORDINGS as u64 {
            true => Ok(format!("memory grew by {grown} KiB, with {contentions} call stacks")),
            false => Err(format!("only {contentions} contentions").into()),
        }
    })
}

fn libraries() -> Fault {
    let what = format!("10 times `start` and `stop --detach` of JDK 17 with {LIBRARIES} more libraries loaded");
    let expected = "all succeed; half of the pauses at attach are shorter than 100 ms";
    Fault::new(GROUP, what, expected, |stage| {
        let one = compile(stage, "int headway_nothing;", "libnothing.so", &["-shared", "-fPIC"])?;
        let copies = (0..LIBRARIES).map(|i| stage.path(&format!("libnothing{i}.so")));
        let copies = copies.map(|copy| fs::copy(&one, &copy).map(|_| copy)).collect::<Result<Vec<_>, _>>()?;
        let preloaded = copies.iter().map(|copy| copy.display().to_string()).collect::<Vec<_>>().join(":");
        let none: [&str; 0] = [];
        let mut java = stage.java(&stage.jdk(17)?.tool("java"), &none, &[]);
        let mut program = stage.ready(java.env("LD_PRELOAD", preloaded))?;
        let maps = fs::read_to_string(format!("/proc/{}/maps", program.pid()))?;
        if copies.iter().any(|copy| !maps.contains(&copy.display().to_string())) {
            return Err("not all libraries are loaded".into());
        }
        let seen = pauses(attach(stage, &program, 10)?)?;
        stage.survives(&mut program)?;
        Ok(seen)
    })
}

/// Bytes of a JFR file behind its last complete chunk.
fn unreadable(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    while let Some(size) = rest.get(8..16).and_then(|size| size.try_into().ok()).map(u64::from_be_bytes) {
        match usize::try_from(size).ok().filter(|size| *size > 0).and_then(|size| rest.get(size..)) {
            Some(next) => rest = next,
            None => break,
        }
    }
    rest.len()
}

fn killed(release: u32) -> Fault {
    let what = format!("JDK {release} is killed (SIGKILL) at any time: what of the recording is missing");
    let expected = "the events since the last write, at most 3 s before the kill; every byte in the file is readable";
    Fault::new(GROUP, what, expected, move |stage| {
        Ok(majority(KILLED, |number| {
            missing_when_killed(stage, release, number).map_err(|problem| problem.to_string())
        })?)
    })
}

/// What is missing of a recording whose JVM is killed.
fn missing_when_killed(stage: &Stage, release: u32, number: usize) -> Result<String, Problem> {
    let mut program = stage.contended(release, &[])?;
    let file = stage.name(&format!("killed-{number}.jfr"));
    let begun = Instant::now();
    let said = stage.headway(["start", "-o", &file, &program.pid()])?;
    if said.code != Some(0) {
        return Err(said.all().into());
    }
    let attached = begun.elapsed();
    stage.await_contentions(&program.pid())?;
    thread::sleep(Duration::from_millis(5700));
    signal(&program, "KILL")?;
    let lived = begun.elapsed();
    program.wait()?;
    let left = unreadable(&fs::read(&file)?);
    shows_owners(&stage.report(&file)?)?;
    let report = crate::tools::run(&stage.tools.headway, ["report", "--json", &file])?;
    let report: Value = serde_json::from_slice(&report.stdout)?;
    let recorded = report["duration_ns"].as_u64().ok_or("the report has no duration")?;
    let missing = lived.saturating_sub(attached).saturating_sub(Duration::from_nanos(recorded));
    let seen = format!("{left} bytes unreadable; the last {:.2} s are missing", missing.as_secs_f64());
    match left == 0 && missing <= MOST_MISSING {
        true => Ok(seen),
        false => Err(seen.into()),
    }
}
