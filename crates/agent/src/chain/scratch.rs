//! A thread's scratch memory for walking its stack, allocated when it first
//! contends.

use crate::jvmti::table::FrameInfo;
use headway_hotspot::WalkCache;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

/// See the module.
#[derive(Default)]
pub struct Scratch {
    /// Frames as JVMTI gives them.
    pub infos: Vec<FrameInfo>,
    /// The thread's previous walk.
    pub walk: Option<WalkCache>,
    /// The chain's key.
    pub key: Vec<u64>,
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
        if let Some(borrowed) = self.borrow() {
            *borrowed.scratch = Scratch::default();
        }
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
