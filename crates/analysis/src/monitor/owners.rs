//! Who held a lock: interned, so that a slice carries four bytes.

use crate::names::{NameId, Names};
use crate::numbering::Numbering;
use headway_model::{ChainId, LockId, ThreadId};

/// Stands for an [`Owner`] in a [`OwnersById`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OwnerId(u32);

impl OwnerId {
    /// Nobody known.
    pub const UNKNOWN: OwnerId = OwnerId(0);
    /// Somebody, but a memory bound did not let us keep who.
    pub const FOLDED: OwnerId = OwnerId(1);

    /// True unless nobody is known.
    pub const fn is_known(self) -> bool {
        self.0 != 0
    }

    /// A small number, for tables.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// True if a memory bound did not let us keep who.
    pub const fn is_folded(self) -> bool {
        self.0 == OwnerId::FOLDED.0
    }
}

/// A thread that held a lock, and with which chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Owner {
    /// The lock.
    pub lock: LockId,
    /// The thread.
    pub thread: ThreadId,
    /// Its chain when it released the lock; `NONE` if not known.
    pub chain: ChainId,
    /// Index into the chain of the frame that held the lock.
    pub frame: u16,
    /// True where another frame could have been the one.
    pub approximate: bool,
}

impl Owner {
    /// A thread whose chain is not known.
    pub const fn thread(lock: LockId, thread: ThreadId) -> Owner {
        Owner { lock, thread, chain: ChainId::NONE, frame: 0, approximate: false }
    }

    /// The method that owned the lock; `None` if its call stack is not known.
    pub(crate) fn method(&self, names: &mut Names) -> Option<NameId> {
        names.owner_path(self.chain, self.frame).and_then(|path| names.acting_method(path))
    }
}

/// The owners seen so far.
#[derive(Debug)]
pub struct OwnersById {
    ids: Numbering,
    owners: Vec<Owner>,
    bound: usize,
    folded: u64,
}

impl OwnersById {
    /// Keeps at most `bound` owners.
    pub(crate) fn new(bound: usize) -> OwnersById {
        OwnersById {
            ids: Numbering::default(),
            // The places of UNKNOWN and FOLDED.
            owners: vec![Owner::default(), Owner::default()],
            bound: bound.clamp(2, u32::MAX as usize),
            folded: 0,
        }
    }

    /// The owner with this id; all `NONE` for the unknown and the folded one.
    pub fn get(&self, id: OwnerId) -> Owner {
        self.owners.get(id.0 as usize).copied().unwrap_or_default()
    }

    /// Every owner with its id.
    pub(crate) fn all(&self) -> impl Iterator<Item = (OwnerId, &Owner)> {
        (0..).map(OwnerId).zip(&self.owners)
    }

    /// The id of `owner`. Beyond the bound its chain is given up first, then
    /// its thread.
    pub(crate) fn intern(&mut self, owner: Owner) -> OwnerId {
        if owner.thread.is_none() {
            return OwnerId::UNKNOWN;
        }
        match self.find(&owner) {
            Some(id) => id,
            None => self.add(owner),
        }
    }

    #[inline]
    fn find(&self, owner: &Owner) -> Option<OwnerId> {
        self.ids.find(owner, |id| self.owners.get(id as usize) == Some(owner)).map(OwnerId)
    }

    fn add(&mut self, owner: Owner) -> OwnerId {
        if self.owners.len() >= self.bound {
            self.folded += 1;
            return self.find(&Owner::thread(owner.lock, owner.thread)).unwrap_or(OwnerId::FOLDED);
        }
        let id = OwnerId(self.owners.len() as u32);
        self.owners.push(owner);
        self.ids.add(&owner, id.0);
        id
    }

    /// The same thread with the same call stack as owner of this lock, where what is known of one
    /// lock's owner stands for a lock like it.
    pub(crate) fn as_owner_of(&mut self, lock: LockId, id: OwnerId) -> OwnerId {
        match self.get(id) {
            owner if owner.lock == lock || owner.thread.is_none() => id,
            mut owner => {
                owner.lock = lock;
                self.intern(owner)
            }
        }
    }

    /// How many times an owner had to be folded since the last call.
    pub(crate) fn take_folded(&mut self) -> u64 {
        std::mem::take(&mut self.folded)
    }
}
