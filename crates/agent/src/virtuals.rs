//! What must follow a virtual thread rather than its carrier: the contended
//! enter or wait in progress, which may end on another carrier.

use crate::threads::Begun;
use headway_model::ThreadId;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

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
    known: HashSet<ThreadId>,
    enters: HashMap<ThreadId, Begun>,
    waits: HashMap<ThreadId, Begun>,
}

impl Virtuals {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True the first time this thread is asked for.
    pub fn is_new(&self, thread: ThreadId) -> bool {
        let mut inner = self.lock();
        if inner.known.len() >= MAX_KNOWN {
            inner.known.clear();
        }
        inner.known.insert(thread)
    }

    /// The thread is about to block.
    pub fn begin_enter(&self, thread: ThreadId, begun: Begun) {
        self.lock().enters.insert(thread, begun);
    }

    /// It owns the monitor.
    pub fn end_enter(&self, thread: ThreadId) -> Option<Begun> {
        self.lock().enters.remove(&thread)
    }

    /// It begins `Object.wait`.
    pub fn begin_wait(&self, thread: ThreadId, begun: Begun) {
        self.lock().waits.insert(thread, begun);
    }

    /// The wait is over.
    pub fn end_wait(&self, thread: ThreadId) -> Option<Begun> {
        self.lock().waits.remove(&thread)
    }

    /// Forgets everything: a recording begins.
    pub fn clear(&self) {
        *self.lock() = Inner::default();
    }
}
