//! How long definitions are kept: as long as events may still name them.

use super::Drain;
use crate::agent::Agent;
use crate::clock;
use crate::park::parks;
use headway_model::{ChainId, Dictionary, LockId, MethodId, ThreadId};
use std::ops::{Deref, DerefMut};

/// Flushes after which a dead lock's place is free again and an ended thread is
/// forgotten: by then the events that name it have been drained.
const GRACE_FLUSHES: usize = 5;
/// Virtual threads whose names are kept.
const MAX_VIRTUAL_THREADS: usize = 65_536;

/// What died between two flushes: events that name it may still be on their way.
#[derive(Default)]
pub(super) struct Dying {
    pub(super) locks: Vec<LockId>,
    pub(super) threads: Vec<ThreadId>,
}

/// The largest ids of chains and methods at some moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CodeIds {
    pub(super) chain: ChainId,
    pub(super) method: MethodId,
}

impl Drain {
    /// Virtual threads are not said to end: the oldest are forgotten.
    pub(super) fn remember_virtual(&mut self, thread: ThreadId) {
        if thread == ThreadId::SOME_VIRTUAL {
            // Its definition is needed as long as anything is sampled.
            return;
        }
        self.virtual_threads.push_back(thread);
        if self.virtual_threads.len() > MAX_VIRTUAL_THREADS {
            if let Some(oldest) = self.virtual_threads.pop_front() {
                self.dictionary.forget_thread(oldest);
            }
        }
    }

    /// Forgets what died some flushes ago, and collects what died since.
    pub(super) fn bury_the_dead(&mut self) {
        if let Some(dying) = self.dying.back_mut() {
            dying.locks.extend(self.agent.locks.take_dead());
        }
        self.dying.push_back(Dying::default());
        if self.dying.len() <= GRACE_FLUSHES {
            return;
        }
        let dead = self.dying.pop_front().unwrap_or_default();
        for lock in &dead.locks {
            self.pressure.forget_lock(*lock);
            self.parks.collected(*lock, clock::now());
        }
        forget(self.agent, &mut self.dictionary, dead);
    }

    /// The set of chains was cleared: chains and methods get new ids. What was
    /// defined before the clear before this one is not referred to any more,
    /// but by a thread that has been blocked all that time.
    pub(super) fn forget_old_code(&mut self) {
        let old = std::mem::replace(&mut self.code_before, self.code_seen);
        self.dictionary.forget_code(old.chain, old.method);
        if let Some(recompilation) = &mut self.recompilation {
            recompilation.forget_chains();
        }
        self.code_seen.method = self.agent.definitions.forget_methods();
    }
}

pub(super) fn forget(agent: &Agent, dictionary: &mut Dictionary, dead: Dying) {
    for lock in dead.locks {
        agent.locks.retire(lock);
        if let Some(def) = dictionary.lock(lock) {
            parks().blocker_died(&def.class);
        }
        dictionary.forget_lock(lock);
    }
    for thread in dead.threads {
        dictionary.forget_thread(thread);
    }
}

/// The definitions of locks, which go back to the agent however the recording ends:
/// as long as its object lives, a lock has the same id in the next one. Chains and
/// methods are defined again in each recording: kept, they would be memory of the
/// program that nobody uses, and more with each recording.
pub(super) struct Kept {
    agent: &'static Agent,
    dictionary: Dictionary,
}

impl Kept {
    /// Whoever was still inside an event when the last recording ended may have looked
    /// chains up since: those are not defined, and have to be forgotten.
    pub(super) fn of(agent: &'static Agent) -> Kept {
        forget_code(agent);
        Kept { agent, dictionary: agent.take_dictionary() }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.dictionary.forget_threads();
        self.dictionary.forget_all_code();
        self.agent.keep_dictionary(std::mem::take(&mut self.dictionary));
        forget_code(self.agent);
    }
}

/// Forgets what no recording needs any more.
pub(super) fn forget_code(agent: &Agent) {
    agent.chains.forget();
    agent.definitions.forget_methods();
}

impl Deref for Kept {
    type Target = Dictionary;
    fn deref(&self) -> &Dictionary {
        &self.dictionary
    }
}

impl DerefMut for Kept {
    fn deref_mut(&mut self) -> &mut Dictionary {
        &mut self.dictionary
    }
}
