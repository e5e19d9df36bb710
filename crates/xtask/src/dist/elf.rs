//! What a binary asks of the system that loads it.

use crate::Problem;
use object::elf;
use object::read::elf::{Dyn, FileHeader, Sym};
use object::Endianness;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

type Header = elf::FileHeader64<Endianness>;

/// See the file's head.
#[derive(Debug, Default)]
pub struct Dynamic {
    /// Libraries that are loaded with it.
    pub needed: BTreeSet<String>,
    /// Functions and variables that must be found.
    pub wanted: Vec<Wanted>,
    /// Functions and variables that others can find, with the first bytes of functions.
    pub offered: Vec<(String, Vec<u8>)>,
    /// True if it asks for a program that loads it, as programs do that are not static.
    pub has_interpreter: bool,
}

/// A name that the loader must find elsewhere.
#[derive(Debug, PartialEq, Eq)]
pub struct Wanted {
    pub name: String,
    /// `GLIBC_2.17`, if a version is asked for.
    pub version: Option<String>,
    /// True if it is no harm when there is none.
    pub is_weak: bool,
}

/// How many bytes of an offered function are read.
const FIRST_BYTES: usize = 12;

impl Dynamic {
    /// Reads the dynamic part of an ELF file of 64 bits.
    pub fn read(path: &Path) -> Result<Dynamic, Problem> {
        let data = fs::read(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        Dynamic::parse(&data).map_err(|e| format!("cannot read {}: {e}", path.display()).into())
    }

    fn parse(data: &[u8]) -> Result<Dynamic, object::read::Error> {
        let header = Header::parse(data)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, data)?;
        let has_interpreter = sections.section_by_name(endian, b".interp").is_some();
        let mut read = Dynamic { has_interpreter, ..Dynamic::default() };
        if let Some((entries, link)) = sections.dynamic(endian, data)? {
            let strings = sections.strings(endian, data, link)?;
            for entry in entries.iter().filter(|entry| entry.tag(endian) == elf::DT_NEEDED) {
                read.needed.insert(String::from_utf8_lossy(entry.string(endian, strings)?).into_owned());
            }
        }
        let symbols = sections.symbols(endian, data, elf::SHT_DYNSYM)?;
        let versions = sections.versions(endian, data)?;
        for (index, symbol) in symbols.enumerate() {
            let name = String::from_utf8_lossy(symbol.name(endian, symbols.strings())?).into_owned();
            if name.is_empty() || symbol.st_bind() == elf::STB_LOCAL {
                continue;
            }
            if !symbol.is_undefined(endian) {
                let section = sections.section(object::SectionIndex(symbol.st_shndx(endian).0.into()))?;
                read.offered.push((name, first_bytes(section, endian, data, symbol.st_value(endian))));
                continue;
            }
            let version = match &versions {
                Some(versions) => versions.version(versions.version_index(endian, index).into())?,
                None => None,
            };
            let version = version.map(|version| String::from_utf8_lossy(version.name()).into_owned());
            read.wanted.push(Wanted { name, version, is_weak: symbol.st_bind() == elf::STB_WEAK });
        }
        Ok(read)
    }

    /// True if nothing else is loaded to run it.
    pub fn is_static(&self) -> bool {
        self.needed.is_empty() && self.wanted.is_empty() && !self.has_interpreter
    }

    /// Names that must be there, in order.
    pub fn strong(&self) -> impl Iterator<Item = &Wanted> {
        self.wanted.iter().filter(|wanted| !wanted.is_weak)
    }
}

fn first_bytes(section: &elf::SectionHeader64<Endianness>, endian: Endianness, data: &[u8], address: u64) -> Vec<u8> {
    let begin = address
        .checked_sub(section.sh_addr.get(endian))
        .and_then(|into| into.checked_add(section.sh_offset.get(endian)));
    let begin = begin.and_then(|begin| usize::try_from(begin).ok());
    begin.and_then(|begin| data.get(begin..begin.checked_add(FIRST_BYTES)?)).unwrap_or_default().to_vec()
}
