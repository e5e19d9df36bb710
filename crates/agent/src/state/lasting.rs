//! What sampling reads once in the life of a process, for all its recordings:
//! the unwind tables and symbols of libraries, and where the kernel's functions
//! are. Reading them takes longer than a ring lasts, so the kernel's are read by a
//! separate thread; until it is done they are all called `[kernel]`.
//! A detach gives the memory back.

use crate::own_cost::OwnCost;
use headway_sample::kernel::Functions;
use headway_sample::native::Unwinder;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// See the module. The locks are held for a look or a move, never while
/// something is read.
#[derive(Default)]
pub struct Lasting {
    unwinder: Mutex<Option<Unwinder>>,
    kernel: Mutex<Kernel>,
}

#[derive(Default)]
enum Kernel {
    #[default]
    Unread,
    BeingRead,
    Read(Arc<Functions>),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A look or a move leaves what is inside whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lasting {
    /// What the last recording knew of libraries, brought up to date.
    pub fn unwinder(&self) -> Unwinder {
        let kept = lock(&self.unwinder).take();
        kept.map_or_else(Unwinder::new, Unwinder::renewed)
    }

    /// Keeps it for the next one.
    pub fn keep(&self, mut unwinder: Unwinder) {
        unwinder.rest();
        *lock(&self.unwinder) = Some(unwinder);
    }

    /// Has the kernel's functions read, if nobody has yet, at whose cost `own` says. The thread inherits the
    /// caller's signal mask.
    ///
    /// # Errors
    /// There is no thread to be had: until the next call they have no names.
    pub fn read_kernel(&'static self, own: &'static OwnCost) -> io::Result<()> {
        let mut kernel = lock(&self.kernel);
        if matches!(*kernel, Kernel::Unread) {
            std::thread::Builder::new().name("headway-names".to_owned()).spawn(|| {
                let _own = own.own_thread();
                self.read_now();
            })?;
            *kernel = Kernel::BeingRead;
        }
        Ok(())
    }

    fn read_now(&self) {
        let functions = Arc::new(Functions::read());
        let mut kernel = lock(&self.kernel);
        // A detach forgets what was still on its way.
        if matches!(*kernel, Kernel::BeingRead) {
            *kernel = Kernel::Read(functions);
        }
    }

    /// The kernel's functions; `None` while they are read.
    pub fn kernel(&self) -> Option<Arc<Functions>> {
        match &*lock(&self.kernel) {
            Kernel::Read(functions) => Some(functions.clone()),
            Kernel::Unread | Kernel::BeingRead => None,
        }
    }

    /// Gives everything back.
    pub fn release(&self) {
        let unwinder = lock(&self.unwinder).take();
        let kernel = std::mem::take(&mut *lock(&self.kernel));
        drop((unwinder, kernel));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_functions_are_read_once_and_libraries_are_handed_on() {
        let lasting: &'static Lasting = Box::leak(Box::default());
        let own: &'static OwnCost = Box::leak(Box::default());
        assert!(lasting.kernel().is_none());
        lasting.read_kernel(own).unwrap();
        let first = loop {
            match lasting.kernel() {
                Some(functions) => break functions,
                None => std::thread::yield_now(),
            }
        };
        lasting.read_kernel(own).unwrap();
        assert!(lasting.kernel().is_some_and(|again| Arc::ptr_eq(&first, &again)));
        assert!(own.of_threads().0 > 0);

        let here = Lasting::release as *const () as u64;
        let name = |unwinder: &Unwinder| unwinder.function(here).and_then(|(name, _)| name).unwrap();
        let unwinder = lasting.unwinder();
        assert!(name(&unwinder).contains("release"));
        lasting.keep(unwinder);
        assert!(lock(&lasting.unwinder).is_some());
        assert!(name(&lasting.unwinder()).contains("release"));
        lasting.release();
        assert!(lasting.kernel().is_none() && lock(&lasting.unwinder).is_none());
    }
}
