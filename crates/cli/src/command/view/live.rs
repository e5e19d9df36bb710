//! A recording that is still being written, read again and again.
//!
//! The whole file is read each time: the analyses end with its last event, and cannot go on from there.
//! So that this takes a fifth of the time at most, nothing is read for four times as long as the reading
//! before took, and for [`REFRESH`] at least. Nothing is read while no page asks.

use crate::command::report_html::with_sources;
use crate::jvm::target_file::place;
use headway_jfr::Problem;
use headway_model::DurationNs;
use headway_page::contract::{Facts, Now, Opening};
use headway_page::Recording;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock, TryLockError};
use std::time::{Duration, Instant, SystemTime};

/// The shortest time between two readings.
pub const REFRESH: Duration = Duration::from_secs(2);
/// After a reading, so many times as long as it took nothing is read.
const REST: u32 = 4;
/// How often what is read may change meanwhile before it is shown all the same.
const TRIES: u32 = 3;
/// Where a plain recording says when its first chunk began. What is before that changes every second.
const BEGAN: u64 = 32;

/// Opens the file; each time again, because another file may take its place.
pub type Open = Box<dyn Fn() -> io::Result<File> + Send + Sync>;

/// How a recording is read.
#[derive(Debug)]
pub struct Reading {
    /// Name by which it is shown.
    pub file: String,
    /// Rows that are kept.
    pub rows: usize,
    /// Where source files are.
    pub source_path: Vec<PathBuf>,
    /// The shortest time between two readings: [`REFRESH`].
    pub refresh: Duration,
}

/// The part of the recording that was read.
pub struct Live {
    reading: Reading,
    open: Open,
    shown: RwLock<Shown>,
    /// Held by whoever reads.
    progress: Mutex<Progress>,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("reading", &self.reading).finish_non_exhaustive()
    }
}

#[derive(Clone, Debug)]
struct Shown {
    recording: Arc<Recording>,
    generation: u64,
    beginning: u64,
    removed: DurationNs,
    ended: String,
}

#[derive(Debug)]
struct Progress {
    /// What was read last; read from when there is no file any more.
    kept: File,
    state: State,
    /// When the next reading may begin.
    due: Instant,
    /// Readings in a row that met with a change.
    tries: u32,
}

/// By which it is known whether there is something new.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    /// When a plain recording began; 0 for a packed one, whose first bytes do not say it.
    began: u64,
    len: u64,
    written: Option<SystemTime>,
}

impl State {
    fn of(file: &File) -> io::Result<State> {
        let about = file.metadata()?;
        let mut magic = [0; 4];
        let mut began = [0; 8];
        file.read_exact_at(&mut magic, 0)?;
        if magic == *b"FLR\0" {
            file.read_exact_at(&mut began, BEGAN)?;
        }
        Ok(State { began: u64::from_be_bytes(began), len: about.len(), written: about.modified().ok() })
    }
}

/// The same for two files only if they are one; a file that is open keeps its own.
fn identity(file: &File) -> Option<(u64, u64)> {
    let about = file.metadata().ok()?;
    Some((about.dev(), about.ino()))
}

impl Live {
    /// Reads it for the first time.
    ///
    /// # Errors
    /// It cannot be opened, or is no recording (yet).
    pub fn begin(open: Open, reading: Reading) -> Result<Live, Problem> {
        let odd = |error| Problem::Open(PathBuf::from(&reading.file), error);
        let began = Instant::now();
        let kept = open().map_err(odd)?;
        let state = State::of(&kept).map_err(odd)?;
        let recording = Recording::read_as(reading.file.clone(), &place(&kept), reading.rows)?;
        let shown = Shown {
            recording: Arc::new(with_sources(recording, &reading.source_path)),
            generation: 1,
            beginning: 1,
            removed: DurationNs(0),
            ended: String::new(),
        };
        let progress = Progress { kept, state, due: reading.next(began), tries: 0 };
        Ok(Live { reading, open, shown: RwLock::new(shown), progress: Mutex::new(progress) })
    }

    #[cfg(test)]
    fn recording(&self) -> Arc<Recording> {
        self.shown().recording
    }

    /// The recording, for questions whose times count from this beginning; `None` if there is another one.
    pub fn recording_since(&self, beginning: u64) -> Option<Arc<Recording>> {
        let shown = self.shown();
        (shown.beginning == beginning).then_some(shown.recording)
    }

    /// With what a page begins.
    pub fn opening(&self) -> Opening {
        let shown = self.shown();
        let recordings = vec![shown.recording.facts().clone()];
        Opening { recordings, version: env!("CARGO_PKG_VERSION").to_owned(), live: Some(now(&shown, Vec::new())) }
    }

    /// How far it was read, having read it again if that is due; `generation` is what is known
    /// already. While another request reads, the answer is that of before.
    pub fn now(&self, generation: u64) -> Now {
        let free = match self.progress.try_lock() {
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Poisoned(free)) => Some(free.into_inner()),
            Ok(free) => Some(free),
        };
        if let Some(mut progress) = free {
            if self.shown().ended.is_empty() && Instant::now() >= progress.due {
                self.read(&mut progress, false);
            }
        }
        let shown = self.shown();
        let facts = shown.recording.facts();
        now(&shown, if shown.generation == generation { Vec::new() } else { vec![facts.clone()] })
    }

    /// Nothing is added any more, for this reason: reads it a last time.
    pub fn end(&self, why: String) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        self.read(&mut progress, true);
        let mut shown = self.shown.write().unwrap_or_else(PoisonError::into_inner);
        shown.ended = why;
        shown.generation += 1;
    }

    /// When the file was written last, if it is there. Another file in its place is kept for the last
    /// reading: by then there may be none.
    pub fn written(&self) -> Option<SystemTime> {
        let file = (self.open)().ok()?;
        let written = file.metadata().ok()?.modified().ok();
        // Whoever reads keeps what it opens; the next call comes soon.
        if let Ok(mut progress) = self.progress.try_lock() {
            if identity(&progress.kept) != identity(&file) {
                progress.kept = file;
            }
        }
        written
    }

    fn shown(&self) -> Shown {
        self.shown.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads it if it has changed. What cannot be read leaves what was read before.
    fn read(&self, progress: &mut Progress, last: bool) {
        let began = Instant::now();
        let before = self.shown();
        if let Ok(file) = (self.open)() {
            progress.kept = file;
        }
        if let Some(state) = State::of(&progress.kept).ok().filter(|state| *state != progress.state) {
            self.read_file(progress, &before, state, last);
        }
        progress.due = self.reading.next(began);
    }

    fn read_file(&self, progress: &mut Progress, before: &Shown, state: State, last: bool) {
        let known = (state.began == progress.state.began).then_some(&*before.recording);
        let Some((recording, same)) = self.read_on(known, &place(&progress.kept)) else { return };
        // Its front was removed meanwhile, or its end was just being written.
        let changed = State::of(&progress.kept).is_ok_and(|now| now.began != state.began);
        progress.tries += 1;
        if (changed || is_damaged(recording.facts())) && !last && progress.tries < TRIES {
            return;
        }
        progress.tries = 0;
        progress.state = state;
        let removed = recording.start().since(before.recording.start());
        let mut shown = self.shown.write().unwrap_or_else(PoisonError::into_inner);
        *shown = Shown {
            recording: Arc::new(with_sources(recording, &self.reading.source_path)),
            generation: before.generation + 1,
            beginning: before.beginning + u64::from(!same),
            removed: before.removed + if same { DurationNs(0) } else { removed },
            ended: String::new(),
        };
    }

    /// Reads the file, and says whether it has the beginning that is `known`.
    fn read_on(&self, known: Option<&Recording>, path: &Path) -> Option<(Recording, bool)> {
        if let Some(known) = known {
            let recording = known.read_again(path, self.reading.rows).ok()?;
            let [began, before] = [&recording, known].map(|recording| recording.facts().start_epoch_ms);
            if began.total_cmp(&before).is_eq() {
                return Some((recording, true));
            }
        }
        Some((Recording::read_as(self.reading.file.clone(), path, self.reading.rows).ok()?, false))
    }
}

fn is_damaged(facts: &Facts) -> bool {
    !facts.problems.is_empty()
}

impl Reading {
    /// When to read next, after a reading that began then.
    fn next(&self, began: Instant) -> Instant {
        Instant::now() + self.refresh.max(began.elapsed().saturating_mul(REST))
    }
}

fn now(shown: &Shown, recordings: Vec<Facts>) -> Now {
    let (generation, beginning, ended) = (shown.generation, shown.beginning, shown.ended.clone());
    let (removed_ns, again_ms) = (shown.removed.0, REFRESH.as_millis() as u32);
    Now { generation, beginning, removed_ns, recordings, ended, again_ms, reading: None }
}

#[cfg(test)]
mod tests {
    use super::super::site::Content;
    use super::*;
    use headway_jfr::{RecordingWriter, WriterConfig};
    use headway_loopback::Asked;
    use headway_model::event::{LockDef, MonitorEnter, MonitorEntered, MonitorExit, RecordingInfo, ThreadDef};
    use headway_model::{Dictionary, Event, LockId, Seq, ThreadId, TimeNs};
    use headway_page::contract::{Answer, Aspect, Filter, Groups, Kind, Lanes, Names, Query, Scope};
    use std::collections::BTreeMap;

    const SECOND: u64 = 1_000_000_000;

    struct Writing {
        writer: RecordingWriter,
        dictionary: Dictionary,
        seconds: u64,
    }

    impl Writing {
        fn begin(path: &Path, max_age: Option<DurationNs>) -> Writing {
            let info = RecordingInfo { start: TimeNs(SECOND), producer: "headway".into(), ..RecordingInfo::default() };
            let mut config = WriterConfig::new(path, info.into());
            config.max_age = max_age;
            let writer = RecordingWriter::create(config).expect("a recording");
            Writing { writer, dictionary: Dictionary::default(), seconds: 1 }
        }

        fn put(&mut self, event: Event) {
            self.dictionary.feed(&event);
            self.writer.event(&event, &self.dictionary);
        }

        /// A new thread is blocked for half a second by another, on a new lock, and a third one still is:
        /// what is unfinished gets its names in another order than what is over.
        fn second(&mut self) {
            let (begin, id) = (self.seconds * SECOND, self.seconds);
            let (lock, end) = (LockId(id), TimeNs(begin + SECOND / 2));
            self.put(Event::Lock(LockDef {
                id: lock,
                class: "Shop".into(),
                name: format!("Shop.lock{id}").into(),
                ..LockDef::default()
            }));
            let [owner, waiter, last] = [1, 2, 3].map(|n| ThreadId(10 * id + n));
            for thread in [owner, waiter, last] {
                let name = format!("t{}", thread.0).into();
                self.put(Event::Thread(ThreadDef { id: thread, name, ..ThreadDef::default() }));
            }
            for (n, thread) in [(1, last), (2, waiter)] {
                let time = TimeNs(begin + n);
                let enter = MonitorEnter { time, thread, lock, seq: Seq(n), owner, ..Default::default() };
                self.put(Event::MonitorEnter(enter));
            }
            let exit = MonitorExit { time: end, thread: owner, lock, seq: Seq(3), ..Default::default() };
            self.put(Event::MonitorExit(exit));
            let (time, start) = (end + DurationNs(10), TimeNs(begin + 2));
            let entered = MonitorEntered { time, start, thread: waiter, lock, seq: Seq(4), ..Default::default() };
            self.put(Event::MonitorEntered(entered));
            self.seconds += 1;
            let now = TimeNs(self.seconds * SECOND);
            self.put(Event::Watermark(now));
            self.writer.flush(&self.dictionary, now).expect("written");
        }
    }

    fn live(path: &Path, refresh: Duration) -> Live {
        let reading = Reading { file: "a.jfr".into(), rows: 1000, source_path: Vec::new(), refresh };
        let path = path.to_owned();
        Live::begin(Box::new(move || File::open(&path)), reading).expect("read")
    }

    /// Waits for the next reading.
    fn next(live: &Live, known: u64) -> Now {
        for _ in 0..60_000 {
            let now = live.now(known);
            if now.generation != known {
                return now;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("nothing new after generation {known}");
    }

    fn by_lock(recording: &Recording) -> Query {
        let (to, filter) = (recording.facts().duration_ns, Filter::default());
        let scope = Scope {
            recording: 0,
            from: 0,
            to,
            filter,
            kinds: Kind::ALL.to_vec(),
            within: Vec::new(),
            stacks: None,
            threads: None,
        };
        let by = vec![Aspect::Lock, Aspect::ContenderThread, Aspect::OwnerThread];
        Query::Group { scope, by, intervals: 1, limit: 1000 }
    }

    fn locks(recording: &Recording) -> Groups {
        match recording.answer(&by_lock(recording)) {
            Answer::Group(groups) => groups,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_answer_without_names_is_the_same_otherwise() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.jfr");
        let mut writing = Writing::begin(&path, None);
        (0..3).for_each(|_| writing.second());
        let recording = Recording::read(&path, 1000).expect("read");
        let question = serde_json::to_string(&by_lock(&recording)).expect("JSON");
        let content = Content::Whole(String::new(), vec![recording]);
        let ask = |parameters: &str| {
            let (path, parameters, body) = ("query".to_owned(), parameters.to_owned(), question.clone());
            let reply = content.reply(&Asked { get: false, path, parameters, body });
            serde_json::from_str::<serde_json::Value>(&reply.body).expect("an answer")
        };
        let (mut whole, without) = (ask(""), ask("names=no"));
        let names = whole["names"].take();
        assert!(names["locks"].as_object().is_some_and(|locks| !locks.is_empty()), "{names}");
        assert!(whole["total"].as_array().is_some_and(|totals| !totals.is_empty()), "{whole}");
        whole["names"] = serde_json::to_value(Names::default()).expect("JSON");
        assert_eq!(without, whole);
    }

    #[test]
    fn a_growing_recording_is_shown_as_far_as_it_goes_and_ids_stay_what_they_are() {
        // What is packed does not say in its first bytes when it began.
        ["a.jfr", "a.jfr.zst"].into_iter().for_each(grows);
    }

    fn grows(name: &str) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join(name);
        let mut writing = Writing::begin(&path, None);
        writing.second();
        let live = live(&path, Duration::ZERO);
        let mut known = live.opening().live.expect("live").generation;
        let mut names = locks(&live.recording()).names;
        assert_eq!(live.now(known).recordings, [], "nothing was added");
        for second in 2..6_u64 {
            writing.second();
            let now = next(&live, known);
            let whole = Recording::read(&path, 1000).expect("read");
            assert_eq!(
                now.recordings,
                [Facts { file: "a.jfr".into(), ..whole.facts().clone() }],
                "{name} after {second} s"
            );
            let (groups, of_whole) = (locks(&live.recording()), locks(&whole));
            assert_eq!((groups.total_ns, groups.count), (of_whole.total_ns, of_whole.count), "{name} after {second} s");
            assert_eq!(now.recordings[0].threads, 3 * second);
            for (id, lock) in names.locks {
                assert_eq!(groups.names.locks.get(&id), Some(&lock), "lock {id} after {second} s");
            }
            for (id, thread) in names.threads {
                assert_eq!(groups.names.threads.get(&id), Some(&thread), "thread {id} after {second} s");
            }
            assert_eq!((now.beginning, now.ended.as_str()), (1, ""));
            (known, names) = (now.generation, groups.names);
        }
    }

    #[test]
    fn where_the_front_is_removed_ids_may_stand_for_something_else() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.jfr");
        let mut writing = Writing::begin(&path, Some(DurationNs(8 * SECOND)));
        writing.second();
        let live = live(&path, Duration::ZERO);
        (0..30).for_each(|_| writing.second());
        let now = next(&live, 1);
        assert_eq!(now.beginning, 2);
        let whole = Recording::read(&path, 1000).expect("read");
        assert_eq!(now.recordings, [whole.facts().clone()]);
        assert_eq!(locks(&live.recording()), locks(&whole));
    }

    #[test]
    fn times_count_from_a_later_moment_once_the_front_was_removed_and_a_question_says_from_which() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.jfr");
        let mut writing = Writing::begin(&path, Some(DurationNs(8 * SECOND)));
        (0..30).for_each(|_| writing.second());
        let live = Arc::new(live(&path, Duration::ZERO));
        let content = Content::Live(live.clone());
        let ask = |parameters: &str| {
            let body = r#"{"ask":"whole","recording":0}"#.to_owned();
            content.reply(&Asked { get: false, path: "query".into(), parameters: parameters.into(), body }).status
        };
        let before = starts(&live.recording());
        assert_eq!(ask("beginning=1"), 200);
        (0..4).for_each(|_| writing.second());
        let mut now = next(&live, 1);
        while now.beginning == 1 {
            writing.second();
            now = next(&live, now.generation);
        }
        let after = starts(&live.recording());
        let both: Vec<&String> = after.keys().filter(|thread| before.contains_key(*thread)).collect();
        assert!(!both.is_empty() && now.removed_ns > 0, "{now:?}");
        for thread in both {
            // What goes on since before the removal is shown from the new beginning on.
            assert_eq!(before[thread].saturating_sub(now.removed_ns), after[thread], "{thread}");
        }
        assert!(after.values().any(|start| *start > SECOND), "{after:?}");
        assert_eq!(["beginning=1", "beginning=2", "", "beginning=two"].map(ask), [409, 200, 400, 400]);
    }

    /// When each thread was blocked, by its name; each was once.
    fn starts(recording: &Recording) -> BTreeMap<String, u64> {
        let (to, filter) = (recording.facts().duration_ns, Filter::default());
        let scope = Scope {
            recording: 0,
            from: 0,
            to,
            filter,
            kinds: vec![Kind::Monitor],
            within: Vec::new(),
            stacks: None,
            threads: None,
        };
        match recording.answer(&Query::Lanes { scope, first: 0, count: 1000, pixels: 1 << 30 }) {
            Answer::Lanes(Lanes { lanes, names, .. }) => lanes
                .iter()
                .map(|lane| (names.threads[&lane.thread].name.clone(), u64::try_from(lane.longest[0]).expect("no sum")))
                .collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_last_reading_is_of_the_file_that_took_the_place_of_the_first() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.jfr");
        let mut writing = Writing::begin(&path, Some(DurationNs(8 * SECOND)));
        writing.second();
        let live = live(&path, Duration::from_secs(1 << 20));
        (0..30).for_each(|_| writing.second());
        let whole = Recording::read(&path, 1000).expect("read");
        assert!(live.written().is_some());
        std::fs::remove_file(&path).expect("removed");
        live.end("The JVM 7 has ended.".into());
        assert_eq!(live.now(1).recordings, [whole.facts().clone()]);
    }

    #[test]
    fn what_is_over_was_read_to_its_end_and_stays_when_the_file_is_removed() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.jfr");
        let mut writing = Writing::begin(&path, None);
        writing.second();
        let live = live(&path, Duration::from_secs(1 << 20));
        writing.second();
        assert_eq!(live.now(1).generation, 1, "it is not read more often than it may be");
        std::fs::remove_file(&path).expect("removed");
        live.end("The JVM 7 has ended.".into());
        let now = live.now(1);
        assert_eq!((now.ended.as_str(), now.recordings[0].threads), ("The JVM 7 has ended.", 6));
        assert_eq!(live.now(now.generation).recordings, []);
    }
}
