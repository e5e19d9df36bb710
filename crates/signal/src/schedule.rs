//! Random instants for the whole process, at which blocked time is sampled: one in
//! each window of length T, uniform in it. Every thread can compute them, so that
//! who was blocked needs nothing but the begin and end of it to know whether it was
//! blocked at one.
//!
//! A thread that is blocked at an instant stands for one window's length. For a
//! contention from `b` to `e` the weights of the instants in it therefore have the
//! expectation `e - b`, whatever T is and however often it changes: each window adds
//! its length times the chance that its instant is in the contention. What lasts 2T or
//! longer contains a whole window and is always hit. (Stratified sampling in time;
//! evenly spaced instants would be biased where a program's own period is near T.)
//!
//! T changes at edges of windows only, and the weight belongs to the instant: a part of
//! the schedule holds from an edge of the part before it.
//!
//! # Protocol
//!
//! * One thread writes ([`Schedule::set`]). It says in `begun` which part it is about to
//!   write, writes it over the oldest one, and publishes its number.
//! * Any thread reads and never waits: it goes from the newest part back. A part that
//!   was written over meanwhile is one that it has forgotten: `begun` says so.
//! * Orderings: the fence after `begun` keeps the part's stores behind it; the number is
//!   released and acquired. A reader's fence keeps its loads of a part before its load
//!   of `begun`.
//! * A part begins [`MARGIN_NS`] or more after it is published, so that who was blocked
//!   up to now finds every part that began until now.
//!
//! All-zero memory is a schedule without instants.

use crate::sync::{fence, AtomicU64, Ordering};

/// Parts that are remembered.
const KEPT: u64 = if cfg!(loom) { 2 } else { 8 };
/// Time from publishing a part to its begin; far more than processors' clocks differ.
const MARGIN_NS: u64 = 1_000_000;
/// Longest window: a longer one would put off the next change for as long.
pub const LONGEST_NS: u64 = 10_000_000_000;

/// See the file's head.
#[derive(Default)]
pub struct Schedule {
    seed: AtomicU64,
    /// Number of the newest part, from 1 on; 0 if there is none.
    published: AtomicU64,
    /// Number of the newest part that was begun to be written.
    begun: AtomicU64,
    parts: [PartCell; KEPT as usize],
}

#[derive(Default)]
struct PartCell {
    from_ns: AtomicU64,
    length_ns: AtomicU64,
}

/// Windows of one length.
#[derive(Clone, Copy)]
struct Part {
    seed: u64,
    from_ns: u64,
    length_ns: u64,
}

/// The instants in a time range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// How many there are.
    pub instants: u64,
    /// What they stand for: the lengths of their windows. Where it began before
    /// everything that is remembered, the length of that part, which is its expectation.
    pub weight_ns: u64,
}

impl Schedule {
    /// From the next edge on windows have this length, within 1 and [`LONGEST_NS`].
    /// Returns when that is. `seed` counts the first time only. Called by one thread.
    pub fn set(&self, now_ns: u64, length_ns: u64, seed: u64) -> u64 {
        let length_ns = length_ns.clamp(1, LONGEST_NS);
        let number = self.published.load(Ordering::Relaxed);
        let from_ns = match self.part(number) {
            Some(newest) if newest.length_ns == length_ns => return newest.from_ns,
            Some(newest) => newest.edge_after(now_ns.saturating_add(MARGIN_NS)),
            None => {
                self.seed.store(seed, Ordering::Relaxed);
                now_ns.saturating_add(MARGIN_NS)
            }
        };
        let number = number + 1;
        self.begun.store(number, Ordering::Relaxed);
        fence(Ordering::Release);
        if let Some(cell) = self.cell(number) {
            cell.from_ns.store(from_ns, Ordering::Relaxed);
            cell.length_ns.store(length_ns, Ordering::Relaxed);
        }
        self.published.store(number, Ordering::Release);
        from_ns
    }

    /// The instants from `begin_ns` on and before `end_ns`, which is not later than now.
    #[inline]
    pub fn hits(&self, begin_ns: u64, end_ns: u64) -> Hits {
        let newest = self.published.load(Ordering::Acquire);
        let mut hits = Hits::default();
        let mut until_ns = end_ns;
        let mut number = newest;
        while number > 0 && until_ns > begin_ns {
            let Some(part) = self.part(number) else {
                hits.weight_ns = hits.weight_ns.saturating_add(until_ns - begin_ns);
                break;
            };
            let from_ns = part.from_ns.max(begin_ns);
            if from_ns < until_ns {
                part.add(from_ns, until_ns, &mut hits);
                until_ns = from_ns;
            }
            number -= 1;
        }
        hits
    }

    fn cell(&self, number: u64) -> Option<&PartCell> {
        self.parts.get((number % KEPT) as usize)
    }

    /// A part; `None` if it was written over, or there is none.
    #[inline]
    fn part(&self, number: u64) -> Option<Part> {
        let cell = self.cell(number)?;
        let seed = self.seed.load(Ordering::Relaxed);
        let (from_ns, length_ns) = (cell.from_ns.load(Ordering::Relaxed), cell.length_ns.load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        let is_there = self.begun.load(Ordering::Relaxed) < number + KEPT;
        (is_there && number > 0 && length_ns > 0).then_some(Part { seed, from_ns, length_ns })
    }
}

impl Part {
    /// The first edge at or after a time, and after its first window.
    fn edge_after(&self, time_ns: u64) -> u64 {
        let windows = time_ns.saturating_sub(self.from_ns).div_ceil(self.length_ns).max(1);
        self.from_ns.saturating_add(windows.saturating_mul(self.length_ns))
    }

    /// The instant of a window.
    #[inline]
    fn instant(&self, window: u64) -> u64 {
        let start = self.from_ns + window * self.length_ns;
        let offset = (u128::from(mix(self.seed ^ start)) * u128::from(self.length_ns)) >> 64;
        start.saturating_add(offset as u64)
    }

    /// Adds the instants from `begin_ns` on and before `end_ns`, both of this part.
    #[inline]
    fn add(&self, begin_ns: u64, end_ns: u64, hits: &mut Hits) {
        let first = (begin_ns - self.from_ns) / self.length_ns;
        let last = (end_ns - 1 - self.from_ns) / self.length_ns;
        let is_in = |window: u64| (begin_ns..end_ns).contains(&self.instant(window));
        // Windows between the two lie in it whole.
        let instants = match last - first {
            0 => u64::from(is_in(first)),
            between => between - 1 + u64::from(is_in(first)) + u64::from(is_in(last)),
        };
        hits.instants += instants;
        hits.weight_ns = hits.weight_ns.saturating_add(instants.saturating_mul(self.length_ns));
    }
}

/// Scatters a number over all others (the finalizer of splitmix64).
#[inline]
fn mix(number: u64) -> u64 {
    let mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
