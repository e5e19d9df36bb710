// Who blocks whom, and who is at the root of it.
import type { Groups } from "./contract";

export interface Edge {
  from: number;
  to: number;
  total: number;
}

/** Who blocks whom; what nobody is blamed for is left out and counted apart. */
export function edgesOf(groups: Groups): { edges: Edge[]; unblamed: number } {
  const edges: Edge[] = [];
  let unblamed = 0;
  groups.value.forEach((owner, at) => {
    const parent = groups.parent[at]!;
    if (parent < 0) return;
    if (owner === 0) unblamed += groups.total[at]!;
    else edges.push({ from: groups.value[parent]!, to: owner, total: groups.total[at]! });
  });
  return { edges: edges.sort((a, b) => b.total - a.total), unblamed };
}

/** Stands for all that are not drawn one by one. */
export const OTHERS = -1;

/** The same edges where those with least blocked time, their own and that of others, are one node; and how many those are. */
export function folded(edges: Edge[], most: number): { edges: Edge[]; folded: number } {
  const times = new Map<number, number>();
  for (const { from, to, total } of edges) for (const node of new Set([from, to])) times.set(node, (times.get(node) ?? 0) + total);
  if (times.size <= most) return { edges, folded: 0 };
  const kept = new Set([...times].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, most - 1).map(([node]) => node));
  const place = (node: number) => (kept.has(node) ? node : OTHERS);
  const sums = new Map<string, Edge>();
  for (const edge of edges) {
    const [from, to] = [place(edge.from), place(edge.to)];
    const sum = sums.get(`${from} ${to}`);
    if (sum) sum.total += edge.total;
    else sums.set(`${from} ${to}`, { from, to, total: edge.total });
  }
  return { edges: [...sums.values()].sort((a, b) => b.total - a.total), folded: times.size - kept.size };
}

export interface Root {
  node: number;
  total: number;
  /** The most expensive chain of blocked ones that ends at it, the root last. */
  chain: number[];
}

/** Those who block others and are (nearly) not blocked themselves. */
export function rootsOf(edges: Edge[]): Root[] {
  const caused = new Map<number, number>();
  const suffered = new Map<number, number>();
  for (const { from, to, total } of edges) {
    if (from === to) continue;
    caused.set(to, (caused.get(to) ?? 0) + total);
    suffered.set(from, (suffered.get(from) ?? 0) + total);
  }
  const roots = [...caused].filter(([node, total]) => (suffered.get(node) ?? 0) < total / 4);
  return roots.map(([node, total]) => ({ node, total, chain: chainTo(node, edges) })).sort((a, b) => b.total - a.total);
}

/** Groups or methods whose threads block each other, and are not blocked by others, or for much less time; most time first. */
export function withinOf(edges: Edge[]): Edge[] {
  const blockedByOthers = (node: number) => edges.reduce((sum, { from, to, total }) => (from === node && to !== node ? sum + total : sum), 0);
  return edges.filter(({ from, to, total }) => from === to && blockedByOthers(from) < total / 4).sort((a, b) => b.total - a.total);
}

function chainTo(root: number, edges: Edge[]): number[] {
  const chain = [root];
  for (;;) {
    const next = edges.find((edge) => edge.to === chain[0] && !chain.includes(edge.from));
    if (!next || chain.length > 6) return chain;
    chain.unshift(next.from);
  }
}
