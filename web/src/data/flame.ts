// A tree of methods from call chains, root first, with times added up.
import type { Groups } from "./contract";
import { hash } from "./keys";
import type { NameBook } from "./names";

export interface FlameNode {
  /** What tells it from its siblings: a text's id; JDK for folded frames. */
  key: number;
  name: string;
  jdk: boolean;
  total: number;
  /** Time in itself, without callees. */
  self: number;
  /** In the recording compared with. */
  before: number;
  children: FlameNode[];
}

export const JDK = -1;

interface Growing extends FlameNode {
  byKey: Map<number, Growing>;
}

export interface FlameOptions {
  /** Joins runs of the JDK's own frames. */
  fold: boolean;
  /** Leaves first: the tree of callers. */
  inverted: boolean;
}

/** `groups` is grouped by call chain on its first level. */
export function flame(groups: Groups, names: NameBook, options: FlameOptions, before?: { groups: Groups; names: NameBook }): FlameNode {
  const root = grow(0, "all", false);
  const keys = new Map<string, number>();
  add(root, groups, names, options, keys, "total");
  if (before) add(root, before.groups, before.names, options, keys, "before");
  finish(root);
  return root;
}

function grow(key: number, name: string, jdk: boolean): Growing {
  return { key, name, jdk, total: 0, self: 0, before: 0, children: [], byKey: new Map() };
}

function add(root: Growing, groups: Groups, names: NameBook, options: FlameOptions, keys: Map<string, number>, into: "total" | "before"): void {
  groups.value.forEach((chain, at) => {
    if (groups.parent[at]! >= 0) return;
    const time = groups.total[at]!;
    root[into] += time;
    let node = root;
    for (const step of steps(chain, names, options)) {
      // Recordings have ids of their own; names tell what is the same, in addresses too.
      let key = keys.get(step.name);
      if (key === undefined) keys.set(step.name, (key = step.key === JDK ? JDK : hash(step.name)[0]));
      let child = node.byKey.get(key);
      if (!child) node.byKey.set(key, (child = grow(key, step.name, step.jdk)));
      child[into] += time;
      node = child;
    }
    if (into === "total") node.self += time;
  });
}

interface Step {
  key: number;
  name: string;
  jdk: boolean;
}

function steps(chain: number, names: NameBook, options: FlameOptions): Step[] {
  const frames = names.chain(chain);
  if (frames.length === 0) return [{ key: 0, name: "unknown", jdk: false }];
  const found: Step[] = [];
  for (const id of options.inverted ? frames : [...frames].reverse()) {
    const frame = names.frame(id);
    if (options.fold && frame.jdk) {
      if (found.at(-1)?.key !== JDK) found.push({ key: JDK, name: "(JDK)", jdk: true });
    } else {
      found.push({ key: frame.method, name: names.text(frame.method), jdk: frame.jdk });
    }
  }
  return found;
}

function finish(node: Growing): void {
  node.children = [...node.byKey.values()].sort((a, b) => Math.max(b.total, b.before) - Math.max(a.total, a.before) || a.name.localeCompare(b.name));
  for (const child of node.byKey.values()) finish(child);
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

/** Per method: time in itself, and time in which it was anywhere on the chain. */
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
