//! Names of sampled frames, remembered: the same few thousand methods come
//! again and again.

use crate::definitions::Definitions;
use crate::state::Lasting;
use crate::vm::Known;
use headway_hotspot::method::Method as VmMethod;
use headway_hotspot::{DecodedFrame, LiveMemory};
use headway_model::{Frame, FrameKind, Method, MethodId};
use headway_sample::kernel;
use headway_sample::native::Unwinder;
use std::collections::HashMap;
use std::sync::Arc;

/// Most functions and methods remembered; forgotten all at once beyond.
const MAX_KNOWN: usize = 65_536;

/// See the module.
#[derive(Default)]
pub struct Names {
    methods: HashMap<u64, MethodId>,
    functions: HashMap<u64, MethodId>,
    kernel: Option<Arc<kernel::Functions>>,
}

/// A frame of native code.
const NATIVE: Frame = Frame { method: MethodId(0), bci: -1, line: 0, kind: FrameKind::Native, approximate: false };

impl Names {
    /// Forgets Java methods: their addresses may have become others'.
    pub fn forget_methods(&mut self) {
        self.methods.clear();
    }

    /// Forgets everything: ids have become others'.
    pub fn forget(&mut self) {
        self.methods.clear();
        self.functions.clear();
    }

    /// A Java frame; `None` if its method cannot be named any more.
    pub fn java(&mut self, known: &Known, definitions: &Definitions, frame: &DecodedFrame) -> Option<Frame> {
        let method: VmMethod<'_, LiveMemory> = VmMethod::at(&known.layout, &known.memory, frame.method)?;
        let id = match self.methods.get(&frame.method) {
            Some(id) => *id,
            None => {
                let id = definitions.method(method.names()?);
                if self.methods.len() >= MAX_KNOWN {
                    self.methods.clear();
                }
                self.methods.insert(frame.method, id);
                id
            }
        };
        let line = u32::try_from(frame.bci).ok().and_then(|_| method.line(frame.bci));
        Some(Frame {
            method: id,
            bci: frame.bci,
            line: line.unwrap_or(0),
            kind: frame.kind,
            approximate: frame.approximate,
        })
    }

    /// A native frame that stands at, or was called from before, an address.
    pub fn native(&mut self, unwinder: &Unwinder, definitions: &Definitions, pc: u64, interrupted: bool) -> Frame {
        let address = pc - u64::from(!interrupted);
        let method = match self.functions.get(&address) {
            Some(id) => *id,
            None => {
                let is_kernel = kernel::is_kernel(address);
                let name = if is_kernel { self.of_kernel(address) } else { name(unwinder, address) };
                let id = definitions.method(Method { name: name.into(), ..Method::default() });
                if is_kernel && self.kernel.is_none() {
                    return Frame { method: id, ..NATIVE };
                }
                if self.functions.len() >= MAX_KNOWN {
                    self.functions.clear();
                }
                self.functions.insert(address, id);
                id
            }
        };
        Frame { method, ..NATIVE }
    }

    /// True if the kernel's functions can be distinguished.
    pub fn has_kernel(&mut self, lasting: &Lasting) -> bool {
        if self.kernel.is_none() {
            self.kernel = lasting.kernel();
        }
        self.kernel.is_some()
    }

    fn of_kernel(&self, address: u64) -> String {
        let name = self.kernel.as_ref().and_then(|functions| functions.function(address));
        name.map_or_else(|| "[kernel]".to_owned(), |name| format!("{name} [kernel]"))
    }
}

fn name(unwinder: &Unwinder, address: u64) -> String {
    match unwinder.function(address) {
        Some((Some(function), _)) => function,
        Some((None, library)) => format!("[{library}]"),
        None => "[unknown]".to_owned(),
    }
}
