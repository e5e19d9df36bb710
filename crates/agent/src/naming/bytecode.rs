//! Instruction boundaries of JVM bytecode (JVM specification, chapter 6).

/// One instruction: where it begins and its opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Index of the opcode.
    pub at: usize,
    /// The opcode.
    pub opcode: u8,
}

pub const LDC: u8 = 0x12;
pub const LDC_W: u8 = 0x13;
pub const ALOAD: u8 = 0x19;
pub const ALOAD_0: u8 = 0x2a;
pub const ALOAD_3: u8 = 0x2d;
pub const AALOAD: u8 = 0x32;
pub const ASTORE: u8 = 0x3a;
pub const ASTORE_0: u8 = 0x4b;
pub const ASTORE_3: u8 = 0x4e;
pub const DUP: u8 = 0x59;
pub const GETSTATIC: u8 = 0xb2;
pub const GETFIELD: u8 = 0xb4;
pub const INVOKEVIRTUAL: u8 = 0xb6;
pub const PUTSTATIC: u8 = 0xb3;
pub const INVOKESTATIC: u8 = 0xb8;
pub const NEW: u8 = 0xbb;
pub const INVOKEINTERFACE: u8 = 0xb9;
pub const CHECKCAST: u8 = 0xc0;
pub const MONITORENTER: u8 = 0xc2;
const TABLESWITCH: u8 = 0xaa;
const LOOKUPSWITCH: u8 = 0xab;
const WIDE: u8 = 0xc4;
const IINC: u8 = 0x84;

/// The instructions that begin before `end`; stops early at what is no
/// bytecode.
pub fn instructions(code: &[u8], end: usize) -> Vec<Instruction> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < end {
        let Some(&opcode) = code.get(at) else { break };
        found.push(Instruction { at, opcode });
        match length(code, at, opcode) {
            Some(length) => at += length,
            None => break,
        }
    }
    found
}

fn length(code: &[u8], at: usize, opcode: u8) -> Option<usize> {
    Some(match opcode {
        0x10 | LDC | 0x15..=ALOAD | 0x36..=ASTORE | 0xa9 | 0xbc => 2,
        0x11 | LDC_W | 0x14 | IINC | 0x99..=0xa8 | GETSTATIC..=INVOKESTATIC => 3,
        0xbb | 0xbd | CHECKCAST | 0xc1 | 0xc6 | 0xc7 => 3,
        INVOKEINTERFACE | 0xba | 0xc8 | 0xc9 => 5,
        0xc5 => 4,
        WIDE => {
            if code.get(at + 1) == Some(&IINC) {
                6
            } else {
                4
            }
        }
        TABLESWITCH => {
            let base = (at + 4) & !3;
            let (low, high) = (int(code, base + 4)?, int(code, base + 8)?);
            let entries = i64::from(high) - i64::from(low) + 1;
            base + 12 + 4 * usize::try_from(entries).ok()? - at
        }
        LOOKUPSWITCH => {
            let base = (at + 4) & !3;
            let pairs = usize::try_from(int(code, base + 4)?).ok()?;
            base + 8 + 8 * pairs - at
        }
        0x00..=0xc9 => 1,
        _ => return None,
    })
}

fn int(code: &[u8], at: usize) -> Option<i32> {
    let bytes = code.get(at..at + 4)?;
    Some(i32::from_be_bytes(bytes.try_into().ok()?))
}

/// The two-byte operand behind an opcode.
pub fn operand_u16(code: &[u8], instruction: Instruction) -> Option<u16> {
    let bytes = code.get(instruction.at + 1..instruction.at + 3)?;
    Some(u16::from_be_bytes(bytes.try_into().ok()?))
}

/// The one-byte operand behind an opcode.
pub fn operand_u8(code: &[u8], instruction: Instruction) -> Option<u8> {
    code.get(instruction.at + 1).copied()
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
}
