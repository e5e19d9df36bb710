// Which rows count for a query: the embedded twin of crates/page/src/scope.rs.
import { KINDS, type Aspect, type Scope, type Stacks } from "./contract";
import { find } from "./keys";
import { STACKS, TOTALS, type Head, type Table } from "./table";

/** An embedded recording. */
export interface Recording {
  head: Head;
  table: Table;
}

const JUC = KINDS.indexOf("juc");

/** Where the value of an aspect of a row is: in a column, or what that names. All values are less than `width`. */
export interface Values {
  column: Uint32Array | Uint8Array;
  of: Uint32Array | null;
  width: number;
}

/** What threads, locks and chains belong to, as columns. */
interface Belongings {
  group: Uint32Array;
  threadKind: Uint32Array;
  lockClass: Uint32Array;
  title: Uint32Array;
  acting: Uint32Array;
}

const known = new WeakMap<Head, Belongings>();

function belongingsOf(head: Head): Belongings {
  let found = known.get(head);
  if (!found) {
    found = {
      group: Uint32Array.from(head.threads, (thread) => thread.group),
      threadKind: Uint32Array.from(head.threads, (thread) => thread.kind),
      lockClass: Uint32Array.from(head.locks, (lock) => lock.class),
      title: Uint32Array.from(head.locks, (lock) => lock.title),
      acting: Uint32Array.from(head.acting),
    };
    known.set(head, found);
  }
  return found;
}

/** Values of kinds of things are less. */
const FEW = 16;

/** The values of an aspect (but time). */
export function valuesOf(by: Aspect, { head, table }: Recording): Values {
  const { group, threadKind, lockClass, title, acting } = belongingsOf(head);
  const texts = head.texts.length;
  switch (by) {
    case "kind":
      return { column: table.kind, of: null, width: FEW };
    case "lock-class":
      return { column: table.lock, of: lockClass, width: texts };
    case "lock-name":
      return { column: table.lock, of: title, width: texts };
    case "lock":
      return { column: table.lock, of: null, width: head.locks.length };
    case "contender-thread":
      return { column: table.thread, of: null, width: head.threads.length };
    case "contender-group":
      return { column: table.thread, of: group, width: texts };
    case "contender-method":
      return { column: table.chain, of: acting, width: texts };
    case "contender-chain":
      return { column: table.chain, of: null, width: head.chains.length };
    case "owner-thread":
      return { column: table.owner, of: null, width: head.threads.length };
    case "owner-group":
      return { column: table.owner, of: group, width: texts };
    case "owner-method":
      return { column: table.ownerChain, of: acting, width: texts };
    case "owner-chain":
      return { column: table.ownerChain, of: null, width: head.chains.length };
    case "inside":
      return { column: table.inside, of: null, width: head.chains.length };
    case "how":
      return { column: table.how, of: null, width: FEW };
    case "thread-kind":
      return { column: table.thread, of: threadKind, width: FEW };
    case "time":
      return { column: table.kind, of: null, width: FEW };
  }
}

/** The value of a row. */
export function valueIn({ column, of }: Values, row: number): number {
  const id = column[row]!;
  return of === null ? id : (of[id] ?? 0);
}

const OF_TOTALS: readonly Aspect[] = ["kind", "lock-class", "lock-name", "lock", "contender-thread", "contender-group", "time", "thread-kind"];

/** True for what the totals of short contentions have. */
export function isOfTotals(by: Aspect): boolean {
  return OF_TOTALS.includes(by);
}

/** True if the scope itself is about stacks or owners, which totals do not have. */
export function isByStack(scope: Scope): boolean {
  return scope.stacks !== undefined || scope.filter.method !== "" || scope.within.some((pick) => !isOfTotals(pick.by));
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
  const threads = both(matchingThreads(filter.thread, head), chosen(scope.threads, head));
  const locks = matchingLocks(filter.lock, head);
  const chains = matchingChains(filter.method, head);
  const stacks = scope.stacks ? { values: valuesOf(scope.stacks.of, recording), chains: matchingStacks(scope.stacks, head) } : null;
  const picks = scope.within.filter((pick) => pick.by !== "time");
  const conditions = picks.map((pick) => ({ values: valuesOf(pick.by, recording), wanted: find(pick, head) }));
  const service = filter.services ? null : belongingsOf(head).threadKind;
  const isNarrow = threads !== null || locks !== null || chains !== null || stacks !== null || conditions.length > 0;
  const { kind, start, span, thread } = table;
  const matches = (row: number): boolean => {
    if (threads && !threads[thread[row]!]) return false;
    if (locks && !locks[table.lock[row]!]) return false;
    if (chains && !chains[table.chain[row]!] && !chains[table.ownerChain[row]!]) return false;
    if (stacks && !stacks.chains[valueIn(stacks.values, row)]) return false;
    for (const { values, wanted } of conditions) if (valueIn(values, row) !== wanted) return false;
    return true;
  };
  return (row) => {
    const at = start[row]!;
    if (!(kinds & (1 << kind[row]!)) || at >= to || at + span[row]! <= from) return false;
    if (service !== null && kind[row]! > JUC && service[thread[row]!]! >= 2) return false;
    return !isNarrow || matches(row);
  };
}

/** Whether a name is what a filter wants; null if any is. */
function matcher(wanted: string): ((name: string) => boolean) | null {
  if (wanted === "") return null;
  if (wanted.startsWith("=")) return (name) => name === wanted.slice(1);
  const lower = wanted.toLowerCase();
  return (name) => name.toLowerCase().includes(lower);
}

function matching(wanted: string, names: string[]): boolean[] | null {
  const isWanted = matcher(wanted);
  return isWanted && names.map(isWanted);
}

/** By a thread's name, or that of its group. */
function matchingThreads(wanted: string, head: Head): boolean[] | null {
  const isWanted = matcher(wanted);
  // Of all texts, methods are most, and no method is a group.
  return isWanted && head.threads.map(({ name, group }) => isWanted(name) || isWanted(head.texts[group]!));
}

/** The threads that are chosen by their keys. */
function chosen(keys: string[] | undefined, head: Head): boolean[] | null {
  if (!keys) return null;
  const wanted = new Set(keys);
  return head.threads.map((thread) => wanted.has(thread.key));
}

/** What meets two conditions. */
function both(one: boolean[] | null, other: boolean[] | null): boolean[] | null {
  return one && other ? one.map((meets, place) => meets && other[place]!) : (one ?? other);
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

const CHAINS: Aspect[] = ["contender-chain", "owner-chain", "inside"];

/** The chains on which all the methods wanted are, and none of the others. */
function matchingStacks({ of, with: wanted, without }: Stacks, head: Head): boolean[] {
  if (!CHAINS.includes(of)) return [];
  const named = (method: string) => head.texts.map((text) => text === method);
  const [all, none] = [wanted.map(named), without.map(named)];
  const has = (chain: number[], texts: boolean[]) => chain.some((frame) => texts[head.frames[frame]!.method]!);
  return head.chains.map((chain) => all.every((texts) => has(chain, texts)) && !none.some((texts) => has(chain, texts)));
}
