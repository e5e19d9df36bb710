//! Where HotSpot keeps things, and a stack walker that knows it.
//!
//! The crate reads; it calls nothing of the VM and knows no JVMTI, threads or
//! files. Memory is handed in ([`Memory`]), so that the same code walks a live
//! stack, a copied fragment, and the arrays of the tests.
//!
//! * [`Layout::load`] reads the VM's own tables once, after it has started.
//! * [`thread`] finds where a walk starts, [`walk_light`] walks the physical
//!   frames, [`WalkCache`] walks a thread again at less cost, [`key_words`]
//!   gives the words by which a chain is known.
//! * [`decode`] expands a chain that was not seen before into methods,
//!   [`method`] names them.
//! * [`fragment`] decodes copies of stacks taken at any instruction.
//! * [`held`] says which frame of a chain holds a lock.
//! * [`check`] compares a chain with JVMTI's.
//! * [`monitor`] reads monitors and their owners.
//!
//! What is measured about HotSpot's releases stands in `docs/hotspot.md`.

mod arch;
pub mod check;
pub mod code_cache;
mod continuation;
pub mod debug_info;
pub mod decode;
pub mod fragment;
pub mod frame;
pub mod held;
pub mod layout;
mod layout_load;
pub mod live;
pub mod memory;
pub mod method;
pub mod monitor;
pub mod oop;
mod release;
pub mod reuse;
pub mod symbols;
pub mod thread;
pub mod unsigned5;
pub mod vmstructs;
mod walk;

pub use code_cache::CodeCache;
pub use decode::{decode, DecodeOptions, DecodedFrame};
pub use frame::{key_words, FrameRecord, Interrupted, RecordKind, Registers, WalkEnd, WalkResult};
pub use held::{held_at, monitor_slots, owner_frames, MonitorPlace, MonitorSlot};
pub use layout::Layout;
pub use live::{AddressRange, LiveMemory};
pub use memory::{Fragments, Memory};
pub use method::{line_number, method_names, Method};
pub use reuse::WalkCache;
pub use vmstructs::{LayoutError, VmStructs};
pub use walk::walk_light;
