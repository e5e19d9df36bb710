//! The draining thread: takes what application threads have appended, and
//! writes the recording. It belongs to no Java thread, calls nothing of the VM
//! and blocks all signals but those of its own faults.

mod collect;
mod govern;
mod output;
mod retain;
mod route;
mod self_cost;
mod stops;

use crate::agent::Agent;
use crate::clock;
use crate::counted::Counted;
use crate::ending::{Deadline, Ended};
use crate::large_blocks;
use crate::long_contentions::{LongContentions, Which};
use crate::masked_signals::MaskedSignals;
use crate::minimum_duration::Shorts;
use crate::options::Options;
use crate::pace::Pace;
use crate::park::{LiveParks, Wish};
use crate::pressure::LivePressure;
use crate::process::CpuTimes;
use crate::recompile::Recompilation;
use crate::removal;
use crate::steal;
use crate::thread_events::blocked_throughout;
use govern::Governor;
use headway_analysis::park::statistics::ParkStatisticsReport;
use headway_jfr::{IfTaken, RecordingWriter};
use headway_model::event::{Degraded, RecordingInfo, Sampling, SelfCost};
use headway_model::{DurationNs, Event, Loss, ThreadId, TimeNs};
use output::writer_config;
use retain::{forget, CodeIds, Dying, Kept};
use self_cost::Spent;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use stops::Stops;

/// How often partly filled buffers are drained and the file is flushed.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// What goes on is reported again once in so many flushes.
const FLUSHES_PER_MINUTE: u64 = 60;

/// What has been recorded so far.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Events by kind.
    pub events: BTreeMap<String, u64>,
    /// Size of the recording.
    pub bytes: u64,
    /// What Headway has cost.
    pub cost: SelfCost,
    /// Length of the windows in which is sampled; zero while everything is recorded.
    pub window: DurationNs,
    /// Why the recording could not be written completely.
    pub error: Option<String>,
    /// Events that could not be written.
    pub unwritten: u64,
    /// Where the file is, if it has another name by now.
    pub moved_to: Option<PathBuf>,
    /// Sentences about the file.
    pub notes: Vec<String>,
    /// True once the file is complete.
    pub is_finished: bool,
}

impl Recorded {
    /// The draining thread failed.
    pub fn fail(&mut self) {
        self.error = Some("the draining thread failed; the recording ends early".to_owned());
        self.is_finished = true;
    }
}

enum Request {
    Dump(PathBuf, IfTaken, Sender<Result<PathBuf, String>>),
    Flush(Sender<()>),
    Look(Sender<()>),
    Live(PathBuf),
    Parks(Wish, Sender<Result<ParkStatisticsReport, String>>),
    Finish,
}

/// The session's end of the draining thread.
pub struct DrainHandle {
    requests: Sender<Request>,
    recorded: Arc<Mutex<Recorded>>,
    /// When the draining thread ceases to read events, in ns; see [`NOT_YET`].
    reads_until: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

/// How long `status` waits for the file: the draining thread may have little of a CPU.
const FLUSHED_WITHIN: Duration = Duration::from_secs(2);
const GONE: &str = "the draining thread is gone";
/// There is no end in sight.
const NOT_YET: u64 = u64::MAX;
/// Share of the time for the end in which events are read; then it is written.
const READING: f64 = 0.6;

impl DrainHandle {
    /// What has been recorded up to the last flush.
    pub fn recorded(&self) -> Recorded {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Has the last minutes copied to a file, whose name is the answer. It may take long: do not wait for it with a
    /// lock in hand that the recording's end needs.
    pub fn dump(&self, path: PathBuf, if_taken: IfTaken) -> impl FnOnce() -> Result<PathBuf, String> {
        let (answer, answered) = mpsc::channel();
        // Whether the thread is there shows in its answer.
        let _ = self.requests.send(Request::Dump(path, if_taken, answer));
        move || answered.recv().map_err(|_| GONE.to_owned())?
    }

    /// Brings the file and [`Self::recorded`] up to date, unless the draining thread is gone, or too
    /// busy to do it soon.
    pub fn flush(&self) {
        let (answer, answered) = mpsc::channel();
        if self.requests.send(Request::Flush(answer)).is_ok() {
            // In time or not, there is what was written before.
            let _ = answered.recv_timeout(FLUSHED_WITHIN);
        }
    }

    /// Reads who owns the locks of contentions that go on, while it is recorded whether they do.
    pub fn look_once_more(&self, deadline: &Deadline) {
        let (answer, answered) = mpsc::channel();
        if self.requests.send(Request::Look(answer)).is_ok() {
            // In time or not, the end goes on.
            let _ = answered.recv_timeout(deadline.left());
        }
    }

    /// Puts a picture of now into a file, interval after interval, as long as
    /// somebody watches.
    pub fn publish_to(&self, file: PathBuf) -> Result<(), String> {
        self.requests.send(Request::Live(file)).map_err(|_| GONE.to_owned())
    }

    /// Has the park statistics up to now taken, which are the answer. Wait for it as for [`Self::dump`].
    pub fn parks(&self, wish: Wish) -> impl FnOnce() -> Result<ParkStatisticsReport, String> {
        let (answer, answered) = mpsc::channel();
        let _ = self.requests.send(Request::Parks(wish, answer));
        move || answered.recv().map_err(|_| GONE.to_owned())?
    }

    /// Drains one last time and finishes the file, as far as there is time: the rest
    /// of the queue is counted as dropped, and a file that is not complete by then is
    /// completed later, see [`Self::unfinished`].
    pub fn finish(&mut self, deadline: Deadline) -> Recorded {
        let reads_until = clock::now() + DurationNs(deadline.after(READING).left().as_nanos() as u64);
        self.reads_until.store(reads_until.0, Ordering::SeqCst);
        // If the thread is gone there is nothing to ask of it.
        let _ = self.requests.send(Request::Finish);
        let ended = self.thread.take().map(|thread| deadline.join(thread));
        let mut recorded = self.recorded();
        match ended {
            Some(Ended::Panicked) => {
                recorded.fail();
            }
            Some(Ended::Not(thread)) => self.thread = Some(thread),
            Some(Ended::Well) | None => {}
        }
        recorded
    }

    /// What still goes on after [`Self::finish`] was not awaited any longer.
    pub fn unfinished(&mut self) -> Option<JoinHandle<()>> {
        self.thread.take()
    }
}

/// The draining thread's state.
pub struct Drain {
    agent: &'static Agent,
    /// `None` where parks are only counted.
    writer: Option<RecordingWriter>,
    /// The file, once the writer is gone.
    path: Option<PathBuf>,
    dictionary: Kept,
    pressure: LivePressure,
    /// Holds back contended enters that are too short to be recorded.
    minimum: Shorts,
    parks: LiveParks,
    recorded: Recorded,
    counted: Counted,
    batch: Vec<Event>,
    reads_until: Arc<AtomicU64>,
    /// Records that were not read, once there is no time to.
    unread: Option<u64>,
    pace: Pace,
    recorded_losses: BTreeMap<Loss, u64>,
    /// Those whose owners were read.
    long: LongContentions,
    dying: VecDeque<Dying>,
    virtual_threads: VecDeque<ThreadId>,
    code_seen: CodeIds,
    code_before: CodeIds,
    cpu_times: Option<CpuTimes>,
    /// What had been spent when the recording began.
    spent_before: Spent,
    flushes: u64,
    /// Since when the file cannot be written, and why.
    unwritable: Option<(TimeNs, String)>,
    told_no_memory: bool,
    /// Why it could not be written the last time.
    problem: Option<String>,
    /// All that happened before was taken.
    drained_to: TimeNs,
    /// True if monitors are recorded.
    monitors: bool,
    steal: steal::Drained,
    recompilation: Option<Recompilation>,
    governor: Governor,
    /// Begins that got their numbers when they were reported: what has smaller ones comes with the
    /// next flush.
    late: Vec<Event>,
    /// What had been spent and written when the governor was asked last, and when that was.
    governed: govern::At,
    /// The same at moments of the last second.
    recent: VecDeque<govern::At>,
    /// When the recording began.
    start: TimeNs,
    /// What is sampled, if anything was.
    sampling: Option<Sampling>,
    max_size: Option<u64>,
    max_age: Option<DurationNs>,
}

impl Drain {
    /// Creates the recording's file; without a path, nothing is written.
    pub fn create(
        agent: &'static Agent,
        place: Option<(PathBuf, IfTaken)>,
        options: &Options,
        info: RecordingInfo,
        first: Vec<Event>,
    ) -> Result<Drain, String> {
        let start = info.start;
        let info = Arc::new(info);
        let writer = place.map(|place| RecordingWriter::create(writer_config(place, options, info.clone())));
        let writer = writer.transpose().map_err(|e| e.to_string())?;
        let mut drain = Drain {
            agent,
            writer,
            path: None,
            dictionary: Kept::of(agent),
            pressure: LivePressure::new(agent, options, start),
            minimum: Shorts::new(DurationNs(options.min_duration_ns.unwrap_or(0))),
            parks: LiveParks::new(agent, options, start),
            recorded: Recorded::default(),
            counted: Counted::default(),
            batch: Vec::new(),
            reads_until: Arc::new(AtomicU64::new(NOT_YET)),
            unread: None,
            pace: Pace::new(agent.chunk_bytes(), Instant::now()),
            recorded_losses: BTreeMap::new(),
            long: LongContentions::default(),
            dying: VecDeque::from([Dying::default()]),
            virtual_threads: VecDeque::new(),
            code_seen: CodeIds::default(),
            code_before: CodeIds::default(),
            cpu_times: CpuTimes::now(),
            spent_before: Spent::so_far(agent),
            flushes: 0,
            unwritable: None,
            told_no_memory: false,
            problem: None,
            drained_to: start,
            monitors: options.wants("monitor"),
            steal: steal::Drained::new(agent, options),
            recompilation: None,
            late: Vec::new(),
            governor: Governor::new(options),
            governed: (Spent::so_far(agent), 0, start),
            recent: VecDeque::new(),
            start,
            sampling: None,
            max_size: options.size_limit(),
            max_age: options.max_age_ns.map(DurationNs),
        };
        if options.recompile && !options.safe {
            let failed = |error: io::Error| format!("no thread to have code compiled again: {error}");
            drain.recompilation = Some(Recompilation::begin(agent).map_err(failed)?);
        }
        drain.take_event(&Event::Recording(info));
        for event in first {
            drain.take_event(&event);
        }
        Ok(drain)
    }

    /// The recording's file.
    pub fn path(&self) -> Option<&Path> {
        self.writer.as_ref().map(RecordingWriter::path)
    }

    fn run(mut self, requests: &Receiver<Request>, shared: &Mutex<Recorded>) {
        let agent = self.agent;
        let _own = agent.own_cost.own_thread();
        self.introduce_myself();
        let mut next_flush = Instant::now() + FLUSH_EVERY;
        let mut stops = Stops::begin();
        loop {
            let now = Instant::now();
            let patience = self.steal.patience(self.pace.patience(now, self.agent.free_bytes()));
            let request = requests.recv_timeout(patience);
            stops.slept(patience, now.elapsed());
            match request {
                Ok(Request::Dump(path, if_taken, answer)) => {
                    self.tell_long_contentions(Which::All);
                    self.flush();
                    let dumped = self.dump(&path, if_taken);
                    self.publish(shared);
                    // Nobody waits for the answer any more: nothing to do.
                    let _ = answer.send(dumped);
                }
                Ok(Request::Flush(answer)) => {
                    self.flush();
                    // Whoever asks reads what is published next: it is to be of the same moment.
                    self.publish(shared);
                    let _ = answer.send(());
                }
                Ok(Request::Look(answer)) => {
                    self.flush();
                    self.tell_long_contentions(Which::Last);
                    let _ = answer.send(());
                }
                Ok(Request::Live(file)) => self.pressure.publish_to(file, &self.dictionary),
                Ok(Request::Parks(wish, answer)) => {
                    self.flush();
                    let _ = answer.send(self.parks.report(wish));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Request::Finish) | Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.parks.is_asked() {
                self.flush();
                self.parks.print();
            }
            self.sample_steal(false);
            match Instant::now() >= next_flush {
                true => {
                    self.flush();
                    next_flush = Instant::now() + FLUSH_EVERY;
                }
                false => self.drain_full(),
            }
            self.watch_budget();
            self.publish(shared);
        }
        if let Some(reason) = stops.sentence() {
            self.take_event(&Event::Degraded(Degraded { mechanism: "recording".into(), reason: reason.into() }));
        }
        let recorded = self.finish();
        *shared.lock().unwrap_or_else(PoisonError::into_inner) = recorded;
    }

    /// Says once that the process has no memory left.
    fn tell_no_memory(&mut self) {
        const NO_MEMORY: &str = "the process had no memory left, at least for a while: events are missing";
        if !std::mem::replace(&mut self.told_no_memory, true) {
            self.recorded.notes.push(format!("In the recording, {NO_MEMORY}."));
            self.take_event(&Event::Degraded(Degraded { mechanism: "recording".into(), reason: NO_MEMORY.into() }));
        }
    }

    fn dump(&mut self, path: &Path, if_taken: IfTaken) -> Result<PathBuf, String> {
        let writer = self.writer.as_mut().ok_or("nothing is recorded")?;
        let limits = (self.max_size, self.max_age);
        writer.dump(path, if_taken, limits).map(|dumped| dumped.path).map_err(|e| e.to_string())
    }

    fn publish(&mut self, shared: &Mutex<Recorded>) {
        self.recorded.events = self.counted.by_word();
        self.recorded.bytes = self.writer.as_ref().map_or(0, RecordingWriter::bytes);
        *shared.lock().unwrap_or_else(PoisonError::into_inner) = self.recorded.clone();
    }

    /// Takes everything up to now and brings it into the file.
    fn flush(&mut self) {
        if !large_blocks::has_recovered() {
            return self.tell_no_memory(); // threads count what they cannot append
        }
        let watermark = self.drain_all(false);
        self.tell_transactions(watermark, false);
        let is_minute = self.flushes % FLUSHES_PER_MINUTE == FLUSHES_PER_MINUTE - 1;
        self.tell_long_contentions(if is_minute { Which::All } else { Which::New });
        self.tell_losses();
        self.tell_load(watermark);
        self.tell_self_cost(watermark);
        self.govern(clock::now());
        self.take_event(&Event::Watermark(watermark));
        let closed = self.pressure.advance(watermark, &self.dictionary);
        self.record_held_back(watermark);
        self.record_derived(closed);
        self.parks.collect();
        self.parks.settle(&self.dictionary);
        self.write_out(watermark);
        self.note_sampling();
        self.tell_cut();
        self.flushes += 1;
        if self.reads_until.load(Ordering::Relaxed) != NOT_YET {
            // The end waits; it sees to the dead itself.
            return;
        }
        self.bury_the_dead();
        self.agent.locks.maintain();
        if self.agent.chains.maintain() {
            self.forget_old_code();
        }
    }

    fn finish(mut self) -> Recorded {
        if !large_blocks::has_recovered() {
            let why = "the process had no memory left to write the end of the recording";
            self.recorded.error = Some(why.to_owned());
            self.recorded.is_finished = true;
            self.long.end(self.agent);
            return std::mem::take(&mut self.recorded);
        }
        let watermark = self.drain_all(true);
        let agent = self.agent;
        let mut batch = std::mem::take(&mut self.batch);
        if let Some(mut collector) = agent.pool.collector() {
            for slot in agent.threads.iter() {
                collector.close(&slot.buffer, &mut |_, words| self.take_in(words, &mut batch));
            }
        }
        self.take_batch(&mut batch);
        agent.losses.add(Loss::Unfinished, self.unread.unwrap_or(0));
        self.sample_steal(true);
        // Threads that came meanwhile were sampled, too.
        self.take_batch(&mut Vec::new());
        self.tell_transactions(watermark, true);
        if self.monitors {
            agent.losses.add(Loss::BlockedThroughout, blocked_throughout(agent, |thread| self.long.knows(thread)));
        }
        self.tell_losses();
        self.measure_self_cost(watermark);
        self.take_event(&Event::SelfCost(self.recorded.cost));
        self.take_event(&Event::Watermark(watermark));
        let closed = self.pressure.finish(watermark, &self.dictionary);
        self.record_held_back(watermark);
        self.record_derived(closed);
        self.tell_losses(); // of the last interval's pressure, too
        self.parks.collect_all(watermark);
        self.parks.settle(&self.dictionary);
        match self.finish_file(watermark) {
            Ok(finished) => self.tell_finished(finished),
            Err(error) => self.recorded.error = Some(error.to_string()),
        }
        self.parks.print();
        self.long.end(agent);
        self.measure_self_cost(watermark);
        self.recorded.events = self.counted.by_word();
        self.recorded.is_finished = true;
        if removal::is_given_up() {
            // The process ends: what is kept for another recording, and memory given
            // back piece by piece, would only delay that.
            let recorded = std::mem::take(&mut self.recorded);
            std::mem::forget(self);
            return recorded;
        }
        for dead in std::mem::take(&mut self.dying) {
            forget(agent, &mut self.dictionary, dead);
        }
        self.recorded
    }
}

/// Starts the draining thread.
pub fn spawn(drain: Drain) -> io::Result<DrainHandle> {
    let (requests, received) = mpsc::channel();
    let recorded = Arc::new(Mutex::new(Recorded::default()));
    let shared = recorded.clone();
    let reads_until = drain.reads_until.clone();
    let _masked = MaskedSignals::all_but_faults();
    let thread =
        std::thread::Builder::new().name("headway-drain".to_owned()).spawn(move || drain.run(&received, &shared))?;
    Ok(DrainHandle { requests, recorded, reads_until, thread: Some(thread) })
}
