//! JFR's encoding of numbers and strings.

/// Appends JFR-encoded values to a growing buffer.
#[derive(Default)]
pub(crate) struct Encoder {
    /// What was encoded so far.
    pub(crate) bytes: Vec<u8>,
}

/// Writes `value` in JFR's variable-length form to the front of `out` and says
/// how many bytes it took: seven bits per byte, least significant first, the
/// ninth byte (if it comes to that) holding eight bits.
#[inline]
pub(crate) fn put_varint(mut value: u64, out: &mut [u8; 9]) -> usize {
    for (i, byte) in out.iter_mut().take(8).enumerate() {
        if value < 0x80 {
            *byte = value as u8;
            return i + 1;
        }
        *byte = (value as u8) | 0x80;
        value >>= 7;
    }
    out[8] = value as u8;
    9
}

impl Encoder {
    /// A number of any width; negative ones as their 64-bit two's complement.
    #[inline]
    pub(crate) fn varint(&mut self, value: u64) {
        if value < 0x80 {
            self.bytes.push(value as u8);
            return;
        }
        let mut out = [0u8; 9];
        let len = put_varint(value, &mut out);
        self.bytes.extend_from_slice(&out[..len]);
    }

    /// A signed 64-bit number.
    #[inline]
    pub(crate) fn signed(&mut self, value: i64) {
        self.varint(value as u64);
    }

    /// A signed 32-bit number; JFR keeps it within 32 bits.
    #[inline]
    pub(crate) fn int(&mut self, value: i32) {
        self.varint(u64::from(value as u32));
    }

    /// One byte, also a boolean.
    #[inline]
    pub(crate) fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// A 32-bit float.
    #[inline]
    pub(crate) fn float(&mut self, value: f32) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    /// A string; JFR has a form of its own for the empty one.
    pub(crate) fn string(&mut self, value: &str) {
        if value.is_empty() {
            self.byte(1);
            return;
        }
        self.byte(3);
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value.as_bytes());
    }

    /// A symbol. The JDK writes the empty one with a length, too, and some
    /// readers know no other form.
    pub(crate) fn symbol(&mut self, value: &str) {
        self.byte(3);
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value.as_bytes());
    }

    /// No string.
    pub(crate) fn null_string(&mut self) {
        self.byte(0);
    }

    /// Encodes one event through `body` and puts its size, which includes the
    /// size itself, in front.
    #[inline]
    pub(crate) fn event(&mut self, body: impl FnOnce(&mut Encoder)) {
        let start = self.bytes.len();
        self.bytes.push(0);
        body(self);
        let len = self.bytes.len() - start;
        if len < 0x80 {
            self.bytes[start] = len as u8;
        } else {
            self.widen_size(start, len - 1);
        }
    }

    /// Makes room for a size of more than one byte in front of `body_len`
    /// bytes at `start`.
    fn widen_size(&mut self, start: usize, body_len: usize) {
        let mut width = 2;
        let mut out = [0u8; 9];
        loop {
            let used = put_varint((body_len + width) as u64, &mut out);
            if used <= width {
                self.bytes.splice(start..=start, out[..used].iter().copied());
                return;
            }
            width = used;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_take_seven_bits_per_byte_and_eight_in_the_ninth() {
        let encoded = |value: u64| {
            let mut encoder = Encoder::default();
            encoder.varint(value);
            encoder.bytes
        };
        assert_eq!(encoded(0x7f), [0x7f]);
        assert_eq!(encoded(0x80), [0x80, 0x01]);
        assert_eq!(encoded(u64::MAX), [0xff; 9]);
        assert_eq!(encoded(1 << 63), [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80]);
    }

    #[test]
    fn sizes_count_themselves() {
        for body in [1usize, 126, 127, 16_381, 16_382, 16_383] {
            let mut encoder = Encoder::default();
            encoder.event(|e| e.bytes.resize(e.bytes.len() + body, 7));
            let mut size = 0u64;
            for (i, byte) in encoder.bytes.iter().enumerate() {
                size |= u64::from(byte & 0x7f) << (7 * i);
                if byte & 0x80 == 0 {
                    break;
                }
            }
            assert_eq!(size, encoder.bytes.len() as u64, "body of {body} bytes");
        }
    }
}
