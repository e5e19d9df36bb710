//! Fallback: a replacement for a function that the library imports.
//!
//! A library calls an imported function through a slot of its global offset
//! table. The slot is one aligned word and is swapped at once: a thread calls
//! either the one or the other. Other libraries keep their own slots.

use crate::error::HookError;
use crate::image::Image;
use crate::sys::{pages, Protection, Sys};
use std::ffi::CString;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Only one slot at a time is changed: two may share a page, and one change
/// must not take away the other's right to write.
static CHANGING: Mutex<()> = Mutex::new(());

fn changing() -> MutexGuard<'static, ()> {
    CHANGING.lock().unwrap_or_else(|held| held.into_inner())
}

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
        let _turn = changing();
        let address = self.slot.as_ptr() as usize;
        let rights = self.rights(address)?;
        if !rights.write {
            self.protect(address, rights.writable())?;
        }
        let swapped = self.slot.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
        if !rights.write {
            self.protect(address, rights)?;
        }
        swapped.map(|_| ()).map_err(|value| HookError::SlotChanged { symbol: self.symbol.clone(), value })
    }

    fn rights(&self, address: usize) -> Result<Protection, HookError> {
        let mappings = self.sys.mappings().map_err(HookError::MapUnreadable)?;
        let mapping = mappings.iter().find(|m| m.range.contains(&address));
        mapping.map(|m| m.protection).ok_or_else(|| HookError::ProtectDenied {
            address,
            error: std::io::Error::from(std::io::ErrorKind::NotFound),
        })
    }

    fn protect(&self, address: usize, to: Protection) -> Result<(), HookError> {
        let page = pages(address..address + size_of::<usize>());
        // SAFETY: a mapped page of the library; only the right to write is
        // added, or taken away again, which nobody had before.
        unsafe { self.sys.protect(page, to) }.map_err(|error| HookError::ProtectDenied { address, error })
    }
}

/// The address under which the process knows a function.
fn bound(symbol: &str) -> Option<usize> {
    let name = CString::new(symbol).ok()?;
    // SAFETY: a NUL-terminated name; nothing is called.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address as usize)
}
