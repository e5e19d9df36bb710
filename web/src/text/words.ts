// What things are called in the page, and one sentence each.
import { KINDS, type Aspect, type Facts, type How, type Kind } from "../data/contract";
import type { State } from "../data/states";

export const KIND_WORDS: Record<Kind, string> = {
  monitor: "blocked on a monitor",
  juc: "blocked on a j.u.c. lock",
  wait: "in Object.wait",
  park: "parked",
  cpu: "on CPU",
  wall: "sampled on the wall clock",
  alive: "sleep, I/O, native, or not recorded",
  paused: "VM pause",
  inside: "has a lock that others wait for",
  ran: "on CPU",
  steal: "steal (hypervisor)",
  throttled: "throttled (CPU quota)",
  queued: "ready, no CPU (run queue)",
  transaction: "in a transaction",
};

export const STATE_WORDS: Record<State, string> = {
  ...KIND_WORDS,
  wait: "waiting in Object.wait",
  park: "waiting, parked",
  idle: "idle",
  "virtual-ran": "virtual threads on CPU",
  "virtual-ready": "virtual threads ready, no CPU",
  "virtual-blocked": "virtual threads blocked on a lock",
  "virtual-waiting": "virtual threads waiting",
};

/**
 * The words for lanes: where CPU time was measured by interval, but no CPU samples were taken, the rest of a lane contains the time
 * on CPU and the time ready without one.
 */
export function laneWords({ entries }: Facts): Record<State, string> {
  const has = (kind: Kind) => (entries[KINDS.indexOf(kind)] ?? 0) > 0;
  return has("cpu") || !has("ran") ? STATE_WORDS : { ...STATE_WORDS, alive: "on CPU, ready, sleep, I/O, native, or not recorded" };
}

export const HOW_WORDS: Record<How, string> = {
  none: "",
  exit: "exact: thread and call stack of its exit",
  seen: "thread seen to own the lock; its chain was not recorded",
  previous: "the recording names only the previous owner",
  "hand-off": "hand-off: the lock had been released, and the next thread had not run yet",
  unknown: "unknown",
  notified: "notified",
  "timed-out": "timed out",
  interrupted: "interrupted",
  spurious: "woken for no reason seen",
  unfinished: "had not ended when the recording did",
  java: "in Java code",
  native: "in native code",
  waiting: "waiting",
};

/** Of what pressure is a part: docs/metrics.md. */
export const PRESSURE = "Pressure: time blocked on the lock / time in which threads did not wait, all threads added up.";

export const ASPECT_WORDS: Record<Aspect, [name: string, sentence: string]> = {
  kind: ["kind of lock", "monitor (synchronized) or lock of java.util.concurrent"],
  "lock-class": ["lock class", "class of the lock object"],
  "lock-name": ["lock name", "what the code calls the lock; objects of one name together"],
  lock: ["lock", "the lock object: what the code calls it, its class and identity hash"],
  "contender-thread": ["blocked thread", "the thread that had to wait"],
  "contender-group": ["blocked thread group", "threads that had to wait, numbers in their names folded"],
  "contender-method": ["blocked method", "the method that wanted the lock"],
  "contender-chain": ["blocked call stack", "the whole call stack that wanted the lock"],
  "owner-thread": ["owner thread", "the thread that owned the lock meanwhile"],
  "owner-group": ["owner thread group", "threads that owned the lock, numbers in their names folded"],
  "owner-method": ["owner method", "the method that owned the lock meanwhile"],
  "owner-chain": ["owner call stack", "the whole call stack that owned the lock, from its frame on"],
  inside: ["inside the owner", "what the owner executed, from its innermost method to the one that acquired the lock"],
  time: ["time", "intervals of equal length"],
  how: ["how known", "how it is known, or how it ended"],
  "thread-kind": ["kind of thread", "platform, virtual or of the JVM itself"],
};
