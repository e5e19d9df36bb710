//! Symbols of the libjvm in this process, from its file's full symbol table.

use std::collections::HashMap;

/// Where each symbol was loaded.
pub struct Symbols {
    addresses: HashMap<String, usize>,
}

impl Symbols {
    /// Reads the symbols of the mapped `libjvm.so`.
    pub fn load() -> Option<Symbols> {
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        let line = maps.lines().find(|line| line.ends_with("/libjvm.so"))?;
        let base = usize::from_str_radix(line.split('-').next()?, 16).ok()?;
        let path = line.split_whitespace().last()?;
        let file = std::fs::read(path).ok()?;
        Some(Symbols { addresses: parse(&file, base)? })
    }

    pub fn find(&self, name: &str) -> Option<usize> {
        self.addresses.get(name).copied()
    }
}

fn number(file: &[u8], at: usize, size: usize) -> Option<usize> {
    let bytes = file.get(at..at + size)?;
    Some(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
}

/// The symbols of an ELF64 file's `.symtab` and `.dynsym`, moved by `base`.
fn parse(file: &[u8], base: usize) -> Option<HashMap<String, usize>> {
    let sections = number(file, 0x28, 8)?;
    let entry = number(file, 0x3a, 2)?;
    let count = number(file, 0x3c, 2)?;
    let mut addresses = HashMap::new();
    for section in (0..count).map(|i| sections + i * entry) {
        if !matches!(number(file, section + 4, 4)?, 2 | 11) {
            continue;
        }
        let (at, size) = (number(file, section + 0x18, 8)?, number(file, section + 0x20, 8)?);
        let strings = sections + number(file, section + 0x28, 4)? * entry;
        let strings = number(file, strings + 0x18, 8)?;
        for symbol in (at..at + size).step_by(24) {
            let value = number(file, symbol + 8, 8)?;
            let name = file.get(strings + number(file, symbol, 4)?..)?;
            let name = name.split(|byte| *byte == 0).next()?;
            if value != 0 {
                addresses.insert(String::from_utf8_lossy(name).into_owned(), base + value);
            }
        }
    }
    Some(addresses)
}
