//! References to objects. The collector may move what they point to at any
//! safepoint: callers read, and check afterwards that the reference still holds.

use crate::layout::{Coloring, Layout};
use crate::memory::Memory;

/// The address of the object that the reference field at `field` points to, 0
/// for null. `None` if it cannot be read, or if it is one that the collector
/// has not brought up to date (the object may be elsewhere).
pub fn load<M: Memory>(layout: &Layout, memory: &M, field: u64) -> Option<u64> {
    if layout.oop.compressed {
        return Some(decompress(layout, memory.read_u32(field)?));
    }
    uncolored(layout, memory, memory.read_u64(field)?)
}

/// The object that an `OopHandle` or `WeakHandle` at `handle` holds, as
/// [`load`]. Handles are never compressed.
pub fn resolve_handle<M: Memory>(layout: &Layout, memory: &M, handle: u64) -> Option<u64> {
    match memory.read_u64(handle)? {
        0 => Some(0),
        slot => in_slot(layout, memory, slot),
    }
}

/// The object that a place of the VM's holds, such as the one behind a global
/// reference of JNI, as [`load`]. Such places are never compressed.
pub fn in_slot<M: Memory>(layout: &Layout, memory: &M, slot: u64) -> Option<u64> {
    uncolored(layout, memory, memory.read_u64(slot)?)
}

/// The address that a compressed reference stands for, 0 for null.
pub fn decompress(layout: &Layout, narrow: u32) -> u64 {
    match narrow {
        0 => 0,
        _ => layout.oop.base + (u64::from(narrow) << layout.oop.shift),
    }
}

fn uncolored<M: Memory>(layout: &Layout, memory: &M, reference: u64) -> Option<u64> {
    match layout.oop.coloring {
        Coloring::None => Some(reference),
        Coloring::MultiMapped { bad_mask_addr } => {
            let bad = memory.read_u64(bad_mask_addr)?;
            (reference & bad == 0).then_some(reference)
        }
        Coloring::Shifted { bad_mask_addr, shift_addr } => {
            let bad = memory.read_u64(bad_mask_addr)?;
            let shift = memory.read_u64(shift_addr)?;
            (reference & bad == 0).then_some(reference >> (shift & 63))
        }
        Coloring::Unknown => (reference == 0).then_some(0),
    }
}
