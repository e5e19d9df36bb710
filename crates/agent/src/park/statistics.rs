//! How much threads parked on each blocker so far, on the draining thread: to
//! be asked for, to be printed, and to be recorded at the end.
//!
//! No blocker is kept alive by it, and their number is bounded. What a
//! collected blocker, an ended thread and the methods of a chain were called is
//! kept as long as the statistics speak of them.

use crate::agent::Agent;
use crate::clock;
use crate::options::{Options, PrintTo};
use headway_analysis::document::Document;
use headway_analysis::park::statistics::{BlockerParks, ParkStatisticsReport, ParkTally, TallyOptions};
use headway_model::{ChainId, Dictionary, DurationNs, Event, LockId, Loss, ThreadId, TimeNs};
use headway_signal::ParkCount;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::Ordering;

/// Names beyond twice those in use that are kept before they are gone through.
const SPARE_NAMES: usize = 4096;

impl PrintTo {
    fn print(&self, text: &str) -> io::Result<()> {
        match self {
            PrintTo::Stderr => io::stderr().write_all(text.as_bytes()),
            // A pipe that nobody reads is an error, not something to wait for.
            PrintTo::File(path) => OpenOptions::new()
                .append(true)
                .create(true)
                .mode(0o600)
                .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK)
                .open(path)?
                .write_all(text.as_bytes()),
        }
    }
}

/// How a report is wanted; what is not said is as the recording has it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wish {
    /// Leave out blockers with fewer parks.
    pub printing_threshold: Option<u64>,
    /// Forget collected blockers afterwards.
    pub free_on_print: bool,
}

/// See the module.
pub struct LiveParks {
    agent: &'static Agent,
    /// `None` where parks are not recorded, or once it has failed: the
    /// recording goes on without it.
    tally: Option<Box<ParkTally>>,
    names: Dictionary,
    /// Names kept when they were last gone through.
    names_in_use: usize,
    /// True if something was fed since names were looked up.
    is_stale: bool,
    start: TimeNs,
    /// Up to here everything was counted.
    counted: TimeNs,
    options: TallyOptions,
    print_to: Option<PrintTo>,
    json: bool,
}

impl LiveParks {
    /// Begins with a recording.
    pub fn new(agent: &'static Agent, options: &Options, start: TimeNs) -> LiveParks {
        let tally = TallyOptions {
            collection_threshold: options.park_threshold.unwrap_or(0),
            printing_threshold: options.park_print_threshold.unwrap_or(0),
            free_on_print: options.park_free_on_print,
            ..TallyOptions::online()
        };
        agent.parks_asked.store(false, Ordering::Relaxed);
        LiveParks {
            agent,
            tally: options.counts_parks().then(|| Box::new(ParkTally::new(tally))),
            names: Dictionary::default(),
            names_in_use: 0,
            is_stale: false,
            start,
            counted: start,
            options: tally,
            json: options.parks_json || options.parks_to.as_ref().is_some_and(PrintTo::is_json),
            print_to: options.parks_to.clone(),
        }
    }

    /// Takes in what the threads have counted since the last call, before the
    /// names of what died are forgotten.
    pub fn collect(&mut self) {
        if self.tally.is_none() {
            return;
        }
        let agent = self.agent;
        agent.locks.parks().changed(|| clock::now().0, |count| self.put(&count));
        self.counted = clock::now();
    }

    /// The same at the end of a recording, when no thread counts any more: whatever
    /// a change of the very last moment left unmarked.
    pub fn collect_all(&mut self, end: TimeNs) {
        if self.tally.is_none() {
            return;
        }
        let agent = self.agent;
        agent.locks.each_parked_on(end, |count| self.put(&count));
        self.counted = end;
    }

    fn put(&mut self, count: &ParkCount) {
        self.is_stale = true;
        let agent = self.agent;
        self.guarded(|tally| {
            // The park that follows is counted from nothing.
            tally.put(parks_of(count), |folded| agent.locks.parks().taken(&count_of(folded)));
        });
    }

    /// A lock has got its name.
    pub fn is_named(&mut self) {
        self.is_stale = true;
    }

    /// A blocker's object died, and nobody parks on it any more.
    pub fn collected(&mut self, blocker: LockId, time: TimeNs) {
        if let Some(count) = self.agent.locks.parks().of(blocker.0, || time.0) {
            self.put(&count);
        }
        self.guarded(|tally| tally.collected(blocker, time));
    }

    /// Keeps the names of what is counted. Nothing that it names has been forgotten
    /// since the last call.
    pub fn settle(&mut self, dictionary: &Dictionary) {
        if !std::mem::take(&mut self.is_stale) {
            return;
        }
        let Some(tally) = self.tally.as_deref() else { return };
        for parks in tally.measured() {
            keep_names(parks, dictionary, &mut self.names);
        }
        if self.names.len() > 2 * self.names_in_use + SPARE_NAMES {
            let all = std::mem::take(&mut self.names);
            for parks in tally.measured() {
                keep_names(parks, &all, &mut self.names);
            }
            self.names_in_use = self.names.len();
        }
    }

    /// True once for each time that somebody asked for a thread dump.
    pub fn is_asked(&self) -> bool {
        self.agent.parks_asked.load(Ordering::Relaxed) && self.agent.parks_asked.swap(false, Ordering::Relaxed)
    }

    /// The statistics up to now; what is collected is forgotten if so wished.
    pub fn report(&mut self, wish: Wish) -> Result<ParkStatisticsReport, String> {
        let names = std::mem::take(&mut self.names);
        let (start, end, options) = (self.start, self.counted, self.options);
        let report = self.guarded(|tally| {
            let threshold = wish.printing_threshold.unwrap_or(options.printing_threshold);
            tally.set_printing(threshold, wish.free_on_print || options.free_on_print);
            let report = ParkStatisticsReport::new(tally, start, end, &names);
            tally.printed();
            report
        });
        self.names = names;
        report.ok_or_else(|| "the recording under way has no park statistics: it does not record parks".to_owned())
    }

    /// Prints the statistics, if and where that is asked for.
    pub fn print(&mut self) {
        let Some(to) = self.print_to.clone() else { return };
        let Ok(report) = self.report(Wish::default()) else { return };
        let text = match self.json {
            true => serde_json::to_string(&Document::new(&report)).unwrap_or_default(),
            false => report.table(None),
        };
        if let Err(error) = to.print(&(text + "\n")) {
            let to = match &to {
                PrintTo::Stderr => "standard error".to_owned(),
                PrintTo::File(path) => path.display().to_string(),
            };
            self.agent.definitions.degraded("park-statistics", &format!("not printed: cannot write to {to}: {error}"));
        }
    }

    /// What the blockers, threads and methods in the statistics are called.
    pub fn names(&self) -> &Dictionary {
        &self.names
    }

    /// What is recorded at the end.
    pub fn finish(&mut self, end: TimeNs) -> Vec<Event> {
        let events = self.guarded(|tally| {
            tally.set_printing(0, false);
            let shown = tally.shown(end);
            shown.iter().map(|parks| Event::ParkStatistics(parks.event(end))).collect()
        });
        events.unwrap_or_default()
    }

    fn guarded<T>(&mut self, work: impl FnOnce(&mut ParkTally) -> T) -> Option<T> {
        let tally = self.tally.as_deref_mut()?;
        let done = catch_unwind(AssertUnwindSafe(|| work(tally)));
        if done.is_err() {
            self.tally = None;
            self.agent.losses.add(Loss::Panic, 1);
        }
        done.ok()
    }
}

/// What a thread's counts say.
fn parks_of(count: &ParkCount) -> BlockerParks {
    let now = if count.parked_now > 0 { count.now_ns } else { count.last_ns };
    BlockerParks {
        blocker: LockId(count.lock),
        thread: ThreadId(count.thread),
        chain: ChainId(count.chain),
        times_parked: count.times_parked,
        parked_now: u32::try_from(count.parked_now).unwrap_or(u32::MAX),
        peak_parked: u32::try_from(count.peak_parked).unwrap_or(u32::MAX),
        thread_time: DurationNs(count.thread_time_ns),
        real_time: DurationNs(count.real_time_ns),
        first_parked: TimeNs(count.first_ns),
        last_event: TimeNs(now),
        ..BlockerParks::default()
    }
}

/// What of a lock's counts has been put away.
fn count_of(parks: &BlockerParks) -> ParkCount {
    ParkCount {
        lock: parks.blocker.0,
        times_parked: parks.times_parked,
        thread_time_ns: parks.thread_time.0,
        real_time_ns: parks.real_time.0,
        ..ParkCount::default()
    }
}

/// Copies what a blocker, its thread and its chain are called, where `from`
/// says it and `into` does not.
fn keep_names(parks: &BlockerParks, from: &Dictionary, into: &mut Dictionary) {
    if let Some(lock) = from.lock(parks.blocker).filter(|lock| into.lock(parks.blocker) != Some(lock)) {
        into.feed(&Event::Lock(lock.clone()));
    }
    if let Some(thread) = from.thread(parks.thread).filter(|_| into.thread(parks.thread).is_none()) {
        into.feed(&Event::Thread(thread.clone()));
    }
    let Some(chain) = from.chain(parks.chain).filter(|_| into.chain(parks.chain).is_none()) else { return };
    into.feed(&Event::Chain(chain.clone()));
    for frame in &chain.chain.frames {
        if let Some(method) = from.method(frame.method).filter(|_| into.method(frame.method).is_none()) {
            into.feed(&Event::Method(frame.method, method.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_model::event::{LockDef, ThreadDef};

    #[test]
    fn names_outlive_what_they_name() {
        let (mut from, mut into) = (Dictionary::default(), Dictionary::default());
        let (blocker, thread) = (LockId(7), ThreadId(3));
        let lock = |name: &str| LockDef { id: blocker, name: name.into(), ..LockDef::default() };
        let parks = BlockerParks { blocker, thread, ..BlockerParks::default() };
        from.feed(&Event::Lock(lock("")));
        from.feed(&Event::Thread(ThreadDef { id: thread, name: "worker".into(), ..ThreadDef::default() }));
        keep_names(&parks, &from, &mut into);
        // The field's name comes later.
        from.feed(&Event::Lock(lock("Shop.stock")));
        keep_names(&parks, &from, &mut into);
        keep_names(&parks, &Dictionary::default(), &mut into);
        assert_eq!(into.lock(blocker).map(|lock| &*lock.name), Some("Shop.stock"));
        assert_eq!(into.thread(thread).map(|thread| &*thread.name), Some("worker"));
        assert_eq!(into.len(), 2);
    }

    #[test]
    fn a_file_is_appended_to_for_its_owner() {
        let path = std::env::temp_dir().join(format!("headway-parks-{}.json", std::process::id()));
        let to = PrintTo::parse(path.display().to_string());
        to.print("one\n").unwrap();
        to.print("two\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
        std::fs::remove_file(&path).unwrap();
        assert!(to.is_json() && !PrintTo::Stderr.is_json());
    }
}
