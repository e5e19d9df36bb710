//! Reading an ELF file into what is needed of it.

use super::probes::{self, Probe};
use super::symbols::{Entry, SymbolKind, Symbols, Table};
use crate::error::ImageError;
use crate::sys::linux::{LoadedObject, Segment};
use object::elf::{FileHeader64, PF_R, PF_X, PT_LOAD, PT_NOTE, STT_FUNC, STT_OBJECT};
use object::read::elf::{ElfFile64, NoteIterator, ProgramHeader, Sym};
use object::read::ReadCache;
use object::{Endianness, Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationFlags, RelocationTarget};
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Longest function that is looked at, and largest note section.
const LONGEST_CODE_BYTES: u64 = 1 << 20;

/// What an ELF file holds, apart from its symbols.
#[derive(Debug)]
pub(super) struct Contents {
    file: File,
    headers: Vec<Segment>,
    code: Vec<CodeSegment>,
    got: BTreeMap<String, u64>,
    pub(super) build_id: Option<Vec<u8>>,
    pub(super) probes: Vec<Probe>,
}

#[derive(Debug)]
struct CodeSegment {
    addresses: Range<u64>,
    file_offset: u64,
}

type Parsed<'a> = ElfFile64<'a, Endianness, &'a ReadCache<File>>;

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<(Contents, Symbols), ImageError> {
    let unreadable = |error| ImageError::Unreadable { path: path.to_owned(), error };
    let file = File::open(path).map_err(unreadable)?;
    let cache = ReadCache::new(file.try_clone().map_err(unreadable)?);
    let malformed = |error: object::Error| ImageError::Malformed { path: path.to_owned(), reason: error.to_string() };
    let elf = ElfFile64::<Endianness, _>::parse(&cache).map_err(malformed)?;
    let symbols = Symbols::new(symbols(&elf), file.try_clone().ok());
    let contents = Contents {
        headers: headers(&elf),
        code: code_segments(&elf),
        got: got_slots(&elf),
        build_id: elf.build_id().map_err(malformed)?.map(<[u8]>::to_vec),
        probes: probe_notes(&elf),
        file,
    };
    Ok((contents, symbols))
}

/// The symbol table of a file that was read before.
pub(super) fn table(file: &File) -> Option<Table> {
    let cache = ReadCache::new(file.try_clone().ok()?);
    let elf = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
    Some(symbols(&elf))
}

fn headers(elf: &Parsed<'_>) -> Vec<Segment> {
    let endian = elf.endian();
    let segment = |header: &object::elf::ProgramHeader64<Endianness>| Segment {
        kind: header.p_type(endian).0,
        addresses: header.p_vaddr(endian)..header.p_vaddr(endian).saturating_add(header.p_memsz(endian)),
        readable: header.p_flags(endian).0 & PF_R.0 != 0,
    };
    elf.elf_program_headers().iter().map(segment).collect()
}

fn code_segments(elf: &Parsed<'_>) -> Vec<CodeSegment> {
    let endian = elf.endian();
    elf.elf_program_headers()
        .iter()
        .filter(|h| h.p_type(endian) == PT_LOAD && h.p_flags(endian).0 & PF_X.0 != 0)
        .map(|h| CodeSegment {
            addresses: h.p_vaddr(endian)..h.p_vaddr(endian).saturating_add(h.p_filesz(endian)),
            file_offset: h.p_offset(endian),
        })
        .collect()
}

/// The symbol table. Names are taken over as one block: asking the reader for
/// each name would read the file again tens of thousands of times.
fn symbols(elf: &Parsed<'_>) -> Table {
    let full = elf.elf_symbol_table();
    let is_full = !full.is_empty();
    let table = match is_full {
        true => full,
        false => elf.elf_dynamic_symbol_table(),
    };
    let names = elf.section_by_index(table.string_section()).and_then(|section| section.data()).unwrap_or(&[]);
    let endian = elf.endian();
    let entries = table.iter().filter_map(|symbol| {
        let kind = match symbol.st_type() {
            STT_FUNC => SymbolKind::Function,
            STT_OBJECT => SymbolKind::Variable,
            _ => return None,
        };
        (!symbol.is_undefined(endian)).then_some(Entry {
            name: symbol.st_name(endian),
            kind,
            address: symbol.st_value(endian),
            size: symbol.st_size(endian),
        })
    });
    Table { entries: entries.collect(), names: names.to_vec(), full: is_full }
}

/// Slots that the dynamic linker fills with the address of a function, by the
/// function's name. The type numbers are those of x86-64 and aarch64.
fn got_slots(elf: &Parsed<'_>) -> BTreeMap<String, u64> {
    const JUMP_SLOT: [u32; 2] = [7, 1026];
    const GLOB_DAT: [u32; 2] = [6, 1025];
    let mut slots = BTreeMap::new();
    let (Some(relocations), Some(table)) = (elf.dynamic_relocations(), elf.dynamic_symbol_table()) else {
        return slots;
    };
    for (address, relocation) in relocations {
        let (RelocationFlags::Elf { r_type }, RelocationTarget::Symbol(index)) =
            (relocation.flags(), relocation.target())
        else {
            continue;
        };
        let is_jump_slot = JUMP_SLOT.contains(&r_type.0);
        if !is_jump_slot && !GLOB_DAT.contains(&r_type.0) {
            continue;
        }
        let symbol = table.symbol_by_index(index);
        let Ok(name) = symbol.and_then(|s| s.name().map(str::to_owned)) else {
            continue;
        };
        if is_jump_slot {
            slots.insert(name, address);
        } else {
            slots.entry(name).or_insert(address);
        }
    }
    slots
}

fn probe_notes(elf: &Parsed<'_>) -> Vec<Probe> {
    let section = |name| {
        let section = elf.section_by_name(name)?;
        Some((section.address(), section.data().ok()?))
    };
    let Some((_, notes)) = section(".note.stapsdt") else {
        return Vec::new();
    };
    let base = elf.section_by_name(".stapsdt.base").map_or(0, |section| section.address());
    probes::parse(elf.endian(), notes, base)
}

impl Contents {
    /// The code of a function.
    pub(super) fn code(&self, address: u64, size: u64) -> Result<Vec<u8>, String> {
        if size == 0 || size > LONGEST_CODE_BYTES {
            return Err(format!("its size is given as {size} bytes"));
        }
        let segment = self
            .code
            .iter()
            .find(|s| s.addresses.contains(&address) && address + size <= s.addresses.end)
            .ok_or_else(|| format!("{address:#x} is not in an executable segment"))?;
        let mut code = vec![0; size as usize];
        let offset = segment.file_offset + (address - segment.addresses.start);
        self.file.read_exact_at(&mut code, offset).map_err(|error| format!("its code could not be read: {error}"))?;
        Ok(code)
    }

    /// Address in the file of a function's GOT slot.
    pub(super) fn got_slot(&self, symbol: &str) -> Option<u64> {
        self.got.get(symbol).copied()
    }

    /// True for addresses of a loaded segment.
    pub(super) fn covers(&self, address: u64) -> bool {
        self.headers.iter().any(|h| h.kind == PT_LOAD.0 && h.addresses.contains(&address))
    }

    /// By what the loaded object differs from this file, if it does.
    pub(super) fn difference_from(&self, loaded: &LoadedObject) -> Option<String> {
        let same_headers = self.headers.len() == loaded.headers.len()
            && self.headers.iter().zip(&loaded.headers).all(|(a, b)| a.kind == b.kind && a.addresses == b.addresses);
        if !same_headers {
            return Some("its segments differ".to_owned());
        }
        let live = live_build_id(loaded);
        (live != self.build_id).then(|| {
            let shown = |id: &Option<Vec<u8>>| {
                id.as_deref().map_or("none".to_owned(), |id| id.iter().map(|b| format!("{b:02x}")).collect())
            };
            format!("build-id {} loaded, {} in the file", shown(&live), shown(&self.build_id))
        })
    }
}

/// The build-id note in memory.
fn live_build_id(loaded: &LoadedObject) -> Option<Vec<u8>> {
    loaded.headers.iter().filter(|h| h.kind == PT_NOTE.0 && h.readable && inside_a_segment(h, loaded)).find_map(
        |header| {
            let start = loaded.bias + header.addresses.start as usize;
            let length = (header.addresses.end - header.addresses.start) as usize;
            // SAFETY: the headers of a loaded object say that this range is
            // mapped and readable, and notes are never written.
            let data = unsafe { std::slice::from_raw_parts(start as *const u8, length) };
            build_id_in(data)
        },
    )
}

fn inside_a_segment(note: &Segment, loaded: &LoadedObject) -> bool {
    loaded.headers.iter().any(|h| {
        h.kind == PT_LOAD.0
            && h.readable
            && h.addresses.start <= note.addresses.start
            && note.addresses.end <= h.addresses.end
    })
}

fn build_id_in(data: &[u8]) -> Option<Vec<u8>> {
    let mut notes = NoteIterator::<FileHeader64<Endianness>>::new(Endianness::default(), 4, data).ok()?;
    while let Ok(Some(note)) = notes.next() {
        if note.name() == b"GNU" && note.n_type(Endianness::default()) == object::elf::NT_GNU_BUILD_ID {
            return Some(note.desc().to_vec());
        }
    }
    None
}
