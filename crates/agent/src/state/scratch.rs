//! A thread's scratch memory for walking its stack, allocated when it first
//! contends.

use crate::jvmti::table::FrameInfo;
use headway_hotspot::WalkCache;
use headway_model::ChainId;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

/// See the module.
#[derive(Default)]
pub struct Scratch {
    /// Frames as JVMTI gives them.
    pub infos: Vec<FrameInfo>,
    /// The thread's previous walks, by [`Side`]: a thread that blocks and wakes
    /// others in turns finds each where it was.
    pub walks: [Previous; 2],
    /// Which of them was the last.
    pub last: Side,
    /// The chain's key.
    pub key: Vec<u64>,
}

impl Scratch {
    /// What a walk at this side needs; notes that it is the last one.
    #[inline]
    pub fn of(&mut self, side: Side) -> (&mut Previous, &mut Vec<u64>) {
        self.last = side;
        let [blocks, wakes] = &mut self.walks;
        let previous = match side {
            Side::Blocks => blocks,
            Side::Wakes => wakes,
        };
        (previous, &mut self.key)
    }

    /// The walk taken last.
    pub fn last_walk(&self) -> Option<&WalkCache> {
        let [blocks, wakes] = &self.walks;
        match self.last {
            Side::Blocks => blocks.walk.as_ref(),
            Side::Wakes => wakes.walk.as_ref(),
        }
    }
}

/// At which kind of event a walk is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// The thread is about to block, or was blocked.
    #[default]
    Blocks,
    /// It lets others go on.
    Wakes,
}

/// A walk, and the chain that it gave.
#[derive(Default)]
pub struct Previous {
    /// Its frames.
    pub walk: Option<WalkCache>,
    /// `None` if it gave no chain.
    pub taken: Option<Taken>,
}

/// A chain that holds for the same frames as long as the rest is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The chain.
    pub chain: ChainId,
    /// Generation of the set of chains that it is in.
    pub generation: u64,
    /// See [`Walk::unloads`](crate::chain::by_walk::Walk::unloads).
    pub unloads: Option<u64>,
}

/// A [`Scratch`] that one borrower at a time gets.
#[derive(Default)]
pub struct ScratchCell {
    taken: AtomicBool,
    scratch: UnsafeCell<Option<Box<Scratch>>>,
}

// SAFETY: `scratch` is only reached through `borrow`, which hands it to one
// borrower at a time (the exchange of `taken` decides).
unsafe impl Sync for ScratchCell {}
// SAFETY: what is inside is plain data; JVMTI's method ids are plain tokens.
unsafe impl Send for ScratchCell {}

impl ScratchCell {
    /// The scratch memory; `None` while somebody else has it (a thread that
    /// was interrupted inside an event by another event).
    #[inline]
    pub fn borrow(&self) -> Option<Borrowed<'_>> {
        if self.taken.swap(true, Ordering::Acquire) {
            return None;
        }
        // SAFETY: `taken` was false and is true now: nobody else is in here
        // until the guard below is dropped.
        let scratch = unsafe { &mut *self.scratch.get() };
        Some(Borrowed { taken: &self.taken, scratch: scratch.get_or_insert_with(Box::default) })
    }
}

impl ScratchCell {
    /// Gives the memory back: the thread ends.
    pub fn release(&self) {
        if self.taken.swap(true, Ordering::Acquire) {
            return;
        }
        // SAFETY: as in `borrow`: nobody else is in here until `taken` is false again.
        let scratch = unsafe { &mut *self.scratch.get() };
        drop(scratch.take());
        self.taken.store(false, Ordering::Release);
    }

    #[cfg(test)]
    fn has_memory(&self) -> bool {
        // SAFETY: tests look from one thread.
        unsafe { (*self.scratch.get()).is_some() }
    }
}

/// A borrowed [`Scratch`].
pub struct Borrowed<'a> {
    taken: &'a AtomicBool,
    scratch: &'a mut Scratch,
}

impl Deref for Borrowed<'_> {
    type Target = Scratch;
    fn deref(&self) -> &Scratch {
        self.scratch
    }
}

impl DerefMut for Borrowed<'_> {
    fn deref_mut(&mut self) -> &mut Scratch {
        self.scratch
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        self.taken.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_ends_leaves_no_memory_behind() {
        let cell = ScratchCell::default();
        cell.release();
        assert!(!cell.has_memory());
        cell.borrow().unwrap().key.push(1);
        assert!(cell.has_memory());
        let borrowed = cell.borrow().unwrap();
        cell.release();
        assert!(cell.has_memory());
        drop(borrowed);
        cell.release();
        assert!(!cell.has_memory());
        assert!(cell.borrow().unwrap().key.is_empty());
    }
}
