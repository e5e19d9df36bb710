// A flame graph: d3-hierarchy lays it out, Preact binds names as text.
import { hierarchy, partition, type HierarchyRectangularNode } from "d3-hierarchy";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { follow, type FlameNode } from "../data/flame";
import { save, svgText } from "../text/download";
import { percent } from "../text/units";
import { differenceColour } from "./colours";
import { split } from "../text/frames";

const ROW = 20;
const MOST_ROWS = 60;

interface Props {
  root: FlameNode;
  /** What the widths stand for, in one sentence. */
  why: string;
  label: string;
  format: (value: number) => string;
  zoom: number[];
  onZoom: (path: number[]) => void;
  search: string;
  /** Colours say what changed since `before`. */
  difference?: boolean;
}

type Box = HierarchyRectangularNode<FlameNode>;

export function Flame({ root, why, label, format, zoom, onZoom, search, difference = false }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  const [hover, setHover] = useState<FlameNode | null>(null);
  useEffect(() => {
    const observer = new ResizeObserver(() => setWidth(place.current?.clientWidth ?? 600));
    observer.observe(place.current!);
    return () => observer.disconnect();
  }, []);
  const way = follow(root, zoom);
  const top = way.at(-1)!;
  const boxes = useMemo(() => layout(top, width), [top, width]);
  const rows = Math.min(MOST_ROWS, 1 + Math.max(0, ...boxes.map((box) => box.depth)));
  const found = search ? matchedTotal(root, search.toLowerCase()) : 0;
  const height = (rows + way.length - 1) * ROW;
  const pathOf = (box: Box) => [...zoom.slice(0, way.length - 1), ...box.ancestors().reverse().slice(1).map((one) => one.data.key)];
  return (
    <div class="flame" ref={place}>
      <div class="legend">
        <span class="hint" title={why}>
          {hover ? describe(hover, root, format, difference) : why}
        </span>
        <span class="push">
          {search && <b>{percent(found / root.total)} matches </b>}
          {zoom.length > 0 && (
            <button type="button" class="small" onClick={() => onZoom([])}>
              whole graph
            </button>
          )}
          <button type="button" class="small" title="Download as SVG" onClick={() => save("flame.svg", "image/svg+xml", svgText(place.current!.querySelector("svg")!))}>
            SVG
          </button>
        </span>
      </div>
      <div class="flamescroll" tabIndex={0} role="group" aria-label={label}>
        <svg width={width} height={height} role="group" aria-label={label}>
          {way.slice(0, -1).map((node, depth) => (
            <Frame key={`up ${depth}`} node={node} x={0} y={depth * ROW} width={width} colour="var(--folded)" found={false}
              text={describe(node, root, format, difference)} onHover={setHover} onPick={() => onZoom(zoom.slice(0, depth))} />
          ))}
          {boxes.map((box) => (
            <Frame key={pathOf(box).join(".")} node={box.data} x={box.x0} y={(box.depth + way.length - 1) * ROW} width={box.x1 - box.x0}
              colour={difference ? differenceColour(change(box.data, root)) : colourOf(box.data)}
              found={search !== "" && box.data.name.toLowerCase().includes(search.toLowerCase())}
              text={describe(box.data, root, format, difference)} onHover={setHover} onPick={() => onZoom(pathOf(box))} />
          ))}
        </svg>
      </div>
    </div>
  );
}

function layout(top: FlameNode, width: number): Box[] {
  const tree = hierarchy<FlameNode>(top, (node) => node.children);
  // Widths are given, not added up from the leaves: time in a method itself is part of it.
  tree.each((node) => ((node as { value?: number }).value = node.data.total || 0));
  const boxes = partition<FlameNode>().size([width, 1])(tree).descendants();
  return boxes.filter((box) => box.x1 - box.x0 >= 0.6 && box.depth < MOST_ROWS);
}

interface FrameProps {
  node: FlameNode;
  x: number;
  y: number;
  width: number;
  colour: string;
  found: boolean;
  text: string;
  onHover: (node: FlameNode | null) => void;
  onPick: () => void;
}

function Frame({ node, x, y, width, colour, found, text, onHover, onPick }: FrameProps) {
  const letters = Math.floor((width - 8) / 6.6);
  const short = split(node.name)[1];
  const shown = letters < 3 ? "" : short.length > letters ? `${short.slice(0, letters - 1)}…` : short;
  const pick = (event: KeyboardEvent) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      onPick();
    }
  };
  return (
    <g class={found ? "found" : ""} tabindex={width > 30 ? 0 : -1} role="button" aria-label={text} onClick={onPick} onKeyDown={pick}
      onMouseEnter={() => onHover(node)} onMouseLeave={() => onHover(null)} onFocus={() => onHover(node)} onBlur={() => onHover(null)}>
      <rect x={x} y={y} width={Math.max(0.5, width - 0.6)} height={ROW - 1} style={{ fill: found ? "var(--found)" : colour }} rx={1.5} />
      {shown && (
        <text x={x + 4} y={y + 14}>
          {shown}
        </text>
      )}
      <title>{text}</title>
    </g>
  );
}

function describe(node: FlameNode, root: FlameNode, format: (value: number) => string, difference: boolean): string {
  const now = `${node.name}: ${format(node.total)} (${percent(node.total / root.total)})`;
  if (!difference) return `${now}, in itself ${format(node.self)}`;
  return `${now}, before ${percent(root.before > 0 ? node.before / root.before : 0)}`;
}

/** Change of the share, from -1 to 1, a tenth of everything being much. */
function change(node: FlameNode, root: FlameNode): number {
  const share = (part: number, whole: number) => (whole > 0 ? part / whole : 0);
  return (share(node.total, root.total) - share(node.before, root.before)) * 10;
}

/** Time of everything below or in a method that matches, each counted once. */
export function matchedTotal(node: FlameNode, wanted: string): number {
  if (node.name.toLowerCase().includes(wanted)) return node.total;
  return node.children.reduce((sum, child) => sum + matchedTotal(child, wanted), 0);
}

/** The same method has the same shade of a warm scale; the JDK's code is grey. */
function colourOf(node: FlameNode): string {
  if (node.jdk) return "var(--folded)";
  let hash = 0;
  for (let i = 0; i < node.name.length; i++) hash = (hash * 31 + node.name.charCodeAt(i)) | 0;
  return `hsl(${34 + (hash & 15)} ${62 + ((hash >> 4) & 15)}% ${66 + ((hash >> 8) & 7)}%)`;
}
