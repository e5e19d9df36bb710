//! Reading fields of Java objects by their address from threads that the
//! collector does not wait for. What is read is right if no collection moved
//! anything meanwhile, which is checked afterwards (as with a seqlock): the VM
//! says when a pause begins, before it moves the first object, and when it ends.
//! A collector that moves objects while threads run marks the references that
//! it has not brought up to date ([`headway_hotspot::oop`]).

use crate::vm::Known;
use headway_hook::Image;
use headway_hotspot::{oop, Memory};
use headway_model::ThreadId;
use std::sync::atomic::{fence, AtomicU64, Ordering};
use std::sync::OnceLock;

/// When objects move, and where the JDK's own have the fields that are read.
#[derive(Debug, Default)]
pub struct Heap {
    /// When objects move.
    pub pauses: Pauses,
    fields: OnceLock<Fields>,
}

impl Heap {
    /// Finds the fields, where the VM's own variables say where they are.
    pub fn learn(&self, image: &Image, memory: &impl Memory) {
        if let Some(fields) = Fields::find(image, memory) {
            self.fields.get_or_init(|| fields);
        }
    }

    /// The fields, once they are known.
    #[inline]
    pub fn fields(&self) -> Option<&Fields> {
        self.fields.get()
    }

    /// The exclusive owner of a synchronizer behind a weak global reference;
    /// `None` if that cannot be said now.
    pub fn owner_behind(&self, known: &Known, reference: u64) -> Option<ThreadId> {
        let fields = self.fields()?;
        let read = |_| fields.owner(known, known.object_in_weak(reference)?);
        self.pauses.calm(read).map(ThreadId)
    }
}

/// Collections begun and ended.
#[derive(Debug, Default)]
pub struct Pauses {
    begun: AtomicU64,
    ended: AtomicU64,
    forgotten: AtomicU64,
}

/// A time in which no object moves and none is known to have died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calm(pub u64);

impl Pauses {
    /// A pause begins; nothing has been moved yet.
    pub fn begin(&self) {
        self.begun.fetch_add(1, Ordering::SeqCst);
    }

    /// It ends. A pause whose begin was not seen counts as one all the same.
    pub fn end(&self) {
        let begun = self.begun.load(Ordering::SeqCst);
        match self.ended.load(Ordering::SeqCst) == begun {
            true => self.forget(),
            false => self.ended.store(begun, Ordering::SeqCst),
        }
    }

    /// What was known by address is not any more: an object died, or pauses
    /// were not listened to for a while.
    pub fn forget(&self) {
        self.forgotten.fetch_add(1, Ordering::SeqCst);
    }

    /// What `read` reads, unless objects may have moved meanwhile.
    #[inline]
    pub fn calm<T>(&self, read: impl FnOnce(Calm) -> Option<T>) -> Option<T> {
        let now = self.begun.load(Ordering::Acquire);
        if self.ended.load(Ordering::Acquire) != now {
            return None;
        }
        let found = read(Calm(now << 32 ^ self.forgotten.load(Ordering::Acquire)));
        fence(Ordering::Acquire);
        found.filter(|_| self.begun.load(Ordering::Relaxed) == now)
    }
}

/// Where `java.lang.Thread` and `AbstractOwnableSynchronizer` have their fields.
#[derive(Clone, Copy, Debug)]
pub struct Fields {
    park_blocker: u64,
    interrupted: u64,
    exclusive_owner: u64,
}

const PARK_BLOCKER: &str = "_ZN16java_lang_Thread20_park_blocker_offsetE";
const INTERRUPTED: &str = "_ZN16java_lang_Thread19_interrupted_offsetE";
const EXCLUSIVE_OWNER: &str = "_ZN54java_util_concurrent_locks_AbstractOwnableSynchronizer13_owner_offsetE";
/// Fields lie behind an object's header and within its first page.
const PLAUSIBLE: std::ops::Range<u32> = 8..4096;

impl Fields {
    /// Where the VM's own variables say; `None` if they are not to be found.
    pub fn find(image: &Image, memory: &impl Memory) -> Option<Fields> {
        let offset = |symbol: &str| {
            let offset = memory.read_u32(image.address_of(symbol)? as u64)?;
            PLAUSIBLE.contains(&offset).then_some(u64::from(offset))
        };
        Some(Fields {
            park_blocker: offset(PARK_BLOCKER)?,
            interrupted: offset(INTERRUPTED)?,
            exclusive_owner: offset(EXCLUSIVE_OWNER)?,
        })
    }

    /// Address of the current `java.lang.Thread`, of the virtual one if
    /// `is_virtual`.
    #[inline]
    pub fn thread_object(&self, known: &Known, vm_thread: u64, is_virtual: bool) -> Option<u64> {
        let thread = &known.layout.thread;
        let handle = match is_virtual {
            true => thread.vthread?,
            false => thread.thread_obj,
        };
        oop::resolve_handle(&known.layout, &known.memory, vm_thread + handle).filter(|object| *object != 0)
    }

    /// Address of a thread's blocker, 0 if it names none.
    #[inline]
    pub fn blocker(&self, known: &Known, thread_object: u64) -> Option<u64> {
        oop::load(&known.layout, &known.memory, thread_object + self.park_blocker)
    }

    /// A thread's interrupted status.
    #[inline]
    pub fn is_interrupted(&self, known: &Known, thread_object: u64) -> Option<bool> {
        known.memory.read_u8(thread_object + self.interrupted).map(|status| status != 0)
    }

    /// Id of the exclusive owner of an `AbstractOwnableSynchronizer`, 0 if it
    /// has none.
    #[inline]
    pub fn owner(&self, known: &Known, synchronizer: u64) -> Option<u64> {
        match oop::load(&known.layout, &known.memory, synchronizer + self.exclusive_owner)? {
            0 => Some(0),
            owner => known.memory.read_u64(owner + known.layout.thread.tid_in_object?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_during_a_pause_is_not_believed() {
        let pauses = Pauses::default();
        assert_eq!(pauses.calm(|calm| Some(calm.0)), Some(0));
        pauses.begin();
        assert_eq!(pauses.calm(|_| Some(1)), None);
        pauses.end();
        let after = pauses.calm(Some).unwrap();
        assert_ne!(after, Calm(0));
        let torn = pauses.calm(|_| {
            pauses.begin();
            Some(1)
        });
        assert_eq!(torn, None);
        pauses.end();
        pauses.forget();
        assert_ne!(pauses.calm(Some).unwrap(), after);
        // An end without a begin: recording started in between.
        pauses.end();
        assert!(pauses.calm(Some).is_some());
    }
}
