//! From a copy of a stack to a sample.

use super::naming::Names;
use super::places::Places;
use super::subjects::Subject;
use crate::agent::{Agent, Observer};
use crate::chain::by_walk::MAX_RECORDS;
use crate::clock;
use crate::observing::{observer, Observing};
use crate::vm::Known;
use headway_hotspot::fragment::{Captured, Decoder, Fragment, FragmentEnd, Frames, Reg};
use headway_hotspot::{
    decode, key_words, thread, DecodedFrame, FrameRecord, LiveMemory, Memory, Method, RecordKind, Registers, WalkEnd,
};
use headway_model::event::{Sample, SampleState, ThreadDef};
use headway_model::{CallChain, ChainId, DurationNs, FrameKind, Loss, ThreadId, TimeNs};
use headway_sample::generated::Reader;
use headway_sample::timer::CallFrame;
use headway_sample::{kernel, Helper};
use std::slice;
use std::sync::atomic::Ordering;

/// Code may be replaced at an address: what was read of it is forgotten after
/// this many samples.
const FORGET_CODE_AFTER: u64 = 4_096;
/// Set in the first word of a native frame's key; no address of a program has it.
const NATIVE: u64 = 1 << 62;
/// Ends the key of a chain that the VM reported; no other key ends like that.
const TOLD: u64 = 1 << 61;

/// A copy of a running thread's stack.
#[derive(Clone, Copy)]
pub struct Copied<'a> {
    /// When.
    pub time: TimeNs,
    /// On which CPU.
    pub cpu: u32,
    /// The registers.
    pub registers: Captured,
    /// The stack from the stack pointer on.
    pub stack: &'a [u8],
    /// The kernel's functions that it was in.
    pub kernel: &'a [u8],
    /// Time that it stands for.
    pub weight: DurationNs,
}

/// See the module.
pub struct Decoding {
    agent: &'static Agent,
    known: &'static Known,
    helper: Helper<'static, LiveMemory>,
    frames: Frames,
    names: Names,
    places: Places,
    matcher: <Observing as Observer>::Matcher,
    key: Vec<u64>,
    unloaded: u64,
    generation: u64,
    decoded: u64,
    of_owners: bool,
}

impl Decoding {
    /// Knows the libraries that are mapped now; `of_owners` if all samples are of threads
    /// that others wait for. `None` if the VM's structures are not known.
    pub fn new(agent: &'static Agent, of_owners: bool) -> Option<Decoding> {
        let known = agent.hotspot.known()?;
        Some(Decoding {
            agent,
            known,
            helper: Helper { code: Reader::new(&known.memory), native: agent.samples.lasting.unwinder() },
            frames: Frames::with_room(MAX_RECORDS),
            names: Names::default(),
            places: Places::default(),
            matcher: Default::default(),
            key: Vec::new(),
            unloaded: known.classes_unloaded(),
            generation: agent.chains.generation(),
            decoded: 0,
            of_owners,
        })
    }

    /// Gives back memory of libraries' files: names of functions are looked up once.
    pub fn release_files(&self) {
        self.helper.native.release_files();
    }

    /// Keeps what the next recording can use.
    pub fn end(self) {
        self.agent.samples.lasting.keep(self.helper.native);
    }

    /// Decodes a copy. Failures are counted; the sample stays, with the frames
    /// that could be made out.
    pub fn running(&mut self, subject: &Subject, copied: &Copied<'_>) -> Sample {
        self.forget_what_changed();
        let fragment = Fragment { registers: copied.registers, stack: copied.stack, stack_end: subject.stack_end };
        let decoder = Decoder { layout: &self.known.layout, memory: &self.known.memory };
        decoder.decode(&fragment, &mut self.helper, &mut self.frames);
        self.frames.native.splice(..0, kernel::instructions(copied.kernel));
        self.count_what_is_missing();
        let state = match self.frames.native.is_empty() {
            true => SampleState::Java,
            false => SampleState::Native,
        };
        Sample {
            time: copied.time,
            thread: self.thread(subject, &fragment, copied.time),
            chain: self.chain(),
            state,
            weight: copied.weight,
            cpu: u16::try_from(copied.cpu).ok(),
        }
    }

    /// Decodes the copy of a waiting thread's stack, from its last Java frame on:
    /// the chain, and who waits.
    pub fn waiting(&mut self, subject: &Subject, start: Registers, from: u64, stack: &[u8]) -> (ChainId, ThreadId) {
        self.forget_what_changed();
        let mut registers = Captured::default();
        registers.pc = start.pc;
        registers.set(Reg::SP, from);
        let fragment = Fragment { registers, stack, stack_end: subject.stack_end };
        let decoder = Decoder { layout: &self.known.layout, memory: &self.known.memory };
        decoder.decode_from(&fragment, start, &mut self.frames);
        self.count_what_is_missing();
        (self.chain(), self.thread(subject, &fragment, clock::now()))
    }

    /// Counts what the stack lacks that was decoded last.
    fn count_what_is_missing(&self) {
        if let Some(cause) = missing(self.frames.end, self.of_owners) {
            self.agent.losses.add(cause, 1);
        }
    }

    /// What the sample that was decoded last lies in; `chain` is its chain.
    pub fn seen(&mut self, chain: ChainId) -> <Observing as Observer>::Seen {
        let Decoding { agent, known, frames, names, matcher, .. } = self;
        observer().look(matcher, &agent.definitions, chain, || {
            let options = agent.chains.debug_info.decode_options();
            let (decoded, _) = decode(&known.layout, &known.memory, frames.records(), options);
            decoded.iter().filter_map(|frame| names.java(known, &agent.definitions, frame)).collect()
        })
    }

    /// The chain of frames that the VM reported.
    pub fn told(&mut self, calls: &[CallFrame], truncated: bool) -> ChainId {
        self.forget_what_changed();
        if calls.is_empty() {
            return ChainId::NONE;
        }
        let Decoding { agent, known, names, key, unloaded, .. } = self;
        key.clear();
        for call in calls {
            key.extend([call.method, u64::from(call.bci as u32)]);
        }
        // A method's id may come back as another's once classes unload.
        key.extend([*unloaded, TOLD | u64::from(truncated)]);
        agent.chains.of_sample(agent, key, || {
            let mut unnamed = 0;
            let mut frames = Vec::with_capacity(calls.len());
            for call in calls {
                match told_frame(known, call).and_then(|frame| names.java(known, &agent.definitions, &frame)) {
                    Some(frame) => frames.push(frame),
                    None => unnamed += 1,
                }
            }
            if unnamed > 0 {
                agent.losses.add(Loss::MethodUnresolved, unnamed);
            }
            CallChain { frames, truncated: truncated || unnamed > 0 }
        })
    }

    /// A sample whose chain the VM gave to a signal's handler, or would not.
    pub fn traced(&mut self, subject: &Subject, copied: &Copied<'_>, count: i32) -> Sample {
        let calls: Vec<CallFrame> = CallFrame::all(copied.stack).collect();
        if count < 0 {
            self.agent.losses.add(Loss::SampleUndecodable, 1);
        }
        let chain = self.told(&calls, calls.len() >= MAX_TRACE);
        let state = if calls.is_empty() { SampleState::Native } else { SampleState::Java };
        let cpu = u16::try_from(copied.cpu).ok();
        Sample { time: copied.time, thread: subject.thread, chain, state, weight: copied.weight, cpu }
    }

    fn forget_what_changed(&mut self) {
        self.decoded += 1;
        if self.decoded % FORGET_CODE_AFTER == 0 {
            self.helper.code.forget();
        }
        let unloaded = self.known.classes_unloaded();
        if unloaded != self.unloaded {
            self.unloaded = unloaded;
            self.names.forget_methods();
            self.places.forget();
        }
        let generation = self.agent.chains.generation();
        if generation != self.generation {
            self.generation = generation;
            self.names.forget();
            self.places.forget();
            observer().forget_chains(&mut self.matcher);
        }
    }

    /// Who runs: for a carrier the virtual thread that was mounted, by the objects
    /// that the copy leads to, as long as no collection can have moved them; else
    /// the one that is mounted now, if the copy's oldest frames of it are still
    /// where they were.
    fn thread(&self, subject: &Subject, fragment: &Fragment<'_>, time: TimeNs) -> ThreadId {
        let mounted = matches!(self.frames.end, FragmentEnd::VirtualThread | FragmentEnd::InHeap);
        let Some(oldest) = self.frames.records().iter().rev().find(|record| !record.on_heap) else {
            return subject.thread;
        };
        if !subject.is_carrier || !mounted {
            return subject.thread;
        }
        if let Some(id) = self.frames.virtual_thread.filter(|_| self.nothing_moved_since(time)) {
            return self.introduced(ThreadId(id));
        }
        let id = || thread::current_thread_id(&self.known.layout, &self.known.memory, subject.vm_thread);
        let before = id();
        let id = before.filter(|before| self.stands(oldest, fragment) && id() == Some(*before));
        match id {
            Some(id) => self.introduced(ThreadId(id)),
            None => {
                self.agent.losses.add(Loss::SampleUnattributed, 1);
                subject.thread
            }
        }
    }

    /// True if no collection stopped the program since then. To be asked after the
    /// objects were read.
    pub fn nothing_moved_since(&self, time: TimeNs) -> bool {
        let (start, end) = (self.agent.gc_start.load(Ordering::SeqCst), self.agent.gc_end.load(Ordering::SeqCst));
        start == 0 && end < time.0
    }

    /// A virtual thread that was not announced gets a name that does.
    fn introduced(&self, id: ThreadId) -> ThreadId {
        if self.agent.virtuals.is_new(id) {
            self.agent.define_thread(ThreadDef {
                id,
                os_id: 0,
                name: format!("virtual-{}", id.0).into(),
                group: "".into(),
                is_virtual: true,
                is_service: false,
            });
        }
        id
    }

    /// True if the stack around a frame is as it was when it was copied.
    fn stands(&self, frame: &FrameRecord, fragment: &Fragment<'_>) -> bool {
        let start = fragment.registers.sp().unwrap_or(0);
        let Some(at) = frame.sp.checked_sub(start).and_then(|at| usize::try_from(at).ok()) else { return false };
        // The continuation's entry, which follows its oldest frame, is what reports
        // one virtual thread from another that runs the same code.
        let Some(copy) = fragment.stack.get(at..).and_then(|rest| rest.get(..STANDS.min(rest.len()))) else {
            return false;
        };
        let mut now = [0; STANDS];
        let Some(now) = now.get_mut(..copy.len()) else { return false };
        self.known.memory.read_into(frame.sp, now) && now == copy
    }

    fn chain(&mut self) -> ChainId {
        let Decoding { agent, known, helper, frames, names, places, key, unloaded, .. } = self;
        let records = frames.records();
        if records.is_empty() && frames.native.is_empty() {
            return ChainId::NONE;
        }
        let unnamed =
            kernel::is_kernel(frames.native.first().copied().unwrap_or(0)) && !names.has_kernel(&agent.samples.lasting);
        if write_key(key, frames, *unloaded, unnamed).is_none() {
            return ChainId::NONE;
        }
        agent.chains.of_sample(agent, key, || {
            let native = frames.native.iter().enumerate();
            let mut chain: Vec<_> =
                native.map(|(depth, pc)| names.native(&helper.native, &agent.definitions, *pc, depth == 0)).collect();
            let options = agent.chains.debug_info.decode_options();
            let mut unnamed = 0;
            for record in records {
                unnamed += places.append(record, &mut chain, |chain| {
                    let (decoded, missing) = decode(&known.layout, &known.memory, slice::from_ref(record), options);
                    let before = chain.len();
                    chain.extend(decoded.iter().filter_map(|frame| names.java(known, &agent.definitions, frame)));
                    missing + decoded.len() - (chain.len() - before)
                });
            }
            if unnamed > 0 {
                agent.losses.add(Loss::MethodUnresolved, unnamed as u64);
            }
            CallChain { frames: chain, truncated: !frames.end.is_complete() || unnamed > 0 }
        })
    }
}

/// Bytes that must not have changed around the oldest frame of a virtual thread.
const STANDS: usize = 512;

/// Frames that a handler has room for.
const MAX_TRACE: usize = 2_048;

/// A method's id is the address of the place of its `Method*`. The VM does not
/// say in what kind of code it ran.
fn told_frame(known: &Known, call: &CallFrame) -> Option<DecodedFrame> {
    let method = known.memory.read_u64(call.method)?;
    let native = Method::at(&known.layout, &known.memory, method)?.is_native();
    let kind = if native { FrameKind::Native } else { FrameKind::Interpreted };
    Some(DecodedFrame { method, bci: call.bci.max(-1), kind, approximate: false, record: 0 })
}

/// `unnamed`: the chain is another one once the kernel's functions have names.
fn write_key(key: &mut Vec<u64>, frames: &Frames, unloaded: u64, unnamed: bool) -> Option<()> {
    let records = frames.records();
    key.clear();
    for pc in &frames.native {
        key.extend([*pc | NATIVE, u64::from(unnamed)]);
    }
    let native = key.len();
    key.resize(native + records.len() * 2 + 2, 0);
    let end = if frames.end.is_complete() { WalkEnd::Complete } else { WalkEnd::Lost };
    let words = key_words(records, end, key.get_mut(native..)?)?.len();
    // A method's address may come back as another's once classes unload.
    let interpreted = records.iter().any(|record| record.kind == RecordKind::Interpreted);
    *key.get_mut(native + words)? = if interpreted { unloaded } else { 0 };
    key.truncate(native + words + 1);
    Some(())
}

/// What is missing from a stack that ends like this, and is counted. Of owners nothing is: the
/// sample is recorded with the frames that were found, and the report states how much of the
/// blocked time the samples cover that have the frame which had the lock. One that was cut off
/// above it is not among them.
fn missing(end: FragmentEnd, of_owners: bool) -> Option<Loss> {
    loss(end).filter(|_| !of_owners)
}

/// What is missing from a stack that ends like this.
fn loss(end: FragmentEnd) -> Option<Loss> {
    match end {
        FragmentEnd::Complete | FragmentEnd::VirtualThread | FragmentEnd::NativeRoot => None,
        FragmentEnd::Short => Some(Loss::SampleShort),
        FragmentEnd::Full => Some(Loss::ChainTruncated),
        FragmentEnd::InHeap => Some(Loss::SampleInHeap),
        FragmentEnd::CodeGone => Some(Loss::SampleCodeGone),
        FragmentEnd::NativeUnknown => Some(Loss::SampleNative),
        FragmentEnd::LeafUnknown(_) | FragmentEnd::Lost => Some(Loss::SampleUndecodable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_cut_off_are_losses_of_a_profile_and_of_owners_a_lack_of_coverage() {
        let ends = [FragmentEnd::NativeUnknown, FragmentEnd::CodeGone, FragmentEnd::InHeap, FragmentEnd::Short];
        for end in ends {
            assert_eq!(missing(end, false), loss(end));
            assert!(loss(end).is_some() && missing(end, true).is_none());
        }
        assert_eq!(missing(FragmentEnd::Complete, false), None);
    }
}
