// Call stacks as a tree of methods. A node is a range of stacks that begin with the same methods; its
// children are found when they are asked for, so that frames that nobody sees cost nothing.
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
  /** Of each recording: the methods of its frames, from 1 on, and of its call stacks. */
  readonly #known = new WeakMap<NameBook, { frames: Int32Array<ArrayBuffer>; chains: Map<number, number[]> }>();
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
  ofChain(chain: number, book: NameBook): number[] {
    let known = this.#known.get(book);
    if (!known) this.#known.set(book, (known = { frames: new Int32Array(0), chains: new Map() }));
    const before = known.chains.get(chain);
    if (before) return before;
    const frames = book.chain(chain);
    if (frames.length === 0) return [this.number("unknown", false)];
    // Thousands of short typed arrays would take longer to make than to fill.
    const methods = new Array<number>(frames.length);
    let place = frames.length;
    for (const frame of frames) {
      // Frames are numbered from 0 on, so that their methods are a column.
      if (frame >= known.frames.length) known.frames = longer(known.frames, frame + 1);
      const method = known.frames[frame]! || (known.frames[frame] = 1 + this.#ofFrame(frame, book));
      methods[--place] = method - 1;
    }
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

/** Call stacks that are added to a tree begin with room for so many frames each. */
const FRAMES_OF_A_STACK = 64;

/** A call stack with its time, or a part of one. */
export interface Stack {
  chain: number;
  total: number;
  /** Its time by piece of the recording; null where nothing is compared. */
  pieces: Float64Array | null;
}

/** A way through methods: from the first one to before the end, in whichever direction that is. */
export interface Way {
  path: number[];
  first: number;
  end: number;
  /** Joins runs of the JDK's own methods. */
  fold: boolean;
  /** The method that is never folded. */
  whole: number;
}

export type Side = "total" | "before";

/** Stacks that begin with the same methods, side by side in the tree's order. */
export interface Range {
  method: number;
  from: number;
  to: number;
}

/** What the stacks of a range come to. */
export interface Sums {
  total: number;
  before: number;
  /** Time of those that end with the range's last method. */
  self: number;
}

export class CallTree {
  /** How many nodes were made of it. */
  nodes = 0;
  /** How many stacks it has. */
  length = 0;
  /** The methods of all stacks, one after the other, and where those of each begin. */
  #steps: Int32Array<ArrayBuffer>;
  #begin: Int32Array<ArrayBuffer>;
  #total: Float64Array<ArrayBuffer>;
  #before: Float64Array<ArrayBuffer>;
  /** Time that counts as that of the last method itself. */
  #self: Float64Array<ArrayBuffer>;
  readonly #pieces: Record<Side, (Float64Array | null)[]> = { total: [], before: [] };
  /** Stacks, those of a node side by side. */
  #order = new Int32Array(0);
  /** While a range is divided: of each method the place of its part, from 1 on. */
  #places = new Int32Array(0);

  /** `pieces`: into how many each total is divided; `stacks`: how many there will be at most. */
  constructor(readonly methods: Methods, readonly pieces: number, stacks: number) {
    this.#steps = new Int32Array(FRAMES_OF_A_STACK * (stacks + 1));
    this.#begin = new Int32Array(stacks + 1);
    [this.#total, this.#before, this.#self] = [new Float64Array(stacks), new Float64Array(stacks), new Float64Array(stacks)];
  }

  /** Adds a stack along a way; its time is that of its last method itself if `own`. */
  add({ path, first, end, fold, whole }: Way, side: Side, stack: Stack, own: boolean): void {
    const { jdk, folded } = this.methods;
    const at = this.length++;
    let place = this.#begin[at]!;
    if (place + path.length > this.#steps.length) this.#steps = longer(this.#steps, place + path.length);
    const steps = this.#steps;
    const step = first < end ? 1 : -1;
    let before = -1;
    for (let from = first; from !== end; from += step) {
      let method = path[from]!;
      if (fold && method !== whole && jdk[method]) {
        if (before === folded) continue;
        method = folded;
      }
      steps[place++] = before = method;
    }
    this.#begin[at + 1] = place;
    (side === "total" ? this.#total : this.#before)[at] = stack.total;
    if (own) this.#self[at] = stack.total;
    this.#pieces[side][at] = stack.pieces;
  }

  /** All stacks. */
  all(): Range {
    if (this.#order.length < this.length) {
      this.#order = new Int32Array(this.length);
      for (let at = 0; at < this.length; at++) this.#order[at] = at;
    }
    return { method: -1, from: 0, to: this.length };
  }

  /** What a range comes to whose stacks have so many methods in common. */
  sums({ from, to }: Range, depth: number): Sums {
    const [order, begin, totals, befores, selves] = [this.#order, this.#begin, this.#total, this.#before, this.#self];
    let [total, before, self] = [0, 0, 0];
    for (let at = from; at < to; at++) {
      const stack = order[at]!;
      total += totals[stack]!;
      before += befores[stack]!;
      if (begin[stack]! + depth === begin[stack + 1]) self += selves[stack]!;
    }
    return { total, before, self };
  }

  /** Divides a range, whose stacks have so many methods in common, by the next one. Those that end there are in no part. */
  divide({ from, to }: Range, depth: number): Range[] {
    const [order, begin, steps] = [this.#order, this.#begin, this.#steps];
    if (this.#places.length < this.methods.names.length) this.#places = new Int32Array(this.methods.names.length);
    if (from < to && this.#isOne(from, to, depth)) return [{ method: steps[begin[order[from]!]! + depth]!, from, to }];
    const places = this.#places;
    const parts: Range[] = [];
    const before = order.slice(from, to);
    let ended = 0;
    for (const stack of before) {
      const step = begin[stack]! + depth;
      if (step === begin[stack + 1]) {
        order[from + ended++] = stack;
        continue;
      }
      const method = steps[step]!;
      const place = places[method]!;
      if (place > 0) parts[place - 1]!.to++;
      else places[method] = parts.push({ method, from: 0, to: 1 });
    }
    let next = from + ended;
    for (const part of parts) {
      const size = part.to;
      part.from = part.to = next;
      next += size;
    }
    for (const stack of before) {
      const step = begin[stack]! + depth;
      if (step !== begin[stack + 1]) order[parts[places[steps[step]!]! - 1]!.to++] = stack;
    }
    for (const { method } of parts) places[method] = 0;
    return parts;
  }

  /** True if all stacks of a range go on, with the same method. */
  #isOne(from: number, to: number, depth: number): boolean {
    const [order, begin, steps] = [this.#order, this.#begin, this.#steps];
    let method = -1;
    for (let at = from; at < to; at++) {
      const stack = order[at]!;
      const step = begin[stack]! + depth;
      if (step === begin[stack + 1] || (method >= 0 && steps[step] !== method)) return false;
      method = steps[step]!;
    }
    return true;
  }

  /** The time of a range by piece, before and now. */
  piecesOf({ from, to }: Range): { before: Float64Array; total: Float64Array } {
    const [before, total] = [new Float64Array(this.pieces), new Float64Array(this.pieces)];
    const add = (into: Float64Array, pieces: Float64Array | null | undefined) => pieces?.forEach((time, piece) => (into[piece]! += time));
    for (let at = from; at < to; at++) {
      const stack = this.#order[at]!;
      add(before, this.#pieces.before[stack]);
      add(total, this.#pieces.total[stack]);
    }
    return { before, total };
  }

  /** Time of the stacks that have one of these methods. */
  timeWith(isWanted: boolean[]): number {
    let sum = 0;
    for (let stack = 0; stack < this.length; stack++) {
      const end = this.#begin[stack + 1]!;
      for (let step = this.#begin[stack]!; step < end; step++) {
        if (!isWanted[this.#steps[step]!]) continue;
        sum += this.#total[stack]!;
        break;
      }
    }
    return sum;
  }
}

/** The same column with room for so many, and then some. */
function longer(column: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  const copy = new Int32Array(Math.max(length, 2 * column.length));
  copy.set(column);
  return copy;
}
