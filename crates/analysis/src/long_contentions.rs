//! Contentions that have not ended: who owns their locks was read for them, and once more at the end.

use crate::monitor::OpenContention;
use headway_model::event::LongContention;
use headway_model::{ThreadId, TimeNs};
use rustc_hash::{FxHashMap, FxHashSet};

/// The last one of each thread: as many as there are threads.
#[derive(Debug, Default)]
pub(crate) struct LongContentions {
    by_thread: FxHashMap<ThreadId, LongContention>,
}

impl LongContentions {
    pub fn add(&mut self, seen: &LongContention) {
        self.by_thread.insert(seen.thread, *seen);
    }

    pub fn ended(&mut self, thread: ThreadId) {
        self.by_thread.remove(&thread);
    }

    /// Adds to the contentions that have not ended what was read for them, and those whose begin was before
    /// the recording. `active` says when a thread was last seen to do something.
    pub fn complete(&self, open: &mut Vec<OpenContention>, active: impl Fn(ThreadId) -> TimeNs) {
        for contention in open.iter_mut() {
            let seen = self.by_thread.get(&contention.thread).filter(|seen| is_of(seen, contention));
            seen.into_iter().for_each(|seen| add(seen, contention));
        }
        let known: FxHashSet<ThreadId> = open.iter().map(|contention| contention.thread).collect();
        let others = self.by_thread.values().filter(|seen| !known.contains(&seen.thread));
        open.extend(others.filter(|seen| active(seen.thread) <= seen.time).map(|seen| {
            let LongContention { time, start, thread, lock, chain, owner } = *seen;
            let owner_seen = if owner.is_some() { time } else { TimeNs(0) };
            let (after_wait, is_older_than_recording) = (false, true);
            OpenContention { thread, chain, lock, start, owner, owner_seen, after_wait, is_older_than_recording }
        }));
        open.sort_by_key(|contention| (contention.start, contention.thread));
    }
}

/// A thread that parks again and again for a lock is blocked since the first time.
fn is_of(seen: &LongContention, contention: &OpenContention) -> bool {
    seen.lock == contention.lock && seen.start >= contention.start
}

fn add(seen: &LongContention, contention: &mut OpenContention) {
    if contention.chain.is_none() {
        contention.chain = seen.chain;
    }
    if seen.owner.is_some() && (contention.owner.is_none() || seen.time >= contention.owner_seen) {
        contention.set_owner((seen.owner, seen.time));
    }
}
