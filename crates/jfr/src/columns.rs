//! A packed piece in columns: all times together, all threads together, and so
//! on, each value as its difference from a guess. Recordings of format version 1
//! were packed like that; now a piece is what other tools unpack, too.
//!
//! The piece says itself what its columns are, so that a reader depends on no
//! version of the event types. Every event that is not restored to the byte is
//! left as it is: unpacking gives exactly what went in.
//!
//! Layout, all integers variable-length: length of what comes before the first
//! event, and that; number of shapes, and each: type, number of fields, four
//! bytes per field ([`Width`], [`Guess`]); number of events, and for each one
//! byte: 0, or 1 + the index of its shape; length of the events left as they
//! are, and these; for each field of each shape its column's length and the
//! column.

use crate::encode::put_varint;
use crate::hash::IdMap;
use crate::read::Cursor;
use crate::schema::{unzigzag, TypeId};

/// How a field lies in an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    /// A variable-length integer.
    Varint = 0,
    /// One byte.
    Byte = 1,
}

/// What a field's value is guessed from. Guesses may be wrong; they only make
/// numbers small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guess {
    /// The value stands for itself.
    Nothing,
    /// The first field of the event before.
    Time,
    /// The thread of the event before.
    Thread,
    /// The number that follows the last one of the same lock, whose id is in
    /// this field of the same event, before this one.
    Seq(u8),
    /// This field of the last event of this shape's type.
    Last(TypeId, u8),
    /// This field of the same event, before this one.
    Own(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Column {
    width: Width,
    guess: Guess,
}

impl Column {
    /// `index` is the column's place: a guess may only look before it.
    fn parse(bytes: [u8; 4], index: usize) -> Option<Column> {
        let [width, code, a, b] = bytes;
        let width = match width {
            0 => Width::Varint,
            1 => Width::Byte,
            _ => return None,
        };
        let guess = match code {
            0 => Guess::Nothing,
            1 => Guess::Time,
            2 => Guess::Thread,
            3 if usize::from(a) < index => Guess::Seq(a),
            4 if usize::from(b) < MAX_FIELDS => Guess::Last(a, b),
            5 if usize::from(a) < index => Guess::Own(a),
            _ => return None,
        };
        Some(Column { width, guess })
    }
}

/// Events with more fields than this are left as they are.
const MAX_FIELDS: usize = 16;

/// The columns of an event type.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shape {
    ty: TypeId,
    columns: Vec<Column>,
}

/// Values of one event, by field.
type Values = [u64; MAX_FIELDS];

/// What guesses are made from.
struct Memory {
    time: u64,
    thread: u64,
    seqs: IdMap<u64, u64>,
    last: Vec<Values>,
    /// Types that guesses refer to.
    wanted: [bool; 256],
}

impl Memory {
    fn new(shapes: &[Shape]) -> Memory {
        let mut wanted = [false; 256];
        for column in shapes.iter().flat_map(|shape| &shape.columns) {
            if let Guess::Last(ty, _) = column.guess {
                wanted[usize::from(ty)] = true;
            }
        }
        Memory { time: 0, thread: 0, seqs: IdMap::default(), last: vec![[0; MAX_FIELDS]; 256], wanted }
    }

    #[inline]
    fn guess(&self, guess: Guess, own: &Values) -> u64 {
        match guess {
            Guess::Nothing => 0,
            Guess::Time => self.time,
            Guess::Thread => self.thread,
            Guess::Seq(lock) => self.seqs.get(&own[usize::from(lock)]).copied().unwrap_or(0).wrapping_add(1),
            Guess::Last(ty, field) => self.last[usize::from(ty)][usize::from(field)],
            Guess::Own(field) => own[usize::from(field)],
        }
    }

    #[inline]
    fn remember(&mut self, shape: &Shape, values: &Values) {
        self.time = values[0];
        for (column, value) in shape.columns.iter().zip(values) {
            match column.guess {
                Guess::Thread => self.thread = *value,
                Guess::Seq(lock) => {
                    self.seqs.insert(values[usize::from(lock)], *value);
                }
                _ => {}
            }
        }
        if self.wanted[usize::from(shape.ty)] {
            self.last[usize::from(shape.ty)] = *values;
        }
    }
}

#[inline]
fn from_column(guess: Guess, number: u64, guessed: u64) -> u64 {
    match guess {
        Guess::Nothing => number,
        _ => unzigzag(number).wrapping_add(guessed),
    }
}

/// Restores a piece of at most `limit` bytes; `None` if the columns are damaged.
pub(crate) fn from_columns(bytes: &[u8], limit: usize) -> Option<Vec<u8>> {
    let mut cursor = Cursor::new(bytes, true);
    let prefix = block(&mut cursor)?;
    let shapes = parse_shapes(&mut cursor)?;
    let kinds = block(&mut cursor)?;
    let mut left = block(&mut cursor)?;
    let mut columns = Vec::new();
    for shape in &shapes {
        let of_shape: Option<Vec<Cursor<'_>>> =
            shape.columns.iter().map(|_| Some(Cursor::new(block(&mut cursor)?, true))).collect();
        columns.push(of_shape?);
    }
    let mut memory = Memory::new(&shapes);
    // Each event has a byte in `kinds`, so a small input cannot ask for much.
    let mut out = Vec::with_capacity(limit.min(bytes.len().saturating_mul(MAX_EVENT)));
    out.extend_from_slice(prefix);
    for kind in kinds {
        match usize::from(*kind).checked_sub(1) {
            None => {
                if left.is_empty() {
                    return None;
                }
                let size = Cursor::new(left, true).int().map_or(left.len(), |size| size as usize).clamp(1, left.len());
                out.extend_from_slice(&left[..size]);
                left = &left[size..];
            }
            Some(index) => join(shapes.get(index)?, columns.get_mut(index)?, &mut memory, &mut out)?,
        }
        if out.len() > limit {
            return None;
        }
    }
    Some(out)
}

/// The longest event that columns make: size, type and the fields.
const MAX_EVENT: usize = 3 + 1 + 9 * MAX_FIELDS;

#[inline]
fn join(shape: &Shape, columns: &mut [Cursor<'_>], memory: &mut Memory, out: &mut Vec<u8>) -> Option<()> {
    let mut values = [0; MAX_FIELDS];
    let mut body = [0u8; MAX_EVENT];
    body[0] = shape.ty;
    let mut len = 1;
    for (index, (column, numbers)) in shape.columns.iter().zip(columns).enumerate() {
        let number = numbers.long()?;
        let value = from_column(column.guess, number, memory.guess(column.guess, &values));
        values[index] = value;
        if column.width == Width::Byte || value < 0x80 {
            body[len] = value as u8;
            len += 1;
        } else {
            let mut number = [0; 9];
            let width = put_varint(value, &mut number);
            body[len..len + width].copy_from_slice(&number[..width]);
            len += width;
        }
    }
    // Where the size takes one byte, it does so with itself counted in.
    match len + 1 {
        size @ 0..0x80 => out.push(size as u8),
        _ => out.extend_from_slice(&[(len + 2) as u8 | 0x80, ((len + 2) >> 7) as u8]),
    }
    out.extend_from_slice(&body[..len]);
    memory.remember(shape, &values);
    Some(())
}

fn block<'a>(cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let len = cursor.count()?;
    cursor.take(len)
}

fn parse_shapes(cursor: &mut Cursor<'_>) -> Option<Vec<Shape>> {
    let count = cursor.count()?;
    (0..count)
        .map(|_| {
            let ty = cursor.byte()?;
            let fields = usize::from(cursor.byte()?);
            if fields == 0 || fields > MAX_FIELDS {
                return None;
            }
            let columns: Option<Vec<Column>> = (0..fields)
                .map(|index| Column::parse([cursor.byte()?, cursor.byte()?, cursor.byte()?, cursor.byte()?], index))
                .collect();
            Some(Shape { ty, columns: columns? })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_look_back_only() {
        assert_eq!(Column::parse([0, 5, 3, 0], 3), None);
        assert_eq!(Column::parse([0, 3, 2, 0], 3), Some(Column { width: Width::Varint, guess: Guess::Seq(2) }));
        assert_eq!(Column::parse([0, 4, 200, 99], 3), None);
    }
}
