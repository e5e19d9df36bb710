//! Methods: their names, lines and bytecodes, by reading the VM's metadata.
//!
//! A `Method*` is good while its class is loaded, which a frame on a stack
//! guarantees. Read later, everything here may fail, and then says `None`.

use crate::layout::Layout;
use crate::memory::Memory;
use crate::unsigned5::Reader;
use headway_model::Method as Names;

/// Class-file flag of native methods.
pub const ACC_NATIVE: u32 = 0x0100;
/// Class-file flag of synchronized methods.
pub const ACC_SYNCHRONIZED: u32 = 0x0020;
/// Class-file flag of static methods.
pub const ACC_STATIC: u32 = 0x0008;
/// All flags a class file can give a method.
const WRITTEN_FLAGS: u32 = 0x7fff;
/// Most bytes a symbol has.
const SYMBOL_LIMIT: usize = 65_535;

/// A method of the VM.
#[derive(Clone, Copy, Debug)]
pub struct Method<'a, M> {
    layout: &'a Layout,
    memory: &'a M,
    address: u64,
    const_method: u64,
}

impl<'a, M: Memory> Method<'a, M> {
    /// The method at `address`; `None` if there is clearly none.
    pub fn at(layout: &'a Layout, memory: &'a M, address: u64) -> Option<Method<'a, M>> {
        if address == 0 || address & 7 != 0 {
            return None;
        }
        let const_method = memory.read_u64(address + layout.method.const_method)?;
        let method = Method { layout, memory, address, const_method };
        (const_method != 0 && const_method & 7 == 0).then_some(method)
    }

    /// Class-file access flags.
    pub fn access_flags(&self) -> Option<u32> {
        let at = self.address + self.layout.method.access_flags;
        Some(u32::from(self.memory.read_u16(at)?) & WRITTEN_FLAGS)
    }

    /// True for native methods.
    pub fn is_native(&self) -> bool {
        self.access_flags().is_some_and(|f| f & ACC_NATIVE != 0)
    }

    /// Number of bytes of bytecode.
    pub fn code_size(&self) -> Option<u32> {
        let at = self.const_method + self.layout.method.code_size;
        self.memory.read_u16(at).map(u32::from)
    }

    fn code_begin(&self) -> u64 {
        self.const_method + self.layout.method.const_method_size
    }

    /// The bytecode index of a bytecode pointer; `None` if it does not point
    /// into this method's bytecodes.
    pub fn bci(&self, bcp: u64) -> Option<i32> {
        let bci = bcp.checked_sub(self.code_begin())?;
        (bci < u64::from(self.code_size()?)).then_some(bci as i32)
    }

    /// Address of the bytecode with this index.
    pub fn bytecode_at(&self, bci: u32) -> Option<u64> {
        (bci < self.code_size()?).then(|| self.code_begin() + u64::from(bci))
    }

    /// The bytecodes. They are those the VM runs: an instruction may have been
    /// rewritten to a faster form, and constant pool indices of field and
    /// method instructions to the VM's own.
    pub fn bytecodes(&self) -> Option<Vec<u8>> {
        let mut code = vec![0; self.code_size()? as usize];
        self.memory.read_into(self.code_begin(), &mut code).then_some(code)
    }

    /// The source line of a bytecode: that of the last entry of the line table
    /// that begins at or before it. `None` without a table.
    pub fn line(&self, bci: i32) -> Option<u32> {
        let flags_at = self.const_method + self.layout.method.const_flags;
        let flags = u32::from(self.memory.read_u16(flags_at)?);
        if flags & self.layout.method.has_line_numbers == 0 {
            return None;
        }
        let start = self.code_begin() + u64::from(self.code_size()?);
        line_at(self.memory, start, self.layout.nmethod.unsigned5_base, bci)
    }

    fn pool(&self) -> Option<u64> {
        let at = self.const_method + self.layout.method.constants;
        self.memory.read_u64(at).filter(|pool| *pool != 0)
    }

    /// The klass that the method belongs to.
    pub fn holder(&self) -> Option<u64> {
        let at = self.pool()? + self.layout.method.pool_holder;
        self.memory.read_u64(at).filter(|klass| *klass != 0)
    }

    /// The constant pool's symbol whose index is kept at `offset`.
    fn indexed_symbol(&self, offset: u64) -> Option<String> {
        let index = self.memory.read_u16(self.const_method + offset)?;
        self.pool_symbol(index)
    }

    /// The symbol in the constant pool at `index`.
    pub fn pool_symbol(&self, index: u16) -> Option<String> {
        let pool = self.pool()?;
        let length = self.memory.read_u32(pool + self.layout.method.pool_length)?;
        if index == 0 || u32::from(index) >= length {
            return None;
        }
        let entry = pool + self.layout.method.pool_size + 8 * u64::from(index);
        symbol(self.layout, self.memory, self.memory.read_u64(entry)?)
    }

    /// The method's name.
    pub fn name(&self) -> Option<String> {
        self.indexed_symbol(self.layout.method.name_index)
    }

    /// The method's descriptor, `(I)V`.
    pub fn descriptor(&self) -> Option<String> {
        self.indexed_symbol(self.layout.method.signature_index)
    }

    /// The source file's name, `None` if the class file has none.
    pub fn source_file(&self) -> Option<String> {
        let at = self.pool()? + self.layout.method.source_file_name_index;
        self.pool_symbol(self.memory.read_u16(at)?)
    }

    /// Everything that names the method; `None` if its class, name or
    /// descriptor cannot be read.
    pub fn names(&self) -> Option<Names> {
        let class = class_name(self.layout, self.memory, self.holder()?)?;
        Some(Names {
            hidden: class.contains('/'),
            class: class.into(),
            name: self.name()?.into(),
            descriptor: self.descriptor()?.into(),
            source_file: self.source_file().unwrap_or_default().into(),
            access_flags: self.access_flags()?,
        })
    }
}

/// The names of the method at `address`; see [`Method::names`].
pub fn method_names<M: Memory>(layout: &Layout, memory: &M, address: u64) -> Option<Names> {
    Method::at(layout, memory, address)?.names()
}

/// The source line of a bytecode of the method at `address`.
pub fn line_number<M: Memory>(layout: &Layout, memory: &M, address: u64, bci: i32) -> Option<u32> {
    Method::at(layout, memory, address)?.line(bci)
}

/// The dotted name of a class, as `Class.getName` gives it: that of a hidden
/// class ends in `/0x...`.
pub fn class_name<M: Memory>(layout: &Layout, memory: &M, klass: u64) -> Option<String> {
    let name = memory.read_u64(klass + layout.method.klass_name)?;
    Some(dotted(&symbol(layout, memory, name)?))
}

/// The VM writes packages with `/` and marks a hidden class with `+`.
fn dotted(internal: &str) -> String {
    match internal.split_once("+0x") {
        Some((name, address)) => format!("{}/0x{address}", name.replace('/', ".")),
        None => internal.replace('/', "."),
    }
}

/// The text of a symbol.
pub fn symbol<M: Memory>(layout: &Layout, memory: &M, address: u64) -> Option<String> {
    let length = memory.read_u16(address.checked_add(layout.method.symbol_length)?)?;
    let mut bytes = vec![0; usize::from(length).min(SYMBOL_LIMIT)];
    memory
        .read_into(address + layout.method.symbol_body, &mut bytes)
        .then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// The line of `bci` in the compressed line table at `start`: pairs of
/// differences, both small in one byte (5 bits of bci, 3 of line), others as
/// signed numbers after 0xff, ended by 0.
fn line_at<M: Memory>(memory: &M, start: u64, base: u8, bci: i32) -> Option<u32> {
    // A method has at most 65535 bytecodes, so the table ends within this.
    let mut table = Reader::new(memory, start, start + 11 * 65_536, base);
    let (mut at_bci, mut at_line) = (0i32, 0i32);
    let mut best: Option<(i32, i32)> = None;
    loop {
        match table.byte()? {
            0 => break,
            0xff => {
                at_bci = at_bci.wrapping_add(table.signed()?);
                at_line = at_line.wrapping_add(table.signed()?);
            }
            both => {
                at_bci += i32::from(both >> 3);
                at_line += i32::from(both & 7);
            }
        }
        if at_bci == bci {
            return u32::try_from(at_line).ok();
        }
        if at_bci < bci && best.is_none_or(|(b, _)| at_bci >= b) {
            best = Some((at_bci, at_line));
        }
    }
    best.and_then(|(_, line)| u32::try_from(line).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Fragments;
    use crate::unsigned5::pack;

    fn table(pairs: &[(i32, i32)], base: u8) -> Fragments {
        let mut bytes = Vec::new();
        let (mut bci, mut line) = (0, 0);
        for (b, l) in pairs {
            let (db, dl) = (b - bci, l - line);
            if (0..32).contains(&db) && (0..8).contains(&dl) && (db, dl) != (0, 0) {
                bytes.push((db << 3 | dl) as u8);
            } else {
                bytes.push(0xff);
                for d in [db, dl] {
                    pack(((d << 1) ^ (d >> 31)) as u32, base, &mut bytes);
                }
            }
            (bci, line) = (*b, *l);
        }
        bytes.push(0);
        let mut memory = Fragments::new();
        memory.add(0x1000, bytes);
        memory
    }

    #[test]
    fn a_line_holds_from_its_entry_to_the_next() {
        for base in [0, 1] {
            let memory = table(&[(0, 100), (5, 102), (40, 90), (300, 1000)], base);
            let line = |bci| line_at(&memory, 0x1000, base, bci);
            assert_eq!(line(0), Some(100));
            assert_eq!(line(4), Some(100));
            assert_eq!(line(5), Some(102));
            assert_eq!(line(39), Some(102));
            assert_eq!(line(40), Some(90));
            assert_eq!(line(299), Some(90));
            assert_eq!(line(5000), Some(1000));
            assert_eq!(line(-1), None);
        }
    }

    #[test]
    fn a_table_without_end_gives_nothing() {
        let mut memory = Fragments::new();
        memory.add(0x1000, vec![0x09; 4]);
        assert_eq!(line_at(&memory, 0x1000, 0, 100), None);
    }

    #[test]
    fn hidden_classes_are_named_as_java_names_them() {
        assert_eq!(dotted("com/acme/Inventory$Row"), "com.acme.Inventory$Row");
        assert_eq!(dotted("com/acme/Main$$Lambda+0x00007f1c4c001000"), "com.acme.Main$$Lambda/0x00007f1c4c001000");
        assert_eq!(dotted("a/C+b"), "a.C+b");
    }
}
