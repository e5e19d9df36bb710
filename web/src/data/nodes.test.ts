import { describe, expect, it } from "vitest";
import { Nodes } from "./nodes";

/** Numbers below a bound, the same each time. */
function random(): (bound: number) => number {
  let state = 12_345;
  return (bound) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % bound;
  };
}

describe("groups while they are added up", () => {
  // Some levels have a place for each value, others are looked up by hash.
  it.each([[[16, 300, 40]], [[5_000_000, 16, 5000]], [[0, 0, 0]], [[1024, 1024, 1024]]])("are the same as in a map, with widths %j", (widths) => {
    const next = random();
    const nodes = new Nodes(widths);
    const expected = new Map<string, { total: number; count: number; max: number }>();
    for (let contention = 1; contention <= 2000; contention++) {
      const path = [next(16), next(widths[1]! || 1000), next(40)];
      let node = 0;
      path.forEach((value, level) => {
        node = nodes.child(node, value, level);
        nodes.add(node, contention, level + 1, 0);
        const key = path.slice(0, level + 1).join();
        const group = expected.get(key) ?? { total: 0, count: 0, max: 0 };
        expected.set(key, { total: group.total + level + 1, count: group.count + 1, max: level + 1 });
      });
    }
    const keys: string[] = [""];
    const found = new Map<string, { total: number; count: number; max: number }>();
    for (let node = 1; node < nodes.length; node++) {
      const above = keys[nodes.parent[node]!]!;
      keys[node] = above === "" ? String(nodes.value[node]) : `${above},${nodes.value[node]}`;
      found.set(keys[node]!, { total: nodes.total[node]!, count: nodes.count[node]!, max: nodes.max[node]! });
    }
    // No group is there twice.
    expect(nodes.length - 1).toBe(expected.size);
    const lines = (groups: typeof found) => [...groups].map(([key, { total, count, max }]) => `${key}: ${total} in ${count}, longest ${max}`).sort();
    expect(lines(found)).toEqual(lines(expected));
  });
});
