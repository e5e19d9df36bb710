//! Names of functions in a library's file.

use object::{Object, ObjectSymbol, SymbolKind};

/// Longest name that is shown.
const MAX_NAME: usize = 400;
/// A symbol without a size reaches at most this far.
const UNSIZED: u32 = 4096;

/// Functions by address. Names stay in the file.
pub struct Symbols {
    functions: Vec<Function>,
}

struct Function {
    start: u64,
    size: u32,
    /// Where in the file the name is.
    name: u32,
    length: u16,
}

impl Symbols {
    /// Reads a file's tables.
    pub fn read(bytes: &[u8]) -> Symbols {
        let mut functions = Vec::new();
        if let Ok(file) = object::File::parse(bytes) {
            for symbol in file.symbols().chain(file.dynamic_symbols()) {
                if symbol.kind() != SymbolKind::Text || symbol.is_undefined() {
                    continue;
                }
                let Ok(name) = symbol.name_bytes() else { continue };
                let place = (name.as_ptr() as usize).wrapping_sub(bytes.as_ptr() as usize);
                let (Ok(place), Ok(length)) = (u32::try_from(place), u16::try_from(name.len())) else { continue };
                let size = u32::try_from(symbol.size()).unwrap_or(u32::MAX);
                functions.push(Function { start: symbol.address(), size, name: place, length });
            }
        }
        // Of several names the first is kept: `.symtab` before `.dynsym`.
        functions.sort_by_key(|function| function.start);
        functions.dedup_by_key(|function| function.start);
        functions.shrink_to_fit();
        Symbols { functions }
    }

    /// The function at an address of the file.
    pub fn function(&self, bytes: &[u8], address: u64) -> Option<String> {
        let after = self.functions.partition_point(|function| function.start <= address);
        let function = self.functions.get(after.checked_sub(1)?)?;
        let size = if function.size == 0 { UNSIZED } else { function.size };
        if address - function.start >= u64::from(size) {
            return None;
        }
        let start = function.name as usize;
        let name = bytes.get(start..start + usize::from(function.length))?;
        Some(readable(&String::from_utf8_lossy(name)))
    }
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
