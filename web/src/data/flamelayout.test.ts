import { describe, expect, it } from "vitest";
import type { FlameNode } from "./flame";
import { layout, layoutSandwich, MOST_FRAMES, MOST_ROWS, neighbour, pathTo, type Box } from "./flamelayout";

let visited = 0;

/** A node whose children are made when somebody asks for them. */
function node(name: string, total: number, children: () => FlameNode[] = () => []): FlameNode {
  return { id: 0, key: name.length, name, jdk: false, total, self: 0, before: 0, pieces: null, get children() { visited++; return children(); } };
}

/** Each node has so many children of the same size, down to a depth: wide ** deep leaves. */
function even(total: number, wide: number, deep: number): FlameNode {
  return node("n", total, () => (deep === 0 ? [] : Array.from({ length: wide }, () => even(total / wide, wide, deep - 1))));
}

const text = ({ boxes }: { boxes: Box[] }) => boxes.map(({ node, row, x0, x1 }) => `${node.name} ${row} ${x0}-${x1}`);

describe("the layout of a flame graph", () => {
  it("has children below their parent, as wide as their time, and narrow ones as a strip", () => {
    const made = layout(node("all", 100, () => [node("a", 60), node("b", 39.5), node("c", 0.25), node("d", 0.25)]), { width: 100 });
    expect(text(made)).toEqual(["all 0 0-100", "a 1 0-60", "b 1 60-99.5"]);
    expect(made.strips).toEqual([{ row: 1, x0: 99.5, x1: 100 }]);
    expect(made.boxes.map(pathTo)).toEqual([[], [1], [1]]);
  });
  it("has as many frames and touches as many nodes for a million stacks as for some thousands", () => {
    for (const [wide, deep] of [[10, 6], [300, 2], [2, 20], [100_000, 1], [1, 1_000_000]] as const) {
      visited = 0;
      const { boxes, strips } = layout(even(1e9, wide, deep), { width: 1900 });
      expect(boxes.length).toBeLessThanOrEqual(MOST_FRAMES);
      expect(strips.length).toBeLessThanOrEqual(MOST_FRAMES);
      expect(Math.max(...boxes.map((box) => box.row))).toBeLessThan(MOST_ROWS);
      // Every attempt asks each frame for its children once, and there are at most as many as halvings of the width.
      expect(visited).toBeLessThanOrEqual(MOST_FRAMES * 12);
    }
  });
  it("of a sandwich has callers above and callees below, and arrow keys lead through both", () => {
    const { boxes } = layoutSandwich(node("mid", 100, () => [node("caller", 70, () => [node("root", 70)]), node("other", 30)]), node("mid", 100, () => [node("callee", 50)]), { width: 100 });
    expect(text({ boxes })).toEqual(["mid 0 0-100", "callee 1 0-50", "caller -1 0-70", "other -1 70-100", "root -2 0-70"]);
    const go = (...keys: string[]) => boxes[keys.reduce((at, key) => neighbour(boxes, at, key) ?? at, 0)]!.node.name;
    expect(go("ArrowDown")).toBe("callee");
    expect(go("ArrowUp")).toBe("caller");
    expect(go("ArrowUp", "ArrowUp")).toBe("root");
    expect(go("ArrowUp", "ArrowRight", "ArrowDown", "ArrowDown")).toBe("callee");
    expect(go("ArrowLeft", "x")).toBe("mid");
  });
});
