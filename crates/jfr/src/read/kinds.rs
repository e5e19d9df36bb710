//! What an event is, by the name of its type.

use crate::schema::{TypeId, WRITTEN_EVENTS};

pub(crate) use crate::schema::id::*;

/// The number of the type in our schema that an event has, or stands for. Types that only others write have
/// numbers beyond those.
pub(crate) type EventKind = TypeId;

/// Types that only others write, one entry each.
macro_rules! foreign_types {
    ($($kind:ident = $number:literal, $name:literal;)*) => {
        $(pub(crate) const $kind: EventKind = $number;)*
        const FOREIGN: &[(&str, EventKind)] = &[$(($name, $kind)),*];
    };
}

foreign_types! {
    NATIVE_LOCK = 128, "profiler.NativeLock";
    SAMPLES_LOST = 129, "jdk.CPUTimeSamplesLost";
    DATA_LOSS = 130, "jdk.DataLoss";
    SAFEPOINT_BEGIN = 131, "jdk.SafepointBegin";
    SAFEPOINT_END = 132, "jdk.SafepointEnd";
}

/// Types of others that say the same as one of ours.
const ALIASES: &[(&str, EventKind)] =
    &[("jdk.CPUTimeSample", EXECUTION_SAMPLE), ("profiler.WallClockSample", WALL_SAMPLE)];

/// An event of which only the name is read.
pub(crate) const OTHER: EventKind = EventKind::MAX;

/// The kind of the events of a type.
pub(super) fn of(name: &str) -> EventKind {
    let ours = WRITTEN_EVENTS.into_iter().flatten().find(|ty| ty.name == name).map(|ty| ty.id);
    let theirs = || FOREIGN.iter().chain(ALIASES).find(|(theirs, _)| *theirs == name).map(|(_, kind)| *kind);
    ours.or_else(theirs).unwrap_or(OTHER)
}

/// Facts about the recording, read before everything else of a chunk.
pub(super) const fn is_info(kind: EventKind) -> bool {
    matches!(kind, JVM_INFORMATION | ACTIVE_SETTING | RECORDING)
}

/// What completes the event behind it.
pub(super) const fn is_detail(kind: EventKind) -> bool {
    matches!(kind, ENTER_DETAIL | WAIT_DETAIL | PARK_DETAIL | SAMPLE_DETAIL)
}

/// What is no event of the recording: read before everything else of a chunk, or only room.
pub(super) const fn is_apart(kind: EventKind) -> bool {
    is_info(kind) || matches!(kind, LOCK_DEFINITION | SERVICE_THREAD | RESERVE)
}
