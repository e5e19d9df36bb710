// Flame graphs: a tree of call stacks, or the callers and callees of one method.
import { useSignal, type Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { flushSync } from "preact/compat";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { follow, type FlameNode, type FlameRoot, type Sandwich } from "../data/flame";
import { layout, layoutSandwich, pathTo, type Box, type Layout } from "../data/flamelayout";
import { ALL_STACKS } from "../state/address";
import { show, view } from "../state/view";
import { save, svgText } from "../text/download";
import { isKernel, isNative } from "../text/frames";
import { percent } from "../text/units";
import { copyText } from "./Chain";
import { frameColour, type FrameType } from "./colours";
import { Frames } from "./Frames";

/** What widths and colours stand for. */
export interface Meaning {
  /** A frame in words; `whole` is what its share is a part of. */
  describe: (node: FlameNode, whole: FlameNode) => string;
  colour: (node: FlameNode, whole: FlameNode) => string;
  legend: [colour: string, text: string][];
  side: "total" | "before";
}

/** Widths are time or counts, colours the type of code. */
export function byType(format: (value: number) => string): Meaning {
  return {
    describe: (node, whole) => `${node.name}: ${format(node.total)} (${percent(node.total / whole.total)})${node.self > 0 ? `, self ${format(node.self)}` : ""}`,
    colour: (node) => frameColour(typeOf(node), node.name),
    legend: (Object.keys(TYPES) as FrameType[]).map((type) => [frameColour(type, ""), TYPES[type]]),
    side: "total",
  };
}

const TYPES: Record<FrameType, string> = { app: "application", jdk: "JDK", native: "native", kernel: "kernel" };

function typeOf(node: FlameNode): FrameType {
  if (isKernel(node.name)) return "kernel";
  // What is no method has no type: it is as quiet as the JDK. Keys are not asked for: each is a hash of a name.
  if (node.jdk || NO_METHODS.includes(node.name)) return "jdk";
  return isNative(node.name) ? "native" : "app";
}

interface Props {
  /** What the widths stand for, in one sentence. */
  why: string;
  label: string;
  meaning: Meaning;
  search: string;
}

/** A flame graph that can be zoomed into. */
export function Flame({ root, ...props }: Props & { root: FlameRoot }) {
  const zoom = view.value.zoom.split(".").filter(Boolean).map(Number);
  const way = follow(root, zoom);
  const top = way.at(-1)!;
  const path = zoom.slice(0, way.length - 1);
  const onZoom = (path: number[]) => show({ zoom: path.join(".") });
  const make = (width: number) => layout(top, { width, side: props.meaning.side });
  return (
    <Graph {...props} hasMiddle={false} whole={root} shown={top} make={make} above={way.slice(0, -1)} matching={search(root, props.search)}
      onPick={(box) => onZoom([...path, ...pathTo(box)])} onPickAbove={(depth) => onZoom(zoom.slice(0, depth))}>
      {path.length < zoom.length && <b class="problem" role="alert">The address zooms into a frame that is not here. </b>}
      {zoom.length > 0 && <button type="button" class="small" onClick={() => onZoom([])}>whole graph</button>}
    </Graph>
  );
}

/** What called a method above it, and what it called below it. */
export function SandwichGraph({ pair, ...props }: Props & { pair: Sandwich }) {
  const make = (width: number) => layoutSandwich(pair.callers, pair.callees, { width, side: props.meaning.side });
  const onPick = ({ node }: Box) => isMethod(node) && show({ ...ALL_STACKS, focus: view.value.focus, drop: view.value.drop, threads: view.value.threads, search: view.value.search, sandwich: node.name });
  return (
    <Graph {...props} hasMiddle whole={pair.callees} shown={pair.callees} make={make} above={[]} matching={search(pair.callees, props.search)} onPick={onPick}>
      <button type="button" class="small" onClick={() => show({ sandwich: "", zoom: "" })}>whole graph</button>
    </Graph>
  );
}

function search(root: FlameRoot, text: string): number | null {
  return text === "" ? null : root.matched(text.toLowerCase()) / root.total;
}

interface GraphProps extends Props {
  hasMiddle: boolean;
  /** What shares are parts of. */
  whole: FlameNode;
  /** Changes with what is laid out. */
  shown: FlameNode;
  make: (width: number) => Layout;
  above: FlameNode[];
  /** The share of what was searched for; null if nothing was. */
  matching: number | null;
  onPick: (box: Box) => void;
  onPickAbove?: (depth: number) => void;
  children: ComponentChildren;
}

function Graph({ hasMiddle, whole, shown, make, above, matching, why, label, meaning, search, onPick, onPickAbove, children }: GraphProps) {
  const place = useRef<HTMLDivElement>(null);
  const width = useWidth(place);
  const scroll = useRef<HTMLDivElement>(null);
  const hover = useSignal<FlameNode | null>(null);
  const made = useMemo(() => make(width), [shown, width, meaning.side]);
  const [chosen, setChosen] = useState<{ made: Layout; at: number }>({ made, at: 0 });
  const reached = chosen.made === made ? chosen.at : 0;
  const box = made.boxes[reached]!;
  // Rows below those that are seen are drawn when there is time, and at once when somebody scrolls, prints or saves them.
  const [drawnWhole, setWhole] = useState<Layout | null>(null);
  const actions = actionsOn(box, above);
  const drawWhole = () => setWhole(made);
  useWhenIdle(drawWhole, made);
  useOnPrint(() => flushSync(drawWhole));
  const saveDrawing = () => {
    flushSync(drawWhole);
    save("flame.svg", "image/svg+xml", svgText(place.current!.querySelector("svg")!));
  };
  const describe = (node: FlameNode) => meaning.describe(node, whole);
  const colour = useMemo(() => (node: FlameNode) => meaning.colour(node, whole), [meaning, whole]);
  return (
    <div class="flame" ref={place}>
      <div class="legend">
        <Said node={hover} describe={describe} why={why} />
        <span class="push">
          {matching !== null && <b>{percent(matching)} matches </b>}
          {children}
          <button type="button" class="small" title="Download as SVG" onClick={saveDrawing}>SVG</button>
        </span>
      </div>
      <div class="legend">
        {meaning.legend.map(([colour, text]) => (
          <span key={text}><i class="swatch" style={{ background: colour }} /> {text}</span>
        ))}
        <Actions name={isMethod(box.node) ? box.node.name : ""} actions={actions} />
      </div>
      <div class="flamescroll" ref={scroll} onScroll={drawnWhole === made ? undefined : drawWhole}>
        {/* Until there is a width to draw it in, it would be drawn twice. */}
        {width > 0 && <Frames label={label} layout={made} hasMiddle={hasMiddle} above={above} width={width} colour={colour} describe={describe} search={search.toLowerCase()} reached={reached} isWhole={drawnWhole === made || (scroll.current?.scrollTop ?? 0) > 0} onWhole={drawWhole} tip={<Tip node={hover} describe={describe} />}
          onReach={(at) => setChosen({ made, at })} onPick={onPick} {...(onPickAbove ? { onPickAbove } : {})} onHover={(node) => (hover.value = node)}
          onKey={(key) => isMethod(box.node) && actions.some((action) => action.key === key && (action.run(), true))} />}
      </div>
    </div>
  );
}

/** The width that there is for a drawing; 0 before the first one. */
function useWidth(place: { current: HTMLDivElement | null }): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const measure = () => setWidth(place.current?.clientWidth || 600);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(place.current!);
    return () => observer.disconnect();
  }, []);
  return width;
}

/** Acts once after each change of what it is about, when the page has nothing else to do. */
function useWhenIdle(act: () => void, about: unknown): void {
  useEffect(() => {
    // Not every browser says when it has nothing to do.
    if (!("requestIdleCallback" in globalThis)) {
      const timer = setTimeout(act, 200);
      return () => clearTimeout(timer);
    }
    const request = requestIdleCallback(act, { timeout: 1000 });
    return () => cancelIdleCallback(request);
  }, [about]);
}

/** Acts before the page is laid out for a printer. */
function useOnPrint(act: () => void): void {
  useEffect(() => {
    const printer = matchMedia("print");
    const onChange = () => printer.matches && act();
    addEventListener("beforeprint", act);
    printer.addEventListener("change", onChange);
    return () => {
      removeEventListener("beforeprint", act);
      printer.removeEventListener("change", onChange);
    };
  });
}

/** What is under the pointer; drawn alone, so that pointing costs the same however many frames there are. */
function Said({ node, describe, why }: { node: Signal<FlameNode | null>; describe: (node: FlameNode) => string; why: string }) {
  return <span class="hint" title={why}>{node.value ? describe(node.value) : why}</span>;
}

/** The tooltip of the frame under the pointer: one element for all frames. */
function Tip({ node, describe }: { node: Signal<FlameNode | null>; describe: (node: FlameNode) => string }) {
  return node.value && <title>{describe(node.value)}</title>;
}

/** Names of the root and of what is unknown. */
const NO_METHODS = ["all", "unknown"];

/** True for what the recording calls a method: not the root, folded frames, or what is unknown. */
function isMethod(node: FlameNode): boolean {
  return node.key >= 0 && !NO_METHODS.includes(node.name);
}

interface Action {
  key: string;
  title: string;
  why: string;
  run: () => void;
}

/** What can be done with a frame, by button or key. */
function actionsOn(box: Box, above: FlameNode[]): Action[] {
  const { name } = box.node;
  const add = (list: string[]) => [...list.filter((one) => one !== name), name];
  return [
    { key: "s", title: "callers and callees", why: "Show what called the method and what it called, in all stacks", run: () => show({ sandwich: name, zoom: "" }) },
    { key: "f", title: "only with it", why: "Only call stacks with this method", run: () => show({ focus: add(view.value.focus), zoom: "" }) },
    { key: "d", title: "without it", why: "Leave out call stacks with this method", run: () => show({ drop: add(view.value.drop), zoom: "", ...(view.value.sandwich === name ? { sandwich: "" } : {}) }) },
    { key: "c", title: "copy stack", why: "Copy the frames from here to the root as text", run: () => void copyText(stackText(box, above)) },
  ];
}

/** The frames from a frame to the root, innermost first. */
export function stackText(box: Box, above: FlameNode[]): string {
  const up: FlameNode[] = [];
  for (let at: Box | null = box; at; at = at.parent) up.push(at.node);
  // Above a method stand its callers: there the frame is the outermost.
  if (box.row < 0) up.reverse();
  return [...up, ...[...above].reverse()].filter((node) => node.name !== "all").map((node) => node.name).join("\n");
}

function Actions({ name, actions }: { name: string; actions: Action[] }) {
  return (
    <span class="push actions" role="group" aria-label="The chosen frame">
      <b class="cut" title={name}>{name || "no frame chosen"}</b>
      {actions.map(({ key, title, why, run }) => (
        <button key={key} type="button" class="small" disabled={name === ""} title={`${why} (key ${key})`} onClick={run}>{title}</button>
      ))}
    </span>
  );
}
