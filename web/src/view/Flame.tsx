// A flame graph: d3-hierarchy lays it out, Preact binds names as text.
import { hierarchy, partition, type HierarchyRectangularNode } from "d3-hierarchy";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { follow, type FlameNode } from "../data/flame";
import { save, svgText } from "../text/download";
import { percent } from "../text/units";
import { differenceColour } from "./colours";
import { isNative, split } from "../text/frames";

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
  // The one frame that the Tab key reaches; arrow keys move on from it.
  const [current, setCurrent] = useState(0);
  useLayoutEffect(() => {
    const measure = () => setWidth(place.current?.clientWidth || 600);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(place.current!);
    return () => observer.disconnect();
  }, []);
  const way = follow(root, zoom);
  const top = way.at(-1)!;
  const boxes = useMemo(() => layout(top, width), [top, width]);
  const rows = Math.min(MOST_ROWS, 1 + Math.max(0, ...boxes.map((box) => box.depth)));
  const found = search ? matchedTotal(root, search.toLowerCase()) : 0;
  const height = (rows + way.length - 1) * ROW;
  const reached = boxes[current] ? current : 0;
  const onKey = (event: KeyboardEvent) => {
    const next = neighbour(boxes, reached, event.key);
    if (next === null) return;
    event.preventDefault();
    setCurrent(next);
    place.current?.querySelectorAll<SVGGElement>("g[data-frame]")[next]?.focus();
  };
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
      <div class="flamescroll">
        <svg width={width} height={height} role="group" aria-label={`${label} Arrow keys move between frames, Enter zooms.`} onKeyDown={onKey}>
          {way.slice(0, -1).map((node, depth) => (
            <Frame key={`up ${depth}`} node={node} x={0} y={depth * ROW} width={width} colour="var(--folded)" found={false}
              text={describe(node, root, format, difference)} onHover={setHover} onPick={() => onZoom(zoom.slice(0, depth))} />
          ))}
          {boxes.map((box, at) => (
            <Frame frame={at} isReached={at === reached} onReach={() => setCurrent(at)} key={pathOf(box).join(".")} node={box.data} x={box.x0} y={(box.depth + way.length - 1) * ROW} width={box.x1 - box.x0}
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
  // Widths come with the data, not added up from the leaves: time in a method itself is part of it.
  tree.each((node) => ((node as { value?: number }).value = node.data.total || 0));
  const boxes = partition<FlameNode>().size([width, 1])(tree).descendants();
  return boxes.filter((box) => box.x1 - box.x0 >= 0.6 && box.depth < MOST_ROWS);
}

/** The frame that an arrow key leads to from another one; null if none. */
export function neighbour(boxes: Box[], from: number, key: string): number | null {
  const box = boxes[from];
  if (!box) return null;
  const beside = boxes.filter((one) => one.depth === box.depth).sort((a, b) => a.x0 - b.x0);
  const at = beside.indexOf(box);
  const to = {
    ArrowUp: box.parent,
    ArrowDown: boxes.filter((one) => one.parent === box).sort((a, b) => b.x1 - b.x0 - (a.x1 - a.x0))[0],
    ArrowLeft: beside[at - 1],
    ArrowRight: beside[at + 1],
  }[key];
  return to ? boxes.indexOf(to) : null;
}

interface FrameProps {
  /** Place among the frames that arrow keys reach; none for those above the zoom. */
  frame?: number;
  isReached?: boolean;
  onReach?: () => void;
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

function Frame({ frame, isReached = true, onReach, node, x, y, width, colour, found, text, onHover, onPick }: FrameProps) {
  const letters = Math.floor((width - 8) / 6.6);
  const shown = fitted(split(node.name)[1], letters);
  const pick = (event: KeyboardEvent) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      onPick();
    }
  };
  return (
    <g class={found ? "found" : ""} tabindex={isReached ? 0 : -1} {...(frame === undefined ? {} : { "data-frame": frame })} role="button" aria-label={text} onClick={onPick} onKeyDown={pick}
      onMouseEnter={() => onHover(node)} onMouseLeave={() => onHover(null)} onFocus={() => (onHover(node), onReach?.())} onBlur={() => onHover(null)}>
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

/** A name cut to so many letters. The library of a native function is kept: `memc… [libc.so.6]`. */
export function fitted(name: string, letters: number): string {
  if (letters < 3) return "";
  if (name.length <= letters) return name;
  const library = /\[[^\]]+\]$/.exec(name)?.[0] ?? "";
  const room = letters - library.length - 2;
  if (library !== "" && name !== library) return room >= 2 ? `${name.slice(0, room)}… ${library}` : library.length <= letters ? library : `${name.slice(0, letters - 1)}…`;
  return `${name.slice(0, letters - 1)}…`;
}

function describe(node: FlameNode, root: FlameNode, format: (value: number) => string, difference: boolean): string {
  const now = `${node.name}: ${format(node.total)} (${percent(node.total / root.total)})`;
  if (!difference) return `${now}, self ${format(node.self)}`;
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

/** The same method has the same shade: warm for the program, blue for native code; the JDK's code is grey. None is the yellow of what was searched for. */
function colourOf(node: FlameNode): string {
  if (node.jdk) return "var(--folded)";
  let hash = 0;
  for (let i = 0; i < node.name.length; i++) hash = (hash * 31 + node.name.charCodeAt(i)) | 0;
  const hue = isNative(node.name) ? 200 : 14;
  return `hsl(${hue + (hash & 15)} ${62 + ((hash >> 4) & 15)}% ${70 + ((hash >> 8) & 7)}%)`;
}
