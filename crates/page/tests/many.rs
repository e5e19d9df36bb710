//! Far more threads and locks than there are rows: a recording of known contentions is read as `headway view` reads it,
//! and what the page shows of it is compared with what was written.
//!
//! Sums that are asked for are exact, what is folded has a name, and memory, answers and the page in one file stay small.

use headway_jfr::{RecordingWriter, WriterConfig};
use headway_model::event::{LockDef, MonitorEnter, MonitorEntered, MonitorExit, RecordingInfo, ThreadDef};
use headway_model::stack::ChainDef;
use headway_model::{
    CallChain, ChainId, Dictionary, Event, Frame, FrameKind, LockId, Method, MethodId, Seq, ThreadId, TimeNs,
};
use headway_page::contract::{Answer, Aspect, Filter, Groups, Kind, Query, Scope};
use headway_page::{html, Recording};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

const START: u64 = 5_000_000_000;
/// A contention begins so long after the one before.
const STEP: u64 = 100_000;
/// Numbers of locks between two that block for long.
const EVERY: u64 = 1000;
const LONG: u64 = 5_000_000;
const OWNER: ThreadId = ThreadId(10);
/// More bytes than any of the questions below needs, however large the recording is.
const MOST_BYTES: usize = 400_000;

type Problem = Box<dyn Error>;

/// Each of the locks is contended once, by the threads in turn.
#[derive(Clone, Copy)]
struct Many {
    threads: u64,
    locks: u64,
}

impl Many {
    fn length(self, lock: u64) -> u64 {
        if lock % EVERY == 7 {
            LONG + lock / EVERY * 1000
        } else {
            50_000 + lock % 7 * 10_000
        }
    }

    /// Begin, end, thread and lock of each contention; times since the recording's begin.
    fn contentions(self) -> impl Iterator<Item = (u64, u64, u64, u64)> {
        (0..self.locks).map(move |n| (n * STEP, n * STEP + self.length(n), n % self.threads, n))
    }

    /// Blocked time by any number that a contention has.
    fn totals(self, key: impl Fn(u64, u64) -> u64) -> BTreeMap<u64, u64> {
        let mut totals = BTreeMap::new();
        self.contentions()
            .for_each(|(from, to, thread, lock)| *totals.entry(key(thread, lock)).or_default() += to - from);
        totals
    }

    /// Blocked time in each of so many intervals of this length, of locks that `counts` accepts.
    fn over_time(self, intervals: usize, length: u64, counts: impl Fn(u64) -> bool) -> Vec<u64> {
        let mut totals = vec![0; intervals];
        for (from, to, _, lock) in self.contentions().filter(|(.., lock)| counts(*lock)) {
            debug_assert!(lock < self.locks);
            let mut at = from;
            while at < to {
                let end = to.min((at / length + 1) * length);
                if let Some(total) = totals.get_mut((at / length) as usize) {
                    *total += end - at;
                }
                at = end;
            }
        }
        totals
    }

    fn write(self, path: &Path) -> Result<(), Problem> {
        let at = |time: u64| TimeNs(START + time);
        let info = RecordingInfo {
            start: at(0),
            epoch_offset_ns: 1_790_000_000_000_000_000,
            producer: "headway test".into(),
            settings: vec![("events".into(), "monitor,park".into())],
            ..RecordingInfo::default()
        };
        let mut writer = RecordingWriter::create(WriterConfig::new(path, Arc::new(info)))?;
        let mut dictionary = Dictionary::default();
        let put = |writer: &mut RecordingWriter, dictionary: &mut Dictionary, event: Event| {
            dictionary.feed(&event);
            writer.event(&event, dictionary);
        };
        let method = Method { class: "com.acme.Many".into(), name: "run".into(), ..Method::default() };
        put(&mut writer, &mut dictionary, Event::Method(MethodId(1), Arc::new(method)));
        let frame = Frame { method: MethodId(1), bci: 1, line: 7, kind: FrameKind::Compiled, approximate: false };
        let (chain, frames) = (ChainId(1), vec![frame]);
        let def = ChainDef { id: chain, chain: CallChain { frames, truncated: false } };
        put(&mut writer, &mut dictionary, Event::Chain(Arc::new(def)));
        let mut end = 0;
        for (from, to, thread, lock) in self.contentions() {
            let (id, number) = (LockId(1000 + lock), thread);
            let thread = ThreadId(1000 + thread);
            if lock < self.threads {
                let name = format!("many-{number}").into();
                put(
                    &mut writer,
                    &mut dictionary,
                    Event::Thread(ThreadDef { id: thread, name, os_id: 1000, ..ThreadDef::default() }),
                );
            }
            let class = "com.acme.Many".into();
            let identity_hash = 0x1000 + lock as u32;
            put(&mut writer, &mut dictionary, Event::Lock(LockDef { id, class, identity_hash, name: "".into() }));
            let (start, time) = (at(from), at(to));
            let enter = MonitorEnter { time: start, thread, lock: id, seq: Seq(1), chain, owner: OWNER };
            put(&mut writer, &mut dictionary, Event::MonitorEnter(enter));
            let (seq, lock) = (Seq(2), id);
            put(
                &mut writer,
                &mut dictionary,
                Event::MonitorExit(MonitorExit { time, thread: OWNER, lock, seq, chain, ..Default::default() }),
            );
            let seq = Seq(3);
            let entered = MonitorEntered { time, start, thread, lock, seq, chain, ..Default::default() };
            put(&mut writer, &mut dictionary, Event::MonitorEntered(entered));
            end = end.max(to);
            if number % 20_000 == 19_999 {
                writer.flush(&dictionary, time)?;
            }
        }
        writer.finish(&dictionary, at(end))?;
        Ok(())
    }
}

/// What is asked, and how many bytes the answers are.
struct Asking<'a> {
    recording: &'a Recording,
    to: u64,
    most_bytes: usize,
}

impl Asking<'_> {
    fn group(&mut self, by: &[Aspect], intervals: u32, limit: usize) -> Result<Groups, Problem> {
        let scope = Scope {
            recording: 0,
            from: 0,
            to: self.to,
            filter: Filter::default(),
            kinds: vec![Kind::Monitor, Kind::Juc],
            within: Vec::new(),
            stacks: None,
            threads: None,
        };
        let answer = self.recording.answer(&Query::Group { scope, by: by.to_vec(), intervals, limit });
        let bytes = serde_json::to_vec(&answer)?.len();
        self.most_bytes = self.most_bytes.max(bytes);
        match answer {
            Answer::Group(groups) => Ok(groups),
            _ => Err("not groups".into()),
        }
    }
}

/// Peak memory of this process in MiB.
fn peak_mib() -> Result<u64, Problem> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? / 1024)
}

/// Reads it with so many rows, and compares all that is asked.
fn check(many: Many, path: &Path, rows: usize) -> Result<(), Problem> {
    let begin = Instant::now();
    let recording = Recording::read(path, rows)?;
    let read = begin.elapsed().as_secs_f64();
    let facts = recording.facts();
    assert!(facts.problems.is_empty(), "{:?}", facts.problems);
    let (base, heavy, is_folded) = (facts.base_ns.max(1), many.locks / EVERY, many.locks > rows as u64);
    println!(
        "{} threads, {} locks, {rows} rows: {read:.1} s, {} added up by {base} ns, {} threads and {} locks folded",
        many.threads, many.locks, facts.summed, facts.folded_threads, facts.folded_locks
    );
    let (summed, folded) = (facts.summed > 0, facts.folded_threads > 0 && facts.folded_locks > 0);
    assert_eq!((summed, folded), (is_folded, is_folded), "only what is too much is added up");
    assert!(facts.folded_locks <= many.locks && facts.folded_threads <= many.threads);
    // Intervals as long as several base intervals, up to the recording's end or beyond it.
    let to = facts.duration_ns.next_multiple_of(base);
    let mut asking = Asking { recording: &recording, to, most_bytes: 0 };

    let total: u64 = many.totals(|_, _| 0).into_values().sum();
    let all = asking.group(&[Aspect::LockName], 1, 10)?;
    assert_eq!((all.total_ns, all.count), (total, many.locks));
    assert_eq!(all.total, [total], "all have one name");

    // Locks with much time are exact; those without it are together and have a name.
    let locks = asking.group(&[Aspect::Lock], 1, 300)?;
    assert_eq!(locks.total_ns, total);
    let truth = many.totals(|_, lock| lock);
    let is_rest = |at: usize| locks.names.locks[&locks.value[at]].name == "com.acme.Many (others)";
    let rest = (0..locks.value.len()).find(|at| is_rest(*at));
    assert_eq!(rest.map_or(0, |rest| locks.entries[rest]), facts.folded_locks, "of locks that were contended once");
    let mut longest: Vec<u64> = truth.values().copied().collect();
    longest.sort_unstable_by_key(|length| std::cmp::Reverse(*length));
    let shown: Vec<u64> = (0..locks.total.len()).filter(|at| !is_rest(*at)).map(|at| locks.total[at]).collect();
    assert_eq!(shown, longest[..shown.len()]);
    assert!(shown.len() as u64 >= heavy.min(299));
    for (at, id) in locks.value.iter().enumerate().filter(|(at, _)| !is_rest(*at)).take(heavy as usize) {
        let name = &locks.names.locks[id].name;
        let hash = name.rsplit_once('@').ok_or("a lock without hash")?.1;
        assert_eq!(truth.get(&(u64::from_str_radix(hash, 16)? - 0x1000)), Some(&locks.total[at]), "{name}");
    }

    // The same of threads.
    let threads = asking.group(&[Aspect::ContenderThread], 1, 300)?;
    let single = |id: &u32| threads.names.threads[id].others == 0;
    let mut compared = 0;
    for (at, id) in threads.value.iter().enumerate().filter(|(_, id)| single(id)) {
        let name = &threads.names.threads[id].name;
        let number: u64 = name.trim_start_matches("many-").parse()?;
        // All its contentions; or only those too long to be added up, beside the sum of its group.
        let mut lengths: Vec<u64> = (0..)
            .map(|n| number + n * many.threads)
            .take_while(|lock| *lock < many.locks)
            .map(|lock| many.length(lock))
            .collect();
        lengths.sort_unstable_by_key(|length| std::cmp::Reverse(*length));
        let mut sum = 0;
        let is_possible = lengths.iter().any(|length| {
            sum += length;
            sum == threads.total[at]
        });
        assert!(is_possible, "{name}: {} of {lengths:?}", threads.total[at]);
        compared += 1;
    }
    assert!(compared >= 200.min(many.threads / 10), "{compared} threads");
    assert_eq!(threads.total_ns, total);

    // Every interval is exact, and no more threads are blocked in it than there are.
    let intervals = (to / base).min(300);
    let length = (to / base / intervals).max(1) * base;
    let mut whole = Asking { to: length * intervals, ..asking };
    let over_time = whole.group(&[Aspect::Kind, Aspect::Time], intervals as u32, 10)?;
    let mut found = vec![0; intervals as usize];
    for at in (0..over_time.value.len()).filter(|at| over_time.parent[*at] >= 0) {
        found[over_time.value[at] as usize] += over_time.total[at];
    }
    assert_eq!(found, many.over_time(intervals as usize, length, |_| true));
    assert!(found.iter().all(|total| *total <= length * many.threads));

    // The locks with most time over time, of which each answer has only those asked for.
    let by_lock = whole.group(&[Aspect::Lock, Aspect::Time], intervals as u32, 300)?;
    for at in (0..by_lock.value.len()).filter(|at| by_lock.parent[*at] < 0).take(heavy.min(10) as usize) {
        let name = &by_lock.names.locks[&by_lock.value[at]].name;
        let Some((_, hash)) = name.rsplit_once('@') else { continue };
        let number = u64::from_str_radix(hash, 16)? - 0x1000;
        let mut found = vec![0; intervals as usize];
        for child in (0..by_lock.value.len()).filter(|child| by_lock.parent[*child] == at as i32) {
            found[by_lock.value[child] as usize] += by_lock.total[child];
        }
        assert_eq!(found, many.over_time(intervals as usize, length, |lock| lock == number), "{name}");
    }
    let most_bytes = whole.most_bytes;
    let page = html::in_one_file(&[recording])?;
    println!("largest answer {most_bytes} bytes, page {} bytes, peak {} MiB", page.len(), peak_mib()?);
    assert!(most_bytes <= MOST_BYTES, "an answer of {most_bytes} bytes");
    assert!(page.len() <= 25_000_000, "a page of {} bytes", page.len());
    Ok(())
}

/// All of it is for `./hw soak --page`, which sets `HEADWAY_MANY`; the peak memory of the process is asserted there.
#[test]
fn far_more_threads_and_locks_than_rows() -> Result<(), Problem> {
    let place = tempfile::tempdir()?;
    let path = place.path().join("many.jfr");
    if std::env::var_os("HEADWAY_MANY").is_none() {
        let many = Many { threads: 5_000, locks: 50_000 };
        many.write(&path)?;
        return check(many, &path, 40_000);
    }
    let many = Many { threads: 100_000, locks: 1_000_000 };
    many.write(&path)?;
    // As many rows as a page in one file has, then as many as a served one.
    check(many, &path, 600_000)?;
    check(many, &path, 1_500_000)?;
    let peak = peak_mib()?;
    assert!(peak <= 2400, "{peak} MiB");
    Ok(())
}
