//! Lets a line of a method count: before its first instruction comes a call.
//!
//! The eight bytes of [`super::inject`] come into the middle of the code here, so
//! places behind them move and those before stay. A jump to the line's begin leads
//! to the call, so that each round of a loop counts; jumps across it become longer
//! by eight, and one that cannot is a reason to leave the class alone. Padding of
//! switches stays, because eight is a multiple of four.

use super::inject::{write_call, ADDED};
use headway_class_file::instruction::{self, Operands};
use headway_class_file::{ClassFileError, ConstantPool, Reader, Result};

const UNINITIALIZED: u8 = 8;
const OBJECT: u8 = 7;

/// Where the code of a line begins: the smallest place that its table of lines
/// gives it. `code` stands at the begin of a `Code` attribute's body.
///
/// # Errors
/// It cannot be understood.
pub fn place_of_line(pool: &ConstantPool<&[u8]>, mut code: Reader<'_>, line: u16) -> Result<Option<u16>> {
    code.skip(4)?;
    let length = code.u32()? as usize;
    code.skip(length)?;
    let handlers = usize::from(code.u16()?);
    code.skip(handlers * 8)?;
    let attributes = code.u16()?;
    let mut found: Option<u16> = None;
    for _ in 0..attributes {
        let name = code.u16()?;
        let length = code.u32()? as usize;
        let mut body = code;
        code.skip(length)?;
        if !pool.is_text(name, "LineNumberTable") {
            continue;
        }
        let entries = body.u16()?;
        for _ in 0..entries {
            let (start, number) = (body.u16()?, body.u16()?);
            if number == line && found.is_none_or(|found| start < found) {
                found = Some(start);
            }
        }
    }
    Ok(found)
}

/// The body of a `Code` attribute with a call before the instruction at `at`.
///
/// # Errors
/// It cannot be understood, or would be too long.
pub fn with_call_at(
    pool: &ConstantPool<&[u8]>,
    mut code: Reader<'_>,
    at: u16,
    call: u16,
    point: u16,
) -> Result<Vec<u8>> {
    let (stack, locals, length) = (code.u16()?, code.u16()?, code.u32()?);
    let longer = length + u32::from(ADDED);
    if longer > u32::from(u16::MAX) || stack == u16::MAX {
        return Err(ClassFileError::Malformed(code.at));
    }
    // Something may lie on the stack where a line begins.
    let mut out = (stack + 1).to_be_bytes().to_vec();
    out.extend(locals.to_be_bytes());
    out.extend(longer.to_be_bytes());
    let moved = Moved { at };
    out.extend(moved.code(code.take(length as usize)?, call, point)?);
    let handlers = code.u16()?;
    out.extend(handlers.to_be_bytes());
    for _ in 0..handlers {
        for _ in 0..3 {
            out.extend(moved.place(code.u16()?)?.to_be_bytes());
        }
        out.extend(code.u16()?.to_be_bytes());
    }
    let attributes = code.u16()?;
    let (mut kept, count_at) = (0_u16, out.len());
    out.extend([0, 0]);
    for _ in 0..attributes {
        let name = code.u16()?;
        let length = code.u32()? as usize;
        let mut body = code;
        code.skip(length)?;
        let attribute = if pool.is_text(name, "StackMapTable") {
            moved.stack_maps(&mut body)?
        } else if pool.is_text(name, "LineNumberTable") {
            moved.lines(&mut body)?
        } else if pool.is_text(name, "LocalVariableTable") || pool.is_text(name, "LocalVariableTypeTable") {
            moved.variables(&mut body)?
        } else {
            // Annotations of types name places, and nothing that runs needs them.
            continue;
        };
        kept += 1;
        out.extend(name.to_be_bytes());
        out.extend((attribute.len() as u32).to_be_bytes());
        out.extend(attribute);
    }
    if let Some(place) = out.get_mut(count_at..count_at + 2) {
        place.copy_from_slice(&kept.to_be_bytes());
    }
    Ok(out)
}

/// How places change where something comes in before the instruction at `at`.
#[derive(Clone, Copy)]
struct Moved {
    at: u16,
}

impl Moved {
    /// Where a place is afterwards; what began at `at` begins with the call.
    fn place(self, place: u16) -> Result<u16> {
        match place > self.at {
            true => place.checked_add(ADDED).ok_or(ClassFileError::Malformed(usize::from(place))),
            false => Ok(place),
        }
    }

    /// Where an instruction itself is.
    fn instruction(self, place: u16) -> Result<u16> {
        match place == self.at {
            true => Ok(place + ADDED),
            false => self.place(place),
        }
    }

    /// A jump's distance.
    fn distance(self, from: usize, distance: i32) -> Result<i32> {
        let bad = || ClassFileError::Malformed(from);
        let place = |place: i64| u16::try_from(place).map_err(|_| bad());
        let (start, end) = (place(from as i64)?, place(from as i64 + i64::from(distance))?);
        Ok(i32::from(self.place(end)?) - i32::from(self.instruction(start)?))
    }

    fn code(self, code: &[u8], call: u16, point: u16) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(code.len() + usize::from(ADDED));
        let mut reader = Reader { bytes: code, at: 0 };
        let mut is_there = false;
        while reader.at < code.len() {
            let from = reader.at;
            if from == usize::from(self.at) {
                write_call(&mut out, call, point);
                is_there = true;
            }
            self.instruction_at(&mut reader, from, &mut out)?;
        }
        match is_there {
            true => Ok(out),
            false => Err(ClassFileError::Malformed(usize::from(self.at))),
        }
    }

    fn instruction_at(self, code: &mut Reader<'_>, from: usize, out: &mut Vec<u8>) -> Result<()> {
        let opcode = code.u8()?;
        out.push(opcode);
        let operands = Operands::of(opcode).ok_or(ClassFileError::Malformed(from))?;
        match operands {
            Operands::Bytes(bytes) => out.extend(code.take(bytes)?),
            Operands::Jump => {
                let distance = self.distance(from, i32::from(code.u16()? as i16))?;
                let short = i16::try_from(distance).map_err(|_| ClassFileError::Malformed(from))?;
                out.extend(short.to_be_bytes());
            }
            Operands::LongJump => out.extend(self.distance(from, code.u32()? as i32)?.to_be_bytes()),
            Operands::TableSwitch | Operands::LookupSwitch => {
                out.extend(code.take(instruction::padding(from))?);
                out.extend(self.distance(from, code.u32()? as i32)?.to_be_bytes());
                let first = code.u32()?;
                out.extend(first.to_be_bytes());
                let count = match operands {
                    Operands::TableSwitch => {
                        let last = code.u32()?;
                        out.extend(last.to_be_bytes());
                        i64::from(last as i32) - i64::from(first as i32) + 1
                    }
                    _ => i64::from(first),
                };
                for _ in 0..count {
                    if operands == Operands::LookupSwitch {
                        out.extend(code.take(4)?);
                    }
                    out.extend(self.distance(from, code.u32()? as i32)?.to_be_bytes());
                }
            }
            Operands::Wide => {
                let widened = code.u8()?;
                out.push(widened);
                out.extend(code.take(instruction::widened(widened))?);
            }
        }
        Ok(())
    }

    fn lines(self, table: &mut Reader<'_>) -> Result<Vec<u8>> {
        let count = table.u16()?;
        let mut out = count.to_be_bytes().to_vec();
        for _ in 0..count {
            out.extend(self.place(table.u16()?)?.to_be_bytes());
            out.extend(table.take(2)?);
        }
        Ok(out)
    }

    fn variables(self, table: &mut Reader<'_>) -> Result<Vec<u8>> {
        let count = table.u16()?;
        let mut out = count.to_be_bytes().to_vec();
        for _ in 0..count {
            let (start, length) = (table.u16()?, table.u16()?);
            let end = start.checked_add(length).ok_or(table.malformed())?;
            let start = self.place(start)?;
            out.extend(start.to_be_bytes());
            out.extend((self.place(end)? - start).to_be_bytes());
            out.extend(table.take(6)?);
        }
        Ok(out)
    }

    /// Frames count from the one before.
    fn stack_maps(self, table: &mut Reader<'_>) -> Result<Vec<u8>> {
        let count = table.u16()?;
        let mut out = count.to_be_bytes().to_vec();
        let (mut before, mut before_moved) = (None, None);
        for _ in 0..count {
            let kind = table.u8()?;
            let delta = match kind {
                0..=127 => u16::from(kind % 64),
                247..=255 => table.u16()?,
                _ => return Err(table.malformed()),
            };
            let place = match before {
                None => Some(delta),
                Some(before) => delta.checked_add(1).and_then(|delta| delta.checked_add(before)),
            };
            let place: u16 = place.ok_or(table.malformed())?;
            let moved = self.place(place)?;
            let delta: u16 = match before_moved {
                None => moved,
                Some(before) => moved - before - 1,
            };
            (before, before_moved) = (Some(place), Some(moved));
            match kind {
                0..=63 if delta < 64 => out.push(delta as u8),
                0..=63 => {
                    out.push(251);
                    out.extend(delta.to_be_bytes());
                }
                64..=127 if delta < 64 => out.push(64 + delta as u8),
                64..=127 => {
                    out.push(247);
                    out.extend(delta.to_be_bytes());
                }
                _ => {
                    out.push(kind);
                    out.extend(delta.to_be_bytes());
                }
            }
            match kind {
                64..=127 | 247 => self.types(table, 1, &mut out)?,
                252..=254 => self.types(table, u16::from(kind) - 251, &mut out)?,
                255 => {
                    for _ in 0..2 {
                        let count = table.u16()?;
                        out.extend(count.to_be_bytes());
                        self.types(table, count, &mut out)?;
                    }
                }
                _ => {}
            }
        }
        Ok(out)
    }

    fn types(self, table: &mut Reader<'_>, count: u16, out: &mut Vec<u8>) -> Result<()> {
        for _ in 0..count {
            let kind = table.u8()?;
            out.push(kind);
            match kind {
                // The place is that of the `new` itself.
                UNINITIALIZED => out.extend(self.instruction(table.u16()?)?.to_be_bytes()),
                OBJECT => out.extend(table.take(2)?),
                0..=6 => {}
                _ => return Err(table.malformed()),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: [u8; 8] = [0x11, 0, 3, 0xb8, 0, 9, 0, 0];

    fn code(at: u16, code: &[u8]) -> Vec<u8> {
        Moved { at }.code(code, 9, 3).unwrap()
    }

    #[test]
    fn jumps_across_the_call_become_longer_and_those_to_the_line_count() {
        // 0: goto 5; 3: nop; 4: nop; 5: goto 3
        let bytes = [0xa7, 0, 5, 0, 0, 0xa7, 0xff, 0xfe];
        let moved = code(3, &bytes);
        assert_eq!(moved, [&[0xa7, 0, 13][..], &CALL, &[0, 0, 0xa7, 0xff, 0xf6]].concat());
        // To the line itself: the call is what is jumped to.
        assert_eq!(code(5, &bytes), [&[0xa7, 0, 5, 0, 0][..], &CALL, &[0xa7, 0xff, 0xf6]].concat());
    }

    #[test]
    fn switches_keep_their_padding_and_their_targets_move() {
        // 0: iload_0; 1: tableswitch (2 bytes of padding) default 20, 0..1 -> 20, 21
        let switch = [0x1a, 0xaa, 0, 0, 0, 0, 0, 19, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 19, 0, 0, 0, 20];
        let bytes = [&switch[..], &[0; 4]].concat();
        // The instruction at 0 counts: everything behind moves along.
        assert_eq!(code(0, &bytes), [&CALL[..], &bytes].concat());
        let last = code(24, &bytes);
        assert_eq!((&last[..24], &last[24..32]), (&switch[..], &CALL[..]));
    }

    #[test]
    fn a_place_within_an_instruction_is_refused() {
        assert!(Moved { at: 1 }.code(&[0x11, 0, 1, 0xb1], 9, 3).is_err());
        assert!(Moved { at: 0 }.code(&[0xfe], 9, 3).is_err());
    }

    #[test]
    fn frames_before_the_line_stay_and_those_behind_move() {
        let maps = |at: u16, bytes: &[u8]| Moved { at }.stack_maps(&mut Reader { bytes, at: 0 }).unwrap();
        // Frames at 5, 11 and 20.
        assert_eq!(maps(11, &[0, 3, 5, 5, 8]), [0, 3, 5, 5, 16]);
        assert_eq!(maps(10, &[0, 3, 5, 5, 8]), [0, 3, 5, 13, 8]);
        assert_eq!(maps(0, &[0, 1, 60]), [0, 1, 251, 0, 68]);
        // A `new` at 4 that is not initialised yet.
        assert_eq!(maps(4, &[0, 1, 252, 0, 9, 8, 0, 4]), [0, 1, 252, 0, 17, 8, 0, 12]);
    }

    #[test]
    fn a_variable_that_lives_across_the_line_lives_longer() {
        let table = [0, 1, 0, 2, 0, 10, 0, 1, 0, 2, 0, 3];
        let moved = Moved { at: 5 }.variables(&mut Reader { bytes: &table, at: 0 }).unwrap();
        assert_eq!(moved, [0, 1, 0, 2, 0, 18, 0, 1, 0, 2, 0, 3]);
    }
}
