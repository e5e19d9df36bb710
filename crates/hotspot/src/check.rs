//! Does the walker agree with the VM's own stack trace? Asked at start, on live
//! threads; where it does not, it must not be used.

use crate::decode::DecodedFrame;
use crate::memory::Memory;

/// A frame as JVMTI's GetStackTrace gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedFrame {
    /// The `jmethodID`, as a number.
    pub method_id: u64,
    /// The location: bytecode index, -1 for native methods.
    pub location: i64,
}

/// The first difference between two stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disagreement {
    /// They differ in length.
    Length {
        /// JVMTI's.
        expected: usize,
        /// The walker's.
        found: usize,
    },
    /// Another method in this frame, counted from the leaf.
    Method {
        /// Which frame.
        frame: usize,
        /// The `Method*` behind JVMTI's `jmethodID`.
        expected: u64,
        /// The walker's.
        found: u64,
    },
    /// The right method at another bytecode.
    Location {
        /// Which frame.
        frame: usize,
        /// JVMTI's.
        expected: i64,
        /// The walker's.
        found: i64,
    },
}

impl std::fmt::Display for Disagreement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Disagreement::Length { expected, found } => {
                write!(f, "the walker finds {found} frames, JVMTI {expected}")
            }
            Disagreement::Method { frame, expected, found } => {
                write!(f, "frame {frame}: the walker finds method {found:#x}, JVMTI {expected:#x}")
            }
            Disagreement::Location { frame, expected, found } => {
                write!(f, "frame {frame}: the walker finds bytecode {found}, JVMTI {expected}")
            }
        }
    }
}

/// Compares a whole decoded chain with JVMTI's stack of the same thread at the
/// same point. A `jmethodID` is dereferenced to its `Method*`, which holds up to
/// 25 (later releases make it a number; then every method disagrees).
///
/// # Errors
/// The first difference, frames compared from the leaf before lengths.
pub fn agrees<M: Memory>(memory: &M, frames: &[DecodedFrame], expected: &[ExpectedFrame]) -> Result<(), Disagreement> {
    for (frame, (ours, theirs)) in frames.iter().zip(expected).enumerate() {
        let method = memory.read_u64(theirs.method_id).unwrap_or(0);
        if method != ours.method {
            return Err(Disagreement::Method { frame, expected: method, found: ours.method });
        }
        let found = i64::from(ours.bci);
        if found != theirs.location {
            return Err(Disagreement::Location { frame, expected: theirs.location, found });
        }
    }
    match frames.len() == expected.len() {
        true => Ok(()),
        false => Err(Disagreement::Length { expected: expected.len(), found: frames.len() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Fragments;
    use headway_model::FrameKind;

    fn frame(method: u64, bci: i32) -> DecodedFrame {
        DecodedFrame { method, bci, kind: FrameKind::Compiled, approximate: false, record: 0 }
    }

    #[test]
    fn the_first_difference_is_named() {
        let mut memory = Fragments::new();
        memory.add(0x100, 0x7000u64.to_le_bytes().to_vec());
        memory.add(0x108, 0x8000u64.to_le_bytes().to_vec());
        let expected = [(0x100, 5), (0x108, -1)].map(|(method_id, location)| ExpectedFrame { method_id, location });
        let check = |frames: &[DecodedFrame]| agrees(&memory, frames, &expected);
        assert_eq!(check(&[frame(0x7000, 5), frame(0x8000, -1)]), Ok(()));
        assert_eq!(check(&[frame(0x7000, 5)]), Err(Disagreement::Length { expected: 2, found: 1 }));
        assert_eq!(check(&[frame(0x7000, 6)]), Err(Disagreement::Location { frame: 0, expected: 5, found: 6 }));
        assert_eq!(
            check(&[frame(0x7000, 5), frame(0x7000, -1)]),
            Err(Disagreement::Method { frame: 1, expected: 0x8000, found: 0x7000 })
        );
    }
}
