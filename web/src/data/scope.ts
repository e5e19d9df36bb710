// Which rows count for a query: the embedded twin of crates/page/src/scope.rs.
import { KINDS, type Aspect, type Scope } from "./contract";
import { find } from "./keys";
import { STACKS, TOTALS, type Head, type Table } from "./table";

/** An embedded recording. */
export interface Recording {
  head: Head;
  table: Table;
}

const JUC = KINDS.indexOf("juc");

/** The value of a aspect (but time) in a row. */
export function valueOf(by: Aspect, { head, table }: Recording): (row: number) => number {
  const threads = head.threads;
  switch (by) {
    case "kind":
      return (row) => table.kind[row]!;
    case "lock-class":
      return (row) => head.locks[table.lock[row]!]?.class ?? 0;
    case "lock-name":
      return (row) => head.locks[table.lock[row]!]?.title ?? 0;
    case "lock":
      return (row) => table.lock[row]!;
    case "contender-thread":
      return (row) => table.thread[row]!;
    case "contender-group":
      return (row) => threads[table.thread[row]!]?.group ?? 0;
    case "contender-method":
      return (row) => head.acting[table.chain[row]!] ?? 0;
    case "contender-chain":
      return (row) => table.chain[row]!;
    case "owner-thread":
      return (row) => table.owner[row]!;
    case "owner-group":
      return (row) => threads[table.owner[row]!]?.group ?? 0;
    case "owner-method":
      return (row) => head.acting[table.ownerChain[row]!] ?? 0;
    case "owner-chain":
      return (row) => table.ownerChain[row]!;
    case "inside":
      return (row) => table.inside[row]!;
    case "how":
      return (row) => table.how[row]!;
    case "thread-kind":
      return (row) => threads[table.thread[row]!]?.kind ?? 0;
    case "time":
      return () => 0;
  }
}

const OF_TOTALS: readonly Aspect[] = ["kind", "lock-class", "lock-name", "lock", "contender-thread", "contender-group", "time", "thread-kind"];

/** True for what the totals of short contentions have. */
export function isOfTotals(by: Aspect): boolean {
  return OF_TOTALS.includes(by);
}

/** True if the scope itself is about stacks or owners, which totals do not have. */
export function isByStack(scope: Scope): boolean {
  return scope.filter.method !== "" || scope.within.some((pick) => !isOfTotals(pick.by));
}

/** Decides about rows where threads, locks, kinds and time are asked for. */
export function selectionAsTotal(recording: Recording, scope: Scope): (row: number) => boolean {
  const takes = selection(recording, scope);
  const other = isByStack(scope) ? TOTALS : STACKS;
  return (row) => (recording.table.flags[row]! & other) === 0 && takes(row);
}

/** Decides about rows, whichever projection they are of. */
export function selection(recording: Recording, scope: Scope): (row: number) => boolean {
  const { head, table } = recording;
  const kinds = scope.kinds.reduce((bits, kind) => bits | (1 << KINDS.indexOf(kind)), 0);
  const { filter, from } = scope;
  const to = Math.max(scope.to, from);
  const threads = matchingThreads(filter.thread, head);
  const locks = matchingLocks(filter.lock, head);
  const chains = matchingChains(filter.method, head);
  const picks = scope.within.filter((pick) => pick.by !== "time");
  const conditions = picks.map((pick) => ({ value: valueOf(pick.by, recording), wanted: find(pick, head) }));
  return (row) => {
    const kind = table.kind[row]!;
    if (!(kinds & (1 << kind)) || table.start[row]! >= to || table.start[row]! + table.span[row]! <= from) return false;
    if (threads && !threads[table.thread[row]!]) return false;
    if (locks && !locks[table.lock[row]!]) return false;
    if (chains && !chains[table.chain[row]!] && !chains[table.ownerChain[row]!]) return false;
    if (!filter.services && kind > JUC && head.threads[table.thread[row]!]?.kind === 2) return false;
    for (const condition of conditions) if (condition.value(row) !== condition.wanted) return false;
    return true;
  };
}

function matching(wanted: string, names: string[]): boolean[] | null {
  if (wanted === "") return null;
  if (wanted.startsWith("=")) return names.map((name) => name === wanted.slice(1));
  const lower = wanted.toLowerCase();
  return names.map((name) => name.toLowerCase().includes(lower));
}

/** By a thread's name, or that of its group. */
function matchingThreads(wanted: string, head: Head): boolean[] | null {
  const groups = matching(wanted, head.texts);
  const threads = matching(wanted, head.threads.map((thread) => thread.name));
  if (!groups || !threads) return null;
  return threads.map((named, place) => named || groups[head.threads[place]!.group]!);
}

/** By a lock's name, what the code calls it, or its class. */
function matchingLocks(wanted: string, head: Head): boolean[] | null {
  const texts = matching(wanted, head.texts);
  const locks = matching(wanted, head.locks.map((lock) => lock.name));
  if (!texts || !locks) return null;
  return locks.map((named, place) => named || texts[head.locks[place]!.class]! || texts[head.locks[place]!.title]!);
}

function matchingChains(wanted: string, head: Head): boolean[] | null {
  const texts = matching(wanted, head.texts);
  if (!texts) return null;
  const frames = head.frames.map((frame, place) => place > 0 && texts[frame.method]!);
  return head.chains.map((chain) => chain.some((frame) => frames[frame]));
}
