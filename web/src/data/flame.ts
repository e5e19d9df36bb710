// Trees of methods from call stacks, with times added up.
import { CallTree, JDK, Methods, REST } from "./calltree";
import type { Groups } from "./contract";
import type { NameBook } from "./names";

export { JDK, REST };

export interface FlameNode {
  /** Its number in the tree. */
  id: number;
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
  /** Those with most time first. */
  children: FlameNode[];
}

/** The root of a tree. */
export interface FlameRoot extends FlameNode {
  /** Time of everything below or in a method whose name contains this (lower case), each counted once. */
  matched(wanted: string): number;
}

export interface Pieces {
  before: Float64Array;
  total: Float64Array;
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
export function flame(stacks: Stacks, options: FlameOptions, before?: Stacks): FlameRoot {
  const methods = methodsOf(stacks.names);
  const tree = new CallTree(methods, stacks.pieces ?? 0, stacks.groups.value.length);
  for (const [from, side] of sides(stacks, before)) {
    for (const stack of stacksOf(from)) {
      const path = methods.ofChain(stack.chain, from.names);
      const [first, end] = options.inverted ? [path.length - 1, -1] : [0, path.length];
      insert(tree, { path, first, end, fold: options.fold, whole: -1 }, side, stack, side === "total" && !options.inverted);
    }
    addRest(tree, from, side);
  }
  return new Root(tree, "all", false, 0);
}

/** A method with what called it and what it called. */
export interface Sandwich {
  /** Below the method what called it, below that what called the caller. */
  callers: FlameRoot;
  callees: FlameRoot;
}

/**
 * Callers and callees of a method. A stack counts once, however often the method is on it: what is
 * above its outermost call are callers, what is below are callees, further calls of itself included.
 */
export function sandwich(stacks: Stacks, method: string, fold: boolean, before?: Stacks): Sandwich {
  const methods = methodsOf(stacks.names);
  const [callers, callees] = [new CallTree(methods, stacks.pieces ?? 0, stacks.groups.value.length), new CallTree(methods, stacks.pieces ?? 0, stacks.groups.value.length)];
  let own = 0;
  for (const [from, side] of sides(stacks, before)) {
    for (const stack of stacksOf(from)) {
      const path = methods.ofChain(stack.chain, from.names);
      const whole = methods.find(method);
      const at = path.indexOf(whole);
      if (at < 0) continue;
      if (path.at(-1) === whole && side === "total") own += stack.total;
      insert(callers, { path, first: at - 1, end: -1, fold, whole }, side, stack, false);
      insert(callees, { path, first: at + 1, end: path.length, fold, whole }, side, stack, side === "total" && at + 1 < path.length);
    }
    addRest(callers, from, side);
    addRest(callees, from, side);
  }
  const isJdk = methods.jdk[methods.find(method)] ?? false;
  const root = (tree: CallTree) => new Root(tree, method, isJdk, own);
  return { callers: root(callers), callees: root(callees) };
}

function sides(stacks: Stacks, before: Stacks | undefined): [Stacks, Side][] {
  return before ? [[stacks, "total"], [before, "before"]] : [[stacks, "total"]];
}

/** Methods of a recording, and of what it is compared with: found once, whatever is chosen of its stacks. */
const known = new WeakMap<NameBook, Methods>();

function methodsOf(names: NameBook): Methods {
  let methods = known.get(names);
  if (!methods) known.set(names, (methods = new Methods()));
  return methods;
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
      if (pieces !== undefined) places.set(at, stack);
      return;
    }
    const into = places.get(parent)?.pieces;
    if (into) into[value] = into[value]! + groups.total[at]!;
  });
  return found;
}

/** A way through methods: from the first one to before the end, in whichever direction that is. */
interface Way {
  path: Int32Array;
  first: number;
  end: number;
  fold: boolean;
  /** The method that is never folded. */
  whole: number;
}

/** Adds a stack along a way; its last node has the time itself if `own`. */
function insert(tree: CallTree, { path, first, end, fold, whole }: Way, side: Side, stack: Stack, own: boolean): void {
  const { methods } = tree;
  const step = first < end ? 1 : -1;
  let node = 0;
  count(tree, node, side, stack);
  let before = -1;
  for (let at = first; at !== end; at += step) {
    let method = path[at]!;
    if (fold && method !== whole && methods.jdk[method]) {
      if (before === methods.folded) continue;
      method = methods.folded;
    }
    node = tree.child(node, method);
    count(tree, node, side, stack);
    before = method;
  }
  if (own) tree.self[node]! += stack.total;
}

function count(tree: CallTree, node: number, side: Side, stack: Stack): void {
  tree[side][node]! += stack.total;
  if (!stack.pieces) return;
  const into = side === "total" ? tree.totalPieces : tree.beforePieces;
  const from = node * tree.pieces;
  for (let piece = 0; piece < tree.pieces; piece++) into[from + piece]! += stack.pieces[piece] ?? 0;
}

/** Time of stacks that are not among the groups, so that the whole is the whole. */
function addRest(tree: CallTree, { groups }: Stacks, side: Side): void {
  const rest = groups.totalNs - groups.total.reduce((sum, total, at) => sum + (groups.parent[at]! < 0 ? total : 0), 0);
  if (rest <= 0) return;
  const { otherStacks, unknownStacks } = tree.methods;
  const path = Int32Array.of(groups.leftOut > 0 ? otherStacks : unknownStacks);
  insert(tree, { path, first: 0, end: 1, fold: false, whole: -1 }, side, { chain: 0, total: rest, pieces: null }, side === "total");
}

/** A node as others see it, made when it is looked at. */
class Node implements FlameNode {
  readonly key: number;
  readonly total: number;
  readonly self: number;
  readonly before: number;
  #children: FlameNode[] | null = null;

  constructor(
    protected readonly tree: CallTree,
    readonly id: number,
    readonly name: string,
    readonly jdk: boolean,
  ) {
    this.key = id === 0 ? 0 : tree.methods.key(tree.method[id]!);
    this.total = tree.total[id]!;
    this.self = tree.self[id]!;
    this.before = tree.before[id]!;
  }

  get pieces(): Pieces | null {
    const { pieces, beforePieces, totalPieces } = this.tree;
    if (pieces === 0) return null;
    const of = (all: Float64Array) => all.subarray(this.id * pieces, (this.id + 1) * pieces);
    return { before: of(beforePieces), total: of(totalPieces) };
  }

  get children(): FlameNode[] {
    return (this.#children ??= this.#made());
  }

  #made(): FlameNode[] {
    const { first, next, method, methods } = this.tree;
    const made: FlameNode[] = [];
    for (let id = first[this.id]!; id !== 0; id = next[id]!) made.push(new Node(this.tree, id, methods.names[method[id]!]!, methods.jdk[method[id]!]!));
    return made.sort((a, b) => Math.max(b.total, b.before) - Math.max(a.total, a.before) || (a.name < b.name ? -1 : 1));
  }
}

class Root extends Node implements FlameRoot {
  constructor(tree: CallTree, name: string, jdk: boolean, own: number) {
    tree.self[0]! += own;
    super(tree, 0, name, jdk);
  }

  matched(wanted: string): number {
    const { length, parent, method, total, methods } = this.tree;
    if (this.name.toLowerCase().includes(wanted)) return this.total;
    const matches = methods.names.map((name) => name.toLowerCase().includes(wanted));
    const covered = new Uint8Array(length);
    let sum = 0;
    for (let node = 1; node < length; node++) {
      const isCovered = covered[parent[node]!]! === 1;
      if (!isCovered && matches[method[node]!]) sum += total[node]!;
      covered[node] = isCovered || matches[method[node]!] ? 1 : 0;
    }
    return sum;
  }
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
  const methods = methodsOf(names);
  const found: MethodTotal[] = [];
  const totals: MethodTotal[] = [];
  /** The stack on which a method was counted last. */
  const counted: number[] = [];
  stacksOf({ groups, names }).forEach(({ chain, total }, stack) => {
    // A stack that is not known is of no method.
    if (names.chain(chain).length === 0) return;
    const path = methods.ofChain(chain, names);
    for (const method of path) {
      if (counted[method] === stack) continue;
      counted[method] = stack;
      const of = (totals[method] ??= { name: methods.names[method]!, self: 0, total: 0 });
      if (of.total === 0) found.push(of);
      of.total += total;
    }
    totals[path.at(-1)!]!.self += total;
  });
  return found.sort((a, b) => b.self - a.self || b.total - a.total);
}
