//! What must follow a virtual thread rather than its carrier: the contended
//! enter or wait in progress, which may end on another carrier.

use crate::state::{Begun, NAME_CHECK_NS};
use headway_model::{ThreadId, TimeNs};
use std::collections::hash_map::Entry;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

struct Named {
    checked: TimeNs,
    hash: u64,
}

impl Named {
    fn is_due(&mut self, now: TimeNs) -> bool {
        let due = now.since(self.checked).0 >= NAME_CHECK_NS;
        if due {
            self.checked = now;
        }
        due
    }
}

/// Most virtual threads whose names are remembered as defined. Beyond it the
/// memory is dropped and names are defined again.
const MAX_KNOWN: usize = 65_536;

/// See the module. The lock is held for a few map operations, never while the
/// VM is called.
#[derive(Default)]
pub struct Virtuals {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    known: HashMap<ThreadId, Named>,
    reenters: HashMap<ThreadId, Begun>,
    enters: HashMap<ThreadId, Begun>,
    waits: HashMap<ThreadId, Begun>,
}

impl Virtuals {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True for a thread that was not announced. Its name stays to be looked at.
    pub fn is_new(&self, thread: ThreadId) -> bool {
        let mut inner = self.lock();
        if inner.known.len() >= MAX_KNOWN {
            inner.known.clear();
        }
        match inner.known.entry(thread) {
            Entry::Vacant(place) => {
                place.insert(Named { checked: TimeNs(0), hash: 0 });
                true
            }
            Entry::Occupied(_) => false,
        }
    }

    /// True if the thread's name should be looked at: the first time, and then
    /// once in a while, since names change.
    pub fn is_name_due(&self, thread: ThreadId, now: TimeNs) -> bool {
        let mut inner = self.lock();
        if inner.known.len() >= MAX_KNOWN {
            inner.known.clear();
        }
        match inner.known.entry(thread) {
            Entry::Vacant(place) => {
                place.insert(Named { checked: now, hash: 0 });
                true
            }
            Entry::Occupied(mut place) => place.get_mut().is_due(now),
        }
    }

    /// Takes note of the thread's name, by its hash; true if it is another one
    /// than before.
    pub fn renamed(&self, thread: ThreadId, hash: u64) -> bool {
        let mut inner = self.lock();
        let named = inner.known.get_mut(&thread);
        named.is_none_or(|named| std::mem::replace(&mut named.hash, hash) != hash)
    }

    /// A waiter must acquire its monitor again: it was notified, or resumed
    /// from `Object.wait`, whichever is seen first.
    pub fn begin_reenter(&self, thread: ThreadId, begun: impl FnOnce() -> Begun) {
        let mut inner = self.lock();
        // Threads that acquired it without blocking are never heard of again.
        if inner.reenters.len() >= MAX_KNOWN {
            inner.reenters.clear();
        }
        inner.reenters.entry(thread).or_insert_with(begun);
    }

    /// The re-acquisition that a notify began, if one was seen.
    pub fn reentering(&self, thread: ThreadId) -> Option<Begun> {
        self.lock().reenters.get(&thread).copied()
    }

    /// The wait in progress.
    pub fn waiting(&self, thread: ThreadId) -> Option<Begun> {
        self.lock().waits.get(&thread).copied()
    }

    /// It owns the monitor again.
    pub fn end_reenter(&self, thread: ThreadId) -> Option<Begun> {
        self.lock().reenters.remove(&thread)
    }

    /// The thread is about to block. Returns a re-acquisition that was never
    /// seen to end: the monitor was free.
    pub fn begin_enter(&self, thread: ThreadId, begun: Begun) -> Option<Begun> {
        let mut inner = self.lock();
        inner.enters.insert(thread, begun);
        inner.reenters.remove(&thread)
    }

    /// Those that began to block before `before`, have no number of the lock's order yet and were not
    /// taken before.
    pub fn take_long_enters(&self, before: TimeNs) -> Vec<(ThreadId, Begun)> {
        take_long(&mut self.lock().enters, before)
    }

    /// The same of those that wait.
    pub fn take_long_waits(&self, before: TimeNs) -> Vec<(ThreadId, Begun)> {
        take_long(&mut self.lock().waits, before)
    }

    /// It owns the monitor.
    pub fn end_enter(&self, thread: ThreadId) -> Option<Begun> {
        self.lock().enters.remove(&thread)
    }

    /// It begins `Object.wait`. Returns what [`Self::begin_enter`] returns.
    pub fn begin_wait(&self, thread: ThreadId, begun: Begun) -> Option<Begun> {
        let mut inner = self.lock();
        inner.waits.insert(thread, begun);
        inner.reenters.remove(&thread)
    }

    /// The wait is over.
    pub fn end_wait(&self, thread: ThreadId) -> Option<Begun> {
        self.lock().waits.remove(&thread)
    }

    /// Forgets everything: a recording begins. Pins on monitors are given to
    /// `unpin`.
    pub fn clear(&self, unpin: impl Fn(u64)) {
        let old = std::mem::take(&mut *self.lock());
        for begun in old.enters.values().chain(old.reenters.values()) {
            unpin(begun.pin);
        }
    }
}

fn take_long(begun: &mut HashMap<ThreadId, Begun>, before: TimeNs) -> Vec<(ThreadId, Begun)> {
    let is_long = |begun: &Begun| begun.seq.is_none() && !begun.is_reported && begun.start < before;
    let long = begun.iter_mut().filter(|(_, begun)| is_long(begun));
    long.map(|(thread, begun)| {
        begun.is_reported = true;
        (*thread, *begun)
    })
    .collect()
}
