//! The types of a Headway recording: what the metadata event of each chunk
//! declares. The standard types have the fields, in the order, with the
//! annotations that the JDK gives them; what Headway adds comes last.
//!
//! The numbers are private to a file (readers go by names), but a recording
//! that is continued or cut together keeps them, so they do not change.

mod absent;
mod causal;
mod detail;
mod headway;
mod jdk;
mod steal;
pub(crate) mod values;

pub(crate) use absent::ABSENT_EVENTS;
pub(crate) use causal::CAUSAL_EVENTS;
pub(crate) use detail::DETAIL_EVENTS;
pub(crate) use headway::HEADWAY_EVENTS;
pub(crate) use jdk::JDK_EVENTS;
pub(crate) use steal::STEAL_EVENTS;
pub(crate) use values::VALUES;

/// Version of what `headway.*` events mean; in every `headway.Recording` event.
/// It grows when a reader of an older version would misunderstand a recording.
pub const FORMAT_VERSION: u32 = 2;

/// A type's number.
pub(crate) type TypeId = u8;

/// Numbers of all types, those of events below 128 so that they take one byte.
pub(crate) mod id {
    pub(crate) use super::absent::ids::*;
    pub(crate) use super::causal::ids::*;
    pub(crate) use super::detail::ids::*;
    pub(crate) use super::headway::ids::*;
    pub(crate) use super::jdk::ids::*;
    pub(crate) use super::steal::ids::*;
    use super::TypeId;
    pub(crate) const METADATA: TypeId = 0;
    pub(crate) const CHECKPOINT: TypeId = 1;
    pub(crate) const BOOLEAN: TypeId = 4;
    pub(crate) const INT: TypeId = 5;
    pub(crate) const LONG: TypeId = 6;
    pub(crate) const FLOAT: TypeId = 7;
    pub(crate) const STRING: TypeId = 8;
    pub(crate) const BYTE: TypeId = 9;
    pub(crate) const CHAR: TypeId = 10;
    pub(crate) const SHORT: TypeId = 11;
    pub(crate) const DOUBLE: TypeId = 12;
    pub(crate) const THREAD: TypeId = 20;
    pub(crate) const THREAD_GROUP: TypeId = 21;
    pub(crate) const CLASS: TypeId = 22;
    pub(crate) const CLASS_LOADER: TypeId = 23;
    pub(crate) const PACKAGE: TypeId = 24;
    pub(crate) const MODULE: TypeId = 25;
    pub(crate) const SYMBOL: TypeId = 26;
    pub(crate) const METHOD: TypeId = 27;
    pub(crate) const STACK_TRACE: TypeId = 28;
    pub(crate) const STACK_FRAME: TypeId = 29;
    pub(crate) const FRAME_TYPE: TypeId = 30;
    pub(crate) const THREAD_STATE: TypeId = 31;
    pub(crate) const LOCK: TypeId = 32;
    pub(crate) const EXIT_CAUSE: TypeId = 33;
    pub(crate) const WAIT_OUTCOME: TypeId = 34;
    pub(crate) const LOSS_CAUSE: TypeId = 35;
    pub(crate) const PARK_OUTCOME: TypeId = 36;
    pub(crate) const SOURCE_FILE: TypeId = 37;
    pub(crate) const APPROXIMATE_FRAMES: TypeId = 38;
    pub(crate) const LABEL: TypeId = 40;
    pub(crate) const DESCRIPTION: TypeId = 41;
    pub(crate) const CATEGORY: TypeId = 42;
    pub(crate) const TIMESTAMP: TypeId = 43;
    pub(crate) const TIMESPAN: TypeId = 44;
    pub(crate) const UNSIGNED: TypeId = 45;
    pub(crate) const MEMORY_ADDRESS: TypeId = 46;
    pub(crate) const MONITOR_ADDRESS: TypeId = 47;
    pub(crate) const PERCENTAGE: TypeId = 48;
    pub(crate) const DATA_AMOUNT: TypeId = 49;
    pub(crate) const CONTENT_TYPE: TypeId = 50;
    pub(crate) const RELATIONAL: TypeId = 51;
}

/// What a type is, which decides its super type in the metadata.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A number, a string, or a structure.
    Plain,
    /// A constant that stands for its only field.
    Simple,
    /// An annotation.
    Annotation,
    /// An event.
    Event,
}

/// An annotation on a type or a field, by the annotation's type.
#[derive(Clone, Copy)]
pub(crate) enum Note {
    Label(&'static str),
    Description(&'static str),
    Category(&'static [&'static str]),
    /// Bears no value: [`id::UNSIGNED`], [`id::MEMORY_ADDRESS`], ...
    Bare(TypeId),
    /// Bears one value: unit of [`id::TIMESTAMP`], [`id::TIMESPAN`], ...
    Unit(TypeId, &'static str),
}

/// How a field's value lies in an event or constant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    /// The value itself.
    Inline,
    /// A number that refers to a constant.
    Pool,
    /// A count and that many values.
    Array,
}

/// A field of a type.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) ty: TypeId,
    pub(crate) store: Store,
    pub(crate) notes: &'static [Note],
}

/// A type.
pub(crate) struct Type {
    pub(crate) id: TypeId,
    pub(crate) name: &'static str,
    pub(crate) role: Role,
    pub(crate) fields: &'static [Field],
    pub(crate) notes: &'static [Note],
}

/// Fields as a table: name, how the value lies in the event, type, annotations.
macro_rules! fields {
    ($($name:literal $store:ident $ty:ident [$($note:expr),*];)*) => {
        &[$(Field { name: $name, ty: id::$ty, store: Store::$store, notes: &[$($note),*] }),*]
    };
}
use fields;

/// Types of events as a table, one entry each: number, name, fields, annotations. The numbers are constants
/// in [`id`].
macro_rules! event_types {
    ($(#[$doc:meta])* $table:ident: $($number_name:ident = $number:literal, $name:literal, $fields:expr, $notes:expr;)*) => {
        pub(crate) mod ids {
            use super::super::TypeId;
            $(pub(crate) const $number_name: TypeId = $number;)*
        }

        $(#[$doc])*
        pub(crate) const $table: &[Type] = &[$(super::event(id::$number_name, $name, $fields, $notes)),*];
    };
}
use event_types;

use Note::{Category, Description, Unit};

const TICKS: Note = Unit(id::TIMESTAMP, "TICKS");
const TICK_SPAN: Note = Unit(id::TIMESPAN, "TICKS");
const NANO_SPAN: Note = Unit(id::TIMESPAN, "NANOSECONDS");
const LOCKS: Note = Category(&["Headway", "Locks"]);
const HEADWAY: Note = Category(&["Headway"]);
const JAVA_APPLICATION: Note = Category(&["Java Application"]);
const PROFILING: Note = Category(&["Java Virtual Machine", "Profiling"]);
const SEQ: Note = Description("Place in the lock's own order of events, as a step: 0 not numbered, otherwise 1 + zigzag(place - place of the lock's previous event in this chunk - 1)");
const PARK_SEQ: Note = Description("Place in the order of all parks and unparks of the process, as a step: 0 not numbered, otherwise 1 + zigzag(place - place of the previous one in this chunk - 1)");
const BACK: Note = Description("0 not numbered, otherwise 1 + zigzag(this event's place - that place)");
const WEIGHT: Note = Description("Time that the sample stands for");
const CPU: Note = Description("Number of the CPU that the thread ran on, -1 if unknown");
const STACK: Note = Description("Stack Trace starting from the method the event was committed in");
const COMMITTER: Note = Description("Thread in which event was committed in");

const fn plain(id: TypeId, name: &'static str) -> Type {
    Type { id, name, role: Role::Plain, fields: &[], notes: &[] }
}

const fn simple(id: TypeId, name: &'static str, fields: &'static [Field], notes: &'static [Note]) -> Type {
    Type { id, name, role: Role::Simple, fields, notes }
}

const fn annotation(id: TypeId, name: &'static str, fields: &'static [Field], notes: &'static [Note]) -> Type {
    Type { id, name, role: Role::Annotation, fields, notes }
}

const fn event(id: TypeId, name: &'static str, fields: &'static [Field], notes: &'static [Note]) -> Type {
    Type { id, name, role: Role::Event, fields, notes }
}

/// The types of the events that Headway writes.
pub(crate) const WRITTEN_EVENTS: [&[Type]; 5] =
    [JDK_EVENTS, DETAIL_EVENTS, HEADWAY_EVENTS, STEAL_EVENTS, CAUSAL_EVENTS];

/// All types, in the order in which the metadata declares them.
pub(crate) fn types() -> impl Iterator<Item = &'static Type> {
    JDK_EVENTS
        .iter()
        .chain(ABSENT_EVENTS)
        .chain(DETAIL_EVENTS)
        .chain(HEADWAY_EVENTS)
        .chain(STEAL_EVENTS)
        .chain(CAUSAL_EVENTS)
        .chain(VALUES)
}

/// Frame types, by number.
pub(crate) const FRAME_TYPES: [&str; 4] = ["Interpreted", "JIT compiled", "Inlined", "Native"];
/// The thread state of samples on the CPU, with the JDK's number for it.
pub(crate) const RUNNABLE: (u64, &str) = (5, "STATE_RUNNABLE");
/// The thread state of samples of a thread that waits, with JVMTI's number for
/// it; the JDK distinguishes kinds of waiting.
pub(crate) const WAITING: (u64, &str) = (129, "STATE_WAITING");
/// The stack trace of standard events that have none: tools fail on a sample
/// without a stack. Beyond the ids that the agent gives.
pub(crate) const NO_STACK: u64 = 1 << 30;
/// The method of its only frame; it has the same number.
pub(crate) const NO_STACK_METHOD: &str = "[no_stack]";
/// Exit causes, by number.
pub(crate) const EXIT_CAUSES: [&str; 2] = ["exit", "wait"];
/// Wait outcomes, by number.
pub(crate) const WAIT_OUTCOMES: [&str; 3] = ["notified", "timed out", "interrupted"];
/// Park outcomes, by number.
pub(crate) const PARK_OUTCOMES: [&str; 5] = ["unknown", "unparked", "timed out", "interrupted", "spurious"];

/// Small numbers of either sign become small numbers.
#[inline]
pub(crate) fn zigzag(difference: u64) -> u64 {
    (difference << 1) ^ (((difference as i64) >> 63) as u64)
}

/// The inverse of [`zigzag`].
#[inline]
pub(crate) fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may end like that
mod tests {
    use super::*;
    use std::collections::{HashMap, HashSet};

    #[test]
    fn differences_of_either_sign_come_back() {
        for value in [0u64, 1, 2, u64::MAX, u64::MAX - 1, 1 << 63, 12345] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        assert_eq!((zigzag(1), zigzag(u64::MAX), zigzag(2)), (2, 1, 4));
    }

    /// Name and shape of each field of the types in a chunk, by the type's name.
    fn shapes(chunk: &[u8], schema: &crate::read::Schema) -> HashMap<String, Vec<String>> {
        assert!(!chunk.is_empty());
        let field = |field: &crate::read::Field| {
            let ty = schema.types.get(field.ty).map_or("", |ty| &ty.name);
            format!("{ty} {} {:?} pool: {} array: {}", field.name, field.unit, field.pool, field.array)
        };
        let shape = |ty: &crate::read::Type| (ty.name.to_string(), ty.fields.iter().map(field).collect());
        schema.types.iter().map(shape).collect()
    }

    /// The JDK's own recording; what newer JDKs have is what all readers know.
    #[test]
    fn the_jdks_types_have_the_jdks_fields_and_no_others() {
        let parse = |bytes: &[u8]| {
            let mut cursor = crate::read::Cursor::new(bytes, true);
            cursor.int().unwrap();
            cursor.long().unwrap();
            crate::read::Schema::parse(cursor).unwrap()
        };
        let of_jdk = |release: u32| {
            let golden = format!("{}/tests/golden/jfr-{release}.jfr.zst", env!("CARGO_MANIFEST_DIR"));
            let bytes = zstd::stream::decode_all(&std::fs::read(golden).unwrap()[..]).unwrap();
            let header = crate::header::ChunkHeader::parse(&bytes).unwrap();
            shapes(&bytes, &parse(&bytes[header.metadata as usize..]))
        };
        let (theirs, before) = (of_jdk(25), of_jdk(21));
        let event = crate::write::metadata_event();
        let ours = shapes(event, &parse(event));
        let standard = types().filter(|ty| !ty.name.starts_with("headway.") && ty.role != Role::Annotation);
        let mut compared = 0;
        for ty in standard {
            let jdks = theirs.get(ty.name).unwrap_or_else(|| &before[ty.name]);
            assert_eq!(&ours[ty.name], jdks, "{}", ty.name);
            compared += 1;
        }
        assert!(compared > 25, "{compared} types");
        for primitive in ["boolean", "byte", "char", "short", "int", "long", "float", "double"] {
            assert!(ours.contains_key(primitive), "{primitive}");
        }
    }

    /// Other readers go by what the document says.
    #[test]
    fn the_formats_description_has_the_fields_of_every_event_in_their_order() {
        let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/recording-format.md");
        let document = std::fs::read_to_string(document).unwrap();
        let rows: Vec<&str> = document.lines().filter(|line| line.starts_with("| `")).collect();
        for ty in WRITTEN_EVENTS.into_iter().flatten() {
            let row = rows.iter().find_map(|row| {
                let (names, fields) = row.split_once(" | ")?;
                names.contains(&format!("`{}`", ty.name)).then_some(fields)
            });
            let mut rest = row.unwrap_or_else(|| panic!("docs/recording-format.md has no row of {}", ty.name));
            for Field { name, .. } in ty.fields {
                let after = rest.split_once(name).map(|(_, after)| after);
                rest = after.unwrap_or_else(|| panic!("docs/recording-format.md, {}: no {name} in its place", ty.name));
            }
        }
    }

    #[test]
    fn numbers_and_names_are_unique_and_every_field_has_a_declared_type() {
        let ids: HashSet<u8> = types().map(|t| t.id).collect();
        let names: HashSet<&str> = types().map(|t| t.name).collect();
        assert_eq!(ids.len(), types().count());
        assert_eq!(names.len(), types().count());
        for ty in types() {
            assert!(ty.id < 128, "{} must take one byte", ty.name);
            for field in ty.fields {
                assert!(ids.contains(&field.ty), "{}.{}", ty.name, field.name);
            }
        }
    }
}
