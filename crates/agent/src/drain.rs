//! The draining thread: takes what application threads have appended, and
//! writes the recording. It belongs to no Java thread, calls nothing of the VM
//! and blocks all signals but those that tell of its own faults.

mod output;

use crate::agent::Agent;
use crate::clock;
use crate::counted::Counted;
use crate::definitions::Definition;
use crate::ending::{Deadline, Ended};
use crate::masked_signals::MaskedSignals;
use crate::online::Online;
use crate::options::Options;
use crate::pace::Pace;
use crate::park;
use crate::park_statistics::{LiveParks, Wish};
use crate::pressure::{capture, LivePressure};
use crate::process::{self, CpuTimes};
use crate::raw;
use crate::recompile::Recompilation;
use crate::removal;
use crate::steal;
use crate::thread_events::blocked_throughout;
use headway_analysis::park::statistics::ParkStatisticsReport;
use headway_jfr::{IfTaken, RecordingWriter};
use headway_model::event::{RecordingInfo, SelfCost, ThreadDef};
use headway_model::{ChainId, Dictionary, DurationNs, Event, LockId, Loss, MethodId, ThreadId, TimeNs};
use output::writer_config;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often partly filled buffers are drained and the file is flushed.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// Flushes after which a dead lock's place is given back and an ended thread is
/// forgotten: by then the events that name it have been drained.
const GRACE_FLUSHES: usize = 5;
/// Events taken in at a time.
const BATCH: usize = 512;
/// Virtual threads whose names are kept.
const MAX_VIRTUAL_THREADS: usize = 65_536;
/// Flushes between two records of the agent's own cost.
const SELF_COST_FLUSHES: u64 = 10;

/// What has been recorded so far.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Events by kind.
    pub events: BTreeMap<String, u64>,
    /// Size of the recording.
    pub bytes: u64,
    /// CPU time of the draining thread.
    pub own_cpu: DurationNs,
    /// Memory for buffers and tables in use.
    pub memory_bytes: u64,
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

/// What died between two flushes: events that name it may still be on their way.
#[derive(Default)]
struct Dying {
    locks: Vec<LockId>,
    threads: Vec<ThreadId>,
}

/// The largest ids of chains and methods at some moment.
#[derive(Clone, Copy, Debug, Default)]
struct CodeIds {
    chain: ChainId,
    method: MethodId,
}

enum Request {
    Dump(PathBuf, IfTaken, Sender<Result<PathBuf, String>>),
    Findings(Sender<Vec<String>>),
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

/// There is no end in sight.
const NOT_YET: u64 = u64::MAX;
/// Share of the time for the end in which events are read; then it is written.
const READING: f64 = 0.6;

impl DrainHandle {
    /// What has been recorded up to the last flush.
    pub fn recorded(&self) -> Recorded {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Copies the last minutes to a file, and gives the name it got.
    pub fn dump(&self, path: PathBuf, if_taken: IfTaken) -> Result<PathBuf, String> {
        let gone = || "the draining thread is gone".to_owned();
        let (answer, answered) = mpsc::channel();
        self.requests.send(Request::Dump(path, if_taken, answer)).map_err(|_| gone())?;
        answered.recv().map_err(|_| gone())?
    }

    /// What has been found so far, most costly first; empty if the draining
    /// thread is gone.
    pub fn findings(&self) -> Vec<String> {
        let (answer, answered) = mpsc::channel();
        let asked = self.requests.send(Request::Findings(answer));
        asked.ok().and_then(|()| answered.recv().ok()).unwrap_or_default()
    }

    /// Puts a picture of now into a file, interval after interval, as long as
    /// somebody watches.
    pub fn publish_to(&self, file: PathBuf) -> Result<(), String> {
        self.requests.send(Request::Live(file)).map_err(|_| "the draining thread is gone".to_owned())
    }

    /// The park statistics up to now.
    pub fn parks(&self, wish: Wish) -> Result<ParkStatisticsReport, String> {
        let gone = || "the draining thread is gone".to_owned();
        let (answer, answered) = mpsc::channel();
        self.requests.send(Request::Parks(wish, answer)).map_err(|_| gone())?;
        answered.recv().map_err(|_| gone())?
    }

    /// Drains one last time and finishes the file, as far as there is time: the rest
    /// of the queue is counted as lost, and a file that is not complete by then is
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
                recorded.error = Some("the draining thread failed; the recording ends early".to_owned());
                recorded.is_finished = true;
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
    online: Online,
    pressure: LivePressure,
    parks: LiveParks,
    recorded: Recorded,
    counted: Counted,
    batch: Vec<Event>,
    reads_until: Arc<AtomicU64>,
    /// Records that were not read, once there is no time to.
    unread: Option<u64>,
    pace: Pace,
    told_losses: BTreeMap<Loss, u64>,
    dying: VecDeque<Dying>,
    virtual_threads: VecDeque<ThreadId>,
    code_seen: CodeIds,
    code_before: CodeIds,
    cpu_times: Option<CpuTimes>,
    flushes: u64,
    /// Since when the file cannot be written, and why.
    unwritable: Option<(TimeNs, String)>,
    /// Why it could not be written the last time.
    problem: Option<String>,
    /// All that happened before was taken.
    drained_to: TimeNs,
    /// True if monitors are recorded.
    monitors: bool,
    steal: steal::Drained,
    recompilation: Option<Recompilation>,
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
            online: Online::new(agent),
            pressure: LivePressure::new(agent, options, start),
            parks: LiveParks::new(agent, options, start),
            recorded: Recorded::default(),
            counted: Counted::default(),
            batch: Vec::new(),
            reads_until: Arc::new(AtomicU64::new(NOT_YET)),
            unread: None,
            pace: Pace::new(agent.chunk_bytes(), Instant::now()),
            told_losses: BTreeMap::new(),
            dying: VecDeque::from([Dying::default()]),
            virtual_threads: VecDeque::new(),
            code_seen: CodeIds::default(),
            code_before: CodeIds::default(),
            cpu_times: CpuTimes::now(),
            flushes: 0,
            unwritable: None,
            problem: None,
            drained_to: start,
            monitors: options.wants("monitor"),
            steal: steal::Drained::new(agent, options),
            recompilation: None,
            max_size: options.size_limit(),
            max_age: options.max_age_ns.map(DurationNs),
        };
        if options.recompile && !options.safe {
            let failed = |error: io::Error| format!("no thread to have code compiled again: {error}");
            drain.recompilation = Some(Recompilation::begin(agent).map_err(failed)?);
        }
        // What an earlier recording defined is not defined again; the analysis
        // of this one has not heard of it.
        drain.dictionary.definitions().for_each(|event| drain.online.feed(&event, &mut drain.pressure));
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
        self.introduce_myself();
        let mut next_flush = Instant::now() + FLUSH_EVERY;
        loop {
            let patience = self.pace.patience(Instant::now(), self.agent.free_bytes());
            match requests.recv_timeout(self.steal.patience(patience)) {
                Ok(Request::Dump(path, if_taken, answer)) => {
                    self.flush();
                    // Nobody waits for the answer any more: nothing to do.
                    let _ = answer.send(self.dump(&path, if_taken));
                }
                Ok(Request::Findings(answer)) => {
                    self.flush();
                    let _ = answer.send(self.online.findings());
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
            self.publish(shared);
        }
        let recorded = self.finish();
        *shared.lock().unwrap_or_else(PoisonError::into_inner) = recorded;
    }

    fn dump(&mut self, path: &Path, if_taken: IfTaken) -> Result<PathBuf, String> {
        let writer = self.writer.as_mut().ok_or("nothing is recorded")?;
        let limits = (self.max_size, self.max_age);
        writer.dump(path, if_taken, limits).map(|dumped| dumped.path).map_err(|e| e.to_string())
    }

    /// The draining thread is a thread of the process like any other.
    fn introduce_myself(&mut self) {
        let os_id = process::current_os_id();
        self.take_event(&Event::Thread(ThreadDef {
            id: ThreadId::native(os_id),
            os_id,
            name: "headway-drain".into(),
            group: "".into(),
            is_virtual: false,
            is_service: true,
        }));
    }

    fn publish(&mut self, shared: &Mutex<Recorded>) {
        self.recorded.own_cpu = clock::thread_cpu();
        self.recorded.events = self.counted.by_word();
        self.recorded.bytes = self.writer.as_ref().map_or(0, RecordingWriter::bytes);
        *shared.lock().unwrap_or_else(PoisonError::into_inner) = self.recorded.clone();
    }

    /// Takes the buffers that are full.
    fn drain_full(&mut self) {
        let mut over = Vec::new();
        self.agent.parks.under_way.look(self.agent, false, &mut |event| over.push(event));
        over.iter().for_each(|event| self.take_event(event));
        if !self.agent.pool.has_full_chunks() {
            return;
        }
        let mut batch = std::mem::take(&mut self.batch);
        let agent = self.agent;
        if let Some(mut collector) = agent.pool.collector() {
            collector.drain(&mut |_, words| self.take_in(words, &mut batch));
        }
        self.take_batch(&mut batch);
        self.batch = batch;
    }

    /// Takes everything up to now and brings it into the file.
    fn flush(&mut self) {
        let watermark = self.drain_all();
        self.tell_transactions(watermark, false);
        self.tell_losses();
        self.tell_load(watermark);
        self.tell_self_cost(watermark);
        self.take_event(&Event::Watermark(watermark));
        let closed = self.pressure.advance(watermark, &self.dictionary);
        self.record_pressure(closed);
        self.parks.collect();
        self.parks.settle(&self.dictionary);
        self.write_out(watermark);
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

    /// Windows and phases are derived: nothing here analyses them again.
    fn record_pressure(&mut self, events: Vec<Event>) {
        for event in events {
            self.counted.add(&event);
            self.write(&event);
        }
    }

    fn write(&mut self, event: &Event) {
        if let Some(writer) = &mut self.writer {
            writer.event(event, &self.dictionary);
        }
    }

    /// The set of chains was cleared: chains and methods get new ids. What was
    /// defined before the clear before this one is not referred to any more,
    /// but by a thread that has been blocked all that time.
    fn forget_old_code(&mut self) {
        let old = std::mem::replace(&mut self.code_before, self.code_seen);
        self.dictionary.forget_code(old.chain, old.method);
        if let Some(recompilation) = &mut self.recompilation {
            recompilation.forget_chains();
        }
        self.code_seen.method = self.agent.definitions.forget_methods();
    }

    fn drain_all(&mut self) -> TimeNs {
        let agent = self.agent;
        let watermark = agent.threads.settle().min(agent.recording_ended()).min(agent.samples.settled());
        let mut batch = std::mem::take(&mut self.batch);
        if self.unread.is_none() && self.is_late() {
            self.unread = Some(0);
        }
        let is_all = capture::sums(agent, &mut |event| batch.push(event));
        // Before what the threads did since.
        agent.parks.under_way.look(agent, true, &mut |event| batch.push(event));
        if let Some(mut collector) = agent.pool.collector() {
            collector.drain(&mut |_, words| self.take_in(words, &mut batch));
            for slot in agent.threads.iter() {
                collector.visit(&slot.buffer, &mut |_, words| self.take_in(words, &mut batch));
                agent.collect_refusals(slot);
                if agent.pressure.is_sparing() {
                    batch.extend(capture::begins(slot, watermark));
                }
            }
            // What was handed over while we went round, by threads that ended.
            collector.drain(&mut |_, words| self.take_in(words, &mut batch));
        }
        agent.parks.collect(agent, watermark, &mut |event| batch.push(event));
        self.take_batch(&mut batch);
        self.batch = batch;
        if is_all && self.unread.is_none() {
            self.drained_to = watermark;
        }
        self.drained_to
    }

    /// Takes in a record. Batches are small so that an event is still in the
    /// processor's cache when it is looked at.
    #[inline]
    fn take_in(&mut self, words: &[u64], batch: &mut Vec<Event>) {
        self.pace.took(words.len());
        if let Some(unread) = &mut self.unread {
            *unread += 1;
            return;
        }
        batch.extend(raw::decode(words));
        if batch.len() >= BATCH {
            self.take_batch(batch);
            // From the first record on that is not read, none is: what the others did
            // meanwhile would make no sense.
            self.unread = self.is_late().then_some(0);
        }
    }

    /// True when there is no time to read any more.
    fn is_late(&self) -> bool {
        let until = self.reads_until.load(Ordering::Relaxed);
        until != NOT_YET && clock::now().0 > until
    }

    /// Definitions first: they were queued before the events that use them
    /// were appended, so taking them after the events misses none.
    fn take_batch(&mut self, batch: &mut Vec<Event>) {
        batch.extend(self.agent.samples.take());
        for definition in self.agent.definitions.take() {
            match definition {
                Definition::Event(event) => self.take_event(&event),
                Definition::LockName(lock, name) => {
                    if let Some(mut def) = self.dictionary.lock(lock).cloned() {
                        if def.name.is_empty() {
                            def.name = name;
                            self.take_event(&Event::Lock(def));
                        }
                    }
                }
            }
        }
        for event in batch.iter() {
            self.pair(event);
            if !matches!(event, Event::TransactionPoint(_)) {
                self.take_event(event);
            }
        }
        batch.clear();
    }

    fn take_event(&mut self, event: &Event) {
        if let Event::Chain(def) = event {
            if let Some(shorter) = park::without_helper(def, &self.dictionary) {
                return self.take_event(&Event::Chain(shorter));
            }
        }
        self.dictionary.feed(event);
        if matches!(event, Event::Lock(_)) {
            self.parks.is_named();
        }
        // Where parks are only counted, nobody asks for more.
        if self.writer.is_some() {
            self.pressure.feed(event);
        }
        if self.writer.is_some() && !self.pressure.is_alone() {
            self.online.feed(event, &mut self.pressure);
        }
        self.counted.add(event);
        match event {
            Event::ThreadEnd(end) => {
                if let Some(dying) = self.dying.back_mut() {
                    dying.threads.push(end.thread);
                }
            }
            Event::Thread(thread) if thread.is_virtual => self.remember_virtual(thread.id),
            Event::Chain(def) => self.code_seen.chain = self.code_seen.chain.max(def.id),
            Event::MonitorExit(exit) => {
                if let Some(recompilation) = &mut self.recompilation {
                    recompilation.on_exit(exit, &self.dictionary);
                }
            }
            _ => {}
        }
        if self.pressure.records(event) {
            self.write(event);
        }
    }

    /// CPU and stolen time of an interval, if one is over.
    fn sample_steal(&mut self, at_end: bool) {
        for event in self.steal.sample(at_end) {
            self.take_event(&event);
        }
    }

    /// Transactions that ended on other carriers than they began on, and those
    /// that were added up; at the end those that are open, too.
    fn tell_transactions(&mut self, watermark: TimeNs, is_end: bool) {
        let mut told = Vec::new();
        let settled = if is_end { TimeNs(u64::MAX) } else { watermark };
        self.steal.settle(settled, &self.dictionary, &mut |event| told.push(event));
        match is_end {
            false => self.steal.flush(&mut |event| told.push(event)),
            true => self.steal.finish(watermark, &mut |event| told.push(event)),
        }
        for event in told {
            self.take_event(&event);
        }
    }

    /// Takes in what a thread did for its transactions, and those that it ended.
    fn pair(&mut self, event: &Event) {
        let mut told = Vec::new();
        self.steal.feed(event, &self.dictionary, &mut |event| told.push(event));
        for event in told {
            self.take_event(&event);
        }
    }

    fn tell_losses(&mut self) {
        let refused = self.agent.definitions.take_refused();
        if refused > 0 {
            self.agent.losses.add(Loss::MethodUnresolved, refused);
        }
        for (loss, total) in losses(self.agent) {
            let told = self.told_losses.entry(loss).or_default();
            let more = total.saturating_sub(*told);
            *told = total;
            if more > 0 {
                self.take_event(&Event::Lost(loss, more));
            }
        }
    }

    fn tell_load(&mut self, time: TimeNs) {
        let now = CpuTimes::now();
        let before = std::mem::replace(&mut self.cpu_times, now);
        let load = now.zip(before).and_then(|(now, before)| now.load_since(before, time));
        if let Some(load) = load {
            self.take_event(&Event::CpuLoad(load));
        }
    }

    fn tell_self_cost(&mut self, time: TimeNs) {
        self.recorded.memory_bytes = self.agent.memory_bytes();
        if self.flushes % SELF_COST_FLUSHES == 0 {
            self.take_event(&self.self_cost(time));
        }
    }

    fn self_cost(&self, time: TimeNs) -> Event {
        Event::SelfCost(SelfCost {
            time,
            own_cpu: clock::thread_cpu() + self.agent.samples.cpu(),
            attach_pause: self.agent.hooks.pause(),
            memory_bytes: self.recorded.memory_bytes,
        })
    }

    /// Virtual threads are not said to end: the oldest are forgotten.
    fn remember_virtual(&mut self, thread: ThreadId) {
        self.virtual_threads.push_back(thread);
        if self.virtual_threads.len() > MAX_VIRTUAL_THREADS {
            if let Some(oldest) = self.virtual_threads.pop_front() {
                self.dictionary.forget_thread(oldest);
            }
        }
    }

    /// Forgets what died some flushes ago, and collects what died since.
    fn bury_the_dead(&mut self) {
        if let Some(dying) = self.dying.back_mut() {
            dying.locks.extend(self.agent.locks.take_dead());
        }
        self.dying.push_back(Dying::default());
        if self.dying.len() <= GRACE_FLUSHES {
            return;
        }
        let dead = self.dying.pop_front().unwrap_or_default();
        for lock in &dead.locks {
            self.pressure.forget_lock(*lock);
            self.parks.collected(*lock, clock::now());
        }
        forget(self.agent, &mut self.dictionary, dead);
    }

    fn finish(mut self) -> Recorded {
        let watermark = self.drain_all();
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
        self.tell_transactions(watermark, true);
        if self.monitors {
            agent.losses.add(Loss::BlockedThroughout, blocked_throughout(agent));
        }
        self.tell_losses();
        self.take_event(&self.self_cost(watermark));
        self.take_event(&Event::Watermark(watermark));
        let closed = self.pressure.finish(watermark, &self.dictionary);
        self.record_pressure(closed);
        self.tell_losses(); // of the last interval's pressure, too
        self.parks.collect_all(watermark);
        self.parks.settle(&self.dictionary);
        match self.finish_file(watermark) {
            Ok(finished) => self.tell_finished(finished),
            Err(error) => self.recorded.error = Some(error.to_string()),
        }
        self.parks.print();
        self.recorded.own_cpu = clock::thread_cpu();
        self.recorded.events = self.counted.by_word();
        self.recorded.is_finished = true;
        if removal::is_given_up(agent) {
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

fn forget(agent: &Agent, dictionary: &mut Dictionary, dead: Dying) {
    for lock in dead.locks {
        agent.locks.retire(lock);
        if let Some(def) = dictionary.lock(lock) {
            agent.parks.blocker_died(&def.class);
        }
        dictionary.forget_lock(lock);
    }
    for thread in dead.threads {
        dictionary.forget_thread(thread);
    }
}

/// The definitions, which go back to the agent however the recording ends: the
/// next one goes on with the same ids.
struct Kept {
    agent: &'static Agent,
    dictionary: Dictionary,
}

impl Kept {
    /// Threads come and go between recordings and are defined at each start.
    fn of(agent: &'static Agent) -> Kept {
        let mut dictionary = agent.take_dictionary();
        dictionary.forget_threads();
        Kept { agent, dictionary }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.agent.keep_dictionary(std::mem::take(&mut self.dictionary));
    }
}

impl Deref for Kept {
    type Target = Dictionary;
    fn deref(&self) -> &Dictionary {
        &self.dictionary
    }
}

impl DerefMut for Kept {
    fn deref_mut(&mut self) -> &mut Dictionary {
        &mut self.dictionary
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

/// Everything lost so far, by cause.
pub fn losses(agent: &Agent) -> impl Iterator<Item = (Loss, u64)> + '_ {
    Loss::ALL.into_iter().map(|loss| (loss, agent.losses.get(loss))).filter(|(_, n)| *n > 0)
}
