//! Registers of an interrupted thread, and where its caller's are to be found.

use crate::memory::Memory;

/// A general register, by its number in instructions. Which is for what, the processor's folder says
/// (`crates/hotspot/src/arch`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reg(pub u8);

/// An instruction and the registers as far as they are known there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The instruction.
    pub pc: u64,
    values: [u64; 16],
    known: u16,
}

impl Captured {
    /// All registers, in the order of [`Reg`].
    pub fn all(pc: u64, values: [u64; 16]) -> Captured {
        Captured { pc, values, known: !0 }
    }

    /// A register, if it is known.
    #[inline]
    pub fn get(&self, reg: Reg) -> Option<u64> {
        let known = self.known >> (reg.0 & 15) & 1 != 0;
        self.values.get(usize::from(reg.0)).copied().filter(|_| known)
    }

    /// Makes a register known.
    pub fn set(&mut self, reg: Reg, value: u64) {
        if let Some(place) = self.values.get_mut(usize::from(reg.0)) {
            *place = value;
            self.known |= 1 << (reg.0 & 15);
        }
    }

    /// The stack pointer.
    #[inline]
    pub fn sp(&self) -> Option<u64> {
        self.get(Reg::SP)
    }

    /// The frame pointer.
    #[inline]
    pub fn fp(&self) -> Option<u64> {
        self.get(Reg::BP)
    }
}

/// Where a value is to be found, in terms of the registers at some instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Location {
    /// A register's value plus an offset.
    Register(Reg, i64),
    /// The word at a register's value plus an offset.
    Memory(Reg, i64),
}

impl Location {
    /// The value.
    pub fn value<M: Memory>(self, at: &Captured, memory: &M) -> Option<u64> {
        match self {
            Location::Register(reg, offset) => Some(at.get(reg)?.wrapping_add_signed(offset)),
            Location::Memory(reg, offset) => memory.read_u64(at.get(reg)?.wrapping_add_signed(offset)),
        }
    }
}

/// Where a function's caller is to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// The return address.
    pub pc: Location,
    /// The caller's stack pointer behind it.
    pub sp: Location,
    /// The caller's frame pointer.
    pub fp: Location,
}

/// Where running on from an instruction led.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Run {
    /// To a return, or to a jump to an address that was on the stack.
    Return {
        /// The caller.
        caller: Shape,
        /// Instructions on the way.
        steps: u16,
        /// True if nothing was called and no conditional jump passed on the way.
        straight: bool,
    },
    /// To a jump elsewhere: another function goes on in this one's place.
    Jump {
        /// The caller, if that other function is at its entry.
        caller: Shape,
        /// Where it also may be, if the caller makes no sense: the code does not
        /// distinguish an exception's way to its handler from an adapter's to a method.
        or: Option<Shape>,
    },
    /// To a dispatch through a table indexed by a register.
    Dispatch,
    /// To where a frame that hangs on the frame pointer is built.
    Enter {
        /// The caller.
        caller: Shape,
    },
    /// Nowhere within the limit.
    Unknown,
}
