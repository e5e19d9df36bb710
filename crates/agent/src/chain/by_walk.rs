//! Chains by the agent's own walker: physical frames without decoding, looked
//! up by their key, and decoded only when they are seen for the first time.

use crate::definitions::Definitions;
use crate::vm::Known;
use headway_hotspot::{
    decode, key_words, thread, walk_light, DecodeOptions, DecodedFrame, FrameRecord, LiveMemory,
    Registers, WalkEnd, WalkResult,
};
use headway_hotspot::method::Method;
use headway_model::{CallChain, Frame};

/// Most physical frames that are walked.
pub const MAX_RECORDS: usize = 1024;
/// Room that a thread's first walk gets; more if its stack is deeper.
const FIRST_RECORDS: usize = 128;

/// Where a walk begins.
#[derive(Clone, Copy, Debug)]
pub enum From {
    /// The last Java frame: JVMTI callbacks and JNI code.
    Anchor,
    /// A contended exit: this frame pointer of the VM's code, where there is no
    /// last Java frame.
    Exit(u64),
}

/// A finished walk of the current thread.
pub struct Walk<'a> {
    known: &'a Known,
    memory: LiveMemory,
    records: &'a [FrameRecord],
    result: WalkResult,
}

impl<'a> Walk<'a> {
    /// Walks the current thread's stack into `records`, which grows if it must.
    /// `None` if there is no frame to begin at.
    #[inline]
    pub fn of_current_thread(
        known: &'a Known,
        vm_thread: u64,
        from: From,
        records: &'a mut Vec<FrameRecord>,
    ) -> Option<Walk<'a>> {
        let memory = known.memory_of_current_thread(vm_thread);
        let layout = &known.layout;
        let start: Registers = match from {
            From::Anchor => thread::start_from_anchor(layout, &memory, vm_thread)?,
            From::Exit(fp) => thread::start_at_exit(layout, &memory, vm_thread, fp)?,
        };
        if records.is_empty() {
            records.resize(FIRST_RECORDS, FrameRecord::default());
        }
        let mut result = walk_light(layout, &memory, start, records);
        while result.end == WalkEnd::Full && records.len() < MAX_RECORDS {
            records.resize(records.len() * 2, FrameRecord::default());
            result = walk_light(layout, &memory, start, records);
        }
        let records = records.get(..result.frames)?;
        Some(Walk { known, memory, records, result })
    }

    /// The words that identify the chain.
    #[inline]
    pub fn key<'k>(&self, key: &'k mut Vec<u64>) -> Option<&'k [u64]> {
        let room = self.records.len() * 2 + 1;
        if key.len() < room {
            key.resize(room.next_power_of_two(), 0);
        }
        key_words(self.records, self.result.end, key)
    }

    /// The methods that the frames stand for, and how many frames could not be
    /// decoded.
    pub fn decode(&self, options: DecodeOptions) -> (Vec<DecodedFrame>, usize) {
        decode(&self.known.layout, &self.memory, self.records, options)
    }

    /// Names decoded frames. Must run before the thread returns from the event:
    /// that keeps the methods alive. `missing` frames are known to be missing;
    /// the second value counts those that could not be named as well.
    pub fn resolve(
        &self,
        definitions: &Definitions,
        decoded: &[DecodedFrame],
        missing: usize,
    ) -> (CallChain, u64) {
        let named = decoded.iter().filter_map(|frame| self.name(definitions, frame));
        let frames: Vec<Frame> = named.collect();
        let unnamed = missing + decoded.len() - frames.len();
        let truncated = !self.result.end.is_complete() || unnamed > 0;
        (CallChain { frames, truncated }, unnamed as u64)
    }

    fn name(&self, definitions: &Definitions, frame: &DecodedFrame) -> Option<Frame> {
        let method = Method::at(&self.known.layout, &self.memory, frame.method)?;
        let line = u32::try_from(frame.bci).ok().and_then(|_| method.line(frame.bci));
        Some(Frame {
            method: definitions.method(method.names()?),
            bci: frame.bci,
            line: line.unwrap_or(0),
            kind: frame.kind,
            approximate: frame.approximate,
        })
    }
}
