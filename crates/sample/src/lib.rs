//! CPU samples: copies of the running part of a thread's stack, and what it
//! takes to decode them later.
//!
//! * [`perf`] lets the kernel copy stack and registers at every tick of a
//!   thread's CPU clock, into a ring per thread.
//! * [`timer`] does the same with a signal per tick, where that is denied.
//! * [`generated`] reads generated code, to say how a frame stands at an
//!   instruction in the middle of being built or taken down.
//! * [`modules`] and [`native`] unwind and name native code, [`kernel`] names the
//!   kernel's functions.
//!
//! Nothing here knows Java's threads or recordings.
#![allow(unsafe_code)] // system calls, memory shared with the kernel, a signal handler

mod arch;
mod image;
pub mod kernel;
pub mod modules;
pub mod native;
pub mod perf;
mod symbols;
pub mod task;
pub mod timer;

pub use arch::{generated, interrupted};

use headway_hotspot::fragment::{Captured, Code, Native, NativeStep, Run, Shape};
use headway_hotspot::{AddressRange, Memory};

/// What the decoding of fragments needs besides the VM's own tables.
pub struct Helper<'m, M> {
    /// Reads generated code.
    pub code: generated::Reader<'m, M>,
    /// Unwinds native code.
    pub native: native::Unwinder,
}

impl<M: Memory> Code for Helper<'_, M> {
    fn run(&mut self, code: AddressRange, pc: u64, limit: usize) -> Run {
        self.code.run(code, pc, limit)
    }

    fn built(&mut self, code: AddressRange, pc: u64) -> Option<Shape> {
        self.code.built(code, pc)
    }
}

impl<M: Memory> Native for Helper<'_, M> {
    fn knows(&mut self, pc: u64) -> bool {
        self.native.knows(pc)
    }

    fn caller(&mut self, at: &mut Captured, interrupted: bool, read: &mut dyn FnMut(u64) -> Option<u64>) -> NativeStep {
        self.native.caller(at, interrupted, read)
    }
}
