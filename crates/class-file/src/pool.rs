//! A class's constant pool (JVM specification, 4.4), of a class file or as the VM copies it out.

use crate::reader::{ClassFileError, Reader, Result};
use crate::text::modified_utf8;

pub(crate) const UTF8: u8 = 1;
const LONG: u8 = 5;
const DOUBLE: u8 = 6;
pub(crate) const CLASS: u8 = 7;
const STRING: u8 = 8;
const FIELD: u8 = 9;
pub(crate) const METHOD: u8 = 10;
pub(crate) const INTERFACE_METHOD: u8 = 11;
pub(crate) const NAME_AND_TYPE: u8 = 12;
/// A field, or a method of a class or interface.
const MEMBERS: &[u8] = &[FIELD, METHOD, INTERFACE_METHOD];

/// The place of what is no entry: number 0, and the second one of a number of eight bytes.
const NO_ENTRY: usize = usize::MAX;

/// The constants by their numbers. `B` has the bytes.
pub struct ConstantPool<B = Vec<u8>> {
    bytes: B,
    places: Vec<usize>,
}

/// Where the entries begin, from `at` on, and where the last one ends. Stops at the first one that is
/// malformed.
fn places(bytes: &[u8], mut at: usize, count: usize) -> (Vec<usize>, usize) {
    let mut places = vec![NO_ENTRY];
    while places.len() < count {
        let Some(length) = bytes.get(at..).and_then(length) else { break };
        places.push(at);
        if matches!(bytes.get(at), Some(&(LONG | DOUBLE))) {
            places.push(NO_ENTRY);
        }
        at += length;
    }
    (places, at)
}

/// Bytes of the first entry of these, with its tag.
fn length(entry: &[u8]) -> Option<usize> {
    let length = match *entry.first()? {
        UTF8 => 3 + usize::from(number(entry, 1)?),
        LONG | DOUBLE => 9,
        3 | 4 | FIELD..=NAME_AND_TYPE | 17 | 18 => 5,
        CLASS | STRING | 16 | 19 | 20 => 3,
        15 => 4,
        _ => return None,
    };
    (length <= entry.len()).then_some(length)
}

fn number(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

impl<'a> ConstantPool<&'a [u8]> {
    /// Reads the pool of a class file; the reader stands behind it then.
    ///
    /// # Errors
    /// An entry is malformed.
    pub fn read(reader: &mut Reader<'a>) -> Result<ConstantPool<&'a [u8]>> {
        let count = usize::from(reader.u16()?);
        let (places, end) = places(reader.bytes, reader.at, count);
        if places.len() < count {
            return Err(ClassFileError::Malformed(end));
        }
        reader.at = end;
        Ok(ConstantPool { bytes: reader.bytes, places })
    }
}

impl<B: AsRef<[u8]>> ConstantPool<B> {
    /// The pool of `count` entries (the class file's count, one more than the highest number), which
    /// the bytes begin with. Ends at the first entry that is malformed.
    pub fn parse(count: usize, bytes: B) -> ConstantPool<B> {
        let (places, _) = places(bytes.as_ref(), 0, count);
        ConstantPool { bytes, places }
    }

    /// The count of the class file.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    fn indices(&self) -> std::ops::Range<u16> {
        1..u16::try_from(self.places.len()).unwrap_or(u16::MAX)
    }

    /// What stands behind the tag of an entry that has one of these.
    fn entry(&self, index: u16, tags: &[u8]) -> Option<&[u8]> {
        let at = *self.places.get(usize::from(index))?;
        let (tag, body) = self.bytes.as_ref().get(at..)?.split_first()?;
        tags.contains(tag).then_some(body)
    }

    fn utf8(&self, index: u16) -> Option<&[u8]> {
        let entry = self.entry(index, &[UTF8])?;
        entry.get(2..2 + usize::from(number(entry, 0)?))
    }

    /// The text that a class or a string refers to.
    fn referred(&self, index: u16, tag: u8) -> Option<&[u8]> {
        self.utf8(number(self.entry(index, &[tag])?, 0)?)
    }

    /// The class, the name and the descriptor of a field or method with one of these tags.
    fn parts(&self, index: u16, tags: &[u8]) -> Option<[&[u8]; 3]> {
        let entry = self.entry(index, tags)?;
        let name_and_type = self.entry(number(entry, 2)?, &[NAME_AND_TYPE])?;
        let class = self.referred(number(entry, 0)?, CLASS)?;
        Some([class, self.utf8(number(name_and_type, 0)?)?, self.utf8(number(name_and_type, 2)?)?])
    }

    /// True if a constant is this text.
    pub fn is_text(&self, index: u16, text: &str) -> bool {
        self.utf8(index) == Some(text.as_bytes())
    }

    /// A constant that is a text.
    pub fn text(&self, index: u16) -> Option<String> {
        self.utf8(index).map(modified_utf8)
    }

    /// The class that a constant names, in internal form.
    pub fn class(&self, index: u16) -> Option<String> {
        self.referred(index, CLASS).map(modified_utf8)
    }

    /// True if a class, in internal form, is among the constants.
    pub fn names_class(&self, class: &str) -> bool {
        self.indices().any(|index| self.class(index).is_some_and(|name| name == class))
    }

    /// Texts that code loads.
    pub fn strings(&self) -> impl Iterator<Item = String> + '_ {
        self.indices().filter_map(|index| self.referred(index, STRING).map(modified_utf8))
    }

    /// Class (internal form) and name of a field or method.
    pub fn member(&self, index: u16) -> Option<(String, String)> {
        let [class, name, _] = self.parts(index, MEMBERS)?;
        Some((modified_utf8(class), modified_utf8(name)))
    }

    /// Its descriptor.
    pub fn descriptor(&self, index: u16) -> Option<String> {
        let [_, _, descriptor] = self.parts(index, MEMBERS)?;
        Some(modified_utf8(descriptor))
    }

    /// The constant of this tag for a method of this class, name and descriptor.
    pub(crate) fn method(&self, tag: u8, parts: [&str; 3]) -> Option<u16> {
        let wanted = parts.map(str::as_bytes);
        self.indices().find(|index| self.parts(*index, &[tag]) == Some(wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1: the text `a/B`, 2: a number of eight bytes, 4: the class 1, 5: the string 1.
    const BYTES: [u8; 21] = [1, 0, 3, b'a', b'/', b'B', LONG, 0, 0, 0, 0, 0, 0, 0, 7, CLASS, 0, 1, STRING, 0, 1];

    #[test]
    fn a_number_of_eight_bytes_takes_two_entries() {
        let pool = ConstantPool::parse(6, BYTES);
        assert_eq!((pool.count(), pool.class(4).as_deref(), pool.class(3)), (6, Some("a/B"), None));
        assert_eq!(pool.strings().collect::<Vec<_>>(), ["a/B"]);
        assert!(pool.is_text(1, "a/B") && !pool.is_text(0, "a/B") && !pool.is_text(4, "a/B"));
        assert!(pool.names_class("a/B") && !pool.names_class("a/C"));
    }

    #[test]
    fn what_is_cut_off_is_missing_in_a_copy_and_refused_in_a_file() {
        let file = |count: u8, entries: &[u8]| [&[0; 8][..], &[0, count], entries].concat();
        for cut in 0..BYTES.len() {
            let pool = ConstantPool::parse(6, &BYTES[..cut]);
            assert!(pool.count() < 6 && pool.class(4).is_none_or(|class| class == "a/B"), "cut at {cut}");
            let torn = file(6, &BYTES[..cut]);
            assert!(ConstantPool::read(&mut Reader::before_pool(&torn)).is_err(), "cut at {cut}");
        }
        let (whole, mut unknown) = (file(6, &BYTES), file(6, &BYTES));
        let mut reader = Reader::before_pool(&whole);
        assert!(ConstantPool::read(&mut reader).is_ok_and(|pool| pool.class(4).as_deref() == Some("a/B")));
        assert_eq!(reader.at, whole.len());
        unknown[10] = 2;
        assert_eq!(
            ConstantPool::read(&mut Reader::before_pool(&unknown)).err(),
            Some(ClassFileError::Malformed(10)),
            "no entry has this tag"
        );
    }
}
