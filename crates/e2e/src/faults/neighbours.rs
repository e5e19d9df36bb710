//! What else happens in the target while it is recorded: it ends, runs out of
//! memory, and other tools attach to it.

use super::stage::{shows_owners, Stage};
use super::targets::signal;
use super::Fault;
use crate::guarded::Guarded;
use crate::Problem;
use std::process::Command;
use std::thread;
use std::time::Duration;

const ENDS: &str = "Programs that end while they are recorded";
const OTHERS: &str = "Other tools in the same process";

/// See the module.
pub fn faults() -> Vec<Fault> {
    let mut faults = Vec::new();
    for release in [17, 21, 25] {
        for end in ["return", "exit", "halt"] {
            faults.push(ends(release, end));
        }
        faults.push(kill(release));
    }
    faults.push(memory());
    for (what, words) in OTHER_TOOLS {
        faults.push(beside(what, words));
    }
    faults
}

/// Longest time until a program has ended that runs for 3 s: a busy machine takes a while, and
/// what keeps a program from ending keeps it for good.
const ENDED_WITHIN: Duration = Duration::from_secs(90);

fn ends(release: u32, end: &'static str) -> Fault {
    let what = match end {
        "return" => format!("JDK {release}: the main method returns while threads block each other"),
        "exit" => format!("JDK {release}: System.exit while threads block each other"),
        _ => format!("JDK {release}: Runtime.halt while threads block each other"),
    };
    Fault::new(ENDS, what, "exit code 0 as without Headway; the recording is complete", move |stage| {
        let file = stage.name("ends.jfr");
        let java = stage.jdk(release)?.tool("java");
        let agent = format!("-agentpath:{}=start,file={file}", stage.tools.agent.display());
        let arguments = ["monitor", "--seconds", "3", "--end", end, "--threads", "8"];
        let mut program = stage.ready(&mut stage.java(&java, &[agent], &arguments))?;
        let status = crate::tools::wait_at_most(&mut program, ENDED_WITHIN)?;
        if !status.success() {
            return Err(format!("the program ended with {status}").into());
        }
        shows_owners(&stage.report(&file)?)?;
        Ok("exit code 0; the recording is complete".to_owned())
    })
}

fn kill(release: u32) -> Fault {
    let what = format!("JDK {release} is killed (SIGKILL)");
    Fault::new(ENDS, what, "the recording is readable up to its last second", move |stage| {
        let file = stage.name("killed.jfr");
        let mut program = stage.contended(release, &[])?;
        stage.headway(["start", "-o", &file, &program.pid()])?;
        stage.await_contentions(&program.pid())?;
        // Some writes, once a second.
        thread::sleep(Duration::from_secs(4));
        signal(&program, "KILL")?;
        program.wait()?;
        shows_owners(&stage.report(&file)?)?;
        crate::tools::run(&stage.jdk(release)?.tool("jfr"), ["summary", &file])?;
        Ok("`headway report` and `jfr summary` read it".to_owned())
    })
}

fn memory() -> Fault {
    Fault::new(
        ENDS,
        "JDK 17 runs out of heap again and again",
        "contentions with the owners' call stacks; the program runs on",
        |stage| {
            let java = stage.jdk(17)?.tool("java");
            let none: [&str; 0] = [];
            let mut program = stage.ready(&mut stage.java(&java, &none, &["memory"]))?;
            shows_owners(&stage.record(&mut program, &["-e", "lock,cpu"])?)
        },
    )
}

/// What is done during the recording by the JDK's own `jcmd`.
const OTHER_TOOLS: [(&str, &[&str]); 5] = [
    ("JFR records, too", &["JFR.start", "name=beside", "settings=profile"]),
    ("a thread dump is taken", &["Thread.print", "-l"]),
    ("a heap histogram is taken", &["GC.class_histogram"]),
    ("all compiled code is listed", &["Compiler.codelist"]),
    ("the management agent is loaded", &["ManagementAgent.start_local"]),
];

fn beside(what: &'static str, words: &'static [&'static str]) -> Fault {
    let what = format!("{what} (`jcmd PID {}`)", words.first().copied().unwrap_or_default());
    Fault::new(OTHERS, what, "both work; contentions with the owners' call stacks", move |stage| {
        let mut program = stage.contended(17, &[])?;
        jcmd_while_recording(stage, &mut program, words)
    })
}

fn jcmd_while_recording(stage: &Stage, program: &mut Guarded, words: &[&str]) -> Result<String, Problem> {
    let (pid, file) = (program.pid(), stage.name("beside.jfr"));
    let said = stage.headway(["start", "-o", &file, &pid])?;
    if said.code != Some(0) {
        return Err(said.all().into());
    }
    let mut jcmd = Command::new(stage.jdk(17)?.tool("jcmd"));
    super::machines::run(jcmd.arg(&pid).args(words))?;
    stage.await_contentions(&pid)?;
    let stopped = stage.headway(["stop", &pid])?;
    stage.survives(program)?;
    match stopped.code {
        Some(0) => shows_owners(&stage.report(&file)?),
        _ => Err(stopped.all().into()),
    }
}
