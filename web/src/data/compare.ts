// What changed between two recordings, and whether it is more than noise.
import type { Groups } from "./contract";
import { addUp } from "./states";

/** Pieces into which each recording is cut to see how much it varies by itself. */
export const PIECES = 12;

export interface Rate {
  /** Blocked time per second of recording, in nanoseconds. */
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

/** Rates by name, of groups by something and time. */
export function rates(groups: Groups, name: (value: number) => string, seconds: number): Map<string, Rate> {
  const pieces = new Map<string, number[]>();
  addUp(groups, 1, ([value = 0], piece, total) => {
    const text = name(value);
    const line = pieces.get(text) ?? new Array<number>(PIECES).fill(0);
    pieces.set(text, line);
    line[piece]! += total / (seconds / PIECES);
  });
  return new Map([...pieces].map(([text, line]) => [text, rate(line)]));
}

function rate(pieces: number[]): Rate {
  const mean = pieces.reduce((sum, value) => sum + value, 0) / pieces.length;
  const squares = pieces.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, error: Math.sqrt(squares / (pieces.length - 1) / pieces.length) };
}

const NONE: Rate = { mean: 0, error: 0 };

/** All changes, largest first. */
export function changes(before: Map<string, Rate>, after: Map<string, Rate>): Change[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  const found = [...names].map((name): Change => {
    const [old, now] = [before.get(name) ?? NONE, after.get(name) ?? NONE];
    const difference = now.mean - old.mean;
    const noise = 2 * Math.hypot(old.error, now.error);
    const verdict = Math.abs(difference) <= noise ? "within noise" : difference > 0 ? "worse" : "better";
    return { name, before: old, after: now, difference, noise, verdict };
  });
  return found.sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference) || a.name.localeCompare(b.name));
}
