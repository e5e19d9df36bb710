//! Reads a class file from its begin to its end.

use std::fmt;

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

/// What is made of a class file, or why it is left alone.
pub type Result<T> = std::result::Result<T, ClassFileError>;

/// Where a class file's constant pool begins, with the number of its entries.
const POOL_AT: usize = 8;

/// Reads a class file from a place on. Each function fails where the file ends.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// The class file.
    pub bytes: &'a [u8],
    /// The place.
    pub at: usize,
}

#[allow(clippy::missing_errors_doc)] // See the type.
impl<'a> Reader<'a> {
    /// Stands before the constant pool of a class file.
    pub fn before_pool(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: POOL_AT }
    }

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

    /// From behind the constant pool to the fields.
    pub fn skip_to_fields(&mut self) -> Result<()> {
        self.skip(6)?;
        let interfaces = self.u16()?;
        self.skip(2 * usize::from(interfaces))
    }

    /// Over fields or methods.
    pub fn skip_members(&mut self) -> Result<()> {
        for _ in 0..self.u16()? {
            self.skip(6)?;
            self.each_attribute(|_, _| Ok(()))?;
        }
        Ok(())
    }

    /// Over the attributes of one: visits each by the constant that names it, with a reader before its body.
    pub fn each_attribute(&mut self, mut visit: impl FnMut(u16, Reader<'a>) -> Result<()>) -> Result<()> {
        for _ in 0..self.u16()? {
            let name = self.u16()?;
            let length = self.u32()?;
            visit(name, *self)?;
            self.skip(length as usize)?;
        }
        Ok(())
    }
}
