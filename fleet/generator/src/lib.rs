//! Synthetic fleets: rows as recordings of many machines would give them, for tests and measurements.
//!
//! A fleet is a function of its [`Spec`]: the same numbers and the same seed give the same rows, whatever was
//! generated before, because each service, host, day and JVM has a random sequence that only its name and the seed
//! decide. The distributions are in [`shape`]; what was planted is in [`Truth`], for whoever checks an answer.
//!
//! One JVM's day is in memory at a time, and the names of one service: [`fill`] writes as it goes.

mod catalogue;
mod day;
mod draw;
mod fill;
mod hours;
mod plan;
pub mod shape;
mod spec;
mod truth;

pub use fill::{fill, Filled};
pub use hours::fill_hours;
pub use plan::Plan;
pub use spec::Spec;
pub use truth::{Outlier, Regression, Truth};
