// Time of threads per interval, where there is room for it.
import type { Groups } from "./contract";

/**
 * When the contentions and waits were that are only known as sums is known to a second or so. What does not fit into
 * an interval beside those recorded one by one, because no more threads than exist can be blocked or wait, belongs to an
 * interval nearby. `times` share the `room` of each interval, and are changed. Returns what no interval has room for.
 */
export function fit(times: (number[] | Float64Array)[], room: number[] | Float64Array): number {
  if (room.every((most) => most === 0)) return 0;
  const over = times.map(() => 0);
  let isOver = false;
  const fitAt = (at: number) => {
    let all = 0;
    for (let of = 0; of < times.length; of++) all += times[of]![at]! + over[of]!;
    const part = all > room[at]! ? room[at]! / all : 1;
    // Most have room for what is theirs.
    if (part === 1 && !isOver) return;
    isOver = part < 1;
    for (let of = 0; of < times.length; of++) {
      const wanted = times[of]![at]! + over[of]!;
      times[of]![at] = wanted * part;
      over[of] = wanted - wanted * part;
    }
  };
  for (let at = 0; at < room.length; at++) fitAt(at);
  for (let at = room.length - 1; at >= 0; at--) fitAt(at);
  return over.reduce((sum, time) => sum + time, 0);
}

/**
 * How many threads there are in groups of the first level, which are threads: no fewer than this. Those that are only in the
 * sum of their group can be in it one by one, too; there are never more than the recording has.
 */
export function threadCount({ value, leftOut }: Pick<Groups, "value" | "leftOut">, othersOf: (thread: number) => number, known: number): number {
  const others = value.map(othersOf);
  const alone = others.filter((count) => count === 0).length + leftOut;
  return Math.min(alone + others.reduce((sum, count) => sum + count, 0), Math.max(alone, known));
}

/** The time that so many threads have in each interval, which begin and end at `edges`. */
export function roomOf(threads: number, edges: number[]): number[] {
  return edges.slice(1).map((end, at) => threads * (end - edges[at]!));
}
