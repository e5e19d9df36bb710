//! Progress points: what the program says by `Headway.progress`, and methods
//! that begin with a call that counts.
//!
//! Counters are memory of the process, read and written by Java code, which
//! goes on using it after a detach: it is never given back. Each point has
//! [`STRIPES`] of them on cache lines of their own, so that threads that visit
//! the same point do not wait for each other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Points that are distinguished. Number 0 stands for all beyond.
const POINTS: usize = 64;
/// Counters of a point. `HeadwayProgress` knows it too.
const STRIPES: usize = 16;

/// A counter alone on its cache line.
#[repr(C, align(64))]
struct Counter(AtomicU64);

static COUNTERS: [[Counter; STRIPES]; POINTS] = [const { [const { Counter(AtomicU64::new(0)) }; STRIPES] }; POINTS];

/// Where the counters begin, for Java code.
pub fn counters() -> u64 {
    COUNTERS.as_ptr() as u64
}

/// Counts a visit on the calling thread.
#[inline]
pub fn visit(point: usize) {
    // Stacks of different threads lie far apart.
    let here = 0u8;
    let stripe = (std::ptr::addr_of!(here) as usize >> 16).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60;
    if let Some(Counter(counter)) = COUNTERS.get(point).and_then(|stripes| stripes.get(stripe)) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Visits so far.
pub fn visits(point: usize) -> u64 {
    let stripes = COUNTERS.get(point).into_iter().flatten();
    stripes.map(|Counter(counter)| counter.load(Ordering::Relaxed)).sum()
}

/// Names of the points. They keep their numbers for the life of the process,
/// since code that counts may go on running.
pub struct Points {
    names: Mutex<Vec<Arc<str>>>,
    /// Visits of each point before the recording.
    before: Mutex<[u64; POINTS]>,
}

impl Default for Points {
    fn default() -> Points {
        Points { names: Mutex::default(), before: Mutex::new([0; POINTS]) }
    }
}

impl Points {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<str>>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a point, given to it now if it is new; 0 if there is no
    /// room.
    pub fn number(&self, name: &str) -> usize {
        let mut names = self.lock();
        if let Some(at) = names.iter().position(|known| **known == *name) {
            return at + 1;
        }
        if names.len() + 1 >= POINTS {
            return 0;
        }
        names.push(name.into());
        names.len()
    }

    /// Visits so far of a point with a number.
    pub fn visits_of(&self, name: &str) -> u64 {
        let at = self.lock().iter().position(|known| **known == *name);
        at.map_or(0, |at| visits(at + 1))
    }

    /// A recording begins: visits until now were those of others.
    pub fn begin(&self) {
        *self.before.lock().unwrap_or_else(PoisonError::into_inner) = std::array::from_fn(visits);
    }

    /// All points, those of earlier recordings too, and their visits in this one.
    pub fn all(&self) -> Vec<(Arc<str>, u64)> {
        let before = *self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let visits = (1..).zip(before.into_iter().skip(1)).map(|(point, before)| visits(point).saturating_sub(before));
        self.lock().iter().cloned().zip(visits).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_of_all_threads_are_counted() {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                std::thread::spawn(|| {
                    for _ in 0..10_000 {
                        visit(63);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(visits(63), 80_000);
        visit(64);
    }

    #[test]
    fn what_earlier_recordings_visited_is_not_counted() {
        let points = Points::default();
        (0..60).for_each(|i| assert_eq!(points.number(&format!("p{i}")), i + 1));
        let of_the_last = || points.all().last().map(|(_, visits)| *visits);
        visit(60);
        assert_eq!(of_the_last(), Some(1));
        points.begin();
        assert_eq!(of_the_last(), Some(0));
        visit(60);
        assert_eq!(of_the_last(), Some(1));
    }

    #[test]
    fn names_keep_their_numbers_and_there_is_an_end_of_them() {
        let points = Points::default();
        assert_eq!((points.number("a"), points.number("b"), points.number("a")), (1, 2, 1));
        let numbers: Vec<usize> = (0..100).map(|i| points.number(&format!("p{i}"))).collect();
        assert_eq!(numbers.iter().filter(|number| **number == 0).count(), 39);
        assert_eq!(points.number("b"), 2);
    }

    #[test]
    fn java_code_finds_the_counters_where_it_expects_them() {
        assert_eq!((size_of::<[Counter; STRIPES]>(), size_of::<Counter>()), (1024, 64));
    }
}
