//! Several command lines, and several copies of the agent, at one JVM at once.

use crate::faults::stage::{Said, Stage};
use crate::guarded::Guarded;
use crate::jdk::Jdk;
use crate::Problem;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;

/// Trials in one JVM; then another one is started, so that first loads are tried, too.
const TRIALS_PER_JVM: u32 = 5;

/// What trials came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// Trials.
    pub trials: u32,
    /// Command lines in them.
    pub clients: u32,
    /// Those that recorded; the others said who did.
    pub recorded: u32,
    /// JVMs.
    pub jvms: u32,
}

/// Tries it so many times on a JDK.
///
/// # Errors
/// The JVM crashed, a command line failed without saying who records, a
/// recording was degraded or unreadable, or the VM's code was not as before.
pub fn try_often(jdk: &Jdk, trials: u32, seed: u64) -> Result<Outcome, Problem> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut outcome = Outcome::default();
    while outcome.trials < trials {
        let stage = Stage::new()?;
        let mut program = stage.contended(jdk.release, &[])?;
        outcome.jvms += 1;
        let before = code(&program)?;
        for _ in 0..TRIALS_PER_JVM.min(trials - outcome.trials) {
            outcome.trials += 1;
            let mode = random.u32(..4);
            let tried = match mode {
                0 => copies(&stage, &program, &mut random, &mut outcome),
                _ => clients(&stage, &program, &mut random, &mut outcome, mode),
            };
            tried
                .and_then(|()| stage.survives(&mut program))
                .map_err(|problem| format!("JDK {}, trial {}, way {mode}: {problem}", jdk.release, outcome.trials))?;
        }
        stage.headway(["stop", "--detach", &program.pid()])?;
        check_same(&before, &code(&program)?)?;
    }
    Ok(outcome)
}

/// 2 to 6 command lines: `record` alone, with `start` and `stop`, or with `status`.
fn clients(
    stage: &Stage,
    program: &Guarded,
    random: &mut fastrand::Rng,
    outcome: &mut Outcome,
    mode: u32,
) -> Result<(), Problem> {
    let (pid, count) = (program.pid(), random.usize(2..7));
    let trial = outcome.trials;
    let all: Vec<Result<(String, Said), String>> = thread::scope(|scope| {
        let begun: Vec<_> = (0..count)
            .map(|i| {
                let pid = pid.as_str();
                let file = stage.name(&format!("{trial}-{i}.jfr"));
                let delay = random.u64(..30);
                scope.spawn(move || {
                    thread::sleep(std::time::Duration::from_millis(delay));
                    let arguments: Vec<&str> = match (mode, i % 2) {
                        (2, 1) => vec!["start", "-o", &file, pid],
                        (3, 1) => vec!["status", pid],
                        _ => vec!["record", "-d", "700ms", "-q", "-o", &file, pid],
                    };
                    let said = stage.headway(&arguments).map_err(|problem| problem.to_string())?;
                    Ok((arguments.join(" "), said))
                })
            })
            .collect();
        begun.into_iter().map(|client| client.join().unwrap_or_else(|_| Err("panicked".to_owned()))).collect()
    });
    // Whoever only began a recording leaves it on.
    stage.headway(["stop", &pid])?;
    let mut recorded = 0;
    for client in all {
        let (arguments, said) = client?;
        outcome.clients += 1;
        let is_told = said.code == Some(1) && said.sentence().contains("already recording");
        if (said.code != Some(0) && !is_told) || said.stderr.contains("degraded") {
            return Err(format!("headway {arguments}: {}", said.all()).into());
        }
        recorded += u32::from(said.code == Some(0));
    }
    outcome.recorded += recorded;
    match recorded {
        0 => Err("no command line recorded".into()),
        _ => Ok(()),
    }
}

/// Copies of the library, as files of their own, that the VM loads in turns.
fn copies(stage: &Stage, program: &Guarded, random: &mut fastrand::Rng, outcome: &mut Outcome) -> Result<(), Problem> {
    let trial = outcome.trials;
    // Opens the VM's socket.
    stage.headway(["status", &program.pid()])?;
    crate::tools::run(&stage.jdk(17)?.tool("jcmd"), [program.pid().as_str(), "VM.version"])?;
    let libraries: Vec<String> = (0..3).map(|i| stage.name(&format!("{trial}-copy-{i}.so"))).collect();
    for library in &libraries {
        fs::copy(&stage.tools.agent, library)?;
    }
    let file = stage.name(&format!("{trial}-copies.jfr"));
    let mut send = |command: &str| {
        let library = random.choice(&libraries).map_or("", String::as_str);
        load(program, library, command).map_err(|problem| format!("{command}: {problem}"))
    };
    send("status")?;
    send("status")?;
    for (command, code) in [(format!("start,file={file}"), 0), (format!("start,file={file}-2"), 1)] {
        let got = send(&command)?;
        if got != code {
            return Err(format!("{command} gave {got}, not {code}").into());
        }
    }
    thread::sleep(std::time::Duration::from_millis(1200));
    for (command, code) in [("stop", 0), ("stop", 1)] {
        let got = send(command)?;
        if got != code {
            return Err(format!("{command} gave {got}, not {code}").into());
        }
    }
    outcome.clients += 3;
    outcome.recorded += 1;
    let report = stage.report(&file)?;
    crate::faults::stage::shows_owners(&report).map(drop)
}

/// Has the VM load a library with these options, as `jcmd` would; what its
/// entry point returned.
fn load(program: &Guarded, library: &str, options: &str) -> Result<i32, Problem> {
    let mut socket = UnixStream::connect(format!("/tmp/.java_pid{}", program.pid()))?;
    for word in ["1", "load", library, "true", options] {
        socket.write_all(word.as_bytes())?;
        socket.write_all(b"\0")?;
    }
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    let code = answer.lines().find_map(|line| line.strip_prefix("return code: "));
    Ok(code.ok_or_else(|| format!("the VM answered {answer:?}"))?.trim().parse()?)
}

/// The read-only and executable parts of the VM's library in memory, by address.
pub type Code = BTreeMap<u64, Vec<u8>>;

/// Reads the parts of the VM's library that do not change while it runs: its
/// code, its constants and its resolved imports.
///
/// # Errors
/// The process is gone, or may not be read.
pub fn code(program: &Guarded) -> Result<Code, Problem> {
    let directory = format!("/proc/{}", program.pid());
    let memory = File::open(Path::new(&directory).join("mem"))?;
    let mut code = Code::new();
    for line in fs::read_to_string(Path::new(&directory).join("maps"))?.lines() {
        let mut words = line.split_whitespace();
        let (Some(range), Some(access)) = (words.next(), words.next()) else { continue };
        if !line.ends_with("/libjvm.so") || access.contains('w') {
            continue;
        }
        let (from, to) = range.split_once('-').ok_or("a line of maps without a range")?;
        let (from, to) = (u64::from_str_radix(from, 16)?, u64::from_str_radix(to, 16)?);
        let mut bytes = vec![0; (to - from) as usize];
        memory.read_exact_at(&mut bytes, from)?;
        code.insert(from, bytes);
    }
    Ok(code)
}

/// The VM's library is as it was.
///
/// # Errors
/// It is not; says where.
pub fn check_same(before: &Code, after: &Code) -> Result<(), Problem> {
    for (from, bytes) in before {
        let now = after.get(from).ok_or_else(|| format!("the mapping at {from:#x} is gone"))?;
        let changed: Vec<String> = (bytes.iter().zip(now).enumerate())
            .filter(|(_, (was, is))| was != is)
            .map(|(i, (was, is))| format!("{:#x}: {was:02x} -> {is:02x}", from + i as u64))
            .take(8)
            .collect();
        if !changed.is_empty() {
            return Err(format!("libjvm is not as before: {}", changed.join(", ")).into());
        }
    }
    Ok(())
}
