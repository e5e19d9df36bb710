// Critical section pressure as the analysis of the whole recording tells it.
import type { LockPressure, Phase, Pressure } from "./contract";
import type { NameBook } from "./names";

export interface Line {
  lock: number;
  label: string;
  /** Pressure in each interval. */
  values: number[];
  phases: Phase[];
}

/** Begins of the intervals, and the end of the last. */
export function edgesOf(pressure: Pressure, whole: number): number[] {
  const begins = pressure.windows.map(([start]) => start);
  const last = begins.at(-1);
  return last === undefined ? [] : [...begins, Math.min(whole, last + pressure.intervalNs)];
}

/** The worst locks whose name or class contains the filter's text. */
export function linesOf(pressure: Pressure, names: NameBook, lockFilter: string, most: number): Line[] {
  const places = new Map(pressure.windows.map(([start], at) => [start, at]));
  const chosen = pressure.locks.filter((lock) => matches(names, lock.lock, lockFilter)).slice(0, most);
  return chosen.map(({ lock, windows, phases }) => {
    const values = new Array<number>(pressure.windows.length).fill(0);
    for (const [start, value] of windows) {
      const at = places.get(start);
      if (at !== undefined) values[at] = value;
    }
    return { lock, label: names.lock(lock).short, values, phases };
  });
}

function matches(names: NameBook, lock: number, filter: string): boolean {
  const { name, class: type } = names.lock(lock);
  const both = [name, names.text(type)];
  if (filter.startsWith("=")) return both.includes(filter.slice(1));
  return both.some((text) => text.toLowerCase().includes(filter.toLowerCase()));
}

/** Phases of all locks of one name, the one with most pressure first. */
export function phasesOf(pressure: Pressure, names: NameBook, title: number): Phase[] {
  const found = pressure.locks.filter((lock: LockPressure) => names.lock(lock.lock).title === title).flatMap((lock) => lock.phases);
  return found.sort((a, b) => weight(b) - weight(a));
}

function weight(phase: Phase): number {
  return phase.mean * (phase.to - phase.from);
}
