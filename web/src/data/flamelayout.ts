// Where the frames of a flame graph are: only what can be seen is laid out, however large the tree is.
import type { FlameNode } from "./flame";

export interface Box {
  node: FlameNode;
  parent: Box | null;
  /** Negative above the frame that the layout begins with. */
  row: number;
  x0: number;
  x1: number;
}

/** Frames in a row that are too narrow to be drawn one by one. */
export interface Strip {
  row: number;
  x0: number;
  x1: number;
}

export interface Layout {
  boxes: Box[];
  strips: Strip[];
}

/** Frames and rows that are drawn at most: what the browser has to hold does not grow with the recording. */
export const MOST_FRAMES = 1500;
export const MOST_ROWS = 128;
const LEAST_WIDTH = 1;

interface Options {
  width: number;
  /** 1 if children are below, -1 if above. */
  way?: 1 | -1;
  /** What the widths are. */
  side?: "total" | "before";
  most?: number;
}

/** Lays out a tree; narrow frames become strips until few enough are left. */
export function layout(top: FlameNode, { width, way = 1, side = "total", most = MOST_FRAMES }: Options): Layout {
  for (let least = LEAST_WIDTH; ; least *= 2) {
    const made = attempt(top, width, way, side, least, most);
    if (made) return made;
  }
}

function attempt(top: FlameNode, width: number, way: 1 | -1, side: "total" | "before", least: number, most: number): Layout | null {
  const boxes: Box[] = [{ node: top, parent: null, row: 0, x0: 0, x1: width }];
  const strips: Strip[] = [];
  const scale = width / (top[side] || 1);
  for (let at = 0; at < boxes.length; at++) {
    const box = boxes[at]!;
    if (Math.abs(box.row) + 1 >= MOST_ROWS) continue;
    const row = box.row + way;
    let [x, narrow] = [box.x0, 0];
    for (const node of box.node.children) {
      const wide = node[side] * scale;
      if (wide < least) {
        narrow += wide;
        continue;
      }
      if (boxes.length >= most) return null;
      boxes.push({ node, parent: box, row, x0: x, x1: x + wide });
      x += wide;
    }
    if (narrow > 0) strips.push({ row, x0: x, x1: x + narrow });
  }
  return { boxes, strips };
}

/** Keys from the layout's first frame, which has none in it, to another one. */
export function pathTo(box: Box): number[] {
  const keys: number[] = [];
  for (let at = box; at.parent; at = at.parent) keys.push(at.node.key);
  return keys.reverse();
}

/** The callers above a method and the callees below it as one layout; the method itself is its first box. */
export function layoutSandwich(callers: FlameNode, callees: FlameNode, options: Options): Layout {
  const half = { ...options, most: MOST_FRAMES / 2 };
  const [above, below] = [layout(callers, { ...half, way: -1 }), layout(callees, { ...half, way: 1 })];
  const middle = below.boxes[0]!;
  // Both trees begin with the method.
  for (const box of above.boxes) if (box.parent === above.boxes[0]) box.parent = middle;
  return { boxes: [...below.boxes, ...above.boxes.slice(1)], strips: [...below.strips, ...above.strips] };
}

/** The frame that an arrow key leads to from another one; null if none. */
export function neighbour(boxes: Box[], from: number, key: string): number | null {
  const box = boxes[from];
  if (!box) return null;
  const to = { ArrowUp: upOrDown(boxes, box, -1), ArrowDown: upOrDown(boxes, box, 1), ArrowLeft: beside(boxes, box, -1), ArrowRight: beside(boxes, box, 1) }[key];
  return to ? boxes.indexOf(to) : null;
}

/** The parent if it is there, else the widest child. */
function upOrDown(boxes: Box[], box: Box, way: number): Box | undefined {
  const row = box.row + way;
  if (box.parent?.row === row) return box.parent;
  return boxes.filter((one) => one.parent === box && one.row === row).sort((a, b) => b.x1 - b.x0 - (a.x1 - a.x0))[0];
}

function beside(boxes: Box[], box: Box, way: number): Box | undefined {
  const row = boxes.filter((one) => one.row === box.row).sort((a, b) => a.x0 - b.x0);
  return row[row.indexOf(box) + way];
}
