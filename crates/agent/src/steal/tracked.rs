//! The threads that are sampled, and which of them are worth a look.
//!
//! A thousand threads that are idle must not cost a thousand system calls each
//! time. So those that ran lately are looked at in every sample, and the others
//! when the process used CPU time that nobody is known to have used, or when a
//! look at all of them is cheap for the time that passed. What these cost is
//! bounded by how often they are done: a thread's clock takes up to 0.7 us to
//! read, and the process's up to 0.2 us for each thread.

use super::clocks::Clocks;
use super::sampler::{tell_thread, Found, Interval, Ran};
use crate::state::Ended;
use headway_host::{task, KeptFile, Root};
use headway_model::event::ThreadTime;
use headway_model::{DurationNs, Event, ThreadId, TimeNs};
use headway_sample::task::files_to_keep;
use std::collections::{HashMap, HashSet};

/// For each thread, the time that must have passed since the process's clock
/// was last read, and the least for all.
const PROCESS_EVERY_NS: u64 = 1_000_000;
const PROCESS_LEAST_NS: u64 = 200_000_000;
/// For each thread, the time after which all are looked at in any case.
const ALL_EVERY_NS: u64 = 10_000_000;
/// The part of a CPU that may remain unexplained: a thousandth, but at least
/// what clocks that are not read at once differ by.
const UNEXPLAINED: u64 = 1_000;
const LEAST_UNEXPLAINED_NS: u64 = 50_000;
/// CPU time of a thread between its last reading and its end.
const END_NS: i64 = 200_000;
/// Looks that find nothing after which a thread counts as idle. The VM's own threads are
/// few, and wake up now and then.
const IDLE_AFTER: u8 = 2;
const NATIVE_IDLE_AFTER: u8 = 16;
/// How long the wait of a thread that hardly runs may be left unread.
const WAIT_EVERY_NS: u64 = 1_000_000_000;
/// A thread hardly runs if it used less than this part of an interval.
const HARDLY: u64 = 100;
/// Files of run-queue waits that stay open, and the part of the files that the
/// process may open at most.
const MOST_FILES: u64 = 64;
const PART_OF_FILES: u64 = 32;

/// What is known of a thread from the last time it was looked at.
#[derive(Debug, Default)]
struct Known {
    os_id: u32,
    /// `None` before the first look.
    cpu_ns: Option<u64>,
    wait_ns: Option<u64>,
    /// CPU time since its wait was read, and when that was.
    unread_ns: u64,
    wait_read: TimeNs,
    /// How often it gave up its CPU by itself, if that is watched.
    switches: Option<u64>,
    looks_in_vain: u8,
    has_ended: bool,
    /// Its run-queue wait, if it stays open.
    file: Option<KeptFile>,
}

impl Known {
    fn new(os_id: u32) -> Known {
        Known { os_id, ..Known::default() }
    }
}

/// See the module.
pub(super) struct Tracked<C> {
    root: Root,
    pub clocks: C,
    threads: HashMap<ThreadId, Known>,
    /// Those that are looked at in every sample.
    active: Vec<ThreadId>,
    natives: HashSet<u32>,
    java: HashSet<u32>,
    files: u64,
    most_files: u64,
    samples: u64,
    process_ns: u64,
    process_read: TimeNs,
    /// CPU time of threads since the process's clock was read before this
    /// interval.
    told_since_ns: u64,
    /// What threads that ended used in this interval.
    ended_ns: u64,
    /// CPU time of the process that no thread is known to have used, since all
    /// were looked at.
    unexplained_ns: i64,
    all_looked_at: TimeNs,
}

impl<C: Clocks> Tracked<C> {
    pub fn new(root: Root, clocks: C) -> Tracked<C> {
        Tracked {
            root,
            clocks,
            threads: HashMap::new(),
            active: Vec::new(),
            natives: HashSet::new(),
            java: HashSet::new(),
            files: 0,
            most_files: MOST_FILES.min(files_to_keep(PART_OF_FILES)),
            samples: 0,
            process_ns: 0,
            process_read: TimeNs(0),
            told_since_ns: 0,
            ended_ns: 0,
            unexplained_ns: 0,
            all_looked_at: TimeNs(0),
        }
    }

    /// These are Java's threads, all of them.
    pub fn set_java(&mut self, found: impl Iterator<Item = Found>) {
        let mut ids = HashSet::new();
        self.java.clear();
        for found in found.filter(|found| found.os_id != 0) {
            ids.insert(found.thread);
            self.java.insert(found.os_id);
            // One that turned out to be Java's.
            if self.natives.remove(&found.os_id) {
                self.forget(ThreadId::native(found.os_id));
            }
            self.track(found.thread, found.os_id);
        }
        let natives = &self.natives;
        let left = |thread: &ThreadId, known: &Known| !ids.contains(thread) && !natives.contains(&known.os_id);
        let gone = self.threads.iter().filter(|(thread, known)| left(thread, known)).map(|(thread, _)| *thread);
        for thread in gone.collect::<Vec<_>>() {
            self.forget(thread);
        }
    }

    fn track(&mut self, thread: ThreadId, os_id: u32) {
        let known = self.threads.entry(thread).or_insert_with(|| {
            self.active.push(thread);
            Known::new(os_id)
        });
        if known.os_id != os_id {
            known.os_id = os_id;
            self.files -= u64::from(known.file.take().is_some());
        }
    }

    fn forget(&mut self, thread: ThreadId) {
        if let Some(known) = self.threads.remove(&thread) {
            self.files -= u64::from(known.file.is_some());
        }
    }

    /// True if the kernel has others than are known here.
    pub fn are_others(&self) -> bool {
        let known = self.java.len() + self.natives.len();
        task::count(&self.root).is_ok_and(|count| count != known as u64)
    }

    /// Threads that the kernel has and Java has not; gives those that are new to
    /// `define`, which says whether they are there. What they used before is
    /// not known to be of this interval.
    pub fn list_natives(&mut self, mut define: impl FnMut(&Root, u32) -> bool) {
        let listed: HashSet<u32> = task::ids(&self.root).unwrap_or_default().into_iter().collect();
        let gone: Vec<u32> = self.natives.iter().filter(|os_id| !listed.contains(os_id)).copied().collect();
        for os_id in gone {
            self.natives.remove(&os_id);
            self.forget(ThreadId::native(os_id));
        }
        for os_id in listed {
            if self.java.contains(&os_id) || self.natives.contains(&os_id) || !define(&self.root, os_id) {
                continue;
            }
            self.natives.insert(os_id);
            let thread = ThreadId::native(os_id);
            let cpu_ns = self.clocks.thread_ns(os_id);
            self.track(thread, os_id);
            if let Some(known) = self.threads.get_mut(&thread).filter(|_| self.samples > 1) {
                known.cpu_ns = cpu_ns.or(Some(0));
            }
        }
    }

    /// A sample begins.
    pub fn begin(&mut self) {
        self.samples += 1;
    }

    /// Looks at the threads that are worth it, and says what they used.
    pub fn look(&mut self, interval: Interval, watch: bool, out: &mut Vec<Event>) -> Vec<Ran> {
        let end = interval.start + interval.duration;
        let look = Look { interval, end, watch };
        let mut ran = Vec::new();
        for thread in std::mem::take(&mut self.active) {
            self.look_at(thread, look, &mut ran, out);
        }
        let count = self.threads.len() as u64;
        let active_ns: u64 = ran.iter().map(|ran| ran.cpu_ns).sum();
        self.unexplained_ns -= as_signed(active_ns);
        let explained = active_ns + std::mem::take(&mut self.ended_ns);
        let process_ns = self.read_process(look, count);
        let mut late = Vec::new();
        if self.samples == 1 || self.are_all_due(end, count) {
            self.look_at_all(look, &mut late, out);
        }
        let late_ns: u64 = late.iter().map(|ran| ran.cpu_ns).sum();
        self.tell_process(process_ns, explained + late_ns, interval, out);
        ran.extend(late);
        ran
    }

    /// What the process used since its clock was last read, if it is time.
    fn read_process(&mut self, look: Look, count: u64) -> Option<u64> {
        let since = look.end.since(self.process_read).0;
        if self.samples > 1 && since < (count * PROCESS_EVERY_NS).max(PROCESS_LEAST_NS) {
            return None;
        }
        self.process_read = look.end;
        let now = self.clocks.process_ns();
        let used = now.saturating_sub(std::mem::replace(&mut self.process_ns, now));
        self.unexplained_ns += as_signed(used);
        Some(used)
    }

    /// The whole process, whatever became of its threads. What belongs to
    /// intervals before was reported with them.
    fn tell_process(&mut self, used: Option<u64>, explained: u64, interval: Interval, out: &mut Vec<Event>) {
        let Some(used) = used else {
            self.told_since_ns += explained;
            return;
        };
        let cpu = DurationNs(used.saturating_sub(std::mem::take(&mut self.told_since_ns)));
        if self.samples > 1 {
            let Interval { start, duration } = interval;
            out.push(Event::ThreadTime(ThreadTime { start, duration, thread: ThreadId::NONE, cpu, run_queue: None }));
        }
    }

    fn are_all_due(&self, end: TimeNs, count: u64) -> bool {
        let since = end.since(self.all_looked_at).0;
        let bearable = as_signed((since / UNEXPLAINED).max(LEAST_UNEXPLAINED_NS));
        since >= count * ALL_EVERY_NS || self.unexplained_ns > bearable
    }

    /// Looks at those that were not looked at yet.
    fn look_at_all(&mut self, look: Look, ran: &mut Vec<Ran>, out: &mut Vec<Event>) {
        self.all_looked_at = look.end;
        self.unexplained_ns = 0;
        let seen: HashSet<ThreadId> = self.active.iter().copied().collect();
        let mut others: Vec<ThreadId> = self.threads.keys().filter(|thread| !seen.contains(thread)).copied().collect();
        others.sort_unstable();
        for thread in others {
            self.look_at(thread, look, ran, out);
        }
    }

    /// Looks at a thread; it stays among the active ones if it ran lately.
    fn look_at(&mut self, thread: ThreadId, look: Look, all: &mut Vec<Ran>, out: &mut Vec<Event>) {
        let Some(known) = self.threads.get_mut(&thread).filter(|known| !known.has_ended) else { return };
        let os_id = known.os_id;
        let Some(cpu_ns) = self.clocks.thread_ns(os_id).or_else(|| task::cpu_ns(&self.root, os_id).ok()) else {
            return;
        };
        let before = known.cpu_ns.replace(cpu_ns);
        if before == Some(cpu_ns) {
            known.switches = None;
            known.looks_in_vain = known.looks_in_vain.saturating_add(1);
            let is_native = thread.0 & ThreadId::NATIVE != 0;
            match known.looks_in_vain < if is_native { NATIVE_IDLE_AFTER } else { IDLE_AFTER } {
                true => self.active.push(thread),
                false => self.files -= u64::from(known.file.take().is_some()),
            }
            return;
        }
        self.active.push(thread);
        let ran_before = std::mem::take(&mut known.looks_in_vain) == 0 && before.is_some();
        if ran_before && known.file.is_none() && self.files < self.most_files {
            known.file = Some(task::schedule_file(&self.root, os_id));
            self.files += 1;
        }
        let wait = wait_of(known, &self.root, cpu_ns.saturating_sub(before.unwrap_or(0)), look);
        let ran = difference(self.samples, before, cpu_ns, wait, look.interval);
        let switches_before = watch_switches(known, &self.root, ran, look);
        if let Some(mut ran) = ran {
            ran.switches = (switches_before, known.switches);
            tell_thread(thread, ran, known.wait_ns.is_some(), look.interval, out);
            all.push(ran);
        }
    }

    /// Takes in the last readings of threads. Before Java's threads are reported,
    /// which they are no more.
    pub fn ended(&mut self, ended: Vec<Ended>, interval: Interval, out: &mut Vec<Event>) {
        for last in ended {
            self.unexplained_ns -= END_NS;
            let (cpu_before, wait_before) = match self.threads.get_mut(&last.thread) {
                Some(known) => {
                    // It may still be listed.
                    known.has_ended = true;
                    self.files -= u64::from(known.file.take().is_some());
                    (known.cpu_ns, known.wait_ns)
                }
                None => (None, None),
            };
            let wait_ns = last.wait_ns.unwrap_or(0).saturating_sub(wait_before.unwrap_or(0));
            if let Some(ran) = difference(self.samples, cpu_before, last.cpu_ns, wait_ns, interval) {
                self.ended_ns += ran.cpu_ns;
                self.unexplained_ns -= as_signed(ran.cpu_ns);
                tell_thread(last.thread, ran, last.wait_ns.is_some(), interval, out);
            }
        }
    }
}

/// How a sample looks at threads.
#[derive(Clone, Copy)]
struct Look {
    interval: Interval,
    end: TimeNs,
    /// Whether threads that only compute are watched.
    watch: bool,
}

/// What a thread waited since its wait was read, if it is time to read it.
fn wait_of(known: &mut Known, root: &Root, cpu_ns: u64, look: Look) -> u64 {
    known.unread_ns = known.unread_ns.saturating_add(cpu_ns);
    let hardly = known.unread_ns < look.interval.duration.0 / HARDLY;
    if known.wait_ns.is_some() && hardly && look.end.since(known.wait_read).0 < WAIT_EVERY_NS {
        return 0;
    }
    (known.unread_ns, known.wait_read) = (0, look.end);
    let kept = known.file.as_mut().and_then(|file| task::schedule_from(file).ok());
    let schedule = kept.or_else(|| task::schedule(root, known.os_id).ok());
    let Some(now) = schedule.map(|schedule| schedule.wait_ns) else { return 0 };
    now.saturating_sub(known.wait_ns.replace(now).unwrap_or(0))
}

/// Counts how often a thread that computes a lot gave up its CPU; what it was
/// before.
fn watch_switches(known: &mut Known, root: &Root, ran: Option<Ran>, look: Look) -> Option<u64> {
    let busy = look.watch && ran.is_some_and(|ran| ran.cpu_ns * 4 >= look.interval.duration.0);
    let now = match busy || known.switches.is_some() {
        true => task::voluntary_switches(root, known.os_id).ok(),
        false => None,
    };
    std::mem::replace(&mut known.switches, now)
}

/// What a thread used since it was last looked at. One that is seen for the
/// first time began in this interval, unless it used more than fits: then its
/// past is not known, and it begins to count now.
fn difference(samples: u64, before: Option<u64>, cpu_ns: u64, wait_ns: u64, interval: Interval) -> Option<Ran> {
    if samples <= 1 {
        return None;
    }
    let cpu_ns = cpu_ns.saturating_sub(before.unwrap_or(0));
    let fits = before.is_some() || cpu_ns <= interval.duration.0;
    (fits && cpu_ns > 0).then_some(Ran { cpu_ns, wait_ns, switches: (None, None) })
}

fn as_signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}
