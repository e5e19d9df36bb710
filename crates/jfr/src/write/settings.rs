//! What a recording's settings mean for the JDK's event types, written as the JDK writes
//! it: one setting per event type and name.

use crate::schema::{self, id, TypeId};
use headway_model::event::RecordingInfo;

/// Hands out the number of an event type, a setting's name and its value. Nothing
/// if the recording does not say what it records.
pub(super) fn of_events(info: &RecordingInfo, setting: &mut impl FnMut(TypeId, &str, &str)) {
    let value = |name: &str| info.settings.iter().find(|(setting, _)| setting == name).map(|(_, v)| v.as_str());
    let Some(events) = value("events") else { return };
    let records = |feature: &str| events.split([',', '+']).any(|event| event == feature);
    for ty in schema::JDK_EVENTS.iter().chain(schema::ABSENT_EVENTS) {
        let enabled = match ty.id {
            id::MONITOR_ENTERED | id::MONITOR_WAITED => records("monitor") || records("lock"),
            id::THREAD_PARK | id::THREAD_PINNED => records("park") || records("lock"),
            id::EXECUTION_SAMPLE | id::NATIVE_SAMPLE => records("cpu") || records("wall"),
            _ => schema::JDK_EVENTS.iter().any(|written| written.id == ty.id),
        };
        setting(ty.id, "enabled", if enabled { "true" } else { "false" });
        if !enabled {
            continue;
        }
        match ty.id {
            id::MONITOR_ENTERED => setting(ty.id, "threshold", &nanos(value("min_duration"))),
            id::MONITOR_WAITED | id::THREAD_PINNED => setting(ty.id, "threshold", "0 ns"),
            id::THREAD_PARK => {
                let floors = ["min_duration", "park_floor"].map(|name| value(name).unwrap_or("0"));
                let longer = floors.into_iter().max_by_key(|floor| floor.parse::<u64>().unwrap_or(0));
                setting(ty.id, "threshold", &nanos(longer));
            }
            id::EXECUTION_SAMPLE | id::NATIVE_SAMPLE => {
                if let Some(interval) = value("interval") {
                    setting(ty.id, "period", &milliseconds(interval));
                }
            }
            _ => {}
        }
        if matches!(ty.id, id::MONITOR_ENTERED | id::MONITOR_WAITED | id::THREAD_PARK | id::THREAD_PINNED) {
            setting(ty.id, "stackTrace", "true");
        }
    }
}

fn nanos(value: Option<&str>) -> String {
    format!("{} ns", value.unwrap_or("0"))
}

/// `10000000 ns` as `10 ms`: Mission Control reads periods of JFR's own units only.
fn milliseconds(interval: &str) -> String {
    let nanos = interval.strip_suffix(" ns").and_then(|nanos| nanos.parse::<u64>().ok());
    match nanos {
        Some(nanos) if nanos % 1_000_000 == 0 => format!("{} ms", nanos / 1_000_000),
        _ => interval.to_owned(),
    }
}
