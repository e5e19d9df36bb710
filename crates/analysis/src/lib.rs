//! What a recording means: who blocked whom, for how long, and what the
//! owner was doing.
//!
//! [`Analysis`] takes in `headway_model::Event`s one by one and ends in a
//! [`Report`]: plain data with findings in words, a breakdown by any sequence
//! of [`Aspect`]s, and everything that is missing. The same code runs in the
//! agent's draining thread, with small [`Bounds`], and in the command line.
//! It knows neither bytes nor files nor the JVM.
//!
//! * [`monitor`]: replays each lock's events into contentions, split by
//!   who held the lock. Usable on its own, with a [`monitor::ContentionSink`].
//! * [`method`]: where time goes, by calling context; usable on its own, too.
//! * [`ledger`]: one account of thread time, on which findings rest.
//! * [`names`]: methods, locks and thread groups as a reader knows them.
//! * [`report`]: the result. Its sentences are made in `findings` (the first one in
//!   `findings/verdict.rs`), its breakdown in `aggregate`; which waits are idle, in `wait_class`.
//!
//! What each number means is in `docs/metrics.md`.

pub mod aspect;
pub mod document;
pub mod ledger;
pub mod method;
pub mod monitor;
pub mod names;
pub mod options;
pub mod park;
pub mod pressure;
pub mod report;
pub mod steal;

#[cfg(feature = "advice")]
mod advice;
mod aggregate;
mod analysis;
mod by_id;
mod findings;
mod lock_groups;
mod long_contentions;
mod meanwhile;
mod numbering;
mod pauses;
mod replays;
mod returned;
pub mod sampled;
mod selection;
mod sites;
mod summary;
mod threads;
mod unmounted;
mod virtual_threads;
mod wait_class;
mod wait_for;
mod waits;

pub use analysis::Analysis;
pub use aspect::{Aspect, AspectError};
pub use options::{Bound, Bounds, Options, ThreadFilter};
pub use report::Report;
pub use selection::Selection;
