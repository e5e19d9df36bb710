//! Memory for trampolines. What is placed is never unmapped or changed: a
//! thread may be on its way through it at any later time. It is bounded by
//! keeping one trampoline per function, used again by every re-installation.

use crate::arch::{self, ContextArguments, Prologue};
use crate::error::HookError;
use crate::sys::{Mapping, Protection, Sys, PAGE_BYTES};
use std::io;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::AtomicUsize;

/// How far a trampoline may be from its function. A moved instruction's operand that is relative to
/// its address reaches 2 GB; what it refers to is in the same library,
/// for which this leaves 256 MB.
const REACH_BYTES: usize = 0x7000_0000;

/// Never mapped: the zero page and its neighbours, where null pointers with an
/// offset point.
const LOWEST: usize = 0x10_0000;

/// How many places are tried.
const ATTEMPTS: usize = 64;

/// A trampoline in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    /// Where the function's entry jumps to.
    pub(crate) thunk: usize,
    /// The callable original.
    pub(crate) original: usize,
    /// The word that holds the hook's address.
    hook_slot: usize,
}

impl Placed {
    /// The word that holds the hook's address.
    pub(crate) fn hook_slot(&self) -> &'static AtomicUsize {
        // SAFETY: `place` mapped it, aligned, writable and for ever.
        unsafe { &*(self.hook_slot as *const AtomicUsize) }
    }
}

/// Puts a trampoline for a function near it: a page of code (read, execute)
/// and a page with the hook's address (read, write).
pub(crate) fn place(
    sys: &dyn Sys,
    symbol: &str,
    prologue: &Prologue,
    context: ContextArguments,
) -> Result<Placed, HookError> {
    let refused = |refusal: arch::Refusal| refusal.of(symbol, &prologue.bytes);
    // Whether the code can be moved at all is found out before memory is taken.
    let beside = prologue.address.wrapping_sub(16 * PAGE_BYTES);
    arch::trampoline(prologue, beside, beside + PAGE_BYTES, context).map_err(refused)?;
    let at = map_near(sys, prologue.address).map_err(|error| HookError::NoRoomNearby {
        symbol: symbol.to_owned(),
        address: prologue.address,
        error,
    })?;
    let hook_slot = at + PAGE_BYTES;
    let built = arch::trampoline(prologue, at, hook_slot, context).map_err(refused)?;
    // SAFETY: `map_near` mapped this page for us, writable, and the code is
    // shorter than a page; nobody executes it yet.
    unsafe { ptr::copy_nonoverlapping(built.code.as_ptr(), at as *mut u8, built.code.len()) };
    // SAFETY: our own page, and we are done writing it.
    unsafe { sys.protect(at..at + PAGE_BYTES, Protection::READ_EXECUTE) }
        .map_err(|error| HookError::ProtectDenied { address: at, error })?;
    Ok(Placed { thunk: at + built.thunk_offset, original: at + built.original_offset, hook_slot })
}

/// Two pages as near as possible.
fn map_near(sys: &dyn Sys, target: usize) -> io::Result<usize> {
    let length = 2 * PAGE_BYTES;
    let mut last = io::Error::new(io::ErrorKind::OutOfMemory, "no gap in the address space");
    let candidates = candidates(&sys.mappings()?, target, length);
    for address in candidates.into_iter().take(ATTEMPTS) {
        match sys.map_at(address, length) {
            Ok(()) => return Ok(address),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Free places within reach, nearest first: of each gap its two ends.
fn candidates(mappings: &[Mapping], target: usize, length: usize) -> Vec<usize> {
    let ends = mappings.iter().map(|m| m.range.end);
    let starts = mappings.iter().skip(1).map(|m| m.range.start);
    let mut found: Vec<usize> = ends
        .zip(starts)
        .flat_map(|(start, end)| gap_ends(start.max(LOWEST)..end, length))
        .filter(|place| place.abs_diff(target) < REACH_BYTES)
        .collect();
    found.sort_by_key(|place| place.abs_diff(target));
    found
}

fn gap_ends(gap: Range<usize>, length: usize) -> Vec<usize> {
    if gap.len() < length {
        return Vec::new();
    }
    vec![gap.start, gap.end - length]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(ranges: &[Range<usize>]) -> Vec<Mapping> {
        ranges
            .iter()
            .map(|range| Mapping { range: range.clone(), protection: Protection::READ_EXECUTE, path: String::new() })
            .collect()
    }

    #[test]
    fn gaps_are_offered_nearest_first_and_only_within_reach() {
        let target = 0x7f00_0000_0000;
        let mappings = map(&[
            0x1000..0x2000,
            target - 0x10_0000..target - 0x8000,
            target..target + 0x1000,
            target + 0x2000..target + 0x3000,
        ]);
        assert_eq!(candidates(&mappings, target, 0x2000), [target - 0x2000, target - 0x8000, target - 0x10_2000]);
    }
}
