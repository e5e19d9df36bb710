// Totals along a sequence of aspects: the embedded twin of crates/page/src/group.rs.
import type { Aspect, Groups, Scope } from "./contract";
import { edgeOf } from "./intervals";
import { find } from "./keys";
import { isByStack, isOfTotals, selection, valueOf, type Recording } from "./scope";
import { APPROXIMATE, CONTINUES, DESCHEDULED, STACKS, SUMMED, TOTALS, type Sum, type Table } from "./table";

export const NO_NAMES = { texts: {}, threads: {}, locks: {}, frames: {}, chains: {} };
const MOST_INTERVALS = 4000;
const OF_OWNER: readonly Aspect[] = ["owner-thread", "owner-group", "owner-method", "owner-chain", "inside", "how"];

/** How many contentions, waits, samples or transactions there are in each group. */
export function countsOf(groups: Groups): number[] {
  return groups.stretches;
}

/** The answer about nothing. */
export function noGroups(): Groups {
  return {
    totalNs: 0,
    count: 0,
    parent: [],
    value: [],
    total: [],
    stretches: [],
    max: [],
    stopped: [],
    approximate: [],
    descheduled: [],
    rest: [],
    restNs: 0,
    leftOut: 0,
    unknown: [],
    names: NO_NAMES,
  };
}

/** Time whose owner was probably ready, but not running. */
export function offCpuOf(groups: Groups): number {
  return groups.descheduled.reduce((sum, time, at) => sum + (groups.parent[at]! < 0 ? time : 0), 0);
}

class Node {
  total = 0;
  count = 0;
  max = 0;
  stopped = 0;
  approximate = 0;
  descheduled = 0;
  stretch = 0;
  inStretch = 0;
  readonly children = new Map<number, Node>();

  constructor(readonly value: number) {}

  child(value: number): Node {
    let node = this.children.get(value);
    if (!node) this.children.set(value, (node = new Node(value)));
    return node;
  }

  add(stretch: number, part: Part, count: number): void {
    this.total += part.total;
    this.stopped += part.stopped;
    this.mark(part);
    if (part.sum) {
      this.count += count;
      this.max = Math.max(this.max, part.max);
      return;
    }
    if (this.stretch !== stretch) {
      this.stretch = stretch;
      this.inStretch = 0;
      this.count++;
    }
    this.inStretch += part.total;
    this.max = Math.max(this.max, this.inStretch);
  }

  /** What is only known of owners. */
  mark(part: Part): void {
    if (part.approximate) this.approximate += part.total;
    if (part.offCpu) this.descheduled += part.total;
  }
}

interface Part {
  start: number;
  total: number;
  stopped: number;
  max: number;
  approximate: boolean;
  offCpu: boolean;
  sum: Sum | undefined;
}

/** The part of a row that lies in a range. */
export function clip(table: Table, row: number, from: number, to: number): Part | null {
  const start = Math.max(table.start[row]!, from);
  const end = Math.min(table.start[row]! + table.span[row]!, to);
  if (start >= end) return null;
  const span = table.span[row]!;
  const sum = table.flags[row]! & SUMMED ? table.sums.get(row) : undefined;
  const pro = (total: number) => {
    if (end - start === span) return total;
    return total === span ? end - start : Math.floor((total * (end - start)) / span);
  };
  const total = pro(sum ? sum.total : span);
  if (total <= 0) return null;
  const flags = table.flags[row]!;
  const max = sum ? Math.min(sum.max, to - Math.min(table.start[row]!, to)) : total;
  return { start: table.start[row]!, total, stopped: pro(table.stopped[row]!), max, approximate: (flags & APPROXIMATE) !== 0, offCpu: (flags & DESCHEDULED) !== 0, sum };
}

export function group(recording: Recording, scope: Scope, by: Aspect[], intervals: number, limit: number): Groups {
  const { table } = recording;
  const takes = selection(recording, scope);
  const values = by.map((aspect) => valueOf(aspect, recording));
  const time = by.indexOf("time");
  const from = scope.from;
  const to = Math.max(scope.to, from);
  const pieces = Math.max(Math.min(intervals, MOST_INTERVALS), 1);
  const base = Math.max(1, recording.head.facts.baseNs);
  const length = (Math.ceil((to - from) / base) * base) / pieces;
  const edge = (number: number) => edgeOf({ from, to }, pieces, base, number);
  const root = new Node(0);
  const first = (is: (aspect: Aspect) => boolean) => {
    const at = by.findIndex(is);
    return at < 0 ? by.length : at;
  };
  const ofTotals = first((aspect) => !isOfTotals(aspect));
  const ownerLevel = first((aspect) => OF_OWNER.includes(aspect));
  const byStack = isByStack(scope);
  let atEdges = 0;
  /** Adds to the levels from `above` to `last`; above them only what owners are known of. */
  const add = (row: number, interval: number, stretch: number, part: Part, above: number, last: number) => {
    // What goes on from before counts where nothing before is looked at.
    const count = (level: number) => {
      const sum = part.sum;
      if (!sum) return 1;
      if (level >= ownerLevel) return sum.apart;
      const begin = time >= 0 && level >= time ? edge(interval) : from;
      return sum.count + (part.start <= begin ? sum.going : 0);
    };
    if (above === 0) root.add(stretch, part, count(-1));
    else root.mark(part);
    let node = root;
    for (let level = 0; level < last; level++) {
      node = node.child(level === time ? interval : values[level]!(row));
      if (above === 0 || level + 1 >= above) node.add(stretch, part, count(level));
      else node.mark(part);
    }
  };
  /** Stacks of short contentions count if they lie whole in the range and in one of its intervals. */
  const addStacks = (row: number) => {
    const start = table.start[row]!;
    const end = start + table.span[row]!;
    let number = 0;
    let isWhole = start >= from && end <= to;
    if (isWhole && time >= 0) {
      number = Math.max(0, Math.floor((start - from) / length) - 1);
      while (number + 1 < pieces && edge(number + 1) <= start) number++;
      isWhole = end <= edge(number + 1);
    }
    const part = clip(table, row, from, to);
    if (!part) return;
    if (isWhole) add(row, number, 0, part, byStack ? 0 : ofTotals + 1, by.length);
    else if (byStack) atEdges += part.total;
  };
  let stretch = 0;
  for (let row = 0; row < table.length; row++) {
    const flags = table.flags[row]!;
    if (!(flags & CONTINUES)) stretch++;
    if (flags & TOTALS && byStack) continue;
    if (flags & STACKS && !byStack && ofTotals === by.length) continue;
    if (!takes(row)) continue;
    if (flags & STACKS) {
      addStacks(row);
      continue;
    }
    const last = flags & TOTALS ? ofTotals : by.length;
    if (time < 0) {
      const part = clip(table, row, from, to);
      if (part) add(row, 0, stretch, part, 0, last);
      continue;
    }
    const end = table.start[row]! + table.span[row]!;
    const begin = Math.max(0, Math.floor((Math.max(table.start[row]!, from) - from) / length) - 1);
    for (let number = begin; number < pieces; number++) {
      if (edge(number) >= end) break;
      const part = clip(table, row, edge(number), edge(number + 1));
      if (part) add(row, number, stretch, part, 0, last);
    }
  }
  const unknown = scope.within.filter((pick) => find(pick, recording.head) === null).map((pick) => pick.key);
  return { ...tell(root, by, limit, ofTotals, atEdges), unknown };
}

/** What a node's children do not have of its time; only below the totals there may be less than in them. */
function restOf(node: Node, levels: number, ofTotals: number, all: number): number {
  if (levels !== ofTotals || levels >= all) return 0;
  return Math.max(0, node.total - [...node.children.values()].reduce((sum, child) => sum + child.total, 0));
}

function tell(root: Node, by: Aspect[], limit: number, ofTotals: number, atEdges: number): Groups {
  const groups: Groups = { ...noGroups(), totalNs: root.total, count: root.count, restNs: atEdges + restOf(root, 0, ofTotals, by.length) };
  let level: { node: Node; place: number }[] = [{ node: root, place: -1 }];
  for (const [depth, aspect] of by.entries()) {
    const next: typeof level = [];
    for (const { node, place } of level) {
      let below = [...node.children.values()].filter((child) => child.total > 0).sort((a, b) => b.total - a.total || a.value - b.value);
      if (aspect !== "time") {
        if (place < 0) groups.leftOut += Math.max(0, below.length - limit);
        below = below.slice(0, limit);
      }
      for (const child of below) {
        next.push({ node: child, place: groups.value.length });
        groups.parent.push(place);
        groups.value.push(child.value);
        groups.total.push(child.total);
        groups.stretches.push(child.count);
        groups.max.push(child.max);
        groups.stopped.push(child.stopped);
        groups.approximate.push(child.approximate);
        groups.descheduled.push(child.descheduled);
        groups.rest.push(restOf(child, depth + 1, ofTotals, by.length));
      }
    }
    level = next;
  }
  return groups;
}
