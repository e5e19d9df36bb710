//! Names of functions in a library's file.

use object::elf::{self, FileHeader64};
use object::read::elf::{ElfFile64, FileHeader, SectionHeader, Sym};
use object::Endianness;
use std::ops::Range;

/// Longest name that is shown.
const MAX_NAME: usize = 400;
/// A symbol without a size reaches at most this far.
const UNSIZED: u32 = 4096;

/// Functions by address. Names stay in the file and are not looked at: of the
/// 60,000 in a VM a recording shows some hundreds.
#[derive(Default)]
pub struct Symbols {
    functions: Vec<Function>,
    read: Range<usize>,
}

/// A library's addresses and places are below 4 GiB.
struct Function {
    start: u32,
    size: u32,
    /// Where in the file the name is.
    name: u32,
}

impl Symbols {
    /// Reads a file's table: `.symtab`, or `.dynsym` where there is no such.
    pub fn read(bytes: &[u8]) -> Symbols {
        let table = |kind| Symbols::of_table(bytes, kind).filter(|symbols| !symbols.functions.is_empty());
        table(elf::SHT_SYMTAB).or_else(|| table(elf::SHT_DYNSYM)).unwrap_or_default()
    }

    fn of_table(bytes: &[u8], kind: elf::SectionType) -> Option<Symbols> {
        let file: ElfFile64<'_, Endianness> = ElfFile64::parse(bytes).ok()?;
        let (endian, sections) = (file.endian(), file.elf_section_table());
        let table = sections.symbols(endian, bytes, kind).ok()?;
        let (strings, _) = sections.section(table.string_section()).ok()?.file_range(endian)?;
        let (from, length) = sections.section(table.section()).ok()?.file_range(endian)?;
        let from = usize::try_from(from).ok()?;
        let mut functions: Vec<Function> =
            table.iter().filter_map(|symbol| function(symbol, endian, strings)).collect();
        // Of several names the first is kept.
        functions.sort_by_key(|function| function.start);
        functions.dedup_by_key(|function| function.start);
        functions.shrink_to_fit();
        Some(Symbols { functions, read: from..from.checked_add(usize::try_from(length).ok()?)? })
    }

    /// The part of the file that was read, and is not looked at again.
    pub fn done_with(&self) -> Range<usize> {
        self.read.clone()
    }

    /// The function at an address of the file.
    pub fn function(&self, bytes: &[u8], address: u64) -> Option<String> {
        let address = u32::try_from(address).ok()?;
        let after = self.functions.partition_point(|function| function.start <= address);
        let function = self.functions.get(after.checked_sub(1)?)?;
        let size = if function.size == 0 { UNSIZED } else { function.size };
        if address - function.start >= size {
            return None;
        }
        let name = bytes.get(usize::try_from(function.name).ok()?..)?;
        let name = name.get(..name.iter().take(MAX_SYMBOL).position(|byte| *byte == 0)?)?;
        Some(readable(&String::from_utf8_lossy(name)))
    }
}

/// Longest symbol that is read.
const MAX_SYMBOL: usize = 1 << 16;

type Symbol = <FileHeader64<Endianness> as FileHeader>::Sym;

fn function(symbol: &Symbol, endian: Endianness, strings: u64) -> Option<Function> {
    if !matches!(symbol.st_type(), elf::STT_FUNC | elf::STT_GNU_IFUNC) || symbol.is_undefined(endian) {
        return None;
    }
    let name = strings.checked_add(u64::from(symbol.st_name(endian)))?;
    Some(Function {
        start: u32::try_from(symbol.st_value(endian)).ok()?,
        size: u32::try_from(symbol.st_size(endian)).unwrap_or(u32::MAX),
        name: u32::try_from(name).ok()?,
    })
}

/// A symbol as its language writes it, without the arguments of C++.
pub fn readable(symbol: &str) -> String {
    let plain = symbol.split('@').next().unwrap_or(symbol);
    let mut name = demangled(plain).unwrap_or_else(|| plain.to_owned());
    if name.len() > MAX_NAME {
        let end = (0..=MAX_NAME).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
        name.truncate(end);
    }
    name
}

fn demangled(symbol: &str) -> Option<String> {
    if let Ok(rust) = rustc_demangle::try_demangle(symbol) {
        return Some(format!("{rust:#}"));
    }
    if !symbol.starts_with("_Z") {
        return None;
    }
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    let name = cpp_demangle::Symbol::new(symbol).ok()?.demangle_with_options(&options).ok()?;
    Some(without_template_arguments(&name))
}

/// Template arguments are longer than what they belong to and say less.
fn without_template_arguments(name: &str) -> String {
    // `operator<`, `operator<<` and `operator->` are names.
    if name.contains("operator") {
        return name.to_owned();
    }
    let mut plain = String::with_capacity(name.len());
    let mut depth = 0_u32;
    for character in name.chars() {
        match character {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(character),
            _ => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_readable() {
        assert_eq!(
            readable("_ZN9JavaCalls4callEP9JavaValueRK12methodHandleP17JavaCallArgumentsP10JavaThread"),
            "JavaCalls::call"
        );
        assert_eq!(without_template_arguments("A<(B)1, C<D> >::e<f>"), "A::e");
        assert_eq!(without_template_arguments("A::operator<"), "A::operator<");
        assert_eq!(readable("memcpy@@GLIBC_2.14"), "memcpy");
        assert_eq!(readable("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
        assert_eq!(readable("_Znot a symbol"), "_Znot a symbol");
        assert!(readable(&"x".repeat(5000)).len() <= MAX_NAME);
    }
}
