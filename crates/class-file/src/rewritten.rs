//! A class file that gets further constants.

use crate::pool::{ConstantPool, CLASS, METHOD, NAME_AND_TYPE, UTF8};
use crate::reader::{ClassFileError, Result};

/// Constants added behind the pool's own.
pub(crate) struct Added {
    pub(crate) bytes: Vec<u8>,
    pub(crate) next: usize,
}

impl Added {
    pub(crate) fn push(&mut self, tag: u8, body: &[u8]) -> Result<u16> {
        let index = u16::try_from(self.next).ok().filter(|i| *i < u16::MAX).ok_or(ClassFileError::PoolFull)?;
        self.bytes.push(tag);
        self.bytes.extend(body);
        self.next += 1;
        Ok(index)
    }

    pub(crate) fn text(&mut self, text: &str) -> Result<u16> {
        let mut body = (text.len() as u16).to_be_bytes().to_vec();
        body.extend(text.as_bytes());
        self.push(UTF8, &body)
    }

    pub(crate) fn pair(&mut self, tag: u8, first: u16, second: u16) -> Result<u16> {
        let mut body = first.to_be_bytes().to_vec();
        body.extend(second.to_be_bytes());
        self.push(tag, &body)
    }

    pub(crate) fn method(&mut self, class: &str, name: &str, descriptor: &str) -> Result<u16> {
        let class = self.text(class)?;
        let class = self.push(CLASS, &class.to_be_bytes())?;
        let name = self.text(name)?;
        let descriptor = self.text(descriptor)?;
        let name_and_type = self.pair(NAME_AND_TYPE, name, descriptor)?;
        self.pair(METHOD, class, name_and_type)
    }
}

/// A class file that is written again, with further constants.
pub struct Rewritten<'a> {
    class: &'a [u8],
    pool_end: usize,
    added: Added,
    /// What comes behind the constant pool.
    pub body: Vec<u8>,
}

impl<'a> Rewritten<'a> {
    /// Begins with the pool of a class file, which ends at `pool_end`.
    pub fn begin(class: &'a [u8], pool: &ConstantPool<&[u8]>, pool_end: usize) -> Rewritten<'a> {
        let added = Added { bytes: Vec::new(), next: pool.count() };
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
