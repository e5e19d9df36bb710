//! What features keep between events: what application threads share with the draining
//! thread and the sampler. Each is data with its own rules and knows no agent; what is
//! done with it is the feature's.
//!
//! * `begun`: enters, waits and re-acquisitions in progress.
//! * `samples`, `lasting`: samples on their way; what sampling reads once.
//! * `scratch`: a thread's memory for walking its stack.
//! * `spans`: what a thread spends on locks, added up by itself.
//! * `ended`, `mounted`, `transactions`: of feature `steal`.

mod begun;
mod ended;
mod lasting;
mod mounted;
mod samples;
mod scratch;
mod spans;
mod transactions;

pub use begun::{Begun, Holder, Pending};
pub use ended::{Ended, EndedThreads};
pub use lasting::Lasting;
pub use mounted::Mounted;
pub use samples::{Samples, Started};
pub use scratch::{Scratch, ScratchCell, Side, Taken};
pub use spans::{Grid, Span, Spans};
pub use transactions::Transactions;

/// A thread's name is looked at again after this time, at its next event.
pub const NAME_CHECK_NS: u64 = 1_000_000_000;

/// What feature `steal` keeps.
#[derive(Default)]
pub struct Steal {
    /// Threads that ended since the last sample.
    pub ended: EndedThreads,
    /// Names of transactions, and whether they are recorded.
    pub transactions: Transactions,
    /// CPU time of virtual threads with transactions.
    pub mounted: Mounted,
}
