//! What keeps hooks in the process when a recording ends, and detaching in every
//! state.

use super::machines::{compile, run};
use super::stage::{eventually, shows_owners, Said, Stage};
use super::Fault;
use crate::concurrent::{check_same, code};
use crate::guarded::Guarded;
use crate::Problem;
use serde_json::Value;
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const GROUP: &str = "Hooks that cannot be taken out";

/// Longest time until the agent's own thread has taken out what it could not before.
const GONE_WITHIN: Duration = Duration::from_secs(40);

/// See the module.
pub fn faults() -> Vec<Fault> {
    let mut faults = Vec::new();
    for release in [17, 25] {
        faults.push(traced(release));
        faults.push(deaf(release));
        faults.push(bound_by_another(release));
        faults.push(stays_until_the_next(release));
    }
    faults.push(detached_in_every_state());
    faults
}

const REPORTED: &str = "`stop` and `status` name each hook and the reason, exit code 0 as they only pass through; the \
                        agent takes them out once it can";

fn traced(release: u32) -> Fault {
    let what = format!("a tracer is attached to JDK {release} when the recording ends");
    Fault::new(GROUP, what, REPORTED, move |stage| {
        let mut program = stage.contended(release, &[])?;
        let before = code(&program)?;
        start(stage, &program)?;
        let tracer = compile(stage, include_str!("native/tracer.c"), "tracer", &[])?;
        let mut tracer = Command::new(tracer);
        let mut tracer = stage.ready(tracer.arg(program.pid()).stdin(Stdio::piped()))?;
        let words = format!("process {} traces this process", tracer.pid());
        let seen = stays(stage, &program, &words)?;
        drop(tracer.stdin.take());
        tracer.wait()?;
        gone(&program, || check_same(&before, &code(&program)?))?;
        nothing_stays(stage, &mut program)?;
        Ok(seen)
    })
}

fn deaf(release: u32) -> Fault {
    let what = format!("a thread of JDK {release} blocks SIGTRAP when the recording ends");
    Fault::new(GROUP, what, REPORTED, move |stage| {
        let library = compile(stage, include_str!("native/deaf.c"), "libdeaf.so", &["-shared", "-fPIC", "-pthread"])?;
        let file = stage.path("deaf");
        let none: [&str; 0] = [];
        let mut java = stage.java(&stage.jdk(release)?.tool("java"), &none, &[]);
        let mut program = stage.ready(java.env("LD_PRELOAD", library).env("HEADWAY_DEAF", &file))?;
        let before = code(&program)?;
        start(stage, &program)?;
        fs::write(&file, "")?;
        await_deaf(&program)?;
        let seen = stays(stage, &program, "thread \"deaf\"")?;
        fs::remove_file(&file)?;
        gone(&program, || check_same(&before, &code(&program)?))?;
        nothing_stays(stage, &mut program)?;
        Ok(seen)
    })
}

fn stays_until_the_next(release: u32) -> Fault {
    let what = format!("hooks of JDK {release} stay (a thread blocks SIGTRAP), and another recording begins");
    let expected = "it is complete; all hooks are taken out at its end; the program runs on";
    Fault::new(GROUP, what, expected, move |stage| {
        let library = compile(stage, include_str!("native/deaf.c"), "libdeaf.so", &["-shared", "-fPIC", "-pthread"])?;
        let file = stage.path("deaf");
        let none: [&str; 0] = [];
        let mut java = stage.java(&stage.jdk(release)?.tool("java"), &none, &[]);
        let mut program = stage.ready(java.env("LD_PRELOAD", library).env("HEADWAY_DEAF", &file))?;
        let (pid, before) = (program.pid(), code(&program)?);
        start(stage, &program)?;
        fs::write(&file, "")?;
        await_deaf(&program)?;
        stays(stage, &program, "thread \"deaf\"")?;
        let next = stage.name("next.jfr");
        let meanwhile = stage.headway(["start", "-o", &next, &pid])?;
        stage.await_contentions(&pid)?;
        // The agent's thread sees the recording and leaves its hooks alone.
        thread::sleep(Duration::from_secs(3));
        fs::remove_file(&file)?;
        thread::sleep(Duration::from_secs(2));
        let stopped = stage.headway(["stop", &pid])?;
        if let Some(said) = [&meanwhile, &stopped].into_iter().find(|said| said.code != Some(0)) {
            return Err(said.all().into());
        }
        shows_owners(&stage.report(&next)?).map_err(|problem| format!("the second recording: {problem}"))?;
        gone(&program, || check_same(&before, &code(&program)?))?;
        nothing_stays(stage, &mut program)?;
        Ok("the second recording is complete; no hook stayed".to_owned())
    })
}

fn bound_by_another(release: u32) -> Fault {
    let what = format!("another agent binds `Unsafe.park` of JDK {release} during the recording");
    let expected =
        "its binding stays and is reported, `unpark` is the VM's again; exit code 0, since ours passes through";
    Fault::new(GROUP, what, expected, move |stage| {
        let include = super::machines::headers(stage)?;
        let flags = [format!("-I{}", include.display()), format!("-I{}/linux", include.display())];
        let flags: Vec<&str> = ["-shared", "-fPIC"].into_iter().chain(flags.iter().map(String::as_str)).collect();
        let agent = compile(stage, include_str!("native/binder.c"), "libbinder.so", &flags)?;
        let mut program = stage.contended(release, &[])?;
        start(stage, &program)?;
        let mut jcmd = Command::new(stage.jdk(17)?.tool("jcmd"));
        run(jcmd.arg(program.pid()).arg("JVMTI.agent_load").arg(agent))?;
        let seen = stays(stage, &program, "another agent has bound the method meanwhile")?;
        let left = in_place(&stage.headway(["status", "--json", &program.pid()])?)?;
        if left.len() != 1 || !left.iter().all(|left| left["what"].as_str().is_some_and(|w| w.contains("Unsafe.park,")))
        {
            return Err(format!("not exactly Unsafe.park: {left:?}").into());
        }
        thread::sleep(Duration::from_millis(500));
        stage.survives(&mut program)?;
        Ok(seen)
    })
}

fn detached_in_every_state() -> Fault {
    let expected = "exit code 0 and one sentence each time; libjvm's code is as before";
    Fault::new(GROUP, "`stop --detach` in every state: not loaded, recording, stopped, detached", expected, |stage| {
        let mut program = stage.contended(17, &[])?;
        let (pid, before) = (program.pid(), code(&program)?);
        let detach = |words: &str| -> Result<(), Problem> {
            let said = stage.headway(["stop", "--detach", &pid])?;
            match said.code == Some(0) && said.stdout.contains(words) {
                true => check_same(&before, &code(&program)?),
                false => Err(format!("no \"{words}\": {}", said.all()).into()),
            }
        };
        detach("is not loaded")?;
        start(stage, &program)?;
        detach("is detached")?;
        detach("Nothing was being recorded")?;
        start(stage, &program)?;
        if stage.headway(["stop", &pid])?.code != Some(0) {
            return Err("`stop` fails".into());
        }
        detach("Nothing was being recorded")?;
        start(stage, &program)?;
        detach("is detached")?;
        stage.survives(&mut program)?;
        Ok("exit code 0 each time".to_owned())
    })
}

/// Waits until the thread `deaf` has seen its file and blocks SIGTRAP.
fn await_deaf(program: &Guarded) -> Result<(), Problem> {
    const SIGTRAP: u64 = 1 << (5 - 1);
    eventually("the thread \"deaf\" blocks SIGTRAP", || {
        let tasks = fs::read_dir(format!("/proc/{}/task", program.pid()))?.flatten();
        let statuses = tasks.filter_map(|task| fs::read_to_string(task.path().join("status")).ok());
        let blocked = statuses.filter(|status| status.starts_with("Name:\tdeaf\n")).filter_map(|status| {
            let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:"))?;
            u64::from_str_radix(mask.trim(), 16).ok()
        });
        Ok(blocked.into_iter().any(|mask| mask & SIGTRAP != 0))
    })
}

/// Each recording has a file of its own.
fn start(stage: &Stage, program: &Guarded) -> Result<(), Problem> {
    let file = (0..).map(|n: u32| stage.path(&format!("hooks-{n}.jfr"))).find(|path| !path.exists());
    let file = file.ok_or("no free name")?.display().to_string();
    let said = stage.headway(["start", "-o", &file, &program.pid()])?;
    thread::sleep(Duration::from_millis(500));
    match said.code {
        Some(0) => Ok(()),
        _ => Err(said.all().into()),
    }
}

/// `stop` and `status` succeed and say what stays and why.
fn stays(stage: &Stage, program: &Guarded, words: &str) -> Result<String, Problem> {
    let pid = program.pid();
    let said = [stage.headway(["stop", &pid])?, stage.headway(["status", &pid])?];
    for said in &said {
        if said.code != Some(0) || !said.stdout.contains("Still in place") || !said.stdout.contains(words) {
            return Err(format!("no \"{words}\": {}", said.all()).into());
        }
    }
    let again = stage.headway(["stop", &pid])?;
    if again.code != Some(1) || !again.sentence().contains(words) {
        return Err(format!("a second `stop` does not say \"{words}\": {}", again.all()).into());
    }
    Ok(format!("`stop` and `status`: \"{words} ...\"; exit code 0").replace(&pid, "PID"))
}

fn in_place(said: &Said) -> Result<Vec<Value>, Problem> {
    let status: Value = serde_json::from_str(&said.stdout)?;
    Ok(status.get("in_place").and_then(Value::as_array).cloned().unwrap_or_default())
}

/// Waits for the agent's own thread: no command is sent.
fn gone(program: &Guarded, is_gone: impl Fn() -> Result<(), Problem>) -> Result<(), Problem> {
    let begun = Instant::now();
    loop {
        match is_gone() {
            Ok(()) => return Ok(()),
            Err(problem) if begun.elapsed() > GONE_WITHIN => {
                return Err(format!("process {}: {problem}", program.pid()).into())
            }
            Err(_) => thread::sleep(Duration::from_millis(200)),
        }
    }
}

fn nothing_stays(stage: &Stage, program: &mut Guarded) -> Result<(), Problem> {
    let left = in_place(&stage.headway(["status", "--json", &program.pid()])?)?;
    stage.survives(program)?;
    match left.is_empty() {
        true => Ok(()),
        false => Err(format!("still in place: {left:?}").into()),
    }
}
