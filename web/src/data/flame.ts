// Trees of methods from call stacks, with times added up.
import { CallTree, JDK, Methods, REST, type Range, type Side, type Stack } from "./calltree";
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

/** The tree of all stacks, and the same of a recording compared with. */
export function flame(stacks: Stacks, options: FlameOptions, before?: Stacks): FlameRoot {
  const methods = methodsOf(stacks.names);
  const tree = treeFor(methods, stacks, before);
  for (const [from, side] of sides(stacks, before)) {
    for (const stack of stacksOf(from)) {
      const path = methods.ofChain(stack.chain, from.names);
      const [first, end] = options.inverted ? [path.length - 1, -1] : [0, path.length];
      tree.add({ path, first, end, fold: options.fold, whole: -1 }, side, stack, side === "total" && !options.inverted);
    }
    addRest(tree, from, side);
  }
  return new Root(tree, "all", false, 0);
}

/** A tree with room for all stacks of both, and for those that are not among the groups. */
function treeFor(methods: Methods, stacks: Stacks, before: Stacks | undefined): CallTree {
  // Rows below others are pieces of their stacks.
  const most = sides(stacks, before).reduce((sum, [{ groups }]) => sum + groups.parent.filter((parent) => parent < 0).length + 1, 0);
  return new CallTree(methods, stacks.pieces ?? 0, most);
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
  const [callers, callees] = [treeFor(methods, stacks, before), treeFor(methods, stacks, before)];
  let own = 0;
  for (const [from, side] of sides(stacks, before)) {
    for (const stack of stacksOf(from)) {
      const path = methods.ofChain(stack.chain, from.names);
      const whole = methods.find(method);
      const at = path.indexOf(whole);
      if (at < 0) continue;
      if (path.at(-1) === whole && side === "total") own += stack.total;
      callers.add({ path, first: at - 1, end: -1, fold, whole }, side, stack, false);
      callees.add({ path, first: at + 1, end: path.length, fold, whole }, side, stack, side === "total" && at + 1 < path.length);
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

/** Time of stacks that are not among the groups, so that the whole is the whole. */
function addRest(tree: CallTree, { groups }: Stacks, side: Side): void {
  const rest = groups.totalNs - groups.total.reduce((sum, total, at) => sum + (groups.parent[at]! < 0 ? total : 0), 0);
  if (rest <= 0) return;
  const { otherStacks, unknownStacks } = tree.methods;
  const path = [groups.leftOut > 0 ? otherStacks : unknownStacks];
  tree.add({ path, first: 0, end: 1, fold: false, whole: -1 }, side, { chain: 0, total: rest, pieces: null }, side === "total");
}

/** A node, made when it is looked at. */
class Node implements FlameNode {
  readonly id: number;
  readonly total: number;
  readonly self: number;
  readonly before: number;
  #children: FlameNode[] | null = null;
  #pieces: Pieces | null = null;

  constructor(
    protected readonly tree: CallTree,
    /** Its call stacks. */
    private readonly range: Range,
    /** How many methods they have in common. */
    private readonly depth: number,
    readonly name: string,
    readonly jdk: boolean,
    /** Time in itself that its call stacks do not have. */
    own = 0,
  ) {
    this.id = tree.nodes++;
    const { total, self, before } = tree.sums(range, depth);
    [this.total, this.self, this.before] = [total, own + self, before];
  }

  get key(): number {
    return this.depth === 0 ? 0 : this.tree.methods.key(this.range.method);
  }

  get pieces(): Pieces | null {
    return this.tree.pieces === 0 ? null : (this.#pieces ??= this.tree.piecesOf(this.range));
  }

  get children(): FlameNode[] {
    return (this.#children ??= this.#made());
  }

  #made(): FlameNode[] {
    const { tree, depth } = this;
    const { names, jdk } = tree.methods;
    const made = tree.divide(this.range, depth).map((part) => new Node(tree, part, depth + 1, names[part.method]!, jdk[part.method]!));
    return made.sort((a, b) => Math.max(b.total, b.before) - Math.max(a.total, a.before) || (a.name < b.name ? -1 : 1));
  }
}

class Root extends Node implements FlameRoot {
  constructor(tree: CallTree, name: string, jdk: boolean, own: number) {
    super(tree, tree.all(), 0, name, jdk, own);
  }

  matched(wanted: string): number {
    if (this.name.toLowerCase().includes(wanted)) return this.total;
    return this.tree.timeWith(this.tree.methods.names.map((name) => name.toLowerCase().includes(wanted)));
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

/** Time in each method itself by interval, of groups by call stack and time. */
export function selfOver(groups: Groups, names: NameBook, intervals: number): Map<string, number[]> {
  const methods = methodsOf(names);
  const lines = new Map<string, number[]>();
  /** The line of the stack that the rows are of. */
  let [stack, line] = [-1, [] as number[]];
  for (let at = 0; at < groups.value.length; at++) {
    const parent = groups.parent[at]!;
    const chain = parent < 0 ? 0 : groups.value[parent]!;
    if (parent < 0 || names.chain(chain).length === 0) continue;
    if (parent !== stack) {
      const name = methods.names[methods.ofChain(chain, names).at(-1)!]!;
      [stack, line] = [parent, lines.get(name) ?? new Array<number>(intervals).fill(0)];
      lines.set(name, line);
    }
    line[groups.value[at]!]! += groups.total[at]!;
  }
  return lines;
}

/** Per method: time in itself, and time in which it was anywhere on the stack. */
export function flat(groups: Groups, names: NameBook): MethodTotal[] {
  const methods = methodsOf(names);
  // A stack that is not known is of no method.
  const stacks = stacksOf({ groups, names }).filter(({ chain }) => names.chain(chain).length > 0);
  const paths = stacks.map(({ chain }) => methods.ofChain(chain, names));
  // Now that each method has its number, they are places in columns.
  const [self, total] = [new Float64Array(methods.names.length), new Float64Array(methods.names.length)];
  /** The stack on which a method was counted last, from 1 on. */
  const counted = new Uint32Array(methods.names.length);
  for (let stack = 0; stack < stacks.length; stack++) {
    const [path, time] = [paths[stack]!, stacks[stack]!.total];
    for (let at = 0; at < path.length; at++) {
      const method = path[at]!;
      if (counted[method] === stack + 1) continue;
      counted[method] = stack + 1;
      total[method]! += time;
    }
    self[path[path.length - 1]!]! += time;
  }
  const found: MethodTotal[] = [];
  methods.names.forEach((name, method) => counted[method]! > 0 && found.push({ name, self: self[method]!, total: total[method]! }));
  return found.sort((a, b) => b.self - a.self || b.total - a.total);
}
