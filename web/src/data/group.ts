// Totals along a sequence of aspects: the embedded twin of crates/page/src/group.rs.
import { KINDS, type Aspect, type Groups, type Scope } from "./contract";
import { edgeOf } from "./intervals";
import { find } from "./keys";
import { Nodes } from "./nodes";
import { isByStack, isOfTotals, selection, valueIn, valuesOf, type Recording, type Values } from "./scope";
import { APPROXIMATE, CONTINUES, STACKS, SUMMED, TOTALS, type Table } from "./table";

export const NO_NAMES = { texts: {}, threads: {}, locks: {}, frames: {}, chains: {} };
const MOST_INTERVALS = 4000;
const TRANSACTION = KINDS.indexOf("transaction");
const OF_OWNER: readonly Aspect[] = ["owner-thread", "owner-group", "owner-method", "owner-chain", "inside", "how"];

/** How many contentions, waits, samples or transactions there are in each group. */
export function countsOf(groups: Groups): number[] {
  return groups.entries;
}

/** The answer about nothing. */
export function noGroups(): Groups {
  return {
    totalNs: 0,
    count: 0,
    parent: [],
    value: [],
    total: [],
    entries: [],
    max: [],
    stopped: [],
    approximate: [],
    rest: [],
    restNs: 0,
    leftOut: 0,
    unknown: [],
    names: NO_NAMES,
  };
}

/** The part of what a row stands for that lies between two moments in its span: pro rata, rounded down. */
function part(total: number, inside: number, span: number): number {
  if (inside === span) return total;
  return total === span ? inside : Math.floor((total * inside) / span);
}

/** The time of a row that lies in a range. */
export function clippedTotal(table: Table, row: number, from: number, to: number): number {
  const [start, span] = [table.start[row]!, table.span[row]!];
  const inside = Math.min(start + span, to) - Math.max(start, from);
  if (inside <= 0) return 0;
  return part(table.flags[row]! & SUMMED ? table.sums.total[table.sum[row]!]! : span, inside, span);
}

export function group(recording: Recording, scope: Scope, by: Aspect[], intervals: number, limit: number): Groups {
  const adding = new Adding(recording, scope, by, intervals);
  adding.rows(selection(recording, scope));
  const unknown = scope.within.filter((pick) => find(pick, recording.head) === null).map((pick) => pick.key);
  return { ...adding.groups(limit), unknown };
}

/** Adds rows to groups. */
class Adding {
  readonly #table: Table;
  readonly #values: Values[];
  readonly #nodes: Nodes;
  readonly #from: number;
  readonly #to: number;
  readonly #pieces: number;
  readonly #base: number;
  /** Length of the intervals. */
  readonly #length: number;
  /** The level of time; -1 if there is none. */
  readonly #time: number;
  /** Levels that the totals of short contentions have. */
  readonly #ofTotals: number;
  /** The first level that is about owners. */
  readonly #ownerLevel: number;
  readonly #byStack: boolean;
  /** Time at the edges of the range of which it is unknown on which side it lies. */
  #atEdges = 0;

  constructor(recording: Recording, scope: Scope, readonly by: Aspect[], intervals: number) {
    this.#table = recording.table;
    this.#values = by.map((aspect) => valuesOf(aspect, recording));
    this.#from = scope.from;
    this.#to = Math.max(scope.to, scope.from);
    this.#pieces = Math.max(Math.min(intervals, MOST_INTERVALS), 1);
    this.#base = Math.max(1, recording.head.facts.baseNs);
    this.#length = (Math.ceil((this.#to - this.#from) / this.#base) * this.#base) / this.#pieces;
    this.#time = by.indexOf("time");
    const first = (is: (aspect: Aspect) => boolean) => {
      const at = by.findIndex(is);
      return at < 0 ? by.length : at;
    };
    this.#ofTotals = first((aspect) => !isOfTotals(aspect));
    this.#ownerLevel = first((aspect) => OF_OWNER.includes(aspect));
    this.#byStack = isByStack(scope);
    this.#nodes = new Nodes(by.map((aspect, level) => (aspect === "time" ? this.#pieces : this.#values[level]!.width)));
  }

  #edge(number: number): number {
    return edgeOf({ from: this.#from, to: this.#to }, this.#pieces, this.#base, number);
  }

  /** The interval of a moment, or the one before it. */
  #numberOf(moment: number): number {
    return Math.max(0, Math.floor((moment - this.#from) / this.#length) - 1);
  }

  rows(takes: (row: number) => boolean): void {
    const { length, flags, start } = this.#table;
    const without = this.#byStack ? TOTALS : this.#ofTotals === this.by.length ? STACKS : 0;
    let contention = 0;
    for (let row = 0; row < length; row++) {
      const flag = flags[row]!;
      if (!(flag & CONTINUES)) contention++;
      if (flag & without || !takes(row)) continue;
      const last = flag & TOTALS ? this.#ofTotals : this.by.length;
      if (flag & STACKS) this.#addStacks(row);
      else if (this.#time < 0) this.#add(row, 0, contention, this.#from, this.#to, 0, last);
      else this.#addOverTime(row, contention, last, this.#numberOf(Math.max(start[row]!, this.#from)));
    }
  }

  #addOverTime(row: number, contention: number, last: number, first: number): void {
    const end = this.#table.start[row]! + this.#table.span[row]!;
    let from = this.#edge(first);
    for (let number = first; number < this.#pieces && from < end; number++) {
      const to = this.#edge(number + 1);
      this.#add(row, number, contention, from, to, 0, last);
      from = to;
    }
  }

  /** Stacks of short contentions count if they lie whole in the range and in one of its intervals. */
  #addStacks(row: number): void {
    const start = this.#table.start[row]!;
    const end = start + this.#table.span[row]!;
    let number = 0;
    let isWhole = start >= this.#from && end <= this.#to;
    if (isWhole && this.#time >= 0) {
      number = this.#numberOf(start);
      while (number + 1 < this.#pieces && this.#edge(number + 1) <= start) number++;
      isWhole = end <= this.#edge(number + 1);
    }
    if (isWhole) this.#add(row, number, 0, this.#from, this.#to, this.#byStack ? 0 : this.#ofTotals + 1, this.by.length);
    else if (this.#byStack) this.#atEdges += clippedTotal(this.#table, row, this.#from, this.#to);
  }

  /** Adds what lies between two moments to the levels from `above` to `last`; above them only what owners are known of. */
  #add(row: number, interval: number, contention: number, from: number, to: number, above: number, last: number): void {
    const total = clippedTotal(this.#table, row, from, to);
    if (total <= 0) return;
    const { flags, start, span, stopped } = this.#table;
    const flag = flags[row]!;
    const paused = stopped[row]! === 0 ? 0 : part(stopped[row]!, Math.min(start[row]! + span[row]!, to) - Math.max(start[row]!, from), span[row]!);
    const nodes = this.#nodes;
    const isSum = (flag & SUMMED) !== 0;
    const isApproximate = (flag & APPROXIMATE) !== 0;
    for (let level = -1, node = 0; ; ) {
      if (isApproximate) nodes.approximate[node]! += total;
      if (above === 0 || level + 1 >= above) {
        if (isSum) nodes.addSum(node, this.#count(row, interval, level, from, to), total, paused, this.#max(row, total, to));
        else nodes.add(node, contention, total, paused);
      }
      if (++level >= last) return;
      node = nodes.child(node, level === this.#time ? interval : valueIn(this.#values[level]!, row), level);
    }
  }

  /** Of the contentions that a row stands for, those that count on a level, of which -1 is everything. */
  #count(row: number, interval: number, level: number, from: number, to: number): number {
    const { flags, start, sum, sums } = this.#table;
    const at = sum[row]!;
    const inInterval = this.#time >= 0 && level >= this.#time;
    if (!(flags[row]! & (TOTALS | STACKS))) {
      // Above the level of time what goes on in the next interval counts once.
      return countIn(this.#table, row, from, to, inInterval || from <= Math.max(start[row]!, this.#from));
    }
    if (level >= this.#ownerLevel) return sums.apart[at]!;
    // What goes on from before counts where nothing before is looked at.
    const begin = inInterval ? this.#edge(interval) : this.#from;
    return sums.count[at]! + (start[row]! <= begin ? sums.going[at]! : 0);
  }

  #max(row: number, total: number, to: number): number {
    const { flags, start, sum, sums } = this.#table;
    const isCut = (flags[row]! & (TOTALS | STACKS)) !== 0;
    return Math.min(sums.max[sum[row]!]!, isCut ? to - Math.min(start[row]!, to) : total);
  }

  /** The largest of each parent, level by level. */
  groups(limit: number): Groups {
    const nodes = this.#nodes;
    const children = new Map<number, number[]>();
    const below = new Float64Array(nodes.length);
    for (let node = 1; node < nodes.length; node++) {
      if (nodes.total[node]! <= 0) continue;
      const parent = nodes.parent[node]!;
      below[parent]! += nodes.total[node]!;
      const siblings = children.get(parent);
      if (siblings) siblings.push(node);
      else children.set(parent, [node]);
    }
    // Only below the totals there may be less than in them.
    const rest = (node: number, levels: number) => (levels === this.#ofTotals && levels < this.by.length ? Math.max(0, nodes.total[node]! - below[node]!) : 0);
    const groups: Groups = { ...noGroups(), totalNs: nodes.total[0]!, count: nodes.count[0]!, restNs: this.#atEdges + rest(0, 0) };
    let level: { node: number; place: number }[] = [{ node: 0, place: -1 }];
    for (const [depth, aspect] of this.by.entries()) {
      const next: typeof level = [];
      for (const { node, place } of level) {
        let found = (children.get(node) ?? []).sort((a, b) => nodes.total[b]! - nodes.total[a]! || nodes.value[a]! - nodes.value[b]!);
        if (aspect !== "time") {
          if (place < 0) groups.leftOut += Math.max(0, found.length - limit);
          found = found.slice(0, limit);
        }
        for (const child of found) {
          next.push({ node: child, place: groups.value.length });
          put(groups, nodes, child, place);
          groups.rest.push(rest(child, depth + 1));
        }
      }
      level = next;
    }
    return groups;
  }
}

function put(groups: Groups, nodes: Nodes, node: number, parent: number): void {
  groups.parent.push(parent);
  groups.value.push(nodes.value[node]!);
  groups.total.push(nodes.total[node]!);
  groups.entries.push(nodes.count[node]!);
  groups.max.push(nodes.max[node]!);
  groups.stopped.push(nodes.stopped[node]!);
  groups.approximate.push(nodes.approximate[node]!);
}

/**
 * Of the contentions that a row stands for, those with time between two moments, with or without those that began
 * before: as if they stood side by side. Transactions that were reported together ran at the same time.
 */
function countIn(table: Table, row: number, from: number, to: number, withGoing: boolean): number {
  const [start, span, count] = [table.start[row]!, table.span[row]!, table.sums.count[table.sum[row]!]!];
  const begin = Math.max(from, start) - start;
  if (table.kind[row] === TRANSACTION) return withGoing || begin === 0 ? count : 0;
  const edge = (at: number) => (at === span ? count : (count * at) / span);
  const before = edge(begin);
  return Math.ceil(edge(Math.min(to, start + span) - start)) - (withGoing ? Math.floor(before) : Math.ceil(before));
}
