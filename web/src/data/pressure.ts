// Critical section pressure as the analysis of the whole recording reports it.
import type { LockPressure, Phase, Pressure } from "./contract";
import type { Range } from "./intervals";
import type { NameBook } from "./names";

export interface Line {
  lock: number;
  label: string;
  /** Pressure in each interval of the range, and in all of them together. */
  values: number[];
  mean: number;
  phases: Phase[];
}

/** The intervals that lie in a range, at least in part. */
export function windowsIn(pressure: Pressure, range: Range): [number, number][] {
  return pressure.windows.filter(([start]) => start < range.to && start + pressure.intervalNs > range.from);
}

/** Begins of the intervals, and the end of the last. */
export function edgesOf(pressure: Pressure, range: Range, whole: number): number[] {
  const begins = windowsIn(pressure, range).map(([start]) => start);
  const last = begins.at(-1);
  return last === undefined ? [] : [...begins, Math.min(whole, last + pressure.intervalNs)];
}

/** Running time of each interval, by its begin. */
function runningOf({ windows, running }: Pressure): Map<number, number> {
  return new Map(windows.map(([start], at) => [start, running[at] ?? 0]));
}

/** Pressure of several intervals together: time acquiring the lock over running time, as in the report. */
function meanOf(running: Map<number, number>, values: [start: number, value: number][]): number {
  const time = ([start]: [number, number]) => running.get(start) ?? 0;
  const sum = values.reduce((sum, one) => sum + time(one), 0);
  return values.reduce((mean, one) => mean + one[1] * time(one), 0) / Math.max(1, sum);
}

/** Locks of one name as one, under the object with most pressure: tables are by name, too. */
function byName(pressure: Pressure, names: NameBook): LockPressure[] {
  const found = new Map<number, LockPressure[]>();
  for (const lock of pressure.locks) {
    const title = names.lock(lock.lock).title;
    found.set(title, [...(found.get(title) ?? []), lock]);
  }
  return [...found.values()].map((locks) => (locks.length === 1 ? locks[0]! : together(locks, pressure)));
}

/** The sum of several locks: pressure is a part of the same running time, so it adds up. */
function together(locks: LockPressure[], pressure: Pressure): LockPressure {
  const sums = new Map<number, number>();
  for (const [start, value] of locks.flatMap((lock) => lock.windows)) sums.set(start, (sums.get(start) ?? 0) + value);
  const windows = [...sums].sort(([a], [b]) => a - b);
  const mean = locks.reduce((sum, lock) => sum + lock.mean, 0);
  const peak = Math.max(0, ...windows.map(([, value]) => value));
  const running = runningOf(pressure);
  const phases: Phase[] = [];
  const parts: [number, number][][] = [];
  const known = locks.flatMap((lock) => lock.phases).sort((a, b) => weight(b) - weight(a));
  for (const [start, value] of windows.filter(([, value]) => value >= pressure.threshold)) {
    const end = start + pressure.intervalNs;
    const last = phases.at(-1);
    if (last && last.to === start) {
      parts.at(-1)!.push([start, value]);
      [last.to, last.peak] = [end, Math.max(last.peak, value)];
    } else {
      parts.push([[start, value]]);
      phases.push({ from: start, to: end, mean: value, peak: value, acquiring: "", owner: "" });
    }
  }
  phases.forEach((phase, at) => (phase.mean = meanOf(running, parts[at]!)));
  for (const phase of phases) {
    const worst = known.find((one) => one.from < phase.to && one.to > phase.from);
    if (worst) [phase.acquiring, phase.owner] = [worst.acquiring, worst.owner];
  }
  const most = locks.reduce((a, b) => (b.mean > a.mean ? b : a));
  return { lock: most.lock, mean, peak, windows, phases };
}

/** The locks with most pressure in a range, of those whose name or class matches the filter. */
export function linesOf(pressure: Pressure, names: NameBook, lockFilter: string, range: Range, most: number): Line[] {
  const all = windowsIn(pressure, range);
  const places = new Map(all.map(([start], at) => [start, at]));
  const running = runningOf(pressure);
  const chosen = byName({ ...pressure, locks: pressure.locks.filter((lock) => matches(names, lock.lock, lockFilter)) }, names);
  const lines = chosen.map(({ lock, windows, phases }) => {
    const values = new Array<number>(all.length).fill(0);
    for (const [start, value] of windows) {
      const at = places.get(start);
      if (at !== undefined) values[at] = value;
    }
    const mean = meanOf(running, all.map(([start], at) => [start, values[at]!]));
    return { lock, label: names.text(names.lock(lock).title), values, mean, phases: inRange(phases, range) };
  });
  return lines.filter((line) => line.mean > 0).sort((a, b) => b.mean - a.mean).slice(0, most);
}

function inRange(phases: Phase[], range: Range): Phase[] {
  return phases.filter((phase) => phase.from < range.to && phase.to > range.from);
}

function matches(names: NameBook, lock: number, filter: string): boolean {
  const { name, class: type, title } = names.lock(lock);
  const all = [name, names.text(type), names.text(title)];
  if (filter.startsWith("=")) return all.includes(filter.slice(1));
  return all.some((text) => text.toLowerCase().includes(filter.toLowerCase()));
}

/** Phases in a range of all locks of one name, the one with most pressure first. */
export function phasesOf(pressure: Pressure, names: NameBook, title: number, range: Range): Phase[] {
  const found = byName(pressure, names).filter((lock) => names.lock(lock.lock).title === title).flatMap((lock) => lock.phases);
  return inRange(found, range).sort((a, b) => weight(b) - weight(a));
}

function weight(phase: Phase): number {
  return phase.mean * (phase.to - phase.from);
}
