//! Processes that cannot or must not be attached to.

use super::stage::{await_state, refused, Stage};
use super::Fault;
use crate::guarded::Guarded;
use crate::Problem;
use std::process::{Command, Stdio};

const GROUP: &str = "Targets that cannot be recorded";

/// See the module.
pub fn faults() -> Vec<Fault> {
    vec![
        no_such_process(),
        zombie(),
        no_jvm(),
        name_of_nothing(),
        stopped(),
        with_flag("-XX:+DisableAttachMechanism", 3, "refuses attaching"),
        without_dynamic_loading(),
        agent_missing(),
        agent_is_garbage(),
        other_user(),
    ]
}

fn one_sentence(code: i32, words: &str) -> String {
    format!("exit code {code}, one sentence with \"{words}\"; nothing changes")
}

fn no_such_process() -> Fault {
    Fault::new(GROUP, "a process id that is not in use", one_sentence(3, "there is no process"), |stage| {
        let said = stage.headway(["record", "4194000"])?;
        refused(stage, &said, 3, "there is no process", &["4194000"])
    })
}

fn zombie() -> Fault {
    Fault::new(GROUP, "a process that has ended but whose parent has not looked", one_sentence(3, "PID"), |stage| {
        let child = Guarded(Command::new("true").stdin(Stdio::null()).spawn()?);
        await_state(&child.pid(), 'Z')?;
        refused(stage, &stage.headway(["record", &child.pid()])?, 3, &child.pid(), &[&child.pid()])
    })
}

fn no_jvm() -> Fault {
    Fault::new(GROUP, "a process that is no JVM", one_sentence(3, "is not a JVM"), |stage| {
        let child = Guarded(Command::new("sleep").arg("60").spawn()?);
        refused(stage, &stage.headway(["start", &child.pid()])?, 3, "is not a JVM", &[&child.pid()])
    })
}

fn name_of_nothing() -> Fault {
    Fault::new(GROUP, "a name that no JVM has", one_sentence(2, "no running JVM matches"), |stage| {
        refused(stage, &stage.headway(["status", "NoSuchMainClass"])?, 2, "no running JVM matches", &[])
    })
}

/// Signals a process.
pub fn signal(program: &Guarded, name: &str) -> Result<(), Problem> {
    super::machines::run(Command::new("kill").args([&format!("-{name}"), &program.pid()]))
}

fn stopped() -> Fault {
    Fault::new(GROUP, "a JVM that is stopped (SIGSTOP)", one_sentence(3, "is stopped"), |stage| {
        let mut program = stage.contended(17, &[])?;
        signal(&program, "STOP")?;
        await_state(&program.pid(), 'T')?;
        let said = stage.headway(["record", "-d", "1s", &program.pid()])?;
        signal(&program, "CONT")?;
        stage.survives(&mut program)?;
        refused(stage, &said, 3, "is stopped", &[&program.pid()])
    })
}

fn with_flag(flag: &'static str, code: i32, words: &'static str) -> Fault {
    Fault::new(GROUP, format!("a JVM with `{flag}`"), one_sentence(code, words), move |stage| {
        let mut program = stage.contended(17, &[flag])?;
        let said = stage.headway(["record", "-d", "1s", &program.pid()])?;
        stage.survives(&mut program)?;
        refused(stage, &said, code, words, &[&program.pid()])
    })
}

fn without_dynamic_loading() -> Fault {
    let words = "does not allow agents to be loaded";
    let what = "JDK 25 with `-XX:-EnableDynamicAgentLoading`";
    Fault::new(GROUP, what, one_sentence(3, words), move |stage| {
        let mut program = stage.contended(25, &["-XX:-EnableDynamicAgentLoading"])?;
        let said = stage.headway(["record", "-d", "1s", &program.pid()])?;
        stage.survives(&mut program)?;
        refused(stage, &said, 3, words, &[&program.pid()])
    })
}

fn with_agent(stage: &Stage, content: Option<&[u8]>, words: &str, code: i32) -> Result<String, Problem> {
    let library = stage.path("libheadway.so");
    if let Some(content) = content {
        std::fs::write(&library, content)?;
    }
    let mut program = stage.contended(17, &[])?;
    let mut command = stage.command(["record", "-d", "1s", &program.pid()]);
    let said = stage.finish(command.env("HEADWAY_AGENT", &library))?;
    stage.survives(&mut program)?;
    refused(stage, &said, code, words, &[&program.pid()])
}

fn agent_missing() -> Fault {
    let what = "`HEADWAY_AGENT` names a file that does not exist";
    Fault::new(GROUP, what, one_sentence(1, "libheadway.so"), |stage| with_agent(stage, None, "libheadway.so", 1))
}

fn agent_is_garbage() -> Fault {
    let words = "is not the complete agent library";
    Fault::new(GROUP, "an agent library that is no library", one_sentence(1, words), move |stage| {
        with_agent(stage, Some(b"this is no library"), words, 1)
    })
}

fn other_user() -> Fault {
    let words = "belongs to user";
    Fault::new(GROUP, "a JVM of another user, without privileges", one_sentence(3, words), move |stage| {
        let mut program = stage.contended(17, &[])?;
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all"]);
        command.arg("--bounding-set=-all").arg(copied(stage)?);
        command.args(["record", "-d", "1s", &program.pid()]).current_dir("/").stdin(Stdio::null());
        let said = stage.finish(&mut command)?;
        stage.survives(&mut program)?;
        refused(stage, &said, 3, words, &[&program.pid()])
    })
}

/// The command line where everybody may run it: a home directory may be closed to others.
fn copied(stage: &Stage) -> Result<std::path::PathBuf, Problem> {
    use std::os::unix::fs::PermissionsExt;
    let open = std::fs::Permissions::from_mode(0o755);
    let copy = stage.path("headway");
    std::fs::copy(&stage.tools.headway, &copy)?;
    std::fs::set_permissions(&copy, open.clone())?;
    let place = copy.parent().ok_or("no directory")?;
    std::fs::set_permissions(place, open)?;
    Ok(copy)
}
