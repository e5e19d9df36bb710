// Groups while they are added up: a tree whose nodes are rows of columns, so that a
// million rows are added without an object for each.

/** Places of children that are looked up without a hash; they take room for those that do not exist. */
const MOST_PLACES = 1 << 22;
/** How many values the first level may have so that its groups are looked up so. */
const WIDEST = MOST_PLACES / 2;
/** The same of a level below. */
const WIDE = 1024;
const START = 256;

export class Nodes {
  /** Nodes so far; the first one stands for everything. */
  length = 1;
  parent = new Int32Array(START);
  value = new Uint32Array(START);
  total = new Float64Array(START);
  count = new Float64Array(START);
  max = new Float64Array(START);
  stopped = new Float64Array(START);
  approximate = new Float64Array(START);
  /** The contention counted last, and its time so far. */
  #contention = new Float64Array(START);
  #inContention = new Float64Array(START);
  /** Where the places of a node's children begin; 0 if they are in the table of hashes. */
  #block = new Int32Array(START);
  #places = new Int32Array(START);
  #used = 1;
  /** Nodes by parent and value: open addressing. */
  #slots = new Int32Array(2 * START);
  #hashed = 0;

  /** `widths`: of each level all values are less than its width; 0 where there may be too many. */
  constructor(private readonly widths: number[]) {
    this.#begin(0, 0);
  }

  /** The group of a value below another one, which is on this level (0: everything). */
  child(parent: number, value: number, level: number): number {
    const block = this.#block[parent]!;
    if (block > 0) return this.#places[block + value]! || this.#place(block + value, this.#made(parent, value, level));
    const mask = this.#slots.length - 1;
    for (let slot = hashOf(parent, value) & mask; ; slot = (slot + 1) & mask) {
      const node = this.#slots[slot]!;
      if (node === 0) return this.#hash(slot, this.#made(parent, value, level));
      if (this.parent[node] === parent && this.value[node] === value) return node;
    }
  }

  /** Adds a part of a single contention. */
  add(node: number, contention: number, total: number, stopped: number): void {
    this.total[node]! += total;
    this.stopped[node]! += stopped;
    if (this.#contention[node] !== contention) {
      this.#contention[node] = contention;
      this.#inContention[node] = 0;
      this.count[node]!++;
    }
    const time = (this.#inContention[node]! += total);
    if (time > this.max[node]!) this.max[node] = time;
  }

  /** Adds what stands for several contentions. */
  addSum(node: number, count: number, total: number, stopped: number, max: number): void {
    this.total[node]! += total;
    this.stopped[node]! += stopped;
    this.count[node]! += count;
    if (max > this.max[node]!) this.max[node] = max;
  }

  #made(parent: number, value: number, level: number): number {
    const node = this.length++;
    if (node >= this.parent.length) this.#grow();
    this.parent[node] = parent;
    this.value[node] = value;
    this.#begin(node, level + 1);
    return node;
  }

  /** Gives a node on this level a place for each child that it may have, if there is room. */
  #begin(node: number, level: number): void {
    const width = this.widths[level] ?? 0;
    if (width === 0 || width > (level === 0 ? WIDEST : WIDE) || this.#used + width > MOST_PLACES) return;
    this.#block[node] = this.#used;
    this.#used += width;
    if (this.#used > this.#places.length) this.#places = longer(this.#places, this.#used);
  }

  #place(place: number, node: number): number {
    this.#places[place] = node;
    return node;
  }

  #hash(slot: number, node: number): number {
    this.#slots[slot] = node;
    if (2 * ++this.#hashed > this.#slots.length) this.#rehash();
    return node;
  }

  #rehash(): void {
    const slots = new Int32Array(2 * this.#slots.length);
    const mask = slots.length - 1;
    for (const node of this.#slots) {
      if (node === 0) continue;
      let slot = hashOf(this.parent[node]!, this.value[node]!) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = node;
    }
    this.#slots = slots;
  }

  #grow(): void {
    const length = this.length;
    this.parent = longer(this.parent, length);
    this.value = longer(this.value, length);
    this.total = longer(this.total, length);
    this.count = longer(this.count, length);
    this.max = longer(this.max, length);
    this.stopped = longer(this.stopped, length);
    this.approximate = longer(this.approximate, length);
    this.#contention = longer(this.#contention, length);
    this.#inContention = longer(this.#inContention, length);
    this.#block = longer(this.#block, length);
  }
}

function hashOf(parent: number, value: number): number {
  const mixed = Math.imul(parent ^ Math.imul(value, 0x9e3779b1), 0x85ebca6b);
  return mixed ^ (mixed >>> 15);
}

/** A copy with room for twice as much as is needed. */
function longer<T extends Int32Array | Uint32Array | Float64Array>(column: T, needed: number): T {
  const copy = new (column.constructor as new (length: number) => T)(2 * needed);
  copy.set(column);
  return copy;
}
