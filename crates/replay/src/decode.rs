//! Decoding a stopped thread's stack, as the agent does.

use crate::memory::{from_hex, to_hex};
use headway_hotspot::fragment::{
    Captured, Code, Decoder, Fragment, FragmentEnd, Frames, Native, NativeStep, Run, Shape,
};
use headway_hotspot::{decode, method_names, AddressRange, DecodeOptions, Layout, Memory};
use headway_model::FrameKind;
use headway_sample::generated::Reader;
use serde::{Deserialize, Serialize};

/// Most frames of the VM's own code.
const MAX_RECORDS: usize = 4_096;

/// A thread that was stopped: registers and stack.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stopped {
    /// The instruction.
    pub pc: u64,
    /// The registers by their numbers in instructions.
    pub registers: [u64; 16],
    /// The stack from the stack pointer on.
    #[serde(serialize_with = "to_hex", deserialize_with = "from_hex")]
    pub stack: Vec<u8>,
    /// The end of the thread's stack.
    pub stack_end: u64,
}

/// A frame in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// The class.
    pub class: String,
    /// The method.
    pub method: String,
    /// The bytecode.
    pub bci: i32,
    /// `interpreted`, `compiled`, `inlined`, `native`.
    pub kind: String,
    /// True where the debug information left a doubt.
    pub approximate: bool,
    /// True where the frame had been deoptimized.
    pub deoptimized: bool,
}

/// What came of a fragment.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// Native functions on top.
    pub native: usize,
    /// Java frames, leaf first.
    pub frames: Vec<Shown>,
    /// Frames whose methods were not known.
    pub missing: usize,
    /// How it ended.
    pub end: FragmentEnd,
    /// Where the thread stood: `native`, `stub`, or the kind and the place in it.
    pub leaf: String,
}

/// Both kinds of help that decoding needs.
struct Helpers<'a, 'm, M, N> {
    code: Reader<'m, M>,
    native: &'a mut N,
}

impl<M: Memory, N> Code for Helpers<'_, '_, M, N> {
    fn run(&mut self, code: AddressRange, pc: u64, limit: usize) -> Run {
        self.code.run(code, pc, limit)
    }

    fn built(&mut self, code: AddressRange, pc: u64) -> Option<Shape> {
        self.code.built(code, pc)
    }
}

impl<M, N: Native> Native for Helpers<'_, '_, M, N> {
    fn knows(&mut self, pc: u64) -> bool {
        self.native.knows(pc)
    }

    fn caller(&mut self, at: &mut Captured, interrupted: bool, read: &mut dyn FnMut(u64) -> Option<u64>) -> NativeStep {
        self.native.caller(at, interrupted, read)
    }
}

/// Decodes a stopped thread's stack in a VM that writes debug information for
/// all instructions.
pub fn decoded<M: Memory>(layout: &Layout, memory: &M, stopped: &Stopped, native: &mut impl Native) -> Decoded {
    let registers = Captured::all(stopped.pc, stopped.registers);
    let fragment = Fragment { registers, stack: &stopped.stack, stack_end: stopped.stack_end };
    let mut frames = Frames::with_room(MAX_RECORDS);
    let mut helpers = Helpers { code: Reader::new(memory), native };
    Decoder { layout, memory }.decode(&fragment, &mut helpers, &mut frames);
    let options = DecodeOptions { non_safepoint_info_since: Some(0) };
    let records = frames.records();
    let (methods, missing) = decode(layout, memory, records, options);
    let shown = methods.iter().map(|frame| {
        let names = method_names(layout, memory, frame.method).unwrap_or_default();
        Shown {
            class: names.class.to_string(),
            method: names.name.to_string(),
            bci: frame.bci,
            kind: kind(frame.kind).to_owned(),
            approximate: frame.approximate,
            deoptimized: records.get(frame.record as usize).is_some_and(|record| record.deoptimized),
        }
    });
    Decoded {
        native: frames.native.len(),
        frames: shown.collect(),
        missing,
        end: frames.end,
        leaf: match records.first() {
            _ if !frames.native.is_empty() => "native".to_owned(),
            Some(record) => format!("{:?} {:?}", record.kind, record.interrupted),
            None => "nothing".to_owned(),
        },
    }
}

fn kind(kind: FrameKind) -> &'static str {
    match kind {
        FrameKind::Interpreted => "interpreted",
        FrameKind::Compiled => "compiled",
        FrameKind::Inlined => "inlined",
        FrameKind::Native => "native",
    }
}
