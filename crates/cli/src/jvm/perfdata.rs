//! The counters that HotSpot keeps in `/tmp/hsperfdata_USER/PID`.
//!
//! Layout (numbers in the byte order that byte 4 says: 1 is little-endian):
//! a prologue of magic `ca fe c0 c0`, byte order, major and minor version,
//! accessible flag, used bytes, overflow, modification time (8), offset of the
//! first entry, number of entries; then entries of length, offset of the name,
//! vector length, type (1 byte, `B` for a text), three bytes of flags, offset
//! of the data; both offsets count from the entry's start.

use crate::jvm::process::Process;
use crate::jvm::target_file;
use std::collections::BTreeMap;
use std::path::Path;

/// The texts among a JVM's counters, by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PerfData {
    texts: BTreeMap<String, String>,
}

const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
/// HotSpot's default is 32 KiB; more than this is something else.
const LARGEST_FILE_BYTES: u64 = 4 << 20;
/// A JVM has some hundred counters; entries can overlap, so that more and longer
/// ones would take memory that the file does not account for.
const MOST_ENTRIES: usize = 4096;
/// HotSpot's own limit is 1024.
const LONGEST_TEXT_BYTES: usize = 4096;

impl PerfData {
    /// Reads the file, whose path is that in the process's view; `None` if it is
    /// not there or not of this format.
    pub fn read(process: &Process, path: &Path) -> Option<PerfData> {
        PerfData::parse(&target_file::read(process, path, LARGEST_FILE_BYTES)?)
    }

    /// A text counter, `None` if there is none of this name.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }

    fn parse(bytes: &[u8]) -> Option<PerfData> {
        if bytes.get(..4)? != MAGIC {
            return None;
        }
        let numbers = Numbers { bytes, little_endian: *bytes.get(4)? == 1 };
        let mut offset = numbers.at(24)?;
        let mut texts = BTreeMap::new();
        for _ in 0..numbers.at(28)?.min(MOST_ENTRIES) {
            let Some(length) = numbers.at(offset).filter(|length| *length > 0) else {
                break;
            };
            if let Some((name, text)) = text_entry(&numbers, offset) {
                texts.insert(name, text);
            }
            offset = offset.checked_add(length)?;
        }
        Some(PerfData { texts })
    }
}

struct Numbers<'a> {
    bytes: &'a [u8],
    little_endian: bool,
}

impl Numbers<'_> {
    fn at(&self, offset: usize) -> Option<usize> {
        let four: [u8; 4] = self.bytes.get(offset..offset.checked_add(4)?)?.try_into().ok()?;
        let number = if self.little_endian { u32::from_le_bytes(four) } else { u32::from_be_bytes(four) };
        usize::try_from(number).ok()
    }

    fn text(&self, start: usize, longest: usize) -> Option<String> {
        let rest = self.bytes.get(start..)?;
        let rest = rest.get(..longest).unwrap_or(rest);
        let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
        Some(String::from_utf8_lossy(rest.get(..end)?).into_owned())
    }
}

fn text_entry(numbers: &Numbers<'_>, entry: usize) -> Option<(String, String)> {
    let vector_length = numbers.at(entry + 8)?;
    if *numbers.bytes.get(entry + 12)? != b'B' || vector_length == 0 {
        return None;
    }
    let name = numbers.text(entry.checked_add(numbers.at(entry + 4)?)?, 256)?;
    let start = entry.checked_add(numbers.at(entry + 16)?)?;
    let text = numbers.text(start, vector_length.min(LONGEST_TEXT_BYTES))?;
    Some((name, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_with(name: &str, text: &str) -> Vec<u8> {
        let mut bytes = Vec::from(MAGIC);
        bytes.extend([1, 2, 0, 1]);
        bytes.extend([0; 16]); // used, overflow, modification time
        bytes.extend(32u32.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        let name_length = name.len() + 1;
        let entry = [20 + name_length + text.len() + 1, 20, text.len() + 1];
        entry.iter().for_each(|n| bytes.extend((*n as u32).to_le_bytes()));
        bytes.extend([b'B', 0, 5, 1]);
        bytes.extend((20 + name_length as u32).to_le_bytes());
        bytes.extend(name.as_bytes());
        bytes.push(0);
        bytes.extend(text.as_bytes());
        bytes.push(0);
        bytes
    }

    #[test]
    fn texts_are_found_by_name() {
        let data = PerfData::parse(&file_with("sun.rt.javaCommand", "com.acme.Main 1")).expect("a good file");
        assert_eq!(data.text("sun.rt.javaCommand"), Some("com.acme.Main 1"));
        assert_eq!(data.text("sun.rt.other"), None);
    }

    #[test]
    fn a_file_cut_anywhere_is_no_reason_to_panic() {
        let whole = file_with("a.b", "text");
        for length in 0..whole.len() {
            let _ = PerfData::parse(&whole[..length]);
        }
        assert_eq!(PerfData::parse(b"something else entirely, long enough to be a prologue"), None);
    }

    #[test]
    fn nothing_in_the_file_is_a_reason_to_panic() {
        let mut big_endian = file_with("java.property.java.version", "17.0.15");
        big_endian[4] = 0;
        let seeds = [file_with("sun.rt.javaCommand", "com.acme.Main 1"), big_endian];
        headway_hostile::change::feed(&seeds, 100_000, |bytes| drop(PerfData::parse(bytes)));
    }

    #[test]
    fn overlapping_entries_take_no_memory_that_the_file_does_not_account_for() {
        // Every byte begins an entry whose text is the rest of the file.
        let mut bytes = file_with("a.b", "text");
        bytes.resize(1 << 20, b'B');
        bytes[28..32].copy_from_slice(&u32::MAX.to_le_bytes());
        let begun = std::time::Instant::now();
        let data = PerfData::parse(&bytes).expect("a prologue");
        assert!(data.texts.values().map(String::len).sum::<usize>() <= MOST_ENTRIES * LONGEST_TEXT_BYTES);
        assert!(begun.elapsed().as_secs() < 5);
    }

    #[test]
    fn a_length_that_leads_nowhere_ends_the_reading() {
        let mut bytes = file_with("a.b", "text");
        bytes[32..36].copy_from_slice(&u32::MAX.to_le_bytes());
        bytes[28..32].copy_from_slice(&9u32.to_le_bytes());
        assert!(PerfData::parse(&bytes).is_some());
    }
}
