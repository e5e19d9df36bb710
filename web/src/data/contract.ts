// Made from crates/page/src/contract.rs and what is below it by its tests; edit that instead, then
// HEADWAY_UPDATE=1 cargo test -p headway-page contract
import type { Whole } from "./whole";

export type * from "./whole";

/**
 * What a row of the recording's table is about.
 */
export type Kind = "monitor" | "juc" | "wait" | "park" | "cpu" | "wall" | "alive" | "paused" | "inside" | "ran" | "steal" | "throttled" | "queued" | "transaction";

/**
 * How it is known who held the lock, how a wait ended, or what a sample saw.
 */
export type How = "none" | "exit" | "seen" | "previous" | "hand-off" | "unknown" | "notified" | "timed-out" | "interrupted" | "spurious" | "unfinished" | "java" | "native" | "waiting";

/**
 * What rows are grouped by.
 */
export type Aspect = "kind" | "lock-class" | "lock-name" | "lock" | "contender-thread" | "contender-group" | "contender-method" | "contender-chain" | "owner-thread" | "owner-group" | "owner-method" | "owner-chain" | "inside" | "time" | "how" | "thread-kind";

/**
 * A condition: the aspect has this value.
 */
export type Pick = { 
/**
 * What.
 */
by: Aspect, 
/**
 * Its value, in words that stay the same when the recording is read again: a name,
 * a thread's key, the hash of a call chain.
 */
key: string, };

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
 * Conditions on the methods of one of the call stacks that a row has.
 */
export type Stacks = { 
/**
 * Which call stack: `contender-chain`, `owner-chain` or `inside`. Nothing matches any other aspect.
 */
of: Aspect, 
/**
 * Methods that are all on it, by their whole names.
 */
with: Array<string>, 
/**
 * Methods of which none is on it.
 */
without: Array<string>, };

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
within: Array<Pick>, 
/**
 * Conditions on a call stack; none if absent.
 */
stacks?: Stacks, 
/**
 * Keys of the only threads that count; all if absent.
 */
threads?: Array<string>, };

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
by: Array<Aspect>, 
/**
 * Intervals of the range for `time`.
 */
intervals: number, 
/**
 * Groups of each parent that are shown, largest first.
 */
limit: number, } | { "ask": "lanes", 
/**
 * The part looked at.
 */
scope: Scope, 
/**
 * Threads shown, from this place in the order on.
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
limit: number, } | { "ask": "entry", 
/**
 * Which recording.
 */
recording: number, 
/**
 * What it is.
 */
kind: Kind, 
/**
 * Its begin.
 */
start: number, 
/**
 * The thread, by its key.
 */
thread: string, } | { "ask": "whole", 
/**
 * Which recording.
 */
recording: number, };

/**
 * The answer to the query of the same name.
 */
export type Answer = { "answer": "group" } & Groups | { "answer": "lanes" } & Lanes | { "answer": "longest", 
/**
 * The entries.
 */
entries: Array<Entry>, 
/**
 * Names of all ids in it.
 */
names: Names, } | { "answer": "entry", 
/**
 * The contention; `None` if there is none such, or if it was added up.
 */
entry: Entry | null, 
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
 * Entries (or samples) in scope.
 */
count: number, 
/**
 * The group that it is a part of; -1 on the first level.
 */
parent: Array<number>, 
/**
 * Value of the level's aspect.
 */
value: Array<number>, 
/**
 * Time.
 */
total: Array<number>, 
/**
 * Entries with time in it.
 */
entries: Array<number>, 
/**
 * The longest time that one entry spent in it.
 */
max: Array<number>, 
/**
 * Part of the time in which the whole VM was stopped.
 */
stopped: Array<number>, 
/**
 * Part of the time whose owner frame is only approximately known.
 */
approximate: Array<number>, 
/**
 * Part of the time that the next level does not have: stacks of short contentions
 * are kept by longer intervals and groups of threads than their time is.
 */
rest: Array<number>, 
/**
 * The same of everything in scope. Where the scope itself is about stacks, time at
 * its edges of which it is unknown on which side it lies; estimated, in no total.
 */
restNs: number, 
/**
 * Groups of the first level beyond the limit.
 */
leftOut: number, 
/**
 * Conditions on values that the recording does not have, by their keys.
 */
unknown: Array<string>, 
/**
 * Names of all ids in it.
 */
names: Names, };

/**
 * What threads did.
 */
export type Lanes = { 
/**
 * Threads of the application in scope.
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
 * Time in it: less than its length where it is made of several.
 */
total: Array<number>, 
/**
 * [`Kind`], by its number.
 */
kind: Array<number>, 
/**
 * Begin of the longest contention in it; -1 where only sums are left.
 */
longest: Array<number>, 
/**
 * Entries joined in it.
 */
joined: Array<number>, 
/**
 * True where it is a wait of an idle thread.
 */
idle: Array<boolean>, };

/**
 * An entry: a contention, a wait, a park, a sample or a transaction, as a whole.
 */
export type Entry = { 
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
 * True for a wait of an idle thread.
 */
idle: boolean, 
/**
 * Who held the lock meanwhile.
 */
slices: Array<Slice>, };

/**
 * A part of an entry during which one thread, or nobody known, held the lock.
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
 * The owner, or who ended the wait.
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
 * Part of it in which the whole VM was stopped.
 */
stopped: number, 
/**
 * True where the owner's frame is only approximately known.
 */
approximate: boolean, 
/**
 * True where the owner was probably not running for most of it.
 */
noCpu: boolean, };

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
 * 0 platform, 1 virtual, 2 of the JVM itself, 3 likewise: a carrier of virtual threads.
 */
kind: number, 
/**
 * More than 0 if it stands for so many threads of its group, whose short
 * contentions are not kept apart.
 */
others: number, 
/**
 * The same, and no other's, however the recording is read: `request-1#21`. Without a number if it is no thread,
 * but what virtual threads did of which it is not known which one it was.
 */
key: string, };

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
 * Active settings.
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
 * Estimated CPU time of its work on application threads; `None` if that was too rare for an estimate.
 */
hookCpuNs: number | null, 
/**
 * CPU time of the process meanwhile; 0 if unknown.
 */
processCpuNs: number, 
/**
 * For how long the start of the recording paused the process at most.
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
 * Contentions.
 */
contentions: number, 
/**
 * Random instants at which contentions and waits were sampled; 0 where everything was recorded.
 * Totals by lock, thread and time are exact all the same, unless it `thins`.
 */
instants: number, 
/**
 * True if parks of threads that park very often were only counted near random instants, at times: their
 * totals are estimates then.
 */
thins: boolean, 
/**
 * How many pauses of the whole VM, and how long together.
 */
pauses: [number, number], 
/**
 * What is wrong, in one or two sentences; names of code stand in backticks.
 */
verdict: string, 
/**
 * Which threads were recorded, in a sentence; empty if all were.
 */
selection: string, 
/**
 * Where thread time went.
 */
ledger: Ledger, 
/**
 * Virtual threads, if there were carriers of them.
 */
virtualThreads: VirtualThreads | null, 
/**
 * Where threads waited longest, but not for work; the most time first.
 */
waits: Array<WaitPlace>, 
/**
 * What the names of code in the verdict and the findings are names of.
 */
links: Array<Link>, 
/**
 * What matters, most expensive first.
 */
findings: Array<Finding>, 
/**
 * What is missing.
 */
losses: Array<Loss>, 
/**
 * Mechanisms that were not active: name, why.
 */
degraded: Array<[string, string]>, 
/**
 * What is wrong with the file.
 */
problems: Array<string>, 
/**
 * Entries of each kind, by its number; 0 where nothing was recorded.
 */
entries: Array<number>, 
/**
 * True if samples say how much time they stand for.
 */
samplesWeighted: boolean, 
/**
 * Entries that were added up per interval because there were too many.
 */
summed: number, 
/**
 * Length of those intervals: a range of whole ones has exact totals by thread, lock and kind. 0 if there are none.
 */
baseNs: number, 
/**
 * Length of the intervals in which the stacks of what was added up are kept.
 */
stacksNs: number, 
/**
 * True if those stacks are kept by groups of threads.
 */
stacksByGroup: boolean, 
/**
 * Threads whose short contentions are in the sum of the others of their group.
 */
foldedThreads: number, 
/**
 * Locks whose short contentions are in the sum of the others of their name.
 */
foldedLocks: number, 
/**
 * How long threads waited, without idle ones: as in the report.
 */
waitedNs: number, 
/**
 * Where idle threads waited.
 */
idleWaits: Array<IdleWaits>, 
/**
 * Virtual threads that the recording knows, among the threads of the application.
 */
knownVirtualThreads: number, };

/**
 * What a name in a sentence is the name of.
 */
export type Named = "lock" | "thread" | "method";

/**
 * A name of code in a sentence, and where it can be followed to.
 */
export type Link = { 
/**
 * As the sentence has it.
 */
name: string, 
/**
 * What it is the name of.
 */
kind: Named, 
/**
 * What the recording has of it.
 */
seen: Seen, 
/**
 * The whole name of a method.
 */
whole: string, };

/**
 * What of a recording has a name: the first of these that does.
 */
export type Seen = "blocked" | "inside" | "park" | "wait" | "cpu" | "wall";

/**
 * Where the time of the application's threads went, in the whole recording.
 */
export type Ledger = { 
/**
 * Application threads.
 */
threads: number, 
/**
 * Time of threads that had something to do.
 */
activeNs: number, 
/**
 * Time of threads that waited for work.
 */
idleNs: number, 
/**
 * What the active time was spent on; the parts add up to it.
 */
parts: Array<LedgerPart>, 
/**
 * Time on CPU, and runnable, that was measured while threads waited, were blocked or idle: in those parts.
 */
whileWaitingNs: [number, number], };

/**
 * What part of the active time was spent on.
 */
export type LedgerPart = { 
/**
 * Its stable name.
 */
name: string, 
/**
 * What a reader calls it.
 */
words: string, 
/**
 * Thread time.
 */
ns: number, 
/**
 * The ledger's entries in it: what a reader calls each, its time, and whether
 * that is an estimate.
 */
entries: Array<[string, number, boolean]>, };

/**
 * Where threads waited: as the report has it, for the whole recording.
 */
export type WaitPlace = { 
/**
 * The first method that is not part of the waiting mechanism.
 */
method: string, 
/**
 * The lock or other object, if it was one; otherwise its name, or its class.
 */
on: string, 
/**
 * True for `Object.wait`.
 */
isMonitor: boolean, 
/**
 * Groups of the threads that waited, most waits first.
 */
groups: Array<string>, 
/**
 * The method that ended most of the time; empty if there is none, or none is recorded.
 */
endedBy: string, 
/**
 * True if most of the waits timed out.
 */
byTimeout: boolean, 
/**
 * Time of all threads.
 */
totalNs: number, 
/**
 * How many waits.
 */
count: number, 
/**
 * The longest.
 */
maxNs: number, };

/**
 * A method in which idle threads waited.
 */
export type IdleWaits = { 
/**
 * The method that waited.
 */
method: string, 
/**
 * True for `Object.wait`, false for parks.
 */
isMonitor: boolean, 
/**
 * How long idle threads waited there.
 */
idleNs: number, 
/**
 * The same of all threads.
 */
totalNs: number, };

/**
 * How long virtual threads could run and did not, and what kept their carriers.
 */
export type VirtualThreads = { 
/**
 * How often one that had parked was unparked and ran again.
 */
mounts: number, 
/**
 * From the unpark until it ran, all of them together.
 */
mountDelayNs: number, 
/**
 * The longest.
 */
maxMountDelayNs: number, 
/**
 * Part of it in which no carrier took the thread.
 */
waitingForCarrierNs: number, 
/**
 * Part of it in which an idle carrier was woken.
 */
waitingForCpuNs: number, 
/**
 * How often one parked and kept its carrier.
 */
pinned: number, 
/**
 * How long, together.
 */
pinnedNs: number, 
/**
 * Where, longest first.
 */
pins: Array<Pin>, 
/**
 * Carriers.
 */
carriers: number, 
/**
 * Part of the carriers' time in which they were not idle.
 */
occupancy: number | null, };

/**
 * A call stack with which virtual threads were pinned.
 */
export type Pin = { 
/**
 * The method that waited.
 */
method: string, 
/**
 * The frame that pins; empty if unknown.
 */
frame: string, 
/**
 * Why it pins; empty if unknown.
 */
reason: string, 
/**
 * How often.
 */
count: number, 
/**
 * Together.
 */
totalNs: number, 
/**
 * The longest.
 */
maxNs: number, };

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
cost: number, 
/**
 * Of `text`, the sentence that says what kept the lock's owner; empty if it says nothing of it.
 */
ownerDid: string, };

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
 * The recordings: one, or two to compare (before, after); none while nothing is known of them yet.
 */
recordings: Array<Facts>, 
/**
 * Version of Headway.
 */
version: string, 
/**
 * If the recording is still being written or read, how far it was read.
 */
live: Now | null, };

/**
 * How far a recording was read that is still being written, or still being read.
 */
export type Now = { 
/**
 * Changes with each reading; answers may change with it.
 */
generation: number, 
/**
 * Changes where ids stand for something else than before: the front of the recording was removed, and
 * times count from a later moment; or what the whole recording says takes the place of first results.
 */
beginning: number, 
/**
 * By how much times count from a later moment than in the first reading.
 */
removedNs: number, 
/**
 * The recording; none if the generation is the one that was asked about.
 */
recordings: Array<Facts>, 
/**
 * Why nothing is added any more, a sentence; empty while the recording goes on.
 */
ended: string, 
/**
 * When to ask again.
 */
againMs: number, 
/**
 * How much of the files was read, as long as they are being read for the first time. Until then
 * there are no recordings, or those of the first part of the files.
 */
reading: Reading | null, };

/**
 * How much of files was read, in bytes.
 */
export type Reading = { 
/**
 * What was read.
 */
bytes: number, 
/**
 * What there is.
 */
of: number, };

export const KINDS = ["monitor","juc","wait","park","cpu","wall","alive","paused","inside","ran","steal","throttled","queued","transaction"] as const;
export const HOWS = ["none","exit","seen","previous","hand-off","unknown","notified","timed-out","interrupted","spurious","unfinished","java","native","waiting"] as const;
