//! How to get from an event's bytes to its values: for each event type of a
//! chunk a list of steps, made once from the chunk's metadata.

use super::cursor::{Cursor, Text};
use super::kinds::{self, EventKind};
use super::schema::{Field, Schema, Type, Unit, Wire};
use super::slot::{slot, Slot, SLOTS};
use crate::header::ChunkHeader;
use std::sync::Arc;

/// Converts a chunk's ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    start_nanos: u64,
    start_ticks: u64,
    frequency: u64,
}

const NANOS: u64 = 1_000_000_000;

impl Ticks {
    pub(crate) fn new(header: &ChunkHeader) -> Ticks {
        let frequency = if header.frequency == 0 { NANOS } else { header.frequency };
        Ticks { start_nanos: header.start_nanos, start_ticks: header.start_ticks, frequency }
    }

    /// Nanoseconds since the Unix epoch.
    #[inline]
    pub(crate) fn time(&self, ticks: u64) -> u64 {
        let since = ticks.wrapping_sub(self.start_ticks) as i64;
        if self.frequency == NANOS {
            return self.start_nanos.saturating_add_signed(since);
        }
        let nanos = i128::from(since) * i128::from(NANOS) / i128::from(self.frequency);
        let nanos = nanos.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
        self.start_nanos.saturating_add_signed(nanos)
    }

    /// Nanoseconds.
    #[inline]
    pub(crate) fn span(&self, ticks: u64) -> u64 {
        if ticks as i64 <= 0 {
            return 0;
        }
        if self.frequency == NANOS {
            return ticks;
        }
        (u128::from(ticks) * u128::from(NANOS) / u128::from(self.frequency)).min(u128::from(u64::MAX)) as u64
    }
}

#[derive(Clone, Copy)]
enum Step {
    /// Into a slot as it is.
    Number(u8, Slot),
    /// Into a slot, counted from one: -1 (none) comes to 0.
    FromOne(u8, Slot),
    /// Ticks, converted to a moment.
    Time(Slot),
    /// A length of time in ticks.
    TickSpan(Slot),
    /// A length of time in so many nanoseconds.
    Span(u64, Slot),
    Byte(Slot),
    Float(Slot),
    Text(Slot),
    SkipNumber(u8),
    SkipByte,
    /// The field with this index, whatever it is.
    Skip(usize),
}

impl Step {
    /// The slot that it fills with a number.
    fn fills(&self) -> Option<Slot> {
        match *self {
            Step::Number(_, slot)
            | Step::FromOne(_, slot)
            | Step::Time(slot)
            | Step::TickSpan(slot)
            | Step::Span(_, slot)
            | Step::Byte(slot)
            | Step::Float(slot) => Some(slot),
            Step::Text(_) | Step::SkipNumber(_) | Step::SkipByte | Step::Skip(_) => None,
        }
    }
}

/// The values of one event.
pub(crate) struct Values {
    numbers: [u64; SLOTS],
    texts: Vec<(Slot, Text)>,
    /// Index of the type whose values these are.
    ty: usize,
    /// The slots that it fills.
    filled: Vec<Slot>,
}

impl Default for Values {
    fn default() -> Values {
        Values { numbers: [0; SLOTS], texts: Vec::new(), ty: usize::MAX, filled: Vec::new() }
    }
}

impl Values {
    /// Forgets what another type's events left. Those of the same type fill the
    /// same slots again.
    #[inline]
    fn make_ready(&mut self, plan: &Plan) {
        self.texts.clear();
        if self.ty == plan.ty {
            return;
        }
        for slot in self.filled.drain(..) {
            self.numbers[slot.index()] = 0;
        }
        self.filled.extend(&plan.fills);
        self.ty = plan.ty;
    }

    /// A number; 0 if the event has none.
    #[inline]
    pub(crate) fn get(&self, slot: Slot) -> u64 {
        self.numbers[slot.index()]
    }

    /// A floating-point number.
    pub(crate) fn float(&self, slot: Slot) -> f32 {
        f32::from_bits(self.get(slot) as u32)
    }

    /// A string; empty if the event has none.
    pub(crate) fn text(&self, slot: Slot) -> Arc<str> {
        match self.texts.iter().find(|(at, _)| *at == slot) {
            Some((_, Text::Here(text))) => text.as_str().into(),
            _ => "".into(),
        }
    }
}

/// See the module's description.
pub(crate) struct Plan {
    pub(crate) kind: EventKind,
    pub(crate) name: Arc<str>,
    /// Index of the type in the schema.
    pub(crate) ty: usize,
    steps: Vec<Step>,
    /// The slots that the steps fill with numbers.
    fills: Vec<Slot>,
}

impl Plan {
    pub(crate) fn new(ty: usize, schema: &Schema) -> Plan {
        let Type { name, fields, .. } = &schema.types[ty];
        let kind = kinds::of(name);
        let mut steps: Vec<Step> = match kind == kinds::OTHER || kinds::is_apart(kind) {
            true => Vec::new(),
            false => fields.iter().enumerate().map(|(i, field)| step(i, field, schema)).collect(),
        };
        // What stands behind the last value of use need not be walked.
        let used = steps.iter().rposition(|s| !matches!(s, Step::Skip(_) | Step::SkipByte | Step::SkipNumber(_)));
        steps.truncate(used.map_or(0, |last| last + 1));
        let fills = steps.iter().filter_map(Step::fills).collect();
        Plan { kind, name: name.clone(), ty, steps, fills }
    }

    /// Reads an event's values; `None` if it is damaged.
    #[inline]
    pub(crate) fn read(
        &self,
        cursor: &mut Cursor<'_>,
        schema: &Schema,
        ticks: &Ticks,
        values: &mut Values,
    ) -> Option<()> {
        values.make_ready(self);
        for step in &self.steps {
            match *step {
                Step::Number(width, slot) => values.numbers[slot.index()] = cursor.integer(usize::from(width))?,
                Step::FromOne(width, slot) => {
                    let value = cursor.integer(usize::from(width))? as i32;
                    values.numbers[slot.index()] = u64::from(value.wrapping_add(1) as u32);
                }
                Step::Time(slot) => values.numbers[slot.index()] = ticks.time(cursor.long()?),
                Step::TickSpan(slot) => values.numbers[slot.index()] = ticks.span(cursor.long()?),
                Step::Span(nanos, slot) => {
                    let span = cursor.long()?;
                    let span = if (span as i64) < 0 { 0 } else { span.saturating_mul(nanos) };
                    values.numbers[slot.index()] = span;
                }
                Step::Byte(slot) => values.numbers[slot.index()] = u64::from(cursor.byte()?),
                Step::Float(slot) => values.numbers[slot.index()] = u64::from(cursor.float()?.to_bits()),
                Step::Text(slot) => values.texts.push((slot, cursor.string()?)),
                Step::SkipNumber(width) => {
                    cursor.integer(usize::from(width))?;
                }
                Step::SkipByte => {
                    cursor.byte()?;
                }
                Step::Skip(field) => schema.skip(&schema.types[self.ty].fields[field], cursor)?,
            }
        }
        Some(())
    }
}

fn step(index: usize, field: &Field, schema: &Schema) -> Step {
    let Some(ty) = schema.types.get(field.ty).filter(|_| !field.array) else {
        return Step::Skip(index);
    };
    let slot = Slot::named(&field.name);
    let wire = if field.pool { Wire::Integer(8) } else { ty.wire };
    match (wire, slot) {
        (Wire::Integer(8), Some(slot)) => match field.unit {
            Unit::TickTime => Step::Time(slot),
            Unit::TickSpan => Step::TickSpan(slot),
            Unit::Span(nanos) => Step::Span(nanos, slot),
            Unit::None | Unit::EpochTime(_) => Step::Number(8, slot),
        },
        (Wire::Integer(width), Some(slot)) if slot == slot!("cpu") => Step::FromOne(width, slot),
        (Wire::Integer(width), Some(slot)) => Step::Number(width, slot),
        (Wire::Integer(width), None) => Step::SkipNumber(width),
        (Wire::Byte, Some(slot)) => Step::Byte(slot),
        (Wire::Byte, None) => Step::SkipByte,
        (Wire::Float, Some(slot)) => Step::Float(slot),
        (Wire::String, Some(slot)) => Step::Text(slot),
        _ => Step::Skip(index),
    }
}
