//! Chains by JVMTI `GetStackTrace`: exact and slow. The reference that the
//! agent's own walker is checked against, and what is used where the walker
//! does not check out.

use crate::definitions::Definitions;
use crate::jni::Jni;
use crate::jvmti::table::{FrameInfo, LineNumberEntry};
use crate::jvmti::Jvmti;
use crate::naming::class_name;
use headway_model::{CallChain, Frame, FrameKind, Method};
use jni_sys::jmethodID;

/// Deepest stack that is taken. The rest is marked truncated.
pub const MAX_FRAMES: usize = 1024;

const ACC_NATIVE: u32 = 0x0100;

/// Words that identify a chain for the set of chains: method and place of
/// every frame.
pub fn key_of(frames: &[FrameInfo], key: &mut Vec<u64>) {
    key.clear();
    for frame in frames {
        key.push(frame.method as u64);
        key.push(frame.location as u64);
    }
}

/// Names the frames. Must run on the thread whose stack this is, before it
/// returns from the event: that keeps the methods alive.
pub fn resolve(jvmti: &Jvmti, jni: Jni, definitions: &Definitions, frames: &[FrameInfo], truncated: bool) -> CallChain {
    let frames = frames.iter().map(|frame| resolve_frame(jvmti, jni, definitions, frame)).collect();
    CallChain { frames, truncated }
}

fn resolve_frame(jvmti: &Jvmti, jni: Jni, definitions: &Definitions, frame: &FrameInfo) -> Frame {
    let method = method_of(jvmti, jni, frame.method);
    let native = method.access_flags & ACC_NATIVE != 0;
    let line = if native { 0 } else { line_of(jvmti, frame) };
    Frame {
        method: definitions.method(method),
        bci: i32::try_from(frame.location).unwrap_or(-1),
        line,
        // JVMTI does not say whether a frame is compiled.
        kind: if native { FrameKind::Native } else { FrameKind::Interpreted },
        approximate: false,
    }
}

/// Names of a method.
pub fn method_of(jvmti: &Jvmti, jni: Jni, method: jmethodID) -> Method {
    let (name, descriptor) = jvmti.method_name(method).unwrap_or_default();
    let mut found = Method {
        name: name.into(),
        descriptor: descriptor.into(),
        access_flags: jvmti.method_modifiers(method).unwrap_or(0),
        ..Method::default()
    };
    if let Ok(class) = jvmti.method_class(method) {
        let signature = jvmti.class_signature(class).unwrap_or_default();
        let (class_name, hidden) = class_name(&signature);
        found.class = class_name;
        found.hidden = hidden;
        found.source_file = jvmti.source_file(class).unwrap_or_default().into();
        jni.forget(class);
    }
    found
}

/// Line of a frame, 0 if unknown.
pub fn line_of(jvmti: &Jvmti, frame: &FrameInfo) -> u32 {
    let table = jvmti.line_numbers(frame.method).unwrap_or_default();
    line_at(&table, frame.location)
}

fn line_at(table: &[LineNumberEntry], location: i64) -> u32 {
    let best = table.iter().filter(|entry| entry.start_location <= location).max_by_key(|entry| entry.start_location);
    best.and_then(|entry| u32::try_from(entry.line_number).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_that_of_the_last_entry_before() {
        let entry = |start_location, line_number| LineNumberEntry { start_location, line_number };
        let table = [entry(0, 10), entry(8, 14), entry(4, 12)];
        assert_eq!(line_at(&table, 5), 12);
        assert_eq!(line_at(&table, 100), 14);
        assert_eq!(line_at(&[], 5), 0);
    }
}
