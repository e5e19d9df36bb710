//! How often and how long threads park on each lock, counted by the threads
//! themselves: what a park adds to the statistics is a handful of additions,
//! and no event.
//!
//! # Protocol
//!
//! Each slot of the lock table has a line of counts here. It is emptied when the
//! slot gets another id ([`ParkCounts::reset`], before anybody knows the id), and
//! becomes that lock's with its first park, so that a lock on which nobody parks
//! takes no memory.
//!
//! * Threads call `parks` before and `returns` after a park; nobody waits. Both
//!   change the line's state, the parks so far and the threads parked now, by
//!   one addition. Its result tells each thread what only one can be: the one
//!   that reaches the threshold, the first to park, the last to come back.
//! * Times are kept as sums of ends less sums of begins. A sum plus the time now,
//!   once for each thread that is parked, is how long it was up to now. Additions
//!   come in any order, so all of them are relaxed.
//! * The collector reads the sums between two equal readings of the state. While
//!   a thread has changed the state and not yet a sum, that sum is off by a whole
//!   moment. Moments count from a year that no JVM saw ([`EPOCH`]), so such a sum
//!   is no time that can be; the collector then comes again later.
//! * A line that changed is marked, so that the collector looks at few. The mark
//!   is set before the line changes and taken before the line is read; a change
//!   whose mark was just taken may wait for the next one: at the end of a
//!   recording [`ParkCounts::each`] looks at all.
//!
//! A moment passes between a thread's clock and its addition. Where another
//! thread's addition falls into it, real time is off by the difference.

use crate::lock_table::LockSlot;
use crate::region::Region;
use crate::sync::{AtomicU64, Ordering};

/// What is added to each moment, so that a sum that lacks one is distinguished from one
/// that does not, however many are lacking.
const EPOCH: u64 = 0x9E37_79B9_7F4A_7C15;
/// Bits of the state that hold the threads parked now; the parks are above.
const NOW_BITS: u32 = 24;
const NOW: u64 = (1 << NOW_BITS) - 1;
const ONE_PARK: u64 = 1 << NOW_BITS | 1;
/// The clocks of two threads may be apart for as long as one of them does not
/// run between its clock and its addition.
const SLACK_NS: u64 = 1 << 36;
/// Readings before the collector comes again later.
const TRIES: usize = if cfg!(loom) { 1 } else { 8 };

/// Words of a line. Those that each park changes come first.
#[derive(Clone, Copy)]
enum Field {
    /// Which lock the line is of.
    Id = 0,
    State = 1,
    ThreadTime = 2,
    RealTime = 3,
    Peak = 4,
    Last = 5,
    First = 6,
    /// The thread that reached the threshold; not 0 once `First` and `Chain` hold.
    Thread = 7,
    Chain = 8,
    TakenParks = 9,
    TakenThreadTime = 10,
    TakenRealTime = 11,
}

const FIELDS: usize = 16;

/// The parks on one lock, up to a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParkCount {
    /// The lock.
    pub lock: u64,
    /// The thread whose park reached the threshold; 0 before.
    pub thread: u64,
    /// Its call chain.
    pub chain: u64,
    /// Parks, those before the threshold included.
    pub times_parked: u64,
    /// Threads parked now.
    pub parked_now: u64,
    /// Most threads parked at once, since the threshold.
    pub peak_parked: u64,
    /// Parked time of all threads since the threshold, in ns.
    pub thread_time_ns: u64,
    /// Time in which at least one thread was parked, since the threshold, in ns.
    pub real_time_ns: u64,
    /// When the threshold was reached.
    pub first_ns: u64,
    /// When a thread last parked or came back.
    pub last_ns: u64,
    /// The moment up to which all this is.
    pub now_ns: u64,
}

/// See the file's head.
pub struct ParkCounts {
    lines: Region,
    marks: Region,
    threshold: AtomicU64,
    /// Lines that are some lock's.
    live: AtomicU64,
}

impl ParkCounts {
    /// Words of region per slot of the lock table.
    pub const WORDS_PER_LOCK: usize = FIELDS;

    /// Counts for as many slots as `lines` has room for, one bit of `marks` each.
    pub fn new(lines: Region, marks: Region) -> ParkCounts {
        ParkCounts { lines, marks, threshold: AtomicU64::new(1), live: AtomicU64::new(0) }
    }

    #[inline]
    fn line(&self, slot: u32) -> Option<&[AtomicU64; FIELDS]> {
        let start = slot as usize * FIELDS;
        self.lines.get(start..start + FIELDS)?.try_into().ok()
    }

    /// The line of a lock, if it still is that lock's.
    #[inline]
    fn line_of(&self, lock: u64) -> Option<(u32, &[AtomicU64; FIELDS])> {
        let slot = LockSlot::of_id(lock)?.index();
        let line = self.line(slot)?;
        (at(line, Field::Id).load(Ordering::Acquire) == lock).then_some((slot, line))
    }

    /// The same for a lock that may be parked on for the first time.
    #[inline]
    fn first_line_of(&self, lock: u64) -> Option<(u32, &[AtomicU64; FIELDS])> {
        let slot = LockSlot::of_id(lock)?.index();
        let line = self.line(slot)?;
        let id = at(line, Field::Id);
        if id.load(Ordering::Acquire) == lock {
            return Some((slot, line));
        }
        match id.compare_exchange(0, lock, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => drop(self.live.fetch_add(1, Ordering::Relaxed)),
            Err(found) if found != lock => return None,
            Err(_) => {}
        }
        Some((slot, line))
    }

    /// Memory of the locks that were parked on, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.live.load(Ordering::Relaxed) * (FIELDS * 8) as u64
    }

    /// Empties a line that is not empty: memory that is only read is none.
    fn clear(&self, line: &[AtomicU64; FIELDS]) {
        if at(line, Field::Id).load(Ordering::Relaxed) != 0 {
            line.iter().for_each(|word| word.store(0, Ordering::Relaxed));
            self.live.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The slot belongs to another lock from now on. Before its id is known to
    /// anybody else.
    pub fn reset(&self, slot: LockSlot) {
        self.line(slot.index()).into_iter().for_each(|line| self.clear(line));
    }

    /// Forgets all parks on the first `slots` slots; times are measured from the
    /// park on which as many as `threshold` are reached. While nobody parks.
    pub fn begin(&self, slots: u32, threshold: u64) {
        self.threshold.store(threshold.max(1), Ordering::Relaxed);
        (0..slots).filter_map(|slot| self.line(slot)).for_each(|line| self.clear(line));
        self.marks.iter().for_each(|mark| mark.store(0, Ordering::Relaxed));
    }

    /// A thread is about to park on the lock. True for the one whose park reaches
    /// the threshold: it says who it is by [`Self::measured`].
    #[inline]
    pub fn parks(&self, lock: u64, time_ns: u64) -> bool {
        let Some((slot, line)) = self.first_line_of(lock) else { return false };
        self.mark(slot);
        let threshold = self.threshold.load(Ordering::Relaxed);
        let old = at(line, Field::State).fetch_add(ONE_PARK, Ordering::Relaxed);
        let (times, now) = ((old >> NOW_BITS) + 1, old & NOW);
        if times < threshold {
            return false;
        }
        let is_first_measured = times == threshold;
        let moment = time_ns.wrapping_add(EPOCH);
        let began = if is_first_measured { now + 1 } else { 1 };
        at(line, Field::ThreadTime).fetch_sub(moment.wrapping_mul(began), Ordering::Relaxed);
        if is_first_measured || now == 0 {
            at(line, Field::RealTime).fetch_sub(moment, Ordering::Relaxed);
        }
        if at(line, Field::Peak).load(Ordering::Relaxed) <= now {
            at(line, Field::Peak).fetch_max(now + 1, Ordering::Relaxed);
        }
        at(line, Field::Last).store(time_ns, Ordering::Relaxed);
        is_first_measured
    }

    /// Who reached the lock's threshold, where and when.
    pub fn measured(&self, lock: u64, thread: u64, chain: u64, time_ns: u64) {
        let Some((_, line)) = self.line_of(lock) else { return };
        at(line, Field::First).store(time_ns, Ordering::Relaxed);
        at(line, Field::Chain).store(chain, Ordering::Relaxed);
        at(line, Field::Thread).store(thread, Ordering::Release);
    }

    /// A thread that parked on the lock is back.
    #[inline]
    pub fn returns(&self, lock: u64, time_ns: u64) {
        let Some((slot, line)) = self.line_of(lock) else { return };
        self.mark(slot);
        let state = at(line, Field::State);
        if state.load(Ordering::Relaxed) & NOW == 0 {
            return; // it parked before the counts began
        }
        let old = state.fetch_sub(1, Ordering::Relaxed);
        if old >> NOW_BITS < self.threshold.load(Ordering::Relaxed) {
            return;
        }
        let moment = time_ns.wrapping_add(EPOCH);
        at(line, Field::ThreadTime).fetch_add(moment, Ordering::Relaxed);
        if old & NOW == 1 {
            at(line, Field::RealTime).fetch_add(moment, Ordering::Relaxed);
        }
        at(line, Field::Last).store(time_ns, Ordering::Relaxed);
    }

    #[inline]
    fn mark(&self, slot: u32) {
        let bit = 1 << (slot % 64);
        if let Some(mark) = self.marks.get(slot as usize / 64) {
            if mark.load(Ordering::Relaxed) & bit == 0 {
                mark.fetch_or(bit, Ordering::Relaxed);
            }
        }
    }

    /// What changed since the last call, up to now. Collector only, as all that
    /// follows.
    pub fn changed(&self, now_ns: impl Fn() -> u64, mut take: impl FnMut(ParkCount)) {
        for (at, mark) in self.marks.iter().enumerate() {
            if mark.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let mut bits = mark.swap(0, Ordering::Acquire);
            while bits != 0 {
                let slot = at as u32 * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                match self.read(slot, &now_ns) {
                    Some(count) => take(count),
                    None => self.mark(slot),
                }
            }
        }
    }

    /// Everything there is, up to now, of the first `slots` slots.
    pub fn each(&self, slots: u32, now_ns: impl Fn() -> u64, take: impl FnMut(ParkCount)) {
        (0..slots).filter_map(|slot| self.read(slot, &now_ns)).for_each(take);
    }

    /// The counts of one lock, up to now.
    pub fn of(&self, lock: u64, now_ns: impl Fn() -> u64) -> Option<ParkCount> {
        self.read(self.line_of(lock)?.0, &now_ns)
    }

    /// What of a lock the collector has put away goes out of its counts.
    pub fn taken(&self, count: &ParkCount) {
        let Some((_, line)) = self.line_of(count.lock) else { return };
        at(line, Field::TakenParks).fetch_add(count.times_parked, Ordering::Relaxed);
        at(line, Field::TakenThreadTime).fetch_add(count.thread_time_ns, Ordering::Relaxed);
        at(line, Field::TakenRealTime).fetch_add(count.real_time_ns, Ordering::Relaxed);
    }

    /// The counts of a slot; `None` if there are none, or if they are changing.
    fn read(&self, slot: u32, now_ns: &impl Fn() -> u64) -> Option<ParkCount> {
        let line = self.line(slot)?;
        let get = |field| at(line, field).load(Ordering::Acquire);
        for _ in 0..TRIES {
            let state = get(Field::State);
            if state >> NOW_BITS == 0 {
                return None;
            }
            let (thread_sum, real_sum) = (get(Field::ThreadTime), get(Field::RealTime));
            let (thread, chain, first_ns) = (get(Field::Thread), get(Field::Chain), get(Field::First));
            let (peak_parked, last_ns) = (get(Field::Peak), get(Field::Last));
            let now_ns = now_ns().max(last_ns);
            if get(Field::State) != state {
                continue;
            }
            let (times, parked_now) = (state >> NOW_BITS, state & NOW);
            let mut count = ParkCount {
                lock: get(Field::Id),
                thread,
                chain,
                times_parked: times.wrapping_sub(get(Field::TakenParks)),
                parked_now,
                peak_parked,
                first_ns,
                last_ns,
                now_ns,
                ..ParkCount::default()
            };
            if times < self.threshold.load(Ordering::Relaxed) {
                count.thread = 0;
                return Some(count);
            }
            let moment = now_ns.wrapping_add(EPOCH);
            let thread_time = thread_sum.wrapping_add(moment.wrapping_mul(parked_now));
            let real_time = real_sum.wrapping_add(moment.wrapping_mul(parked_now.min(1)));
            let longest = now_ns.saturating_sub(first_ns);
            let all = longest.saturating_mul(peak_parked.max(parked_now));
            let (thread_time, real_time) = (possible(thread_time, all), possible(real_time, longest));
            if let (Some(thread_time), Some(real_time), true) = (thread_time, real_time, thread != 0) {
                count.thread_time_ns = thread_time.saturating_sub(get(Field::TakenThreadTime));
                count.real_time_ns = real_time.min(thread_time).saturating_sub(get(Field::TakenRealTime));
                return Some(count);
            }
        }
        None
    }
}

#[inline]
fn at(line: &[AtomicU64; FIELDS], field: Field) -> &AtomicU64 {
    // Both are known to the compiler: there is no check left.
    let [id, state, thread_time, real_time, peak, last, first, thread, chain, parks, threads, real, ..] = line;
    match field {
        Field::Id => id,
        Field::State => state,
        Field::ThreadTime => thread_time,
        Field::RealTime => real_time,
        Field::Peak => peak,
        Field::Last => last,
        Field::First => first,
        Field::Thread => thread,
        Field::Chain => chain,
        Field::TakenParks => parks,
        Field::TakenThreadTime => threads,
        Field::TakenRealTime => real,
    }
}

/// The time that a sum is; `None` if a moment is lacking, or one too many.
fn possible(sum: u64, most: u64) -> Option<u64> {
    let with_slack = sum.wrapping_add(SLACK_NS);
    (with_slack <= most.saturating_add(2 * SLACK_NS)).then(|| with_slack.saturating_sub(SLACK_NS))
}
