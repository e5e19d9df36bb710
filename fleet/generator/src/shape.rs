//! The distributions. None of them was fitted to one recording: they have the traits that make a fleet hard to
//! query and compare (few locks with most of the time, durations over many powers of ten, hosts that are alike
//! within a day and differ between each other), in numbers that are easy to state. `docs/fleet-internals.md`
//! repeats them.

/// Services' sizes: the n-th has a share of the JVMs in proportion to `1 / n^S`.
pub const SERVICE_SIZE: f64 = 1.0;
/// Which lock a row is of: Zipf with this exponent, over the service's locks.
pub const SITE_POPULARITY: f64 = 1.1;
/// How long a lock blocks, beside others: Pareto from 1 on, with this tail index. Below 2 its variance is infinite.
pub const SITE_SCALE_TAIL: f64 = 1.5;
/// It is cut off here, so that one lock of a large fleet is not all of it.
pub const SITE_SCALE_MOST: f64 = 300.0;
/// Contentions of a row: log-normal, median.
pub const CONTENTIONS_MEDIAN: f64 = 3.0;
/// The same, standard deviation of the logarithm.
pub const CONTENTIONS_SPREAD: f64 = 1.2;
/// The same, at most.
pub const CONTENTIONS_MOST: f64 = 100_000.0;
/// Duration of a contention on a lock of scale 1: log-normal, median.
pub const BLOCKED_MEDIAN_NS: f64 = 40_000.0;
/// The same, standard deviation of the logarithm.
pub const BLOCKED_SPREAD: f64 = 1.5;
/// Duration of a wait: log-normal, median.
pub const WAITED_MEDIAN_NS: f64 = 20_000_000.0;
/// The same, standard deviation of the logarithm.
pub const WAITED_SPREAD: f64 = 2.0;
/// Probability that a lock tends to convoys: many threads own it in turn.
pub const CONVOY_LOCKS: f64 = 0.05;
/// Probability that a row of such a lock is a convoy.
pub const CONVOYS: f64 = 0.05;
/// Contentions of a convoy: log-normal, median, with the spread of other rows.
pub const CONVOY_CONTENTIONS: f64 = 10_000.0;
/// Duration of a contention in a convoy, on a lock of scale 1: log-normal, median, with the spread of other rows.
pub const CONVOY_MEDIAN_NS: f64 = 10_000_000.0;
/// No contention or wait is longer than its minute.
pub const LONGEST_NS: f64 = 60e9;
/// So many durations are drawn for a row, at most; its contentions are divided among them.
pub const DURATIONS: u64 = 4;
/// How much a day differs on one host from its other days: standard deviation of the logarithm of blocked time.
pub const HOST_DAY_SPREAD: f64 = 0.1;
/// Hand-off over blocked time: beta.
pub const HANDOFF: (f64, f64) = (2.0, 18.0);
/// A row has no owner's stack with this probability; what is no hand-off or pause is then unknown.
pub const NO_OWNER: f64 = 0.1;
/// A row has no waiter's stack with this probability.
pub const NO_WAITER: f64 = 0.02;
/// The VM was paused during a row's contentions with this probability.
pub const PAUSED: f64 = 0.02;
/// Share of blocked time that is then a pause.
pub const PAUSE_SHARE: f64 = 0.05;
/// Stacks that wait for a lock, and as many that own one: 1 to this many.
pub const STACKS: u32 = 6;
/// Methods of a stack: log-normal, median.
pub const DEPTH_MEDIAN: f64 = 24.0;
/// The same, standard deviation of the logarithm.
pub const DEPTH_SPREAD: f64 = 0.4;
/// The same, at least and at most.
pub const DEPTH: (f64, f64) = (3.0, 96.0);
/// The first locks of each service are those of a library that all services use: the same ids everywhere.
pub const LIBRARY_SITES: u32 = 5;
/// Probability that a lock is of `java.util.concurrent`.
pub const JUC: f64 = 0.3;
/// Probability that virtual threads wait for a lock.
pub const VIRTUAL: f64 = 0.15;
/// Probability that nothing but a lock's class is known.
pub const ONLY_CLASS: f64 = 0.1;
/// Rows of `wait_minute`, and of `cpu_minute`, for one of `lock_minute`.
pub const OTHER_ROWS: f64 = 0.5;
/// Load by time of day: from 1 at noon linearly down to this at midnight. Locks are contended in proportion.
pub const NIGHT: f64 = 0.3;
/// Threads of a service's JVMs: uniform.
pub const THREADS: (u32, u32) = (20, 200);
/// Running time over the life of threads: uniform.
pub const RUNNING: (f64, f64) = (0.6, 1.0);
/// CPU time over running time: uniform.
pub const ON_CPU: (f64, f64) = (0.02, 0.3);
/// Operations of a thread in a minute at noon: uniform.
pub const OPERATIONS: (u64, u64) = (50, 150);
/// Probability that a JVM's recordings come from a tool that does not say when threads lived.
pub const NO_RUNNING: f64 = 0.02;
/// Probability that a JVM's recordings have no CPU time.
pub const NO_CPU: f64 = 0.05;
/// Probability that a JVM's recordings have no steal time.
pub const NO_STEAL: f64 = 0.5;
/// Probability that events of a minute were dropped.
pub const DROPPED: f64 = 0.01;
/// From this critical section pressure on, a minute is a phase.
pub const PHASE: f64 = 0.05;
/// Probability that a JVM's wall clock was set on a day.
pub const CLOCK_JUMP: f64 = 0.001;
/// A version is rolled out over this part of the time between two versions; JVMs are uniform in it.
pub const ROLL_OUT: f64 = 0.25;
/// Time of a CPU sample.
pub const SAMPLE_NS: u64 = 10_000_000;
