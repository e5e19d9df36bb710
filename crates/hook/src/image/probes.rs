//! USDT probes as described by `.note.stapsdt`, and their arguments.
//!
//! A note holds three addresses (probe, link-time address of `.stapsdt.base`,
//! semaphore) and three strings (provider, name, arguments). If the base was
//! moved after linking, all addresses move with it. An argument reads
//! `N@OPERAND`: N bytes, signed if negative, and the operand in AT&T syntax:
//! `-8@%REGISTER`, `4@$3`, `8@-16(%BASE,%INDEX,2)`.

use crate::arch::{registers_name, Registers};
use object::elf::FileHeader64;
use object::read::elf::NoteIterator;
use object::Endianness;

/// One probe site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// `hotspot`
    pub provider: String,
    /// `monitor__contended__exit`
    pub name: String,
    /// Address of the probe's nop.
    pub address: usize,
    /// Address of the counter that enables the probe, if it has one.
    pub semaphore: Option<usize>,
    /// The argument description as the note has it.
    pub arguments: String,
}

impl Probe {
    pub(super) fn moved_by(&self, bias: usize) -> Probe {
        Probe { address: self.address + bias, semaphore: self.semaphore.map(|s| s + bias), ..self.clone() }
    }

    /// The arguments, understood.
    ///
    /// # Errors
    /// The first one that was not.
    pub fn parsed_arguments(&self) -> Result<Vec<Argument>, String> {
        self.arguments
            .split_whitespace()
            .map(|text| Argument::parse(text).ok_or_else(|| format!("argument {text} is not understood")))
            .collect()
    }
}

/// All probes of a note section.
pub(super) fn parse(endian: Endianness, section: &[u8], base: u64) -> Vec<Probe> {
    const NT_STAPSDT: u32 = 3;
    let mut probes = Vec::new();
    let Ok(mut notes) = NoteIterator::<FileHeader64<Endianness>>::new(endian, 4, section) else {
        return probes;
    };
    while let Ok(Some(note)) = notes.next() {
        if note.name() == b"stapsdt" && note.n_type(endian).0 == NT_STAPSDT {
            probes.extend(probe(note.desc(), base));
        }
    }
    probes
}

fn probe(desc: &[u8], base: u64) -> Option<Probe> {
    let word = |i: usize| {
        let bytes = desc.get(8 * i..8 * i + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    let moved = |address: u64, linked_base: u64| match base {
        0 => address,
        base => address.wrapping_add(base.wrapping_sub(linked_base)),
    };
    let (address, linked_base, semaphore) = (word(0)?, word(1)?, word(2)?);
    let mut strings = desc.get(24..)?.split(|b| *b == 0);
    let mut text = || Some(String::from_utf8_lossy(strings.next()?).into_owned());
    Some(Probe {
        provider: text()?,
        name: text()?,
        arguments: text()?,
        address: moved(address, linked_base) as usize,
        semaphore: (semaphore != 0).then(|| moved(semaphore, linked_base) as usize),
    })
}

/// Where a probe's argument is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Size in bytes: 1, 2, 4 or 8.
    pub bytes: u8,
    /// Sign-extended to 64 bits.
    pub signed: bool,
    /// Register, constant or memory.
    pub operand: Operand,
}

/// A probe argument's operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A constant.
    Constant(i64),
    /// A register: index, shift and width in bits.
    Register(usize, u32, u32),
    /// Memory at displacement + base + index * scale; the registers by index.
    Memory {
        /// Added to the registers.
        displacement: i64,
        /// Base register.
        base: usize,
        /// Index register and its factor.
        index: Option<(usize, u8)>,
    },
}

impl Argument {
    fn parse(text: &str) -> Option<Argument> {
        let (size, operand) = text.split_once('@')?;
        let size: i8 = size.parse().ok()?;
        let bytes = size.unsigned_abs();
        matches!(bytes, 1 | 2 | 4 | 8).then_some(())?;
        Some(Argument { bytes, signed: size < 0, operand: parse_operand(operand)? })
    }

    /// The argument's value for a thread at the probe.
    ///
    /// # Safety
    /// `registers` must be those at the probe that this argument belongs to;
    /// then the probe's maker guarantees that memory operands are readable.
    pub unsafe fn value(&self, registers: &Registers) -> u64 {
        let raw = match self.operand {
            Operand::Constant(value) => value as u64,
            Operand::Register(index, shift, _) => registers.get(index) >> shift,
            Operand::Memory { displacement, base, index } => {
                let scaled =
                    index.map_or(0, |(register, scale)| registers.get(register).wrapping_mul(u64::from(scale)));
                let address = registers.get(base).wrapping_add(scaled).wrapping_add(displacement as u64);
                // SAFETY: passed on to the caller.
                unsafe { self.load(address) }
            }
        };
        self.extended(raw)
    }

    /// # Safety
    /// `self.bytes` bytes at `address` must be readable.
    unsafe fn load(&self, address: u64) -> u64 {
        let mut word = [0u8; 8];
        for (i, byte) in word.iter_mut().take(usize::from(self.bytes)).enumerate() {
            // SAFETY: promised by the caller.
            *byte = unsafe { std::ptr::read_volatile((address as usize + i) as *const u8) };
        }
        u64::from_le_bytes(word)
    }

    fn extended(&self, raw: u64) -> u64 {
        let unused = 64 - 8 * u32::from(self.bytes);
        if self.signed {
            (((raw << unused) as i64) >> unused) as u64
        } else {
            (raw << unused) >> unused
        }
    }
}

fn parse_operand(text: &str) -> Option<Operand> {
    if let Some(constant) = text.strip_prefix('$') {
        return Some(Operand::Constant(parse_number(constant)?));
    }
    if let Some(name) = text.strip_prefix('%') {
        let (index, shift, width) = registers_name(name)?;
        return Some(Operand::Register(index, shift, width));
    }
    let (displacement, rest) = text.split_once('(')?;
    let mut parts = rest.strip_suffix(')')?.split(',');
    let base = full_register(parts.next()?)?;
    let index = match parts.next() {
        None => None,
        Some(name) => Some((full_register(name)?, parts.next().map_or(Some(1), |s| s.parse().ok())?)),
    };
    Some(Operand::Memory {
        displacement: match displacement {
            "" => 0,
            number => parse_number(number)?,
        },
        base,
        index,
    })
}

fn full_register(text: &str) -> Option<usize> {
    let (index, shift, width) = registers_name(text.strip_prefix('%')?)?;
    (shift == 0 && width == 64).then_some(index)
}

fn parse_number(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(sign * value)
}

#[cfg(test)]
#[path = "../arch/x86_64/probes_tests.rs"]
mod tests;
