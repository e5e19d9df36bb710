//! The JVM whose recording is shown: the one that runs in it, or one that we begin.

use super::live::{Live, Open, Reading, REFRESH};
use crate::agent::options::AgentOptions;
use crate::attach::Session;
use crate::command::capture::DEFAULT_BUDGET;
use crate::command::record::warn_of_degraded;
use crate::error::Failure;
use crate::interrupt;
use crate::jvm::{target_file, Jvm};
use crate::recording::analysed::unreadable;
use crate::terminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// The recording that we begin, and the events in it: those of `record`.
const RECORDING: &str = "view.jfr";
const EVENTS: &str = "monitor+park+steal";
/// It is not for keeping: the page needs no more.
const RECORDING_BYTES: u64 = 256 << 20;
/// A recording that runs is written once a second; if it was not for so long, it is asked why.
const SILENT: Duration = Duration::from_secs(3);
/// How long a recording may take to be readable.
const READABLE_WITHIN: Duration = Duration::from_secs(20);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// See the module.
pub struct Watched {
    session: Session,
    pid: u32,
    /// The recording, where the JVM sees it.
    path: PathBuf,
    /// True if the recording is ours, to be ended by us.
    own_recording: bool,
    /// True if the agent was not there before.
    own_agent: bool,
    /// When the file was written last, and when that was found.
    written: (Option<SystemTime>, Instant),
}

impl Watched {
    /// Attaches, and begins a recording if none is running.
    ///
    /// # Errors
    /// Those of attaching and starting.
    pub fn open(jvm: &Jvm) -> Result<Watched, Failure> {
        let (pid, own_agent) = (jvm.process.pid, jvm.agent_path.is_none());
        let mut session = Session::open(jvm)?;
        let status = session.command(AgentOptions::new("status"))?;
        let own_recording = status.recording.is_none();
        let path = match status.recording.map_or_else(|| begin(&mut session), |path| Ok(PathBuf::from(path))) {
            Ok(path) => path,
            Err(failure) => {
                if own_agent {
                    // Why it was refused says more than how this fails.
                    let _ = session.detach_unused();
                }
                return Err(failure);
            }
        };
        let shown = match own_recording {
            true => format!(
                "Recording {pid} ({}) as long as this command runs; what it records is then removed. `headway start` \
                 begins a recording that is kept.",
                jvm.short_name()
            ),
            false => format!("Showing the recording that runs in {pid} ({}): {}.", jvm.short_name(), path.display()),
        };
        terminal::note(&shown);
        interrupt::finish();
        Ok(Watched { session, pid, path, own_recording, own_agent, written: (None, Instant::now()) })
    }

    /// Reads the recording for the first time.
    ///
    /// # Errors
    /// It cannot be read, or the JVM ends.
    pub fn read(&self, rows: usize, source_path: &[PathBuf]) -> Result<Live, Failure> {
        let began = Instant::now();
        loop {
            let reading = Reading { file: self.name(), rows, source_path: source_path.to_vec(), refresh: REFRESH };
            let problem = match Live::begin(self.opener(), reading) {
                Ok(live) => return Ok(live),
                Err(problem) => problem,
            };
            if !self.session.target_lives() {
                let when = "while `headway view` waited for its recording";
                return Err(Failure::TargetEnded { pid: self.pid, when, kept: String::new() });
            }
            if interrupt::came() || began.elapsed() > READABLE_WITHIN {
                return Err(unreadable(&self.path, problem));
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// Why nothing is recorded any more, if that is so.
    pub fn ended(&mut self, live: &Live) -> Option<String> {
        let pid = self.pid;
        if !self.session.target_lives() {
            return Some(format!("The JVM {pid} has ended."));
        }
        let written = live.written();
        if written.is_some() && written != self.written.0 {
            self.written = (written, Instant::now());
        }
        if self.written.1.elapsed() < SILENT {
            return None;
        }
        self.written.1 = Instant::now();
        // One that is stopped, or busy, does not answer and has not ended.
        let status = self.session.command(AgentOptions::new("status"));
        let is_over = status.is_ok_and(|status| status.recording.is_none_or(|path| Path::new(&path) != self.path));
        match is_over {
            true if self.session.target_ends_soon() => Some(format!("The JVM {pid} has ended.")),
            true => Some(format!("The recording in the JVM {pid} was stopped.")),
            false => None,
        }
    }

    /// Leaves the JVM as it was.
    ///
    /// # Errors
    /// It does not answer.
    pub fn close(mut self) -> Result<(), Failure> {
        if !self.own_recording || !self.session.target_lives() {
            return Ok(());
        }
        let left = self.session.leave(&self.path, self.own_agent);
        if left.is_err() && self.session.target_ends_soon() {
            return Ok(());
        }
        left
    }

    fn name(&self) -> String {
        match self.own_recording {
            true => format!("process {}", self.pid),
            false => self.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        }
    }

    fn opener(&self) -> Open {
        let (process, path) = (self.session.process().clone(), self.path.clone());
        Box::new(move || target_file::open(&process, &path))
    }
}

/// Begins a recording that ends when we do.
fn begin(session: &mut Session) -> Result<PathBuf, Failure> {
    let path = session.place().path_of(RECORDING);
    let start = session
        .start_ephemeral(&path)?
        .with("events", EVENTS)
        .with("max_size", &RECORDING_BYTES.to_string())
        .with("budget", &DEFAULT_BUDGET.to_string());
    warn_of_degraded(&session.command(start)?);
    Ok(path)
}
