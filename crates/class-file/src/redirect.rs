//! Lets calls of methods in a class file lead to static methods of another
//! class. A call through an interface takes five bytes, a static one three, as a
//! virtual one does: with two `nop`s behind it nothing moves, so neither jumps nor
//! stack maps change. Only the constant pool grows.

use crate::instruction::{self, Instruction, INVOKEINTERFACE, INVOKESTATIC, INVOKEVIRTUAL, NOP};
use crate::pool::{ConstantPool, INTERFACE_METHOD, METHOD};
use crate::reader::{ClassFileError, Reader, Result};
use crate::rewritten::Rewritten;

/// How a method is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// Through an interface.
    Interface,
    /// As the method of a class.
    Class,
}

impl Via {
    /// The tag of its constants.
    const fn tag(self) -> u8 {
        match self {
            Via::Interface => INTERFACE_METHOD,
            Via::Class => METHOD,
        }
    }

    /// The instruction that calls it.
    const fn opcode(self) -> u8 {
        match self {
            Via::Interface => INVOKEINTERFACE,
            Via::Class => INVOKEVIRTUAL,
        }
    }
}

/// A method, and the static method that is called instead. It takes the object
/// as its first argument.
#[derive(Clone, Copy, Debug)]
pub struct Redirect {
    /// How it is called.
    pub via: Via,
    /// The interface or class, `a/b/C`.
    pub owner: &'static str,
    /// The method's name.
    pub name: &'static str,
    /// Its descriptor.
    pub descriptor: &'static str,
    /// The class that has the static method.
    pub to_class: &'static str,
    /// The static method's name.
    pub to_name: &'static str,
    /// Its descriptor.
    pub to_descriptor: &'static str,
}

/// The class file with its calls redirected.
///
/// # Errors
/// If it cannot be understood or calls none of the methods.
pub fn redirect(class: &[u8], redirects: &[Redirect]) -> Result<Vec<u8>> {
    let mut reader = Reader::before_pool(class);
    let pool = ConstantPool::read(&mut reader)?;
    let pool_end = reader.at;
    let mut out = Rewritten::begin(class, &pool, pool_end);
    let mut calls = Vec::new();
    for redirect in redirects {
        let parts = [redirect.owner, redirect.name, redirect.descriptor];
        if let Some(from) = pool.method(redirect.via.tag(), parts) {
            let to = out.static_method(redirect.to_class, redirect.to_name, redirect.to_descriptor)?;
            calls.push(Call { via: redirect.via, from, to });
        }
    }
    out.copy(pool_end, class.len())?;
    match patch_methods(class, pool_end, &pool, &mut out.body, &calls)? {
        0 => Err(ClassFileError::NoCalls),
        _ => out.finish(),
    }
}

/// A constant that is called, and the one of the static method.
#[derive(Clone, Copy)]
struct Call {
    via: Via,
    from: u16,
    to: u16,
}

/// Replaces the calls in every method's code; how many there were. `rest` is
/// the class file from `start` on.
fn patch_methods(
    class: &[u8],
    start: usize,
    pool: &ConstantPool<&[u8]>,
    rest: &mut [u8],
    calls: &[Call],
) -> Result<usize> {
    let mut reader = Reader { bytes: class, at: start };
    reader.skip_to_fields()?;
    reader.skip_members()?;
    let mut changed = 0;
    for _ in 0..reader.u16()? {
        reader.skip(6)?;
        reader.each_attribute(|name, mut body| {
            if pool.is_text(name, "Code") {
                body.skip(4)?;
                let length = body.u32()? as usize;
                let begin = body.at;
                let place = begin - start;
                let code = body.take(length)?;
                let copy = rest.get_mut(place..place + length).ok_or(ClassFileError::Malformed(begin))?;
                changed += patch_code(code, copy, calls).map_err(|at| ClassFileError::Malformed(begin + at))?;
            }
            Ok(())
        })?;
    }
    Ok(changed)
}

/// Replaces the calls in a method's code, in a copy of it.
///
/// # Errors
/// There is no instruction at this place.
fn patch_code(code: &[u8], copy: &mut [u8], calls: &[Call]) -> std::result::Result<usize, usize> {
    let mut changed = 0;
    let mut at = 0;
    while let Some(&opcode) = code.get(at) {
        let length = instruction::length(code, at).ok_or(at)?;
        if matches!(opcode, INVOKEINTERFACE | INVOKEVIRTUAL) {
            let called = Instruction { at, opcode }.operand_u16(code).ok_or(at)?;
            if let Some(call) = calls.iter().find(|call| call.from == called && call.via.opcode() == opcode) {
                let place = copy.get_mut(at..at + length).ok_or(at)?;
                let [high, low] = call.to.to_be_bytes();
                place.fill(NOP);
                place.iter_mut().zip([INVOKESTATIC, high, low]).for_each(|(byte, new)| *byte = new);
                changed += 1;
            }
        }
        at += length;
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::{CLASS, NAME_AND_TYPE};
    use crate::rewritten::Added;

    const TO: Redirect = Redirect {
        via: Via::Interface,
        owner: "a/Door",
        name: "open",
        descriptor: "()V",
        to_class: "b/Porter",
        to_name: "open",
        to_descriptor: "(La/Door;)V",
    };

    /// A class whose one method has this code; constant 9 is `a/Door.open()V`,
    /// 3 is `Code`.
    fn class(code: &[u8]) -> Vec<u8> {
        let mut pool = Added { bytes: Vec::new(), next: 1 };
        let this = pool.text("a/Guest").unwrap();
        let this = pool.push(CLASS, &this.to_be_bytes()).unwrap();
        let attribute = pool.text("Code").unwrap();
        let owner = pool.text("a/Door").unwrap();
        let owner = pool.push(CLASS, &owner.to_be_bytes()).unwrap();
        let name = pool.text("open").unwrap();
        let descriptor = pool.text("()V").unwrap();
        let called = pool.pair(NAME_AND_TYPE, name, descriptor).unwrap();
        let called = pool.pair(INTERFACE_METHOD, owner, called).unwrap();
        assert_eq!((attribute, called), (3, 9));
        let mut out = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 61];
        out.extend((pool.next as u16).to_be_bytes());
        out.extend(pool.bytes);
        out.extend([0, 1, 0, this as u8, 0, 0, 0, 0, 0, 0, 0, 1]);
        out.extend([0, 9, 0, name as u8, 0, descriptor as u8, 0, 1, 0, attribute as u8]);
        out.extend((12 + code.len() as u32).to_be_bytes());
        out.extend([0, 2, 0, 2]);
        out.extend((code.len() as u32).to_be_bytes());
        out.extend(code);
        out.extend([0; 6]);
        out
    }

    #[test]
    fn a_call_is_replaced_and_what_looks_like_one_is_not() {
        // sipush 0xb900, pop, then a table switch with the same bytes in its
        // jumps, then the call.
        let mut code = vec![0x11, 0xb9, 0x00, 0x57, 0xaa, 0, 0, 0];
        code.extend([0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0, 1, 0xb9, 0, 9, 0]);
        code.extend([0xb9, 0, 9, 1, 0, 0xb1]);
        let before = class(&code);
        let after = redirect(&before, &[TO]).unwrap();
        let expected = [&code[..code.len() - 6], &[0xb8, 0, 15, 0, 0, 0xb1]].concat();
        assert!(after.windows(expected.len()).any(|window| window == expected));
        assert_eq!(after.len() - before.len(), 11 + 3 + 7 + 14 + 5 + 5);
        assert_eq!(redirect(&after, &[TO]), Err(ClassFileError::NoCalls));
    }

    #[test]
    fn a_call_of_a_class_takes_its_three_bytes() {
        // The same class with a constant of a method where the interface's was.
        let mut before = class(&[0xb6, 0, 9, 0xb1]);
        let at = before.iter().position(|byte| *byte == INTERFACE_METHOD).unwrap();
        assert_eq!(redirect(&before, &[TO]), Err(ClassFileError::NoCalls));
        before[at] = METHOD;
        let after = redirect(&before, &[Redirect { via: Via::Class, ..TO }]).unwrap();
        assert!(after.windows(4).any(|window| window == [0xb8, 0, 15, 0xb1]));
        assert_eq!(redirect(&before, &[TO]), Err(ClassFileError::NoCalls));
    }

    #[test]
    fn other_classes_are_left_alone() {
        assert_eq!(redirect(&class(&[0xb1]), &[TO]), Err(ClassFileError::NoCalls));
        let other = Redirect { descriptor: "(J)V", ..TO };
        assert_eq!(redirect(&class(&[0xb9, 0, 9, 1, 0, 0xb1]), &[other]), Err(ClassFileError::NoCalls));
    }

    #[test]
    fn no_torn_class_file_is_understood_or_panics() {
        let whole = class(&[0xb9, 0, 9, 1, 0, 0xb1]);
        for cut in 0..whole.len() - 8 {
            assert!(redirect(&whole[..cut], &[TO]).is_err(), "cut at {cut}");
        }
    }
}
