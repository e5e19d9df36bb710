//! What a chunk says about its types: the metadata event, read.

use super::cursor::{Cursor, Text};
use crate::hash::IdMap;
use std::sync::Arc;

/// Types may contain types; nobody nests them deeper than this.
const MAX_DEPTH: usize = 24;

/// How a value of a type lies in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// An integer: variable-length, or this many bytes.
    Integer(u8),
    /// One byte.
    Byte,
    /// Four bytes.
    Float,
    /// Eight bytes.
    Double,
    /// A string.
    String,
    /// The fields of a type one after the other.
    Fields,
}

/// The unit of an integer, from the field's annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// No unit of time.
    None,
    /// A moment in ticks.
    TickTime,
    /// A moment in so many nanoseconds since the Unix epoch.
    EpochTime(u64),
    /// A length of time in ticks.
    TickSpan,
    /// A length of time in so many nanoseconds.
    Span(u64),
}

/// A field of a type.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: Box<str>,
    /// Index of its type.
    pub(crate) ty: usize,
    /// True if a number refers to a constant instead of the value.
    pub(crate) pool: bool,
    /// True if there is a count and that many values.
    pub(crate) array: bool,
    pub(crate) unit: Unit,
}

/// A type.
#[derive(Clone, Debug)]
pub(crate) struct Type {
    pub(crate) id: u64,
    pub(crate) name: Arc<str>,
    pub(crate) is_event: bool,
    pub(crate) wire: Wire,
    pub(crate) fields: Vec<Field>,
}

/// All types of a chunk.
#[derive(Default)]
pub(crate) struct Schema {
    pub(crate) types: Vec<Type>,
    by_id: IdMap<u64, usize>,
}

/// A value of a field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// An integer or boolean, sign-extended only as far as the file does.
    Number(u64),
    /// A floating-point number.
    Real(f64),
    /// A string.
    Text(Text),
    /// Something of no use here.
    Other,
}

/// An element of the metadata's tree.
struct Element {
    name: usize,
    attributes: Vec<(usize, usize)>,
    children: Vec<Element>,
}

/// The tree and the strings it refers to.
struct Tree {
    strings: Vec<String>,
}

impl Type {
    /// True if its values take no bytes.
    pub(crate) fn is_empty(&self) -> bool {
        self.wire == Wire::Fields && self.fields.is_empty()
    }
}

impl Schema {
    /// Takes away fields whose values take no bytes. Without them every step
    /// through a value consumes bytes, so that no file can make reading it take
    /// more than a bounded time per byte.
    fn remove_empty_fields(&mut self) {
        for _ in 0..=MAX_DEPTH {
            let empty: Vec<bool> = self.types.iter().map(Type::is_empty).collect();
            let takes_bytes = |field: &Field| field.pool || field.array || !empty.get(field.ty).is_some_and(|e| *e);
            self.types.iter_mut().for_each(|ty| ty.fields.retain(takes_bytes));
        }
    }

    /// Reads the metadata event; `body` is what follows its type number.
    pub(crate) fn parse(mut body: Cursor<'_>) -> Option<Schema> {
        for _ in 0..3 {
            body.long()?; // start, duration, id
        }
        let count = body.count()?;
        let mut strings = Vec::with_capacity(count.min(4096));
        for _ in 0..count {
            strings.push(match body.string()? {
                Text::Here(string) => string,
                _ => String::new(),
            });
        }
        let tree = Tree { strings };
        let root = Tree::element(&mut body, 0)?;
        let metadata = root.children.iter().find(|child| tree.name(child) == "metadata")?;
        Some(tree.schema(metadata))
    }

    /// Index of the type with this number.
    pub(crate) fn index(&self, id: u64) -> Option<usize> {
        self.by_id.get(&id).copied()
    }

    /// Number of the type with this name.
    pub(crate) fn id_of(&self, name: &str) -> Option<u64> {
        self.types.iter().find(|ty| &*ty.name == name).map(|ty| ty.id)
    }

    /// Reads a field's value, or steps over what has no use here.
    pub(crate) fn value(&self, field: &Field, cursor: &mut Cursor<'_>) -> Option<Value> {
        if field.array {
            self.skip(field, cursor)?;
            return Some(Value::Other);
        }
        if field.pool {
            return cursor.long().map(Value::Number);
        }
        Some(match self.types.get(field.ty)?.wire {
            Wire::Integer(width) => Value::Number(cursor.integer(usize::from(width))?),
            Wire::Byte => Value::Number(u64::from(cursor.byte()?)),
            Wire::Float => Value::Real(f64::from(cursor.float()?)),
            Wire::Double => Value::Real(cursor.double()?),
            Wire::String => Value::Text(cursor.string()?),
            Wire::Fields => {
                self.skip_type(field.ty, cursor, 0)?;
                Value::Other
            }
        })
    }

    /// Steps over a field's value.
    pub(crate) fn skip(&self, field: &Field, cursor: &mut Cursor<'_>) -> Option<()> {
        self.skip_field(field, cursor, 0)
    }

    fn skip_field(&self, field: &Field, cursor: &mut Cursor<'_>, depth: usize) -> Option<()> {
        let count = if field.array { cursor.count()? } else { 1 };
        if !field.pool && self.types.get(field.ty)?.is_empty() {
            return Some(());
        }
        for _ in 0..count {
            if field.pool {
                cursor.long()?;
            } else {
                self.skip_type(field.ty, cursor, depth)?;
            }
        }
        Some(())
    }

    fn skip_type(&self, ty: usize, cursor: &mut Cursor<'_>, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        let ty = self.types.get(ty)?;
        match ty.wire {
            Wire::Integer(width) => {
                cursor.integer(usize::from(width))?;
            }
            Wire::Byte => {
                cursor.byte()?;
            }
            Wire::Float => {
                cursor.float()?;
            }
            Wire::Double => {
                cursor.double()?;
            }
            Wire::String => cursor.skip_string()?,
            Wire::Fields => {
                for field in &ty.fields {
                    self.skip_field(field, cursor, depth + 1)?;
                }
            }
        }
        Some(())
    }
}

impl Tree {
    fn element(cursor: &mut Cursor<'_>, depth: usize) -> Option<Element> {
        if depth > MAX_DEPTH {
            return None;
        }
        let name = cursor.int()? as usize;
        let count = cursor.count()?;
        let mut attributes = Vec::with_capacity(count.min(16));
        for _ in 0..count {
            attributes.push((cursor.int()? as usize, cursor.int()? as usize));
        }
        let count = cursor.count()?;
        let mut children = Vec::with_capacity(count.min(64));
        for _ in 0..count {
            children.push(Self::element(cursor, depth + 1)?);
        }
        Some(Element { name, attributes, children })
    }

    fn string(&self, index: usize) -> &str {
        self.strings.get(index).map_or("", String::as_str)
    }

    fn name(&self, element: &Element) -> &str {
        self.string(element.name)
    }

    fn attribute<'a>(&'a self, element: &Element, key: &str) -> Option<&'a str> {
        let found = element.attributes.iter().find(|(name, _)| self.string(*name) == key)?;
        Some(self.string(found.1))
    }

    fn number(&self, element: &Element, key: &str) -> Option<u64> {
        self.attribute(element, key)?.parse().ok()
    }

    fn children<'a>(&'a self, element: &'a Element, name: &'static str) -> impl Iterator<Item = &'a Element> {
        element.children.iter().filter(move |child| self.name(child) == name)
    }

    fn schema(&self, metadata: &Element) -> Schema {
        let classes: Vec<(u64, &Element)> =
            self.children(metadata, "class").filter_map(|class| Some((self.number(class, "id")?, class))).collect();
        let by_id: IdMap<u64, usize> = classes.iter().enumerate().map(|(i, (id, _))| (*id, i)).collect();
        let name_of = |id: u64| by_id.get(&id).and_then(|i| self.attribute(classes[*i].1, "name"));
        let types = classes
            .iter()
            .map(|(id, class)| {
                let name = self.attribute(class, "name").unwrap_or("");
                let fields = self
                    .children(class, "field")
                    .filter_map(|field| self.field(field, &by_id, &name_of))
                    .collect::<Vec<Field>>();
                Type {
                    id: *id,
                    name: name.into(),
                    is_event: self.attribute(class, "superType") == Some("jdk.jfr.Event"),
                    wire: wire(name),
                    fields,
                }
            })
            .collect();
        let mut schema = Schema { types, by_id };
        schema.remove_empty_fields();
        schema
    }

    fn field<'a>(
        &'a self,
        field: &Element,
        by_id: &IdMap<u64, usize>,
        name_of: &dyn Fn(u64) -> Option<&'a str>,
    ) -> Option<Field> {
        let ty = self.number(field, "class")?;
        let notes = self.children(field, "annotation").filter_map(|note| {
            Some((name_of(self.number(note, "class")?)?, self.attribute(note, "value").unwrap_or("")))
        });
        Some(Field {
            name: self.attribute(field, "name")?.into(),
            // A type that nobody declared makes every reading of it fail.
            ty: by_id.get(&ty).copied().unwrap_or(usize::MAX),
            pool: self.attribute(field, "constantPool") == Some("true"),
            array: self.number(field, "dimension").is_some_and(|dimension| dimension > 0),
            unit: notes.map(|(name, value)| unit(name, value)).find(|unit| *unit != Unit::None).unwrap_or(Unit::None),
        })
    }
}

fn wire(name: &str) -> Wire {
    match name {
        "long" => Wire::Integer(8),
        "int" => Wire::Integer(4),
        "short" | "char" => Wire::Integer(2),
        "boolean" | "byte" => Wire::Byte,
        "float" => Wire::Float,
        "double" => Wire::Double,
        "java.lang.String" => Wire::String,
        _ => Wire::Fields,
    }
}

fn unit(annotation: &str, value: &str) -> Unit {
    match (annotation, value) {
        ("jdk.jfr.Timestamp", "TICKS") => Unit::TickTime,
        ("jdk.jfr.Timestamp", "MILLISECONDS_SINCE_EPOCH") => Unit::EpochTime(1_000_000),
        ("jdk.jfr.Timestamp", "NANOSECONDS_SINCE_EPOCH") => Unit::EpochTime(1),
        ("jdk.jfr.Timespan", "TICKS") => Unit::TickSpan,
        ("jdk.jfr.Timespan", "SECONDS") => Unit::Span(1_000_000_000),
        ("jdk.jfr.Timespan", "MILLISECONDS") => Unit::Span(1_000_000),
        ("jdk.jfr.Timespan", "MICROSECONDS") => Unit::Span(1_000),
        ("jdk.jfr.Timespan", _) => Unit::Span(1),
        _ => Unit::None,
    }
}
