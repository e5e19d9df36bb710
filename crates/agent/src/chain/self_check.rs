//! The walker checks itself: the first chains that it takes in a recording are
//! compared, frame by frame, with what JVMTI says about the same stack. At the
//! first difference it steps aside.

use crate::jvmti::table::FrameInfo;
use headway_hotspot::{DecodedFrame, Memory};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Room that JVMTI is given: deeper stacks are compared as far as that.
pub const MAX_EXPECTED: usize = 1024;
/// How many different chains are compared.
const CHECKS: u32 = 32;

/// Where walker and JVMTI differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Index of the first frame that differs, leaf first.
    pub frame: usize,
    /// Frames that the walker found.
    pub walked: usize,
    /// Frames that JVMTI found.
    pub expected: usize,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the stack walker and JVMTI disagree at frame {} ({} and {} frames)",
            self.frame, self.walked, self.expected
        )
    }
}

/// See the module.
#[derive(Default)]
pub struct SelfCheck {
    done: AtomicU32,
    failed: AtomicBool,
    difference: Mutex<Option<Difference>>,
}

impl SelfCheck {
    /// Begins again: a recording starts.
    pub fn reset(&self) {
        self.done.store(0, Ordering::Relaxed);
    }

    /// True while more chains are to be compared.
    pub fn is_due(&self) -> bool {
        self.done.load(Ordering::Relaxed) < CHECKS
    }

    /// How it failed.
    pub fn difference(&self) -> Option<Difference> {
        *self.difference.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares one chain. The difference is returned to whoever finds it first.
    /// `are_versions` says of two methods whether they are versions of one, from
    /// before and after a class was redefined: JVMTI names the newest, frames hold
    /// the one that they run.
    pub fn compare(
        &self,
        memory: &impl Memory,
        walked: &[DecodedFrame],
        expected: &[FrameInfo],
        are_versions: impl Fn(u64, u64) -> bool,
    ) -> Option<Difference> {
        self.done.fetch_add(1, Ordering::Relaxed);
        let difference = first_difference(memory, walked, expected, are_versions)?;
        if self.failed.swap(true, Ordering::Relaxed) {
            return None;
        }
        *self.difference.lock().unwrap_or_else(PoisonError::into_inner) = Some(difference);
        Some(difference)
    }
}

fn first_difference(
    memory: &impl Memory,
    walked: &[DecodedFrame],
    expected: &[FrameInfo],
    are_versions: impl Fn(u64, u64) -> bool,
) -> Option<Difference> {
    let differs = walked.iter().zip(expected).position(|(walked, expected)| {
        // A method id is the address of a cell that holds the method.
        let method = memory.read_u64(expected.method as u64);
        let same_place = walked.approximate || i64::from(walked.bci) == expected.location;
        let same_method = method.is_some_and(|method| method == walked.method || are_versions(method, walked.method));
        !same_method || !same_place
    });
    let frame = match differs {
        Some(frame) => frame,
        None if walked.len() == expected.len() => return None,
        // A stack deeper than what JVMTI was given room for.
        None if expected.len() >= MAX_EXPECTED && walked.len() > expected.len() => return None,
        None => walked.len().min(expected.len()),
    };
    Some(Difference { frame, walked: walked.len(), expected: expected.len() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_hotspot::Fragments;
    use headway_model::FrameKind;

    /// Method ids 0x100, 0x108, ... hold methods 0x1000, 0x2000, ...
    fn memory() -> Fragments {
        let mut memory = Fragments::new();
        let cells = (1..=4u64).flat_map(|n| (n * 0x1000).to_le_bytes()).collect();
        memory.add(0x100, cells);
        memory
    }

    fn expected(frames: &[(u64, i64)]) -> Vec<FrameInfo> {
        let info = |&(n, location)| FrameInfo { method: (0xf8 + n * 8) as *mut _, location };
        frames.iter().map(info).collect()
    }

    fn walked(frames: &[(u64, i32)]) -> Vec<DecodedFrame> {
        let frame = |&(n, bci)| DecodedFrame {
            method: n * 0x1000,
            bci,
            kind: FrameKind::Compiled,
            approximate: false,
            record: 0,
        };
        frames.iter().map(frame).collect()
    }

    fn check(ours: &[(u64, i32)], theirs: &[(u64, i64)], at: Option<usize>) {
        let check = SelfCheck::default();
        let difference = check.compare(&memory(), &walked(ours), &expected(theirs), |_, _| false);
        assert_eq!(difference.map(|d| d.frame), at);
        assert_eq!(check.difference().is_some(), at.is_some());
        assert_eq!(check.difference(), difference);
    }

    #[test]
    fn equal_chains_agree() {
        check(&[(1, 5), (2, -1)], &[(1, 5), (2, -1)], None);
    }

    #[test]
    fn another_method_bytecode_or_length_is_a_difference() {
        check(&[(1, 5), (3, 7)], &[(1, 5), (2, 7)], Some(1));
        check(&[(1, 5)], &[(1, 6)], Some(0));
        check(&[(1, 5)], &[(1, 5), (2, 7)], Some(1));
        check(&[(1, 5), (2, 7)], &[(1, 5)], Some(1));
    }

    #[test]
    fn an_older_version_of_the_same_method_is_no_difference() {
        let versions = |current, walked| (current, walked) == (0x2000, 0x3000);
        let compare = |ours: &[(u64, i32)]| {
            SelfCheck::default().compare(&memory(), &walked(ours), &expected(&[(1, 5), (2, 7)]), versions)
        };
        assert_eq!(compare(&[(1, 5), (3, 7)]), None);
        assert_eq!(compare(&[(1, 5), (3, 8)]).map(|d| d.frame), Some(1), "another place");
        assert_eq!(compare(&[(1, 5), (4, 7)]).map(|d| d.frame), Some(1), "another method");
    }

    #[test]
    fn an_end_comes_to_the_checks() {
        let check = SelfCheck::default();
        for _ in 0..CHECKS {
            assert!(check.is_due());
            assert_eq!(check.compare(&memory(), &[], &[], |_, _| false), None);
        }
        assert!(!check.is_due());
    }
}
