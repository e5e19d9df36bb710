// Where threads' time went, per interval: the base of the timeline and of
// critical section pressure.
import { KINDS, type Groups, type Kind } from "./contract";

export interface States {
  /** Time per interval, by state. `alive` is what is left of threads' lives. */
  time: Record<Kind, number[]>;
  /** Running time per interval: lives without waiting for conditions. */
  running: number[];
}

const VIRTUAL = 1;

/**
 * `blocked` is grouped by kind and time, `context` (lives, waits, parks and
 * samples) by kind of thread, kind and time.
 */
export function states(blocked: Groups, context: Groups, intervals: number, weighted: boolean): States {
  const empty = () => new Array<number>(intervals).fill(0);
  const time = Object.fromEntries(KINDS.map((kind) => [kind, empty()])) as Record<Kind, number[]>;
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
  for (let at = 0; at < intervals; at++) {
    running[at] = Math.max(0, running[at]!);
    const cpu = weighted ? time.cpu[at]! : 0;
    time.alive[at] = Math.max(0, running[at]! - time.monitor[at]! - time.juc[at]! - cpu);
    if (!weighted) time.cpu[at] = 0;
  }
  return { time, running };
}

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

export interface Phase {
  /** First interval, and the one behind the last. */
  from: number;
  to: number;
  /** Highest pressure of an interval. */
  peak: number;
}

/** Consecutive intervals above a threshold. */
export function phases(pressure: number[], threshold: number): Phase[] {
  const found: Phase[] = [];
  pressure.forEach((value, at) => {
    if (value < threshold) return;
    const last = found.at(-1);
    if (last && last.to === at) {
      last.to = at + 1;
      last.peak = Math.max(last.peak, value);
    } else {
      found.push({ from: at, to: at + 1, peak: value });
    }
  });
  return found;
}
