// A tree of methods while call stacks are added up: its nodes are rows of columns, so that
// thousands of stacks take no object, string or hash of a name for each of their frames.
import type { NameBook } from "./names";
import { hash } from "./keys";

/** The keys of what is no method: folded frames of the JDK, and stacks beyond the limit. */
export const JDK = -1;
export const REST = -2;

/** Methods of one or two recordings by number; a number stands for a name. */
export class Methods {
  readonly names: string[] = [];
  readonly jdk: boolean[] = [];
  readonly #keys: number[] = [];
  readonly #byName = new Map<string, number>();
  /** Of each recording: the methods of its frames, and of its call stacks. */
  readonly #known = new WeakMap<NameBook, { frames: number[]; chains: Map<number, Int32Array> }>();
  /** Runs of the JDK's own frames that are shown as one. */
  readonly folded = this.#add("(JDK)", true, JDK);
  readonly otherStacks = this.#add("(other stacks)", true, REST);
  readonly unknownStacks = this.#add("(stack not known)", true, REST);

  /** The number of a name; -1 if no frame so far has it. */
  find(name: string): number {
    return this.#byName.get(name) ?? -1;
  }

  /** What distinguishes a method in addresses: recordings have different ids. */
  key(method: number): number {
    return (this.#keys[method] ??= hash(this.names[method]!)[0]);
  }

  number(name: string, jdk: boolean): number {
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    const made = this.#add(name, jdk);
    this.#byName.set(name, made);
    return made;
  }

  /** Methods of a call stack, root first; what is not known is one method of that name. */
  ofChain(chain: number, book: NameBook): Int32Array {
    let known = this.#known.get(book);
    if (!known) this.#known.set(book, (known = { frames: [], chains: new Map() }));
    const before = known.chains.get(chain);
    if (before) return before;
    const frames = book.chain(chain);
    if (frames.length === 0) return Int32Array.of(this.number("unknown", false));
    const methods = new Int32Array(frames.length);
    frames.forEach((frame, at) => (methods[frames.length - 1 - at] = known.frames[frame] ??= this.#ofFrame(frame, book)));
    known.chains.set(chain, methods);
    return methods;
  }

  #ofFrame(id: number, book: NameBook): number {
    const frame = book.frame(id);
    return this.number(book.text(frame.method), frame.jdk);
  }

  #add(name: string, jdk: boolean, key?: number): number {
    const made = this.names.length;
    this.names.push(name);
    this.jdk.push(jdk);
    if (key !== undefined) this.#keys[made] = key;
    return made;
  }
}

const START = 1024;
/** Nodes that a stack adds, more or less: a tree that has room at once need not grow, which takes as long as filling it. */
const NODES_OF_A_STACK = 16;

export class CallTree {
  /** Nodes so far; the first one is the root. A parent comes before its children. */
  length = 1;
  parent: Int32Array<ArrayBuffer>;
  method: Int32Array<ArrayBuffer>;
  first: Int32Array<ArrayBuffer>;
  next: Int32Array<ArrayBuffer>;
  total: Float64Array<ArrayBuffer>;
  before: Float64Array<ArrayBuffer>;
  self: Float64Array<ArrayBuffer>;
  /** Totals by piece, node by node. */
  totalPieces: Float64Array<ArrayBuffer>;
  beforePieces: Float64Array<ArrayBuffer>;
  /** Nodes by parent and method: open addressing. */
  #slots: Int32Array<ArrayBuffer>;

  /** `pieces`: into how many each total is divided; `stacks`: how many there are. */
  constructor(readonly methods: Methods, readonly pieces: number, stacks: number) {
    // Where totals are divided a node takes much more room: that of nodes that there are.
    const room = pieces > 0 ? START : Math.max(START, 2 ** Math.ceil(Math.log2(NODES_OF_A_STACK * Math.max(1, stacks))));
    [this.parent, this.method, this.first, this.next] = [new Int32Array(room), new Int32Array(room), new Int32Array(room), new Int32Array(room)];
    [this.total, this.before, this.self] = [new Float64Array(room), new Float64Array(room), new Float64Array(room)];
    this.#slots = new Int32Array(2 * room);
    this.totalPieces = new Float64Array(room * pieces);
    this.beforePieces = new Float64Array(room * pieces);
  }

  child(parent: number, method: number): number {
    const mask = this.#slots.length - 1;
    for (let slot = hashOf(parent, method) & mask; ; slot = (slot + 1) & mask) {
      const node = this.#slots[slot]!;
      if (node === 0) return this.#made(slot, parent, method);
      if (this.method[node] === method && this.parent[node] === parent) return node;
    }
  }

  #made(slot: number, parent: number, method: number): number {
    const node = this.length++;
    if (node >= this.parent.length) this.#grow();
    this.parent[node] = parent;
    this.method[node] = method;
    this.next[node] = this.first[parent]!;
    this.first[parent] = node;
    this.#slots[slot] = node;
    if (2 * this.length > this.#slots.length) this.#rehash();
    return node;
  }

  #rehash(): void {
    const slots = new Int32Array(2 * this.#slots.length);
    const mask = slots.length - 1;
    for (let node = 1; node < this.length; node++) {
      let slot = hashOf(this.parent[node]!, this.method[node]!) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = node;
    }
    this.#slots = slots;
  }

  #grow(): void {
    for (const column of ["parent", "method", "first", "next"] as const) this[column] = twice(this[column], Int32Array);
    for (const column of ["total", "before", "self", "totalPieces", "beforePieces"] as const) this[column] = twice(this[column], Float64Array);
  }
}

function hashOf(parent: number, method: number): number {
  const mixed = Math.imul(parent ^ Math.imul(method, 0x9e3779b1), 0x85ebca6b);
  return mixed ^ (mixed >>> 15);
}

function twice<T extends Int32Array | Float64Array>(column: T, kind: new (length: number) => T): T {
  const copy = new kind(2 * column.length);
  copy.set(column);
  return copy;
}
