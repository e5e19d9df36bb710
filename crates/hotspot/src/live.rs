//! Reading the memory of the process this code runs in.
//!
//! The one place of the crate that dereferences addresses. Reads go through
//! the VM's own `SafeFetchN`, which survives a bad address, except where the
//! caller vouches for the memory: its own stack, and the code cache as far as
//! the walker found it committed. A guarded read costs about 2 ns more, and a
//! walk does ten per frame.

#![allow(unsafe_code)] // dereferencing addresses is what this module is for

use crate::memory::Memory;

/// `SafeFetchN`: reads the word at the address, or gives the second argument
/// back if that faults. Symbol `SafeFetchN_impl` in libjvm of 17, 21 and 25.
pub type SafeFetchN = unsafe extern "C" fn(address: *const isize, error: isize) -> isize;

/// A half-open range of addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AddressRange {
    /// First address inside.
    pub start: u64,
    /// First address behind.
    pub end: u64,
}

impl AddressRange {
    /// True if `addr` and the `len` bytes from there lie inside.
    #[inline]
    pub fn holds(&self, addr: u64, len: u64) -> bool {
        addr >= self.start && addr < self.end && self.end - addr >= len
    }
}

/// The memory of this process. Copy it and set its ranges per thread.
#[derive(Clone, Copy, Debug)]
pub struct LiveMemory {
    safe_fetch: SafeFetchN,
    /// Addresses from which eight bytes of the vouched stack follow: the first,
    /// and how many. One subtraction and one comparison decide.
    stack: u64,
    stack_words: u64,
    code_is_readable: bool,
}

/// Two unlike values: a word that equals both when asked twice is a fault.
const ERROR_A: isize = 0x5afe_0bad_0bad_5afe;
const ERROR_B: isize = !ERROR_A;

impl LiveMemory {
    /// Reads everything through the VM's `SafeFetchN`.
    ///
    /// # Safety
    /// `safe_fetch` must be the VM's function (or one with the same promise:
    /// any address, readable or not, may be passed), and the VM's SIGSEGV
    /// handler must stay active while this value is used.
    pub unsafe fn guarded(safe_fetch: SafeFetchN) -> LiveMemory {
        LiveMemory { safe_fetch, stack: 0, stack_words: 0, code_is_readable: false }
    }

    /// The same, but reads inside `stack` directly.
    ///
    /// # Safety
    /// Every byte of `stack` must stay readable while this value is used: for
    /// a walk of the current thread, from the current stack pointer to the
    /// stack's base.
    #[inline]
    pub unsafe fn with_stack(mut self, stack: AddressRange) -> LiveMemory {
        self.stack = stack.start;
        self.stack_words = stack.end.saturating_sub(stack.start).saturating_sub(7);
        self
    }

    /// The same, but reads the committed code cache directly, where the walker
    /// has checked an address against the end of its heap.
    ///
    /// # Safety
    /// The value may only be handed to this crate's functions, together with a
    /// [`crate::Layout`] that was loaded in this process: committed code cache
    /// and its segment maps never become unreadable again.
    #[inline]
    pub unsafe fn with_code_cache(mut self) -> LiveMemory {
        self.code_is_readable = true;
        self
    }

    #[inline]
    fn on_stack(&self, addr: u64) -> bool {
        addr.wrapping_sub(self.stack) < self.stack_words
    }

    #[inline]
    fn fetch(&self, addr: u64) -> Option<u64> {
        // SAFETY: `guarded` was promised a function that takes any address.
        let word = unsafe { (self.safe_fetch)(addr as *const isize, ERROR_A) };
        if word != ERROR_A {
            return Some(word as u64);
        }
        // SAFETY: as above.
        let again = unsafe { (self.safe_fetch)(addr as *const isize, ERROR_B) };
        (again == ERROR_A).then_some(again as u64)
    }

    /// The aligned word that holds `addr`, shifted so that the byte at `addr`
    /// comes first. Never crosses into a page that may not be there.
    #[inline]
    fn word_around(&self, addr: u64) -> Option<u64> {
        let shift = (addr & 7) * 8;
        self.fetch(addr & !7).map(|word| word >> shift)
    }
}

impl Memory for LiveMemory {
    #[inline]
    fn read_u64(&self, addr: u64) -> Option<u64> {
        if self.on_stack(addr) {
            // SAFETY: inside the range that `with_stack` was promised to stay
            // readable.
            return Some(unsafe { (addr as *const u64).read_unaligned() });
        }
        if addr & 7 == 0 {
            return self.fetch(addr);
        }
        let low = self.word_around(addr)?;
        let high = self.fetch((addr & !7).checked_add(8)?)?;
        Some(low | (high << (64 - (addr & 7) * 8)))
    }

    #[inline]
    fn read_u64_pair(&self, addr: u64) -> Option<(u64, u64)> {
        if addr.wrapping_sub(self.stack) < self.stack_words.saturating_sub(8) {
            let at = addr as *const u64;
            // SAFETY: as in `read_u64`; eight more bytes follow inside the range.
            return Some(unsafe { (at.read_unaligned(), at.add(1).read_unaligned()) });
        }
        Some((self.read_u64(addr)?, self.read_u64(addr.checked_add(8)?)?))
    }

    #[inline]
    fn read_u32(&self, addr: u64) -> Option<u32> {
        if self.on_stack(addr) {
            // SAFETY: as in `read_u64`.
            return Some(unsafe { (addr as *const u32).read_unaligned() });
        }
        match addr & 7 {
            0..=4 => Some(self.word_around(addr)? as u32),
            _ => Some(self.read_u64(addr)? as u32),
        }
    }

    #[inline]
    fn read_u16(&self, addr: u64) -> Option<u16> {
        if self.on_stack(addr) {
            // SAFETY: as in `read_u64`.
            return Some(unsafe { (addr as *const u16).read_unaligned() });
        }
        match addr & 7 {
            0..=6 => Some(self.word_around(addr)? as u16),
            _ => Some(self.read_u64(addr)? as u16),
        }
    }

    #[inline]
    fn read_u8(&self, addr: u64) -> Option<u8> {
        if self.on_stack(addr) {
            // SAFETY: as in `read_u64`.
            return Some(unsafe { (addr as *const u8).read() });
        }
        Some(self.word_around(addr)? as u8)
    }

    #[inline]
    fn read_code_u64(&self, addr: u64) -> Option<u64> {
        if self.code_is_readable {
            // SAFETY: committed code cache, as `with_code_cache` was promised.
            return Some(unsafe { (addr as *const u64).read_unaligned() });
        }
        self.read_u64(addr)
    }

    #[inline]
    fn read_code_u32(&self, addr: u64) -> Option<u32> {
        if self.code_is_readable {
            // SAFETY: as in `read_code_u64`.
            return Some(unsafe { (addr as *const u32).read_unaligned() });
        }
        self.read_u32(addr)
    }

    #[inline]
    fn read_code_u8(&self, addr: u64) -> Option<u8> {
        if self.code_is_readable {
            // SAFETY: as in `read_code_u64`, or a segment map's committed part.
            return Some(unsafe { (addr as *const u8).read() });
        }
        self.read_u8(addr)
    }

    fn read_into(&self, addr: u64, into: &mut [u8]) -> bool {
        for (at, byte) in (addr..).zip(into.iter_mut()) {
            match self.read_u8(at) {
                Some(value) => *byte = value,
                None => return false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stands in for the VM's function; the tests pass readable addresses, and
    /// address 8 for an unreadable one.
    unsafe extern "C" fn fetch_but_not_at_8(address: *const isize, error: isize) -> isize {
        if address as usize == 8 {
            return error;
        }
        // SAFETY: the tests pass addresses of their own arrays.
        unsafe { address.read() }
    }

    #[test]
    fn narrow_and_unaligned_reads_agree_with_the_bytes() {
        // SAFETY: the stand-in takes every address these tests use.
        let memory = unsafe { LiveMemory::guarded(fetch_but_not_at_8) };
        let words: [u64; 3] = [0x0807_0605_0403_0201, 0x100f_0e0d_0c0b_0a09, 0];
        let base = words.as_ptr() as u64;
        for at in 0..8u64 {
            let expected: Vec<u8> = (1..=16).skip(at as usize).take(8).collect();
            let word = memory.read_u64(base + at).unwrap();
            assert_eq!(word.to_le_bytes().to_vec(), expected, "at {at}");
            assert_eq!(memory.read_u32(base + at), Some(word as u32));
            assert_eq!(memory.read_u16(base + at), Some(word as u16));
            assert_eq!(memory.read_u8(base + at), Some(word as u8));
        }
        assert_eq!(memory.read_u64(8), None);
        assert_eq!(memory.read_u8(9), None);
    }

    #[test]
    fn the_stack_is_read_directly_up_to_its_last_word_and_no_further() {
        let words: [u64; 3] = [1, 2, 3];
        let start = words.as_ptr() as u64;
        let stack = AddressRange { start, end: start + 16 };
        // SAFETY: `refuse` touches nothing; the stack is an array of this frame.
        let memory = unsafe { LiveMemory::guarded(refuse).with_stack(stack) };
        assert_eq!(memory.read_u64(start), Some(1));
        assert_eq!(memory.read_u64(start + 8), Some(2));
        for outside in [start - 1, start + 9, start + 16] {
            assert_eq!(memory.read_u64(outside), None);
        }
    }

    unsafe extern "C" fn refuse(_: *const isize, error: isize) -> isize {
        error
    }

    #[test]
    fn a_word_that_equals_the_error_value_is_still_read() {
        // SAFETY: as above.
        let memory = unsafe { LiveMemory::guarded(fetch_but_not_at_8) };
        for value in [ERROR_A as u64, ERROR_B as u64] {
            let word = [value];
            assert_eq!(memory.read_u64(word.as_ptr() as u64), Some(value));
        }
    }
}
