//! Functions of the kernel, as far as it tells where they are.

use std::fs;

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

/// The kernel's functions by address.
#[derive(Default)]
pub struct Functions {
    /// Address, and where in `names` the name is.
    starts: Vec<(u64, u32, u16)>,
    names: String,
}

impl Functions {
    /// Reads the kernel's list. Empty where the kernel does not say.
    pub fn read() -> Functions {
        Functions::parse(&fs::read_to_string(SYMBOLS).unwrap_or_default())
    }

    fn parse(text: &str) -> Functions {
        let mut functions = Functions::default();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let address = words.next().and_then(|word| u64::from_str_radix(word, 16).ok()).unwrap_or(0);
            let (Some("t" | "T" | "w" | "W"), Some(name)) = (words.next(), words.next()) else { continue };
            let (Ok(at), Ok(length)) = (u32::try_from(functions.names.len()), u16::try_from(name.len())) else {
                continue;
            };
            if address != 0 {
                functions.names.push_str(name);
                functions.starts.push((address, at, length));
            }
        }
        functions.starts.sort_by_key(|(address, ..)| *address);
        functions
    }

    /// The function at an address.
    pub fn function(&self, address: u64) -> Option<&str> {
        let after = self.starts.partition_point(|(start, ..)| *start <= address);
        let (_, at, length) = self.starts.get(after.checked_sub(1)?)?;
        let at = *at as usize;
        self.names.get(at..at + usize::from(*length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_and_data_is_not() {
        let text = "ffffffff81000000 T startup_64\nffffffff81000100 d data\n\
                    ffffffff81000200 t do_idle\t[module]\nnonsense\n";
        let functions = Functions::parse(text);
        assert_eq!(functions.function(0xffff_ffff_8100_0150), Some("startup_64"));
        assert_eq!(functions.function(0xffff_ffff_8100_0200), Some("do_idle"));
        assert_eq!(functions.function(0xffff_ffff_8000_0000), None);
    }

    #[test]
    fn hidden_addresses_name_nothing() {
        assert_eq!(Functions::parse("0000000000000000 T startup_64\n").function(0xffff_ffff_8100_0000), None);
    }

    #[test]
    fn marks_and_the_program_s_own_instructions_are_left_out() {
        let chain: Vec<u8> =
            [u64::MAX - 127, 0xffff_ffff_8100_0150, 0x7f00_0000_1234].into_iter().flat_map(u64::to_le_bytes).collect();
        assert_eq!(instructions(&chain).collect::<Vec<_>>(), [0xffff_ffff_8100_0150]);
    }
}
