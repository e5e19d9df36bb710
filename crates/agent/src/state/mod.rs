//! What features keep between events: what application threads share with the draining
//! thread and the sampler. Each is data with its own rules and knows no agent; what is
//! done with it is the feature's.
//!
//! * `begun`: enters, waits and re-acquisitions in progress.
//! * `samples`, `lasting`: samples on their way; what sampling reads once.
//! * `scratch`: a thread's memory for walking its stack.
//! * `thread_parks`, `in_progress`, `permit`, `short`: a thread's parks.
//! * `remembered`: the last objects that it blocked or parked on.
//! * `observed`: what is kept of it for who follows what threads do.
//! * `spans`: what a thread spends on locks, added up by itself.
//! * `sampling`: by which random instants contentions and parks are recorded.
//! * `requests`, `found`: which locks' chains are worth taking, and who waits already.
//! * `ended`, `mounted`, `transactions`: of feature `steal`.

mod begun;
mod ended;
mod found;
mod found_blocked;
mod in_progress;
mod lasting;
mod mounted;
mod observed;
mod permit;
mod remembered;
mod requests;
mod samples;
mod sampling;
mod scratch;
mod short;
mod spans;
mod thread_parks;
mod transactions;

pub use begun::{Begun, OwnerFrame, Pending};
pub use ended::{Ended, EndedThreads};
pub use found::{Found, FoundThreads, IN_OBJECT_WAIT, PARKED, WITH_TIMEOUT};
pub use found_blocked::{AllFoundBlocked, FoundBlocked};
pub use in_progress::InProgress;
pub use lasting::Lasting;
pub use mounted::Mounted;
pub use observed::Observed;
pub use permit::{Given, Permit};
pub use remembered::Remembered;
pub use requests::Requests;
pub use samples::{Samples, Started};
pub use sampling::Sampling;
pub use scratch::{Scratch, ScratchCell, Side, Taken};
pub use short::{Short, Sums};
pub use spans::{Grid, Span, Spans};
pub use thread_parks::ThreadParks;
pub use transactions::Transactions;

/// Most threads tracked at once.
pub const MOST_THREADS: usize = 8_192;

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
