//! Reading memory, handed in as a parameter: the same walker serves a live
//! stack, a copied fragment of one, and the arrays of the tests.

/// Something memory can be read from. Every read may fail; a failed read is an
/// ordinary answer (the address may be stale), never an error to be reported.
///
/// All values are little-endian, as HotSpot keeps them on x86-64 and AArch64.
pub trait Memory {
    /// The eight bytes at `addr`, `None` if they cannot be read.
    fn read_u64(&self, addr: u64) -> Option<u64>;

    /// The eight bytes at `addr` and the eight behind them.
    #[inline]
    fn read_u64_pair(&self, addr: u64) -> Option<(u64, u64)> {
        Some((self.read_u64(addr)?, self.read_u64(addr.checked_add(8)?)?))
    }

    /// Fills `into` with the bytes at `addr`; false if not all could be read.
    fn read_into(&self, addr: u64, into: &mut [u8]) -> bool;

    /// The four bytes at `addr`.
    #[inline]
    fn read_u32(&self, addr: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        self.read_into(addr, &mut bytes).then(|| u32::from_le_bytes(bytes))
    }

    /// The two bytes at `addr`.
    #[inline]
    fn read_u16(&self, addr: u64) -> Option<u16> {
        let mut bytes = [0; 2];
        self.read_into(addr, &mut bytes).then(|| u16::from_le_bytes(bytes))
    }

    /// The byte at `addr`.
    #[inline]
    fn read_u8(&self, addr: u64) -> Option<u8> {
        let mut byte = [0; 1];
        self.read_into(addr, &mut byte).then_some(byte[0])
    }

    /// The signed four bytes at `addr`.
    #[inline]
    fn read_i32(&self, addr: u64) -> Option<i32> {
        self.read_u32(addr).map(|v| v as i32)
    }

    /// True if the bytes of a stack from here to there are still what this memory
    /// says they are. Only a copy can differ from what is there by now.
    fn still_holds(&self, _from: u64, _to: u64) -> bool {
        true
    }

    /// As [`Self::read_u64`], for an address in the committed part of the code
    /// cache (the walker asks only after checking it against the heap's end) or
    /// in the VM's description of a code heap. Memory that trusts that check may
    /// read faster.
    #[inline]
    fn read_code_u64(&self, addr: u64) -> Option<u64> {
        self.read_u64(addr)
    }

    /// Likewise for four bytes.
    #[inline]
    fn read_code_u32(&self, addr: u64) -> Option<u32> {
        self.read_u32(addr)
    }

    /// Likewise for a byte, also in the committed part of a segment map.
    #[inline]
    fn read_code_u8(&self, addr: u64) -> Option<u8> {
        self.read_u8(addr)
    }

    /// The zero-terminated string at `addr`, at most `limit` bytes long. `None`
    /// if it is not readable, not terminated in time, or not UTF-8.
    fn read_c_string(&self, addr: u64, limit: usize) -> Option<String> {
        let mut bytes = Vec::new();
        for at in 0..limit as u64 {
            match self.read_u8(addr.checked_add(at)?)? {
                0 => return String::from_utf8(bytes).ok(),
                byte => bytes.push(byte),
            }
        }
        None
    }
}

impl<M: Memory + ?Sized> Memory for &M {
    #[inline]
    fn read_u64(&self, addr: u64) -> Option<u64> {
        (**self).read_u64(addr)
    }
    #[inline]
    fn read_into(&self, addr: u64, into: &mut [u8]) -> bool {
        (**self).read_into(addr, into)
    }
    #[inline]
    fn read_u32(&self, addr: u64) -> Option<u32> {
        (**self).read_u32(addr)
    }
    #[inline]
    fn read_u16(&self, addr: u64) -> Option<u16> {
        (**self).read_u16(addr)
    }
    #[inline]
    fn read_u8(&self, addr: u64) -> Option<u8> {
        (**self).read_u8(addr)
    }
    #[inline]
    fn read_code_u64(&self, addr: u64) -> Option<u64> {
        (**self).read_code_u64(addr)
    }
    #[inline]
    fn read_code_u32(&self, addr: u64) -> Option<u32> {
        (**self).read_code_u32(addr)
    }
    #[inline]
    fn read_code_u8(&self, addr: u64) -> Option<u8> {
        (**self).read_code_u8(addr)
    }
}

/// Memory made of byte ranges at chosen addresses: fixtures of tests, and
/// copied stack fragments. Ranges that are added later win.
#[derive(Clone, Debug, Default)]
pub struct Fragments {
    ranges: Vec<(u64, Vec<u8>)>,
}

impl Fragments {
    /// No memory at all.
    pub fn new() -> Fragments {
        Fragments::default()
    }

    /// Adds `bytes` at `addr`.
    pub fn add(&mut self, addr: u64, bytes: Vec<u8>) {
        self.ranges.push((addr, bytes));
    }

    fn find(&self, addr: u64, len: usize) -> Option<&[u8]> {
        self.ranges.iter().rev().find_map(|(start, bytes)| {
            let from = usize::try_from(addr.checked_sub(*start)?).ok()?;
            bytes.get(from..from.checked_add(len)?)
        })
    }
}

impl Memory for Fragments {
    fn read_u64(&self, addr: u64) -> Option<u64> {
        let bytes = self.find(addr, 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    fn read_into(&self, addr: u64, into: &mut [u8]) -> bool {
        match self.find(addr, into.len()) {
            Some(bytes) => {
                into.copy_from_slice(bytes);
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_end_where_the_range_ends() {
        let mut memory = Fragments::new();
        memory.add(0x1000, vec![1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(memory.read_u64(0x1000), Some(0x0807_0605_0403_0201));
        assert_eq!(memory.read_u64(0x1001), Some(0x0908_0706_0504_0302));
        assert_eq!(memory.read_u64(0x1002), None);
        assert_eq!(memory.read_u16(0x1007), Some(0x0908));
        assert_eq!(memory.read_u8(0x1009), None);
        assert_eq!(memory.read_u8(0xfff), None);
        assert_eq!(memory.read_u64(u64::MAX), None);
    }

    #[test]
    fn strings_must_be_terminated_in_time() {
        let mut memory = Fragments::new();
        memory.add(0x10, b"CodeBlob\0".to_vec());
        assert_eq!(memory.read_c_string(0x10, 9).as_deref(), Some("CodeBlob"));
        assert_eq!(memory.read_c_string(0x10, 8), None);
        assert_eq!(memory.read_c_string(0x19, 8), None);
    }
}
