//! Threads that were blocked on a monitor when the recording began.

use headway_model::{ChainId, ThreadId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where a thread was blocked when the recording began.
#[derive(Clone, Debug)]
pub struct FoundBlocked {
    /// Its call chain.
    pub chain: ChainId,
    /// What the lock is called there, empty if that is not known.
    pub name: Arc<str>,
}

/// All of them, until the draining thread takes them.
#[derive(Debug, Default)]
pub struct AllFoundBlocked(Mutex<HashMap<ThreadId, FoundBlocked>>);

impl AllFoundBlocked {
    /// A recording begins.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Another one.
    pub fn add(&self, thread: ThreadId, found: FoundBlocked) {
        self.lock().insert(thread, found);
    }

    /// Those that were added since the last call.
    pub fn take(&self) -> HashMap<ThreadId, FoundBlocked> {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ThreadId, FoundBlocked>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
