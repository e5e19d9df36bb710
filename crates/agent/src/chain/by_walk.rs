//! Chains by the agent's own walker: physical frames without decoding, looked
//! up by their key, and decoded only when they are seen for the first time.

use super::OwnerFrame;
use crate::definitions::Definitions;
use crate::vm::Known;
use headway_hotspot::method::Method;
use headway_hotspot::{
    decode, held_at, monitor_slots, owner_frames, thread, DecodeOptions, DecodedFrame, FrameRecord, LiveMemory, Memory,
    MonitorSlot, RecordKind, Registers, WalkCache, WalkEnd,
};
use headway_model::{CallChain, Frame, FrameKind};

/// The opcode, which the VM does not rewrite.
const MONITORENTER: u8 = 0xc2;
/// Most physical frames that are walked.
pub const MAX_RECORDS: usize = 1024;
/// Frames that a thread's first walk has room for; twice as many each time that
/// its stack is deeper.
const FIRST_RECORDS: usize = 64;

/// Where a walk begins.
#[derive(Clone, Copy, Debug)]
pub enum From {
    /// The last Java frame: JVMTI callbacks and JNI code.
    Anchor,
    /// The same, in the VM's code, where JVMTI cannot be called.
    InVm,
    /// A contended exit: this frame pointer of the VM's code, where there is no
    /// last Java frame.
    Exit(u64),
}

/// A finished walk of the current thread.
pub struct Walk<'a> {
    known: &'a Known,
    memory: LiveMemory,
    cache: &'a WalkCache,
    is_same: bool,
}

impl<'a> Walk<'a> {
    /// Walks the current thread's stack, taking over from the thread's previous
    /// walk what still stands. `None` if there is no frame to begin at.
    #[inline]
    pub fn of_current_thread(
        known: &'a Known,
        vm_thread: u64,
        from: From,
        cache: &'a mut Option<WalkCache>,
    ) -> Option<Walk<'a>> {
        let memory = known.memory_of_current_thread(vm_thread);
        let layout = &known.layout;
        let start: Registers = match from {
            From::Anchor | From::InVm => thread::start_from_anchor(layout, &memory, vm_thread)?,
            From::Exit(fp) => thread::start_at_exit(layout, &memory, vm_thread, fp)?,
        };
        let cache = cache.get_or_insert_with(|| WalkCache::new(FIRST_RECORDS));
        let mut result = cache.walk(layout, &memory, start);
        while result.end == WalkEnd::Full && cache.limit() < MAX_RECORDS {
            *cache = WalkCache::new(cache.limit() * 2);
            result = cache.walk(layout, &memory, start);
        }
        Some(Walk { known, memory, cache, is_same: result.same })
    }

    /// True if the thread's previous walk had the same frames.
    #[inline]
    pub fn is_same(&self) -> bool {
        self.is_same
    }

    /// What the chain depends on beside its frames: where interpreted frames are
    /// in it, the number of classes unloaded so far. A method's address may come
    /// back as another method's; pc and compile id together do not.
    #[inline]
    pub fn unloads(&self) -> Option<u64> {
        let is_interpreted = |record: &FrameRecord| record.kind == RecordKind::Interpreted;
        self.cache.records().any(is_interpreted).then(|| self.known.classes_unloaded())
    }

    /// The words that identify the chain.
    #[inline]
    pub fn key<'k>(&self, key: &'k mut Vec<u64>, unloads: Option<u64>) -> Option<&'k [u64]> {
        let room = self.cache.records().len() * 2 + 2;
        if key.len() < room {
            key.resize(room.next_power_of_two(), 0);
        }
        let words = self.cache.key_words(key)?.len();
        *key.get_mut(words)? = unloads.unwrap_or(0);
        key.get(..=words)
    }

    /// The methods that the frames stand for, and how many frames could not be
    /// decoded.
    pub fn decode(&self, options: DecodeOptions) -> (Vec<DecodedFrame>, usize) {
        decode(&self.known.layout, &self.memory, &self.records(), options)
    }

    /// The walk that the current thread took last, its frames still being on
    /// the stack.
    pub fn already_taken(known: &'a Known, vm_thread: u64, cache: &'a WalkCache) -> Walk<'a> {
        Walk { known, memory: known.memory_of_current_thread(vm_thread), cache, is_same: true }
    }

    fn records(&self) -> Vec<FrameRecord> {
        self.cache.records().copied().collect()
    }

    /// Where the frames keep the monitors they hold.
    pub fn monitor_places(&self, options: DecodeOptions) -> Vec<MonitorSlot> {
        let records = self.records();
        let (layout, memory) = (&self.known.layout, &self.memory);
        let (frames, _) = decode(layout, memory, &records, options);
        monitor_slots(layout, memory, &records, &frames, options)
    }

    /// The frame that holds the monitor of `object`: the one that acquired it, if it was
    /// entered more than once.
    pub fn owner_frame(&self, places: &[MonitorSlot], object: Option<u64>) -> OwnerFrame {
        let (layout, memory) = (&self.known.layout, &self.memory);
        let found =
            object.and_then(|object| owner_frames(layout, memory, &self.records(), places, object).last().copied());
        let one_frame = places.first().filter(|first| places.iter().all(|p| p.frame == first.frame));
        let (frame, approximate) = match (found, one_frame, places.last()) {
            (Some(frame), ..) => (frame, false),
            (None, Some(only), _) => (only.frame, false),
            (None, None, Some(outermost)) => (outermost.frame, true),
            (None, None, None) => return OwnerFrame::UNKNOWN,
        };
        OwnerFrame { frame: u16::try_from(frame).unwrap_or(u16::MAX), approximate }
    }

    /// The frame nearest to the leaf that has a monitor.
    pub fn first_with_monitor(&self, places: &[MonitorSlot]) -> Option<u16> {
        let (layout, memory, records) = (&self.known.layout, &self.memory, self.records());
        let has_one = |slot: &&MonitorSlot| {
            let record = records.get(slot.record as usize);
            record.is_some_and(|record| !held_at(layout, memory, record, slot.place).is_empty())
        };
        places.iter().find(has_one).and_then(|slot| u16::try_from(slot.frame).ok())
    }

    /// What is known of the VM.
    pub fn known(&self) -> &'a Known {
        self.known
    }

    /// Names decoded frames. Must run before the thread returns from the event:
    /// that keeps the methods alive. `missing` frames are known to be missing;
    /// the second value counts those that could not be named as well.
    pub fn resolve(&self, definitions: &Definitions, decoded: &[DecodedFrame], missing: usize) -> (CallChain, u64) {
        let named = decoded.iter().enumerate().filter_map(|(depth, frame)| self.name(definitions, depth, frame));
        let frames: Vec<Frame> = named.collect();
        let unnamed = missing + decoded.len() - frames.len();
        let truncated = !self.cache.end().is_complete() || unnamed > 0;
        (CallChain { frames, truncated }, unnamed as u64)
    }

    fn name(&self, definitions: &Definitions, depth: usize, frame: &DecodedFrame) -> Option<Frame> {
        let method = Method::at(&self.known.layout, &self.memory, frame.method)?;
        let bci = match depth == 0 && frame.kind == FrameKind::Interpreted {
            true => before_acquisition(&method, frame.bci),
            false => frame.bci,
        };
        let line = u32::try_from(bci).ok().and_then(|_| method.line(bci));
        Some(Frame {
            method: definitions.method(method.names()?),
            bci,
            line: line.unwrap_or(0),
            kind: frame.kind,
            approximate: frame.approximate,
        })
    }
}

/// Where a leaf really stands: the interpreter steps on from a `monitorenter`
/// before it acquires, which may already be the next line.
fn before_acquisition<M: Memory>(method: &Method<'_, M>, bci: i32) -> i32 {
    let last = usize::try_from(bci - 1).ok();
    let code = last.and_then(|_| method.bytecodes()).unwrap_or_default();
    match last.and_then(|last| code.get(last)) {
        Some(&MONITORENTER) => bci - 1,
        _ => bci,
    }
}
