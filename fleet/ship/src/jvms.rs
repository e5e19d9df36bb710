//! The JVMs of this machine, as the recorder sees them, and the `headway` command that
//! records them.

use crate::policy::Names;
use headway_model::printable;
use serde::Deserialize;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// A command that takes longer is ended: the JVM does not answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// What a command said is waited for so long after its end.
const LAST_WORDS: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(5);

/// A process: its number alone may come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// When it began, in ticks of the system.
    pub started: u64,
}

/// A running JVM.
#[derive(Clone, Debug)]
pub struct Jvm {
    /// The process.
    pub process: Process,
    /// Number of the user that it runs as.
    pub uid: u32,
    /// That user's name.
    pub user: String,
    /// Main class or jar; empty if unknown.
    pub main: String,
    /// How it calls itself.
    pub names: Names,
}

/// Whether a JVM writes a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It records into this file.
    Recording,
    /// The recording has ended, but its file is not finished.
    Writing,
    /// Neither.
    Other,
}

/// How JVMs are recorded.
#[derive(Clone, Debug)]
pub struct Options {
    /// `--events`.
    pub events: String,
    /// `--max-size`, in bytes.
    pub max_size: u64,
    /// `--budget`, as a fraction; `None` for that of `headway start`.
    pub budget: Option<f64>,
    /// `--exact`.
    pub exact: bool,
    /// `--redact`.
    pub redact: bool,
}

/// What can be done with JVMs. Failures are sentences.
pub trait Jvms {
    /// Those that Headway can attach to.
    ///
    /// # Errors
    /// They cannot be listed.
    fn list(&self) -> Result<Vec<Jvm>, String>;
    /// True as long as the process lives.
    fn is_alive(&self, process: Process) -> bool;
    /// What a JVM does with a file.
    ///
    /// # Errors
    /// It does not answer.
    fn state(&self, pid: u32, file: &Path) -> Result<State, String>;
    /// Begins to record into a new file.
    ///
    /// # Errors
    /// The JVM does not; or it does and its answer did not arrive.
    fn start(&self, pid: u32, file: &Path) -> Result<(), String>;
    /// Ends the recording; with `detach` nothing of Headway goes on in the JVM.
    ///
    /// # Errors
    /// As for [`Self::start`].
    fn stop(&self, pid: u32, detach: bool) -> Result<(), String>;
}

/// The JVMs that the `headway` command finds.
#[derive(Debug)]
pub struct Headway {
    /// The command.
    pub program: PathBuf,
    /// How JVMs are recorded.
    pub options: Options,
}

/// `headway list --json`.
#[derive(Deserialize)]
struct List {
    jvms: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    pid: u32,
    user: String,
    main: String,
    attachable: bool,
}

/// `headway status --json`.
#[derive(Deserialize)]
struct Status {
    recording: Option<String>,
    still_writing: Option<String>,
}

impl Jvms for Headway {
    fn list(&self) -> Result<Vec<Jvm>, String> {
        let List { jvms } = self.json(&["list", "--json"])?;
        let jvm = |entry: Entry| {
            let process = Process { pid: entry.pid, started: started(entry.pid)? };
            let uid = user_of(&std::fs::read_to_string(format!("/proc/{}/status", entry.pid)).ok()?)?;
            let environment = std::fs::read(format!("/proc/{}/environ", entry.pid)).unwrap_or_default();
            let names = Names::of_environment(&environment);
            Some(Jvm { process, uid, user: entry.user, main: entry.main, names })
        };
        Ok(jvms.into_iter().filter(|entry| entry.attachable).filter_map(jvm).collect())
    }

    fn is_alive(&self, process: Process) -> bool {
        started(process.pid) == Some(process.started)
    }

    fn state(&self, pid: u32, file: &Path) -> Result<State, String> {
        // It also says what goes on where it ends with 1, as something could not be taken out of the JVM.
        let (answer, ended) = self.ask(&["status", "--json", &pid.to_string()], PATIENCE);
        let status: Status = match (serde_json::from_slice(&answer), ended) {
            (Ok(status), _) => status,
            (Err(_), Err(why)) => return Err(why),
            (Err(error), Ok(())) => return Err(unknown_answer("status", &error)),
        };
        // The name is nobody else's; how the JVM calls its folder is its business.
        let is_ours =
            |path: &Option<String>| path.as_deref().and_then(|path| Path::new(path).file_name()) == file.file_name();
        match (is_ours(&status.recording), is_ours(&status.still_writing)) {
            (true, _) => Ok(State::Recording),
            (_, true) => Ok(State::Writing),
            _ => Ok(State::Other),
        }
    }

    fn start(&self, pid: u32, file: &Path) -> Result<(), String> {
        if let Some(folder) = file.parent().filter(|folder| is_hidden(&format!("/proc/{pid}/root"), folder)) {
            return Err(format!(
                "process {pid} does not see {} (it runs in a container, for example): make the queue's folder visible \
                 there under the same name, or run headway ship where it runs",
                folder.display()
            ));
        }
        let file = file.to_str().ok_or("the queue's name is not UTF-8")?.replace('%', "%%");
        let (pid, size) = (pid.to_string(), self.options.max_size.to_string());
        let budget = self.options.budget.map(|fraction| (fraction * 100.0).to_string());
        let mut words = vec!["start", "--events", &self.options.events, "--max-size", &size, "--output", &file];
        words.extend(budget.iter().flat_map(|percent| ["--budget", percent]));
        words.extend(self.options.exact.then_some("--exact"));
        words.extend(self.options.redact.then_some("--redact"));
        words.push(&pid);
        self.run(&words).map(drop)
    }

    fn stop(&self, pid: u32, detach: bool) -> Result<(), String> {
        let pid = pid.to_string();
        let mut words = vec!["stop", &pid];
        words.extend(detach.then_some("--detach"));
        self.run(&words).map(drop)
    }
}

impl Headway {
    fn json<T: for<'a> Deserialize<'a>>(&self, words: &[&str]) -> Result<T, String> {
        let answer = self.run(words)?;
        serde_json::from_slice(&answer).map_err(|error| unknown_answer(words[0], &error))
    }

    /// Runs the command; returns what it printed.
    fn run(&self, words: &[&str]) -> Result<Vec<u8>, String> {
        self.run_for(words, PATIENCE)
    }

    fn run_for(&self, words: &[&str], patience: Duration) -> Result<Vec<u8>, String> {
        let (answer, ended) = self.ask(words, patience);
        ended.map(|()| answer)
    }

    /// What the command printed, and whether it ended well.
    fn ask(&self, words: &[&str], patience: Duration) -> (Vec<u8>, Result<(), String>) {
        let mut command = Command::new(&self.program);
        command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // What ends this process must not end a command in the middle of its work with a JVM.
        command.process_group(0);
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => return (Vec::new(), Err(format!("cannot run {}: {error}", self.program.display()))),
        };
        let (stdout, stderr) = (reader(child.stdout.take()), reader(child.stderr.take()));
        let deadline = Instant::now() + patience;
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if Instant::now() < deadline => thread::sleep(TICK),
                Ok(None) | Err(_) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break None;
                }
            }
        };
        // What it began may have its pipes for longer than it lives.
        let rest = || deadline.saturating_duration_since(Instant::now()).max(LAST_WORDS);
        let stdout = stdout.recv_timeout(rest()).unwrap_or_default();
        let stderr = stderr.recv_timeout(rest()).unwrap_or_default();
        let failed = |why: String| Err(format!("`headway {}` failed: {}", words.join(" "), printable(&why)));
        let ended = match status {
            Some(status) if status.success() => Ok(()),
            Some(status) => {
                let said = String::from_utf8_lossy(&stderr);
                let line = said.lines().last().map(|line| line.trim_start_matches("headway: ").to_owned());
                failed(line.unwrap_or_else(|| status.to_string()))
            }
            None => failed(format!("it did not end within {} s", patience.as_secs())),
        };
        (stdout, ended)
    }
}

fn unknown_answer(word: &str, error: &serde_json::Error) -> String {
    format!("`headway {word}` answers in a way that is not known: {error}")
}

/// The user as whom a process acts, from its `status`: that of its folder in /proc is root's, where its program has
/// capabilities.
fn user_of(status: &str) -> Option<u32> {
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_whitespace().nth(1)?.parse().ok()
}

/// True if a folder of ours is another one, or none, below a process's root. Where that cannot be seen the process
/// has to say so.
fn is_hidden(root: &str, folder: &Path) -> bool {
    let identity = |path: &Path| std::fs::metadata(path).map(|about| (about.dev(), about.ino()));
    let inside = Path::new(root).join(folder.strip_prefix("/").unwrap_or(folder));
    match (identity(folder), identity(&inside)) {
        (Ok(ours), Ok(theirs)) => ours != theirs,
        (Ok(_), Err(error)) => error.kind() == std::io::ErrorKind::NotFound && Path::new(root).join(".").exists(),
        (Err(_), _) => false,
    }
}

/// What comes out of a pipe until its end.
fn reader(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = sender.send(bytes);
    });
    receiver
}

/// When a process began, in ticks; `None` if there is none, or it has ended and nobody asked how.
fn started(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in brackets, may contain anything.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    let state = fields.next()?;
    // The 22nd field of the line.
    fields.nth(18)?.parse().ok().filter(|_| !matches!(state, "Z" | "X"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn headway(folder: &Path, script: &str) -> Headway {
        let program = folder.join("headway");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("a script");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("may be executed");
        let options = Options { events: "lock".into(), max_size: 7, budget: Some(0.005), exact: true, redact: true };
        Headway { program, options }
    }

    #[test]
    fn what_the_command_answers_is_understood() {
        let folder = tempfile::tempdir().expect("a folder");
        let own = std::process::id();
        let list = format!(
            r#"echo '{{"schema_version":1,"jvms":[{{"pid":{own},"user":"u","main":"M","attachable":true}},
            {{"pid":{own},"user":"u","main":"N","attachable":false}},
            {{"pid":4294967295,"user":"u","main":"gone","attachable":true}}]}}'"#
        );
        let jvms = headway(folder.path(), &list).list().expect("a list");
        assert_eq!(jvms.iter().map(|jvm| jvm.main.as_str()).collect::<Vec<_>>(), ["M"]);
        let process = jvms[0].process;
        let file = Path::new("/q/7-1.jfr");
        for (answer, state) in [
            (r#"{"recording":"/elsewhere/7-1.jfr"}"#, State::Recording),
            (r#"{"recording":"/q/other.jfr"}"#, State::Other),
            (r#"{"still_writing":"/q/7-1.jfr"}"#, State::Writing),
            (r#"{"loaded":false}"#, State::Other),
        ] {
            // With 1 it ends where something could not be taken out of the JVM.
            for code in [0, 1] {
                let headway = headway(folder.path(), &format!("echo '{answer}'; exit {code}"));
                assert_eq!(headway.state(7, file), Ok(state), "{answer}");
            }
            let headway = headway(folder.path(), "");
            assert!(
                headway.is_alive(process) && !headway.is_alive(Process { started: process.started + 1, ..process })
            );
        }
    }

    #[test]
    fn a_folder_that_a_process_does_not_see_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().canonicalize().expect("a path");
        let at = |root: &str| path.join(root).to_str().expect("UTF-8").to_owned();
        let below = |root: &str| path.join(root).join(path.strip_prefix("/").expect("absolute"));
        std::fs::create_dir_all(path.join("empty")).expect("made");
        std::fs::create_dir_all(below("other")).expect("made");
        std::fs::create_dir_all(below("same").parent().expect("a parent")).expect("made");
        std::os::unix::fs::symlink(&path, below("same")).expect("linked");
        let hidden = ["empty", "other", "same", "gone"].map(|root| is_hidden(&at(root), &path));
        assert_eq!(hidden, [true, true, false, false]);
        assert!(!is_hidden("/proc/self/root", &path));
    }

    #[test]
    fn a_command_that_does_not_end_is_ended_and_what_has_its_pipes_is_not_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let silent = headway(folder.path(), "sleep 60 & wait");
        let began = Instant::now();
        let said = silent.run_for(&["list"], Duration::from_millis(50)).expect_err("no answer");
        assert!(said.starts_with("`headway list` failed: it did not end within"), "{said}");
        assert!(began.elapsed() < Duration::from_secs(50), "its pipes were waited for");
    }

    #[test]
    fn a_process_acts_as_its_effective_user() {
        assert_eq!(user_of("Name:\tjava\nUid:\t1000\t1001\t1001\t1001\nGid:\t1\t1\t1\t1\n"), Some(1001));
        assert_eq!(user_of("Name:\tUid: 3\n"), None);
    }

    #[test]
    fn what_the_command_refuses_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let refusing = headway(folder.path(), "echo \"headway: no: $*\" >&2; exit 3");
        let said = refusing.start(7, Path::new("/q/50%/a.jfr")).expect_err("refused");
        let words = "start --events lock --max-size 7 --output /q/50%%/a.jfr --budget 0.5 --exact --redact 7";
        assert_eq!(said, format!("`headway {words}` failed: no: {words}"));
        assert_eq!(
            refusing.stop(7, true).expect_err("refused"),
            "`headway stop 7 --detach` failed: no: stop 7 --detach"
        );
        let said = headway(folder.path(), "echo nonsense").state(7, Path::new("a")).expect_err("nonsense");
        assert!(said.starts_with("`headway status` answers in a way that is not known"), "{said}");
        let missing = Headway { program: "/nowhere/headway".into(), ..refusing };
        assert!(missing.list().expect_err("missing").starts_with("cannot run /nowhere/headway: "));
    }
}
