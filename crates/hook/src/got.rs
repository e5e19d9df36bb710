//! Fallback: a replacement for a function that the library imports.
//!
//! A library calls an imported function through a slot of its global offset
//! table. The slot is one aligned word and is swapped at once: a thread calls
//! either the one or the other. Other libraries keep their own slots.

use crate::error::HookError;
use crate::image::Image;
use crate::protection;
use crate::sys::Sys;
use std::ffi::CString;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An imported function and its replacement. Dropping it changes nothing.
pub struct GotHook {
    symbol: String,
    slot: &'static AtomicUsize,
    /// What the slot holds without the hook.
    found: usize,
    original: usize,
    replacement: usize,
    sys: &'static dyn Sys,
}

impl std::fmt::Debug for GotHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Replacement of {}", self.symbol)
    }
}

impl GotHook {
    /// Finds the slot. Nothing is changed yet, but [`GotHook::original`] can
    /// be called already.
    ///
    /// # Safety
    /// `replacement` must have the imported function's signature and must
    /// neither unwind nor ever be unloaded.
    ///
    /// # Errors
    /// If the library has no such slot or the original cannot be found.
    pub unsafe fn prepare(
        image: &Image,
        symbol: &str,
        replacement: *const (),
        sys: &'static dyn Sys,
    ) -> Result<GotHook, HookError> {
        let address = image.got_slot(symbol)?;
        // SAFETY: the library's relocations say that the dynamic linker keeps
        // an aligned pointer there; the library is never unloaded.
        let slot = unsafe { &*(address as *const AtomicUsize) };
        let found = slot.load(Ordering::Acquire);
        // Not bound yet: the slot leads back into the library, to code that
        // binds it and so would overwrite the hook.
        let original = match image.contains(found) {
            true => bound(symbol).ok_or_else(|| HookError::SlotChanged { symbol: symbol.to_owned(), value: found })?,
            false => found,
        };
        Ok(GotHook { symbol: symbol.to_owned(), slot, found, original, replacement: replacement as usize, sys })
    }

    /// The function that was imported.
    pub fn original(&self) -> *const () {
        self.original as *const ()
    }

    /// The imported function's name.
    pub fn symbol(&self) -> &str {
        &self.symbol
    }

    /// True while the slot leads to the replacement.
    pub fn is_installed(&self) -> bool {
        self.slot.load(Ordering::Acquire) == self.replacement
    }

    /// Lets the slot lead to the replacement. Does nothing if it does.
    ///
    /// # Errors
    /// If somebody else changed the slot meanwhile, or its page cannot be
    /// made writable.
    pub fn install(&self) -> Result<(), HookError> {
        match self.slot.load(Ordering::Acquire) {
            value if value == self.replacement => Ok(()),
            // Bound by the dynamic linker since.
            value if value == self.original => self.swap(value, self.replacement),
            _ => self.swap(self.found, self.replacement),
        }
    }

    /// Gives the slot its original back. Does nothing if it has it. Calls that
    /// are inside the replacement go on there.
    ///
    /// # Errors
    /// As for [`GotHook::install`].
    pub fn remove(&self) -> Result<(), HookError> {
        match self.slot.load(Ordering::Acquire) {
            value if value == self.found || value == self.original => Ok(()),
            _ => self.swap(self.replacement, self.original),
        }
    }

    fn swap(&self, from: usize, to: usize) -> Result<(), HookError> {
        let address = self.slot.as_ptr() as usize;
        let swapped = protection::while_writable(self.sys, address..address + size_of::<usize>(), || {
            self.slot.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
        })?;
        swapped.map(|_| ()).map_err(|value| HookError::SlotChanged { symbol: self.symbol.clone(), value })
    }
}

/// The address under which the process knows a function.
fn bound(symbol: &str) -> Option<usize> {
    let name = CString::new(symbol).ok()?;
    // SAFETY: a NUL-terminated name; nothing is called.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address as usize)
}
