//! Who held a lock: interned, so that a slice carries four bytes.

use crate::names::{NameId, Names};
use crate::numbering::Numbering;
use headway_model::{ChainId, LockId, ThreadId};

/// Stands for a [`Holder`] in a [`Holders`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HolderId(u32);

impl HolderId {
    /// Nobody known.
    pub const UNKNOWN: HolderId = HolderId(0);
    /// Somebody, but a memory bound did not let us keep who.
    pub const FOLDED: HolderId = HolderId(1);

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
        self.0 == HolderId::FOLDED.0
    }
}

/// A thread that held a lock, and with which chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Holder {
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

impl Holder {
    /// A thread whose chain is not known.
    pub const fn thread(lock: LockId, thread: ThreadId) -> Holder {
        Holder { lock, thread, chain: ChainId::NONE, frame: 0, approximate: false }
    }

    /// The method that owned the lock; `None` if its call stack is not known.
    pub(crate) fn method(&self, names: &mut Names) -> Option<NameId> {
        names.holder_path(self.chain, self.frame).and_then(|path| names.acting_method(path))
    }
}

/// The holders seen so far.
#[derive(Debug)]
pub struct Holders {
    ids: Numbering,
    holders: Vec<Holder>,
    bound: usize,
    folded: u64,
}

impl Holders {
    /// Keeps at most `bound` holders.
    pub(crate) fn new(bound: usize) -> Holders {
        Holders {
            ids: Numbering::default(),
            // The places of UNKNOWN and FOLDED.
            holders: vec![Holder::default(), Holder::default()],
            bound: bound.clamp(2, u32::MAX as usize),
            folded: 0,
        }
    }

    /// The holder with this id; all `NONE` for the unknown and the folded one.
    pub fn get(&self, id: HolderId) -> Holder {
        self.holders.get(id.0 as usize).copied().unwrap_or_default()
    }

    /// Every holder with its id.
    pub(crate) fn all(&self) -> impl Iterator<Item = (HolderId, &Holder)> {
        (0..).map(HolderId).zip(&self.holders)
    }

    /// The id of `holder`. Beyond the bound its chain is given up first, then
    /// its thread.
    pub(crate) fn intern(&mut self, holder: Holder) -> HolderId {
        if holder.thread.is_none() {
            return HolderId::UNKNOWN;
        }
        match self.find(&holder) {
            Some(id) => id,
            None => self.add(holder),
        }
    }

    #[inline]
    fn find(&self, holder: &Holder) -> Option<HolderId> {
        self.ids.find(holder, |id| self.holders.get(id as usize) == Some(holder)).map(HolderId)
    }

    fn add(&mut self, holder: Holder) -> HolderId {
        if self.holders.len() >= self.bound {
            self.folded += 1;
            return self.find(&Holder::thread(holder.lock, holder.thread)).unwrap_or(HolderId::FOLDED);
        }
        let id = HolderId(self.holders.len() as u32);
        self.holders.push(holder);
        self.ids.add(&holder, id.0);
        id
    }

    /// The same thread with the same call stack as owner of this lock, where what is known of one
    /// lock's owner stands for a lock like it.
    pub(crate) fn as_owner_of(&mut self, lock: LockId, id: HolderId) -> HolderId {
        match self.get(id) {
            owner if owner.lock == lock || owner.thread.is_none() => id,
            mut owner => {
                owner.lock = lock;
                self.intern(owner)
            }
        }
    }

    /// How many times a holder had to be folded since the last call.
    pub(crate) fn take_folded(&mut self) -> u64 {
        std::mem::take(&mut self.folded)
    }
}
