// What changed between two recordings, and whether it is more than noise.
import { KINDS, type Groups, type IdleWaits } from "./contract";
import type { FlameNode } from "./flame";
import { countsOf } from "./group";
import { parseRange, type Cut, type Range } from "./intervals";
import { addUp, idlePartOf } from "./states";

/** Pieces into which each recording is cut to see how much it varies by itself. */
export const PIECES = 12;

/** What blocked time is counted for: a second, a second of CPU time, or a transaction. */
export type Unit = "second" | "cpu" | "transaction";

export interface Rate {
  /** Blocked time per unit, in nanoseconds. */
  mean: number;
  /** Standard error of the mean, from how the pieces of the recording differ. */
  error: number;
}

export interface Change {
  name: string;
  before: Rate;
  after: Rate;
  difference: number;
  /** Differences up to this are noise (two standard errors). */
  noise: number;
  verdict: "worse" | "better" | "within noise";
}

/** What changed of one kind of time. */
export interface Compared {
  what: "blocked" | "waiting";
  /** Time per unit before and after, in nanoseconds. */
  perUnit: [before: number, after: number];
  rows: Change[];
}

/** Units in each piece: seconds of its length or of CPU time, or transactions that ended; `counted` is grouped by time. */
export function unitsOf(unit: Unit, made: Cut, counted: Groups): number[] {
  const units = made.edges.slice(1).map((edge, at) => (unit === "second" ? (edge - made.edges[at]!) / 1e9 : 0));
  if (unit === "second") return units;
  counted.value.forEach((piece, at) => (units[piece] = unit === "cpu" ? counted.total[at]! / 1e9 : countsOf(counted)[at]!));
  return units;
}

/** The part of a recording that is compared unless another one is chosen: without start-up, its first tenth, but no more than 10 s. */
export function withoutStartUp(durationNs: number): Range {
  return { from: Math.round(Math.min(10e9, durationNs / 10)), to: durationNs };
}

/** The part of a recording that an address names, all without start-up if it names none; null if the recording ends before it. */
export function partOf(text: string, durationNs: number): Range | null {
  const named = parseRange(text);
  if (named === null) return withoutStartUp(durationNs);
  return named.from < durationNs ? { from: named.from, to: Math.min(named.to, durationNs) } : null;
}

/** Rates by name, of groups by something and time; pieces without any unit say nothing. */
export function rates(groups: Groups, name: (value: number) => string, units: number[]): Map<string, Rate> {
  const pieces = new Pieces(units);
  addUp(groups, 1, ([value = 0], piece, total) => pieces.add(name(value), piece, total));
  return pieces.rates();
}

/** Rates of waits by method, of groups by method, kind and time, without what idle threads waited. */
export function waitRates(groups: Groups, name: (method: number) => string, units: number[], idleWaits: IdleWaits[]): Map<string, Rate> {
  const pieces = new Pieces(units);
  const idlePart = idlePartOf(idleWaits);
  addUp(groups, 2, ([method = 0, kind = 0], piece, total) => pieces.add(name(method), piece, total * (1 - idlePart(name(method), KINDS[kind]!))));
  return pieces.rates();
}

/** Time by name and piece. */
class Pieces {
  readonly #lines = new Map<string, number[]>();

  constructor(private readonly units: number[]) {}

  add(name: string, piece: number, time: number): void {
    const line = this.#lines.get(name) ?? new Array<number>(this.units.length).fill(0);
    this.#lines.set(name, line);
    line[piece]! += time;
  }

  rates(): Map<string, Rate> {
    return new Map([...this.#lines].map(([name, line]) => [name, rate(line, this.units)]));
  }
}

/** A ratio of sums, and its standard error from how the pieces deviate from it. */
function rate(times: ArrayLike<number>, units: number[]): Rate {
  const used = units.flatMap((unit, at) => (unit > 0 ? [{ unit, time: times[at]! }] : []));
  const all = used.reduce((sum, { unit }) => sum + unit, 0);
  if (all === 0) return { mean: 0, error: 0 };
  const mean = used.reduce((sum, { time }) => sum + time, 0) / all;
  const squares = used.reduce((sum, { unit, time }) => sum + (time - mean * unit) ** 2, 0);
  const pieces = used.length;
  return { mean, error: pieces < 2 ? Infinity : (Math.sqrt((squares * pieces) / (pieces - 1))) / all };
}

/** Those of some names. */
export function ofNames(rates: Map<string, Rate>, names: ReadonlySet<string>): Map<string, Rate> {
  return new Map([...rates].filter(([name]) => names.has(name)));
}

const NONE: Rate = { mean: 0, error: 0 };

/** All changes, largest first. */
export function changes(before: Map<string, Rate>, after: Map<string, Rate>): Change[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  const found = [...names].map((name) => changeOf(name, before.get(name) ?? NONE, after.get(name) ?? NONE));
  return found.sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference) || a.name.localeCompare(b.name));
}

function changeOf(name: string, before: Rate, after: Rate): Change {
  const difference = after.mean - before.mean;
  const noise = 2 * Math.hypot(before.error, after.error);
  const verdict = Math.abs(difference) <= noise ? "within noise" : difference > 0 ? "worse" : "better";
  return { name, before, after, difference, noise, verdict };
}

/** A change whose verdict depends on the unit. */
export interface Disagreement {
  name: string;
  perSecond: Change["verdict"];
  perCpuSecond: Change["verdict"];
  /** The noise as a part of the change, in the unit in which the change is within it; 0 if it is in none, or that is not known. */
  noise: number;
}

/** Of the same changes in two units, the largest one that is better in one and worse in the other; if there is none, one that is decided in one only. */
export function disagreement(perSecond: Change[], perCpuSecond: Change[]): Disagreement | null {
  const others = new Map(perCpuSecond.map((change) => [change.name, change]));
  const found = perSecond.flatMap((change): Disagreement[] => {
    const other = others.get(change.name);
    if (other === undefined || other.verdict === change.verdict) return [];
    const within = [change, other].find(({ verdict }) => verdict === "within noise");
    const noise = within ? within.noise / Math.abs(within.difference) : 0;
    return [{ name: change.name, perSecond: change.verdict, perCpuSecond: other.verdict, noise: Number.isFinite(noise) ? noise : 0 }];
  });
  const isOpposite = ({ perSecond, perCpuSecond }: Disagreement) => perSecond !== "within noise" && perCpuSecond !== "within noise";
  return found.find(isOpposite) ?? found[0] ?? null;
}

/** The change of a frame of a flame graph, by the same rule; null if its pieces are not known. */
export function frameChange({ name, pieces }: FlameNode, units: readonly [before: number[], after: number[]]): Change | null {
  return pieces && changeOf(name, rate(pieces.before, units[0]), rate(pieces.total, units[1]));
}
