// Where threads' time went, per interval: the base of the timeline.
import { KINDS, type Groups, type Kind } from "./contract";

export interface States {
  /** Time per interval, by state. `alive` is what is left of threads' lives. */
  time: Record<Kind, number[]>;
}

const VIRTUAL = 1;

/**
 * `blocked` is grouped by kind and time, `context` (lives, waits, parks,
 * samples and what was measured of threads) by kind of thread, kind and time.
 * Where CPU time was measured, samples are not needed for it.
 */
export function states(blocked: Groups, context: Groups, intervals: number, weighted: boolean): States {
  const empty = () => new Array<number>(intervals).fill(0);
  const time = Object.fromEntries(KINDS.map((kind) => [kind, empty()])) as Record<Kind, number[]>;
  // Lives without waiting for conditions.
  const running = empty();
  addUp(blocked, 1, (path, interval, total) => {
    time[KINDS[path[0]!]!][interval]! += total;
  });
  addUp(context, 2, (path, interval, total) => {
    const kind = KINDS[path[1]!]!;
    // A virtual thread's waiting is no part of a platform thread's life.
    if (path[0] === VIRTUAL && kind !== "cpu") return;
    time[kind][interval]! += total;
    if (kind === "alive") running[interval]! += total;
    if (kind === "wait" || kind === "park") running[interval]! -= total;
  });
  const measured = time.ran.some((ran) => ran > 0);
  for (let at = 0; at < intervals; at++) {
    running[at] = Math.max(0, running[at]!);
    if (measured || !weighted) time.cpu[at] = 0;
    // Most kernels count what the quota held back as waiting for a CPU, too.
    time.queued[at] = Math.max(0, time.queued[at]! - time.throttled[at]!);
    let left = Math.max(0, running[at]! - time.monitor[at]! - time.juc[at]!);
    for (const kind of SHARES) left -= time[kind][at] = Math.min(left, time[kind][at]!);
    time.alive[at] = left;
  }
  return { time };
}

/** What running time is made of, beside blocking; the estimates give way to each other in this order. */
const SHARES: Kind[] = ["ran", "cpu", "stolen", "throttled", "queued"];

/** Calls with the values of the upper levels, the interval and its total. */
export function addUp(groups: Groups, levels: number, call: (path: number[], interval: number, total: number) => void): void {
  const depth: number[] = [];
  groups.parent.forEach((parent, at) => {
    depth[at] = parent < 0 ? 0 : depth[parent]! + 1;
    if (depth[at] !== levels) return;
    const path: number[] = [];
    for (let up = parent; up >= 0; up = groups.parent[up]!) path.unshift(groups.value[up]!);
    call(path, groups.value[at]!, groups.total[at]!);
  });
}
