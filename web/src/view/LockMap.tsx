// A heat map of locks over time, on the page's range: rows are lock names, colour is how
// many threads were blocked.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { boundsOf, heatMap, shadeOf, type HeatMap, type HeatRow } from "../data/heatmap";
import { threadCount } from "../data/fit";
import { average, intervalAt, type Cut, type Range } from "../data/intervals";
import type { NameBook } from "../data/names";
import { baseOf, overTime, scopeOf, threadsWith, useAnswers, useNames, useSource } from "../state/asking";
import { cursor } from "../state/cursor";
import { theme, type Theme } from "../state/theme";
import { show, view } from "../state/view";
import { SUMS_NEARBY } from "../text/owning";
import { count, duration, mean, moment, times } from "../text/units";
import { Axis } from "./Axis";
import { CursorLine } from "./CursorLine";
import { useDuration } from "./FilterBar";

const INTERVALS = 200;
const ROW = 18;
const NAMES = 190;
/** A pointer that moved less than this clicks, one that moved more drags. */
const DRAG = 4;

/** One hue from strong to weak; in the dark, strong is bright. */
const SHADES: Record<Theme, string[]> = {
  light: ["#5a1e00", "#963800", "#d55e00", "#e98b45", "#f4b88a", "#fadfca"],
  dark: ["#fff1e3", "#ffcda1", "#f4a25f", "#c8702a", "#8c4a17", "#57300f"],
};

interface Cell {
  row: number;
  at: number;
}

/** `width`: of the cells, where they have to stand above another axis; else as much as there is. */
export function LockMap({ rows, width: given }: { rows: number; width?: number }) {
  const whole = useDuration();
  const names = useNames(view.value.recording);
  const scope = scopeOf(view.value, whole);
  const byLock = overTime(scope, ["lock-name"], rows, INTERVALS);
  const all = overTime(scope, [], 1, INTERVALS);
  const answers = useAnswers(byLock.query, all.query, threadsWith({ ...scope, from: 0, to: whole }));
  const facts = useSource().opening.recordings[view.value.recording];
  // What was asked last may not be answered yet: cells belong to the answer.
  const shown = useRef<{ answers: unknown; made: Cut; map: HeatMap } | null>(null);
  if (answers && facts && shown.current?.answers !== answers) {
    shown.current = { answers, made: byLock.made, map: heatMap(answers[0], answers[1], byLock.made, threadCount(answers[2], (thread) => names.thread(thread).others, facts.threads)) };
  }
  if (!answers || !shown.current || answers[0].totalNs === 0) return null;
  const { made, map } = shown.current;
  return (
    <>
      <Cells key={`${made.from} ${made.to}`} made={made} map={map} names={names} given={given} />
      {answers[0].restNs > 0 && <p class="hint">About {duration(answers[0].restNs)} more is not in a cell: stacks are kept by longer intervals.</p>}
      {map.over > answers[0].totalNs / 100 && <p class="hint">{duration(map.over)} more is not in a cell: {SUMS_NEARBY}.</p>}
    </>
  );
}

function Cells({ made, map, names, given }: { made: Cut; map: HeatMap; names: NameBook; given: number | undefined }) {
  const whole = useDuration();
  const place = useRef<HTMLDivElement>(null);
  const [measured, setMeasured] = useState(0);
  const [cell, setCell] = useState<Cell | null>(null);
  const [dragged, setDragged] = useState<[number, number] | null>(null);
  const width = given ?? measured;
  useLayoutEffect(() => {
    const measure = () => setMeasured(place.current?.clientWidth ?? 0);
    // At once: where nothing is painted no observer ever fires.
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(place.current!);
    return () => observer.disconnect();
  }, []);
  const bounds = useMemo(() => boundsOf(map.most), [map]);
  const range = { from: made.edges[0]!, to: made.edges.at(-1)! };
  const title = (row: HeatRow) => (row.lock === null ? times(map.others, "other lock name") : names.text(row.lock));
  const timeAt = (x: number) => range.from + (Math.min(Math.max(x, 0), width) / Math.max(1, width)) * (range.to - range.from);
  const numberAt = (x: number) => intervalAt(made, Math.min(timeAt(x), range.to - 1)) ?? made.intervals - 1;
  const point = (next: Cell | null) => {
    setCell(next);
    cursor.value = next && (made.edges[next.at]! + made.edges[next.at + 1]!) / 2;
  };
  const move = (event: MouseEvent) => {
    const { x, y } = placeIn(place.current!, event);
    if (dragged) setDragged([dragged[0], x]);
    point({ row: Math.min(map.rows.length - 1, Math.max(0, Math.floor(y / ROW))), at: numberAt(x) });
    cursor.value = timeAt(x);
  };
  const release = (event: MouseEvent) => {
    const start = dragged?.[0];
    setDragged(null);
    if (start === undefined) return;
    const { x, y } = placeIn(place.current!, event);
    if (Math.abs(x - start) < DRAG) choose(map.rows[Math.min(map.rows.length - 1, Math.floor(y / ROW))], numberAt(x), made, names);
    else show({ range: { from: made.edges[numberAt(Math.min(start, x))]!, to: made.edges[numberAt(Math.max(start, x)) + 1]! } });
  };
  const press = (event: KeyboardEvent) => {
    // The first key only shows where one is.
    const to = cell ? moved(cell, event.key) : moved({ row: 0, at: 0 }, event.key) && { row: 0, at: intervalAt(made, cursor.value) ?? 0 };
    if (event.key === "Escape" && cell) point(null);
    else if (event.key === "Enter" && cell) choose(map.rows[cell.row], cell.at, made, names);
    else if (to) point({ row: Math.min(map.rows.length - 1, Math.max(0, to.row)), at: Math.min(made.intervals - 1, Math.max(0, to.at)) });
    else return;
    event.preventDefault();
  };
  const base = baseOf(view.value.recording);
  return (
    <div class="lockmap" style={{ gridTemplateColumns: `${NAMES}px minmax(0, 1fr)` }}>
      <div class="names">
        {map.rows.map((row) => (
          <span key={row.lock} class="cut" style={{ height: `${ROW}px` }} title={`${title(row)}: ${duration(row.total)} blocked`}>
            {row.lock === null ? <span class="hint">{title(row)}</span> : (
              <button type="button" class="plain cut" onClick={() => show({ lock: exactly(names, row.lock!) })}><bdi dir="ltr">{title(row)}</bdi></button>
            )}
          </span>
        ))}
      </div>
      <div class="cells" ref={place} style={{ height: `${map.rows.length * ROW}px`, ...(given === undefined ? {} : { width: `${given}px` }) }} tabIndex={0} role="application" aria-roledescription="heat map"
        aria-label={`Threads blocked on locks over time: ${times(map.rows.length, "row")}, ${count(made.intervals)} intervals. Arrow keys choose a cell, Enter filters to its lock and time.`}
        onMouseMove={move} onMouseLeave={() => (point(null), setDragged(null))} onMouseDown={(event) => event.button === 0 && setDragged([placeIn(place.current!, event).x, placeIn(place.current!, event).x])} onMouseUp={release}
        onKeyDown={press} onBlur={() => point(null)}>
        <Drawing made={made} map={map} bounds={bounds} width={width} />
        {cell && <i class="cell" style={boxOf(cell, made, range, width)} />}
        {dragged && Math.abs(dragged[1] - dragged[0]) >= DRAG && <i class="dragged" style={{ left: `${Math.min(...dragged)}px`, width: `${Math.abs(dragged[1] - dragged[0])}px` }} />}
        <CursorLine range={range} width={width} />
      </div>
      <Axis from={range.from} to={range.to} style={{ gridColumn: "2", ...(given === undefined ? {} : { width: `${given}px` }) }} />
      <p class="scale">
        <span class="hint">threads blocked:</span>
        {bounds.map((bound, shade) => (
          <span key={bound}>
            <i class="swatch" style={{ background: SHADES[theme.value][shade] }} /> {bound > 0 ? `${bound}+` : `< ${bounds.at(-2) ?? 0}`}
          </span>
        ))}
      </p>
      <p class="said" role="status">
        {cell ? said(title(map.rows[cell.row]!), map.rows[cell.row]!, cell.at, made, whole) : (
          <span class="hint">
            Each cell shows the mean number of blocked threads in {duration(made.length)}{base > 0 && `; base interval ${duration(base)}`}. Click a cell to filter to its lock and time; drag to choose a time range.
          </span>
        )}
      </p>
    </div>
  );
}

/** What a cell says: who was blocked, when, how many. */
function said(title: string, row: HeatRow, at: number, made: Cut, whole: number): string {
  const [from, to] = [made.edges[at]!, made.edges[at + 1]!];
  const axis = Math.min(whole, 20 * (to - from));
  const time = row.time[at]!;
  return `${title}, ${moment(from, axis)} to ${moment(to, axis)}: ${time > 0 ? `${mean(average(made, at, time))} threads blocked on average (${duration(time)} in all)` : "no thread blocked"}`;
}

function choose(row: HeatRow | undefined, at: number, made: Cut, names: NameBook): void {
  const range: Range = { from: made.edges[at]!, to: made.edges[at + 1]! };
  show(row && row.lock !== null && row.lock > 0 ? { range, lock: exactly(names, row.lock) } : { range });
}

/** The filter for all locks of a name; those without one stay with what is chosen. */
function exactly(names: NameBook, lock: number): string {
  return lock > 0 ? `=${names.text(lock)}` : view.value.lock;
}

const STEPS: Record<string, [row: number, at: number]> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  PageUp: [0, -10],
  PageDown: [0, 10],
  Home: [0, -INTERVALS],
  End: [0, INTERVALS],
};

function moved({ row, at }: Cell, key: string): Cell | null {
  const step = STEPS[key];
  return step ? { row: row + step[0], at: at + step[1] } : null;
}

function placeIn(element: HTMLElement, event: MouseEvent): { x: number; y: number } {
  const { left, top } = element.getBoundingClientRect();
  return { x: event.clientX - left, y: event.clientY - top };
}

function boxOf({ row, at }: Cell, made: Cut, { from, to }: Range, width: number): Record<string, string> {
  const x = (edge: number) => ((edge - from) / (to - from)) * width;
  return { left: `${x(made.edges[at]!)}px`, width: `${Math.max(2, x(made.edges[at + 1]!) - x(made.edges[at]!))}px`, top: `${row * ROW}px`, height: `${ROW}px` };
}

function Drawing({ made, map, bounds, width }: { made: Cut; map: HeatMap; bounds: number[]; width: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const height = map.rows.length * ROW;
  useLayoutEffect(() => {
    const element = canvas.current!;
    const density = devicePixelRatio || 1;
    [element.width, element.height] = [Math.max(1, width * density), height * density];
    const draw = element.getContext("2d")!;
    const [from, to] = [made.edges[0]!, made.edges.at(-1)!];
    const x = (edge: number) => Math.round(((edge - from) / (to - from)) * element.width);
    map.rows.forEach((row, place) => {
      row.time.forEach((time, at) => {
        const shade = shadeOf(average(made, at, time), bounds);
        if (shade === null) return;
        draw.fillStyle = SHADES[theme.value][shade]!;
        const left = x(made.edges[at]!);
        draw.fillRect(left, (place * ROW + 1) * density, Math.max(1, x(made.edges[at + 1]!) - left), (ROW - 2) * density);
      });
    });
  }, [made, map, width, theme.value]);
  return <canvas ref={canvas} style={{ height: `${height}px` }} aria-hidden="true" />;
}
