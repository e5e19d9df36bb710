//! The memory a fragment is decoded with: the copy where it reaches, the
//! process as it is now elsewhere, and never the stack as it is now.

use super::Fragment;
use crate::memory::Memory;
use std::cell::Cell;

/// How far below the stack pointer the thread's stack is believed to reach.
const BELOW: u64 = 1 << 20;
/// How far above it, where the stack's end is not known.
const ABOVE: u64 = 8 << 20;

/// See the module.
#[derive(Debug)]
pub struct FragmentMemory<'a, M> {
    live: &'a M,
    stack: &'a [u8],
    start: u64,
    stack_start: u64,
    stack_end: u64,
    beyond: Cell<bool>,
}

impl<'a, M: Memory> FragmentMemory<'a, M> {
    /// The fragment over the process's memory.
    pub fn new(live: &'a M, fragment: &Fragment<'a>) -> FragmentMemory<'a, M> {
        let start = fragment.registers.sp().unwrap_or(0);
        let stack_end = match fragment.stack_end > start {
            true => fragment.stack_end,
            false => start.saturating_add(ABOVE),
        };
        let stack_start = start.saturating_sub(BELOW);
        FragmentMemory { live, stack: fragment.stack, start, stack_start, stack_end, beyond: Cell::new(false) }
    }

    /// True if something was asked for that the copy does not hold.
    pub fn went_beyond(&self) -> bool {
        self.beyond.get()
    }

    /// Addresses of what was copied.
    pub fn copied(&self) -> std::ops::Range<u64> {
        self.start..self.start + self.stack.len() as u64
    }

    /// A word of the copy, and of nothing else.
    pub fn read_stack(&self, address: u64) -> Option<u64> {
        match self.on_stack(address, 8) {
            Some(bytes) => bytes.and_then(|bytes| Some(u64::from_le_bytes(bytes.try_into().ok()?))),
            None => None,
        }
    }

    /// `None` if the address is not on the stack, `Some(None)` if it is but was
    /// not copied.
    #[inline]
    fn on_stack(&self, address: u64, length: usize) -> Option<Option<&[u8]>> {
        if !(self.stack_start..self.stack_end).contains(&address) {
            return None;
        }
        let from = usize::try_from(address.wrapping_sub(self.start)).ok();
        let bytes = from.and_then(|from| self.stack.get(from..from.checked_add(length)?));
        if bytes.is_none() && address >= self.start {
            self.beyond.set(true);
        }
        Some(bytes)
    }
}

impl<M: Memory> Memory for FragmentMemory<'_, M> {
    #[inline]
    fn read_u64(&self, address: u64) -> Option<u64> {
        match self.on_stack(address, 8) {
            Some(bytes) => Some(u64::from_le_bytes(bytes?.try_into().ok()?)),
            None => self.live.read_u64(address),
        }
    }

    fn still_holds(&self, from: u64, to: u64) -> bool {
        let mut now = [0; 8];
        let mut words = (from..to).step_by(now.len());
        words.all(|word| {
            let copied = self.read_stack(word);
            copied.is_some_and(|copied| self.live.read_into(word, &mut now) && copied == u64::from_le_bytes(now))
        })
    }

    fn read_into(&self, address: u64, into: &mut [u8]) -> bool {
        match self.on_stack(address, into.len()) {
            Some(Some(bytes)) => {
                into.copy_from_slice(bytes);
                true
            }
            Some(None) => false,
            None => self.live.read_into(address, into),
        }
    }

    #[inline]
    fn read_code_u64(&self, address: u64) -> Option<u64> {
        self.live.read_code_u64(address)
    }

    #[inline]
    fn read_code_u32(&self, address: u64) -> Option<u32> {
        self.live.read_code_u32(address)
    }

    #[inline]
    fn read_code_u8(&self, address: u64) -> Option<u8> {
        self.live.read_code_u8(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fragment::{Captured, Reg};
    use crate::memory::Fragments;

    #[test]
    fn the_copy_hides_the_stack_as_it_is_now() {
        let mut live = Fragments::new();
        live.add(0x7000_0000, vec![0xff; 64]);
        live.add(0x1000, vec![7; 8]);
        let mut registers = Captured::default();
        registers.set(Reg::SP, 0x7000_0000);
        let fragment = Fragment { registers, stack: &[1; 16], stack_end: 0x7000_1000 };
        let memory = FragmentMemory::new(&live, &fragment);
        assert_eq!(memory.read_u64(0x7000_0008), Some(0x0101_0101_0101_0101));
        assert_eq!(memory.read_u64(0x1000), Some(0x0707_0707_0707_0707));
        assert!(!memory.went_beyond());
        assert_eq!(memory.read_u64(0x7000_0010), None);
        assert!(memory.went_beyond());
        assert_eq!(memory.read_stack(0x1000), None);
    }

    #[test]
    fn a_stack_that_went_on_no_longer_holds_what_was_copied() {
        let mut now = vec![1; 16];
        now.extend([2; 16]);
        let mut live = Fragments::new();
        live.add(0x7000_0000, now);
        let mut registers = Captured::default();
        registers.set(Reg::SP, 0x7000_0000);
        let fragment = Fragment { registers, stack: &[1; 32], stack_end: 0x7000_1000 };
        let memory = FragmentMemory::new(&live, &fragment);
        assert!(memory.still_holds(0x7000_0000, 0x7000_0010));
        assert!(!memory.still_holds(0x7000_0008, 0x7000_0018));
        assert!(!memory.still_holds(0x7000_0018, 0x7000_0028), "beyond the copy nothing is known");
    }
}
