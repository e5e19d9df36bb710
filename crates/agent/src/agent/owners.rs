//! Who owns a monitor: what the VM's structures say, in terms of tracked threads.

use crate::threads::{Slot, Threads};
use crate::vm::{HotSpot, Known};
use headway_hotspot::monitor::{self, LOCK_STACK_ENTRIES};
use headway_hotspot::{thread, Memory};
use headway_model::ThreadId;
use std::sync::atomic::Ordering;

impl HotSpot {
    /// The Java thread that owns a monitor; `NONE` if nobody or not readable.
    #[inline]
    pub fn owner_of(&self, monitor: u64, threads: &Threads) -> ThreadId {
        let Some(known) = self.known().filter(|_| monitor != 0) else { return ThreadId::NONE };
        let layout = &known.layout.monitor;
        let owner = known.memory.read_u64(monitor + layout.owner).unwrap_or(0);
        if owner <= layout.last_special_owner {
            return ThreadId::NONE;
        }
        if layout.owner_is_thread_id {
            return ThreadId(owner);
        }
        match threads.find(owner) {
            Some(slot) => self.mounted_on(slot),
            None => self.owner_by_stack(owner, threads),
        }
    }

    /// The object of a monitor that has an owner and does not say whom; 0 if it says, has none, or is not
    /// readable. Valid while the monitor is pinned, until a collection moves the object.
    #[cold]
    pub fn object_owned_by_somebody(&self, monitor: u64) -> u64 {
        let Some(Known { layout, memory, .. }) = self.known().filter(|_| monitor != 0) else { return 0 };
        match monitor::owner(layout, memory, monitor) {
            Some(monitor::Owner::Anonymous) => monitor::object(layout, memory, monitor).unwrap_or(0),
            _ => 0,
        }
    }

    /// The objects that a VM thread has locked without their monitors knowing; zeros fill the rest.
    pub fn lock_stack(&self, vm_thread: u64) -> [u64; LOCK_STACK_ENTRIES] {
        let known = self.known();
        known.map_or([0; _], |known| monitor::lock_stack(&known.layout, &known.memory, vm_thread))
    }

    /// The Java thread that runs on a VM thread: a carrier's virtual thread.
    pub fn mounted_on(&self, slot: &Slot) -> ThreadId {
        if !slot.is_carrier.load(Ordering::Relaxed) {
            return slot.thread();
        }
        let Some(known) = self.known() else { return slot.thread() };
        let id = thread::current_thread_id(&known.layout, &known.memory, slot.vm_thread());
        id.map_or(slot.thread(), ThreadId)
    }

    /// The thread on whose stack this address lies: before JDK 24 a monitor
    /// that was inflated by a contender names its owner by the owner's lock
    /// record.
    #[cold]
    fn owner_by_stack(&self, address: u64, threads: &Threads) -> ThreadId {
        threads.find_by_stack(address).map_or(ThreadId::NONE, |slot| self.mounted_on(slot))
    }

    /// Makes a thread known by its stack, where monitors name owners so.
    pub fn learn_stack(&self, slot: &Slot, threads: &Threads) {
        let Some(known) = self.known().filter(|known| !known.layout.monitor.owner_is_thread_id) else { return };
        if let Some(stack) = thread::stack_range(&known.layout, &known.memory, slot.vm_thread()) {
            threads.set_stack(slot.vm_thread(), stack);
        }
    }
}
