//! Parks and permits of virtual threads. A virtual thread has no place of its
//! own in the agent: it may come back on another carrier, there may be millions
//! of them, and the VM does not say when one ends. So there is a table of
//! bounded size, keyed by thread id, in which who parks has a place, and whose
//! other places are given away when they are needed.
//!
//! # Protocol
//! Looking up reads at most [`WINDOW`] keys and waits for nobody. Giving places
//! away takes one of a few locks, under which nothing of the VM is called. A
//! place is taken from a thread that is not parked and has no fresh permit; a
//! giver that had found it just before may leave its mark with the next owner,
//! whose recorded unpark then names another target: seen, not guessed.

use crate::state::{InProgress, Permit};
use headway_model::{Seq, ThreadId, TimeNs};
use std::alloc::{alloc_zeroed, Layout};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Places. Memory is only used for those that were ever needed.
const PLACES: usize = 1 << 17;
/// Places that a thread's may be among.
const WINDOW: usize = 16;
const LOCKS: usize = 32;
/// A permit is fresh for this long.
const FRESH_NS: u64 = 10_000_000_000;
/// Bits of a token that say which place.
const PLACE_BITS: u32 = 18;

/// What is kept about a virtual thread.
#[derive(Debug, Default)]
#[repr(C)]
pub struct VirtualPark {
    thread: AtomicU64,
    checked: AtomicU64,
    /// The park in progress.
    pub park: InProgress,
    /// The permit given to it.
    pub permit: Permit,
    /// True once a park of it was seen to end.
    pub known: AtomicBool,
}

impl VirtualPark {
    /// True if the thread's name should be looked at, at most once in `every_ns`.
    pub fn is_name_due(&self, now: TimeNs, every_ns: u64) -> bool {
        let checked = TimeNs(self.checked.load(Ordering::Relaxed));
        let due = checked.0 == 0 || now.since(checked).0 >= every_ns;
        if due {
            self.checked.store(now.0, Ordering::Relaxed);
        }
        due
    }

    fn is_free(&self, now: TimeNs) -> bool {
        let fresh = self.permit.is_given() && now.since(self.permit.given_at()).0 < FRESH_NS;
        self.park.seq() == Seq::NONE && !fresh
    }

    fn give_to(&self, thread: ThreadId) {
        self.thread.store(0, Ordering::Release);
        self.permit.clear();
        self.checked.store(0, Ordering::Relaxed);
        self.known.store(false, Ordering::Relaxed);
        self.thread.store(thread.0, Ordering::Release);
    }
}

/// See the module.
#[derive(Default)]
pub struct VirtualThreads {
    places: OnceLock<Option<Box<[VirtualPark]>>>,
    locks: [Shard; LOCKS],
}

/// A lock on a cache line of its own.
#[derive(Default)]
#[repr(align(64))]
struct Shard(Mutex<()>);

fn zeroed_places() -> Option<Box<[VirtualPark]>> {
    let layout = Layout::array::<VirtualPark>(PLACES).ok()?;
    // SAFETY: the layout is not empty; a place of zeros is a valid one, as its
    // parts promise; allocation and box use the same layout.
    unsafe {
        let memory = alloc_zeroed(layout).cast::<VirtualPark>();
        (!memory.is_null()).then(|| Box::from_raw(std::ptr::slice_from_raw_parts_mut(memory, PLACES)))
    }
}

impl VirtualThreads {
    fn places(&self) -> &[VirtualPark] {
        self.places.get_or_init(zeroed_places).as_deref().unwrap_or_default()
    }

    fn window(&self, thread: ThreadId) -> (usize, &[VirtualPark]) {
        let hash = thread.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        let start = hash as usize % (PLACES / WINDOW) * WINDOW;
        (start, self.places().get(start..start + WINDOW).unwrap_or_default())
    }

    /// The thread's place and its number.
    #[inline]
    pub fn find(&self, thread: ThreadId) -> Option<(usize, &VirtualPark)> {
        let (start, window) = self.window(thread);
        let at = window.iter().position(|place| place.thread.load(Ordering::Acquire) == thread.0)?;
        Some((start + at, window.get(at)?))
    }

    /// The thread's place and its number, given to it now if it has none.
    /// `None` if all that it could have belong to parked threads.
    #[inline]
    pub fn place_of(&self, thread: ThreadId, now: TimeNs) -> Option<(usize, &VirtualPark)> {
        self.find(thread).or_else(|| self.settle(thread, now))
    }

    #[cold]
    fn settle(&self, thread: ThreadId, now: TimeNs) -> Option<(usize, &VirtualPark)> {
        let (start, window) = self.window(thread);
        let lock = self.locks.get(start / WINDOW % LOCKS)?;
        let _settling = lock.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = self.find(thread) {
            return Some(found);
        }
        let free = window.iter().enumerate().filter(|(_, place)| place.is_free(now));
        let (at, place) = free.min_by_key(|(_, place)| place.checked.load(Ordering::Relaxed))?;
        place.give_to(thread);
        Some((start + at, place))
    }

    /// A number for a park in progress, never 0, from which [`Self::of_token`]
    /// finds it.
    pub fn token(place: usize, seq: Seq) -> u64 {
        (seq.0 << PLACE_BITS) | (place as u64 + 1)
    }

    /// The place of a park in progress; `None` if it does not go on: another
    /// recording began meanwhile.
    #[inline]
    pub fn of_token(&self, token: u64) -> Option<&VirtualPark> {
        let place = (token & ((1 << PLACE_BITS) - 1)).checked_sub(1)?;
        let seq = Seq(token >> PLACE_BITS);
        self.places().get(place as usize).filter(|place| place.park.seq() == seq)
    }

    /// All places that were ever given away, if any.
    pub fn iter(&self) -> impl Iterator<Item = &VirtualPark> {
        let places = self.places.get().and_then(Option::as_deref).unwrap_or_default();
        places.iter().filter(|place| place.thread.load(Ordering::Relaxed) != 0)
    }

    /// Forgets all parks and permits: a recording begins.
    pub fn clear(&self) {
        for place in self.iter() {
            place.park.end();
            place.give_to(ThreadId::NONE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_model::event::ParkBegin;

    fn begin(seq: u64) -> ParkBegin {
        ParkBegin { seq: Seq(seq), ..ParkBegin::default() }
    }

    #[test]
    fn a_parked_thread_keeps_its_place_while_millions_come_and_go() {
        let table = VirtualThreads::default();
        let (at, place) = table.place_of(ThreadId(7), TimeNs(1)).unwrap();
        place.park.begin(&begin(3), true);
        let token = VirtualThreads::token(at, Seq(3));
        for id in 100..2_000_000 {
            let (_, other) = table.place_of(ThreadId(id), TimeNs(id)).unwrap();
            assert!(!std::ptr::eq(other, place));
            assert!(other.is_name_due(TimeNs(id), 1_000));
        }
        assert!(std::ptr::eq(table.of_token(token).unwrap(), place));
        assert!(std::ptr::eq(table.place_of(ThreadId(7), TimeNs(2)).unwrap().1, place));
        assert!(place.park.end().is_some());
        assert!(table.of_token(token).is_none());
    }

    #[test]
    fn a_permit_waits_for_a_thread_that_does_not_park_yet() {
        let table = VirtualThreads::default();
        let now = TimeNs(5);
        table.place_of(ThreadId(7), now).unwrap().1.permit.give(Seq(1), ThreadId(2), now);
        let strangers = (8..2_000_000).filter_map(|id| table.place_of(ThreadId(id), now)).count();
        assert!(strangers > 1_900_000);
        assert!(table.place_of(ThreadId(7), now).unwrap().1.permit.take(None).is_some());
    }

    #[test]
    fn nobody_is_given_a_parked_threads_place() {
        let table = VirtualThreads::default();
        let mut refused = 0;
        for id in 1..=PLACES as u64 * 2 {
            match table.place_of(ThreadId(id), TimeNs(id)) {
                Some((_, place)) => place.park.begin(&begin(id), true),
                None => refused += 1,
            }
        }
        assert!(refused >= PLACES as u64 && refused < PLACES as u64 * 5 / 4, "{refused}");
        table.clear();
        assert_eq!(table.iter().count(), 0);
        assert!(table.place_of(ThreadId(1), TimeNs(1)).is_some());
    }
}
