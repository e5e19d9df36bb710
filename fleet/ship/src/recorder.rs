//! Keeps JVMs recorded and turns what was recorded into rows.
//!
//! A recording of a JVM is a chain of segments: one is ended, the next begun, then the first
//! is read. Between them the JVM is not recorded for some milliseconds, which are counted
//! ([`crate::Losses::uncovered_ns`]). No JVM has more than two files: where rows
//! cannot be queued, its second recording goes on and removes its oldest part.

use crate::backoff::Backoff;
use crate::counters::Counters;
use crate::jvms::{Jvm, Jvms, Process, State, PATIENCE};
use crate::policy::{Given, Policy};
use crate::queue::{Queue, QueueError};
use crate::segment::Segment;
use headway_model::printable;
use headway_rollup::{Rolled, Rollup};
use headway_store::StoreError;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{chown, DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::runtime::Handle;

/// Until a JVM that could not be recorded is tried again.
const FIRST_RETRY: Duration = Duration::from_secs(10);
const LONGEST_RETRY: Duration = Duration::from_secs(600);
/// Recordings of a JVM on disk, where rows cannot be queued.
const MOST_FILES: usize = 2;

/// What is recorded, and for how long.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which JVMs.
    pub policy: Policy,
    /// What they are called.
    pub given: Given,
    /// How long a segment is.
    pub segment: Duration,
}

/// How far a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Another process began it, or the JVM did not answer.
    Unknown,
    /// It goes on, until then.
    Recording(Instant),
    /// It has ended; its rows are not in the queue yet.
    Finished,
}

#[derive(Debug)]
struct Held {
    segment: Segment,
    stage: Stage,
}

/// What is tried again later.
#[derive(Debug)]
struct Retry {
    backoff: Backoff,
    at: Instant,
}

impl Retry {
    fn new(now: Instant) -> Retry {
        Retry { backoff: Backoff::new(FIRST_RETRY, LONGEST_RETRY), at: now }
    }

    fn failed(mut self, now: Instant) -> Retry {
        self.at = now + self.backoff.failed();
        self
    }
}

/// See the module.
#[derive(Debug)]
pub struct Recorder<J> {
    jvms: J,
    queue: Arc<Queue>,
    runtime: Handle,
    counters: Arc<Counters>,
    plan: Plan,
    notes: PathBuf,
    held: Vec<Held>,
    retries: HashMap<Process, Retry>,
    /// Until rows are queued again, where that failed: reading recordings takes time.
    queue_retry: Option<Retry>,
    /// Where the last segment of a process ended that was read.
    covered_until: HashMap<Process, u64>,
    /// What was said in the last round: it is not said again in this one.
    said: HashSet<String>,
    saying: HashSet<String>,
}

impl<J: Jvms> Recorder<J> {
    /// A recorder that knows what an earlier one left behind.
    ///
    /// # Errors
    /// The queue's folder cannot be used.
    pub fn new(
        jvms: J,
        queue: Arc<Queue>,
        runtime: Handle,
        counters: Arc<Counters>,
        plan: Plan,
    ) -> Result<Recorder<J>, QueueError> {
        let notes = queue.folder().join("segments");
        let doing = |error| QueueError::Disk(format!("use the queue {}", notes.display()), error);
        DirBuilder::new().recursive(true).mode(0o700).create(&notes).map_err(doing)?;
        DirBuilder::new().recursive(true).mode(0o711).create(queue.folder().join("recordings")).map_err(doing)?;
        let (segments, damaged) = Segment::read_all(&notes).map_err(doing)?;
        for note in damaged {
            queue.lose(|losses| losses.unreadable_recordings += 1)?;
            eprintln!("headway-fleet: {} is damaged: whose recording it was is not known any more", note.display());
            std::fs::remove_file(&note).map_err(doing)?;
        }
        let held = segments.into_iter().map(|segment| Held { segment, stage: Stage::Unknown }).collect();
        Ok(Recorder {
            jvms,
            queue,
            runtime,
            counters,
            plan,
            notes,
            held,
            retries: HashMap::new(),
            queue_retry: None,
            covered_until: HashMap::new(),
            said: HashSet::new(),
            saying: HashSet::new(),
        })
    }

    /// Looks at everything once. True if rows came into the queue.
    pub fn round(&mut self, now: Instant) -> bool {
        self.find_out(now);
        match self.jvms.list() {
            Ok(listed) => {
                self.renew(&listed, now);
                self.begin_new(listed, now);
            }
            Err(why) => self.failed(why),
        }
        let rolled = self.roll_up(now);
        self.said = std::mem::take(&mut self.saying);
        self.count();
        rolled
    }

    /// Ends all recordings and queues their rows. What a JVM does not answer to stays for the next time.
    pub fn end(&mut self) {
        self.find_out(Instant::now());
        for at in 0..self.held.len() {
            let segment = self.held[at].segment.clone();
            if self.held[at].stage == Stage::Finished {
                continue;
            }
            match self.stop(&segment, true) {
                Ok(true) => self.held[at].stage = Stage::Finished,
                Ok(false) => {}
                Err(why) => self.say(why),
            }
        }
        self.queue_retry = None;
        self.roll_up(Instant::now());
        self.count();
    }

    /// Which segments have ended, and which of an earlier process go on.
    fn find_out(&mut self, now: Instant) {
        for at in 0..self.held.len() {
            let segment = self.held[at].segment.clone();
            let stage = match self.held[at].stage {
                Stage::Finished => continue,
                _ if !self.jvms.is_alive(segment.process()) => Stage::Finished,
                Stage::Recording(_) => continue,
                Stage::Unknown if self.is_too_early(segment.process(), now) => continue,
                Stage::Unknown => match self.jvms.state(segment.pid, &segment.recording) {
                    Ok(State::Recording) => {
                        self.retries.remove(&segment.process());
                        let age = Duration::from_nanos(wall_ns().saturating_sub(segment.begun_ns));
                        Stage::Recording(now + self.plan.segment.saturating_sub(age))
                    }
                    Ok(State::Writing) => Stage::Unknown,
                    Ok(State::Other) if may_still_begin(&segment) => Stage::Unknown,
                    Ok(State::Other) => Stage::Finished,
                    Err(why) => {
                        self.failed(why);
                        self.try_later(segment.process(), now);
                        Stage::Unknown
                    }
                },
            };
            self.held[at].stage = stage;
        }
    }

    /// Ends segments whose time is over, and begins those that follow.
    fn renew(&mut self, listed: &[Jvm], now: Instant) {
        for at in 0..self.held.len() {
            let segment = self.held[at].segment.clone();
            let process = segment.process();
            let due = matches!(self.held[at].stage, Stage::Recording(until) if until <= now);
            // Rows of the one before could not be queued: this one goes on, and removes its oldest part.
            if !due || self.finished(process) + 1 >= MOST_FILES || self.is_too_early(process, now) {
                continue;
            }
            let from_ns = wall_ns();
            match self.stop(&segment, false) {
                Ok(true) => self.held[at].stage = Stage::Finished,
                Ok(false) => continue,
                Err(why) => {
                    self.failed(why);
                    self.try_later(process, now);
                    continue;
                }
            }
            // Another process may have begun it, which selected other JVMs.
            let jvm = listed.iter().find(|jvm| jvm.process == process);
            if let Some(jvm) = jvm.filter(|jvm| self.plan.policy.admits(jvm)) {
                self.begin(jvm, Some(from_ns), now);
            }
        }
    }

    /// Begins to record JVMs that the policy selects.
    fn begin_new(&mut self, listed: Vec<Jvm>, now: Instant) {
        let alive: HashSet<Process> = listed.iter().map(|jvm| jvm.process).collect();
        self.retries.retain(|process, _| alive.contains(process));
        self.covered_until.retain(|process, _| alive.contains(process));
        let mut held: BTreeSet<Process> = self.held.iter().map(|held| held.segment.process()).collect();
        let mut selected: Vec<Jvm> = listed.into_iter().filter(|jvm| self.plan.policy.admits(jvm)).collect();
        // Those that run longest first, so that the choice does not depend on when they were seen.
        selected.sort_by_key(|jvm| (jvm.process.started, jvm.process.pid));
        let mut left_out = 0;
        for jvm in &selected {
            if self.is_recorded(jvm.process) {
                continue;
            }
            let is_new = !held.contains(&jvm.process);
            if is_new && held.len() >= self.plan.policy.most {
                left_out += 1;
            } else if self.finished(jvm.process) >= MOST_FILES {
                // Its rows could not be queued.
                continue;
            } else if !self.is_too_early(jvm.process, now) {
                let from_ns = self.covered_until.get(&jvm.process).copied();
                if self.begin(jvm, from_ns, now) {
                    held.insert(jvm.process);
                }
            }
        }
        self.counters.left_out.set(left_out);
    }

    /// True if a process failed to answer a short time ago: asking it takes long.
    fn is_too_early(&self, process: Process, now: Instant) -> bool {
        self.retries.get(&process).is_some_and(|retry| retry.at > now)
    }

    fn try_later(&mut self, process: Process, now: Instant) {
        let retry = self.retries.remove(&process).unwrap_or_else(|| Retry::new(now));
        self.retries.insert(process, retry.failed(now));
    }

    /// Recordings of a process whose rows are not in the queue yet.
    fn finished(&self, process: Process) -> usize {
        let of_process = self.held.iter().filter(|held| held.segment.process() == process);
        of_process.filter(|held| held.stage == Stage::Finished).count()
    }

    fn is_recorded(&self, process: Process) -> bool {
        self.held.iter().any(|held| held.segment.process() == process && held.stage != Stage::Finished)
    }

    /// Begins a segment. False if there is none now.
    fn begin(&mut self, jvm: &Jvm, from_ns: Option<u64>, now: Instant) -> bool {
        match self.try_begin(jvm, from_ns, now) {
            Ok(stage) => {
                self.retries.remove(&jvm.process);
                stage != Stage::Finished
            }
            Err(why) => {
                self.failed(why);
                self.try_later(jvm.process, now);
                false
            }
        }
    }

    fn try_begin(&mut self, jvm: &Jvm, from_ns: Option<u64>, now: Instant) -> Result<Stage, String> {
        let folder = folder_of(self.queue.folder(), jvm.uid)
            .map_err(|error| format!("cannot make a folder for recordings of user {}: {error}", jvm.uid))?;
        let source = self.plan.given.source(jvm);
        let segment = Segment::new(jvm.process, source, &folder, wall_ns(), from_ns);
        // Before the recording begins: whoever comes after a kill knows of it.
        segment.write(&self.notes).map_err(|error| format!("cannot write to the queue: {error}"))?;
        let stage = match self.jvms.start(segment.pid, &segment.recording) {
            Ok(()) => Stage::Recording(now + self.plan.segment),
            // It may have begun, and only the answer did not come.
            Err(why) => match self.jvms.state(segment.pid, &segment.recording) {
                Ok(State::Recording) => Stage::Recording(now + self.plan.segment),
                Ok(State::Other) => {
                    let _ = segment.remove(&self.notes);
                    return Err(why);
                }
                Ok(State::Writing) | Err(_) if self.jvms.is_alive(jvm.process) => Stage::Unknown,
                Ok(State::Writing) | Err(_) => Stage::Finished,
            },
        };
        self.counters.begun.add(1);
        self.held.push(Held { segment, stage });
        Ok(stage)
    }

    /// Ends a segment's recording, if it is this one that goes on. False if the file is not finished yet.
    fn stop(&mut self, segment: &Segment, detach: bool) -> Result<bool, String> {
        match self.jvms.state(segment.pid, &segment.recording) {
            Ok(State::Recording) => {}
            Ok(State::Other) => return Ok(!may_still_begin(segment)),
            Ok(State::Writing) => return Ok(false),
            Err(_) if !self.jvms.is_alive(segment.process()) => return Ok(true),
            Err(why) => return Err(why),
        }
        match self.jvms.stop(segment.pid, detach) {
            Ok(()) => Ok(true),
            // It may have ended all the same.
            Err(why) => match self.jvms.state(segment.pid, &segment.recording) {
                Ok(State::Other) => Ok(true),
                _ if !self.jvms.is_alive(segment.process()) => Ok(true),
                _ => Err(why),
            },
        }
    }

    /// Queues the rows of segments that have ended. True if there were any.
    fn roll_up(&mut self, now: Instant) -> bool {
        if self.queue_retry.as_ref().is_some_and(|retry| retry.at > now) {
            return false;
        }
        let (mut rolled, mut failed) = (false, false);
        let (finished, held) =
            std::mem::take(&mut self.held).into_iter().partition(|held| held.stage == Stage::Finished);
        self.held = held;
        for held in finished {
            match self.roll_up_one(&held.segment) {
                Ok(()) => rolled = true,
                Err(why) => {
                    self.say(why);
                    self.held.insert(0, held);
                    failed = true;
                }
            }
        }
        self.queue_retry = match self.queue_retry.take() {
            _ if !failed => None,
            retry => Some(retry.unwrap_or_else(|| Retry::new(now)).failed(now)),
        };
        self.held.sort_by_key(|held| held.segment.begun_ns);
        rolled
    }

    fn roll_up_one(&mut self, segment: &Segment) -> Result<(), String> {
        match read(segment) {
            Read::Nothing => {}
            Read::Rows(rolled) => match self.runtime.block_on(self.queue.put(&rolled)) {
                Ok(()) => self.account(segment, &rolled)?,
                // However often it is tried.
                Err(why @ (StoreError::Conflict(_) | StoreError::Retired(_))) => {
                    self.queue.lose(|losses| losses.refused_batches += 1).map_err(|error| error.to_string())?;
                    self.say(format!("rows of process {} are left out: {why}", segment.pid));
                }
                Err(error) => return Err(format!("cannot queue rows: {error}")),
            },
            Read::Later(why) => return Err(format!("cannot read {}: {why}", segment.recording.display())),
            Read::Unreadable(why) => {
                self.queue.lose(|losses| losses.unreadable_recordings += 1).map_err(|error| error.to_string())?;
                self.say(format!("the recording of process {} is left out: {why}", segment.pid));
            }
        }
        // Its rows are in the queue: what comes after a kill between these two finds them there.
        segment.remove(&self.notes).map_err(|error| format!("cannot remove {}: {error}", segment.recording.display()))
    }

    fn account(&mut self, segment: &Segment, rolled: &Rolled) -> Result<(), String> {
        let process = segment.process();
        let from = self.covered_until.insert(process, rolled.jvm.end_ns).or(segment.from_ns);
        let uncovered = from.map_or(0, |from| rolled.jvm.start_ns.saturating_sub(from));
        if uncovered > 0 {
            self.queue.lose(|losses| losses.uncovered_ns += uncovered).map_err(|error| error.to_string())?;
        }
        self.counters.rolled_up.add(1);
        self.counters.dropped_events.add(rolled.load.iter().map(|row| row.dropped).sum());
        if let Some(problem) = rolled.problems.first() {
            self.counters.damaged.add(1);
            self.say(format!("the recording of process {} is damaged and read in part: {problem}", segment.pid));
        }
        Ok(())
    }

    fn count(&self) {
        let recorded = self.held.iter().filter(|held| held.stage != Stage::Finished).count();
        self.counters.recorded.set(recorded as u64);
        self.counters.failing.set(self.retries.len() as u64);
    }

    /// A command failed.
    fn failed(&mut self, why: String) {
        self.counters.failed_commands.add(1);
        self.say(why);
    }

    /// Says a sentence, unless the last round did.
    fn say(&mut self, sentence: String) {
        if !self.said.contains(&sentence) && !self.saying.contains(&sentence) {
            eprintln!("headway-fleet: {}", printable(&sentence));
        }
        self.saying.insert(sentence);
    }
}

/// True if the command that begins it may still be under way: it lives on when this program is killed, and until it
/// has reached the JVM that says that nothing is recorded.
fn may_still_begin(segment: &Segment) -> bool {
    let age = Duration::from_nanos(wall_ns().saturating_sub(segment.begun_ns));
    age < 2 * PATIENCE && !segment.recording.exists()
}

enum Read {
    /// There is no file, or nothing in it: nothing was recorded.
    Nothing,
    Rows(Box<Rolled>),
    Unreadable(String),
    /// This machine fails, not the recording.
    Later(String),
}

fn read(segment: &Segment) -> Read {
    let file = match open(&segment.recording) {
        Ok(Some(file)) => file,
        Ok(None) => return Read::Nothing,
        Err(error) if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EIO)) => {
            return Read::Later(error.to_string());
        }
        Err(error) => return Read::Unreadable(error.to_string()),
    };
    // The file that was looked at, whatever its name leads to by now.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let source = segment.source();
    // A recording must not end the recording of all others.
    match catch_unwind(AssertUnwindSafe(|| Rollup::read(path, &source))) {
        Ok(Ok(rolled)) => Read::Rows(Box::new(rolled)),
        Ok(Err(problem)) => Read::Unreadable(problem.to_string()),
        Err(_) => Read::Unreadable("reading it failed in Headway".into()),
    }
}

/// Opens a recording, which lies in a folder of the JVM's user: it has to be a file, and no link to one.
fn open(path: &Path) -> io::Result<Option<File>> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let about = file.metadata()?;
    match about.is_file() {
        true => Ok((about.len() > 0).then_some(file)),
        false => Err(io::Error::other("it is no file")),
    }
}

/// Where JVMs of a user write: a folder of that user.
fn folder_of(queue: &Path, uid: u32) -> io::Result<PathBuf> {
    let folder = queue.join("recordings").join(uid.to_string());
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    if std::fs::metadata(&folder)?.uid() != uid {
        chown(&folder, Some(uid), None)?;
    }
    Ok(folder)
}

fn wall_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}
