//! Calls in compiled methods that the VM's tables know, remembered: the same
//! few thousand return addresses stand in nearly all stacks.

use crate::frame::FrameRecord;

/// Places remembered, a power of two. One that falls on another's takes its place.
const PLACES: usize = 8_192;
/// Spreads keys (the golden ratio's fraction of 2^64).
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Keys of frames that were found to stand at a call. A compiled method keeps its
/// tables for as long as it has its compile id, so that nothing has to be forgotten.
#[derive(Debug)]
pub struct KnownCalls {
    keys: Box<[[u64; 2]]>,
}

impl Default for KnownCalls {
    fn default() -> KnownCalls {
        KnownCalls { keys: vec![[0; 2]; PLACES].into() }
    }
}

impl KnownCalls {
    /// True if the frame stands at a known call: remembered, or as `look` says.
    /// What is not known is asked again the next time.
    pub fn holds(&mut self, record: &FrameRecord, look: impl FnOnce() -> bool) -> bool {
        let key = record.key();
        let at = (key[0] ^ key[1].rotate_left(32)).wrapping_mul(SPREAD) >> (u64::BITS - PLACES.ilog2());
        let Some(place) = self.keys.get_mut(at as usize) else { return look() };
        if *place == key {
            return true;
        }
        let is_known = look();
        if is_known {
            *place = key;
        }
        is_known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::RecordKind;

    fn compiled(pc: u64, compile_id: u32) -> FrameRecord {
        FrameRecord { pc, compile_id, kind: RecordKind::Compiled, ..FrameRecord::default() }
    }

    #[test]
    fn what_is_known_is_not_looked_up_again() {
        let mut calls = KnownCalls::default();
        assert!(calls.holds(&compiled(0x7f00_1000, 5), || true));
        assert!(calls.holds(&compiled(0x7f00_1000, 5), || unreachable!("remembered")));
    }

    #[test]
    fn what_is_not_known_is_looked_up_each_time() {
        let mut calls = KnownCalls::default();
        assert!(!calls.holds(&compiled(0x7f00_1000, 5), || false));
        assert!(calls.holds(&compiled(0x7f00_1000, 5), || true));
    }

    #[test]
    fn other_code_at_the_same_address_is_another_call() {
        let mut calls = KnownCalls::default();
        assert!(calls.holds(&compiled(0x7f00_1000, 5), || true));
        assert!(!calls.holds(&compiled(0x7f00_1000, 6), || false));
    }

    #[test]
    fn as_many_as_there_are_do_not_mix() {
        let mut calls = KnownCalls::default();
        for pc in 1..=4 * PLACES as u64 {
            assert!(calls.holds(&compiled(pc, 7), || true));
            assert!(!calls.holds(&compiled(pc, 8), || false));
        }
    }
}
