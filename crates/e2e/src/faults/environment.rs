//! What kernels and container runtimes refuse to the target.

use super::stage::{refused, shows_less, shows_owners, Stage};
use super::Fault;
use crate::guarded::Guarded;
use crate::report::Report;
use crate::Problem;
use std::process::Command;

const GROUP: &str = "What the kernel refuses to the target";

/// System calls, and what becomes of a recording of locks and CPU time without them.
const REFUSED: [(&str, &str); 5] =
    [("perf_event_open", "perf"), ("process_vm_readv", ""), ("membarrier", ""), ("memfd_create", ""), ("ptrace", "")];

/// See the module.
pub fn faults() -> Vec<Fault> {
    let mut faults: Vec<Fault> = REFUSED.into_iter().map(|(call, words)| denied(call, words)).collect();
    faults.push(counted("timer_create,perf_event_open", "cpu", "thread_unsampled", "thread_table_full"));
    faults.push(counted("process_vm_readv", "wall", "sample_unreadable", "sample_moved"));
    faults.push(limit("open files", "--nofile=64:64"));
    faults.push(too_few_files());
    faults.push(too_few_threads());
    faults.push(too_little_room());
    faults.push(too_little_memory());
    faults.push(limit("locked memory", "--memlock=65536:65536"));
    faults.push(limit("CPU timers and signals", "--sigpending=8:8"));
    faults
}

const EXPECTED: &str =
    "contentions with the owners' call stacks; what is missing is said in one line; the program runs on";

fn denied(call: &'static str, words: &'static str) -> Fault {
    Fault::new(GROUP, format!("`{call}` (seccomp)"), EXPECTED, move |stage| {
        let java = stage.java(&stage.jdk(17)?.tool("java"), &["-XX:+UseSerialGC"], &[]);
        let mut deny = Command::new(stage.own_program("headway-deny"));
        deny.arg(call).arg("--").arg(java.get_program()).args(java.get_args());
        deny.current_dir(stage.path(""));
        let mut program = stage.ready(&mut deny)?;
        recorded(stage, &mut program, words)
    })
}

/// A refusal that costs samples is counted by its cause, and not by another one.
fn counted(calls: &'static str, events: &'static str, cause: &'static str, not: &'static str) -> Fault {
    let what = format!("`{calls}` (seccomp), `-e lock,{events}`");
    let expected = format!("contentions; the loss `{cause}` and one line for it; the program runs on");
    Fault::new(GROUP, what, expected, move |stage| {
        let java = stage.java(&stage.jdk(17)?.tool("java"), &["-XX:+UseSerialGC"], &[]);
        let mut deny = Command::new(stage.own_program("headway-deny"));
        deny.arg(calls).arg("--").arg(java.get_program()).args(java.get_args()).current_dir(stage.path(""));
        let mut program = stage.ready(&mut deny)?;
        let report = stage.record(&mut program, &["-e", &format!("lock,{events}")])?;
        let seen = shows_less(&report, "not sampled")?;
        let of = |loss: &str| report.losses.get(loss).copied().unwrap_or(0);
        // A waiting thread may run now and then, rarely.
        match of(cause) > 0 && of(not) * 4 < of(cause) {
            true => Ok(format!("loss `{cause}`; {seen}")),
            false => Err(format!("losses: {:?}", report.losses).into()),
        }
    })
}

fn limit(of: &'static str, option: &'static str) -> Fault {
    Fault::new(GROUP, format!("more {of} than `prlimit {option}`"), EXPECTED, move |stage| {
        let java = stage.java(&stage.jdk(17)?.tool("java"), &["-XX:+UseSerialGC"], &[]);
        let mut limited = Command::new("prlimit");
        limited.arg(option).arg(java.get_program()).args(java.get_args()).current_dir(stage.path(""));
        let mut program = stage.ready(&mut limited)?;
        recorded(stage, &mut program, "")
    })
}

/// The program's last files are its own.
fn too_few_files() -> Fault {
    const LIMIT: &str = "--nofile=36:36";
    let what = format!("fewer files left than a recording needs: `prlimit {LIMIT}`");
    Fault::new(GROUP, what, "exit code 1 and one sentence; the program runs on", |stage| {
        let java = stage.java(&stage.jdk(17)?.tool("java"), &["-XX:+UseSerialGC"], &[]);
        let mut limited = Command::new("prlimit");
        limited.arg(LIMIT).arg(java.get_program()).args(java.get_args()).current_dir(stage.path(""));
        let mut program = stage.ready(&mut limited)?;
        let said = stage.headway(["record", "-d", "1s", &program.pid()])?;
        stage.survives(&mut program)?;
        refused(stage, &said, 1, "more files, and a recording needs", &[&program.pid()])?;
        Ok("exit code 1: how many files the process can open still, and how many a recording needs".to_owned())
    })
}

/// A JVM that cannot create the thread of its attach mechanism ends.
fn too_few_threads() -> Fault {
    let what = "no thread left for the user of the JVM: `prlimit --nproc`";
    Fault::new(GROUP, what, "exit code 3 and one sentence; the program runs on", |stage| {
        // Root has no such limit. A user who has nothing else here; reading is allowed, whoever owns the files.
        let as_user = || {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", "64731", "--regid", "64731", "--clear-groups"]);
            command.args([
                "--inh-caps",
                "-all,+dac_read_search,+dac_override",
                "--ambient-caps",
                "+dac_read_search,+dac_override",
            ]);
            command
        };
        let java = stage.java(&stage.jdk(17)?.tool("java"), &["-XX:+UseSerialGC"], &[]);
        let mut limited = as_user();
        limited.arg(java.get_program()).args(java.get_args()).current_dir(stage.path(""));
        let mut program = stage.ready(&mut limited)?;
        let threads = std::fs::read_dir(format!("/proc/{}/task", program.pid()))?.count();
        let limit = format!("--nproc={threads}:{threads}");
        super::machines::run(as_user().args(["prlimit", "--pid", &program.pid(), &limit]))?;
        let said = stage.headway(["record", "-d", "1s", &program.pid()])?;
        stage.survives(&mut program)?;
        refused(stage, &said, 3, "more threads because of", &[&program.pid()])?;
        Ok("exit code 3: how many threads the process can create still, and what limits it".to_owned())
    })
}

/// What the program needs of its last memory is not taken from it.
fn too_little_room() -> Fault {
    let what = "300 MB of address space left: `prlimit --as`";
    Fault::new(GROUP, what, "exit code 3 and one sentence; the program runs on, at most 32 MB larger", |stage| {
        let mut program = stage.contended(17, &["-XX:+UseSerialGC"])?;
        let size = || -> Result<u64, Problem> {
            let status = std::fs::read_to_string(format!("/proc/{}/status", program.pid()))?;
            let line = status.lines().find_map(|line| line.strip_prefix("VmSize:")).ok_or("no size")?;
            Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? << 10)
        };
        let before = size()?;
        let limit = before + (300 << 20);
        super::machines::run(Command::new("prlimit").args([
            "--pid",
            &program.pid(),
            &format!("--as={limit}:{limit}"),
        ]))?;
        let said = stage.headway(["record", "-e", "lock,cpu,wall", "-d", "1s", &program.pid()])?;
        let grown = size()?.saturating_sub(before) >> 20;
        stage.survives(&mut program)?;
        if grown > 32 {
            return Err(format!("the program is {grown} MB larger").into());
        }
        refused(stage, &said, 3, "of memory more", &[&program.pid()])
    })
}

/// The kernel kills a process whose control group needs more memory than its limit. The limit stands where control groups
/// are mounted for the program, as in a container.
fn too_little_memory() -> Fault {
    let what = "40 MB left of the limit of memory of the JVM's control group (memory.max)";
    let expected = "exit code 3 and one sentence; nothing is loaded into the program, which runs on";
    Fault::new(GROUP, what, expected, |stage| {
        let group = stage.path("group");
        std::fs::create_dir(&group)?;
        std::fs::write(group.join("memory.max"), "400000000\n")?;
        std::fs::write(group.join("memory.current"), "400000000\n")?;
        std::fs::write(group.join("memory.stat"), "inactive_file 41943040\n")?;
        let java = stage.java(&stage.jdk(17)?.tool("java"), &["-XX:+UseSerialGC"], &[]);
        let mount = format!("mount --bind {} /sys/fs/cgroup && exec \"$@\"", group.display());
        let mut limited = Command::new("unshare");
        limited.args(["-m", "--propagation", "private", "sh", "-c", &mount, "sh"]);
        limited.arg(java.get_program()).args(java.get_args()).current_dir(stage.path(""));
        let mut program = stage.ready(&mut limited)?;
        let said = stage.headway(["record", "-d", "1s", &program.pid()])?;
        stage.survives(&mut program)?;
        if std::fs::read_to_string(format!("/proc/{}/maps", program.pid()))?.contains("libheadway") {
            return Err("the agent was loaded".into());
        }
        refused(stage, &said, 3, "has a limit of memory", &[&program.pid()])
    })
}

fn recorded(stage: &Stage, program: &mut Guarded, words: &str) -> Result<String, Problem> {
    let report = stage.record(program, &["-e", "lock,cpu"])?;
    let seen = shows_owners(&report)?;
    match words {
        "" => Ok(seen + &what_is_missing(&report)),
        words => Ok(format!("owners' call stacks; {}", shows_less(&report, words)?)),
    }
}

fn what_is_missing(report: &Report) -> String {
    report.degraded.iter().map(|degraded| format!("; \"{}: {}\"", degraded.mechanism, degraded.reason)).collect()
}
