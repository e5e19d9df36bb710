//! The end of a recording while events are queued and the disk is slow.

use super::stage::{eventually, refused, shows_owners, Stage};
use super::Fault;
use crate::guarded::Guarded;
use crate::{tools, Problem};
use serde_json::Value;
use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

const GROUP: &str = "The end of a recording";

/// Longest time that an end may take: a second, and what a busy machine adds. The disk does not
/// answer before the test lets it: who waits for it does so until then.
const END_WITHIN: Duration = Duration::from_secs(60);

/// Exits until something is queued at one of them, at most.
const EXITS: usize = 8;

/// See the module.
pub fn faults() -> Vec<Fault> {
    let mut faults: Vec<Fault> = [17, 21, 25].into_iter().map(exits_on_a_slow_disk).collect();
    faults.push(stops_on_a_slow_disk());
    faults.push(stops_while_the_end_is_written());
    faults.push(records_on_a_slow_disk());
    faults.push(no_time_to_read());
    faults.push(stopped_client());
    faults
}

/// A disk on which nothing is written as long as a file of this stage exists.
const SLOW: &str = "slow";

/// A disk on which every write fails as long as a file of this stage exists.
pub(super) const BROKEN: &str = "broken";

/// A contended program that records on such a disk, into slow.jfr.
pub(super) fn on_a_slow_disk(stage: &Stage, release: u32, arguments: &[&str]) -> Result<Guarded, Problem> {
    let agent = format!("-agentpath:{}=start,file={}", stage.tools.agent.display(), stage.name("slow.jfr"));
    with_a_slow_disk(stage, release, &[agent], arguments)
}

/// A contended program with such a disk.
fn with_a_slow_disk(stage: &Stage, release: u32, options: &[String], arguments: &[&str]) -> Result<Guarded, Problem> {
    let (source, library) = (stage.path("slow_disk.c"), stage.path("slow_disk.so"));
    fs::write(&source, include_str!("slow_disk.c"))?;
    let mut compiler = Command::new("cc");
    super::machines::run(compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl"))?;
    let mut java = stage.java(&stage.jdk(release)?.tool("java"), options, arguments);
    java.env("LD_PRELOAD", library).env("HEADWAY_SLOW", stage.path(SLOW)).env("HEADWAY_BROKEN", stage.path(BROKEN));
    stage.ready(&mut java)
}

fn exits_on_a_slow_disk(release: u32) -> Fault {
    let what = format!("JDK {release}: System.exit while the disk does not answer");
    let expected = "the program ends within 1 s; the recording is readable up to the last write";
    Fault::new(GROUP, what, expected, move |stage| {
        const SECONDS: u64 = 5;
        let arguments = ["monitor", "--seconds", "5", "--end", "exit", "--threads", "8"];
        let mut program = on_a_slow_disk(stage, release, &arguments)?;
        thread::sleep(Duration::from_secs(3));
        fs::write(stage.path(SLOW), "")?;
        let status = tools::wait_at_most(&mut program, Duration::from_secs(SECONDS) + END_WITHIN)?;
        if !status.success() {
            return Err(format!("the program ended with {status}").into());
        }
        shows_owners(&stage.report(&stage.name("slow.jfr"))?)?;
        Ok("it ended in time; the recording is readable".to_owned())
    })
}

fn stops_on_a_slow_disk() -> Fault {
    let expected = "`stop` answers within 1 s, exit code 1, one sentence with \"lacks its end\"; \
                    the file is completed as soon as the disk answers";
    Fault::new(GROUP, "`stop` while the disk does not answer", expected, |stage| {
        let mut program = on_a_slow_disk(stage, 17, &[])?;
        let (pid, file) = (program.pid(), stage.name("slow.jfr"));
        stage.await_contentions(&pid)?;
        thread::sleep(Duration::from_secs(3));
        fs::write(stage.path(SLOW), "")?;
        thread::sleep(Duration::from_secs(1));
        let asked = Instant::now();
        let said = stage.headway(["stop", &pid])?;
        let took = asked.elapsed();
        let again = stage.headway(["start", "-o", &stage.name("next.jfr"), &pid])?;
        let status = stage.headway(["status", &pid])?;
        fs::remove_file(stage.path(SLOW))?;
        if took > END_WITHIN {
            return Err(format!("`stop` took {:.1} s", took.as_secs_f64()).into());
        }
        let seen = refused(stage, &said, 1, "lacks its end", &[&pid])?;
        refused(stage, &again, 1, "still being written", &[&pid])?;
        if !status.stdout.contains("still being written") {
            return Err(status.all().into());
        }
        eventually("the file is completed", || {
            Ok(!stage.headway(["status", &pid])?.stdout.contains("still being written"))
        })?;
        stage.survives(&mut program)?;
        shows_owners(&stage.report(&file)?)?;
        Ok(seen)
    })
}

fn stops_while_the_end_is_written() -> Fault {
    let what = "`stop --detach` with no time for the end of the file (`stop_within=1`), while the disk is well";
    let expected = "it waits until the file is complete, answers with all its events, and exits with 0";
    Fault::new(GROUP, what, expected, |stage| {
        for number in 0..EXITS {
            if stops_without_time(stage, number)? {
                return Ok("it waited; the recording is complete".to_owned());
            }
        }
        Err(format!("the file was complete at once at all of {EXITS} ends").into())
    })
}

/// True if the end of the file had to be awaited. A quick machine may have written it by then.
fn stops_without_time(stage: &Stage, number: usize) -> Result<bool, Problem> {
    let file = stage.name(&format!("late-{number}.jfr"));
    let agent = format!("-agentpath:{}=start,stop_within=1,file={file}", stage.tools.agent.display());
    let mut program = stage.contended(17, &[&agent])?;
    let pid = program.pid();
    stage.await_contentions(&pid)?;
    let said = stage.headway(["stop", "--detach", "--json", &pid])?;
    let reply: Value = serde_json::from_str(&said.stdout).map_err(|error| format!("{error}: {}", said.all()))?;
    let size = fs::metadata(&file)?.len();
    let is_whole = reply["recording_bytes"] == size && reply.get("still_writing").is_none();
    if said.code != Some(0) || !is_whole {
        return Err(format!("{size} bytes: {}", said.all()).into());
    }
    stage.survives(&mut program)?;
    shows_owners(&stage.report(&file)?)?;
    Ok(said.stderr.contains("still being written"))
}

fn records_on_a_slow_disk() -> Fault {
    let what = "`headway record -d 15` whose disk does not answer when its time is over, and then does";
    let expected = "it waits for the file's end, shows the whole recording, and exits with 0";
    Fault::new(GROUP, what, expected, |stage| {
        let mut program = with_a_slow_disk(stage, 17, &[], &[])?;
        let (pid, file, said) = (program.pid(), stage.name("record.jfr"), stage.path("said"));
        let output = fs::File::create(&said)?;
        let mut record = stage.command(["record", "-d", "15s", "-o", &file, &pid]);
        let mut record = Guarded(record.stdout(output.try_clone()?).stderr(output).spawn()?);
        // A busy machine takes seconds for this.
        eventually("it records", || Ok(stage.headway(["status", &pid])?.stdout.contains("record.jfr")))?;
        fs::write(stage.path(SLOW), "")?;
        // Its time, the second that `stop` may take, and some.
        thread::sleep(Duration::from_secs(19));
        if let Some(status) = record.try_wait()? {
            return Err(format!("it did not wait, {status}: {}", fs::read_to_string(&said)?).into());
        }
        fs::remove_file(stage.path(SLOW))?;
        let status = tools::wait_at_most(&mut record, Duration::from_secs(90))?;
        stage.survives(&mut program)?;
        let said = fs::read_to_string(said)?;
        if !status.success() || !said.contains("THREAD TIME") {
            return Err(format!("{status}: {said}").into());
        }
        shows_owners(&stage.report(&file)?)?;
        Ok("it waited; the recording is complete and shown".to_owned())
    })
}

fn no_time_to_read() -> Fault {
    let what = "System.exit with no time to read what is queued (`stop_within=1`)";
    let expected = "what is queued is counted; nothing is said about the time that was not recorded";
    Fault::new(GROUP, what, expected, |stage| {
        for number in 0..EXITS {
            if exits_without_time(stage, number)? {
                return Ok("the events are counted as `unfinished`".to_owned());
            }
        }
        Err(format!("nothing was queued at any of {EXITS} exits").into())
    })
}

/// True if something was queued at the exit, and so was counted. A machine may be so busy that all
/// was read by then: then nothing is missing, and who is blocked is known.
fn exits_without_time(stage: &Stage, number: usize) -> Result<bool, Problem> {
    let file = stage.name(&format!("no-time-{number}.jfr"));
    let agent = format!("-agentpath:{}=start,stop_within=1,file={file}", stage.tools.agent.display());
    let arguments = ["monitor", "--seconds", "4", "--end", "exit", "--threads", "8"];
    let mut program = stage.ready(&mut stage.java(&stage.jdk(21)?.tool("java"), &[agent], &arguments))?;
    let status = tools::wait_at_most(&mut program, Duration::from_secs(90))?;
    if !status.success() {
        return Err(format!("the program ended with {status}").into());
    }
    let report = stage.report(&file)?;
    shows_owners(&report)?;
    match (report.losses.get("unfinished"), report.in_flight.len()) {
        (Some(1..), 0) => Ok(true),
        (None, 1..) if report.losses.is_empty() => Ok(false),
        (_, in_flight) => {
            Err(format!("{:?} counted, {in_flight} threads are said to be still blocked", report.losses).into())
        }
    }
}

fn stopped_client() -> Fault {
    let what = "`headway record -d 15` is stopped (SIGSTOP) until the agent has ended the recording";
    let expected = "the agent ends the recording itself; the command then shows it and says why";
    Fault::new(GROUP, what, expected, |stage| {
        let mut program = stage.contended(25, &[])?;
        let file = stage.name("stopped.jfr");
        let said = stage.path("said");
        let mut command = stage.command(["record", "-d", "15s", "-o", &file, &program.pid()]);
        let output = fs::File::create(&said)?;
        let mut client = Guarded(command.stdout(output.try_clone()?).stderr(output).spawn()?);
        let pid = program.pid();
        eventually("it records", || Ok(stage.headway(["status", &pid])?.stdout.contains("stopped.jfr")))?;
        super::targets::signal(&client, "STOP")?;
        eventually("the agent ends it", || {
            Ok(stage.headway(["status", &pid])?.stdout.contains("Nothing is being recorded"))
        })?;
        super::targets::signal(&client, "CONT")?;
        let status = tools::wait_at_most(&mut client, Duration::from_secs(90))?;
        stage.survives(&mut program)?;
        let said = fs::read_to_string(said)?;
        if !status.success() || !said.contains("its time is over") {
            return Err(format!("{status}: {said}").into());
        }
        shows_owners(&stage.report(&file)?)?;
        Ok("the recording is complete and shown, with the reason".to_owned())
    })
}
