//! Lets a method of a class file begin with a call that counts, or a line of it
//! (`insert`).
//!
//! Eight bytes come before the code. That is a multiple of four, so that the
//! padding of switches stays as it is; jumps are relative and move along. What
//! names places in the code by number moves too: exception handlers, stack maps,
//! the tables of lines and local variables.

use super::insert;
use headway_class_file::instruction::{INVOKESTATIC, NOP, SIPUSH};
use headway_class_file::{ClassFileError, ConstantPool, Reader, Result, Rewritten};
use std::collections::BTreeSet;

/// Bytes that come before the code: `sipush n; invokestatic m; nop; nop`.
pub const ADDED: u16 = 8;
const HELPER: (&str, &str, &str) = ("java/util/concurrent/HeadwayProgress", "visit", "(I)V");

/// A stack map's entry that names the place of a `new`.
const UNINITIALIZED: u8 = 8;
const OBJECT: u8 = 7;

/// What is to count visits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counting {
    /// All methods of this name that have code, where they begin.
    Method(String),
    /// A line, where it begins in the first method that has it.
    Line(u16),
}

/// The names of the methods of the part of a class file that can be understood.
pub fn method_names(class: &[u8]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    // What is there before the file cannot be understood any more counts.
    let _ = take_method_names(class, &mut names);
    names
}

fn take_method_names(class: &[u8], names: &mut BTreeSet<String>) -> Result<()> {
    let mut reader = Reader::before_pool(class);
    let pool = ConstantPool::read(&mut reader)?;
    reader.skip_to_fields()?;
    reader.skip_members()?;
    for _ in 0..reader.u16()? {
        reader.skip(2)?;
        names.extend(pool.text(reader.u16()?));
        reader.skip(2)?;
        reader.each_attribute(|_, _| Ok(()))?;
    }
    Ok(())
}

/// The class file in which methods and lines count visits of points.
///
/// # Errors
/// It cannot be understood, or has nothing of them.
pub fn count(class: &[u8], wanted: &[(Counting, u16)]) -> Result<Vec<u8>> {
    let mut reader = Reader::before_pool(class);
    let pool = ConstantPool::read(&mut reader)?;
    let mut out = Rewritten::begin(class, &pool, reader.at);
    let call = out.static_method(HELPER.0, HELPER.1, HELPER.2)?;
    let from = reader.at;
    reader.skip_to_fields()?;
    reader.skip_members()?;
    out.copy(from, reader.at)?;
    let methods = reader.u16()?;
    out.body.extend(methods.to_be_bytes());
    let mut changed = 0;
    let line = |(counting, point): &(Counting, u16)| match counting {
        Counting::Line(line) => Some((*line, *point)),
        Counting::Method(_) => None,
    };
    // Each counts once: a lambda on the line comes behind the method around it.
    let mut lines: Vec<(u16, u16)> = wanted.iter().filter_map(line).collect();
    for _ in 0..methods {
        let start = reader.at;
        reader.skip(2)?;
        let name = reader.u16()?;
        reader.skip(2)?;
        let point = wanted.iter().find_map(|(counting, point)| match counting {
            Counting::Method(method) => pool.is_text(name, method).then_some(*point),
            Counting::Line(_) => None,
        });
        out.copy(start, reader.at)?;
        let attributes = reader.u16()?;
        out.body.extend(attributes.to_be_bytes());
        for _ in 0..attributes {
            let attribute = reader.at;
            let name = reader.u16()?;
            let length = reader.u32()? as usize;
            let body = reader.at;
            reader.skip(length)?;
            let body = Reader { bytes: class, at: body };
            let code = match pool.is_text(name, "Code") {
                true => counting_code(&pool, body, call, point, &mut lines)?,
                false => None,
            };
            match code {
                Some(code) => {
                    out.body.extend(name.to_be_bytes());
                    out.body.extend((code.len() as u32).to_be_bytes());
                    out.body.extend(code);
                    changed += 1;
                }
                None => out.copy(attribute, reader.at)?,
            }
        }
    }
    out.copy(reader.at, class.len())?;
    match changed {
        0 => Err(ClassFileError::NoCalls),
        _ => out.finish(),
    }
}

/// A method's code with the calls that belong into it; `None` if there are none.
/// Lines that are found are taken out of `lines`.
fn counting_code(
    pool: &ConstantPool<&[u8]>,
    body: Reader<'_>,
    call: u16,
    method: Option<u16>,
    lines: &mut Vec<(u16, u16)>,
) -> Result<Option<Vec<u8>>> {
    let mut changed: Option<Vec<u8>> = None;
    let mut left = Vec::new();
    for (line, point) in lines.drain(..) {
        let bytes = changed.take();
        let code = bytes.as_deref().map_or(body, |bytes| Reader { bytes, at: 0 });
        match insert::place_of_line(pool, code, line)? {
            Some(at) => changed = Some(insert::with_call_at(pool, code, at, call, point)?),
            None => {
                left.push((line, point));
                changed = bytes;
            }
        }
    }
    *lines = left;
    if let Some(point) = method {
        let code = changed.as_deref().map_or(body, |bytes| Reader { bytes, at: 0 });
        changed = Some(with_call(pool, code, call, point)?);
    }
    Ok(changed)
}

/// The body of a `Code` attribute with the call before its code.
fn with_call(pool: &ConstantPool<&[u8]>, mut code: Reader<'_>, call: u16, point: u16) -> Result<Vec<u8>> {
    let (stack, locals, length) = (code.u16()?, code.u16()?, code.u32()?);
    let longer = length + u32::from(ADDED);
    if longer > u32::from(u16::MAX) {
        return Err(ClassFileError::Malformed(code.at));
    }
    let mut out = stack.max(1).to_be_bytes().to_vec();
    out.extend(locals.to_be_bytes());
    out.extend(longer.to_be_bytes());
    write_call(&mut out, call, point);
    out.extend(code.take(length as usize)?);
    let handlers = code.u16()?;
    out.extend(handlers.to_be_bytes());
    for _ in 0..handlers {
        for _ in 0..3 {
            out.extend(moved(code.u16()?)?);
        }
        out.extend(code.u16()?.to_be_bytes());
    }
    let attributes = code.u16()?;
    out.extend(attributes.to_be_bytes());
    for _ in 0..attributes {
        let name = code.u16()?;
        let length = code.u32()? as usize;
        let start = code.at;
        let mut body = Reader { bytes: code.bytes, at: start };
        let attribute = if pool.is_text(name, "StackMapTable") {
            stack_maps(&mut body, start + length)?
        } else if pool.is_text(name, "LineNumberTable") {
            lines(&mut body)?
        } else if pool.is_text(name, "LocalVariableTable") || pool.is_text(name, "LocalVariableTypeTable") {
            variables(&mut body)?
        } else {
            body.take(length)?.to_vec()
        };
        code.skip(length)?;
        out.extend(name.to_be_bytes());
        out.extend((attribute.len() as u32).to_be_bytes());
        out.extend(attribute);
    }
    Ok(out)
}

/// The instructions that count a visit.
pub fn write_call(out: &mut Vec<u8>, call: u16, point: u16) {
    out.push(SIPUSH);
    out.extend(point.to_be_bytes());
    out.push(INVOKESTATIC);
    out.extend(call.to_be_bytes());
    out.extend([NOP, NOP]);
}

fn moved(place: u16) -> Result<[u8; 2]> {
    let place = place.checked_add(ADDED).ok_or(ClassFileError::Malformed(usize::from(place)))?;
    Ok(place.to_be_bytes())
}

/// The first line begins where the code begins now.
fn lines(table: &mut Reader<'_>) -> Result<Vec<u8>> {
    let count = table.u16()?;
    let mut out = count.to_be_bytes().to_vec();
    for _ in 0..count {
        let start = table.u16()?;
        out.extend(if start == 0 { [0, 0] } else { moved(start)? });
        out.extend(table.u16()?.to_be_bytes());
    }
    Ok(out)
}

/// Parameters live from the first instruction on.
fn variables(table: &mut Reader<'_>) -> Result<Vec<u8>> {
    let count = table.u16()?;
    let mut out = count.to_be_bytes().to_vec();
    for _ in 0..count {
        let (start, length) = (table.u16()?, table.u16()?);
        match start {
            0 => {
                out.extend([0, 0]);
                out.extend(moved(length)?);
            }
            _ => {
                out.extend(moved(start)?);
                out.extend(length.to_be_bytes());
            }
        }
        out.extend(table.take(6)?);
    }
    Ok(out)
}

/// Frames count from the one before: only the first one moves. The places of
/// `new` that they name move all.
fn stack_maps(table: &mut Reader<'_>, end: usize) -> Result<Vec<u8>> {
    let count = table.u16()?;
    let mut out = count.to_be_bytes().to_vec();
    for number in 0..count {
        let by = if number == 0 { ADDED } else { 0 };
        frame(table, by, &mut out)?;
    }
    match table.at == end {
        true => Ok(out),
        false => Err(table.malformed()),
    }
}

fn frame(table: &mut Reader<'_>, by: u16, out: &mut Vec<u8>) -> Result<()> {
    let kind = table.u8()?;
    let delta = |table: &mut Reader<'_>| -> Result<[u8; 2]> {
        let delta = table.u16()?.checked_add(by).ok_or(table.malformed())?;
        Ok(delta.to_be_bytes())
    };
    match kind {
        // The same locals, nothing on the stack.
        0..=63 => match u16::from(kind) + by {
            delta @ 0..=63 => out.push(delta as u8),
            delta => {
                out.push(251);
                out.extend(delta.to_be_bytes());
            }
        },
        // The same locals, one value on the stack.
        64..=127 => {
            match u16::from(kind) - 64 + by {
                delta @ 0..=63 => out.push(64 + delta as u8),
                delta => {
                    out.push(247);
                    out.extend(delta.to_be_bytes());
                }
            }
            types(table, 1, out)?;
        }
        247 => {
            out.push(kind);
            out.extend(delta(table)?);
            types(table, 1, out)?;
        }
        248..=251 => {
            out.push(kind);
            out.extend(delta(table)?);
        }
        252..=254 => {
            out.push(kind);
            out.extend(delta(table)?);
            types(table, u16::from(kind) - 251, out)?;
        }
        255 => {
            out.push(kind);
            out.extend(delta(table)?);
            for _ in 0..2 {
                let count = table.u16()?;
                out.extend(count.to_be_bytes());
                types(table, count, out)?;
            }
        }
        _ => return Err(table.malformed()),
    }
    Ok(())
}

fn types(table: &mut Reader<'_>, count: u16, out: &mut Vec<u8>) -> Result<()> {
    for _ in 0..count {
        let kind = table.u8()?;
        out.push(kind);
        match kind {
            UNINITIALIZED => out.extend(moved(table.u16()?)?),
            OBJECT => out.extend(table.u16()?.to_be_bytes()),
            0..=6 => {}
            _ => return Err(table.malformed()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(bytes: &[u8]) -> Vec<u8> {
        stack_maps(&mut Reader { bytes, at: 0 }, bytes.len()).unwrap()
    }

    #[test]
    fn only_the_first_frame_moves() {
        assert_eq!(frames(&[0, 2, 5, 5]), [0, 2, 13, 5]);
        assert_eq!(frames(&[0, 1, 60]), [0, 1, 251, 0, 68]);
        assert_eq!(frames(&[0, 1, 64 + 60, 1]), [0, 1, 247, 0, 68, 1]);
        assert_eq!(frames(&[0, 1, 252, 0, 1, 7, 0, 9]), [0, 1, 252, 0, 9, 7, 0, 9]);
    }

    #[test]
    fn places_of_new_move_in_every_frame() {
        let full = [255, 0, 1, 0, 1, 8, 0, 3, 0, 1, 1];
        let bytes: Vec<u8> = [0, 2].into_iter().chain(full).chain(full).collect();
        let moved: Vec<u8> = [0, 2]
            .into_iter()
            .chain([255, 0, 9, 0, 1, 8, 0, 11, 0, 1, 1])
            .chain([255, 0, 1, 0, 1, 8, 0, 11, 0, 1, 1])
            .collect();
        assert_eq!(frames(&bytes), moved);
    }

    #[test]
    fn parameters_stay_and_other_variables_move() {
        let table = [0, 2, 0, 0, 0, 20, 0, 1, 0, 2, 0, 0, 0, 4, 0, 16, 0, 3, 0, 4, 0, 1];
        let moved = [0, 2, 0, 0, 0, 28, 0, 1, 0, 2, 0, 0, 0, 12, 0, 16, 0, 3, 0, 4, 0, 1];
        assert_eq!(variables(&mut Reader { bytes: &table, at: 0 }).unwrap(), moved);
        assert_eq!(
            lines(&mut Reader { bytes: &[0, 2, 0, 0, 0, 7, 0, 4, 0, 8], at: 0 }).unwrap(),
            [0, 2, 0, 0, 0, 7, 0, 12, 0, 8]
        );
    }

    #[test]
    fn a_torn_stack_map_is_refused() {
        let bytes = [0, 2, 5];
        assert!(stack_maps(&mut Reader { bytes: &bytes, at: 0 }, 3).is_err());
    }
}
