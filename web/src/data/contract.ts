// Made from crates/page/src/contract.rs by its tests; edit that instead, then
// HEADWAY_UPDATE=1 cargo test -p headway-page contract

/**
 * What a row of the recording's table is about.
 */
export type Kind = "monitor" | "juc" | "wait" | "park" | "cpu" | "wall" | "alive" | "paused" | "inside" | "ran" | "stolen" | "throttled" | "queued" | "transaction";

/**
 * How it is known who held the lock, how a wait ended, or what a sample saw.
 */
export type How = "none" | "exit" | "seen" | "previous" | "hand-over" | "unproven" | "notified" | "timed-out" | "interrupted" | "spurious" | "unfinished" | "java" | "native" | "waiting";

/**
 * What rows are grouped by.
 */
export type Dimension = "kind" | "lock-class" | "lock-name" | "lock" | "contender-thread" | "contender-group" | "contender-method" | "contender-chain" | "owner-thread" | "owner-group" | "owner-method" | "owner-chain" | "inside" | "time" | "how" | "thread-kind";

/**
 * A condition: the dimension has this value.
 */
export type Pick = { 
/**
 * What.
 */
by: Dimension, 
/**
 * Its value.
 */
value: number, };

/**
 * What counts. Texts are looked for anywhere in a name, whatever their case;
 * with `=` in front the whole name must be equal. Empty texts let all pass.
 */
export type Filter = { 
/**
 * Of the thread that was blocked, waited or was sampled.
 */
thread: string, 
/**
 * Of the lock or its class.
 */
lock: string, 
/**
 * Of any method on the chain of the thread or of the lock's owner.
 */
method: string, 
/**
 * True if the JVM's own threads count in waits and samples too.
 */
services: boolean, };

/**
 * The part of a recording that a query is about.
 */
export type Scope = { 
/**
 * Which recording, where several are compared.
 */
recording: number, 
/**
 * Begin of the range.
 */
from: number, 
/**
 * End of the range.
 */
to: number, 
/**
 * What counts.
 */
filter: Filter, 
/**
 * Kinds of rows that count.
 */
kinds: Array<Kind>, 
/**
 * Further conditions, all of which must hold.
 */
within: Array<Pick>, };

/**
 * A question.
 */
export type Query = { "ask": "group", 
/**
 * The part looked at.
 */
scope: Scope, 
/**
 * The levels.
 */
by: Array<Dimension>, 
/**
 * Intervals of the range for `time`.
 */
intervals: number, 
/**
 * Groups of each parent that are told, largest first.
 */
limit: number, } | { "ask": "lanes", 
/**
 * The part looked at.
 */
scope: Scope, 
/**
 * Threads told, from this place in the order on.
 */
first: number, 
/**
 * How many threads.
 */
count: number, 
/**
 * Details shorter than the range divided by this are joined.
 */
pixels: number, } | { "ask": "longest", 
/**
 * The part looked at.
 */
scope: Scope, 
/**
 * How many.
 */
limit: number, } | { "ask": "stretch", 
/**
 * Which recording.
 */
recording: number, 
/**
 * A row of the stretch.
 */
row: number, } | { "ask": "whole", 
/**
 * Which recording.
 */
recording: number, };

/**
 * The answer to the query of the same name.
 */
export type Answer = { "answer": "group" } & Groups | { "answer": "lanes" } & Lanes | { "answer": "longest", 
/**
 * The stretches.
 */
stretches: Array<Stretch>, 
/**
 * Names of all ids in it.
 */
names: Names, } | { "answer": "stretch", 
/**
 * The stretch; `None` if there is no such row.
 */
stretch: Stretch | null, 
/**
 * Names of all ids in it.
 */
names: Names, } | { "answer": "whole", 
/**
 * What is known.
 */
whole: Whole, 
/**
 * Names of all ids in it.
 */
names: Names, };

/**
 * Totals of groups, level by level; a group comes after its parent. Columns
 * have one entry per group.
 */
export type Groups = { 
/**
 * Time of everything in scope.
 */
totalNs: number, 
/**
 * Stretches (or samples) in scope.
 */
count: number, 
/**
 * The group that it is a part of; -1 on the first level.
 */
parent: Array<number>, 
/**
 * Value of the level's dimension.
 */
value: Array<number>, 
/**
 * Time.
 */
total: Array<number>, 
/**
 * Stretches with time in it.
 */
stretches: Array<number>, 
/**
 * The longest time that one stretch spent in it.
 */
max: Array<number>, 
/**
 * Part of the time in which the whole VM stood still.
 */
stopped: Array<number>, 
/**
 * Part of the time whose owner frame is only approximately known.
 */
approximate: Array<number>, 
/**
 * Part of the time whose holder was probably ready, but not running.
 */
descheduled: Array<number>, 
/**
 * Groups of the first level beyond the limit.
 */
leftOut: number, 
/**
 * Names of all ids in it.
 */
names: Names, };

/**
 * What threads did.
 */
export type Lanes = { 
/**
 * Threads in scope, most blocked first.
 */
threads: number, 
/**
 * Those asked for.
 */
lanes: Array<Lane>, 
/**
 * Names of all ids in it.
 */
names: Names, };

/**
 * What a thread did. Columns have one entry per segment, in time order.
 */
export type Lane = { 
/**
 * The thread.
 */
thread: number, 
/**
 * Time blocked in scope.
 */
blockedNs: number, 
/**
 * Begin.
 */
start: Array<number>, 
/**
 * Length.
 */
span: Array<number>, 
/**
 * [`Kind`], by its number.
 */
kind: Array<number>, 
/**
 * The longest stretch in it, by a row.
 */
row: Array<number>, 
/**
 * Stretches joined in it.
 */
joined: Array<number>, };

/**
 * A blocked stretch, a wait or a park, as a whole.
 */
export type Stretch = { 
/**
 * Its first row.
 */
row: number, 
/**
 * [`Kind`], by its number.
 */
kind: number, 
/**
 * Begin.
 */
start: number, 
/**
 * Length.
 */
span: number, 
/**
 * The thread.
 */
thread: number, 
/**
 * Its chain.
 */
chain: number, 
/**
 * The lock.
 */
lock: number, 
/**
 * True for a re-acquisition after `Object.wait`.
 */
afterWait: boolean, 
/**
 * True if it had not ended when the recording did.
 */
unfinished: boolean, 
/**
 * True if it stands for several short ones that were added up.
 */
summed: boolean, 
/**
 * Who held the lock meanwhile.
 */
slices: Array<Slice>, };

/**
 * A part of a stretch during which one thread, or nobody known, held the lock.
 */
export type Slice = { 
/**
 * Begin.
 */
start: number, 
/**
 * Length.
 */
span: number, 
/**
 * The holder, or who ended the wait.
 */
owner: number, 
/**
 * Its chain.
 */
chain: number, 
/**
 * How that is known.
 */
how: How, 
/**
 * Part of it in which the whole VM stood still.
 */
stopped: number, 
/**
 * True where the owner's frame is only approximately known.
 */
approximate: boolean, 
/**
 * True where the holder was probably not running for most of it.
 */
descheduled: boolean, };

/**
 * What ids stand for.
 */
export type Names = { 
/**
 * Classes, groups and methods.
 */
texts: { [key in number]: string }, 
/**
 * Threads.
 */
threads: { [key in number]: Thread }, 
/**
 * Locks and blockers.
 */
locks: { [key in number]: Lock }, 
/**
 * Frames.
 */
frames: { [key in number]: Frame }, 
/**
 * Call chains, frames leaf first.
 */
chains: { [key in number]: Array<number> }, };

/**
 * A thread.
 */
export type Thread = { 
/**
 * Its name; never empty.
 */
name: string, 
/**
 * Text of its group: the name with counters folded.
 */
group: number, 
/**
 * 0 platform, 1 virtual, 2 of the JVM itself.
 */
kind: number, };

/**
 * A lock or blocker.
 */
export type Lock = { 
/**
 * `Inventory.lock (com.acme.Inventory$1@1a2b3c)`.
 */
name: string, 
/**
 * What a sentence calls it: `Inventory.lock`.
 */
short: string, 
/**
 * Text of its class.
 */
class: number, 
/**
 * Text of what the code calls it; of its class if nothing better is known.
 */
title: number, };

/**
 * A frame of a call chain.
 */
export type Frame = { 
/**
 * Text of the method.
 */
method: number, 
/**
 * Source line, 0 if unknown.
 */
line: number, 
/**
 * True for the JDK's own code.
 */
jdk: boolean, 
/**
 * Source file; empty if unknown.
 */
file: string, 
/**
 * The source line's text, where sources were given.
 */
source: string, };

/**
 * What is known of a recording before anything is asked.
 */
export type Facts = { 
/**
 * The file's name.
 */
file: string, 
/**
 * Its length.
 */
durationNs: number, 
/**
 * When it began, milliseconds of the Unix epoch; 0 if unknown.
 */
startEpochMs: number, 
/**
 * What made it: `headway 0.1.0`, `jfr`, `async-profiler`.
 */
producer: string, 
/**
 * True if the maker records no owners' chains.
 */
foreign: boolean, 
/**
 * JVM name and version.
 */
jvm: string, 
/**
 * Process id.
 */
pid: number, 
/**
 * Main class and arguments.
 */
javaArguments: string, 
/**
 * Settings in force.
 */
settings: Array<[string, string]>, 
/**
 * Events read.
 */
events: number, 
/**
 * CPU time of Headway's own threads.
 */
ownCpuNs: number, 
/**
 * How long attaching held up the application.
 */
attachPauseNs: number, 
/**
 * Application threads that lived in it.
 */
threads: number, 
/**
 * Blocked time of the whole recording.
 */
blockedNs: number, 
/**
 * Running time of the application's platform threads.
 */
runningNs: number, 
/**
 * Blocked stretches.
 */
contentions: number, 
/**
 * How many pauses of the whole VM, and how long together.
 */
pauses: [number, number], 
/**
 * What matters, dearest first.
 */
findings: Array<Finding>, 
/**
 * What is missing.
 */
losses: Array<Loss>, 
/**
 * Mechanisms that were not in force: name, why.
 */
degraded: Array<[string, string]>, 
/**
 * What is wrong with the file.
 */
problems: Array<string>, 
/**
 * Stretches of each kind, by its number; 0 where nothing was recorded.
 */
stretches: Array<number>, 
/**
 * True if samples say how much time they stand for.
 */
samplesWeighted: boolean, 
/**
 * Stretches that were added up per interval because there were too many.
 */
summed: number, };

/**
 * Something a reader should know.
 */
export type Finding = { 
/**
 * `hot-lock`, `deadlock`, ...: the names of `headway report --json`.
 */
kind: string, 
/**
 * One or two sentences; names of code stand in backticks.
 */
text: string, 
/**
 * More, one line each.
 */
details: Array<string>, 
/**
 * Thread time that it costs.
 */
cost: number, };

/**
 * Something that is missing.
 */
export type Loss = { 
/**
 * Its stable name.
 */
name: string, 
/**
 * How often.
 */
count: number, 
/**
 * What it means.
 */
explanation: string, };

/**
 * What a page is given to begin with.
 */
export type Opening = { 
/**
 * The recordings: one, or two to compare (before, after).
 */
recordings: Array<Facts>, 
/**
 * Version of Headway.
 */
version: string, };

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
steal: Steal | null, };

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
 * Time in which at least one thread was parked.
 */
realTime: number, 
/**
 * Thread time over times.
 */
averagePark: number, 
/**
 * Real time over the parks that ended.
 */
averageHold: number, 
/**
 * Real time over the execution time.
 */
realUse: number, 
/**
 * Thread time over the execution time.
 */
threadUse: number, 
/**
 * Real time over the time from the first to the last event on it.
 */
realLifeUse: number, 
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
 * contain stolen time. Only where they do is it subtracted.
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
 * Intervals whose stolen time was divided CPU by CPU.
 */
refinedIntervals: number, 
/**
 * False if the kernel does not tell how long threads wait for a CPU.
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
process: Spent, 
/**
 * Kinds of transactions, longest in all first.
 */
transactions: Array<Transactions>, 
/**
 * Locks whose holders were not running, most such time first.
 */
locks: Array<HeldOff>, };

/**
 * CPU time of the machine.
 */
export type Machine = { 
/**
 * Time spent running something.
 */
busy: number, 
/**
 * Stolen time.
 */
stolen: number, 
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
export type Spent = { 
/**
 * CPU time as the kernel gives it.
 */
cpu: number, 
/**
 * CPU time without stolen time.
 */
corrected: number, 
/**
 * Stolen time.
 */
stolen: number, 
/**
 * Time held back by the quota.
 */
throttled: number, 
/**
 * Time ready and waiting for a CPU.
 */
queued: number, 
/**
 * Part of the ready time that was lost.
 */
lostShare: number, };

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
 * How many were never seen to end; in no other figure.
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
 * What the environment took of each.
 */
lost: Spread, 
/**
 * CPU time without stolen time, of all together.
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
 * Stolen time.
 */
stolen: number, 
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
 * A lock that looked contended while its holders did not run.
 */
export type HeldOff = { 
/**
 * The lock's name.
 */
lock: string, 
/**
 * Blocked time whose holder is known and was measured.
 */
blocked: number, 
/**
 * How much of it the holder was ready but not running.
 */
offCpu: number, 
/**
 * Blocked slices.
 */
slices: number, 
/**
 * Those for more than half of which the holder did not run.
 */
slicesOffCpu: number, };

export const KINDS = ["monitor","juc","wait","park","cpu","wall","alive","paused","inside","ran","stolen","throttled","queued","transaction"] as const;
export const HOWS = ["none","exit","seen","previous","hand-over","unproven","notified","timed-out","interrupted","spurious","unfinished","java","native","waiting"] as const;
