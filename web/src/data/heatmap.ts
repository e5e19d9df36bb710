// Locks over time: how many threads were blocked on each lock, interval by interval.
import type { Groups } from "./contract";
import { fit, roomOf } from "./fit";
import { average, type Cut } from "./intervals";
import { linesOver } from "./spent";

export interface HeatRow {
  /** The text of the lock's name; null for all other locks together. */
  lock: number | null;
  /** Blocked time of all threads in the range. */
  total: number;
  /** The same in each interval. */
  time: number[];
}

export interface HeatMap {
  rows: HeatRow[];
  /** Lock names in the last row, if it has any. */
  others: number;
  /** The largest mean number of blocked threads of a cell. */
  most: number;
  /** Time for which the range has no room: where contentions are sampled, when short ones were is known to a second or so. */
  over: number;
}

/** Shades beside the one for the smallest values. */
const SHADES = 5;

/**
 * The locks with most blocked time, and what all others have, so that the rows add up to
 * all blocked time of each interval. `byLock` is grouped by lock name and time, `all` by
 * time alone. No more than `threads` are blocked at a time.
 */
export function heatMap(byLock: Groups, all: Groups, made: Cut, threads: number): HeatMap {
  const lines = linesOver(byLock, made.intervals);
  const rows: HeatRow[] = [];
  byLock.value.forEach((lock, at) => {
    if (byLock.parent[at]! < 0) rows.push({ lock, total: byLock.total[at]!, time: lines.get(lock) ?? new Array<number>(made.intervals).fill(0) });
  });
  if (byLock.leftOut > 0) {
    const time = new Array<number>(made.intervals).fill(0);
    all.value.forEach((interval, at) => (time[interval] = all.total[at]!));
    for (const row of rows) row.time.forEach((part, at) => (time[at]! -= part));
    rows.push({ lock: null, total: time.reduce((sum, part) => sum + part, 0), time });
  }
  const over = fit(rows.map((row) => row.time), roomOf(threads, made.edges));
  const most = Math.max(0, ...rows.map((row) => Math.max(0, ...row.time.map((time, at) => average(made, at, time)))));
  return { rows, others: byLock.leftOut, most, over };
}

/**
 * The least value of each shade, strongest first, the last 0: steps of 1, 2 and 5, so that
 * a lock that blocks one thread is seen beside one that blocks a hundred.
 */
export function boundsOf(most: number): number[] {
  const bounds: number[] = [];
  if (most > 0) {
    for (let power = Math.floor(Math.log10(most)); bounds.length < SHADES; power--) {
      for (const digit of [5, 2, 1]) {
        const bound = Number(`${digit}e${power}`);
        if (bound <= most && bounds.length < SHADES) bounds.push(bound);
      }
    }
  }
  return [...bounds, 0];
}

/** Which shade a value has; null for nothing. */
export function shadeOf(value: number, bounds: number[]): number | null {
  return value > 0 ? bounds.findIndex((bound) => value >= bound) : null;
}
