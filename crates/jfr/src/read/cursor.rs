//! Taking JFR-encoded values from bytes that may be anything.

/// A place in a slice. Every method gives `None` where the bytes end too early
/// or mean nothing, and never reads beyond them.
#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    pos: usize,
    /// True if integers are variable-length.
    compact: bool,
}

/// A string as it lies in the file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Text {
    /// No string.
    Null,
    /// The string itself.
    Here(String),
    /// A constant of the string pool.
    Constant(u64),
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], compact: bool) -> Cursor<'a> {
        Cursor { bytes, pos: 0, compact }
    }

    pub(crate) fn pos(&self) -> usize {
        self.pos
    }

    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.pos
    }

    /// The next `len` bytes.
    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let end = self.pos.checked_add(len)?;
        let taken = self.bytes.get(self.pos..end)?;
        self.pos = end;
        Some(taken)
    }

    #[inline(never)]
    fn big_endian(&mut self, width: usize) -> Option<u64> {
        Some(self.take(width)?.iter().fold(0, |value, byte| (value << 8) | u64::from(*byte)))
    }

    #[inline(always)]
    fn varint(&mut self) -> Option<u64> {
        let bytes = self.bytes.get(self.pos..)?;
        let first = *bytes.first()?;
        if first < 0x80 {
            self.pos += 1;
            return Some(u64::from(first));
        }
        if let Some((value, len)) = bytes.first_chunk().and_then(|eight| short_varint(*eight)) {
            self.pos += len;
            return Some(value);
        }
        self.varint_at_the_end()
    }

    /// The same byte by byte: one of nine bytes, or near the end of the slice.
    #[inline(never)]
    fn varint_at_the_end(&mut self) -> Option<u64> {
        let bytes = self.bytes.get(self.pos..)?;
        let mut value = u64::from(*bytes.first()? & 0x7f);
        for i in 1..8 {
            let byte = *bytes.get(i)?;
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                self.pos += i + 1;
                return Some(value);
            }
        }
        value |= u64::from(*bytes.get(8)?) << 56;
        self.pos += 9;
        Some(value)
    }

    /// An integer that takes `width` bytes where integers are not compressed.
    #[inline(always)]
    pub(crate) fn integer(&mut self, width: usize) -> Option<u64> {
        if self.compact {
            self.varint()
        } else {
            self.big_endian(width)
        }
    }

    #[inline(always)]
    pub(crate) fn long(&mut self) -> Option<u64> {
        self.integer(8)
    }

    #[inline(always)]
    pub(crate) fn int(&mut self) -> Option<u32> {
        self.integer(4).map(|value| value as u32)
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.pos)?;
        self.pos += 1;
        Some(byte)
    }

    pub(crate) fn float(&mut self) -> Option<f32> {
        self.big_endian(4).map(|bits| f32::from_bits(bits as u32))
    }

    pub(crate) fn double(&mut self) -> Option<f64> {
        self.big_endian(8).map(f64::from_bits)
    }

    /// A count of things that take at least one byte each, so that a count
    /// beyond the remaining bytes is known to be wrong.
    pub(crate) fn count(&mut self) -> Option<usize> {
        let count = self.integer(4)?;
        (count <= self.remaining() as u64).then_some(count as usize)
    }

    pub(crate) fn string(&mut self) -> Option<Text> {
        Some(match self.byte()? {
            0 => Text::Null,
            1 => Text::Here(String::new()),
            2 => Text::Constant(self.long()?),
            3 => {
                let len = self.count()?;
                Text::Here(String::from_utf8_lossy(self.take(len)?).into_owned())
            }
            4 => {
                let len = self.count()?;
                let units: Option<Vec<u16>> = (0..len).map(|_| Some(self.integer(2)? as u16)).collect();
                Text::Here(String::from_utf16_lossy(&units?))
            }
            5 => {
                let len = self.count()?;
                Text::Here(self.take(len)?.iter().map(|byte| char::from(*byte)).collect())
            }
            _ => return None,
        })
    }

    /// Steps over a string without building it.
    pub(crate) fn skip_string(&mut self) -> Option<()> {
        match self.byte()? {
            0 | 1 => {}
            2 => {
                self.long()?;
            }
            3 | 5 => {
                let len = self.count()?;
                self.take(len)?;
            }
            4 => {
                for _ in 0..self.count()? {
                    self.integer(2)?;
                }
            }
            _ => return None,
        }
        Some(())
    }
}

/// A variable-length integer of at most eight bytes, and its length. All bytes at
/// once: one after the other costs a wrongly predicted branch for most times.
#[inline]
fn short_varint(bytes: [u8; 8]) -> Option<(u64, usize)> {
    let word = u64::from_le_bytes(bytes);
    let last = !word & 0x8080_8080_8080_8080;
    if last == 0 {
        return None;
    }
    let bits = last.trailing_zeros() + 1;
    let sevens = word & (u64::MAX >> (64 - bits)) & 0x7f7f_7f7f_7f7f_7f7f;
    let pairs = (sevens & 0x007f_007f_007f_007f) | ((sevens & 0x7f00_7f00_7f00_7f00) >> 1);
    let fours = (pairs & 0x0000_3fff_0000_3fff) | ((pairs & 0x3fff_0000_3fff_0000) >> 2);
    let value = (fours & 0x0fff_ffff) | ((fours & 0x0fff_ffff_0000_0000) >> 4);
    Some((value, bits as usize / 8))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::Encoder;

    #[test]
    fn numbers_come_back() {
        let every_length = (0..64).flat_map(|bit| [1 << bit, (1 << bit) - 1, 0x5a5a_5a5a_5a5a_5a5a >> bit]);
        for value in every_length.chain([u64::from(u32::MAX), u64::MAX]) {
            // With nothing behind it, and with something.
            for behind in [0, 9] {
                let mut encoder = Encoder::default();
                encoder.varint(value);
                encoder.bytes.extend(std::iter::repeat_n(0xff, behind));
                let mut cursor = Cursor::new(&encoder.bytes, true);
                assert_eq!(cursor.long(), Some(value));
                assert_eq!(cursor.remaining(), behind);
            }
        }
    }

    #[test]
    fn a_number_cut_short_is_none() {
        assert_eq!(Cursor::new(&[0x80; 8], true).long(), None);
        assert_eq!(Cursor::new(&[0; 7], false).long(), None);
        assert_eq!(Cursor::new(&[0, 0, 1, 2], false).int(), Some(0x102));
    }

    #[test]
    fn strings_come_in_many_forms() {
        let read = |bytes: &[u8]| Cursor::new(bytes, true).string();
        assert_eq!(read(&[0]), Some(Text::Null));
        assert_eq!(read(&[1]), Some(Text::Here(String::new())));
        assert_eq!(read(&[2, 9]), Some(Text::Constant(9)));
        assert_eq!(read(&[3, 2, b'o', b'k']), Some(Text::Here("ok".into())));
        assert_eq!(read(&[4, 2, 0xe9, 1, b'k']), Some(Text::Here("ék".into())));
        assert_eq!(read(&[5, 2, 0xe9, b'k']), Some(Text::Here("ék".into())));
        assert_eq!(read(&[3, 200, 1, b'k']), None, "a length beyond the end");
        assert_eq!(read(&[6]), None);
    }
}
