// The frames of a flame graph as a drawing that mouse and keyboard can use. Preact binds names as text.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { FlameNode } from "../data/flame";
import { neighbour, type Box, type Layout } from "../data/flamelayout";
import { fitted, split } from "../text/frames";

export const ROW = 20;
const LETTER = 6.6;
/** Rows that are drawn at once: those that are seen before somebody scrolls. What scrolls is 560 px high (style.css). */
const FIRST_ROWS = 560 / ROW;

/** True if a key chose something else to draw: what is drawn next gets the focus. */
let takesFocus = false;

interface Props {
  label: string;
  layout: Layout;
  /** Frames above the layout, from the root on: what was zoomed into. */
  above: FlameNode[];
  width: number;
  colour: (node: FlameNode) => string;
  describe: (node: FlameNode) => string;
  /** In lower case; frames whose name contains it are marked. */
  search: string;
  /** The one frame that the Tab key reaches; arrow keys move on from it. */
  reached: number;
  onReach: (at: number) => void;
  /** True if all rows are drawn, not only the first ones. */
  isWhole: boolean;
  /** A frame is wanted that is not among the first rows. */
  onWhole: () => void;
  onPick: (box: Box) => void;
  onPickAbove?: (depth: number) => void;
  onHover: (node: FlameNode | null) => void;
  /** True if the first frame stands between callers and callees. */
  hasMiddle: boolean;
  /** Says what is pointed at. */
  tip: ComponentChildren;
  /** Any other key while a frame has the focus; true if it meant something. */
  onKey: (key: string) => boolean;
}

export function Frames({ label, layout, above, width, colour, describe, search, reached, onReach, isWhole, onWhole, onPick, onPickAbove, onHover, onKey, hasMiddle, tip }: Props) {
  const drawing = useRef<SVGSVGElement>(null);
  const { boxes, strips } = layout;
  const [first, rows] = useMemo(() => extent(layout), [layout]);
  const y = (row: number) => (above.length + row - first) * ROW;
  const boxAt = (event: Event): Box | undefined => {
    const frame = (event.target as Element).closest("g[data-frame]");
    return frame ? boxes[Number(frame.getAttribute("data-frame"))] : undefined;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const box = boxAt(event);
    const next = neighbour(boxes, reached, event.key);
    if (next !== null) {
      onReach(next);
      const frame = drawing.current?.querySelector<SVGGElement>(`g[data-frame="${next}"]`);
      if (frame) frame.focus();
      else {
        takesFocus = true;
        onWhole();
      }
    } else if (box) {
      takesFocus = true;
      if (event.key === "Enter" || event.key === " ") onPick(box);
      else if (!onKey(event.key)) return void (takesFocus = false);
    } else return;
    event.preventDefault();
  };
  useLayoutEffect(() => {
    if (takesFocus) drawing.current?.querySelector<SVGGElement>('g[data-frame][tabindex="0"]')?.focus();
    takesFocus = false;
  }, [layout, isWhole]);
  const isFirst = (row: number) => above.length + row - first < FIRST_ROWS;
  const draw = (wanted: (row: number) => boolean) => boxes.flatMap((box, at) => {
    const { node, row, x0, x1 } = box;
    if (!wanted(row)) return [];
    const found = search !== "" && node.name.toLowerCase().includes(search);
    const marks = `${found ? "found" : ""}${hasMiddle && at === 0 ? " middle" : ""}` || undefined;
    return [shape(`${row < 0 ? "^" : ""}${node.id}`, node, [x0, y(row), x1 - x0], found ? "var(--found)" : colour(node), describe(node), { class: marks, tabindex: at === reached ? 0 : -1, "data-frame": at })];
  });
  const inputs = [layout, above.length, colour, search, reached] as const;
  const begin = useMemo(() => draw(isFirst), [...inputs]);
  // The one frame that the Tab key reaches is always there.
  const rest = useMemo(() => draw((row) => !isFirst(row) && (isWhole || row === boxes[reached]!.row)), [...inputs, isWhole]);
  return (
    <svg ref={drawing} width={width} height={(rows + above.length) * ROW} role="group" aria-label={`${label} Arrow keys move between frames, Enter chooses one.`} onKeyDown={onKeyDown}
      onClick={(event) => { const box = boxAt(event); if (box) onPick(box); }}
      onMouseOver={(event) => onHover(boxAt(event)?.node ?? null)} onMouseLeave={() => onHover(null)}
      onFocusIn={(event) => { const box = boxAt(event); if (box) { onReach(boxes.indexOf(box)); onHover(box.node); } }} onFocusOut={() => onHover(null)}>
      {tip}
      {above.map((node, depth) => (
        shape(`above ${depth}`, node, [0, depth * ROW, width], "var(--folded)", describe(node),
          { tabindex: 0, onClick: () => onPickAbove?.(depth), onMouseOver: (event: MouseEvent) => (event.stopPropagation(), onHover(node)), onKeyDown: (event: KeyboardEvent) => event.key === "Enter" && onPickAbove?.(depth) })
      ))}
      <path class="narrow" aria-hidden="true" d={strips.map(({ row, x0, x1 }) => `M${x0.toFixed(1)} ${y(row)}H${x1.toFixed(1)}v${ROW - 1}H${x0.toFixed(1)}z`).join("")} />
      {begin}
      {rest}
    </svg>
  );
}

/** The first row and how many there are. */
function extent({ boxes }: Layout): [first: number, rows: number] {
  const rows = boxes.map((box) => box.row);
  const first = rows.reduce((a, b) => Math.min(a, b), 0);
  return [first, rows.reduce((a, b) => Math.max(a, b), 0) - first + 1];
}

/** A frame: plain elements, no component, because a graph has more than a thousand. What it is in words is a tooltip only while it is pointed at. */
function shape(key: string, node: FlameNode, [x, y, width]: [number, number, number], colour: string, text: string, rest: object) {
  const shown = fitted(split(node.name)[1], Math.floor((width - 8) / LETTER));
  return (
    <g key={key} role="button" aria-label={text} {...rest}>
      <rect x={x} y={y} width={Math.max(0.5, width - 0.6)} fill={colour} />
      {shown && <text x={x + 4} y={y + 14}>{shown}</text>}
    </g>
  );
}
