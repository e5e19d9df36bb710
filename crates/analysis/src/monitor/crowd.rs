//! Who is blocked on a lock: few threads mostly, found by looking at each.

use super::lock::Blocked;
use headway_model::ThreadId;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// From so many threads on they have an index.
const MANY: usize = 24;

/// Blocked contentions that are going on, by thread, in no particular order.
#[derive(Debug, Default)]
pub(crate) struct Crowd {
    ///
    /// Of a million short-lived locks most have one waiter at a time: it needs no
    /// memory besides the lock's own.
    threads: SmallVec<[ThreadId; 1]>,
    /// In the same order.
    contentions: SmallVec<[Blocked; 1]>,
    /// Their places, while there are many.
    places: Option<Box<FxHashMap<ThreadId, u32>>>,
}

impl Crowd {
    /// True if nobody is blocked.
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// How many are blocked.
    pub fn len(&self) -> usize {
        self.threads.len()
    }

    #[inline]
    fn place(&self, thread: ThreadId) -> Option<usize> {
        match &self.places {
            None => self.threads.iter().position(|known| *known == thread),
            Some(places) => places.get(&thread).map(|place| *place as usize),
        }
    }

    /// True if the thread is blocked.
    pub fn contains(&self, thread: ThreadId) -> bool {
        self.place(thread).is_some()
    }

    /// The thread's contention.
    #[inline]
    pub fn get_mut(&mut self, thread: ThreadId) -> Option<&mut Blocked> {
        let place = self.place(thread)?;
        self.contentions.get_mut(place)
    }

    /// The thread is blocked now; what was known of it before is forgotten.
    pub fn insert(&mut self, thread: ThreadId, contention: Blocked) {
        if let Some(known) = self.get_mut(thread) {
            *known = contention;
            return;
        }
        self.threads.push(thread);
        self.contentions.push(contention);
        match &mut self.places {
            Some(places) => {
                places.insert(thread, self.threads.len() as u32 - 1);
            }
            None if self.threads.len() >= MANY => {
                self.places = Some(Box::new(self.threads.iter().copied().zip(0..).collect()));
            }
            None => {}
        }
    }

    /// Takes the thread's contention out.
    #[inline]
    pub fn remove(&mut self, thread: ThreadId) -> Option<Blocked> {
        let place = self.place(thread)?;
        self.threads.swap_remove(place);
        if let Some(places) = &mut self.places {
            places.remove(&thread);
            if let Some(moved) = self.threads.get(place) {
                places.insert(*moved, place as u32);
            }
            if self.threads.len() < MANY / 2 {
                self.places = None;
            }
        }
        Some(self.contentions.swap_remove(place))
    }

    /// All contentions.
    pub fn iter(&self) -> impl Iterator<Item = &Blocked> {
        self.contentions.iter()
    }

    /// The same, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Blocked> {
        self.contentions.iter_mut()
    }

    /// Takes all out.
    pub fn take(&mut self) -> SmallVec<[Blocked; 1]> {
        std::mem::take(self).contentions
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::field_reassign_with_default)] // most fields are the lock's own
    use super::*;

    fn blocked(thread: u64) -> Blocked {
        let mut contention = Blocked::default();
        contention.thread = ThreadId(thread);
        contention
    }

    fn threads(crowd: &Crowd) -> Vec<u64> {
        let mut threads: Vec<u64> = crowd.iter().map(|contention| contention.thread.0).collect();
        threads.sort_unstable();
        threads
    }

    #[test]
    fn everybody_is_found_while_there_are_few_and_while_there_are_many() {
        let mut crowd = Crowd::default();
        for count in 1..=3 * MANY as u64 {
            crowd.insert(ThreadId(count), blocked(count));
            assert!((1..=count).all(|thread| crowd.contains(ThreadId(thread))));
            assert!(!crowd.contains(ThreadId(count + 1)));
        }
        for gone in (1..=3 * MANY as u64).step_by(3) {
            assert_eq!(crowd.remove(ThreadId(gone)).map(|contention| contention.thread.0), Some(gone));
            assert!(crowd.remove(ThreadId(gone)).is_none());
        }
        for thread in threads(&crowd) {
            assert_eq!(crowd.get_mut(ThreadId(thread)).map(|contention| contention.thread.0), Some(thread));
        }
        while let Some(thread) = threads(&crowd).first().copied() {
            assert!(crowd.remove(ThreadId(thread)).is_some());
            assert!(!crowd.contains(ThreadId(thread)));
        }
        assert!(crowd.is_empty() && crowd.places.is_none());
    }

    #[test]
    fn who_is_blocked_again_counts_once() {
        let mut crowd = Crowd::default();
        crowd.insert(ThreadId(1), blocked(1));
        crowd.insert(ThreadId(1), blocked(5));
        assert_eq!(crowd.take().iter().map(|contention| contention.thread.0).collect::<Vec<_>>(), [5]);
        assert!(crowd.is_empty());
    }
}
