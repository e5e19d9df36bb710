//! What knows the processor lies in one folder per crate, `src/arch`: whoever brings Headway to
//! another processor finds all of it there.

use super::{Complaint, File};

/// Endings of the registers that have a name, without the letter for their width.
const NAMED: [&str; 9] = ["ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip"];

/// What only reads or writes instructions of one processor.
const OF_ONE_PROCESSOR: [&str; 4] =
    [concat!("target", "_arch"), concat!("iced", "_x86"), concat!("as", "m!("), concat!("REG", "_R")];

pub fn complaints(file: &File) -> Vec<Complaint> {
    let is_concerned = file.extension() == "rs"
        && file.path.starts_with("crates/")
        && file.path.contains("/src/")
        && !file.path.contains("/src/arch/");
    if !is_concerned {
        return Vec::new();
    }
    let named = (1..).zip(file.text.lines()).filter_map(|(number, line)| Some((number, named(line)?)));
    let complaint = |(number, name): (usize, &str)| {
        file.complaint(number, format!("\"{name}\": what knows the processor lies in the crate's src/arch"))
    };
    named.map(complaint).collect()
}

/// The first register, or other sign of one processor, that a line names.
fn named(line: &str) -> Option<&str> {
    let mut words = line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.find(|word| is_register(word)).or_else(|| OF_ONE_PROCESSOR.into_iter().find(|mark| line.contains(mark)))
}

fn is_register(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let Some(rest) = word.strip_prefix('r') else {
        // Of 32 bits; two letters alone are words of other trades, too.
        return word.strip_prefix('e').is_some_and(|rest| NAMED[..8].contains(&rest));
    };
    NAMED.contains(&rest) || rest.parse::<u8>().is_ok_and(|number| (8..16).contains(&number) && !rest.starts_with('0'))
}

#[cfg(test)]
mod tests {
    use super::super::{file, said};
    use super::*;

    /// In pieces, so that this file is not found itself.
    const REGISTERS: [&str; 5] = [
        concat!("let a = Register::", "R", "13;"),
        concat!("// it is in r", "bx"),
        concat!("%e", "cx"),
        concat!("R", "BP => 1"),
        concat!("[r", "15+8]"),
    ];

    #[test]
    fn registers_are_found_outside_their_folder_in_code_and_in_comments() {
        for line in REGISTERS {
            assert!(said(complaints(&file("crates/a/src/b.rs", line))).contains("knows the processor"), "{line}");
            assert_eq!(said(complaints(&file("crates/a/src/arch/x86_64/b.rs", line))), "", "{line}");
            assert_eq!(said(complaints(&file("crates/a/tests/b.rs", line))), "", "{line}");
        }
        for mark in OF_ONE_PROCESSOR {
            assert!(said(complaints(&file("crates/a/src/b.rs", mark))).contains("knows the processor"), "{mark}");
        }
    }

    #[test]
    fn other_words_are_left_alone() {
        for line in ["r0 r7 r16 r1 rest ear esp_event", "Reg::SP", "x86_64", "let sp = at.sp()?;", "tip, r = 9"] {
            assert_eq!(said(complaints(&file("crates/a/src/b.rs", line))), "", "{line}");
        }
    }
}
