//! The frames that a place in the code stands for, remembered: in a stack that
//! was not seen before, all but the youngest frames usually were.

use headway_hotspot::{FrameRecord, Interrupted, RecordKind};
use headway_model::Frame;
use std::collections::HashMap;

/// Most places remembered, and most frames of them: three megabytes. All are
/// forgotten beyond.
const MAX_PLACES: usize = 32_768;
const MAX_FRAMES: usize = 65_536;

/// See the module.
#[derive(Default)]
pub struct Places {
    /// By the frame's key, where its methods are in `frames`.
    known: HashMap<[u64; 2], (u32, u32)>,
    frames: Vec<Frame>,
}

impl Places {
    /// Forgets everything: methods, or their ids, may have become others'.
    pub fn forget(&mut self) {
        self.known.clear();
        self.frames.clear();
    }

    /// Appends to `chain` the methods that a frame stands for, innermost first:
    /// remembered ones, or what `decode` appends. It returns how many of them it
    /// could not name; what is not whole is not remembered.
    pub fn append(
        &mut self,
        record: &FrameRecord,
        chain: &mut Vec<Frame>,
        decode: impl FnOnce(&mut Vec<Frame>) -> usize,
    ) -> usize {
        if !comes_again(record) {
            return decode(chain);
        }
        let key = record.key();
        if let Some(frames) = self.known.get(&key).and_then(|place| self.of(*place)) {
            chain.extend_from_slice(frames);
            return 0;
        }
        let before = chain.len();
        let unnamed = decode(chain);
        if unnamed == 0 {
            self.remember(key, chain.get(before..).unwrap_or_default());
        }
        unnamed
    }

    fn of(&self, (start, count): (u32, u32)) -> Option<&[Frame]> {
        self.frames.get(start as usize..)?.get(..count as usize)
    }

    fn remember(&mut self, key: [u64; 2], frames: &[Frame]) {
        if self.known.len() >= MAX_PLACES || self.frames.len() + frames.len() > MAX_FRAMES {
            self.forget();
        }
        self.known.insert(key, (self.frames.len() as u32, frames.len() as u32));
        self.frames.extend_from_slice(frames);
    }
}

/// True of frames that called somebody: where one is interrupted is another
/// instruction nearly each time.
fn comes_again(record: &FrameRecord) -> bool {
    let called = record.interrupted == Interrupted::No && !record.leaf_call;
    called && matches!(record.kind, RecordKind::Compiled | RecordKind::Interpreted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_model::{FrameKind, MethodId};

    fn call(pc: u64) -> FrameRecord {
        FrameRecord { pc, compile_id: 3, kind: RecordKind::Compiled, ..FrameRecord::default() }
    }

    fn method(id: u64) -> Frame {
        Frame { method: MethodId(id), bci: 4, line: 9, kind: FrameKind::Compiled, approximate: false }
    }

    #[test]
    fn a_place_is_decoded_once() {
        let mut places = Places::default();
        let mut chain = vec![method(1)];
        let inlined = |chain: &mut Vec<Frame>| {
            chain.extend([method(2), method(3)]);
            0
        };
        assert_eq!(places.append(&call(16), &mut chain, inlined), 0);
        assert_eq!(places.append(&call(16), &mut chain, |_| unreachable!("remembered")), 0);
        assert_eq!(chain, [1, 2, 3, 2, 3].map(method));
    }

    #[test]
    fn a_place_that_stands_for_nothing_is_remembered_as_that() {
        let mut places = Places::default();
        let mut chain = Vec::new();
        assert_eq!(places.append(&call(16), &mut chain, |_| 0), 0);
        assert_eq!(places.append(&call(16), &mut chain, |_| unreachable!("remembered")), 0);
        assert_eq!(chain, []);
    }

    #[test]
    fn what_could_not_be_named_is_tried_again() {
        let mut places = Places::default();
        let mut chain = Vec::new();
        assert_eq!(places.append(&call(16), &mut chain, |_| 1), 1);
        let named = |chain: &mut Vec<Frame>| {
            chain.push(method(2));
            0
        };
        assert_eq!(places.append(&call(16), &mut chain, named), 0);
        assert_eq!(chain, [method(2)]);
    }

    #[test]
    fn where_a_method_was_interrupted_is_not_remembered() {
        let mut places = Places::default();
        let leaf = FrameRecord { interrupted: Interrupted::Body, ..call(16) };
        for _ in 0..2 {
            assert_eq!(places.append(&leaf, &mut Vec::new(), |_| 1), 1);
        }
        assert!(places.known.is_empty());
    }

    #[test]
    fn too_many_are_forgotten() {
        let mut places = Places::default();
        for pc in 0..=MAX_PLACES as u64 {
            places.append(&call(pc), &mut Vec::new(), |_| 0);
        }
        assert_eq!(places.known.len(), 1);
        let many = |chain: &mut Vec<Frame>| {
            chain.resize(MAX_FRAMES, method(2));
            0
        };
        places.append(&call(1), &mut Vec::new(), many);
        assert_eq!((places.known.len(), places.frames.len()), (2, MAX_FRAMES));
        places.append(&call(2), &mut Vec::new(), |chain| {
            chain.push(method(5));
            0
        });
        assert_eq!((places.known.len(), places.frames.len()), (1, 1));
    }
}
