//! Functions of the kernel, as far as it says where they are.

use std::fs::File;
use std::io::{BufRead, BufReader};

/// Where the kernel lists its symbols. Without the right to know them, their
/// addresses are all zero.
const SYMBOLS: &str = "/proc/kallsyms";
/// Addresses from here on are marks in a call chain, no instructions
/// (`PERF_CONTEXT_MAX`).
const MARKS: u64 = u64::MAX - 4095;
/// Set in the kernel's addresses, and in no other.
const KERNEL: u64 = 1 << 63;

/// The instructions in a sample's chain of the kernel's functions, leaf first.
pub fn instructions(chain: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let words = chain.chunks_exact(8).filter_map(|word| Some(u64::from_le_bytes(word.try_into().ok()?)));
    words.filter(|address| is_kernel(*address))
}

/// True for an instruction of the kernel.
pub fn is_kernel(address: u64) -> bool {
    address & KERNEL != 0 && address < MARKS
}

/// Lines without an address after which no more is expected.
const HIDDEN: u32 = 10_000;
/// Names packed together: finding one unpacks as many.
const IN_A_BLOCK: usize = 1_024;

/// The kernel's functions by address: more than 100,000 whose names are packed,
/// because few of them are ever asked for.
#[derive(Default)]
pub struct Functions {
    lowest: u64,
    /// Addresses from the lowest on, sorted.
    starts: Vec<u32>,
    /// The names of [`IN_A_BLOCK`] functions each, with an end of line each.
    names: Vec<Box<[u8]>>,
}

/// A function as it was read: its address, and where in the names its name is.
type Found = (u64, u32, u32);

impl Functions {
    /// Reads the kernel's list. Empty where the kernel does not say.
    pub fn read() -> Functions {
        let Ok(file) = File::open(SYMBOLS) else { return Functions::default() };
        Functions::parse(BufReader::with_capacity(64 << 10, file))
    }

    fn parse(mut text: impl BufRead) -> Functions {
        let (mut found, mut names, mut line) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0.. {
            line.clear();
            match text.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => found.extend(function(&line, &mut names)),
            }
            // All are hidden: what follows says nothing either.
            if number == HIDDEN && found.is_empty() {
                break;
            }
        }
        Functions::packed(found, &names)
    }

    fn packed(mut found: Vec<Found>, names: &[u8]) -> Functions {
        found.sort_by_key(|(address, ..)| *address);
        let lowest = found.first().map_or(0, |(address, ..)| *address);
        // Modules lie near the kernel; what does not is left out.
        found.retain(|(address, ..)| address - lowest <= u64::from(u32::MAX));
        let name = |(_, from, to): &Found| names.get(*from as usize..*to as usize).unwrap_or_default();
        let pack = |block: &[Found]| {
            let lines: Vec<&[u8]> = block.iter().map(name).collect();
            lz4_flex::compress_prepend_size(&lines.join(&b'\n')).into_boxed_slice()
        };
        Functions {
            lowest,
            names: found.chunks(IN_A_BLOCK).map(pack).collect(),
            starts: found.iter().map(|(address, ..)| (address - lowest) as u32).collect(),
        }
    }

    /// The function at an address.
    pub fn function(&self, address: u64) -> Option<String> {
        let address = u32::try_from(address.checked_sub(self.lowest)?).ok()?;
        let number = self.starts.partition_point(|start| *start <= address).checked_sub(1)?;
        let block = lz4_flex::decompress_size_prepended(self.names.get(number / IN_A_BLOCK)?).ok()?;
        let name = block.split(|byte| *byte == b'\n').nth(number % IN_A_BLOCK)?;
        Some(String::from_utf8_lossy(name).into_owned())
    }

    /// Bytes of memory that they take.
    pub fn memory_bytes(&self) -> usize {
        self.starts.len() * size_of::<u32>() + self.names.iter().map(|block| block.len()).sum::<usize>()
    }
}

/// A line `ffffffff81000000 T startup_64`, if it is a function's.
fn function(line: &[u8], names: &mut Vec<u8>) -> Option<Found> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let address = u64::from_str_radix(std::str::from_utf8(words.next()?).ok()?, 16).ok()?;
    if !matches!(words.next()?, b"t" | b"T" | b"w" | b"W") || address == 0 {
        return None;
    }
    let from = u32::try_from(names.len()).ok()?;
    names.extend_from_slice(words.next()?);
    Some((address, from, u32::try_from(names.len()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_and_data_is_not() {
        let text = "ffffffff81000000 T startup_64\nffffffff81000100 d data\n\
                    ffffffff81000200 t do_idle\t[module]\nnonsense\n";
        let functions = Functions::parse(text.as_bytes());
        assert_eq!(functions.function(0xffff_ffff_8100_0150).unwrap(), "startup_64");
        assert_eq!(functions.function(0xffff_ffff_8100_0200).unwrap(), "do_idle");
        assert_eq!(functions.function(0xffff_ffff_8000_0000), None);
    }

    #[test]
    fn every_one_of_many_is_found_and_their_names_take_little_room() {
        let address = |number: u64| 0xffff_ffff_8100_0000 + number * 16;
        // Modules are listed behind the kernel, and may lie before it.
        let line = |number: u64| format!("{:x} t some_function_{number}\n", address(number));
        let text: String = (2_000..5_000).chain(0..2_000).map(line).collect();
        let functions = Functions::parse(text.as_bytes());
        for number in 0..5_000 {
            let found = functions.function(address(number) + 15).unwrap();
            assert_eq!(found, format!("some_function_{number}"));
        }
        assert!(functions.memory_bytes() < text.len() / 2, "{} of {}", functions.memory_bytes(), text.len());
    }

    #[test]
    fn hidden_addresses_name_nothing() {
        assert_eq!(Functions::parse(&b"0000000000000000 T startup_64\n"[..]).function(0xffff_ffff_8100_0000), None);
    }

    #[test]
    fn marks_and_the_program_s_own_instructions_are_left_out() {
        let chain: Vec<u8> =
            [u64::MAX - 127, 0xffff_ffff_8100_0150, 0x7f00_0000_1234].into_iter().flat_map(u64::to_le_bytes).collect();
        assert_eq!(instructions(&chain).collect::<Vec<_>>(), [0xffff_ffff_8100_0150]);
    }
}
