// Rows of the drill-down, asked for level by level as they are opened.
import { useEffect, useRef, useState } from "preact/hooks";
import { KINDS, type Aspect, type Groups, type Scope } from "../data/contract";
import { keyOf } from "../data/keys";
import type { NameBook } from "../data/names";
import { isByStack } from "../data/scope";
import { pathOf, stepsOf, type Step } from "../state/address";
import { ask, grouping, useSource } from "../state/asking";

export interface TreeRow {
  id: string;
  steps: Step[];
  text: string;
  /** All of a chain's frames. */
  full: string;
  total: number;
  count: number;
  max: number;
  share: number;
  stopped: number;
  approximate: number;
  /** Values of the row and those above it. */
  path: number[];
  /** True for time of which the values of this level are unknown. */
  rest?: boolean;
  /** Undefined while not asked for; no list at the last level. */
  children: TreeRow[] | undefined;
  leaf: boolean;
}

export interface Tree {
  rows: TreeRow[];
  totalNs: number;
  count: number;
  leftOut: number;
  /** Time at the edges of the range that is in no row; estimated. */
  atEdges: number;
}

const MOST_ROWS = 500;

/** What a value of a aspect is called. */
export function valueText(names: NameBook, by: Aspect, value: number): { text: string; full: string } {
  const both = (text: string) => ({ text, full: text });
  switch (by) {
    case "kind":
      return both(KINDS[value] === "juc" ? "j.u.c. lock" : (KINDS[value] ?? "unknown"));
    case "lock":
      return both(names.lock(value).name);
    case "contender-thread":
    case "owner-thread":
      return both(names.threadText(value));
    case "contender-chain":
    case "owner-chain": {
      const frames = names.chain(value);
      const own = frames.find((frame) => !names.frame(frame).jdk) ?? frames[0];
      const full = frames.map((frame) => names.frameText(frame)).join("\n");
      return own === undefined ? both("unknown") : { text: `${names.frameText(own)} (chain of ${frames.length})`, full };
    }
    default:
      return both(names.text(value));
  }
}

export function useTree(scope: Scope, by: Aspect[], open: string[]): Tree | null {
  const source = useSource();
  const names = source.names(scope.recording);
  const [tree, setTree] = useState<Tree | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const newest = useRef(0);
  const key = JSON.stringify([source.generation, scope, by, open]);
  useEffect(() => {
    const mine = ++newest.current;
    build().then(
      (built) => mine === newest.current && setTree(built),
      (error: unknown) => mine === newest.current && setProblem(error),
    );
    async function build(): Promise<Tree> {
      const top = await ask(source, grouping(scope, by.slice(0, 1), MOST_ROWS));
      const opened = new Set(open);
      const rows = await level(top, [], []);
      const atEdges = isByStack(scope) ? top.restNs : 0;
      return { rows, totalNs: top.totalNs, count: top.count, leftOut: top.leftOut, atEdges };
      async function level(groups: Groups, above: Step[], values: number[]): Promise<TreeRow[]> {
        const aspect = by[above.length]!;
        const made = await Promise.all(
          groups.value.map(async (value, at) => {
            const steps = [...above, { by: aspect, key: keyOf(names, aspect, value) }];
            const id = pathOf(steps);
            const leaf = steps.length >= by.length;
            let children: TreeRow[] | undefined;
            if (!leaf && opened.has(id)) {
              const next = grouping({ ...scope, within: [...scope.within, ...steps] }, [by[steps.length]!], MOST_ROWS);
              children = await level(await ask(source, next), steps, [...values, value]);
            }
            const total = groups.total[at]!;
            return {
              id,
              steps,
              ...valueText(names, aspect, value),
              total,
              count: groups.entries[at]!,
              max: groups.max[at]!,
              share: top.totalNs > 0 ? total / top.totalNs : 0,
              stopped: groups.stopped[at]!,
              approximate: groups.approximate[at]!,
              path: [...values, value],
              children,
              leaf,
            };
          }),
        );
        const within = { ...scope, within: [...scope.within, ...above] };
        return groups.restNs > 0 && !isByStack(within) ? [...made, restRow(groups.restNs, above, top.totalNs)] : made;
      }
    }
  }, [key]);
  if (problem) throw problem;
  return tree;
}

/** Time of a row that the level below it does not have. */
function restRow(total: number, steps: Step[], all: number): TreeRow {
  const text = "stack not known";
  const full = "Short contentions whose stacks are kept by longer intervals, or by thread group and lock name, than their time is";
  return { id: `${pathOf(steps)}/rest`, steps, text, full, total, count: 0, max: 0, share: all > 0 ? total / all : 0, stopped: 0, approximate: 0, path: [], rest: true, children: undefined, leaf: true };
}

/** Paths that still make sense when the aspects are others. */
export function keepOpen(open: string[], by: Aspect[]): string[] {
  return open.filter((path) => stepsOf(path).every((step, depth) => by[depth] === step.by));
}
