//! A class's constant pool in class-file form (JVM specification, 4.4), as far
//! as lock names need it.

/// Offsets of the entries in the pool's bytes.
pub struct ConstantPool {
    bytes: Vec<u8>,
    offsets: Vec<usize>,
}

const UTF8: u8 = 1;
const CLASS: u8 = 7;
const STRING: u8 = 8;

impl ConstantPool {
    /// Reads a pool of `entries` entries (the class file's count, one more
    /// than the highest index). Ends at the first entry that is malformed.
    pub fn parse(entries: usize, bytes: Vec<u8>) -> ConstantPool {
        let mut offsets = vec![usize::MAX];
        let mut at = 0;
        while offsets.len() < entries {
            let Some(&tag) = bytes.get(at) else { break };
            offsets.push(at);
            let size = match tag {
                UTF8 => match bytes.get(at + 1..at + 3) {
                    Some(length) => 3 + usize::from(u16::from_be_bytes([length[0], length[1]])),
                    None => break,
                },
                5 | 6 => 9,
                3 | 4 | 9..=12 | 17 | 18 => 5,
                CLASS | 8 | 16 | 19 | 20 => 3,
                15 => 4,
                _ => break,
            };
            if matches!(tag, 5 | 6) {
                offsets.push(usize::MAX);
            }
            at += size;
        }
        ConstantPool { bytes, offsets }
    }

    fn entry(&self, index: u16) -> Option<&[u8]> {
        let at = *self.offsets.get(usize::from(index))?;
        self.bytes.get(at..)
    }

    fn u16_at(entry: &[u8], at: usize) -> Option<u16> {
        Some(u16::from_be_bytes(entry.get(at..at + 2)?.try_into().ok()?))
    }

    fn utf8(&self, index: u16) -> Option<String> {
        let entry = self.entry(index).filter(|e| e.first() == Some(&UTF8))?;
        let length = usize::from(Self::u16_at(entry, 1)?);
        Some(crate::jni::modified_utf8(entry.get(3..3 + length)?))
    }

    /// The class named by a `Class` entry, in internal form.
    pub fn class(&self, index: u16) -> Option<String> {
        let entry = self.entry(index).filter(|e| e.first() == Some(&CLASS))?;
        self.utf8(Self::u16_at(entry, 1)?)
    }

    /// True if a class, in internal form, is among the entries.
    pub fn names_class(&self, class: &str) -> bool {
        self.indices().any(|index| self.class(index).is_some_and(|name| name == class))
    }

    /// Texts that code loads.
    pub fn strings(&self) -> impl Iterator<Item = String> + '_ {
        self.indices().filter_map(|index| {
            let entry = self.entry(index).filter(|e| e.first() == Some(&STRING))?;
            self.utf8(Self::u16_at(entry, 1)?)
        })
    }

    fn indices(&self) -> std::ops::Range<u16> {
        1..u16::try_from(self.offsets.len()).unwrap_or(u16::MAX)
    }

    /// Class (internal form) and name of a field or method reference.
    pub fn member(&self, index: u16) -> Option<(String, String)> {
        let (class, name_and_type) = self.reference(index)?;
        Some((self.class(class)?, self.utf8(Self::u16_at(name_and_type, 1)?)?))
    }

    /// Its descriptor.
    pub fn descriptor(&self, index: u16) -> Option<String> {
        let (_, name_and_type) = self.reference(index)?;
        self.utf8(Self::u16_at(name_and_type, 3)?)
    }

    fn reference(&self, index: u16) -> Option<(u16, &[u8])> {
        let entry = self.entry(index).filter(|e| matches!(e.first(), Some(9..=11)))?;
        Some((Self::u16_at(entry, 1)?, self.entry(Self::u16_at(entry, 3)?)?))
    }
}
