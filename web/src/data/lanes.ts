// What threads did, and single entries: the embedded twin of crates/page/src/lanes.rs.
import { HOWS, KINDS, type Entry, type Kind, type Lane, type Lanes, type Scope, type Thread } from "./contract";
import { clippedTotal, NO_NAMES } from "./group";
import { idleRows } from "./idle";
import type { NameBook } from "./names";
import { selection, selectionAsTotal, type Recording } from "./scope";
import { AFTER_WAIT, APPROXIMATE, CONTINUES, NO_CPU, SUMMED, sumOf, UNFINISHED, type Table } from "./table";

const MOST_LANES = 2000;
/** The thread kinds from this on are of the JVM's own threads. */
export const JVM = 2;
/** That of carriers of virtual threads. */
export const CARRIER = 3;
const JUC = KINDS.indexOf("juc");
/** Begin of the longest contention of a segment that is made of sums only. */
export const ONLY_SUMS = -1;

/** What belongs to one entry only, however the recording is read. */
export interface EntryKey {
  kind: Kind;
  start: number;
  thread: string;
}

export function keyOfEntry(names: NameBook, { kind, start, thread }: Entry): EntryKey {
  return { kind: KINDS[kind]!, start, thread: names.thread(thread).key };
}

/** Calls with the first row of each entry and the first row behind it. */
function eachEntry(table: Table, call: (first: number, end: number) => void): void {
  for (let first = 0; first < table.length; ) {
    let end = first + 1;
    while (end < table.length && table.flags[end]! & CONTINUES) end++;
    call(first, end);
    first = end;
  }
}

function any(first: number, end: number, takes: (row: number) => boolean): boolean {
  for (let row = first; row < end; row++) if (takes(row)) return true;
  return false;
}

function spanOf(table: Table, first: number, end: number): number {
  let span = 0;
  for (let row = first; row < end; row++) span += table.span[row]!;
  return span;
}

/** For how many threads of the application it stands: the twin of `stands_for` in crates/page/src/lanes.rs. */
export function applicationThreads({ kind, key, others }: Pick<Thread, "kind" | "key" | "others">): number {
  return kind >= JVM || !key.includes("#") ? 0 : Math.max(1, others);
}

function order(recording: Recording, scope: Scope, takes: (row: number) => boolean): { thread: number; blocked: number }[] {
  const { table } = recording;
  const blocked = new Map<number, number>();
  const other = new Map<number, number>();
  for (let row = 0; row < table.length; row++) {
    const thread = table.thread[row]!;
    if (thread === 0 || !takes(row)) continue;
    const time = clippedTotal(table, row, scope.from, scope.to);
    const [mine, its] = table.kind[row]! <= JUC ? [time, 0] : [0, time];
    blocked.set(thread, (blocked.get(thread) ?? 0) + mine);
    other.set(thread, (other.get(thread) ?? 0) + its);
  }
  const threads = [...blocked].map(([thread, time]) => ({ thread, blocked: time, other: other.get(thread) ?? 0 }));
  return threads.sort((a, b) => b.blocked - a.blocked || b.other - a.other || a.thread - b.thread);
}

export function lanes(recording: Recording, scope: Scope, first: number, count: number, pixels: number): Lanes {
  const { table } = recording;
  const takes = selectionAsTotal(recording, scope);
  const threads = order(recording, scope, takes);
  const lanes: Lane[] = threads
    .slice(first, first + Math.min(count, MOST_LANES))
    .map(({ thread, blocked }) => ({ thread, blockedNs: blocked, start: [], span: [], total: [], kind: [], longest: [], joined: [], idle: [] }));
  const places = new Map(lanes.map((lane) => [lane.thread, { lane, longest: [] as number[] }]));
  const isIdle = idleRows(recording);
  const pixel = Math.max(1, Math.floor((scope.to - scope.from) / Math.max(pixels, 1)));
  eachEntry(table, (first, end) => {
    const place = places.get(table.thread[first]!);
    if (!place || !any(first, end, takes)) return;
    const sum = sumOf(table, first);
    const span = spanOf(table, first, end);
    const start = table.start[first]!;
    const [total, begin, joined] = sum ? [sum.total, ONLY_SUMS, sum.count + sum.going] : [span, start, 1];
    draw(place.lane, place.longest, pixel, { start, span, total, kind: table.kind[first]!, longest: begin, joined, idle: isIdle(first) });
  });
  const { facts } = recording.head;
  // Those of which the short contentions are in the sum of their group can stand beside that sum.
  const known = threads.reduce((sum, { thread }) => sum + applicationThreads(recording.head.threads[thread]!), 0);
  return { threads: facts.foldedThreads > 0 ? Math.min(known, facts.threads) : known, lanes, names: NO_NAMES };
}

export interface Segment {
  start: number;
  span: number;
  total: number;
  kind: number;
  longest: number;
  joined: number;
  idle: boolean;
}

/**
 * Adds a segment; what is not a pixel away from one of its kind joins it. So do sums that lie over each other: a thread
 * has one for each lock, and their time together is the time that the thread was blocked.
 */
export function draw(lane: Lane, spans: number[], pixel: number, { start, span, total, kind, longest, joined, idle }: Segment): void {
  let last = -1;
  for (let at = lane.kind.length - 1; at >= Math.max(0, lane.kind.length - 4) && last < 0; at--) {
    if (lane.kind[at] === kind && lane.idle[at] === idle && (lane.longest[at] === ONLY_SUMS) === (longest === ONLY_SUMS)) last = at;
  }
  if (last >= 0) {
    const end = lane.start[last]! + lane.span[last]!;
    const isNear = (span < pixel || spans[last]! < pixel) && start < end + pixel;
    const liesOver = longest === ONLY_SUMS && start < end;
    if (isNear || liesOver) {
      lane.span[last] = Math.max(start + span, end) - lane.start[last]!;
      lane.total[last] = lane.total[last]! + total;
      lane.joined[last] = lane.joined[last]! + joined;
      if (span > spans[last]!) {
        lane.longest[last] = longest;
        spans[last] = span;
      }
      return;
    }
  }
  lane.start.push(start);
  lane.span.push(span);
  lane.total.push(total);
  lane.kind.push(kind);
  lane.longest.push(longest);
  lane.joined.push(joined);
  lane.idle.push(idle);
  spans.push(span);
}

/** What is only known as a sum is never drawn stronger than this. */
const PALE = 0.6;

/** How strong a segment is drawn: as much as it is of its length, but always to be seen; sums are pale. */
export function strength(lane: Lane, at: number): number {
  const part = lane.total[at]! / Math.max(1, lane.span[at]!);
  return Math.min(lane.longest[at] === ONLY_SUMS ? PALE : 1, Math.max(0.15, part));
}

export function longest(recording: Recording, scope: Scope, limit: number): Entry[] {
  const { table } = recording;
  const takes = selection(recording, scope);
  const found: { time: number; first: number }[] = [];
  eachEntry(table, (first, end) => {
    if (table.flags[first]! & SUMMED) return;
    let time = 0;
    for (let row = first; row < end; row++) {
      if (takes(row)) time += Math.min(table.start[row]! + table.span[row]!, scope.to) - Math.max(table.start[row]!, scope.from);
    }
    if (time > 0) found.push({ time, first });
  });
  const isIdle = idleRows(recording);
  found.sort((a, b) => b.time - a.time || a.first - b.first);
  return found.slice(0, Math.min(limit, MOST_LANES)).map(({ first }) => entryAt(recording, first, isIdle)!);
}

/** An entry of a thread that begins at a moment; null if it is not there one by one. */
export function entryOf(recording: Recording, key: EntryKey): Entry | null {
  const { table, head } = recording;
  const thread = head.threads.findIndex((one) => one.key === key.thread);
  const kind = KINDS.indexOf(key.kind);
  for (let row = 0; row < table.length; row++) {
    if (table.start[row] !== key.start || table.thread[row] !== thread || table.kind[row] !== kind) continue;
    if ((table.flags[row]! & (CONTINUES | SUMMED)) === 0) return entryAt(recording, row, idleRows(recording));
  }
  return null;
}

/** The entry of a row. */
export function entryAt({ table }: Recording, row: number, isIdle: (row: number) => boolean): Entry | null {
  if (row < 0 || row >= table.length) return null;
  let first = row;
  while (first > 0 && table.flags[first]! & CONTINUES) first--;
  let end = first + 1;
  while (end < table.length && table.flags[end]! & CONTINUES) end++;
  const flags = table.flags[first]!;
  return {
    kind: table.kind[first]!,
    start: table.start[first]!,
    span: spanOf(table, first, end),
    thread: table.thread[first]!,
    chain: table.chain[first]!,
    lock: table.lock[first]!,
    afterWait: (flags & AFTER_WAIT) !== 0,
    unfinished: (flags & UNFINISHED) !== 0,
    summed: (flags & SUMMED) !== 0,
    idle: isIdle(first),
    slices: Array.from({ length: end - first }, (_, at) => slice(table, first + at)),
  };
}

function slice(table: Table, row: number) {
  return {
    start: table.start[row]!,
    span: table.span[row]!,
    owner: table.owner[row]!,
    chain: table.ownerChain[row]!,
    how: HOWS[table.how[row]!] ?? "none",
    stopped: table.stopped[row]!,
    approximate: (table.flags[row]! & APPROXIMATE) !== 0,
    noCpu: (table.flags[row]! & NO_CPU) !== 0,
  };
}
