//! A value that one thread at a time may look at, and for which nobody waits.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whoever finds somebody else inside goes without.
#[derive(Debug, Default)]
pub struct Exclusive<T> {
    taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: `value` is only reached through `enter`, which lets one in at a time.
unsafe impl<T: Send> Sync for Exclusive<T> {}

/// Lets the next one in, also after a panic: a value that nobody can enter any
/// more would hold up whoever collects it for ever.
struct Inside<'a>(&'a AtomicBool);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl<T> Exclusive<T> {
    /// Works with the value; `None` if another thread is inside.
    #[inline]
    pub fn enter<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        if self.taken.swap(true, Ordering::Acquire) {
            return None;
        }
        let _inside = Inside(&self.taken);
        // SAFETY: `taken` was false and is true until `_inside` is dropped, behind
        // the last use of the value.
        Some(work(unsafe { &mut *self.value.get() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{catch_unwind, AssertUnwindSafe};

    #[test]
    fn nobody_enters_while_somebody_is_inside() {
        let cell = Exclusive::<u32>::default();
        let inner = cell.enter(|value| {
            *value += 1;
            cell.enter(|value| *value += 1)
        });
        assert_eq!((inner, cell.enter(|value| *value)), (Some(None), Some(1)));
    }

    #[test]
    fn a_panic_inside_leaves_it_open() {
        let cell = Exclusive::<u32>::default();
        let panicked = catch_unwind(AssertUnwindSafe(|| cell.enter(|_| panic!("inside"))));
        assert!(panicked.is_err() && cell.enter(|value| *value) == Some(0));
    }
}
