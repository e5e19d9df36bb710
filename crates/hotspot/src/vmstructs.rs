//! The tables in which libjvm describes itself: `gHotSpotVMStructs` (fields),
//! `gHotSpotVMTypes` (sizes), `gHotSpotVMIntConstants`, `gHotSpotVMLongConstants`.
//!
//! The tables are filled at link time, so they can be read as soon as libjvm is
//! loaded; what the static fields *contain* is set up while the VM starts.

use crate::memory::Memory;
use std::collections::HashMap;
use std::fmt;

/// What is wrong with this VM's description of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutError {
    /// libjvm does not export this symbol.
    MissingSymbol(String),
    /// A table's memory could not be read at this address.
    Unreadable {
        /// What was being read.
        what: String,
        /// Where.
        address: u64,
    },
    /// No entry for this field; `Type::field`.
    MissingField(String),
    /// No entry for this type.
    MissingType(String),
    /// No entry for this constant.
    MissingConstant(String),
    /// An entry is there, but cannot be what it says.
    Implausible {
        /// `Type::field`, or what the value is.
        what: String,
        /// The value found.
        value: u64,
    },
    /// The VM has not finished starting: this static field is still zero.
    NotStarted(String),
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayoutError::MissingSymbol(name) => write!(f, "libjvm has no symbol {name}"),
            LayoutError::Unreadable { what, address } => {
                write!(f, "{what} at {address:#x} cannot be read")
            }
            LayoutError::MissingField(name) => write!(f, "vmStructs has no field {name}"),
            LayoutError::MissingType(name) => write!(f, "vmStructs has no type {name}"),
            LayoutError::MissingConstant(name) => write!(f, "vmStructs has no constant {name}"),
            LayoutError::Implausible { what, value } => {
                write!(f, "{what} is implausible: {value:#x}")
            }
            LayoutError::NotStarted(name) => {
                write!(f, "{name} is not set yet: the VM has not finished starting")
            }
        }
    }
}

impl std::error::Error for LayoutError {}

/// One field as the VM describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// A member, at this offset in bytes.
    Member(u64),
    /// A static field, at this address.
    Static(u64),
}

/// The VM's description of itself, by name.
#[derive(Clone, Debug, Default)]
pub struct VmStructs {
    fields: HashMap<String, Field>,
    sizes: HashMap<String, u64>,
    constants: HashMap<String, i64>,
}

/// Longest name accepted in a table; the longest real one has about 90 bytes.
const NAME_LIMIT: usize = 512;
/// Most entries accepted in one table; 17 has about 2000 in all.
const ENTRY_LIMIT: u64 = 50_000;

impl VmStructs {
    /// Reads the four tables. `symbol` finds exported symbols of libjvm.
    ///
    /// # Errors
    /// A symbol that is missing, or a table that cannot be read.
    pub fn load<M: Memory>(memory: &M, symbol: &dyn Fn(&str) -> Option<usize>) -> Result<VmStructs, LayoutError> {
        let mut structs = VmStructs::default();
        structs.load_fields(&Table::find(memory, symbol, "gHotSpotVMStruct", "s")?)?;
        structs.load_sizes(&Table::find(memory, symbol, "gHotSpotVMType", "s")?)?;
        for kind in ["gHotSpotVMIntConstant", "gHotSpotVMLongConstant"] {
            structs.load_constants(&Table::find(memory, symbol, kind, "s")?)?;
        }
        Ok(structs)
    }

    fn load_fields<M: Memory>(&mut self, table: &Table<'_, M>) -> Result<(), LayoutError> {
        let type_name = table.column("TypeName")?;
        let field_name = table.column("FieldName")?;
        let is_static = table.column("IsStatic")?;
        let offset = table.column("Offset")?;
        let address = table.column("Address")?;
        for entry in table.entries() {
            let Some(owner) = table.name(entry + type_name)? else {
                return Ok(());
            };
            let name = table.name(entry + field_name)?.unwrap_or_default();
            let field = match table.word32(entry + is_static)? {
                0 => Field::Member(table.word(entry + offset)?),
                _ => Field::Static(table.word(entry + address)?),
            };
            self.fields.insert(format!("{owner}::{name}"), field);
        }
        Err(table.endless())
    }

    fn load_sizes<M: Memory>(&mut self, table: &Table<'_, M>) -> Result<(), LayoutError> {
        let type_name = table.column("TypeName")?;
        let size = table.column("Size")?;
        for entry in table.entries() {
            let Some(name) = table.name(entry + type_name)? else {
                return Ok(());
            };
            self.sizes.insert(name, table.word(entry + size)?);
        }
        Err(table.endless())
    }

    fn load_constants<M: Memory>(&mut self, table: &Table<'_, M>) -> Result<(), LayoutError> {
        let name_at = table.column("Name")?;
        let value_at = table.column("Value")?;
        let is_int = table.kind.contains("Int");
        for entry in table.entries() {
            let Some(name) = table.name(entry + name_at)? else {
                return Ok(());
            };
            let value = match is_int {
                true => i64::from(table.word32(entry + value_at)? as i32),
                false => table.word(entry + value_at)? as i64,
            };
            self.constants.insert(name, value);
        }
        Err(table.endless())
    }

    /// How the VM describes `Type::field`.
    pub fn field(&self, name: &str) -> Option<Field> {
        self.fields.get(name).copied()
    }

    /// Offset of the member `Type::field`.
    ///
    /// # Errors
    /// [`LayoutError::MissingField`], or [`LayoutError::Implausible`] for an
    /// offset of 64 KB or more (the largest real ones are about 2 KB).
    pub fn offset(&self, name: &str) -> Result<u64, LayoutError> {
        match self.field(name) {
            Some(Field::Member(offset)) if offset < 0x1_0000 => Ok(offset),
            Some(Field::Member(value)) | Some(Field::Static(value)) => {
                Err(LayoutError::Implausible { what: name.to_string(), value })
            }
            None => Err(LayoutError::MissingField(name.to_string())),
        }
    }

    /// Offset of the first of these members that there is: fields move and are
    /// renamed between releases.
    ///
    /// # Errors
    /// As [`Self::offset`], naming all of them.
    pub fn first_offset(&self, names: &[&str]) -> Result<u64, LayoutError> {
        names
            .iter()
            .find(|name| self.field(name).is_some())
            .map_or_else(|| Err(LayoutError::MissingField(names.join(" or "))), |name| self.offset(name))
    }

    /// Address of the static `Type::field`.
    ///
    /// # Errors
    /// [`LayoutError::MissingField`], or [`LayoutError::Implausible`] if it is null.
    pub fn address(&self, name: &str) -> Result<u64, LayoutError> {
        match self.field(name) {
            Some(Field::Static(address)) if address != 0 => Ok(address),
            Some(Field::Member(value)) | Some(Field::Static(value)) => {
                Err(LayoutError::Implausible { what: name.to_string(), value })
            }
            None => Err(LayoutError::MissingField(name.to_string())),
        }
    }

    /// Size of a type in bytes.
    ///
    /// # Errors
    /// [`LayoutError::MissingType`].
    pub fn size(&self, type_name: &str) -> Result<u64, LayoutError> {
        self.sizes.get(type_name).copied().ok_or_else(|| LayoutError::MissingType(type_name.to_string()))
    }

    /// Value of an int or long constant.
    ///
    /// # Errors
    /// [`LayoutError::MissingConstant`].
    pub fn constant(&self, name: &str) -> Result<i64, LayoutError> {
        self.constants.get(name).copied().ok_or_else(|| LayoutError::MissingConstant(name.to_string()))
    }
}

/// One table: an array of equal entries, ended by one whose name is null. The
/// places of an entry's columns are symbols of their own.
struct Table<'a, M> {
    memory: &'a M,
    symbol: &'a dyn Fn(&str) -> Option<usize>,
    /// `gHotSpotVMStruct`, without the plural.
    kind: &'a str,
    start: u64,
    stride: u64,
}

impl<'a, M: Memory> Table<'a, M> {
    fn find(
        memory: &'a M,
        symbol: &'a dyn Fn(&str) -> Option<usize>,
        kind: &'a str,
        plural: &str,
    ) -> Result<Table<'a, M>, LayoutError> {
        let mut table = Table { memory, symbol, kind, start: 0, stride: 0 };
        table.start = table.symbol_value(&format!("{kind}{plural}"))?;
        table.stride = table.symbol_value(&format!("{kind}EntryArrayStride"))?;
        match table.stride {
            16..=256 => Ok(table),
            value => Err(LayoutError::Implausible { what: format!("{kind}EntryArrayStride"), value }),
        }
    }

    /// The word a symbol stands for.
    fn symbol_value(&self, name: &str) -> Result<u64, LayoutError> {
        let address =
            (self.symbol)(name).filter(|a| *a != 0).ok_or_else(|| LayoutError::MissingSymbol(name.to_string()))?;
        self.memory
            .read_u64(address as u64)
            .ok_or_else(|| LayoutError::Unreadable { what: name.to_string(), address: address as u64 })
    }

    /// Where in an entry a column is.
    fn column(&self, column: &str) -> Result<u64, LayoutError> {
        let name = format!("{}Entry{column}Offset", self.kind);
        match self.symbol_value(&name)? {
            offset if offset < self.stride => Ok(offset),
            value => Err(LayoutError::Implausible { what: name, value }),
        }
    }

    fn entries(&self) -> impl Iterator<Item = u64> {
        let (start, stride) = (self.start, self.stride);
        (0..ENTRY_LIMIT).map(move |i| start.wrapping_add(i * stride))
    }

    fn word(&self, address: u64) -> Result<u64, LayoutError> {
        self.memory.read_u64(address).ok_or_else(|| self.unreadable(address))
    }

    fn word32(&self, address: u64) -> Result<u32, LayoutError> {
        self.memory.read_u32(address).ok_or_else(|| self.unreadable(address))
    }

    /// The string a column points to, `None` for a null pointer.
    fn name(&self, address: u64) -> Result<Option<String>, LayoutError> {
        match self.word(address)? {
            0 => Ok(None),
            at => self.memory.read_c_string(at, NAME_LIMIT).map(Some).ok_or_else(|| self.unreadable(at)),
        }
    }

    fn unreadable(&self, address: u64) -> LayoutError {
        LayoutError::Unreadable { what: format!("{}s", self.kind), address }
    }

    fn endless(&self) -> LayoutError {
        LayoutError::Implausible { what: format!("number of entries in {}s", self.kind), value: ENTRY_LIMIT }
    }
}

#[cfg(test)]
#[path = "vmstructs_tests.rs"]
mod tests;
