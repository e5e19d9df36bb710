//! CPU time of virtual threads while they have transactions open. No kernel
//! clock follows a virtual thread; its carriers' clocks do while it is mounted.
//! So the VM's functions that mount and unmount say when it came and went
//! ([`hooks`](crate::hooks)), and what its carriers used in between is its own.
//!
//! A thread whose coming and going do not alternate was missed: it is forgotten,
//! and what it used is not known. So is one for which there is no room.
//!
//! # Protocol
//! Only the virtual thread itself asks for what is kept of it, on whichever
//! carrier. The locks are held for an operation of a map, never while the VM is
//! called; the hooks take one only while some transaction of a virtual thread is
//! open.

use headway_model::{DurationNs, ThreadId};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const SHARDS: usize = 64;
/// Threads in a shard. Of more, the older half goes: their ends were forgotten.
const MOST: usize = 1_024;

/// What a virtual thread used since its outermost transaction began.
#[derive(Clone, Copy, Debug)]
struct Used {
    /// The outermost transaction.
    outermost: u64,
    /// Before it came to its present carrier.
    before_ns: u64,
    /// The carrier's clock when it came; `None` while it has no carrier.
    mounted: Option<u64>,
}

impl Used {
    fn at(&self, clock_ns: u64) -> Option<u64> {
        let mounted = self.mounted?;
        Some(self.before_ns + clock_ns.checked_sub(mounted)?)
    }
}

/// On a cache line of its own.
#[derive(Default)]
#[repr(align(64))]
struct Shard(Mutex<HashMap<ThreadId, Used>>);

/// See the module.
pub struct Mounted {
    /// True while comings and goings are recorded.
    is_told: AtomicBool,
    open: AtomicUsize,
    shards: [Shard; SHARDS],
}

impl Default for Mounted {
    fn default() -> Mounted {
        Mounted {
            is_told: AtomicBool::new(false),
            open: AtomicUsize::new(0),
            shards: std::array::from_fn(|_| Shard::default()),
        }
    }
}

impl Mounted {
    /// Says whether comings and goings are recorded; forgets what is there.
    pub fn set_told(&self, is_told: bool) {
        self.is_told.store(false, Ordering::SeqCst);
        for shard in &self.shards {
            let mut threads = lock(shard);
            self.open.fetch_sub(threads.len(), Ordering::Relaxed);
            threads.clear();
        }
        self.is_told.store(is_told, Ordering::SeqCst);
    }

    /// True if some virtual thread has a transaction open.
    #[inline]
    pub fn is_any(&self) -> bool {
        self.open.load(Ordering::Relaxed) != 0
    }

    /// The current virtual thread begins a transaction: what it used since its
    /// outermost one began.
    pub fn begin(&self, thread: ThreadId, transaction: u64, clock_ns: u64) -> Option<DurationNs> {
        if !self.is_told.load(Ordering::Relaxed) {
            return None;
        }
        let mut threads = self.shard(thread);
        if let Some(used) = threads.get(&thread) {
            return used.at(clock_ns).map(DurationNs);
        }
        if threads.len() >= MOST {
            self.forget_older(&mut threads);
        }
        threads.insert(thread, Used { outermost: transaction, before_ns: 0, mounted: Some(clock_ns) });
        self.open.fetch_add(1, Ordering::Relaxed);
        Some(DurationNs(0))
    }

    /// It ends a transaction; as [`Self::begin`]. `None` also for one that began
    /// before what is kept of the thread.
    pub fn end(&self, thread: ThreadId, transaction: u64, clock_ns: u64) -> Option<DurationNs> {
        if !self.is_any() {
            return None;
        }
        let mut threads = self.shard(thread);
        let used = *threads.get(&thread)?;
        if transaction <= used.outermost {
            threads.remove(&thread);
            self.open.fetch_sub(1, Ordering::Relaxed);
        }
        (transaction >= used.outermost).then(|| used.at(clock_ns).map(DurationNs)).flatten()
    }

    /// The thread has a carrier, whose clock says so much.
    pub fn mounts(&self, thread: ThreadId, clock_ns: impl FnOnce() -> u64) {
        self.changes(thread, |used| {
            let came = used.mounted.is_none();
            used.mounted = Some(clock_ns());
            came
        });
    }

    /// The thread begins to leave its carrier.
    pub fn unmounts(&self, thread: ThreadId, clock_ns: impl FnOnce() -> u64) {
        self.changes(thread, |used| {
            let Some(now_ns) = used.at(clock_ns()) else { return false };
            (used.before_ns, used.mounted) = (now_ns, None);
            true
        });
    }

    fn changes(&self, thread: ThreadId, change: impl FnOnce(&mut Used) -> bool) {
        let mut threads = self.shard(thread);
        let Some(used) = threads.get_mut(&thread) else { return };
        if !change(used) {
            threads.remove(&thread);
            self.open.fetch_sub(1, Ordering::Relaxed);
        }
    }

    #[cold]
    fn forget_older(&self, threads: &mut HashMap<ThreadId, Used>) {
        let mut begun: Vec<u64> = threads.values().map(|used| used.outermost).collect();
        let middle = begun.len() / 2;
        let (_, middle, _) = begun.select_nth_unstable(middle);
        let (middle, before) = (*middle, threads.len());
        threads.retain(|_, used| used.outermost >= middle);
        self.open.fetch_sub(before - threads.len(), Ordering::Relaxed);
    }

    fn shard(&self, thread: ThreadId) -> MutexGuard<'_, HashMap<ThreadId, Used>> {
        // The remainder is below the number of shards.
        let [first, ..] = &self.shards;
        lock(self.shards.get(thread.0 as usize % SHARDS).unwrap_or(first))
    }
}

fn lock(shard: &Shard) -> MutexGuard<'_, HashMap<ThreadId, Used>> {
    shard.0.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: ThreadId = ThreadId(7);

    fn told() -> Mounted {
        let mounted = Mounted::default();
        mounted.set_told(true);
        mounted
    }

    #[test]
    fn what_the_carriers_used_while_it_was_mounted_counts() {
        let mounted = told();
        assert_eq!(mounted.begin(T, 1, 1_000), Some(DurationNs(0)));
        mounted.unmounts(T, || 1_010);
        // Another carrier, whose clock says something else.
        mounted.mounts(T, || 50);
        assert_eq!(mounted.begin(T, 2, 53), Some(DurationNs(13)));
        mounted.unmounts(T, || 54);
        mounted.mounts(T, || 2_000);
        assert_eq!(mounted.end(T, 2, 2_006), Some(DurationNs(20)));
        assert_eq!(mounted.end(T, 1, 2_007), Some(DurationNs(21)));
        assert!(!mounted.is_any());
        assert_eq!(mounted.end(T, 1, 2_008), None);
    }

    #[test]
    fn what_was_missed_is_not_known() {
        let mounted = told();
        mounted.begin(T, 1, 1_000);
        mounted.mounts(T, || 50);
        assert_eq!((mounted.is_any(), mounted.end(T, 1, 60)), (false, None));
        mounted.begin(T, 2, 1_000);
        mounted.unmounts(T, || 1_001);
        mounted.unmounts(T, || 1_002);
        assert_eq!((mounted.is_any(), mounted.end(T, 2, 1_003)), (false, None));
        // A clock behind the carrier's: it is on another carrier.
        mounted.begin(T, 3, 1_000);
        assert_eq!(mounted.end(T, 3, 10), None);
        mounted.set_told(false);
        assert_eq!(mounted.begin(T, 4, 1_000), None);
    }

    #[test]
    fn one_that_began_before_what_is_known_is_not_known() {
        let mounted = told();
        mounted.begin(T, 5, 1_000);
        assert_eq!(mounted.end(T, 4, 1_001), None);
        // That one's end was not forgotten: it contained the other.
        assert!(!mounted.is_any());
    }

    #[test]
    fn forgotten_ends_are_bounded_and_the_latest_stay() {
        let mounted = told();
        let threads = (SHARDS * MOST * 3) as u64;
        for thread in 0..threads {
            assert!(mounted.begin(ThreadId(thread), thread + 1, 0).is_some());
        }
        assert!(mounted.open.load(Ordering::Relaxed) <= SHARDS * MOST);
        assert_eq!(mounted.end(ThreadId(threads - 1), threads, 3), Some(DurationNs(3)));
        assert_eq!(mounted.end(ThreadId(0), 1, 3), None);
        mounted.set_told(false);
        assert!(!mounted.is_any());
    }
}
