// A chart over time: stacked areas or lines, with the page's range as a brush.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { View } from "../state/address";
import { cursor } from "../state/cursor";
import { theme } from "../state/theme";
import { STEPS, tick } from "../text/clock";
import { axisEnd } from "../text/units";

export interface Series {
  label: string;
  colour: string;
  values: number[];
}

export interface Shade {
  from: number;
  to: number;
  colour: string;
}

interface Props {
  label: string;
  /** Begins of the intervals in nanoseconds, and the end of the last. */
  times: number[];
  series: Series[];
  stacked: boolean;
  /** True where values count things: the axis then has whole numbers. */
  whole?: boolean;
  height: number;
  range: View["range"];
  onBrush?: (range: View["range"]) => void;
  format: (value: number) => string;
  shades?: Shade[];
  /** True where times count from the Unix epoch: the axis then has dates, in UTC. */
  clock?: boolean;
}

const SECOND = 1e9;

export function Plot(props: Props) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const measure = () => setWidth(place.current?.clientWidth ?? 0);
    // At once: where nothing is painted (a screenshot, a print) no observer ever fires.
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(place.current!);
    return () => observer.disconnect();
  }, []);
  // Other things than the data change far more often, the cursor with each movement of the mouse.
  const data = useMemo(() => JSON.stringify([props.times, props.series, props.shades]), [props.times, props.series, props.shades]);
  const key = `${data} ${props.height} ${width} ${theme.value}`;
  useLayoutEffect(() => {
    if (width === 0) return;
    const made = make(place.current!, width, latest);
    plot.current = made;
    mark(made, latest.current.range);
    return () => made.destroy();
  }, [key]);
  useEffect(() => {
    if (plot.current) mark(plot.current, props.range);
  }, [props.range?.from, props.range?.to]);
  // The page's cursor, wherever it is moved.
  const moment = cursor.value;
  useEffect(() => {
    if (plot.current) point(plot.current, moment);
  }, [moment, key]);
  return <div class="plot" ref={place} role="img" aria-label={props.label} style={{ height: `${props.height}px` }} />;
}

/** Moves the chart's cursor to a moment. */
function point(plot: uPlot, moment: number | null): void {
  const [from, to] = [plot.scales["x"]?.min ?? 0, plot.scales["x"]?.max ?? 0];
  const at = moment === null ? null : moment / SECOND;
  const left = at === null || at < from || at > to ? -10 : plot.valToPos(at, "x");
  if (Math.abs((plot.cursor.left ?? -10) - left) > 0.5) plot.setCursor({ left, top: left < 0 ? -10 : 0 }, false);
}

/** Shows the range as the chart's selection. */
function mark(plot: uPlot, range: View["range"]): void {
  if (!range) return plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  const left = plot.valToPos(range.from / SECOND, "x");
  const width = plot.valToPos(range.to / SECOND, "x") - left;
  plot.setSelect({ left, top: 0, width: Math.max(width, 2), height: plot.over.clientHeight }, false);
}

/** Labels from the bottom up: the middle one only where it says something else than its neighbours. */
function distinct(labels: string[]): string[] {
  return labels.map((label, at) => (at > 0 && at < labels.length - 1 && (label === labels[at - 1] || label === labels[at + 1]) ? "" : label));
}

function make(place: HTMLElement, width: number, latest: { current: Props }): uPlot {
  const { times, series, stacked, whole, height, format, shades, clock } = latest.current;
  const ink = getComputedStyle(place).getPropertyValue("--dim");
  const grid = getComputedStyle(place).getPropertyValue("--line");
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: "11px system-ui, sans-serif" };
  const x = times.map((time) => time / SECOND);
  const closed = (values: number[]) => [...values, values.at(-1) ?? 0];
  const sums = stacked ? cumulate(series.map((one) => one.values)) : series.map((one) => one.values);
  // The largest sum is drawn first, the others over it.
  const drawn = series.map((one, place) => ({ ...one, values: sums[place]! })).reverse();
  const steps = uPlot.paths.stepped!({ align: 1 });
  const options: uPlot.Options = {
    width,
    height,
    legend: { show: false },
    cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false }, y: false },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    scales: { x: { time: clock ?? false, range: [x[0] ?? 0, x.at(-1) ?? 1] }, y: { range: (_, __, max) => [0, axisEnd(max, whole ?? false)] } },
    axes: [
      clock
        ? { ...axis, size: 26, space: 90, incrs: STEPS, values: (_, splits, _axis, _space, step) => splits.map((at) => tick(at, step)) }
        : { ...axis, size: 26, values: (_, splits) => splits.map((at) => `${Number(at.toPrecision(6))} s`) },
      { ...axis, size: 52, splits: (_u, _i, min, max) => [min, max / 2, max], values: (_, splits) => distinct(splits.map(format)) },
    ],
    series: [
      {},
      ...drawn.map((one) => ({
        label: one.label,
        stroke: one.colour,
        width: stacked ? 0 : 1.75,
        ...(stacked ? { fill: one.colour } : {}),
        paths: steps,
        points: { show: false },
      })),
    ],
    hooks: {
      drawClear: [(plot) => shade(plot, shades ?? [])],
      setSelect: [(plot) => brushed(plot, latest.current)],
      setCursor: [(plot) => (cursor.value = (plot.cursor.left ?? -1) < 0 ? null : plot.posToVal(plot.cursor.left!, "x") * SECOND)],
    },
  };
  return new uPlot(options, [x, ...drawn.map((one) => closed(one.values))], place);
}

function cumulate(values: number[][]): number[][] {
  const sums: number[][] = [];
  for (const one of values) {
    const below = sums.at(-1);
    sums.push(one.map((value, at) => value + (below?.[at] ?? 0)));
  }
  return sums;
}

function shade(plot: uPlot, shades: Shade[]): void {
  const { ctx, bbox } = plot;
  ctx.save();
  for (const { from, to, colour } of shades) {
    const left = plot.valToPos(from / SECOND, "x", true);
    ctx.fillStyle = colour;
    ctx.globalAlpha = 0.18;
    ctx.fillRect(left, bbox.top, plot.valToPos(to / SECOND, "x", true) - left, bbox.height);
  }
  ctx.restore();
}

function brushed(plot: uPlot, props: Props): void {
  const { left, width } = plot.select;
  // A click chooses nothing, and takes no choice back.
  if (!props.onBrush || width < 3) return width === 0 ? undefined : mark(plot, props.range);
  const end = props.times.at(-1) ?? 0;
  const at = (position: number) => Math.min(end, Math.max(0, Math.round(plot.posToVal(position, "x") * SECOND)));
  props.onBrush({ from: at(left), to: at(left + width) });
}
