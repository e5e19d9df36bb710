//! `headway-deny SYSCALL[,SYSCALL]... -- COMMAND [ARGUMENT]...`
//!
//! Runs a command for which the kernel refuses some system calls with EPERM, as
//! container runtimes do by their seccomp profiles.

use headway_e2e::Problem;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// What the kernel answers.
const EPERM: u32 = 1;

/// Numbers on x86_64 of what can be refused.
const SYSTEM_CALLS: [(&str, i64); 8] = [
    ("ptrace", 101),
    ("timer_create", 222),
    ("perf_event_open", 298),
    ("process_vm_readv", 310),
    ("process_vm_writev", 311),
    ("memfd_create", 319),
    ("membarrier", 324),
    ("openat2", 437),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((names, command)) = arguments.split_first().filter(|(_, rest)| rest.first().is_some_and(|w| w == "--"))
    else {
        eprintln!("usage: headway-deny SYSCALL[,SYSCALL]... -- COMMAND [ARGUMENT]...");
        return ExitCode::from(2);
    };
    let Some((program, rest)) = command.get(1..).and_then(<[String]>::split_first) else {
        eprintln!("headway-deny: no command");
        return ExitCode::from(2);
    };
    let problem = match deny(names) {
        Ok(()) => format!("cannot run {program}: {}", Command::new(program).args(rest).exec()),
        Err(problem) => problem.to_string(),
    };
    eprintln!("headway-deny: {problem}");
    ExitCode::FAILURE
}

fn deny(names: &str) -> Result<(), Problem> {
    let number = |name: &str| {
        let known = SYSTEM_CALLS.iter().find(|(known, _)| *known == name);
        known.map(|(_, number)| (*number, vec![])).ok_or_else(|| format!("no system call \"{name}\" in the list"))
    };
    let rules = names.split(',').map(number).collect::<Result<BTreeMap<_, _>, _>>()?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(EPERM), TargetArch::x86_64)?;
    let program: BpfProgram = filter.try_into()?;
    Ok(seccompiler::apply_filter(&program)?)
}
