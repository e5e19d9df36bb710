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

#[derive(Debug, Default)]
struct All {
    threads: HashMap<ThreadId, FoundBlocked>,
    names: HashMap<ChainId, Arc<str>>,
}

/// All of them, until the draining thread takes them.
#[derive(Debug, Default)]
pub struct AllFoundBlocked(Mutex<All>);

impl AllFoundBlocked {
    /// A recording begins.
    pub fn clear(&self) {
        *self.lock() = All::default();
    }

    /// Another one. Whoever has the same call chain is blocked on a lock of the same name; else `name` finds it.
    pub fn add(&self, thread: ThreadId, chain: ChainId, name: impl FnOnce() -> Arc<str>) {
        let known = self.lock().names.get(&chain).filter(|_| chain.is_some()).cloned();
        let name = known.unwrap_or_else(name);
        let mut all = self.lock();
        all.names.insert(chain, name.clone());
        all.threads.insert(thread, FoundBlocked { chain, name });
    }

    /// Those that were added since the last call.
    pub fn take(&self) -> HashMap<ThreadId, FoundBlocked> {
        std::mem::take(&mut *self.lock()).threads
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
