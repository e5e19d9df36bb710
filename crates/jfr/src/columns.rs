//! A packed piece in columns: all times together, all threads together, and so
//! on, each value as its difference from a guess. Compressors find far more in
//! that than in events whose random low bytes of a time alternate with ids.
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

use crate::encode::{put_varint, Encoder};
use crate::hash::IdMap;
use crate::header::HEADER_SIZE;
use crate::read::Cursor;
use crate::schema::{self, id, unzigzag, zigzag, Store, Type, TypeId};
use std::sync::OnceLock;

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
    fn to_bytes(self) -> [u8; 4] {
        let width = self.width as u8;
        match self.guess {
            Guess::Nothing => [width, 0, 0, 0],
            Guess::Time => [width, 1, 0, 0],
            Guess::Thread => [width, 2, 0, 0],
            Guess::Seq(field) => [width, 3, field, 0],
            Guess::Last(ty, field) => [width, 4, ty, field],
            Guess::Own(field) => [width, 5, field, 0],
        }
    }

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
fn to_column(guess: Guess, value: u64, guessed: u64) -> u64 {
    match guess {
        Guess::Nothing => value,
        _ => zigzag(value.wrapping_sub(guessed)),
    }
}

#[inline]
fn from_column(guess: Guess, number: u64, guessed: u64) -> u64 {
    match guess {
        Guess::Nothing => number,
        _ => unzigzag(number).wrapping_add(guessed),
    }
}

/// Shapes of the event types whose fields are all numbers.
fn shapes() -> &'static [Shape] {
    static SHAPES: OnceLock<Vec<Shape>> = OnceLock::new();
    SHAPES.get_or_init(|| event_types().filter_map(shape).collect())
}

fn event_types() -> impl Iterator<Item = &'static Type> {
    schema::JDK_EVENTS.iter().chain(schema::HEADWAY_EVENTS).chain(schema::STEAL_EVENTS).chain(schema::CAUSAL_EVENTS)
}

fn shape(ty: &Type) -> Option<Shape> {
    let width = |field: &schema::Field| match (field.store, field.ty) {
        (Store::Pool, _) | (Store::Inline, id::LONG | id::INT) => Some(Width::Varint),
        (Store::Inline, id::BOOLEAN) => Some(Width::Byte),
        _ => None,
    };
    let place = |name: &str| ty.fields.iter().position(|field| field.name == name).map(|index| index as u8);
    let column = |field: &schema::Field| Some(Column { width: width(field)?, guess: guess(ty, field.name, &place) });
    let columns: Option<Vec<Column>> = ty.fields.iter().map(column).collect();
    Some(Shape { ty: ty.id, columns: columns? }).filter(|shape| shape.columns.len() <= MAX_FIELDS)
}

/// The end of a blocked stretch, a wait or a park repeats what its begin said,
/// and the two are neighbours in the thread's own order.
fn guess(ty: &Type, field: &str, place: &dyn Fn(&str) -> Option<u8>) -> Guess {
    let of = |last: TypeId, name: &str| {
        let fields = event_types().find(|ty| ty.id == last).map_or(&[][..], |ty| ty.fields);
        let index = fields.iter().position(|field| field.name == name);
        index.map_or(Guess::Nothing, |index| Guess::Last(last, index as u8))
    };
    let own = |name| place(name).map_or(Guess::Nothing, Guess::Own);
    let begin = match ty.id {
        id::MONITOR_ENTERED => Some(id::MONITOR_ENTER),
        id::MONITOR_WAITED | id::MONITOR_REENTERED => Some(id::MONITOR_WAIT),
        id::THREAD_PARK => Some(id::PARK_BEGIN),
        _ => None,
    };
    // Parks and unparks are numbered over the whole process: a thread's own
    // numbers grow by little.
    match (ty.id, field) {
        (id::THREAD_PARK, "startSeq") => return of(id::PARK_BEGIN, "seq"),
        (id::THREAD_PARK, "seq") => return own("startSeq"),
        (id::THREAD_PARK, "unpark") => return own("seq"),
        (id::PARK_BEGIN | id::UNPARK, "seq") => return of(ty.id, "seq"),
        // No limit is a number that takes nine bytes.
        (id::THREAD_PARK, "timeout" | "until") => return of(ty.id, field),
        _ => {}
    }
    match (field, begin) {
        ("startTime", Some(begin)) if ty.id != id::MONITOR_REENTERED => of(begin, "startTime"),
        ("startTime", _) => Guess::Time,
        ("eventThread" | "sampledThread", _) => Guess::Thread,
        ("stackTrace", Some(begin)) => of(begin, "stackTrace"),
        ("previousOwner" | "owner", Some(begin)) => of(begin, "owner"),
        ("address", Some(id::PARK_BEGIN)) => of(id::PARK_BEGIN, "blocker"),
        ("address", Some(begin)) => of(begin, "lock"),
        ("lock" | "blocker", _) if place("address").is_some() => own("address"),
        ("lock", Some(begin)) => of(begin, "lock"),
        ("seq", _) => place("lock").map_or(Guess::Nothing, Guess::Seq),
        ("lastAlive", _) => own("startTime"),
        _ => Guess::Nothing,
    }
}

/// Puts a piece into columns. `begins_chunk` says that a header comes first.
pub(crate) fn to_columns(raw: &[u8], begins_chunk: bool) -> Vec<u8> {
    let prefix = if begins_chunk { HEADER_SIZE.min(raw.len()) } else { 0 };
    let mut splitter = Splitter::new();
    let mut at = prefix;
    while at < raw.len() {
        at += splitter.event(&raw[at..]);
    }
    splitter.finish(&raw[..prefix])
}

struct Splitter {
    shapes: &'static [Shape],
    /// Index of each type's shape.
    shape_of: [Option<u8>; 256],
    memory: Memory,
    kinds: Vec<u8>,
    left: Vec<u8>,
    columns: Vec<Vec<Encoder>>,
}

impl Splitter {
    fn new() -> Splitter {
        let shapes = shapes();
        let mut shape_of = [None; 256];
        for (index, shape) in shapes.iter().enumerate() {
            shape_of[usize::from(shape.ty)] = Some(index as u8);
        }
        let columns = shapes.iter().map(|shape| shape.columns.iter().map(|_| Encoder::default()).collect()).collect();
        Splitter { shapes, shape_of, memory: Memory::new(shapes), kinds: Vec::new(), left: Vec::new(), columns }
    }

    /// Takes the event at the front of `bytes` and says how long it is.
    fn event(&mut self, bytes: &[u8]) -> usize {
        let mut head = Cursor::new(bytes, true);
        let size = head.int().map_or(bytes.len(), |size| size as usize).clamp(1, bytes.len());
        let event = &bytes[..size];
        let index = event.get(head.pos()).and_then(|ty| self.shape_of[usize::from(*ty)]);
        match index.and_then(|index| Some((index, values(&self.shapes[usize::from(index)], event)?))) {
            Some((index, values)) => self.split(index, &values),
            None => {
                self.kinds.push(0);
                self.left.extend_from_slice(event);
            }
        }
        size
    }

    #[inline]
    fn split(&mut self, index: u8, values: &Values) {
        let shape = &self.shapes[usize::from(index)];
        self.kinds.push(index + 1);
        let columns = self.columns[usize::from(index)].iter_mut();
        for ((column, out), value) in shape.columns.iter().zip(columns).zip(values) {
            out.varint(to_column(column.guess, *value, self.memory.guess(column.guess, values)));
        }
        self.memory.remember(shape, values);
    }

    fn finish(self, prefix: &[u8]) -> Vec<u8> {
        let mut out = Encoder::default();
        let block = |out: &mut Encoder, bytes: &[u8]| {
            out.varint(bytes.len() as u64);
            out.bytes.extend_from_slice(bytes);
        };
        block(&mut out, prefix);
        out.varint(self.shapes.len() as u64);
        for shape in self.shapes {
            out.byte(shape.ty);
            out.byte(shape.columns.len() as u8);
            shape.columns.iter().for_each(|column| out.bytes.extend_from_slice(&column.to_bytes()));
        }
        block(&mut out, &self.kinds);
        block(&mut out, &self.left);
        self.columns.iter().flatten().for_each(|column| block(&mut out, &column.bytes));
        out.bytes
    }
}

/// The values of an event, if putting them together again gives its bytes.
#[inline]
fn values(shape: &Shape, event: &[u8]) -> Option<Values> {
    let mut cursor = Cursor::new(event, true);
    let size = cursor.int()? as usize;
    cursor.byte()?;
    let mut values = [0; MAX_FIELDS];
    let mut canonical = if size < 0x80 { 2 } else { 3 };
    for (column, value) in shape.columns.iter().zip(&mut values) {
        *value = match column.width {
            Width::Varint => cursor.long()?,
            Width::Byte => u64::from(cursor.byte()?),
        };
        canonical += match column.width {
            Width::Varint => varint_len(*value),
            Width::Byte => 1,
        };
    }
    // Numbers written longer than need be would come back shorter.
    (cursor.remaining() == 0 && size == event.len() && canonical == size).then_some(values)
}

#[inline]
fn varint_len(value: u64) -> usize {
    (((64 - (value | 1).leading_zeros()) as usize).div_ceil(7)).min(9)
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
    fn differences_of_either_sign_come_back() {
        for value in [0u64, 1, 2, u64::MAX, u64::MAX - 1, 1 << 63, 12345] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        assert_eq!((zigzag(1), zigzag(u64::MAX), zigzag(2)), (2, 1, 4));
    }

    #[test]
    fn the_length_of_a_number_is_what_the_encoder_takes() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1 << shift) - 1] {
                let mut encoder = Encoder::default();
                encoder.varint(value);
                assert_eq!(varint_len(value), encoder.bytes.len(), "{value}");
            }
        }
    }

    #[test]
    fn any_bytes_come_back_whatever_they_are() {
        let mut state = 1u64;
        for round in 0..500usize {
            let bytes: Vec<u8> = (0..round)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    // Many of our types' numbers and small sizes among them.
                    [(state >> 33) as u8, 60 + (state >> 33) as u8 % 32, (state >> 40) as u8 % 16][round % 3]
                })
                .collect();
            for begins_chunk in [false, true] {
                let columns = to_columns(&bytes, begins_chunk);
                assert_eq!(from_columns(&columns, bytes.len()), Some(bytes.clone()));
            }
        }
    }

    #[test]
    fn guesses_look_back_only() {
        assert_eq!(Column::parse([0, 5, 3, 0], 3), None);
        assert_eq!(Column::parse([0, 3, 2, 0], 3), Some(Column { width: Width::Varint, guess: Guess::Seq(2) }));
        assert_eq!(Column::parse([0, 4, 200, 99], 3), None);
        for shape in shapes() {
            for (index, column) in shape.columns.iter().enumerate() {
                assert_eq!(Column::parse(column.to_bytes(), index), Some(*column), "type {}", shape.ty);
            }
        }
    }
}
