//! Feature `pressure`: critical section pressure while the program runs.
//!
//! Windows and phases are computed on the draining thread from the events of
//! monitors and parks, in every recording. With `events=pressure` alone, only
//! they are recorded, and capture takes its cheapest path: a call chain only
//! where [`Requests`] asks for one.
//!
//! * `requests`: which locks' chains are worth taking.
//! * [`capture`]: what a thread spends on locks, added up by itself.
//! * `live`: windows, phases and the picture of now.
//! * `beans`: the picture of now for JMX.
//! * `found`: threads that wait already when a recording begins.
//! * `announce`: a command, or a line, when a phase begins or ends.
//! * `publish`: the picture of now, in a file that only its reader's user sees.

mod announce;
mod beans;
pub mod capture;
mod found;
mod live;
mod publish;
mod requests;

pub use beans::Commands;
pub use live::LivePressure;
pub use requests::Requests;
