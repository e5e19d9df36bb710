// Made from fleet/command/src/view/contract.rs by its test; edit that instead, then
// (cd fleet && HEADWAY_UPDATE=1 cargo test -p headway-fleet contract)

/**
 * What the page knows at once.
 */
export type FleetOpening = { 
/**
 * Where the store is.
 */
store: string, 
/**
 * Version of `headway-fleet`.
 */
version: string, };

/**
 * The rows that a session has: all, unless something is named.
 */
export type Only = { 
/**
 * Of this service.
 */
service: string | null, 
/**
 * Of this version.
 */
version: string | null, 
/**
 * Of JVMs on this host.
 */
host: string | null, 
/**
 * From this moment on, in microseconds since the Unix epoch.
 */
from_us: number | null, 
/**
 * Before this moment.
 */
to_us: number | null, };

/**
 * A lock of a service.
 */
export type LockOf = { 
/**
 * The service.
 */
service: string, 
/**
 * The lock's `site_id`.
 */
site: string, };

/**
 * A question.
 */
export type Question = { "ask": "services", 
/**
 * Of which rows.
 */
only: Only, } | { "ask": "locks", 
/**
 * Of which rows.
 */
only: Only, } | { "ask": "lock-jvms", 
/**
 * Of which rows.
 */
only: Only, } | { "ask": "over-time", 
/**
 * Of which rows.
 */
only: Only, 
/**
 * Locks that have a line each.
 */
locks: Array<LockOf>, } | { "ask": "stacks", 
/**
 * Of which rows.
 */
only: Only, 
/**
 * The lock.
 */
lock: LockOf, } | { "ask": "hosts", 
/**
 * Of which rows.
 */
only: Only, } | { "ask": "differences", 
/**
 * Of which rows.
 */
only: Only, } | { "ask": "phases", 
/**
 * Of which rows.
 */
only: Only, } | { "ask": "regressions", 
/**
 * Of this service, else of all.
 */
service: string | null, } | { "ask": "progress" };

/**
 * An answer to the question of this name.
 */
export type Answer = { "answer": "services" } & Rows<ServiceRow> | { "answer": "locks" } & Rows<LockRow> | { "answer": "lock-jvms" } & Rows<LockJvmsRow> | { "answer": "over-time" } & OverTime | { "answer": "stacks" } & Rows<StackRow> | { "answer": "hosts" } & Rows<HostRow> | { "answer": "differences" } & Rows<DifferenceRow> | { "answer": "phases" } & Rows<PhaseRow> | { "answer": "regressions" } & Regressions | { "answer": "progress" } & Progress;

/**
 * Rows of a view.
 */
export type Rows<Row> = { 
/**
 * The first rows.
 */
rows: Array<Row>, 
/**
 * True if there are more.
 */
more: boolean, };

/**
 * A service and version.
 */
export type ServiceRow = { 
/**
 * The service.
 */
service: string, 
/**
 * The version.
 */
version: string, 
/**
 * JVMs.
 */
jvms: number, 
/**
 * Hosts.
 */
hosts: number, 
/**
 * The first minute.
 */
first_us: number, 
/**
 * The last minute.
 */
last_us: number, 
/**
 * Running time of threads.
 */
running_ns: number, 
/**
 * CPU time; unknown if no recording has it.
 */
cpu_ns: number | null, 
/**
 * Steal time; unknown if no recording has it.
 */
steal_ns: number | null, 
/**
 * Transactions.
 */
operations: number, 
/**
 * Dropped events and other losses.
 */
dropped: number, 
/**
 * Locks that threads were blocked on.
 */
locks: number, 
/**
 * Contentions.
 */
contentions: number, 
/**
 * Blocked time.
 */
blocked_ns: number, 
/**
 * Blocked time per running time; unknown if running time is.
 */
blocked_share: number | null, };

/**
 * A lock of a service and version.
 */
export type LockRow = { 
/**
 * The service.
 */
service: string, 
/**
 * The version.
 */
version: string, 
/**
 * Id of the lock.
 */
site: string, 
/**
 * Its name.
 */
lock: string, 
/**
 * Its class.
 */
class: string, 
/**
 * `monitor` or `juc`.
 */
kind: string, 
/**
 * Contentions.
 */
contentions: number, 
/**
 * Blocked time.
 */
blocked_ns: number, 
/**
 * Of that, hand-off.
 */
handoff_ns: number, 
/**
 * Of that, with an unknown owner.
 */
unknown_ns: number, 
/**
 * The longest contention.
 */
max_ns: number, 
/**
 * Blocked time per running time; unknown if running time is.
 */
blocked_share: number | null, };

/**
 * The JVMs of a lock of a service and version.
 */
export type LockJvmsRow = { 
/**
 * The service.
 */
service: string, 
/**
 * The version.
 */
version: string, 
/**
 * Id of the lock.
 */
site: string, 
/**
 * JVMs in which threads were blocked on it.
 */
jvms: number, };

/**
 * Blocked time over time, in buckets of equal length without gaps.
 */
export type OverTime = { 
/**
 * Begin of the first bucket.
 */
first_us: number, 
/**
 * Length of a bucket: a minute, an hour or a day.
 */
bucket_us: number, 
/**
 * Blocked time of each lock that was asked for, by bucket.
 */
locks_ns: Array<Array<number>>, 
/**
 * Blocked time of all locks, by bucket.
 */
all_ns: Array<number>, 
/**
 * Running time, by bucket.
 */
running_ns: Array<number>, };

/**
 * Contentions on a lock with the stacks of both sides.
 */
export type StackRow = { 
/**
 * The version.
 */
version: string, 
/**
 * Contentions.
 */
contentions: number, 
/**
 * Blocked time.
 */
blocked_ns: number, 
/**
 * The waiters' stack, leaf first; empty if it is unknown.
 */
waiter_stack: Array<string>, 
/**
 * The owner's stack, leaf first; empty if it is unknown.
 */
owner_stack: Array<string>, };

/**
 * A host beside the median of its service and version.
 */
export type HostRow = { 
/**
 * The service.
 */
service: string, 
/**
 * The version.
 */
version: string, 
/**
 * The host.
 */
host: string, 
/**
 * JVMs on it.
 */
jvms: number, 
/**
 * Hosts of the service and version.
 */
hosts: number, 
/**
 * Blocked nanoseconds per second of running time; unknown if running time is.
 */
ns_per_s: number | null, 
/**
 * The median of all hosts.
 */
median_ns_per_s: number | null, 
/**
 * What the host has more than the median.
 */
more_ns_per_s: number | null, };

/**
 * A lock in a version and in the one before.
 */
export type DifferenceRow = { 
/**
 * The service.
 */
service: string, 
/**
 * The earlier version.
 */
old_version: string, 
/**
 * The later version.
 */
new_version: string, 
/**
 * The lock's name.
 */
lock: string, 
/**
 * Its class.
 */
class: string, 
/**
 * Blocked nanoseconds per second of running time before.
 */
old_ns_per_s: number | null, 
/**
 * And after.
 */
new_ns_per_s: number | null, 
/**
 * The difference.
 */
more_ns_per_s: number | null, };

/**
 * A phase of high critical section pressure.
 */
export type PhaseRow = { 
/**
 * The service.
 */
service: string, 
/**
 * The version.
 */
version: string, 
/**
 * The host; unknown if the JVM's row is missing.
 */
host: string | null, 
/**
 * When it began.
 */
from_us: number, 
/**
 * When it ended.
 */
to_us: number, 
/**
 * The lock's name.
 */
lock: string, 
/**
 * Mean of critical section pressure.
 */
mean: number, 
/**
 * Its peak.
 */
peak: number, 
/**
 * The waiters' stack, leaf first; empty if it is unknown.
 */
waiter_stack: Array<string>, 
/**
 * The owner's stack, leaf first; empty if it is unknown.
 */
owner_stack: Array<string>, 
/**
 * Where the recording is: a path on the host; `None` if it is not kept.
 */
recording: string | null, };

/**
 * How far the search for regressions is.
 */
export type Progress = { "step": "idle" } | { "step": "reading", 
/**
 * The service.
 */
service: string, 
/**
 * Its number, from 1 on.
 */
number: number, 
/**
 * Number of services.
 */
of: number, } | { "step": "comparing" } | { "step": "naming" };

/**
 * What was found.
 */
export type Regressions = { 
/**
 * The command with the same answer.
 */
command: string, 
/**
 * The answer as a sentence.
 */
verdict: string, 
/**
 * Services with two versions.
 */
services: Array<Compared>, 
/**
 * Services that have only one version.
 */
single_version: Array<string>, };

/**
 * Two versions of a service.
 */
export type Compared = { 
/**
 * The service.
 */
service: string, 
/**
 * The earlier version.
 */
old_version: string, 
/**
 * The later version.
 */
new_version: string, 
/**
 * What was compared with what, what could have been found, and what stands in its way: a sentence each.
 */
sentences: Array<string>, 
/**
 * Locks that changed, regressions first.
 */
changed: Array<Changed>, };

/**
 * A lock that changed.
 */
export type Changed = { 
/**
 * The lock's name.
 */
lock: string, 
/**
 * `monitor` or `juc`.
 */
kind: string, 
/**
 * True if it became worse.
 */
worse: boolean, 
/**
 * Relative change: 0.2 is 20 % more; `None` if the earlier version did not contend for it.
 */
change: number | null, 
/**
 * Its 95 % interval.
 */
interval: [number, number] | null, 
/**
 * Of the changes with this q or a smaller one, the part that may be none.
 */
q: number, 
/**
 * Part of running time before.
 */
old_share: number, 
/**
 * And after.
 */
new_share: number, 
/**
 * The stack in which threads were blocked longest in the later version; empty if it did not become worse.
 */
waiter_stack: Array<string>, 
/**
 * The stack that owned the lock longest meanwhile.
 */
owner_stack: Array<string>, };
