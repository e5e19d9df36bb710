//! The registers that perf_event writes.

/// In the order in which the kernel writes them: ax bx cx dx si di bp sp ip, r8
/// to r15.
pub(crate) const REGISTERS: u64 = 0x1ff | 0xff << 16;
/// Their numbers in instructions, without ip, which is the ninth.
pub(crate) const ORDER: [u8; 17] = [0, 3, 1, 2, 6, 7, 5, 4, 16, 8, 9, 10, 11, 12, 13, 14, 15];
