//! Instructions of a method: where they begin and how long they are (JVM specification, chapter 6).

/// Nothing.
pub const NOP: u8 = 0;
/// Pushes a number of two bytes.
pub const SIPUSH: u8 = 0x11;
/// Pushes a constant with a number of one byte.
pub const LDC: u8 = 0x12;
/// Pushes a constant with a number of two bytes.
pub const LDC_W: u8 = 0x13;
/// Pushes the object in a local variable.
pub const ALOAD: u8 = 0x19;
/// Pushes the object in variable 0; those of 1 to 3 follow.
pub const ALOAD_0: u8 = 0x2a;
/// Pushes the object in variable 3.
pub const ALOAD_3: u8 = 0x2d;
/// Pushes an object that an array has.
pub const AALOAD: u8 = 0x32;
/// Stores an object in a local variable.
pub const ASTORE: u8 = 0x3a;
/// Stores an object in variable 0; those of 1 to 3 follow.
pub const ASTORE_0: u8 = 0x4b;
/// Stores an object in variable 3.
pub const ASTORE_3: u8 = 0x4e;
/// Pushes the top of the stack once more.
pub const DUP: u8 = 0x59;
/// Adds to a local variable.
pub const IINC: u8 = 0x84;
/// Jumps by a number within a range.
pub const TABLESWITCH: u8 = 0xaa;
/// Jumps by one of some numbers.
pub const LOOKUPSWITCH: u8 = 0xab;
/// Pushes a static field.
pub const GETSTATIC: u8 = 0xb2;
/// Writes a static field.
pub const PUTSTATIC: u8 = 0xb3;
/// Pushes a field of an object.
pub const GETFIELD: u8 = 0xb4;
/// Calls a class's method of an object.
pub const INVOKEVIRTUAL: u8 = 0xb6;
/// Calls a static method.
pub const INVOKESTATIC: u8 = 0xb8;
/// Calls an interface's method of an object.
pub const INVOKEINTERFACE: u8 = 0xb9;
/// Pushes a new object.
pub const NEW: u8 = 0xbb;
/// Checks the class of an object.
pub const CHECKCAST: u8 = 0xc0;
/// Acquires the monitor of an object.
pub const MONITORENTER: u8 = 0xc2;
/// Makes the operands of the next opcode wider.
pub const WIDE: u8 = 0xc4;

/// What stands behind an opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// So many bytes.
    Bytes(usize),
    /// A jump's distance in two bytes.
    Jump,
    /// A jump's distance in four bytes.
    LongJump,
    /// Padding, the default's distance, the lowest and the highest key, and a distance for each key.
    TableSwitch,
    /// Padding, the default's distance, the number of keys, and each with its distance.
    LookupSwitch,
    /// Another opcode, whose operands are twice as long.
    Wide,
}

impl Operands {
    /// Of an opcode; `None` if there is no such instruction in class files.
    pub const fn of(opcode: u8) -> Option<Operands> {
        Some(match opcode {
            0x10 | LDC | 0x15..=ALOAD | 0x36..=ASTORE | 0xa9 | 0xbc => Operands::Bytes(1),
            SIPUSH | LDC_W | 0x14 | IINC | GETSTATIC..=INVOKESTATIC | NEW | 0xbd | CHECKCAST | 0xc1 => {
                Operands::Bytes(2)
            }
            0xc5 => Operands::Bytes(3),
            INVOKEINTERFACE | 0xba => Operands::Bytes(4),
            0x99..=0xa8 | 0xc6 | 0xc7 => Operands::Jump,
            0xc8 | 0xc9 => Operands::LongJump,
            TABLESWITCH => Operands::TableSwitch,
            LOOKUPSWITCH => Operands::LookupSwitch,
            WIDE => Operands::Wide,
            0x00..=0xc9 => Operands::Bytes(0),
            _ => return None,
        })
    }
}

/// Bytes of padding in a switch at this place of its method: words begin at a multiple of four.
pub const fn padding(at: usize) -> usize {
    3 - at % 4
}

/// Bytes of operands of the instruction that a widened opcode makes, behind that opcode.
pub const fn widened(opcode: u8) -> usize {
    match opcode {
        IINC => 4,
        _ => 2,
    }
}

/// How many bytes the instruction at `at` takes; `None` if there is none.
pub fn length(code: &[u8], at: usize) -> Option<usize> {
    let words = at + 1 + padding(at);
    let end = match Operands::of(*code.get(at)?)? {
        Operands::Bytes(bytes) => at + 1 + bytes,
        Operands::Jump => at + 3,
        Operands::LongJump => at + 5,
        Operands::TableSwitch => {
            let (low, high) = (word(code, words + 4)?, word(code, words + 8)?);
            words + 12 + 4 * usize::try_from(i64::from(high) - i64::from(low) + 1).ok()?
        }
        Operands::LookupSwitch => words + 8 + 8 * usize::try_from(word(code, words + 4)?).ok()?,
        Operands::Wide => at + 2 + widened(code.get(at + 1).copied().unwrap_or(NOP)),
    };
    Some(end - at)
}

fn word(code: &[u8], at: usize) -> Option<i32> {
    let bytes = code.get(at..at + 4)?;
    Some(i32::from_be_bytes(bytes.try_into().ok()?))
}

/// One instruction: where it begins and its opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Index of the opcode.
    pub at: usize,
    /// The opcode.
    pub opcode: u8,
}

impl Instruction {
    /// The two bytes behind the opcode, as a number.
    pub fn operand_u16(self, code: &[u8]) -> Option<u16> {
        let bytes = code.get(self.at + 1..self.at + 3)?;
        Some(u16::from_be_bytes(bytes.try_into().ok()?))
    }

    /// The byte behind the opcode.
    pub fn operand_u8(self, code: &[u8]) -> Option<u8> {
        code.get(self.at + 1).copied()
    }
}

/// The instructions that begin before `end`; stops early behind what is no
/// bytecode.
pub fn instructions(code: &[u8], end: usize) -> Vec<Instruction> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < end {
        let Some(&opcode) = code.get(at) else { break };
        found.push(Instruction { at, opcode });
        match length(code, at) {
            Some(length) => at += length,
            None => break,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_stepped_over_with_their_padding() {
        // iconst_0; tableswitch (pad 2) default, 0..=1, two targets; aload_0
        let mut code = vec![0x03, TABLESWITCH, 0, 0];
        for word in [99i32, 0, 1, 50, 60] {
            code.extend(word.to_be_bytes());
        }
        code.push(ALOAD_0);
        let at: Vec<usize> = instructions(&code, code.len()).iter().map(|i| i.at).collect();
        assert_eq!(at, [0, 1, 24]);
    }

    #[test]
    fn a_switch_that_claims_more_than_there_is_ends_the_list() {
        let code = [LOOKUPSWITCH, 0, 0, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff];
        assert_eq!(instructions(&code, 1 << 20).len(), 1);
        assert!(instructions(&[TABLESWITCH, 0], 10).len() == 1);
    }

    #[test]
    fn instructions_have_the_lengths_of_the_specification() {
        let length = |code: &[u8]| length(code, 0);
        assert_eq!(length(&[NOP]), Some(1));
        assert_eq!(length(&[LDC]), Some(2));
        assert_eq!(length(&[0xa7]), Some(3));
        assert_eq!(length(&[0xc5]), Some(4));
        assert_eq!((length(&[INVOKEINTERFACE]), length(&[0xc8])), (Some(5), Some(5)));
        assert_eq!((length(&[WIDE, ALOAD]), length(&[WIDE, IINC])), (Some(4), Some(6)));
        // Breakpoints and what comes behind them stand in no class file.
        assert_eq!((length(&[0xca]), length(&[])), (None, None));
        // A table whose highest key is below the lowest by more than one.
        let table = [0, 0, 0, 9, 0, 0, 0, 5, 0, 0, 0, 3];
        assert_eq!(length(&[&[TABLESWITCH, 0, 0, 0][..], &table].concat()), None);
    }
}
