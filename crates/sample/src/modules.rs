//! The libraries that are mapped into this process.

use crate::image::Image;
use crate::symbols::Symbols;
use memmap2::{Mmap, UncheckedAdvice};
use object::{Object, ObjectSection, ObjectSegment, SegmentFlags};
use std::cell::OnceCell;
use std::fs::{self, File};
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Largest copy of the kernel's own library.
const MAX_VDSO: u64 = 1 << 20;

/// The bytes of a library: its file, or a copy.
#[derive(Clone)]
pub enum Bytes {
    /// Mapped.
    File(Arc<Mmap>),
    /// Copied.
    Copy(Arc<[u8]>),
}

impl Default for Bytes {
    fn default() -> Bytes {
        Bytes::Copy(Arc::default())
    }
}

impl Bytes {
    /// Gives back the memory of a part of a file: it is read again when it is
    /// looked at again.
    pub fn release(&self, part: Range<usize>) {
        let Bytes::File(map) = self else { return };
        let part = part.start..part.end.min(map.len());
        if part.is_empty() {
            return;
        }
        // SAFETY: the mapping is private and only read: its pages come back with
        // the file's content.
        let released = unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, part.start, part.len()) };
        // Where the system refuses, memory stays in use, and nothing else happens.
        let _ = released;
    }
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Bytes::File(map) => map,
            Bytes::Copy(bytes) => bytes,
        }
    }
}

/// A part of a library's bytes.
#[derive(Clone, Default)]
pub struct Section {
    bytes: Bytes,
    range: Range<usize>,
}

impl Deref for Section {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.bytes.get(self.range.clone()).unwrap_or_default()
    }
}

/// A library in this process.
pub struct Module {
    /// Its file's name without directories, `libjvm.so`.
    pub name: Arc<str>,
    /// The addresses it covers.
    pub range: Range<u64>,
    /// What is added to the addresses its file speaks of.
    pub bias: u64,
    /// Its bytes; none if its file cannot be had.
    pub bytes: Bytes,
    /// Its tables, then.
    image: Option<Image>,
    symbols: OnceCell<Symbols>,
}

impl Module {
    /// Where it is and what it is called: another one is not taken for it.
    pub fn identity(&self) -> (u64, Arc<str>) {
        (self.range.start, self.name.clone())
    }

    /// The function at an address, by its name for people.
    pub fn function(&self, address: u64) -> Option<String> {
        let symbols = self.symbols.get_or_init(|| {
            let symbols = Symbols::read(&self.bytes);
            self.bytes.release(symbols.done_with());
            symbols
        });
        symbols.function(&self.bytes, address.wrapping_sub(self.bias))
    }

    /// A section of the file by its name: its bytes and its addresses.
    pub fn section(&self, name: &str) -> Option<(Section, Range<u64>)> {
        if let Some(image) = &self.image {
            return image.section(name);
        }
        let file = object::File::parse(&*self.bytes).ok()?;
        let section = file.section_by_name(name)?;
        let (start, length) = section.file_range()?;
        let start = usize::try_from(start).ok()?;
        let range = start..start.checked_add(usize::try_from(length).ok()?)?;
        self.bytes.get(range.clone())?;
        let addresses = section.address()..section.address().checked_add(section.size())?;
        Some((Section { bytes: self.bytes.clone(), range }, addresses))
    }
}

impl Image {
    fn section(&self, name: &str) -> Option<(Section, Range<u64>)> {
        let (bytes, addresses) = match name {
            ".eh_frame_hdr" => &self.index,
            ".eh_frame" => &self.frames,
            _ => return None,
        };
        Some((Section { bytes: Bytes::Copy(bytes.clone()), range: 0..bytes.len() }, addresses.clone()))
    }
}

/// One line of the list of mappings.
#[derive(Debug, PartialEq, Eq)]
struct Mapping<'a> {
    range: Range<u64>,
    executable: bool,
    offset: u64,
    path: &'a str,
}

fn mapping(line: &str) -> Option<Mapping<'_>> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let flags = words.next()?;
    let offset = words.next()?;
    let path = words.nth(2).unwrap_or_default().trim();
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some(Mapping {
        range: number(start)?..number(end)?,
        executable: flags.as_bytes().get(2) == Some(&b'x'),
        offset: number(offset)?,
        path,
    })
}

/// All libraries with code, by address. Those of `known` that are still there
/// are taken over.
pub fn all(known: Vec<Module>) -> Vec<Module> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mappings: Vec<Mapping<'_>> = maps.lines().filter_map(mapping).collect();
    let mut known = known;
    let mut modules: Vec<Module> = Vec::new();
    for code in mappings.iter().filter(|m| m.executable && !m.path.is_empty()) {
        if modules.iter().any(|module| module.range.contains(&code.range.start)) {
            continue;
        }
        let old = known.iter().position(|module| module.range.contains(&code.range.start));
        let old = old.map(|at| known.swap_remove(at)).filter(|module| code.path.ends_with(&*module.name));
        modules.extend(old.or_else(|| module(code, &mappings)));
    }
    modules.sort_by_key(|module| module.range.start);
    modules
}

fn module(code: &Mapping<'_>, mappings: &[Mapping<'_>]) -> Option<Module> {
    let bytes = match code.path {
        "[vdso]" => copy(code),
        path if path.starts_with('/') => map(path).or_else(|| map(&mapped_file(code))),
        _ => return None,
    };
    let from_file = bytes.and_then(|bytes| Some((bias(&bytes, code)?, bytes, None)));
    let (bias, bytes, image) = from_file.or_else(|| without_file(code, mappings))?;
    let own = mappings.iter().filter(|m| m.path == code.path && m.executable);
    let near = own.filter(|m| m.range.start >= code.range.start && m.range.start - code.range.start < 1 << 32);
    let end = near.map(|m| m.range.end).max().unwrap_or(code.range.end);
    let name = code.path.rsplit('/').next().unwrap_or(code.path).into();
    Some(Module { name, range: code.range.start..end, bias, bytes, image, symbols: OnceCell::new() })
}

/// What is added to a library's addresses, by the segment that this code is of.
fn bias(bytes: &[u8], code: &Mapping<'_>) -> Option<u64> {
    let file = object::File::parse(bytes).ok()?;
    // A segment is mapped from the page on in which it begins, which the one
    // before it may end in.
    let segment = file.segments().filter(is_code).find(|segment| {
        let (start, length) = segment.file_range();
        (start & !0xfff..start.saturating_add(length)).contains(&code.offset)
    })?;
    let in_file = segment.file_range().0;
    let address = segment.address().wrapping_sub(in_file).wrapping_add(code.offset);
    Some(code.range.start.wrapping_sub(address))
}

/// The kernel's way to a file that was removed; it asks for privileges.
fn mapped_file(code: &Mapping<'_>) -> String {
    format!("/proc/self/map_files/{:x}-{:x}", code.range.start, code.range.end)
}

fn without_file(code: &Mapping<'_>, mappings: &[Mapping<'_>]) -> Option<(u64, Bytes, Option<Image>)> {
    let begins = |m: &&Mapping<'_>| m.path == code.path && m.offset == 0 && m.range.start <= code.range.start;
    let base = mappings.iter().filter(begins).map(|m| m.range.start).max()?;
    let image = Image::read(base)?;
    Some((image.bias, Bytes::default(), Some(image)))
}

fn is_code<'d>(segment: &impl ObjectSegment<'d>) -> bool {
    matches!(segment.flags(), SegmentFlags::Elf { p_flags, .. } if (p_flags & object::elf::PF_X).0 != 0)
}

fn map(path: &str) -> Option<Bytes> {
    let file = File::open(path).ok()?;
    // SAFETY: the file is mapped as code already; whoever cuts it off takes
    // the ground from under the program itself.
    let map = unsafe { Mmap::map(&file) }.ok()?;
    Some(Bytes::File(Arc::new(map)))
}

/// The kernel's own library has no file.
fn copy(code: &Mapping<'_>) -> Option<Bytes> {
    let length = code.range.end.checked_sub(code.range.start).filter(|length| *length <= MAX_VDSO)?;
    let mut bytes = vec![0; usize::try_from(length).ok()?];
    crate::task::read_own_memory(code.range.start, &mut bytes).then(|| Bytes::Copy(bytes.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_list_is_read() {
        let line = "7f00-7f10 r-xp 00001000 fe:00 1234                       /usr/lib/a b.so";
        let found = mapping(line).unwrap();
        let expected = Mapping { range: 0x7f00..0x7f10, executable: true, offset: 0x1000, path: "/usr/lib/a b.so" };
        assert_eq!(found, expected);
        assert_eq!(mapping("7f00-7f10 rw-p 00000000 00:00 0").unwrap().path, "");
        assert!(mapping("nonsense").is_none());
    }

    /// The tables of each library's file and of its memory are the same, wherever it is mapped.
    #[test]
    fn tables_are_found_without_the_file() {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let mappings: Vec<Mapping<'_>> = maps.lines().filter_map(mapping).collect();
        let mut compared = 0;
        for module in all(Vec::new()) {
            let code = mappings.iter().find(|m| m.range.start == module.range.start).unwrap();
            let Some(file) = module.section(".eh_frame").filter(|_| code.path.starts_with('/')) else { continue };
            let (bias, _, image) = without_file(code, &mappings).unwrap();
            assert_eq!(bias, module.bias, "{}", module.name);
            let image = image.unwrap();
            let (frames, addresses) = image.section(".eh_frame").unwrap();
            assert_eq!(addresses.start, file.1.start, "{}", module.name);
            assert!(frames.starts_with(&file.0), "{}", module.name);
            let (index, at) = image.section(".eh_frame_hdr").unwrap();
            let (expected, expected_at) = module.section(".eh_frame_hdr").unwrap();
            assert_eq!((&*index, at), (&*expected, expected_at), "{}", module.name);
            compared += 1;
        }
        assert!(compared >= 3, "{compared} libraries");
    }

    #[test]
    fn a_library_whose_file_was_removed_is_known() {
        let copy = std::env::temp_dir().join(format!("headway-removed-{}.so", std::process::id()));
        let modules = all(Vec::new());
        let library = modules.iter().find(|module| module.name.starts_with("libgcc_s")).unwrap();
        fs::write(&copy, &*library.bytes).unwrap();
        let path = std::ffi::CString::new(copy.to_str().unwrap()).unwrap();
        // SAFETY: a library that this process has already, under another name.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        fs::remove_file(&copy).unwrap();
        assert!(!handle.is_null());
        let modules = all(modules);
        let removed = modules.iter().find(|module| module.name.ends_with(".so (deleted)")).unwrap();
        assert!(removed.section(".eh_frame").is_some_and(|(table, _)| !table.is_empty()));
        assert!(removed.section(".eh_frame_hdr").is_some());
    }

    #[test]
    fn functions_of_this_process_are_named() {
        let modules = all(Vec::new());
        let name = |address: u64| {
            let module = modules.iter().find(|module| module.range.contains(&address)).unwrap();
            module.function(address)
        };
        let here = functions_of_this_process_are_named as *const () as u64;
        assert!(name(here).unwrap().contains("functions_of_this_process_are_named"), "{:?}", name(here));
        let getpid = name(libc::getpid as *const () as u64);
        assert!(getpid.is_some_and(|name| name.contains("getpid")));
        let again = all(modules);
        assert!(again.iter().any(|module| module.range.contains(&here)));
    }
}
