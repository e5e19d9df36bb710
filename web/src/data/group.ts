// Totals along a sequence of dimensions: the embedded twin of crates/page/src/group.rs.
import type { Dimension, Groups, Scope } from "./contract";
import { selection, valueOf, type Recording } from "./scope";
import { APPROXIMATE, CONTINUES, DESCHEDULED, SUMMED, type Sum, type Table } from "./table";

export const NO_NAMES = { texts: {}, threads: {}, locks: {}, frames: {}, chains: {} };
const MOST_INTERVALS = 4000;

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

  add(stretch: number, part: Part): void {
    this.total += part.total;
    this.stopped += part.stopped;
    if (part.approximate) this.approximate += part.total;
    if (part.descheduled) this.descheduled += part.total;
    if (part.sum) {
      this.count += part.sum.count;
      this.max = Math.max(this.max, Math.min(part.sum.max, part.total));
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
}

interface Part {
  total: number;
  stopped: number;
  approximate: boolean;
  descheduled: boolean;
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
  return { total, stopped: pro(table.stopped[row]!), approximate: (flags & APPROXIMATE) !== 0, descheduled: (flags & DESCHEDULED) !== 0, sum };
}

export function group(recording: Recording, scope: Scope, by: Dimension[], intervals: number, limit: number): Groups {
  const { table } = recording;
  const takes = selection(recording, scope);
  const values = by.map((dimension) => valueOf(dimension, recording));
  const time = by.indexOf("time");
  const from = scope.from;
  const to = Math.max(scope.to, from);
  const pieces = Math.max(Math.min(intervals, MOST_INTERVALS), 1);
  const length = (to - from) / pieces;
  const root = new Node(0);
  const add = (row: number, interval: number, stretch: number, part: Part) => {
    root.add(stretch, part);
    let node = root;
    for (let level = 0; level < values.length; level++) {
      node = node.child(level === time ? interval : values[level]!(row));
      node.add(stretch, part);
    }
  };
  let stretch = 0;
  for (let row = 0; row < table.length; row++) {
    if (!(table.flags[row]! & CONTINUES)) stretch++;
    if (!takes(row)) continue;
    if (time < 0) {
      const part = clip(table, row, from, to);
      if (part) add(row, 0, stretch, part);
      continue;
    }
    const end = table.start[row]! + table.span[row]!;
    const first = Math.max(0, Math.floor((Math.max(table.start[row]!, from) - from) / length) - 1);
    for (let number = first; number < pieces; number++) {
      const begin = from + Math.floor(number * length);
      if (begin >= end) break;
      const part = clip(table, row, begin, number + 1 === pieces ? to : from + Math.floor((number + 1) * length));
      if (part) add(row, number, stretch, part);
    }
  }
  return tell(root, by, limit);
}

function tell(root: Node, by: Dimension[], limit: number): Groups {
  const groups: Groups = {
    totalNs: root.total,
    count: root.count,
    parent: [],
    value: [],
    total: [],
    stretches: [],
    max: [],
    stopped: [],
    approximate: [],
    descheduled: [],
    leftOut: 0,
    names: NO_NAMES,
  };
  let level: { node: Node; place: number }[] = [{ node: root, place: -1 }];
  for (const dimension of by) {
    const next: typeof level = [];
    for (const { node, place } of level) {
      let below = [...node.children.values()].sort((a, b) => b.total - a.total || a.value - b.value);
      if (dimension !== "time") {
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
      }
    }
    level = next;
  }
  return groups;
}
