//! The processor: which registers HotSpot uses for what, how the frames of its code stand, and how
//! its instructions are read.
//!
//! [`x86_64`] is the only one so far. It decodes copies of memory and runs none of the code that it
//! reads, so it is compiled on every processor, as the tests of recorded stacks are.

pub(crate) mod x86_64;

pub(crate) use x86_64::{flow, interpreter, leaf};
pub(crate) use x86_64::{follows_call, jump_target, FRAME_POINTER_IN_OOP_MAPS, IS_THIS};
