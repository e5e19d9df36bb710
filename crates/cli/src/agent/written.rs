//! The end of a recording's file, where the agent could not write it in the time that `stop` may
//! take: on a machine that is busy with other things, or with very many threads.

use crate::agent::options::AgentOptions;
use crate::agent::reply::Reply;
use crate::attach::Session;
use crate::error::{Failure, USAGE};
use crate::jvm::process::Process;
use crate::terminal;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The end of a file that was not written in the time that `stop` may take is awaited so long.
const WRITTEN_WITHIN: Duration = Duration::from_secs(60);
/// Who has not run so long, nor waited for a CPU, does not write: its disk does not answer.
const STUCK_AFTER: Duration = Duration::from_millis(300);
/// So much of that time is work.
const WORK: Duration = Duration::from_millis(3);
/// Time between two looks.
const TICK: Duration = Duration::from_millis(50);
/// The name of the agent's thread that writes the file.
const WRITER: &str = "headway-drain";

/// The thread that writes the end of a recording.
#[derive(Debug)]
pub struct Writer {
    directory: Option<PathBuf>,
    worked: Duration,
    last_at_work: Instant,
}

impl Writer {
    /// The one in this process.
    pub fn of(process: &Process) -> Writer {
        let tasks = fs::read_dir(process.directory().join("task")).into_iter().flatten().flatten();
        let writes = |task: &PathBuf| fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim_end() == WRITER);
        let directory = tasks.map(|task| task.path()).find(writes);
        Writer { directory, worked: Duration::ZERO, last_at_work: Instant::now() }
    }

    /// True if it worked not long ago, or waits for a CPU. Now and then to look whether the disk answers is no work.
    pub fn gets_on(&mut self) -> bool {
        if self.directory.as_ref().is_some_and(|directory| !directory.exists()) {
            return true; // it is done, as the agent will say
        }
        let read = |name| fs::read_to_string(self.directory.as_ref()?.join(name)).ok();
        let is_runnable = read("stat").is_some_and(|stat| stat.contains(") R "));
        let worked = read("schedstat").map_or(Duration::ZERO, |text| on_or_without_cpu(&text));
        if is_runnable || worked >= self.worked + WORK {
            self.worked = worked;
            self.last_at_work = Instant::now();
        }
        self.last_at_work.elapsed() < STUCK_AFTER
    }
}

/// Time on a CPU and time waiting for one, of `/proc/PID/task/TID/schedstat`.
fn on_or_without_cpu(schedstat: &str) -> Duration {
    let numbers = schedstat.split_whitespace().take(2).filter_map(|number| number.parse().ok());
    Duration::from_nanos(numbers.fold(0, u64::saturating_add))
}

/// Waits until the file is finished; the answer is what `stop` would have said then.
///
/// # Errors
/// `failure` if that takes too long, the process ends, or `goes_on` says no; those of commands.
pub fn when_written(
    session: &mut Session,
    failure: Failure,
    mut goes_on: impl FnMut() -> bool,
) -> Result<Reply, Failure> {
    terminal::note("The end of the recording is still being written; waiting for it.");
    let begin = Instant::now();
    while begin.elapsed() < WRITTEN_WITHIN && goes_on() && session.target_lives() {
        let status = session.command(AgentOptions::new("status"))?;
        if status.still_writing.is_none() {
            return last_answer(session, failure);
        }
        std::thread::sleep(TICK);
    }
    Err(failure)
}

/// What the agent says of the recording now that its file is finished.
fn last_answer(session: &mut Session, failure: Failure) -> Result<Reply, Failure> {
    let last = session.command(AgentOptions::new("stop").with_flag("last", true));
    match (last, &failure) {
        (Ok(last), Failure::StillWriting { reply, .. }) if last.duration_ns != reply.duration_ns => {
            as_of_then(failure) // of another recording, or of none
        }
        (Err(refused), _) if is_unknown_option(&refused) => as_of_then(failure),
        // The end of the file could not be written, for example.
        (answered, _) => answered,
    }
}

/// True if an agent of an earlier version does not know what it was asked.
pub fn is_unknown_option(failure: &Failure) -> bool {
    matches!(failure, Failure::LoadRefused { .. } | Failure::Agent { exit_code: USAGE, .. })
}

/// What was known when the recording ended: an agent of an earlier version does not know more, and one that records
/// again has forgotten it.
fn as_of_then(failure: Failure) -> Result<Reply, Failure> {
    match failure {
        Failure::StillWriting { reply, .. } => {
            Ok(Reply { ok: true, exit_code: 0, still_writing: None, recording_bytes: None, ..*reply })
        }
        failure => Err(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn an_earlier_agent_answers_as_of_the_end() {
        let text = r#"{"ok":false,"error":"writing goes on","exit_code":1,"still_writing":"/tmp/a.jfr",
            "recording":"/tmp/a.jfr","recording_bytes":7,"events":{"monitor_enter":3}}"#;
        let failure = crate::agent::reply::parse(7, text).expect_err("it is not written");
        let reply = as_of_then(failure).expect("what it knew");
        assert_eq!((reply.ok, reply.exit_code, reply.error, reply.still_writing), (true, 0, None, None));
        assert_eq!((reply.recording.as_deref(), reply.recording_bytes), (Some("/tmp/a.jfr"), None));
        assert_eq!(reply.events.get("monitor_enter"), Some(&3));
    }

    #[test]
    fn waiting_for_a_cpu_counts() {
        assert_eq!(on_or_without_cpu("1500 500 7\n"), Duration::from_nanos(2000));
        assert_eq!((on_or_without_cpu(""), on_or_without_cpu("x 5")), (Duration::ZERO, Duration::from_nanos(5)));
    }

    #[test]
    fn a_writer_that_waits_for_its_disk_does_not_get_on() {
        let (answer, answered) = mpsc::channel::<()>();
        let (begun, begins) = mpsc::channel();
        let write = move || {
            begun.send(()).expect("somebody waits");
            let _ = answered.recv();
        };
        let thread = thread::Builder::new().name(WRITER.to_owned()).spawn(write).expect("a thread");
        begins.recv().expect("it begins");
        let mut writer = Writer::of(&Process::read(std::process::id()).expect("this process"));
        assert!(writer.gets_on(), "it may just wait");
        thread::sleep(STUCK_AFTER);
        assert!(writer.directory.is_some() && !writer.gets_on());
        drop(answer);
        thread.join().expect("it ends");
        // The kernel forgets a thread a moment after it was joined.
        let forgotten = (0..1_000).any(|_| {
            thread::sleep(Duration::from_millis(1));
            !writer.directory.as_ref().is_some_and(|directory| directory.exists())
        });
        assert!(forgotten && writer.gets_on(), "it is done");
    }
}
