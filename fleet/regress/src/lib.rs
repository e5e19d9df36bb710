//! Regressions: which locks block threads longer in a newer version of a service, and which
//! changes could have been seen.
//!
//! Input is what versions did on hosts, hour by hour ([`PairBuilder`]), or what JVMs did minute by minute, which is
//! added up here ([`Minutes`]); where it comes from is somebody else's business. [`compare`] then answers for all services in one call:
//!
//! 1. **What is compared with what** ([`design`]). The unit is an operation where both versions
//!    record operations, else a second of running time. Versions that ran at the same time are
//!    compared hour by hour; versions that ran one after the other, by equal hours of the day and,
//!    where both have them, of the week. Hosts that ran both versions are pairs.
//! 2. **How much a lock changed.** The logarithm of new rate over old rate. Its standard error
//!    comes from a bootstrap over hosts *and* blocks of time (the pigeonhole bootstrap: Owen,
//!    "The pigeonhole bootstrap", Annals of Applied Statistics 1(2), 2007), because one busy day
//!    moves all hosts at once: hosts alone would look like many independent witnesses of it.
//!    Of `n` units `n - 1` are drawn, so that few units do not look too much alike (Rao and Wu,
//!    "Resampling inference with complex survey data", JASA 83, 1988), workdays and weekends apart.
//!    What belongs neither to hosts nor to blocks is counted three times by this bootstrap; two of
//!    them are taken off again. Where versions ran in turn, the variance of blocks is raised, because
//!    days that follow each other are alike.
//! 3. **Which changes are real.** Student's t with as many degrees of freedom as hosts and blocks
//!    carry (Satterthwaite), two-sided, and over all locks of the call the false discovery rate
//!    of Benjamini and Hochberg (JRSS B 57(1), 1995). What is reported must also be large enough
//!    to matter ([`Options`]).
//! 4. **What could have been seen**: for every lock the smallest change that would have been
//!    reported with a probability of 80 %.
//!
//! Steps 1 and 2 need the rows of one service ([`estimate`]), and steps 3 and 4 what came of it for all services
//! ([`judge`]), so that many programs can share a search.
//!
//! The random numbers are seeded by a hash of the input, and sums are added in the order of names
//! and times: the same rows give the same answer, in whatever order an engine returns them.

pub mod compare;
pub mod design;
mod discover;
mod estimate;
mod minutes;
mod resample;
mod rows;

pub use compare::{compare, estimate, judge, Change, Compared, Estimated, Options, Outcome, Tested};
pub use design::{Design, Matched, Timing, Unit, Unusable};
pub use minutes::{Hosts, Minutes};
pub use rows::{Pair, PairBuilder, Version};
