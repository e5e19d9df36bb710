//! Texts as class files and the VM have them.

/// Modified UTF-8 (surrogate pairs of three bytes each, U+0000 in two bytes)
/// to a string; what is malformed becomes U+FFFD.
pub fn modified_utf8(bytes: &[u8]) -> String {
    if let Ok(plain) = std::str::from_utf8(bytes) {
        return plain.to_owned();
    }
    let mut units: Vec<u16> = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&first, tail)) = rest.split_first() {
        let continuation = |i: usize| tail.get(i).filter(|b| **b & 0xC0 == 0x80).map(|b| u16::from(b & 0x3F));
        let (unit, used) = match (first, continuation(0), continuation(1)) {
            (0x00..=0x7F, _, _) => (u16::from(first), 1),
            (0xC0..=0xDF, Some(a), _) => (u16::from(first & 0x1F) << 6 | a, 2),
            (0xE0..=0xEF, Some(a), Some(b)) => (u16::from(first & 0x0F) << 12 | a << 6 | b, 3),
            _ => (0xFFFD, 1),
        };
        units.push(unit);
        rest = rest.get(used..).unwrap_or_default();
    }
    String::from_utf16_lossy(&units)
}

#[cfg(test)]
mod tests {
    use super::modified_utf8;

    #[test]
    fn modified_utf8_decodes_surrogates_and_nul() {
        assert_eq!(modified_utf8(b"plain"), "plain");
        assert_eq!(modified_utf8(&[0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80]), "\u{1F600}");
        assert_eq!(modified_utf8(&[b'a', 0xC0, 0x80, b'b']), "a\0b");
        assert_eq!(modified_utf8(&[b'a', 0xFF, b'b']), "a\u{FFFD}b");
    }
}
