//! Memory that is watched while it is read, and memory remembered.

use headway_hotspot::Memory;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Consecutive bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Where they were.
    pub at: u64,
    /// The bytes.
    #[serde(serialize_with = "to_hex", deserialize_with = "from_hex")]
    pub bytes: Vec<u8>,
}

/// Bytes as hexadecimal digits.
pub(crate) fn to_hex<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    serializer.serialize_str(&text)
}

/// The other way round.
pub(crate) fn from_hex<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = |_| serde::de::Error::custom("bytes are not hexadecimal");
    let pair = |pair: &[u8]| u8::from_str_radix(&String::from_utf8_lossy(pair), 16).map_err(wrong);
    text.as_bytes().chunks(2).map(pair).collect()
}

/// Passes reads on and keeps what was read.
pub struct Watched<'a, M> {
    inner: &'a M,
    seen: RefCell<BTreeMap<u64, u8>>,
}

impl<'a, M: Memory> Watched<'a, M> {
    /// Nothing was read yet.
    pub fn new(inner: &'a M) -> Watched<'a, M> {
        Watched { inner, seen: RefCell::default() }
    }

    /// Every byte that was read.
    pub fn into_seen(self) -> BTreeMap<u64, u8> {
        self.seen.into_inner()
    }

    fn note(&self, address: u64, bytes: &[u8]) {
        self.seen.borrow_mut().extend((address..).zip(bytes.iter().copied()));
    }
}

impl<M: Memory> Memory for Watched<'_, M> {
    fn read_u64(&self, address: u64) -> Option<u64> {
        let value = self.inner.read_u64(address)?;
        self.note(address, &value.to_le_bytes());
        Some(value)
    }

    fn read_into(&self, address: u64, into: &mut [u8]) -> bool {
        let is_read = self.inner.read_into(address, into);
        if is_read {
            self.note(address, into);
        }
        is_read
    }

    fn read_code_u64(&self, address: u64) -> Option<u64> {
        let value = self.inner.read_code_u64(address)?;
        self.note(address, &value.to_le_bytes());
        Some(value)
    }

    fn read_code_u32(&self, address: u64) -> Option<u32> {
        let value = self.inner.read_code_u32(address)?;
        self.note(address, &value.to_le_bytes());
        Some(value)
    }

    fn read_code_u8(&self, address: u64) -> Option<u8> {
        let value = self.inner.read_code_u8(address)?;
        self.note(address, &[value]);
        Some(value)
    }
}

/// Bytes as blocks.
pub fn blocks(bytes: &BTreeMap<u64, u8>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for (at, byte) in bytes {
        match blocks.last_mut() {
            Some(last) if last.at + last.bytes.len() as u64 == *at => last.bytes.push(*byte),
            _ => blocks.push(Block { at: *at, bytes: vec![*byte] }),
        }
    }
    blocks
}

/// Memory made of what was read once.
pub struct Remembered(BTreeMap<u64, u8>);

impl Remembered {
    /// What was read, and over it what was read later.
    pub fn new(first: &[Block], later: &[Block]) -> Remembered {
        let mut bytes = BTreeMap::new();
        for block in first.iter().chain(later) {
            bytes.extend((block.at..).zip(block.bytes.iter().copied()));
        }
        Remembered(bytes)
    }

    fn array<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.read_into(address, &mut bytes).then_some(bytes)
    }
}

impl Memory for Remembered {
    fn read_u64(&self, address: u64) -> Option<u64> {
        self.array(address).map(u64::from_le_bytes)
    }

    fn read_into(&self, address: u64, into: &mut [u8]) -> bool {
        let mut found = self.0.range(address..);
        (address..).zip(into.iter_mut()).all(|(at, byte)| match found.next() {
            Some((found, value)) if *found == at => {
                *byte = *value;
                true
            }
            _ => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_hotspot::Fragments;

    #[test]
    fn what_was_read_is_remembered_and_nothing_else() {
        let mut live = Fragments::new();
        live.add(0x1000, (0..32).collect());
        let watched = Watched::new(&live);
        assert_eq!(watched.read_u32(0x1004), Some(0x0706_0504));
        assert_eq!(watched.read_u64(0x1008), Some(0x0f0e_0d0c_0b0a_0908));
        assert_eq!(watched.read_u64(0x2000), None);
        let blocks = blocks(&watched.into_seen());
        assert_eq!(blocks, vec![Block { at: 0x1004, bytes: (4..16).collect() }]);

        let memory = Remembered::new(&blocks, &[Block { at: 0x1006, bytes: vec![0xff] }]);
        assert_eq!(memory.read_u64(0x1004), Some(0x0b0a_0908_07ff_0504));
        assert_eq!(memory.read_u8(0x1003), None);
        assert_eq!(memory.read_u64(0x100a), None);
    }

    #[test]
    fn blocks_survive_being_written() {
        let block = Block { at: 7, bytes: vec![0, 15, 255] };
        let text = serde_json::to_string(&block).expect("text");
        assert_eq!(text, r#"{"at":7,"bytes":"000fff"}"#);
        assert_eq!(serde_json::from_str::<Block>(&text).expect("block"), block);
        assert!(serde_json::from_str::<Block>(r#"{"at":7,"bytes":"0g"}"#).is_err());
    }
}
