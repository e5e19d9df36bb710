//! The values that are followed: registers and words of the stack, in terms of
//! the registers at the start.

use headway_hotspot::fragment::{Location, Reg, Shape};
use iced_x86::Register;

/// What is known of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Value {
    /// Nothing.
    Unknown,
    /// That it is there.
    Is(Location),
}

impl Value {
    /// The value plus an offset.
    pub fn plus(self, offset: i64) -> Value {
        match self {
            Value::Is(Location::Register(reg, at)) => Value::Is(Location::Register(reg, at.wrapping_add(offset))),
            _ => Value::Unknown,
        }
    }

    fn place(self) -> Option<Location> {
        match self {
            Value::Is(place) => Some(place),
            Value::Unknown => None,
        }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct State {
    registers: [Value; 16],
    /// Words written since, by their address.
    written: Vec<(Reg, i64, Value)>,
    touched: bool,
}

impl Default for State {
    fn default() -> State {
        let mut number = 0;
        let registers = [(); 16].map(|()| {
            number += 1;
            Value::Is(Location::Register(Reg(number - 1), 0))
        });
        State { registers, written: Vec::new(), touched: false }
    }
}

/// Registers that a called function may change.
const CLOBBERED: [usize; 9] = [0, 1, 2, 6, 7, 8, 9, 10, 11];

impl State {
    /// A register's value.
    pub fn get(&self, register: Register) -> Value {
        let number = register.number();
        self.registers.get(number).copied().filter(|_| register.is_gpr64()).unwrap_or(Value::Unknown)
    }

    /// Gives a register a value.
    pub fn set(&mut self, register: Register, value: Value) {
        self.touched = true;
        if let Some(place) = self.registers.get_mut(register.number()) {
            *place = value;
        }
    }

    /// The word at an address.
    pub fn load(&self, address: Value) -> Value {
        let Value::Is(Location::Register(reg, at)) = address else { return Value::Unknown };
        let written = self.written.iter().rev().find(|(r, a, _)| (*r, *a) == (reg, at));
        written.map_or(Value::Is(Location::Memory(reg, at)), |(_, _, value)| *value)
    }

    /// Writes the word at an address.
    pub fn store(&mut self, address: Value, value: Value) {
        self.touched = true;
        if let Value::Is(Location::Register(reg, at)) = address {
            self.written.push((reg, at, value));
        }
    }

    /// Pushes a word.
    pub fn push(&mut self, value: Value) {
        let top = self.get(Register::RSP).plus(-8);
        self.set(Register::RSP, top);
        self.store(top, value);
    }

    /// Pops a word.
    pub fn pop(&mut self) -> Value {
        let top = self.get(Register::RSP);
        self.set(Register::RSP, top.plus(8));
        self.load(top)
    }

    /// A function was called and came back.
    pub fn call(&mut self) {
        self.touched = true;
        for number in CLOBBERED {
            if let Some(place) = self.registers.get_mut(number) {
                *place = Value::Unknown;
            }
        }
    }

    /// The caller, if a return happened now that moves the stack by `popped`.
    pub fn returning(&self, popped: u64) -> Option<Shape> {
        let top = self.get(Register::RSP);
        Some(Shape {
            pc: self.load(top).place()?,
            sp: top.plus(popped as i64).place()?,
            fp: self.get(Register::RBP).place()?,
        })
    }

    /// The caller, if its return address, popped before, were jumped to now.
    pub fn jumping_to(&self, pc: Location) -> Option<Shape> {
        Some(Shape { pc, sp: self.get(Register::RSP).place()?, fp: self.get(Register::RBP).place()? })
    }

    /// The caller, if its return address is in rdx, where it came from the top
    /// of the stack or was from the start.
    pub fn throwing(&self) -> Option<Shape> {
        let (pc, sp) = (self.get(Register::RDX).place()?, self.get(Register::RSP).place()?);
        let popped = match (pc, sp) {
            (Location::Memory(Reg::SP, at), Location::Register(Reg::SP, top)) => top == at + 8,
            (Location::Register(Reg::DX, 0), Location::Register(Reg::SP, top)) => top == 0,
            _ => false,
        };
        popped.then(|| self.jumping_to(pc)).flatten()
    }

    /// The caller, if the next instruction makes rbp this function's: rbp was
    /// pushed just before.
    pub fn entering(&self) -> Option<Shape> {
        let top = self.get(Register::RSP);
        let pushed = self.load(top) == Value::Is(Location::Register(Reg::BP, 0));
        (pushed || !self.touched).then_some(())?;
        Some(Shape {
            pc: self.load(top.plus(8)).place()?,
            sp: top.plus(16).place()?,
            fp: Location::Register(Reg::BP, 0),
        })
    }

    /// The caller in terms of the registers as they are now, if the state was
    /// followed from a function's entry.
    pub fn shape_now(&self) -> Option<Shape> {
        let Value::Is(Location::Register(Reg::SP, moved)) = self.get(Register::RSP) else { return None };
        let depth = moved.checked_neg().filter(|depth| *depth >= 0)?;
        let own = Value::Is(Location::Register(Reg::BP, 0));
        let fp = match self.get(Register::RBP) == own {
            true => Location::Register(Reg::BP, 0),
            false => {
                let saved = self.written.iter().find(|(reg, _, value)| *reg == Reg::SP && *value == own);
                Location::Memory(Reg::SP, saved?.1 + depth)
            }
        };
        Some(Shape { pc: Location::Memory(Reg::SP, depth), sp: Location::Register(Reg::SP, depth + 8), fp })
    }
}
