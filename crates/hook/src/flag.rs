//! Boolean VM flags in memory.

use crate::error::ImageError;
use crate::image::Image;
use std::sync::atomic::{AtomicU8, Ordering};

/// A `bool` flag of the VM. HotSpot reads these as plain variables at each
/// use, so that a write takes effect from then on; what was compiled with the
/// old value stays as it is.
#[derive(Clone, Copy, Debug)]
pub struct BoolFlag {
    byte: &'static AtomicU8,
}

impl BoolFlag {
    /// Debug information for inlined callees at every instruction, not only
    /// at safepoints; for code compiled from now on.
    pub const DEBUG_NON_SAFEPOINTS: &'static str = "DebugNonSafepoints";
    /// Whether the VM runs through its monitor probes.
    pub const DTRACE_MONITOR_PROBES: &'static str = "DTraceMonitorProbes";

    /// The flag of this name in a loaded VM.
    ///
    /// # Errors
    /// If it is not found, or does not hold 0 or 1.
    pub fn find(image: &Image, name: &str) -> Result<BoolFlag, ImageError> {
        let address = image.variable(name, 1)?;
        // SAFETY: the loaded library has a variable of at least one byte
        // there; a VM is never unloaded. The VM itself reads it without
        // synchronization, on which a one-byte store cannot tear.
        let byte = unsafe { &*(address as *const AtomicU8) };
        match byte.load(Ordering::Relaxed) {
            0 | 1 => Ok(BoolFlag { byte }),
            value => {
                Err(ImageError::UnfitSymbol { symbol: name.to_owned(), reason: format!("a flag that holds {value}") })
            }
        }
    }

    /// Its value.
    pub fn get(self) -> bool {
        self.byte.load(Ordering::Relaxed) != 0
    }

    /// Sets it and returns what it was.
    ///
    /// # Safety
    /// The VM must tolerate a change of this flag while it runs.
    pub unsafe fn set(self, value: bool) -> bool {
        self.byte.swap(u8::from(value), Ordering::SeqCst) != 0
    }
}
