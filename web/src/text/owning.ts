// What is said of owners, hand-offs and VM pauses in blocked time.
import type { Thread } from "../data/contract";
import { LEAST_COVERAGE as LITTLE, type Knowledge, type Share } from "../data/owning";
import { JVM } from "../data/lanes";
import { mean, percent, times } from "./units";

interface Words {
  /** As the largest part; the name of the method if it is an owner. */
  title: string;
  /** Before and after its percentage, as the largest part. */
  largest: [before: string, after: string];
  /** The same of the other parts, where the name of an owner follows. */
  other: [before: string, after: string];
  why: string;
}

export const SHARE_WORDS: Record<Share["what"], Words> = {
  owner: { title: "", largest: ["owned it for ", " of that"], other: ["", " owned by "], why: "The method that owned the lock for the longest time while threads were blocked" },
  owners: { title: "several owners", largest: ["", " of that"], other: ["", " other owners"], why: "Methods that owned the lock for less time each" },
  "hand-off": {
    title: "hand-off",
    largest: ["", " of that: the lock had been released, and the next thread had not run yet"],
    other: ["", " hand-off"],
    why: "The lock had been released, and the next thread had not run yet: too few CPUs, or a lock convoy",
  },
  pauses: { title: "VM pauses", largest: ["", " of that: the VM had stopped all threads"], other: ["", " VM pauses"], why: "The VM had stopped all threads, for example for a garbage collection" },
  "no-method": { title: "method not recorded", largest: ["", " of that: the owner's thread is known, its method is not"], other: ["", " owner's method not recorded"], why: "The thread that owned the lock is known, its method is not" },
  unknown: { title: "unknown", largest: ["", " of that: the recording does not show the owner"], other: ["", " unknown owner"], why: "The recording does not show the owner" },
};

/** Between a method and the one that called it, as in the findings: `Thread.sleep, called from Prices.download`. */
export const CALLED_FROM = ", called from ";

/** Why an owner that is in a call does not run. */
export const NOT_RUNNING = "not running: asleep, in I/O or waiting";

/** Whose time in the run queue it is, and of what a part. `shares` are those that are shown with it. */
export function noCpuText(noCpu: number, total: number, shares: Share[]): string {
  const named = shares.find(({ what }) => what === "owner");
  const who = named && named.time < noCpu ? "its owners together" : "the owner";
  return `${who} had no CPU for ${percent(noCpu / total)} of it`;
}

/**
 * Why blocked time has no owner: `For 94 % of the blocked time, no thread had the lock (hand-off); for 5.5 %, the VM was
 * paused.` Empty if a known thread owned it for most of the time.
 */
export function notOwned({ total, handOff, paused, owned, unknown }: Knowledge, what: string): string {
  if (owned >= total / 2) return "";
  const parts: [time: number, text: string][] = [
    [handOff, "no thread had the lock (hand-off)"],
    [paused, "the VM was paused"],
    [unknown, "the owner is unknown"],
  ];
  const said = parts.filter(([time]) => time >= total / 1000).sort(([a], [b]) => b - a);
  return `${said.map(([time, text], place) => `${place === 0 ? "For" : "for"} ${percent(time / total)}${place === 0 ? ` of ${what}` : ""}, ${text}`).join("; ")}.`;
}

/** Why samples of owners say nothing: there are few, or they are of little of the time. */
export function tooFew(taken: number, coverage: number | null = 1): string {
  if (coverage !== null && coverage < LITTLE) return `Samples of owners cover ${percent(coverage)} of the blocked time: too little to say what they did.`;
  if (coverage === null) return "Too few samples of owners were taken to say what they did.";
  return `Only ${times(taken, "sample")} of owners ${taken === 1 ? "was" : "were"} taken: too few to say what they did.`;
}

/** How many threads did something. No number if some are only in the sum of their group: they may be among the others, too. */
export function whoText(threads: number, folded: number): string {
  if (folded > 0) return "Threads were";
  return `${times(threads, "thread")} ${threads === 1 ? "was" : "were"}`;
}

/** Why some blocked time of a sampled recording has no place in a short range. */
export const SUMS_NEARBY = "when short contentions were is known only to a second or so";

/** How many threads were blocked on average in a range of `length`; no number if that would be more than the threads that were blocked. */
export function onAverage(blocked: number, length: number, threads: number): string {
  const average = blocked / Math.max(1, length);
  if (average > threads) return `more than these threads can be blocked in this range (${SUMS_NEARBY}),`;
  return `${mean(average)} threads on average`;
}

/** What stands for a thread or several in a list. */
type Listed = Pick<Thread, "name" | "kind" | "others">;

/** How many threads are listed: `application` of the application, and those of the JVM apart, which are not counted anywhere else. */
export function threadsText(application: number, threads: Listed[]): string {
  const size = (some: Listed[]) => some.reduce((sum, { others }) => sum + Math.max(1, others), 0);
  const jvm = threads.filter(({ kind }) => kind >= JVM);
  const own = times(application, "application thread");
  if (jvm.length === 0) return own;
  return `${own} and ${size(jvm) === 1 ? jvm[0]!.name : times(size(jvm), "thread")} of the JVM`;
}
