//! Compressed integers, as HotSpot packs debug information and line numbers.
//!
//! One to five bytes, each worth `byte - base`, each counting 64 times as much
//! as the one before. One below 192 (the 64 highest values announce another)
//! ends the number. From 20 on `base` is 1, so that no byte of a number is zero.

use crate::memory::Memory;

/// The lowest byte that announces another.
const CONTINUED: u8 = 192;
const MAX_BYTES: u32 = 5;

/// A reading position in a stream of compressed integers.
#[derive(Debug)]
pub struct Reader<'a, M> {
    memory: &'a M,
    at: u64,
    end: u64,
    base: u8,
}

impl<'a, M: Memory> Reader<'a, M> {
    /// Reads from `at`, never at or behind `end`.
    pub fn new(memory: &'a M, at: u64, end: u64, base: u8) -> Reader<'a, M> {
        Reader { memory, at, end, base }
    }

    /// The next byte as it is.
    pub fn byte(&mut self) -> Option<u8> {
        if self.at >= self.end {
            return None;
        }
        let byte = self.memory.read_u8(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// The next number.
    pub fn unsigned(&mut self) -> Option<u32> {
        let mut sum = 0u32;
        for i in 0..MAX_BYTES {
            let byte = self.byte()?;
            let digit = u32::from(byte.checked_sub(self.base)?);
            sum = sum.wrapping_add(digit.wrapping_shl(6 * i));
            if byte < CONTINUED || i == MAX_BYTES - 1 {
                return Some(sum);
            }
        }
        None
    }

    /// The next number that was packed as two's complement.
    pub fn int(&mut self) -> Option<i32> {
        self.unsigned().map(|v| v as i32)
    }

    /// The next number that was packed with its sign in the lowest bit.
    pub fn signed(&mut self) -> Option<i32> {
        let v = self.unsigned()?;
        Some((v >> 1) as i32 ^ -((v & 1) as i32))
    }
}

/// Packs numbers for the tests' fixtures.
#[cfg(test)]
pub(crate) fn pack(value: u32, base: u8, into: &mut Vec<u8>) {
    let low = u32::from(CONTINUED - base);
    let mut rest = value;
    for _ in 0..MAX_BYTES - 1 {
        if rest < low {
            break;
        }
        rest -= low;
        into.push(CONTINUED + (rest & 63) as u8);
        rest >>= 6;
    }
    into.push(rest as u8 + base);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Fragments;

    #[test]
    fn every_size_of_number_comes_back_with_both_bases() {
        let numbers = [0, 1, 190, 191, 192, 193, 255, 256, 12_479, 12_480, 1 << 20, 1 << 26, u32::MAX / 2, u32::MAX];
        for base in [0, 1] {
            let mut bytes = Vec::new();
            numbers.iter().for_each(|n| pack(*n, base, &mut bytes));
            if base == 1 {
                assert!(!bytes.contains(&0), "base 1 keeps zero bytes out");
            }
            let end = 0x100 + bytes.len() as u64;
            let mut memory = Fragments::new();
            memory.add(0x100, bytes);
            let mut reader = Reader::new(&memory, 0x100, end, base);
            for n in numbers {
                assert_eq!(reader.unsigned(), Some(n), "base {base}");
            }
            assert_eq!(reader.unsigned(), None);
        }
    }

    #[test]
    fn bytes_as_hotspot_writes_them() {
        // 17 packs 200 as C8 00: 200 = 192 + 8 + 64 * 0.
        let mut memory = Fragments::new();
        memory.add(0, vec![0xc8, 0x00]);
        assert_eq!(Reader::new(&memory, 0, 2, 0).unsigned(), Some(200));
        // 25 packs 200 as C9 01.
        memory.add(0x10, vec![0xc9, 0x01]);
        assert_eq!(Reader::new(&memory, 0x10, 0x12, 1).unsigned(), Some(200));
        // A zero byte is no number with base 1.
        memory.add(0x20, vec![0]);
        assert_eq!(Reader::new(&memory, 0x20, 0x21, 1).unsigned(), None);
    }

    #[test]
    fn signs() {
        let mut bytes = Vec::new();
        for v in [0u32, 1, 2, 3, 4] {
            pack(v, 0, &mut bytes);
        }
        let mut memory = Fragments::new();
        memory.add(0, bytes);
        let mut reader = Reader::new(&memory, 0, 5, 0);
        let read: Vec<_> = (0..5).map(|_| reader.signed().unwrap()).collect();
        assert_eq!(read, [0, -1, 1, -2, 2]);
    }
}
