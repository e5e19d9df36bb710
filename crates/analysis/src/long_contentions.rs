//! Contentions that go on: who owns their locks was read for them now and then, and once more at the end.

use crate::method::Owners;
use crate::monitor::going::{ReadOwner, ReadOwners};
use crate::monitor::{OpenContention, Owner};
use crate::names::Names;
use headway_model::event::LongContention;
use headway_model::{ThreadId, TimeNs};
use rustc_hash::{FxHashMap, FxHashSet};

/// What was read last of a thread's contention.
#[derive(Clone, Copy, Debug)]
struct Seen {
    last: LongContention,
    /// The owner that was read last, and when.
    owner: (ThreadId, TimeNs),
    /// Since when no other one was read; the contention's begin if none ever was.
    only_since: TimeNs,
}

/// The last one of each thread: as many as there are threads.
#[derive(Debug, Default)]
pub(crate) struct LongContentions {
    by_thread: FxHashMap<ThreadId, Seen>,
}

impl LongContentions {
    pub fn add(&mut self, read: &LongContention) {
        let earlier = self.by_thread.get(&read.thread).filter(|seen| is_same(&seen.last, read));
        let (owner, only_since) = match earlier {
            Some(earlier) if read.owner.is_none() => (earlier.owner, earlier.only_since),
            Some(earlier) if earlier.owner.0.is_some() && earlier.owner.0 != read.owner => {
                ((read.owner, read.time), read.time)
            }
            Some(earlier) => ((read.owner, read.time), earlier.only_since),
            None => ((read.owner, read.time), read.start),
        };
        self.by_thread.insert(read.thread, Seen { last: *read, owner, only_since });
    }

    /// Who owns the locks that threads are blocked on, with the stacks that `owners` has of them.
    pub fn owners(&self, owners: &Owners, names: &mut Names) -> ReadOwners {
        let known = self.by_thread.iter().filter(|(_, seen)| seen.owner.0.is_some());
        let of = |seen: &Seen, names: &mut Names| {
            let (lock, (thread, _), since) = (seen.last.lock, seen.owner, seen.only_since);
            let chain = owners.last_seen(thread, since);
            let owner = match chain {
                Some(chain) => {
                    let frame = names.owning_frame(chain, seen.last.chain);
                    Owner { lock, thread, chain, frame, approximate: true }
                }
                None => Owner::thread(lock, thread),
            };
            ReadOwner { owner, since }
        };
        known.map(|(thread, seen)| (*thread, of(seen, names))).collect()
    }

    /// The thread did something: it is blocked no more.
    #[inline]
    pub fn acts(&mut self, thread: ThreadId, time: TimeNs) {
        if !self.by_thread.is_empty() && self.by_thread.get(&thread).is_some_and(|seen| time > seen.last.time) {
            self.by_thread.remove(&thread);
        }
    }

    /// Events were dropped: nobody is known to be still blocked.
    pub fn forget(&mut self) {
        self.by_thread.clear();
    }

    /// Adds to the contentions that have not ended what was read for them, and those that are not known yet. `active` says
    /// when a thread was last seen to do something.
    pub fn complete(&self, open: &mut Vec<OpenContention>, active: impl Fn(ThreadId) -> TimeNs) {
        for contention in open.iter_mut() {
            let seen = self.by_thread.get(&contention.thread).filter(|seen| is_of(&seen.last, contention));
            seen.into_iter().for_each(|seen| add(seen, contention));
        }
        let known: FxHashSet<ThreadId> = open.iter().map(|contention| contention.thread).collect();
        let others = self.by_thread.values().filter(|seen| !known.contains(&seen.last.thread));
        open.extend(others.filter(|seen| active(seen.last.thread) <= seen.last.time).map(|seen| {
            let LongContention { start, thread, lock, chain, is_older, .. } = seen.last;
            let (owner, read_at) = seen.owner;
            OpenContention {
                thread,
                chain,
                lock,
                start,
                owner,
                owner_from: seen.only_since,
                owner_until: read_at,
                is_read: true,
                after_wait: false,
                is_older_than_recording: is_older,
            }
        }));
        open.sort_by_key(|contention| (contention.start, contention.thread));
    }
}

fn is_same(one: &LongContention, other: &LongContention) -> bool {
    (one.start, one.lock) == (other.start, other.lock)
}

/// A thread that parks again and again for a lock is blocked since the first time.
fn is_of(seen: &LongContention, contention: &OpenContention) -> bool {
    seen.lock == contention.lock && seen.start >= contention.start
}

fn add(seen: &Seen, contention: &mut OpenContention) {
    contention.is_read = true;
    contention.is_older_than_recording = seen.last.is_older;
    if contention.chain.is_none() {
        contention.chain = seen.last.chain;
    }
    let (owner, time) = seen.owner;
    if owner.is_some() && (contention.owner.is_none() || time >= contention.owner_from) {
        let (from, until) = match owner == contention.owner {
            true => (contention.owner_from.min(seen.only_since), contention.owner_until.max(time)),
            false => (seen.only_since, time),
        };
        contention.set_owner((owner, from, until));
    }
}
