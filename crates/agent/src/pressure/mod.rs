//! Feature `pressure`: critical section pressure while the program runs.
//!
//! Windows and phases are computed on the draining thread from the events of
//! monitors and parks, in every recording. With `events=pressure` alone, only
//! they are recorded, and capture takes its cheapest path: a call chain only
//! where [`Requests`](crate::state::Requests) asks for one.
//!
//! * [`capture`]: what a thread spends on locks, added up by itself.
//! * `live`: windows, phases and the picture of now.
//! * `beans`: the picture of now for JMX.
//! * `announce`: a command, or a line, when a phase begins or ends.
//! * `publish`: the picture of now, in a file that only its reader's user sees.

mod announce;
mod beans;
pub mod capture;
mod live;
mod publish;

pub use beans::{Commands, BEANS};
pub use live::LivePressure;
