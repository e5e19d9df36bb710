//! Other processes that are up to something: files that never end, names that a
//! terminal obeys, silence; and signals that end a command all the same.

use super::disks::ok;
use super::stage::{await_state, eventually, Said, Stage};
use super::targets::signal;
use super::Fault;
use crate::guarded::Guarded;
use crate::tools::wait_at_most;
use crate::Problem;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What `headway list --json` prints.
#[derive(serde::Deserialize)]
struct Listed {
    jvms: Vec<serde_json::Value>,
}

const NEIGHBOURS: &str = "Hostile neighbours";
const SIGNALS: &str = "Signals while a command works with another process";
const OUTPUTS: &str = "Outputs that are a source";

/// How much longer a look-up may take beside a trap than without it. Who falls into one reads
/// without an end, or until something else ends it.
const AT_ONCE: Duration = Duration::from_secs(5);
/// And how many times as long: the machine may be busier just then.
const TIMES: u32 = 5;
/// Address space that is enough for a look-up.
const ENOUGH_BYTES: u64 = 512 << 20;
/// Clears the screen, and forges a row.
const EVIL: &str = "e\u{1b}[2J\n1 root 17 yes - com.bank.Main\u{202e}";

/// See the module.
pub fn faults() -> Vec<Fault> {
    let mut faults = Vec::new();
    for (what, trap) in TRAPS {
        faults.push(beside_libjvm(what, trap));
    }
    faults.push(evil_jar());
    for name in ["INT", "TERM"] {
        faults.push(silent(name));
        faults.push(stopped_meanwhile(name));
    }
    faults.push(while_it_begins());
    faults.push(replaced_meanwhile());
    for arguments in ONTO_ITSELF {
        faults.push(onto_itself(arguments));
    }
    faults
}

/// Puts something in the place of a file.
type Trap = fn(&Path) -> Result<(), Problem>;

const TRAPS: [(&str, Trap); 4] = [
    ("a pipe that nobody writes to", |path| super::machines::run(Command::new("mkfifo").arg(path))),
    ("a link to /dev/zero", |path| Ok(symlink("/dev/zero", path)?)),
    ("a file of 1 TB", |path| Ok(File::create(path)?.set_len(1 << 40)?)),
    ("a directory", |path| Ok(fs::create_dir(path)?)),
];

/// A library called `libjvm.so`, which any process can have loaded.
fn pretended_libjvm(stage: &Stage) -> Result<PathBuf, Problem> {
    let maps = fs::read_to_string("/proc/self/maps")?;
    let path = maps.lines().filter_map(|line| line.find('/').and_then(|at| line.get(at..)));
    let library = path.into_iter().find(|path| path.contains("/libgcc_s.so")).ok_or("this program has no libgcc_s")?;
    let place = stage.path("jdk/lib/server");
    fs::create_dir_all(&place)?;
    fs::copy(library, place.join("libjvm.so"))?;
    Ok(place.join("libjvm.so"))
}

/// A process that looks like a JVM and handles SIGQUIT, but is none. A shell cannot handle a
/// signal that was ignored when it began, as it is in whatever a script starts in the background.
fn pretender(stage: &Stage) -> Result<Guarded, Problem> {
    let mut bash = Command::new("env");
    bash.args(["--default-signal=QUIT", "bash", "-c"]);
    bash.arg("trap : QUIT; exec 3<> <(:); echo READY; while :; do read -t 1 -u 3; done");
    bash.env("LD_PRELOAD", pretended_libjvm(stage)?).current_dir(stage.path("")).stdin(Stdio::null());
    stage.ready(&mut bash)
}

fn beside_libjvm(what: &'static str, trap: Trap) -> Fault {
    let what = format!("`headway list` beside a process whose libjvm.so has {what} called `release` beside it");
    Fault::new(NEIGHBOURS, what, "every JVM is listed at once, within 512 MB of address space", move |stage| {
        let fake = pretender(stage)?;
        let java = stage.contended(17, &[])?;
        let begun = Instant::now();
        stage.headway(["list", "--json"])?;
        let usual = begun.elapsed();
        trap(&stage.path("jdk/release"))?;
        let listing = stage.command(["list", "--json"]);
        let mut limited = Command::new("prlimit");
        limited.arg(format!("--as={ENOUGH_BYTES}")).arg(listing.get_program()).args(listing.get_args());
        limited.current_dir(stage.path("")).stdin(Stdio::null());
        let begun = Instant::now();
        let said = stage.finish(&mut limited)?;
        let took = begun.elapsed();
        if took > AT_ONCE + TIMES * usual {
            return Err(
                format!("it took {:.1} s, without the trap {:.1} s", took.as_secs_f64(), usual.as_secs_f64()).into()
            );
        }
        let listed: Listed = serde_json::from_str(&said.stdout).map_err(|_| said.all())?;
        let has =
            |program: &Guarded| listed.jvms.iter().any(|entry| entry["pid"].as_u64() == Some(program.id().into()));
        match has(&fake) && has(&java) {
            true => Ok("every JVM was listed at once".to_owned()),
            false => Err(said.all().into()),
        }
    })
}

fn evil_jar() -> Fault {
    let what = "a JVM whose jar's path has escape sequences, line feeds and bidirectional controls";
    let expected = "one row without control characters; JSON has the path as it is";
    Fault::new(NEIGHBOURS, what, expected, |stage| {
        fs::create_dir(stage.path(EVIL))?;
        let jar = stage.path(EVIL).join("a.jar");
        fs::copy(&stage.tools.workloads, &jar)?;
        let mut java = Command::new(stage.jdk(17)?.tool("java"));
        java.args(["-Xmx64m", "-jar"]).arg(&jar).arg("faults").current_dir(stage.path("")).stdin(Stdio::null());
        let program = stage.ready(&mut java)?;
        let (text, json) = (stage.headway(["list"])?, stage.headway(["list", "--json"])?);
        let forged = text.stdout.lines().any(|line| line.trim_start().starts_with("1 root 17"));
        let obeyed = |text: &str| text.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}');
        if forged || obeyed(&text.stdout) || obeyed(&json.stdout) {
            return Err(format!("{:?}\n{:?}", text.stdout, json.stdout).into());
        }
        let listed: Listed = serde_json::from_str(&json.stdout)?;
        let own = listed.jvms.iter().find(|entry| entry["pid"].as_u64() == Some(program.id().into()));
        match own.and_then(|entry| entry["main"].as_str()) {
            Some(main) if Path::new(main) == jar => Ok("one row; the path in JSON".to_owned()),
            other => Err(format!("{other:?} is not {}", jar.display()).into()),
        }
    })
}

/// Sends a signal to a command after a while and says how it ended. What it waits for does not
/// come before the test lets it, so that one which does not obey the signal does not end.
fn ends_by(
    stage: &Stage,
    arguments: &[&str],
    name: &str,
    after: impl FnOnce() -> Result<(), Problem>,
) -> Result<Said, Problem> {
    let (out, err) = (stage.path("ended-out"), stage.path("ended-err"));
    let mut command = stage.command(arguments);
    let mut client = Guarded(command.stdout(File::create(&out)?).stderr(File::create(&err)?).spawn()?);
    after()?;
    if let Some(status) = client.try_wait()? {
        return Err(format!("it ended before the signal, with {status}: {}", fs::read_to_string(&err)?).into());
    }
    signal(&client, name)?;
    let status = wait_at_most(&mut client, Duration::from_secs(60))?;
    Ok(Said { code: status.code(), stdout: fs::read_to_string(&out)?, stderr: fs::read_to_string(&err)? })
}

fn silent(name: &'static str) -> Fault {
    let what = format!("SIG{name} while `headway record` waits for a process that looks like a JVM and never answers");
    let expected = "it ends within 1 s, says so, and leaves nothing behind";
    Fault::new(SIGNALS, what, expected, move |stage| {
        let fake = pretender(stage)?;
        fs::write(stage.path("jdk/release"), "JAVA_VERSION=\"17.0.9\"\n")?;
        let ours = || -> Result<Vec<_>, Problem> {
            let names = fs::read_dir(stage.path(""))?.flatten().map(|entry| entry.file_name());
            Ok(names.filter(|name| name.to_string_lossy().starts_with('.')).collect())
        };
        let said = ends_by(stage, &["record", "-d", "60", &fake.pid()], name, || {
            eventually("it asks the process to answer", || Ok(!ours()?.is_empty()))?;
            thread::sleep(Duration::from_millis(500));
            Ok(())
        })?;
        let left = ours()?;
        match said.sentence().contains("interrupted before it was done") && left.is_empty() {
            true => Ok(format!("exit code {}: \"{}\"", said.code.unwrap_or_default(), said.sentence())),
            false => Err(format!("{}left behind: {left:?}", said.all()).into()),
        }
    })
}

/// A command that begins a recording is ended while it does: by two signals, of which the second allows no clean-up, by one
/// that does, and by one that no program sees.
fn while_it_begins() -> Fault {
    let what =
        "`headway record` (SIGINT twice, SIGKILL) and `headway start` (SIGINT) are ended 5 to 80 ms after they began";
    let expected = "no recording goes on of which nobody knows";
    Fault::new(SIGNALS, what, expected, |stage| {
        let mut program = stage.contended(17, &[])?;
        let ends: [(&str, &[&str]); 3] = [("record", &["INT", "INT"]), ("record", &["KILL"]), ("start", &["INT"])];
        for (at, delay) in [5, 10, 20, 40, 80].into_iter().enumerate() {
            for (command, signals) in ends {
                let file = stage.name(&format!("begins-{at}-{command}-{}.jfr", signals.len()));
                let time: &[&str] = if command == "record" { &["-q", "-d", "600"] } else { &["-q"] };
                let pid = program.pid();
                let arguments = [&[command], time, &["-o", &file, &pid]].concat();
                let mut client =
                    Guarded(stage.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
                thread::sleep(Duration::from_millis(delay));
                for name in signals {
                    // It may be over already.
                    let _ = signal(&client, name);
                }
                let status = wait_at_most(&mut client, Duration::from_secs(60))?;
                if status.success() {
                    // It had begun, and said so.
                    stage.headway(["stop", &program.pid()])?;
                }
                eventually(&format!("no recording goes on after {arguments:?} and {signals:?} at {delay} ms"), || {
                    Ok(!stage.headway(["status", &program.pid()])?.stdout.contains("Recording into"))
                })?;
            }
        }
        stage.survives(&mut program)?;
        Ok("no recording went on".to_owned())
    })
}

/// Commands end the recordings that they began, and no others.
fn replaced_meanwhile() -> Fault {
    let what = "`headway record` and `headway top` are interrupted (SIGINT) after another command ended their recording and began one";
    let expected = "the other recording goes on";
    Fault::new(SIGNALS, what, expected, |stage| {
        let mut program = stage.contended(17, &[])?;
        let pid = program.pid();
        let first = stage.name("first.jfr");
        let commands: [&[&str]; 2] = [&["record", "-q", "-d", "600", "-o", &first, &pid], &["top", "--json", &pid]];
        for (at, command) in commands.into_iter().enumerate() {
            let other = stage.name(&format!("other-{at}.jfr"));
            let records = |words: &str| {
                let status = stage.headway(["status", &pid])?.stdout;
                Ok::<_, Problem>(status.contains("Recording into") && status.contains(words))
            };
            ends_by(stage, command, "INT", || {
                eventually("it records", || records(""))?;
                ok(stage.headway(["stop", &pid])?)?;
                ok(stage.headway(["start", "-o", &other, &pid])?).map(drop)
            })?;
            if !records(&format!("other-{at}.jfr"))? {
                return Err(format!("{command:?}: {}", stage.headway(["status", &pid])?.all()).into());
            }
            ok(stage.headway(["stop", &pid])?)?;
        }
        stage.survives(&mut program)?;
        Ok("it went on".to_owned())
    })
}

fn stopped_meanwhile(name: &'static str) -> Fault {
    let what = format!("SIG{name} to `headway record` while its JVM is stopped (SIGSTOP)");
    let expected = "it ends within 1 s and says that the JVM is stopped; the JVM runs on afterwards";
    Fault::new(SIGNALS, what, expected, move |stage| {
        let mut program = stage.contended(17, &[])?;
        let file = stage.name("stopped.jfr");
        let said = ends_by(stage, &["record", "-q", "-d", "600", "-o", &file, &program.pid()], name, || {
            eventually("the recording begins", || Ok(fs::metadata(&file).is_ok_and(|file| file.len() > 20_000)))?;
            // The command has something to end once it knows that the recording began: the JVM answered it before.
            stage.await_contentions(&program.pid())?;
            thread::sleep(Duration::from_secs(1));
            signal(&program, "STOP")?;
            await_state(&program.pid(), 'T')
        });
        signal(&program, "CONT")?;
        let said = said?;
        thread::sleep(Duration::from_millis(500));
        stage.survives(&mut program)?;
        match said.sentence().contains("is stopped") {
            true => Ok(format!("exit code {}, one sentence with \"is stopped\"", said.code.unwrap_or_default())),
            false => Err(said.all().into()),
        }
    })
}

/// `x.jfr` is a recording; the others are further names of it.
const ONTO_ITSELF: [&[&str]; 5] = [
    &["export", "x.jfr", "-o", "hard.jfr"],
    &["export", "x.jfr", "-o", "soft.jfr"],
    &["flame", "x.html", "-o", "x.html"],
    &["report", "x.jfr", "-o", "x.html"],
    &["diff", "x.jfr", "hard.jfr", "-o", "x.html"],
];

fn onto_itself(arguments: &'static [&'static str]) -> Fault {
    let what = format!("`headway {}`, all names of one file", arguments.join(" "));
    Fault::new(OUTPUTS, what, "exit code 1, one sentence; the recording stays", move |stage| {
        let content = vec![7; 4096];
        fs::write(stage.path("x.jfr"), &content)?;
        fs::hard_link(stage.path("x.jfr"), stage.path("hard.jfr"))?;
        fs::hard_link(stage.path("x.jfr"), stage.path("x.html"))?;
        symlink("x.jfr", stage.path("soft.jfr"))?;
        let said = stage.headway(arguments)?;
        let names = ["x.jfr", "hard.jfr", "x.html", "soft.jfr"];
        if !names.iter().all(|name| fs::read(stage.path(name)).is_ok_and(|now| now == content)) {
            return Err("the recording changed".into());
        }
        super::stage::refused(stage, &said, 1, "it is the file to be read", &[])
    })
}
