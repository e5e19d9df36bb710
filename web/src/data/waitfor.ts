// Who blocks whom, and who is at the root of it.
import type { Groups } from "./contract";

export interface Edge {
  from: number;
  to: number;
  total: number;
}

/** Who blocks whom; what nobody is blamed for is left out and told apart. */
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

export interface Root {
  node: number;
  total: number;
  /** The dearest chain of blocked ones that ends at it, the root last. */
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

function chainTo(root: number, edges: Edge[]): number[] {
  const chain = [root];
  for (;;) {
    const next = edges.find((edge) => edge.to === chain[0] && !chain.includes(edge.from));
    if (!next || chain.length > 6) return chain;
    chain.unshift(next.from);
  }
}
