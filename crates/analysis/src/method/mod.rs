//! `method`: where time goes, by method and by the way to it.
//!
//! * [`CallTree`]: calling contexts with weights; flat totals, callers, hot
//!   contexts.
//! * [`Profiler`] makes one from a recording's samples (CPU or wall-clock time)
//!   or from contentions (by contender or by owner), as [`Profile`].
//! * [`Comparison`]: two trees side by side, degree of overlap and hot-edge
//!   coverage.
//!
//! An [`Analysis`](crate::Analysis) keeps a tree of its own for the report, and
//! links samples to contended locks: what the owner executed while others
//! waited (`Report::owner_activity`).

mod call_tree;
mod compare;
mod context;
mod owners;
mod profiler;
mod rests;
pub(crate) mod sample_report;
mod samples;
mod weight;

pub use call_tree::{CallTree, Context, Method, MethodTotal, Origin, TreeBuilder, NO_OWNER, UNKNOWN_FRAMES};
pub use compare::{Agreement, Comparison, MethodChange, HOT_EDGE_THRESHOLD};
pub(crate) use owners::Owners;
pub use profiler::{Moment, Profile, ProfileOptions, ProfileThread, Profiler};
pub(crate) use rests::Rest;
pub use sample_report::{flat, hot_paths};
pub use samples::SampleCounts;
pub(crate) use samples::Samples;
pub use weight::{Grouping, Measure, Unit, Weight};
