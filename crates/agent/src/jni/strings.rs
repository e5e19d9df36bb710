//! Java's strings.

use jni_sys::{jstring, JNIEnv};

/// A string of the Java code that is now running.
pub(crate) fn text(env: *mut JNIEnv, name: jstring) -> Option<String> {
    if name.is_null() {
        return None;
    }
    // SAFETY: environment and string are those of the native method that is now
    // running; the buffer has room for what the VM said it writes.
    unsafe {
        let table = &(**env).v1_2;
        let (bytes, units) = (((**env).v1_1.GetStringUTFLength)(env, name), ((**env).v1_1.GetStringLength)(env, name));
        let mut buffer = vec![0u8; usize::try_from(bytes).ok()? + 1];
        (table.GetStringUTFRegion)(env, name, 0, units, buffer.as_mut_ptr().cast());
        buffer.pop();
        Some(modified_utf8(&buffer))
    }
}

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
