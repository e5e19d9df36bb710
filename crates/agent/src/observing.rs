//! Which observer of threads there is: experiments.
//!
//! Capture reports to it what happens and does not know what becomes of that. Known at
//! compile time, because some of it is called while a contended lock is held.

use crate::causal::{self, Causal};

/// The observer of this agent.
pub type Observing = Causal;

/// The one of this process.
#[inline]
pub fn observer() -> &'static Observing {
    causal::causal()
}
