//! What is in the file of the agent library, seen before a JVM loads it.
//!
//! A library whose end is missing ends a JVM with SIGBUS: the loader maps what the file does not have.

use headway_protocol::AGENT_MARK;
use object::elf::{FileHeader64, SHT_DYNSYM};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};
use object::Endianness;

type Header = FileHeader64<Endianness>;

/// What the JVM calls in it.
const ENTRY_POINT: &[u8] = b"Agent_OnAttach";
const NOT_ELF: &str = "it is not a library";
const CUT_OFF: &str = "its end is missing";
const FOREIGN: &str = "it is another library";
const OTHER_VERSION: &str = "it is of another version";

/// Checks that this is the whole agent library of this version.
///
/// # Errors
/// Why it is not.
pub fn check(content: &[u8]) -> Result<(), &'static str> {
    let header = Header::parse(content).map_err(|_| NOT_ELF)?;
    let endian = header.endian().map_err(|_| NOT_ELF)?;
    let segments = header.program_headers(endian, content).map_err(|_| CUT_OFF)?;
    let sections = header.sections(endian, content).map_err(|_| CUT_OFF)?;
    let are_whole = segments.iter().all(|segment| segment.data(endian, content).is_ok())
        && sections.iter().all(|section| section.data(endian, content).is_ok());
    if !are_whole {
        return Err(CUT_OFF);
    }
    let symbols = sections.symbols(endian, content, SHT_DYNSYM).map_err(|_| FOREIGN)?;
    let is_entry = |symbol: &<Header as FileHeader>::Sym| {
        !symbol.is_undefined(endian) && symbol.name(endian, symbols.strings()) == Ok(ENTRY_POINT)
    };
    if !symbols.iter().any(is_entry) {
        return Err(FOREIGN);
    }
    let constants = sections.section_by_name(endian, b".rodata").ok_or(OTHER_VERSION)?.1;
    let constants = constants.data(endian, content).map_err(|_| CUT_OFF)?;
    let mark = AGENT_MARK.as_bytes();
    constants.windows(mark.len()).any(|bytes| bytes == mark).then_some(()).ok_or(OTHER_VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_agent_library_is_taken() {
        let program = std::fs::read(std::env::current_exe().expect("a path")).expect("read");
        assert_eq!(check(b""), Err(NOT_ELF));
        assert_eq!(check(b"this is no library, but a text of some length; it goes on for a while"), Err(NOT_ELF));
        assert_eq!(check(&program[..program.len() / 2]), Err(CUT_OFF));
        assert_eq!(check(&program[..program.len() - 1]), Err(CUT_OFF));
        assert_eq!(check(&program), Err(FOREIGN));
    }
}
