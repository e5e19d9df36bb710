// Made from crates/page/src/contract.rs and what is below it by its tests; edit that instead, then
// HEADWAY_UPDATE=1 cargo test -p headway-page contract
import type { Aspect } from "./contract";

/**
 * What the analyses of the whole recording say.
 */
export type Whole = { 
/**
 * Critical section pressure.
 */
pressure: Pressure, 
/**
 * Park statistics.
 */
parks: ParkStatistics, 
/**
 * What the environment took; `None` if the recording does not say.
 */
steal: Steal | null, 
/**
 * How far blocked time by owner and call stack may be off.
 */
estimates: Estimates, };

/**
 * Rows of the breakdown of blocked time by `by`, those with most time, of a recording that samples
 * contentions; none where everything is exact. A row comes after the one that it is a part of.
 * Columns have one entry per row.
 */
export type Estimates = { 
/**
 * What the levels are values of.
 */
by: Array<Aspect>, 
/**
 * The row that it is a part of; -1 on the first level.
 */
parent: Array<number>, 
/**
 * Value of the level's aspect.
 */
value: Array<number>, 
/**
 * Blocked time without pauses of the VM.
 */
total: Array<number>, 
/**
 * Lower end of its interval of 95 %.
 */
low: Array<number>, 
/**
 * Its upper end.
 */
high: Array<number>, 
/**
 * Random instants at which it was seen; 0 where the time is exact.
 */
instants: Array<number>, 
/**
 * Rows with less time than these.
 */
leftOut: number, };

/**
 * Critical section pressure: time spent acquiring a lock over the running time
 * of all threads, interval by interval. Fractions, 0 to 1.
 */
export type Pressure = { 
/**
 * Length of an interval.
 */
intervalNs: number, 
/**
 * Pressure from which on an interval belongs to a phase.
 */
threshold: number, 
/**
 * Where each interval begins, and the pressure of all locks together.
 */
windows: Array<[number, number]>, 
/**
 * Running time in each interval: what the mean of several intervals weighs them by.
 */
running: Array<number>, 
/**
 * Locks, highest mean first.
 */
locks: Array<LockPressure>, };

/**
 * Pressure of one lock.
 */
export type LockPressure = { 
/**
 * The lock.
 */
lock: number, 
/**
 * Of the whole recording.
 */
mean: number, 
/**
 * Of the worst interval.
 */
peak: number, 
/**
 * Intervals in which it was acquired with blocking: where each begins, and
 * the pressure.
 */
windows: Array<[number, number]>, 
/**
 * Consecutive intervals above the threshold.
 */
phases: Array<Phase>, };

/**
 * A phase of contention.
 */
export type Phase = { 
/**
 * When its first interval begins.
 */
from: number, 
/**
 * When its last interval ends.
 */
to: number, 
/**
 * Pressure over all of it.
 */
mean: number, 
/**
 * Pressure of the worst interval.
 */
peak: number, 
/**
 * The method that spent most time acquiring the lock; empty if unknown.
 */
acquiring: string, 
/**
 * The method that held it for most of that time; empty if unknown.
 */
owner: string, };

/**
 * Park statistics: how much threads parked on each blocker.
 */
export type ParkStatistics = { 
/**
 * How long parks were watched: what utilisations are parts of.
 */
executionNs: number, 
/**
 * The blockers, most parked thread time first.
 */
blockers: Array<Blocker>, 
/**
 * Blockers beyond those.
 */
leftOut: number, };

/**
 * The parks on one blocker object. Utilisations are fractions of a time: 1 is
 * one thread parked all the time, 63 are 63.
 */
export type Blocker = { 
/**
 * The blocker.
 */
lock: number, 
/**
 * Its identity hash code, in hexadecimal; `0` if unknown.
 */
hash: string, 
/**
 * The thread that was seen first to park on it.
 */
thread: number, 
/**
 * Its call chain then.
 */
chain: number, 
/**
 * True if this is the call stack of a worker that waits for work in its pool.
 */
idle: boolean, 
/**
 * How often threads parked on it.
 */
times: number, 
/**
 * How many are parked at the recording's end.
 */
now: number, 
/**
 * How many were parked at once at most.
 */
peak: number, 
/**
 * Parked time of all threads added up.
 */
threadTime: number, 
/**
 * Time in which at least one thread was parked; `None` if that is not known, as it is of parks of
 * several threads of which some are only known as a sum.
 */
realTime: number | null, 
/**
 * Thread time over times.
 */
averagePark: number, 
/**
 * Real time over the parks that ended.
 */
averageHold: number | null, 
/**
 * Real time over the execution time.
 */
realUse: number | null, 
/**
 * Thread time over the execution time.
 */
threadUse: number, 
/**
 * Real time over the time from the first to the last event on it.
 */
realLifeUse: number | null, 
/**
 * Thread time over the time from the first to the last event on it.
 */
threadLifeUse: number, };

/**
 * What the environment took.
 */
export type Steal = { 
/**
 * `left out`, `included` or `unknown`: whether this kernel's thread times
 * contain steal. Only where they do is it subtracted.
 */
accounting: string, 
/**
 * Intervals measured.
 */
intervals: number, 
/**
 * Time covered by them.
 */
coveredNs: number, 
/**
 * Intervals whose steal was divided CPU by CPU.
 */
refinedIntervals: number, 
/**
 * False if the kernel does not say how long threads wait for a CPU.
 */
runQueueKnown: boolean, 
/**
 * The machine, all processes together.
 */
machine: Machine, 
/**
 * The container's quota, if there is one.
 */
quota: Quota | null, 
/**
 * The process: all its threads, those without a name included.
 */
process: Ready, 
/**
 * The same in the course of time.
 */
windows: Array<StealWindow>, 
/**
 * Kinds of transactions, longest in all first.
 */
transactions: Array<Transactions>, 
/**
 * Length of the intervals of `lock_names`.
 */
lockIntervalNs: number, 
/**
 * Locks whose owners had no CPU, by name, most such time first.
 */
lockNames: Array<NameHeldOff>, };

/**
 * CPU time of the machine.
 */
export type Machine = { 
/**
 * Time spent running something.
 */
busy: number, 
/**
 * Steal.
 */
steal: number, 
/**
 * Idle time.
 */
idle: number, };

/**
 * A quota and what it did.
 */
export type Quota = { 
/**
 * CPU time allowed in a period; 0 if there is no limit.
 */
quota: number, 
/**
 * Length of a period.
 */
period: number, 
/**
 * Periods.
 */
periods: number, 
/**
 * How many of them were cut short.
 */
throttledPeriods: number, 
/**
 * For how long, all CPUs added up.
 */
throttled: number, };

/**
 * Where ready time went.
 */
export type Ready = { 
/**
 * CPU time without steal.
 */
corrected: number, 
/**
 * Steal.
 */
steal: number, 
/**
 * Time held back by the quota.
 */
throttled: number, 
/**
 * Time ready and waiting for a CPU.
 */
queued: number, };

/**
 * Some measured intervals that follow one another.
 */
export type StealWindow = { 
/**
 * When it begins.
 */
from: number, 
/**
 * When it ends.
 */
to: number, 
/**
 * How many intervals.
 */
intervals: number, 
/**
 * Those whose steal was divided CPU by CPU.
 */
refined: number, 
/**
 * The machine, all processes together.
 */
machine: Machine, 
/**
 * Periods of the quota.
 */
periods: number, 
/**
 * How many of them were cut short.
 */
throttledPeriods: number, 
/**
 * For how long the quota held the process back, all CPUs added up.
 */
throttled: number, 
/**
 * The process: all its threads, those without a name included.
 */
process: Ready, };

/**
 * Transactions of one kind.
 */
export type Transactions = { 
/**
 * What the application calls them.
 */
name: string, 
/**
 * How many ended.
 */
count: number, 
/**
 * How many were never seen to end; in no other number.
 */
notEnded: number, 
/**
 * How many of `count` have no CPU time.
 */
withoutCpu: number, 
/**
 * How long they took.
 */
wall: Spread, 
/**
 * How long each was runnable, but off-CPU.
 */
offCpu: Spread, 
/**
 * CPU time without steal, of all together.
 */
corrected: number, 
/**
 * Time blocked acquiring monitors and locks of `java.util.concurrent`.
 */
blocked: number, 
/**
 * Time parked for anything else.
 */
parked: number, 
/**
 * Time in `Object.wait`.
 */
waited: number, 
/**
 * Steal.
 */
steal: number, 
/**
 * Time held back by the quota.
 */
throttled: number, 
/**
 * Time waiting for a CPU.
 */
queued: number, };

/**
 * Lengths.
 */
export type Spread = { 
/**
 * All together.
 */
total: number, 
/**
 * Half are no longer than this.
 */
p50: number, 
/**
 * Nine of ten.
 */
p90: number, 
/**
 * 99 of 100.
 */
p99: number, 
/**
 * The longest.
 */
max: number, };

/**
 * All locks of a name that looked contended while their owners had no CPU.
 */
export type NameHeldOff = { 
/**
 * Text of the name.
 */
name: number, 
/**
 * How much of their blocked time the owner was ready, but had no CPU: an estimate.
 */
offCpu: number, 
/**
 * When: begins of intervals, and the time in each. They add up to `off_cpu`.
 */
when: Array<[number, number]>, };
