//! Who owns the lock of a contention that has not ended, as was read while it went on.

use super::lock::Blocked;
use super::{Basis, Owner, OwnerId, OwnersById, Slice};
use headway_model::{LockId, ThreadId, TimeNs};
use rustc_hash::FxHashMap;

/// Who was read to own the lock that a thread is blocked on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadOwner {
    /// With the stack that was sampled last while it had the lock, if any was.
    pub owner: Owner,
    /// Since when no other one was read.
    pub since: TimeNs,
}

/// By blocked thread.
pub(crate) type ReadOwners = FxHashMap<ThreadId, ReadOwner>;

/// What is known of a contention that has not ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Going {
    owner: Option<(ReadOwner, OwnerId)>,
}

impl Going {
    /// Who owns the lock of this contention, by what was `read`.
    pub fn of(lock: LockId, blocked: &Blocked, read: &ReadOwners, owners: &mut OwnersById) -> Going {
        let read = read.get(&blocked.thread).filter(|read| read.owner.lock == lock);
        Going { owner: read.map(|read| (*read, owners.intern(read.owner))) }
    }

    /// Gives the last slices to that owner, until one of which the recording shows that it had another owner, or none.
    pub fn attribute(&self, slices: &mut [Slice], owners: &OwnersById) {
        let Some((read, id)) = self.owner else { return };
        let is_its = |slice: &Slice| match slice.basis {
            Basis::NoMark => slice.start >= read.since,
            Basis::SeenAtEnter => owners.get(slice.owner_id()).thread == read.owner.thread,
            _ => false,
        };
        for slice in slices.iter_mut().rev().take_while(|slice| is_its(slice)) {
            slice.give_to(id, Basis::SeenAtEnter);
        }
    }
}
