//! `park`: replays parks and unparks into contentions on locks of
//! `java.util.concurrent`, and into conditional waits with who ended them.
//!
//! All parks and unparks of a process have one order. In that order an unpark
//! of a thread that is parked on a lock is the *exit* of whoever called it,
//! where its frames say that it released something (`AbstractQueuedSynchronizer.
//! release`): so the unpark's thread and chain are the owner's, and they are
//! the owner's for everybody who is parked on the same blocker, not only for
//! the one that was unparked (Hofer, Gnedt, Schoerk, Moessenboeck, Lock
//! contention tracing, ICPE 2016). From there the rules are those of monitors
//! (`monitor/slicing.rs`), with two more:
//!
//! * Between the unpark and the woken thread's coming back, threads may barge
//!   in and leave without an unpark. That time is nobody's.
//! * Readers hold a lock together, and only the last one's leaving unparks
//!   anybody: [`Basis::LastReader`](crate::monitor::Basis::LastReader).
//!
//! A thread woken from a condition's wait gets the lock through the same queue:
//! its unpark is an exit from the *lock*. Which lock a condition belongs to is
//! learned when a thread that waited on the condition parks on the lock.

mod classifier;
mod event;
mod hand_over;
mod replay;
mod rounds;
pub mod statistics;
mod stream;
mod synchronizer;
mod wait;

pub use classifier::Classifier;
pub use replay::ParkCounts;
pub(crate) use replay::{ParkReplay, Prepared};
pub(crate) use rounds::{Rounds, Stragglers};
pub use stream::ParkStream;
pub use synchronizer::Synchronizer;
pub use wait::{ParkWait, Waker};
