// An incident: who was blocked on a lock, who had it, what the owner executed, and what the
// owner waited for itself. Made from the same answers as the other pages.
import { HOWS, KINDS, type Entry, type Groups, type Kind, type Pressure, type Slice } from "./contract";
import type { Range } from "./intervals";
import type { NameBook } from "./names";
import { actOf } from "./owning";
import { linesOf } from "./pressure";
import { CALLED_FROM } from "../text/owning";

export interface Incident {
  lock: string;
  range: Range;
  /** Part of the running time of all threads that went into acquiring the lock. */
  mean: number;
  /** The same of the lock in the whole recording. */
  usual: number;
  acquiring: string;
  owner: string;
}

const MOST_LOCKS = 50;

/** The phases of a recording, those that took most time first. */
export function incidentsOf(pressure: Pressure, names: NameBook, whole: number, most: number): Incident[] {
  const lines = linesOf(pressure, names, "", { from: 0, to: whole }, MOST_LOCKS);
  const found = lines.flatMap(({ label, mean: usual, phases }) =>
    phases.map(({ from, to, mean, acquiring, owner }) => ({ lock: label, range: { from, to: Math.min(to, whole) }, mean, usual, acquiring, owner })),
  );
  const weight = ({ range, mean }: Incident) => mean * (range.to - range.from);
  return found.sort((a, b) => weight(b) - weight(a)).slice(0, most);
}

/** So many times the pressure of the whole recording is clearly more. */
const CLEARLY = 2;

/** The worst of some phases, if its lock was clearly more contended in it than in the recording as a whole. */
export function worstOf(phases: Incident[]): Incident | null {
  const [worst] = phases;
  return worst !== undefined && worst.mean >= CLEARLY * worst.usual ? worst : null;
}

/** A line of the application, and the code below it that was executed. */
export interface Executed {
  text: string;
  /** Its method, by its whole name; empty if there is none. */
  method: string;
  /** What the application called there, where the owner was waiting in it. */
  call: string;
  total: number;
  /** What of the JDK, of native libraries or the kernel ran below it, most time first. */
  below: { text: string; total: number }[];
}

export const NO_FRAME = "outside the method that acquired the lock";

/** What owners did: `running`, and where they were `waiting` while they had the lock. */
export interface Doing {
  running: Executed[];
  waiting: Executed[];
}

/**
 * Samples of owners by their nearest frame of the application: the JDK and the kernel are
 * below it, because nobody can change them. `groups` is by `inside`, then `how`.
 */
export function doingOf(groups: Groups, names: NameBook): Doing {
  const [running, waiting] = [new Map<string, Executed>(), new Map<string, Executed>()];
  groups.value.forEach((how, at) => {
    const parent = groups.parent[at]!;
    if (parent < 0) return;
    const isWaiting = HOWS[how] === "waiting";
    const into = isWaiting ? waiting : running;
    const { leaf, own, called } = actOf(names.chain(groups.value[parent]!), names);
    const shown = own ?? leaf;
    const method = shown === undefined ? "" : names.text(names.frame(shown).method);
    const text = shown === undefined ? NO_FRAME : names.frameText(shown);
    const call = isWaiting && called !== undefined ? names.text(names.frame(called).method) : "";
    const key = `${call} ${text}`;
    const spot = into.get(key) ?? { text, method, call, total: 0, below: [] };
    into.set(key, spot);
    spot.total += groups.total[at]!;
    if (leaf === undefined || called === undefined) return;
    const inner = names.frameText(leaf);
    const below = spot.below.find((one) => one.text === inner);
    if (below) below.total += groups.total[at]!;
    else spot.below.push({ text: inner, total: groups.total[at]! });
  });
  return { running: sorted(running), waiting: sorted(waiting) };
}

/** Where owners were, running or waiting, most time first. */
export function together({ running, waiting }: Doing): { spot: Executed; isWaiting: boolean }[] {
  const all = [...running.map((spot) => ({ spot, isWaiting: false })), ...waiting.map((spot) => ({ spot, isWaiting: true }))];
  return all.sort((a, b) => b.spot.total - a.spot.total);
}

function sorted(spots: Map<string, Executed>): Executed[] {
  const order = (a: { text: string; total: number }, b: { text: string; total: number }) => b.total - a.total || a.text.localeCompare(b.text);
  for (const spot of spots.values()) spot.below.sort(order);
  return [...spots.values()].sort(order);
}

/** A line of the application, with what it called. */
export interface Spot {
  text: string;
  total: number;
}

/** Lines of the application that owners were in, most time first, each with what it called. */
export function spotsOf(groups: Groups, names: NameBook): Spot[] {
  const found = new Map<string, number>();
  groups.value.forEach((chain, at) => {
    if (groups.parent[at]! >= 0) return;
    const { leaf, own, called } = actOf(names.chain(chain), names);
    const shown = own ?? leaf;
    const line = shown === undefined ? NO_FRAME : names.frameText(shown);
    const text = called === undefined ? line : `${names.text(names.frame(called).method)}${CALLED_FROM}${line}`;
    found.set(text, (found.get(text) ?? 0) + groups.total[at]!);
  });
  return [...found].map(([text, total]) => ({ text, total })).sort((a, b) => b.total - a.total || a.text.localeCompare(b.text));
}

/** Time in which an owner had the lock that others wanted, and waited itself. */
export interface OwnWait {
  owner: number;
  kind: Kind;
  lock: number;
  /** Of blocked threads, in which it was so. */
  total: number;
  /** The longest single wait of the owner among them. */
  longest: Entry;
}

/** Time of contentions in a range, by owner, most first. */
export function ownersOf(contentions: Entry[], range: Range): { owner: number; total: number }[] {
  const found = new Map<number, number>();
  for (const slice of contentions.flatMap((one) => one.slices)) {
    const time = overlap(slice, range);
    if (slice.owner > 0 && time > 0) found.set(slice.owner, (found.get(slice.owner) ?? 0) + time);
  }
  return [...found].map(([owner, total]) => ({ owner, total })).sort((a, b) => b.total - a.total || a.owner - b.owner);
}

/** What owners waited for while they had the lock: contentions of others over waits of owners. */
export function waitsOfOwners(contentions: Entry[], waits: Entry[], range: Range): OwnWait[] {
  const byThread = new Map<number, Entry[]>();
  for (const wait of waits) byThread.set(wait.thread, [...(byThread.get(wait.thread) ?? []), wait]);
  const found = new Map<string, OwnWait>();
  for (const slice of contentions.flatMap((one) => one.slices)) {
    for (const wait of byThread.get(slice.owner) ?? []) {
      const [from, to] = [Math.max(slice.start, range.from), Math.min(slice.start + slice.span, range.to)];
      const time = overlap(wait, { from, to });
      if (time <= 0) continue;
      const key = `${slice.owner} ${wait.kind} ${wait.lock}`;
      const known = found.get(key) ?? { owner: slice.owner, kind: KINDS[wait.kind]!, lock: wait.lock, total: 0, longest: wait };
      found.set(key, { ...known, total: known.total + time, longest: wait.span > known.longest.span ? wait : known.longest });
    }
  }
  return [...found.values()].sort((a, b) => b.total - a.total || a.owner - b.owner);
}

function overlap({ start, span }: Pick<Slice, "start" | "span">, { from, to }: Range): number {
  return Math.max(0, Math.min(start + span, to) - Math.max(start, from));
}
