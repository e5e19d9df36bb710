//! Lets calls of methods in a class file lead to static methods of another
//! class. A call through an interface takes five bytes, a static one three, as a
//! virtual one does: with two `nop`s behind it nothing moves, so neither jumps nor
//! stack maps change. Only the constant pool grows.

use std::fmt;

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

    /// The instruction that calls it, and how long that is.
    const fn instruction(self) -> (u8, usize) {
        match self {
            Via::Interface => (INVOKEINTERFACE, 5),
            Via::Class => (INVOKEVIRTUAL, 3),
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

/// Why a class file was left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClassFileError {
    /// It ends, or refers to something that is not there, at this byte.
    Malformed(usize),
    /// It does not call any of the methods.
    NoCalls,
    /// Its constant pool has no room left.
    PoolFull,
}

impl fmt::Display for ClassFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClassFileError::Malformed(at) => write!(f, "its class file is not understood at byte {at}"),
            ClassFileError::NoCalls => f.write_str("it does not call what is looked for"),
            ClassFileError::PoolFull => f.write_str("its constant pool is full"),
        }
    }
}

impl std::error::Error for ClassFileError {}

type Result<T> = std::result::Result<T, ClassFileError>;

const UTF8: u8 = 1;
const LONG: u8 = 5;
const DOUBLE: u8 = 6;
const CLASS: u8 = 7;
const METHOD: u8 = 10;
const INTERFACE_METHOD: u8 = 11;
const NAME_AND_TYPE: u8 = 12;

const NOP: u8 = 0;
const INVOKEVIRTUAL: u8 = 0xb6;
const INVOKESTATIC: u8 = 0xb8;
const INVOKEINTERFACE: u8 = 0xb9;
const TABLESWITCH: u8 = 0xaa;
const LOOKUPSWITCH: u8 = 0xab;
const WIDE: u8 = 0xc4;
const IINC: u8 = 0x84;

/// The class file with its calls redirected.
///
/// # Errors
/// If it cannot be understood or calls none of the methods.
pub fn redirect(class: &[u8], redirects: &[Redirect]) -> Result<Vec<u8>> {
    let mut reader = Reader { bytes: class, at: 8 };
    let pool = Pool::read(&mut reader)?;
    let pool_end = reader.at;
    let mut out = Rewritten::begin(class, &pool, pool_end);
    let mut calls = Vec::new();
    for redirect in redirects {
        if let Some(from) = pool.method(class, redirect) {
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

/// Reads a class file from a place on.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// The class file.
    pub bytes: &'a [u8],
    /// The place.
    pub at: usize,
}

impl<'a> Reader<'a> {
    /// Goes on by so many bytes.
    pub fn skip(&mut self, bytes: usize) -> Result<()> {
        self.at = self.at.checked_add(bytes).filter(|at| *at <= self.bytes.len()).ok_or(self.malformed())?;
        Ok(())
    }

    /// Says that it makes no sense here.
    pub fn malformed(&self) -> ClassFileError {
        ClassFileError::Malformed(self.at)
    }

    /// So many bytes.
    pub fn take(&mut self, bytes: usize) -> Result<&'a [u8]> {
        let from = self.at;
        self.skip(bytes)?;
        self.bytes.get(from..self.at).ok_or(ClassFileError::Malformed(from))
    }

    /// The next byte.
    pub fn u8(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.at).ok_or(self.malformed())?;
        self.at += 1;
        Ok(byte)
    }

    /// The next two bytes.
    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from(self.u8()?) << 8 | u16::from(self.u8()?))
    }

    /// The next four bytes.
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from(self.u16()?) << 16 | u32::from(self.u16()?))
    }
}

/// Where the constants are; 0 where there is none.
pub struct Pool {
    entries: Vec<usize>,
}

impl Pool {
    /// Reads the pool; the reader stands behind it then.
    pub fn read(reader: &mut Reader<'_>) -> Result<Pool> {
        let count = usize::from(reader.u16()?);
        let mut entries = vec![0];
        while entries.len() < count {
            entries.push(reader.at);
            let tag = reader.u8()?;
            match tag {
                UTF8 => {
                    let length = reader.u16()?;
                    reader.skip(usize::from(length))?;
                }
                CLASS | 8 | 16 | 19 | 20 => reader.skip(2)?,
                15 => reader.skip(3)?,
                3 | 4 | 9 | METHOD | INTERFACE_METHOD | NAME_AND_TYPE | 17 | 18 => reader.skip(4)?,
                LONG | DOUBLE => {
                    reader.skip(8)?;
                    entries.push(0);
                }
                _ => return Err(ClassFileError::Malformed(reader.at - 1)),
            }
        }
        Ok(Pool { entries })
    }

    /// The two indices of a constant with this tag.
    fn pair(&self, class: &[u8], index: u16, tag: u8) -> Option<(u16, u16)> {
        let at = *self.entries.get(usize::from(index))?;
        let mut reader = Reader { bytes: class, at };
        (at != 0 && reader.u8().ok()? == tag).then_some(())?;
        let first = reader.u16().ok()?;
        Some((first, if tag == CLASS { 0 } else { reader.u16().ok()? }))
    }

    /// True if a constant is this text.
    pub fn is_text(&self, class: &[u8], index: u16, text: &str) -> bool {
        let Some(&at) = self.entries.get(usize::from(index)).filter(|at| **at != 0) else { return false };
        let mut expected = vec![UTF8];
        expected.extend((text.len() as u16).to_be_bytes());
        expected.extend(text.as_bytes());
        class.get(at..).is_some_and(|rest| rest.starts_with(&expected))
    }

    /// A constant that is a text.
    pub fn text(&self, class: &[u8], index: u16) -> Option<String> {
        let at = *self.entries.get(usize::from(index)).filter(|at| **at != 0)?;
        let mut reader = Reader { bytes: class, at };
        (reader.u8().ok()? == UTF8).then_some(())?;
        let length = usize::from(reader.u16().ok()?);
        Some(crate::jni::modified_utf8(reader.take(length).ok()?))
    }

    /// The constant that calls of this method refer to.
    fn method(&self, class: &[u8], wanted: &Redirect) -> Option<u16> {
        (1..self.entries.len() as u16).find(|index| {
            let found = self.pair(class, *index, wanted.via.tag()).and_then(|(owner, name_and_type)| {
                let (owner, _) = self.pair(class, owner, CLASS)?;
                let (name, descriptor) = self.pair(class, name_and_type, NAME_AND_TYPE)?;
                Some([(owner, wanted.owner), (name, wanted.name), (descriptor, wanted.descriptor)])
            });
            found.is_some_and(|parts| parts.iter().all(|(index, text)| self.is_text(class, *index, text)))
        })
    }
}

/// Constants added behind the pool's own.
struct Added {
    bytes: Vec<u8>,
    next: usize,
}

impl Added {
    fn push(&mut self, tag: u8, body: &[u8]) -> Result<u16> {
        let index = u16::try_from(self.next).ok().filter(|i| *i < u16::MAX).ok_or(ClassFileError::PoolFull)?;
        self.bytes.push(tag);
        self.bytes.extend(body);
        self.next += 1;
        Ok(index)
    }

    fn text(&mut self, text: &str) -> Result<u16> {
        let mut body = (text.len() as u16).to_be_bytes().to_vec();
        body.extend(text.as_bytes());
        self.push(UTF8, &body)
    }

    fn pair(&mut self, tag: u8, first: u16, second: u16) -> Result<u16> {
        let mut body = first.to_be_bytes().to_vec();
        body.extend(second.to_be_bytes());
        self.push(tag, &body)
    }

    fn method(&mut self, class: &str, name: &str, descriptor: &str) -> Result<u16> {
        let class = self.text(class)?;
        let class = self.push(CLASS, &class.to_be_bytes())?;
        let name = self.text(name)?;
        let descriptor = self.text(descriptor)?;
        let name_and_type = self.pair(NAME_AND_TYPE, name, descriptor)?;
        self.pair(METHOD, class, name_and_type)
    }
}

/// A class file that is being written anew, with constants of its own.
pub struct Rewritten<'a> {
    class: &'a [u8],
    pool_end: usize,
    added: Added,
    /// What comes behind the constant pool.
    pub body: Vec<u8>,
}

impl<'a> Rewritten<'a> {
    /// Begins with the pool of a class file, which ends at `pool_end`.
    pub fn begin(class: &'a [u8], pool: &Pool, pool_end: usize) -> Rewritten<'a> {
        let added = Added { bytes: Vec::new(), next: pool.entries.len() };
        Rewritten { class, pool_end, added, body: Vec::with_capacity(class.len()) }
    }

    /// The number of a constant for calls of a static method.
    ///
    /// # Errors
    /// The pool is full.
    pub fn static_method(&mut self, class: &str, name: &str, descriptor: &str) -> Result<u16> {
        self.added.method(class, name, descriptor)
    }

    /// Copies a part of the class file.
    ///
    /// # Errors
    /// There is no such part.
    pub fn copy(&mut self, from: usize, to: usize) -> Result<()> {
        self.body.extend(self.class.get(from..to).ok_or(ClassFileError::Malformed(from))?);
        Ok(())
    }

    /// The class file.
    ///
    /// # Errors
    /// The pool is full.
    pub fn finish(self) -> Result<Vec<u8>> {
        let Rewritten { class, pool_end, added, body } = self;
        let count = u16::try_from(added.next).map_err(|_| ClassFileError::PoolFull)?;
        let mut out = class.get(..8).ok_or(ClassFileError::Malformed(0))?.to_vec();
        out.extend(count.to_be_bytes());
        out.extend(class.get(10..pool_end).ok_or(ClassFileError::Malformed(10))?);
        out.extend(added.bytes);
        out.extend(body);
        Ok(out)
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
fn patch_methods(class: &[u8], start: usize, pool: &Pool, rest: &mut [u8], calls: &[Call]) -> Result<usize> {
    let mut reader = Reader { bytes: class, at: start };
    reader.skip(6)?;
    let interfaces = reader.u16()?;
    reader.skip(2 * usize::from(interfaces))?;
    let fields = reader.u16()?;
    for _ in 0..fields {
        reader.skip(6)?;
        each_attribute(&mut reader, |_, _| Ok(()))?;
    }
    let mut changed = 0;
    let methods = reader.u16()?;
    for _ in 0..methods {
        reader.skip(6)?;
        each_attribute(&mut reader, |name, mut body| {
            if pool.is_text(class, name, "Code") {
                body.skip(4)?;
                let length = body.u32()? as usize;
                changed += patch_code(body, length, start, rest, calls)?;
            }
            Ok(())
        })?;
    }
    Ok(changed)
}

fn each_attribute<'a>(reader: &mut Reader<'a>, mut visit: impl FnMut(u16, Reader<'a>) -> Result<()>) -> Result<()> {
    let count = reader.u16()?;
    for _ in 0..count {
        let name = reader.u16()?;
        let length = reader.u32()?;
        visit(name, *reader)?;
        reader.skip(length as usize)?;
    }
    Ok(())
}

fn patch_code(code: Reader<'_>, length: usize, start: usize, rest: &mut [u8], calls: &[Call]) -> Result<usize> {
    let (begin, end) = (code.at, code.at + length);
    let mut changed = 0;
    let mut at = begin;
    while at < end {
        let mut operands = Reader { bytes: code.bytes, at };
        let opcode = operands.u8()?;
        if matches!(opcode, INVOKEINTERFACE | INVOKEVIRTUAL) {
            let called = operands.u16()?;
            if let Some(call) = calls.iter().find(|call| call.from == called && call.via.instruction().0 == opcode) {
                let length = call.via.instruction().1;
                let place = rest.get_mut(at - start..at - start + length).ok_or(code.malformed())?;
                let [high, low] = call.to.to_be_bytes();
                place.fill(NOP);
                place.iter_mut().zip([INVOKESTATIC, high, low]).for_each(|(byte, new)| *byte = new);
                changed += 1;
            }
        }
        at += instruction_length(code.bytes, begin, at)?;
    }
    Ok(changed)
}

/// How many bytes the instruction at `at` takes; `begin` is the method's first.
fn instruction_length(bytes: &[u8], begin: usize, at: usize) -> Result<usize> {
    let mut reader = Reader { bytes, at };
    let opcode = reader.u8()?;
    Ok(match opcode {
        TABLESWITCH | LOOKUPSWITCH => {
            let padding = 3 - (at - begin) % 4;
            reader.skip(padding + 4)?;
            let (first, second) = (reader.u32()?, if opcode == TABLESWITCH { reader.u32()? } else { 0 });
            let words = match opcode {
                TABLESWITCH => 3 + (second.wrapping_sub(first) as usize).wrapping_add(1),
                _ => 2 + 2 * first as usize,
            };
            1 + padding + 4 * words
        }
        WIDE => match reader.u8()? {
            IINC => 6,
            _ => 4,
        },
        0x10 | 0x12 | 0x15..=0x19 | 0x36..=0x3a | 0xa9 | 0xbc => 2,
        0x11 | 0x13 | 0x14 | IINC | 0x99..=0xa8 | 0xb2..=INVOKESTATIC | 0xbb | 0xbd | 0xc0 | 0xc1 | 0xc6 | 0xc7 => 3,
        0xc5 => 4,
        INVOKEINTERFACE | 0xba | 0xc8 | 0xc9 => 5,
        0..=0xc3 => 1,
        _ => return Err(ClassFileError::Malformed(at)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
