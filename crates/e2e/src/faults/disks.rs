//! Recordings whose place is taken, goes away, or has no room.

use super::endings::{on_a_slow_disk, BROKEN};
use super::machines::run;
use super::stage::{refused, shows_owners, Said, Stage};
use super::Fault;
use crate::guarded::Guarded;
use crate::Problem;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

const TAKEN: &str = "Recordings whose place is taken or goes away";
const FULL: &str = "Recordings without room";

/// See the module.
pub fn faults() -> Vec<Fault> {
    vec![
        recording_is_there(),
        run_over_a_file(),
        two_with_one_name(),
        same_name_again(),
        dump_onto_itself(),
        removed("the recording is removed, then `stop`", "its new place is named, and it is complete", false),
        removed(
            "the recording's directory is removed, then `stop`",
            "its new place is named, and it is complete",
            true,
        ),
        replaced(),
        full_for_a_while(),
        full_at_the_end(),
        broken_for_a_while(),
        broken_at_the_end(),
        too_large(),
        size_limit(),
    ]
}

/// What a command said that succeeded.
///
/// # Errors
/// It failed; all that it said.
pub fn ok(said: Said) -> Result<Said, Problem> {
    match said.code {
        Some(0) => Ok(said),
        _ => Err(said.all().into()),
    }
}

fn recording_is_there() -> Fault {
    let expected = "exit code 1, one sentence with \"--force\"; the recording stays; with `--force` it is replaced";
    Fault::new(TAKEN, "`record -o` with the name of an earlier recording", expected, |stage| {
        let mut program = stage.contended(17, &[])?;
        stage.record(&mut program, &[])?;
        let (pid, file) = (program.pid(), stage.name("recording.jfr"));
        let before = fs::read(&file)?;
        let said = stage.headway(["record", "-d", "1s", "-o", &file, &pid])?;
        if fs::read(&file)? != before {
            return Err("the recording changed".into());
        }
        ok(stage.headway(["record", "-q", "--exact", "--force", "-d", "4s", "-o", &file, &pid])?)?;
        if fs::read(&file)? == before {
            return Err("--force did not replace it".into());
        }
        shows_owners(&stage.report(&file)?)?;
        refused(stage, &said, 1, "--force", &[&pid])
    })
}

fn run_over_a_file() -> Fault {
    let expected = "exit code 1, one sentence; the file stays, also with `--force`; the program is not started";
    Fault::new(TAKEN, "`run -o` with the name of a file that is no recording", expected, |stage| {
        fs::write(stage.path("precious.jfr"), "precious")?;
        let started = stage.name("started");
        for force in [&["--force"][..], &[]] {
            let mut arguments = vec!["run", "-o", "precious.jfr"];
            arguments.extend(force);
            arguments.extend(["--", "touch", &started]);
            let said = stage.headway(&arguments)?;
            refused(stage, &said, 1, "there already", &[])?;
        }
        match fs::read(stage.path("precious.jfr"))? == b"precious" && !Path::new(&started).exists() {
            true => Ok("refused; nothing was started".to_owned()),
            false => Err("something was done".into()),
        }
    })
}

fn two_with_one_name() -> Fault {
    let expected = "the second is refused in one sentence; the first recording is complete";
    Fault::new(TAKEN, "two JVMs with the same `-o`", expected, |stage| {
        let (mut first, mut second) = (stage.contended(17, &[])?, stage.contended(21, &[])?);
        let file = stage.name("one-name.jfr");
        ok(stage.headway(["start", "-o", &file, &first.pid()])?)?;
        let said = stage.headway(["start", "-o", &file, &second.pid()])?;
        stage.await_contentions(&first.pid())?;
        ok(stage.headway(["stop", &first.pid()])?)?;
        stage.survives(&mut first)?;
        stage.survives(&mut second)?;
        shows_owners(&stage.report(&file)?)?;
        refused(stage, &said, 1, "there already", &[&first.pid(), &second.pid()])
    })
}

fn same_name_again() -> Fault {
    let expected = "the second recording gets a number; both are complete";
    Fault::new(TAKEN, "a generated name that is taken (`-o a-%p.jfr` twice)", expected, |stage| {
        let program = stage.contended(17, &[])?;
        let pid = program.pid();
        for _ in 0..2 {
            ok(stage.headway(["record", "-q", "--exact", "-d", "4s", "-o", "a-%p.jfr", &pid])?)?;
        }
        for name in [format!("a-{pid}.jfr"), format!("a-{pid}-2.jfr")] {
            shows_owners(&stage.report(&stage.name(&name))?)?;
        }
        Ok("`a-PID.jfr` and `a-PID-2.jfr`".to_owned())
    })
}

fn dump_onto_itself() -> Fault {
    let expected = "`dump` is refused in one sentence, also with `--force`; the recording is complete";
    Fault::new(TAKEN, "`start -o x`, `dump -o x`, `stop`", expected, |stage| {
        let mut program = stage.contended(25, &[])?;
        let (pid, file) = (program.pid(), stage.name("itself.jfr"));
        ok(stage.headway(["start", "--exact", "-o", &file, &pid])?)?;
        stage.await_contentions(&pid)?;
        let forced = stage.headway(["dump", "--force", "-o", &file, &pid])?;
        let said = stage.headway(["dump", "-o", &file, &pid])?;
        ok(stage.headway(["stop", &pid])?)?;
        stage.survives(&mut program)?;
        shows_owners(&stage.report(&file)?)?;
        refused(stage, &said, 1, "there already", &[&pid])?;
        refused(stage, &forced, 1, "the recording itself", &[&pid])
    })
}

/// The file that a finished recording is in, as `stop --json` says.
fn place(said: &Said) -> Result<String, Problem> {
    let reply: serde_json::Value = serde_json::from_str(&said.stdout)?;
    Ok(reply.get("recording").and_then(serde_json::Value::as_str).ok_or("no place is named")?.to_owned())
}

fn removed(what: &'static str, expected: &'static str, with_directory: bool) -> Fault {
    Fault::new(TAKEN, what, format!("exit code 0; {expected}; `status` says before that it is gone"), move |stage| {
        let mut program = stage.contended(17, &[])?;
        let directory = stage.path("place");
        fs::create_dir(&directory)?;
        let (pid, file) = (program.pid(), directory.join(format!("removed-{}.jfr", program.pid())));
        ok(stage.headway(["start", "--exact", "-o", &file.display().to_string(), &pid])?)?;
        stage.await_contentions(&pid)?;
        fs::remove_file(&file)?;
        if with_directory {
            fs::remove_dir(&directory)?;
        }
        await_status(stage, &pid, "was removed", true)?;
        let said = ok(stage.headway(["stop", "--json", &pid])?)?;
        stage.survives(&mut program)?;
        let saved = place(&said)?;
        let report = stage.report(&saved);
        if with_directory {
            fs::remove_file(&saved)?;
        }
        shows_owners(&report?)?;
        // Without its directory it cannot be where it was.
        let is_named = !with_directory || said.stderr.contains(&saved);
        match is_named {
            true => Ok("it was saved, and the place named".to_owned()),
            false => Err(said.all().into()),
        }
    })
}

fn replaced() -> Fault {
    let expected = "the other file stays; the recording is saved beside it and the place named";
    Fault::new(TAKEN, "the recording is replaced by another file, then `stop`", expected, |stage| {
        let mut program = stage.contended(21, &[])?;
        let (pid, file) = (program.pid(), stage.name("replaced.jfr"));
        ok(stage.headway(["start", "--exact", "--max-size", "1m", "-o", &file, &pid])?)?;
        stage.await_contentions(&pid)?;
        fs::remove_file(&file)?;
        fs::write(&file, "precious")?;
        thread::sleep(Duration::from_secs(4));
        let saved = place(&ok(stage.headway(["stop", "--json", &pid])?)?)?;
        stage.survives(&mut program)?;
        shows_owners(&stage.report(&saved)?)?;
        match fs::read(&file)? == b"precious" {
            true => Ok(stage.plain(&format!("saved as {saved}"), &[&pid])),
            false => Err("the other file was overwritten".into()),
        }
    })
}

/// A program that records into a small file system of its own, which has a file that
/// can be removed to make room. The path of the recording, seen from here.
fn in_a_small_file_system(stage: &Stage) -> Result<(Guarded, String), Problem> {
    let small = stage.path("small");
    fs::create_dir(&small)?;
    let agent = format!("-agentpath:{}=start,file={}/full.jfr", stage.tools.agent.display(), small.display());
    let java = stage.java(&stage.jdk(17)?.tool("java"), &[agent], &[]);
    let mount = format!(
        "mount -t tmpfs -o size=8m none {small} && dd if=/dev/zero of={small}/ballast bs=1k count=7680 status=none && exec \"$@\"",
        small = small.display()
    );
    let mut alone = Command::new("unshare");
    alone.args(["-m", "--propagation", "private", "sh", "-c", &mount, "sh"]);
    alone.arg(java.get_program()).args(java.get_args()).current_dir(stage.path(""));
    let program = stage.ready(&mut alone)?;
    let seen = format!("/proc/{}/root{}", program.pid(), small.display());
    Ok((program, seen))
}

/// Waits until `status` says this, or does not any more.
fn await_status(stage: &Stage, pid: &str, words: &str, wanted: bool) -> Result<(), Problem> {
    let deadline = Instant::now() + Duration::from_secs(90);
    loop {
        let status = stage.headway(["status", pid])?;
        if status.stdout.contains(words) == wanted {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(format!("\"{words}\" is {wanted:?}: {}", status.all()).into());
        }
        thread::sleep(Duration::from_millis(500));
    }
}

fn full_for_a_while() -> Fault {
    let expected =
        "`status` says so at once, and `dump` that its copy is incomplete (exit code 1); when there is room again \
                    the recording goes on and says what happened";
    Fault::new(FULL, "the disk is full for a while", expected, |stage| {
        let (mut program, seen) = in_a_small_file_system(stage)?;
        let pid = program.pid();
        await_status(stage, &pid, "No space left", true)?;
        let dumped = stage.headway(["dump", "-o", &stage.name("copy.jfr"), &pid])?;
        if dumped.code != Some(1) || !dumped.stderr.contains("lacks the latest events") {
            return Err(dumped.all().into());
        }
        fs::remove_file(format!("{seen}/ballast"))?;
        await_status(stage, &pid, "No space left", false)?;
        stage.await_contentions(&pid)?;
        ok(stage.headway(["stop", &pid])?)?;
        stage.survives(&mut program)?;
        let report = stage.report(&format!("{seen}/full.jfr"))?;
        shows_owners(&report)?;
        let said = report.degraded.iter().find(|degraded| degraded.reason.contains("No space left"));
        said.map(|_| "\"recording: not written for ...: No space left on device\"".to_owned())
            .ok_or_else(|| format!("{:?}", report.degraded).into())
    })
}

fn full_at_the_end() -> Fault {
    let expected = "`stop`: exit code 1, one sentence with \"are missing\"; the file is readable and counts them";
    Fault::new(FULL, "the disk is full, also at the end", expected, |stage| {
        let (mut program, seen) = in_a_small_file_system(stage)?;
        let pid = program.pid();
        await_status(stage, &pid, "No space left", true)?;
        let said = stage.headway(["stop", &pid])?;
        stage.survives(&mut program)?;
        let report = stage.report(&format!("{seen}/full.jfr"))?;
        refused(stage, &said, 1, "are missing", &[&pid])?;
        match report.losses.get("write_failed") {
            Some(1..) => {
                Ok("\"... No space left on device; N events are missing\", counted in the report, too".to_owned())
            }
            _ => Err(format!("the report counts {:?}", report.losses).into()),
        }
    })
}

fn broken_for_a_while() -> Fault {
    let expected = "`status` says so at once; when writes succeed again the recording goes on and says what happened";
    Fault::new(FULL, "writes of the recording fail (EIO) for a while", expected, |stage| {
        let mut program = on_a_slow_disk(stage, 25, &[])?;
        let pid = program.pid();
        stage.await_contentions(&pid)?;
        fs::write(stage.path(BROKEN), "")?;
        await_status(stage, &pid, "Input/output error", true)?;
        fs::remove_file(stage.path(BROKEN))?;
        await_status(stage, &pid, "Input/output error", false)?;
        thread::sleep(Duration::from_secs(1));
        ok(stage.headway(["stop", &pid])?)?;
        stage.survives(&mut program)?;
        let report = stage.report(&stage.name("slow.jfr"))?;
        shows_owners(&report)?;
        let said = report.degraded.iter().find(|degraded| degraded.reason.contains("Input/output error"));
        said.map(|_| "\"recording: not written for ...: Input/output error\"".to_owned())
            .ok_or_else(|| format!("{:?}", report.degraded).into())
    })
}

fn broken_at_the_end() -> Fault {
    let expected = "`stop`: exit code 1, one sentence with \"Input/output error\"; what was written before is readable";
    Fault::new(FULL, "writes of the recording fail (EIO), also at the end", expected, |stage| {
        let mut program = on_a_slow_disk(stage, 17, &[])?;
        let pid = program.pid();
        stage.await_contentions(&pid)?;
        // It is written once a second.
        thread::sleep(Duration::from_secs(3));
        fs::write(stage.path(BROKEN), "")?;
        await_status(stage, &pid, "Input/output error", true)?;
        let said = stage.headway(["stop", &pid])?;
        stage.survives(&mut program)?;
        shows_owners(&stage.report(&stage.name("slow.jfr"))?)?;
        refused(stage, &said, 1, "Input/output error", &[&pid])
    })
}

fn too_large() -> Fault {
    let expected =
        "`stop`: exit code 1, one sentence with \"File too large\"; the program runs on; the file is readable";
    Fault::new(FULL, "the recording reaches the limit on files (RLIMIT_FSIZE)", expected, |stage| {
        let mut program = stage.contended(25, &[])?;
        let (pid, file) = (program.pid(), stage.name("limited.jfr"));
        ok(stage.headway(["start", "--exact", "-o", &file, &pid])?)?;
        stage.await_contentions(&pid)?;
        thread::sleep(Duration::from_secs(2));
        // Little more, which is soon written however seldom the program runs.
        run(Command::new("prlimit").args([
            "--pid",
            &pid,
            &format!("--fsize={}", fs::metadata(&file)?.len() + (1 << 15)),
        ]))?;
        await_status(stage, &pid, "File too large", true)?;
        let said = stage.headway(["stop", &pid])?;
        stage.survives(&mut program)?;
        let report = stage.report(&file)?;
        shows_owners(&report)?;
        refused(stage, &said, 1, "File too large", &[&pid])?;
        match report.losses.get("write_failed") {
            Some(1..) => Ok("\"... File too large; N events are missing\", counted in the report, too".to_owned()),
            _ => Err(format!("the report counts {:?}", report.losses).into()),
        }
    })
}

fn size_limit() -> Fault {
    const LIMIT: u64 = 400 << 10;
    let expected = "the disk never holds more; the newest part is kept; the report says that it was cut";
    Fault::new(FULL, "a recording reaches its own limit (`--max-size 400k`)", expected, |stage| {
        let mut program = stage.contended(17, &[])?;
        let directory = stage.path("limit");
        fs::create_dir(&directory)?;
        let (pid, file) = (program.pid(), directory.join("limit.jfr").display().to_string());
        ok(stage.headway(["start", "--exact", "--max-size", "400k", "-o", &file, &pid])?)?;
        let begun = Instant::now();
        let (mut most, mut is_cut) = (0, false);
        // For longer if the oldest part was not yet removed: a busy machine lets the program run seldom.
        while begun.elapsed() < Duration::from_secs(12) || !is_cut && begun.elapsed() < Duration::from_secs(150) {
            let files = fs::read_dir(&directory)?.flatten().filter_map(|file| file.metadata().ok());
            // A file may go between the two.
            let now = files.map(|file| std::os::unix::fs::MetadataExt::blocks(&file) * 512).sum();
            is_cut |= now < most * 3 / 4;
            most = most.max(now);
            thread::sleep(Duration::from_millis(5));
        }
        ok(stage.headway(["stop", &pid])?)?;
        stage.survives(&mut program)?;
        let report = stage.report(&file)?;
        shows_owners(&report)?;
        let is_said = report.degraded.iter().any(|degraded| degraded.reason.contains("oldest part"));
        match (LIMIT / 3..=LIMIT).contains(&most) && is_said {
            true => Ok("the disk never held more".to_owned()),
            false => Err(format!("{most} bytes at most; {:?}", report.degraded).into()),
        }
    })
}
