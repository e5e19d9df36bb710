// Trees of methods from call stacks, with times added up.
import type { Groups } from "./contract";
import { hash } from "./keys";
import type { NameBook } from "./names";

export interface FlameNode {
  /** What distinguishes it from its siblings: a hash of its name; JDK for folded frames, REST for stacks beyond the limit. */
  key: number;
  name: string;
  jdk: boolean;
  total: number;
  /** Time in itself, without callees; 0 in trees of callers. */
  self: number;
  /** In the recording compared with. */
  before: number;
  /** Totals by piece of each recording; none where nothing is compared. */
  pieces: Pieces | null;
  children: FlameNode[];
}

export interface Pieces {
  before: Float64Array;
  total: Float64Array;
}

export const JDK = -1;
export const REST = -2;

interface Growing extends FlameNode {
  byKey: Map<number, Growing>;
}

export interface FlameOptions {
  /** Joins runs of the JDK's own frames. */
  fold: boolean;
  /** Leaves first: the tree of callers. */
  inverted: boolean;
}

/** Call stacks of a recording: groups whose first level is by call stack. If the second one is by time, `pieces` says into how many. */
export interface Stacks {
  groups: Groups;
  names: NameBook;
  pieces?: number;
}

type Side = "total" | "before";

/** The tree of all stacks, and the same of a recording compared with. */
export function flame(stacks: Stacks, options: FlameOptions, before?: Stacks): FlameNode {
  const root = grow(0, "all", false, stacks.pieces);
  const keys = new Map<string, number>();
  const add = (from: Stacks, side: Side) => {
    for (const stack of stacksOf(from)) {
      const found = steps(stack.chain, from.names, options.fold, null);
      if (options.inverted) found.reverse();
      insert(root, found, keys, side, stack, side === "total" && !options.inverted);
    }
    addRest(root, from, side);
  };
  add(stacks, "total");
  if (before) add(before, "before");
  return finish(root);
}

/** A method with what called it and what it called. */
export interface Sandwich {
  /** Below the method what called it, below that what called the caller. */
  callers: FlameNode;
  callees: FlameNode;
}

/**
 * Callers and callees of a method. A stack counts once, however often the method is on it: what is
 * above its outermost call are callers, what is below are callees, further calls of itself included.
 */
export function sandwich(stacks: Stacks, method: string, fold: boolean, before?: Stacks): Sandwich {
  const roots = { callers: grow(0, method, false, stacks.pieces), callees: grow(0, method, false, stacks.pieces) };
  const keys = new Map<string, number>();
  const add = (from: Stacks, side: Side) => {
    for (const stack of stacksOf(from)) {
      const found = steps(stack.chain, from.names, fold, method);
      const at = found.findIndex((step) => step.name === method);
      if (at < 0) continue;
      const own = found.at(-1)!.name === method;
      for (const root of [roots.callers, roots.callees]) {
        root.jdk = found[at]!.jdk;
        if (own && side === "total") root.self += stack.total;
      }
      insert(roots.callers, found.slice(0, at).reverse(), keys, side, stack, false);
      insert(roots.callees, found.slice(at + 1), keys, side, stack, side === "total" && at < found.length - 1);
    }
    addRest(roots.callers, from, side);
    addRest(roots.callees, from, side);
  };
  add(stacks, "total");
  if (before) add(before, "before");
  return { callers: finish(roots.callers), callees: finish(roots.callees) };
}

interface Stack {
  chain: number;
  total: number;
  pieces: Float64Array | null;
}

function stacksOf({ groups, pieces }: Stacks): Stack[] {
  const found: Stack[] = [];
  const places = new Map<number, Stack>();
  groups.value.forEach((value, at) => {
    const parent = groups.parent[at]!;
    if (parent < 0) {
      const stack = { chain: value, total: groups.total[at]!, pieces: pieces === undefined ? null : new Float64Array(pieces) };
      found.push(stack);
      places.set(at, stack);
      return;
    }
    const into = places.get(parent)?.pieces;
    if (into) into[value] = into[value]! + groups.total[at]!;
  });
  return found;
}

function grow(key: number, name: string, jdk: boolean, pieces: number | undefined): Growing {
  const made = pieces === undefined ? null : { before: new Float64Array(pieces), total: new Float64Array(pieces) };
  return { key, name, jdk, total: 0, self: 0, before: 0, pieces: made, children: [], byKey: new Map() };
}

function count(node: FlameNode, side: Side, stack: Stack): void {
  node[side] += stack.total;
  const into = node.pieces?.[side];
  if (into && stack.pieces) stack.pieces.forEach((time, piece) => (into[piece] = into[piece]! + time));
}

/** Adds a stack along a path; its end has the time itself if `own`. */
function insert(root: Growing, path: Step[], keys: Map<string, number>, side: Side, stack: Stack, own: boolean): void {
  count(root, side, stack);
  let node = root;
  for (const step of path) {
    // Recordings have different ids; names say what is the same, in addresses too.
    let key = keys.get(step.name);
    if (key === undefined) keys.set(step.name, (key = step.key === JDK ? JDK : hash(step.name)[0]));
    let child = node.byKey.get(key);
    if (!child) node.byKey.set(key, (child = grow(key, step.name, step.jdk, stack.pieces?.length)));
    count(child, side, stack);
    node = child;
  }
  if (own) node.self += stack.total;
}

/** Time of stacks that are not among the groups, so that the whole is the whole. */
function addRest(root: Growing, { groups }: Stacks, side: Side): void {
  const rest = groups.totalNs - groups.total.reduce((sum, total, at) => sum + (groups.parent[at]! < 0 ? total : 0), 0);
  if (rest <= 0) return;
  const name = groups.leftOut > 0 ? "(other stacks)" : "(stack not known)";
  insert(root, [{ key: REST, name, jdk: true }], new Map([[name, REST]]), side, { chain: 0, total: rest, pieces: null }, side === "total");
}

interface Step {
  key: number;
  name: string;
  jdk: boolean;
}

/** Root first; frames of the method `whole` are never folded. */
function steps(chain: number, names: NameBook, fold: boolean, whole: string | null): Step[] {
  const frames = names.chain(chain);
  if (frames.length === 0) return [{ key: 0, name: "unknown", jdk: false }];
  const found: Step[] = [];
  for (const id of [...frames].reverse()) {
    const frame = names.frame(id);
    const name = names.text(frame.method);
    if (fold && frame.jdk && name !== whole) {
      if (found.at(-1)?.key !== JDK) found.push({ key: JDK, name: "(JDK)", jdk: true });
    } else {
      found.push({ key: frame.method, name, jdk: frame.jdk });
    }
  }
  return found;
}

function finish(node: Growing): FlameNode {
  node.children = [...node.byKey.values()].sort((a, b) => Math.max(b.total, b.before) - Math.max(a.total, a.before) || a.name.localeCompare(b.name));
  for (const child of node.byKey.values()) finish(child);
  return node;
}

/** The node at the end of a path of keys, and how far the path leads. */
export function follow(root: FlameNode, path: number[]): FlameNode[] {
  const found = [root];
  for (const key of path) {
    const next = found.at(-1)!.children.find((child) => child.key === key);
    if (!next) break;
    found.push(next);
  }
  return found;
}

export interface MethodTotal {
  name: string;
  self: number;
  total: number;
}

/** Per method: time in itself, and time in which it was anywhere on the stack. */
export function flat(groups: Groups, names: NameBook): MethodTotal[] {
  const found = new Map<number, MethodTotal>();
  const of = (frame: number) => {
    const method = names.frame(frame).method;
    let total = found.get(method);
    if (!total) found.set(method, (total = { name: names.text(method), self: 0, total: 0 }));
    return total;
  };
  groups.value.forEach((chain, at) => {
    if (groups.parent[at]! >= 0) return;
    const frames = names.chain(chain);
    const seen = new Set<MethodTotal>();
    frames.forEach((frame, depth) => {
      const method = of(frame);
      if (depth === 0) method.self += groups.total[at]!;
      if (!seen.has(method)) method.total += groups.total[at]!;
      seen.add(method);
    });
  });
  return [...found.values()].sort((a, b) => b.self - a.self || b.total - a.total);
}

/** Time of everything below or in a method that matches, each counted once. */
export function matchedTotal(node: FlameNode, wanted: string): number {
  if (node.name.toLowerCase().includes(wanted)) return node.total;
  return node.children.reduce((sum, child) => sum + matchedTotal(child, wanted), 0);
}
