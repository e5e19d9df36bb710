//! Command lines that are wrong, killed, stopped, or several at once.

use super::stage::{eventually, refused, shows_owners, Said, Stage};
use super::targets::signal;
use super::Fault;
use crate::guarded::Guarded;
use crate::Problem;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const TYPED: &str = "Command lines that are wrong";
const ENDED: &str = "Command lines that end early, or come together";

/// How long a state is awaited.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is typed, and words of the answer; exit code 2 each.
const WRONG: [(&[&str], &str); 12] = [
    (&["recrod", "1"], "recrod"),
    (&["record"], ""),
    (&["record", "-d", "soon", "1"], "soon"),
    (&["record", "-e", "lunch", "1"], "lunch"),
    (&["record", "-i", "1h", "1"], "1h"),
    (&["record", "--threads", "(", "1"], "("),
    (&["record", "--max-size", "much", "1"], "much"),
    (&["record", "--colour", "1"], "--colour"),
    (&["report", "--by", "weather", "x.jfr"], "weather"),
    (&["report", "--top", "-1", "x.jfr"], "-1"),
    (&["export", "x.jfr", "-o", "x.docx"], ""),
    (&["start"], ""),
];

/// See the module.
pub fn faults() -> Vec<Fault> {
    let mut faults: Vec<Fault> = WRONG.into_iter().map(|(arguments, words)| wrong(arguments, words)).collect();
    for release in [17, 21, 25] {
        faults.push(killed(release));
        faults.push(killed_while_counting(release));
        faults.push(together(release));
    }
    faults.push(killed_in_another_namespace());
    faults.push(interrupted("INT"));
    faults.push(interrupted("TERM"));
    faults.push(twice());
    faults.push(nothing_to_stop());
    faults.push(memory_that_cannot_grow());
    faults
}

fn wrong(arguments: &'static [&'static str], words: &'static str) -> Fault {
    let what = format!("`headway {}`", arguments.join(" "));
    Fault::new(TYPED, what, "exit code 2, what is wrong with which word", move |stage| {
        let said = stage.headway(arguments)?;
        if said.code != Some(2) || !said.stderr.contains(words) || said.stderr.contains("panicked") {
            return Err(said.all().into());
        }
        let first = said.stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Ok(format!("exit code 2: \"{}\"", stage.plain(first, &[])))
    })
}

fn recording_for(stage: &Stage, program: &Guarded, seconds: u32) -> Result<Guarded, Problem> {
    let file = stage.name("long.jfr");
    let mut command = stage.command(["record", "-d", &format!("{seconds}s"), "-o", &file, &program.pid()]);
    let client = Guarded(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
    stage.await_contentions(&program.pid())?;
    Ok(client)
}

fn is_recording(stage: &Stage, pid: &str) -> Result<bool, Problem> {
    let status = stage.headway(["status", "--json", pid])?;
    let status: serde_json::Value = serde_json::from_str(&status.stdout).unwrap_or_default();
    Ok(status.get("recording").is_some_and(serde_json::Value::is_string))
}

fn killed(release: u32) -> Fault {
    let what = format!("`headway record -d 600` of JDK {release} is killed (SIGKILL)");
    Fault::new(ENDED, what, "the agent ends the recording within 5 s and completes its file", move |stage| {
        let mut program = stage.contended(release, &[])?;
        let client = recording_for(stage, &program, 600)?;
        ends_without(stage, &client, &program.pid())?;
        stage.survives(&mut program)?;
        shows_owners(&stage.report(&stage.name("long.jfr"))?)?;
        Ok("the recording ended and is complete".to_owned())
    })
}

fn killed_while_counting(release: u32) -> Fault {
    let what = format!("`headway parks -d 600` of JDK {release} is killed (SIGKILL)");
    let expected = "the agent ends the counting within 5 s, takes its hooks out and leaves no thread and no file";
    Fault::new(ENDED, what, expected, move |stage| {
        let mut program = stage.contended(release, &[])?;
        let pid = program.pid();
        let mut command = stage.command(["parks", "-d", "600s", &pid]);
        let client = Guarded(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
        await_state(&|| says_that_it_counts(stage, &pid), true)?;
        let lease = locked_file(&client)?.ok_or("the command line has no lease")?;
        signal(&client, "KILL")?;
        // Nothing is asked of the agent meanwhile: a command would take out what stays.
        await_state(&|| Ok(!threads_of_agent(&pid)?.is_empty()), false)?;
        await_state(&|| Ok(lease.exists()), false)?;
        stage.survives(&mut program)?;
        let status = stage.headway(["status", "--json", &pid])?;
        let status: serde_json::Value = serde_json::from_str(&status.stdout)?;
        match status.get("in_place").and_then(serde_json::Value::as_array).is_none_or(Vec::is_empty) {
            true if !says_that_it_counts(stage, &pid)? => Ok("the counting ended; nothing was left".to_owned()),
            _ => Err(format!("not all was taken out: {status}").into()),
        }
    })
}

/// Waits for a state: on a busy machine longer than it takes on a quiet one.
fn await_state(is_so: &dyn Fn() -> Result<bool, Problem>, wanted: bool) -> Result<(), Problem> {
    let deadline = Instant::now() + PATIENCE;
    while is_so()? != wanted {
        if Instant::now() > deadline {
            return Err(format!("{} s later it is still {}", PATIENCE.as_secs(), !wanted).into());
        }
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

fn says_that_it_counts(stage: &Stage, pid: &str) -> Result<bool, Problem> {
    Ok(stage.headway(["status", pid])?.stdout.contains("Parks are being counted"))
}

/// The names of the agent's threads in a process.
fn threads_of_agent(pid: &str) -> Result<Vec<String>, Problem> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))?.flatten();
    let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    Ok(names.filter(|name| name.starts_with("headway-")).collect())
}

/// The file in its private directory that a command line keeps open.
fn locked_file(client: &Guarded) -> Result<Option<PathBuf>, Problem> {
    let files = fs::read_dir(format!("/proc/{}/fd", client.pid()))?.flatten();
    let mut paths = files.filter_map(|file| fs::read_link(file.path()).ok());
    Ok(paths.find(|path| path.ends_with("lease")))
}

/// A process id means nothing in the other's namespace: the lease is a file lock.
fn killed_in_another_namespace() -> Fault {
    let what = "`headway record -d 600` of a JVM in another PID namespace is killed (SIGKILL)";
    Fault::new(ENDED, what, "the agent ends the recording within 5 s and completes its file", |stage| {
        let java = stage.java(&stage.jdk(17)?.tool("java"), &["-XX:+UseSerialGC"], &[]);
        let mut apart = Command::new("unshare");
        apart.args(["--pid", "--fork", "--kill-child"]).arg(java.get_program()).args(java.get_args());
        let mut program = stage.ready(apart.current_dir(stage.path("")))?;
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", program.pid()))?;
        let pid = children.split_whitespace().next().ok_or("unshare has no child")?;
        let mut command = stage.command(["record", "-d", "600s", "-o", &stage.name("long.jfr"), pid]);
        let client = Guarded(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
        stage.await_contentions(pid)?;
        ends_without(stage, &client, pid)?;
        stage.survives(&mut program)?;
        shows_owners(&stage.report(&stage.name("long.jfr"))?)?;
        Ok("the recording ended and is complete".to_owned())
    })
}

/// Kills the command line that records; its recording ends, long before the 600 s that were
/// asked for. On a busy machine the agent and the commands that ask it come late.
fn ends_without(stage: &Stage, client: &Guarded, pid: &str) -> Result<(), Problem> {
    signal(client, "KILL")?;
    eventually("the recording ends", || Ok(!is_recording(stage, pid)?))
}

fn interrupted(name: &'static str) -> Fault {
    let what = format!("`headway record -d 600` is interrupted (SIG{name})");
    Fault::new(ENDED, what, "the recording is completed and the report shown", move |stage| {
        let mut program = stage.contended(17, &[])?;
        let mut client = recording_for(stage, &program, 600)?;
        signal(&client, name)?;
        crate::tools::wait_at_most(&mut client, Duration::from_secs(90))?;
        stage.survives(&mut program)?;
        shows_owners(&stage.report(&stage.name("long.jfr"))?)?;
        match is_recording(stage, &program.pid())? {
            true => Err("the recording goes on".into()),
            false => Ok("the recording is complete".to_owned()),
        }
    })
}

/// Several command lines at once: all succeed or say who records.
fn together(release: u32) -> Fault {
    let what = format!("four command lines attach to JDK {release} at once");
    Fault::new(ENDED, what, "one records, the others say so in one sentence; the program runs on", move |stage| {
        let mut program = stage.contended(release, &[])?;
        let pid = program.pid();
        let all: Vec<Result<Said, String>> = thread::scope(|scope| {
            let begun: Vec<_> = (0..4)
                .map(|i| {
                    let (stage, pid) = (&stage, pid.as_str());
                    scope.spawn(move || {
                        let file = stage.name(&format!("at-once-{i}.jfr"));
                        stage.headway(["record", "-d", "3s", "-o", &file, pid]).map_err(|error| error.to_string())
                    })
                })
                .collect();
            begun.into_iter().map(|client| client.join().unwrap_or_else(|_| Err("panicked".to_owned()))).collect()
        });
        let all = all.into_iter().collect::<Result<Vec<Said>, String>>()?;
        stage.survives(&mut program)?;
        let good = all.iter().filter(|said| said.code == Some(0)).count();
        let said_so = all.iter().filter(|said| said.code == Some(1) && said.sentence().contains("already recording"));
        let (said_so, total) = (said_so.count(), all.len());
        match good >= 1 && good + said_so == total {
            true => Ok("every command line recorded or said who does".to_owned()),
            false => Err(all.iter().map(Said::all).collect::<String>().into()),
        }
    })
}

fn twice() -> Fault {
    let words = "already recording";
    Fault::new(
        ENDED,
        "`start` during a recording",
        format!("exit code 1, one sentence with \"{words}\""),
        move |stage| {
            let mut program = stage.contended(25, &[])?;
            let pid = program.pid();
            stage.headway(["start", "-o", &stage.name("first.jfr"), &pid])?;
            let said = stage.headway(["start", "-o", &stage.name("second.jfr"), &pid])?;
            stage.headway(["stop", &pid])?;
            stage.survives(&mut program)?;
            let first_line = said.sentence().lines().next().unwrap_or_default();
            let seen = refused(stage, &said, 1, words, &[&pid])?;
            match first_line.contains("first.jfr") {
                true => Ok(seen),
                false => Err(format!("the recording is not named: {seen}").into()),
            }
        },
    )
}

fn memory_that_cannot_grow() -> Fault {
    let words = "cannot grow";
    let what = "`start --memory 64m` after a recording with `--memory 4m`; then 2m";
    Fault::new(ENDED, what, format!("exit code 1, one sentence with \"{words}\"; the smaller is taken"), move |stage| {
        let mut program = stage.contended(17, &[])?;
        let pid = program.pid();
        let start =
            |file: &str, memory: &str| stage.headway(["start", "--memory", memory, "-o", &stage.name(file), &pid]);
        let first = start("first.jfr", "4m")?;
        let stopped = stage.headway(["stop", &pid])?;
        let seen = refused(stage, &start("second.jfr", "64m")?, 1, words, &[&pid])?;
        let third = start("third.jfr", "2m")?;
        let last = stage.headway(["stop", "--detach", &pid])?;
        stage.survives(&mut program)?;
        match [&first, &stopped, &third, &last].iter().find(|said| said.code != Some(0)) {
            Some(said) => Err(said.all().into()),
            None => Ok(seen),
        }
    })
}

fn nothing_to_stop() -> Fault {
    Fault::new(ENDED, "`stop` where nothing is loaded", "exit code 1, one sentence with \"not loaded\"", |stage| {
        let program = stage.contended(17, &[])?;
        refused(stage, &stage.headway(["stop", &program.pid()])?, 1, "not loaded", &[&program.pid()])
    })
}
