// Waits that the report lists: those of the whole recording, without idle threads.
import { KINDS, type Facts, type Finding, type Groups, type Kind, type WaitPlace } from "./contract";
import type { Range } from "./intervals";
import { addUp } from "./states";

/** True if threads waited for longer than they were blocked on locks. */
export function waitsMost(facts: Pick<Facts, "waitedNs" | "blockedNs">): boolean {
  return facts.waitedNs > facts.blockedNs;
}

/** True if threads were in `Object.wait` and did not park, by how many waits and contentions there are of each kind: park statistics would be empty. */
export function hasOnlyMonitorWaits(counts: number[]): boolean {
  const has = (kind: Kind) => (counts[KINDS.indexOf(kind)] ?? 0) > 0;
  return has("wait") && !has("park") && !has("juc");
}

/** Kinds of findings about locks. */
const OF_LOCKS = ["deadlock", "stuck", "hot-lock", "shared-lock", "hand-off", "phase", "wait-chain"];

/** What costs most. */
export function firstFinding({ findings }: Pick<Facts, "findings">): Finding | undefined {
  return findings.find(({ kind }) => kind !== "unreliable");
}

/** True if what costs most is a lock, as the report has it. */
export function isLockFirst(facts: Pick<Facts, "findings">): boolean {
  const first = firstFinding(facts);
  return first !== undefined && OF_LOCKS.includes(first.kind);
}

/** Idle threads may wait at the same place: a line that has so much more or less than the report is of something else. */
const NEARLY = 0.05;

/** Waited time in each interval of some places, of groups by method, kind and time; null where it is not that of the place alone. */
export function linesOfWaits(groups: Groups, names: (method: number) => string, intervals: number, waits: WaitPlace[]): (number[] | null)[] {
  const lines = new Map<string, number[]>();
  const keyOf = (method: string, isMonitor: boolean) => `${isMonitor} ${method}`;
  addUp(groups, 2, ([method = 0, kind = 0], interval, total) => {
    const key = keyOf(names(method), KINDS[kind] === "wait");
    const line = lines.get(key) ?? new Array<number>(intervals).fill(0);
    lines.set(key, line);
    line[interval]! += total;
  });
  return waits.map(({ method, isMonitor, totalNs }) => {
    const line = lines.get(keyOf(method, isMonitor));
    const total = line?.reduce((sum, one) => sum + one, 0) ?? 0;
    return line && Math.abs(total - totalNs) <= NEARLY * totalNs ? line : null;
  });
}

/** The part of a total that may be outside. */
const OUTSIDE = 0.02;
/** A range that is longer than this part of all is no answer to when. */
const LONG = 0.8;

/** The part of the intervals in which nearly all of a total is, without the edges where there is little; null if that is nearly all of them. */
export function rangeOfMost(values: number[], edges: number[]): Range | null {
  const allowed = (OUTSIDE / 2) * values.reduce((sum, value) => sum + value, 0);
  let [first, last, left] = [0, values.length - 1, allowed];
  while (first < last && values[first]! <= left) left -= values[first++]!;
  left = allowed;
  while (last > first && values[last]! <= left) left -= values[last--]!;
  const [from, to] = [edges[first]!, edges[last + 1]!];
  return to - from > LONG * (edges.at(-1)! - edges[0]!) ? null : { from, to };
}
