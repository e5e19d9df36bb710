//! Park statistics: how much threads parked on each blocker object.
//!
//! The metrics are those of Patros (Park contention profiling in the J9 JVM,
//! University of New Brunswick 2014, chapter 3). Two of them deserve a word:
//!
//! * *Average hold time* is real time over the parks that ended. It estimates
//!   how long a permit is unavailable: while at least one thread is parked on a
//!   lock, somebody holds it, and every park that ended stands for one release.
//!   It is exact for a lock that is contended all the time, and too long for
//!   one whose owners also come and go without anybody parking.
//! * *Thread-time utilisation* is parked thread time over execution time. It
//!   grows with the number of parked threads: 63 threads parked all the time
//!   are 6300 %. That several blockers have high real-time utilisation says
//!   little, for one permanently parked thread suffices; the bottleneck is the
//!   one with the highest thread-time utilisation.
//!
//! Nothing here keeps events: a [`ParkTally`] adds parks up as they come, in
//! the agent's draining thread or from a recording, within a bound.

mod park_statistics_report;
mod record;
mod summary;
mod table;
mod tally;

pub use park_statistics_report::{BlockerStatistics, ParkStatisticsReport};
pub use record::{BlockerParks, FoldedParks};
pub use summary::ParkSummary;
pub use tally::{ParkTally, TallyOptions};
