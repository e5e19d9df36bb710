//! Monitors: who owns one, and who waits on it.
//!
//! An `ObjectMonitor*` may be deflated and its memory used for another lock; it
//! stays what it is only while a contender or a waiter pins it.

use crate::layout::{Coloring, Layout};
use crate::memory::Memory;
use crate::oop;

/// What a monitor says about its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Nobody owns it.
    Nobody,
    /// `Thread.threadId()` of the owner, virtual or not (25).
    ThreadId(u64),
    /// The owner's `JavaThread*`, or an address on its stack, where its lock
    /// record lies (17, 21).
    Address(u64),
    /// Owned, but not said by whom (a lightweight lock just inflated), or taken
    /// by the VM to deflate it.
    Anonymous,
}

/// The owner of the monitor at `monitor` now.
#[inline]
pub fn owner<M: Memory>(layout: &Layout, memory: &M, monitor: u64) -> Option<Owner> {
    let value = memory.read_u64(monitor + layout.monitor.owner)?;
    Some(match value {
        0 => Owner::Nobody,
        special if special <= layout.monitor.last_special_owner => Owner::Anonymous,
        id if layout.monitor.owner_is_thread_id => Owner::ThreadId(id),
        address => Owner::Address(address),
    })
}

/// The object that a monitor belongs to; `None` if it died or is not known.
pub fn object<M: Memory>(layout: &Layout, memory: &M, monitor: u64) -> Option<u64> {
    oop::resolve_handle(layout, memory, monitor + layout.monitor.object).filter(|o| *o != 0)
}

/// Locks that a thread can have in its lock stack.
pub const LOCK_STACK_ENTRIES: usize = 8;

/// The objects that a thread has locked and whose monitors may not say so: a lock that was inflated by
/// somebody who waits for it learns its owner only when that releases it ([`Owner::Anonymous`]). Zeros
/// fill the rest. The thread runs meanwhile: what is read is a moment's truth, and only if a collection
/// has not moved the object, which the caller checks afterwards. All zeros with a collector that moves objects while
/// threads run and brings their stacks up to date later (ZGC, Shenandoah): the address may be another object's by then.
pub fn lock_stack<M: Memory>(layout: &Layout, memory: &M, java_thread: u64) -> [u64; LOCK_STACK_ENTRIES] {
    let mut objects = [0; LOCK_STACK_ENTRIES];
    let is_up_to_date = matches!(layout.oop.coloring, Coloring::None);
    let Some(stack) = layout.thread.lock_stack.filter(|_| is_up_to_date) else { return objects };
    let top = memory.read_u32(java_thread + stack.top).map_or(0, u64::from);
    let entries = top.saturating_sub(stack.base) / 8;
    for (entry, object) in (0..entries).zip(&mut objects) {
        *object = memory.read_u64(java_thread + stack.base + entry * 8).unwrap_or(0);
    }
    objects
}

/// How many times the owner has entered the monitor again.
pub fn recursions<M: Memory>(layout: &Layout, memory: &M, monitor: u64) -> Option<u64> {
    memory.read_u64(monitor + layout.monitor.recursions)
}

/// The first `ObjectWaiter*` of those in `Object.wait` on the monitor, 0 if
/// there is none: the one that `notify` will choose. Stable only for the owner.
#[inline]
pub fn first_waiter<M: Memory>(layout: &Layout, memory: &M, monitor: u64) -> Option<u64> {
    memory.read_u64(monitor + layout.monitor.wait_set)
}

/// The `JavaThread*` of an `ObjectWaiter`, 0 for a virtual thread (25).
#[inline]
pub fn waiter_thread<M: Memory>(memory: &M, waiter: u64) -> Option<u64> {
    memory.read_u64(waiter + WAITER_THREAD)
}

/// `Thread.threadId()` of the virtual thread that an `ObjectWaiter` without a
/// `JavaThread*` stands for (25). `None` where it is not known.
pub fn waiter_virtual_thread_id<M: Memory>(layout: &Layout, memory: &M, waiter: u64) -> Option<u64> {
    if !layout.monitor.owner_is_thread_id {
        return None;
    }
    crate::thread::id_behind(layout, memory, waiter + WAITER_VIRTUAL_THREAD)
}

/// The waiter's state (`TState`).
#[inline]
pub fn waiter_state<M: Memory>(layout: &Layout, memory: &M, waiter: u64) -> Option<u32> {
    match layout.monitor.waiter_state_is_byte {
        true => memory.read_u8(waiter + layout.monitor.waiter_state).map(u32::from),
        false => memory.read_u32(waiter + layout.monitor.waiter_state),
    }
}

/// True if the state is one of a waiter that was notified and queues for the
/// monitor again.
#[inline]
pub fn state_is_queued(state: u32) -> bool {
    matches!(state, 4 | 5)
}

/// `ObjectWaiter::_thread`: behind the ring's two links.
const WAITER_THREAD: u64 = 0x10;
/// `ObjectWaiter::_vthread`, an `OopHandle`: behind `_thread` (25).
const WAITER_VIRTUAL_THREAD: u64 = 0x18;
