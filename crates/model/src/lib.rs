//! The vocabulary of Headway: ids, time, stacks, events and losses.
//!
//! Everything that flows capture -> record -> analyse -> present is spelled
//! with the types of this crate. It knows nothing about bytes, files or the
//! JVM, so that the same replays run inside the agent (for pressure) and inside
//! the command line (for everything).
//!
//! * [`id`]: every id has its own type; `0` is never a valid id.
//! * [`time`]: nanoseconds on the recording's clock, durations.
//! * [`stack`]: methods, frames, call chains.
//! * [`steal`]: what the environment took, and transactions.
//! * [`causal`]: what experiments measured.
//! * [`event`]: what happened, in the field's words.
//! * [`dictionary`]: definitions (threads, methods, chains, locks) by id.
//! * [`near`]: maps in which neighbouring ids are neighbours in memory.
//! * [`quantity`]: how numbers, shares and durations look.
//! * [`interval`]: how far an estimate may be off.
//! * [`schedule`]: the random instants of a recording that samples.
//! * [`random`]: numbers that look random.
//! * [`loss`]: why something is missing. Loss is data.
//! * [`class_name`]: classes as sources spell them.
//! * [`printable`]: names from outside, made fit for a line of text.

pub mod causal;
pub mod class_name;
pub mod dictionary;
pub mod event;
pub mod id;
pub mod interval;
pub mod long_contention;
pub mod loss;
pub mod near;
pub mod owner_sample;
pub mod printable;
pub mod quantity;
pub mod random;
pub mod schedule;
pub mod stack;
pub mod steal;
pub mod time;

pub use dictionary::Dictionary;
pub use event::Event;
pub use id::{ChainId, LockId, MethodId, Seq, ThreadId};
pub use loss::Loss;
pub use printable::printable;
pub use stack::{CallChain, Frame, FrameKind, Method};
pub use time::{DurationNs, TimeNs};
