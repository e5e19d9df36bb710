import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Entry, Kind, Lane, Scope, Slice } from "../data/contract";
import type { NameBook } from "../data/names";
import { fitLanes } from "../data/lanefit";
import { ONLY_SUMS, type EntryKey, strength } from "../data/lanes";
import { linesOver } from "../data/spent";
import { stateOf, type State } from "../data/states";
import { intervalAt, type Cut } from "../data/intervals";
import { overTime, rangeOf, scopeOf, useAnswers, useNames, useSource } from "../state/asking";
import { factsOf } from "../state/opened";
import { cursor } from "../state/cursor";
import { theme } from "../state/theme";
import { ALL_STACKS } from "../state/address";
import { address, show, view } from "../state/view";
import { threadsText } from "../text/owning";
import { laneState, segmentText } from "../text/segment";
import { duration, moment, times } from "../text/units";
import { HOW_WORDS, laneWords, STATE_WORDS } from "../text/words";
import { Axis } from "../view/Axis";
import { Chain } from "../view/Chain";
import { kindOf, STATE_COLOURS } from "../view/colours";
import { CursorLine } from "../view/CursorLine";
import { useDuration } from "../view/FilterBar";
import { LockMap } from "../view/LockMap";

const ROW = 24;
const NAME_WIDTH = 190;
const MOST = 300;
const PIXELS = 1000;
/** Intervals in which a lane says that its thread had a lock that others waited for. */
const OWNING_INTERVALS = 300;
/** Width of the box that chooses a lane. */
const BOX_WIDTH = 20;
const KINDS_SHOWN: Kind[] = ["monitor", "juc", "wait", "park", "cpu", "wall", "alive"];
/** The same as states, in the order of the legend. */
const STATES_SHOWN: State[] = ["monitor", "juc", "wait", "park", "idle", "cpu", "wall", "alive"];
/** Heights within a lane: what blocks stands out. */
const HEIGHTS: Partial<Record<State, number>> = { monitor: 18, juc: 18, wait: 9, park: 9, idle: 9, cpu: 13, alive: 2, paused: 18 };
const OTHER_HEIGHT = 5;

function heightOf(state: State): number {
  return HEIGHTS[state] ?? OTHER_HEIGHT;
}

export function Threads() {
  const whole = useDuration();
  const { recording, contention: wanted, kind } = view.value;
  const names = useNames(recording);
  const { live } = useSource().opening;
  const blocked = scopeOf(view.value, whole).kinds;
  const kinds = kind === "all" ? KINDS_SHOWN : [...blocked, ...KINDS_SHOWN.slice(2)];
  const scope = scopeOf(view.value, whole, kinds);
  const answers = useAnswers({ ask: "lanes" as const, scope, first: 0, count: MOST, pixels: PIXELS });
  const picked = useAnswers({ ask: "entry" as const, recording, ...(wanted ?? { kind: "monitor" as const, start: 0, thread: "" }) });
  const entry = wanted === null ? null : (picked?.[0].entry ?? null);
  const owned = overTime(scopeOf(view.value, whole), ["owner-thread"], MOST, OWNING_INTERVALS);
  const owners = useAnswers(owned.query);
  const owning = useMemo(() => owners && { cut: owned.made, times: linesOver(owners[0], owned.made.intervals) }, [owners]);
  const { from, to } = rangeOf(view.value, whole);
  const fitted = (lanes: Lane[]) => fitLanes(lanes, ({ thread }) => names.thread(thread), { from, to });
  const lanes = useMemo(() => fitted(answers?.[0].lanes ?? []), [answers]);
  const others = useExtraLanes(scope, entry, lanes, names);
  const extra = useMemo(() => fitted(others), [answers, others.map(({ thread }) => thread).join()]);
  if (!answers) return <p aria-busy="true">…</p>;
  const { threads } = answers[0];
  const all = [...lanes, ...extra];
  if (all.length === 0) return <p class="empty card">No thread did anything recorded in this range and filter.</p>;
  const colours = STATE_COLOURS[theme.value];
  const isBlocked = all.some((lane) => lane.blockedNs > 0);
  const summed = all.some((lane) => lane.longest.includes(ONLY_SUMS));
  const words = laneWords(factsOf(view.value.recording)!);
  return (
    <>
      <section class="card">
        <h2 class="away">What each thread did</h2>
        <div class="legend">
          {STATES_SHOWN.filter((one) => all.some((lane) => lane.kind.some((_, at) => laneState(lane, at) === one))).map((one) => (
            <span key={one}>
              <i class="swatch" style={{ background: colours[one] }} /> {words[one]}
            </span>
          ))}
          {owning && all.some((lane) => owning.times.has(lane.thread)) && (
            <span title="Blocked time of the others, by intervals; the paler, the less. Threads whose owner is not known are not in it">
              <i class="swatch owning" /> has a lock that others wait for
            </span>
          )}
          {summed && (
            <span title="Contentions of which only the sum is kept; the paler, the less of the time">
              <i class="swatch pale" style={{ background: colours.monitor }} /> short ones, added up
            </span>
          )}
          <span class="hint push" title="Threads of the JVM are shown if they were blocked on a lock. “JVM threads” above shows their waits, too">
            {lanes.length === MOST ? `the ${MOST} most blocked of ${times(threads, "application thread")}` : `${threadsText(threads, lanes.map(({ thread }) => names.thread(thread)))}${isBlocked ? ", most blocked first" : ""}`}
          </span>
        </div>
        <Chosen lanes={all} names={names} />
        <Lanes lanes={all} from={from} to={to} entry={entry} names={names} owning={owning} />
      </section>
      {entry && <Detail entry={entry} names={names} lanes={all} />}
      {!entry && wanted && picked && <p class="card problem" role="alert">There is no single bar “{STATE_WORDS[wanted.kind]}” of {wanted.thread} that begins at {moment(wanted.start, whole)}: this page keeps only the sum of short ones, {live ? "that part was removed from the recording, " : ""}or the address is of another recording. <button type="button" class="small" onClick={() => show({ contention: null })}>drop it</button></p>}
      {!entry && !wanted && <Hint isBlocked={isBlocked} measured={words !== STATE_WORDS} />}
    </>
  );
}

/** Owners in the selected contention that the filter or the bound left out. */
function useExtraLanes(scope: Scope, entry: Entry | null, lanes: Lane[], names: NameBook): Lane[] {
  const owner = entry ? mainOwner(entry)?.owner : undefined;
  const missing = (thread: number | undefined) => (thread && !lanes.some((lane) => lane.thread === thread) ? thread : 0);
  const wanted = [missing(entry?.thread), missing(owner)];
  const query = (thread: number) => {
    const filter = { thread: `=${names.thread(thread).name}`, lock: "", method: "", services: true };
    return { ask: "lanes" as const, scope: { ...scope, filter, kinds: KINDS_SHOWN }, first: 0, count: thread > 0 ? 3 : 0, pixels: PIXELS };
  };
  const answers = useAnswers(query(wanted[0]!), query(wanted[1]!));
  const found = (answers ?? []).flatMap((answer) => answer.lanes);
  return wanted.flatMap((thread) => found.find((lane) => lane.thread === thread && thread > 0) ?? []);
}

/** The slice in which one thread owned the lock longest. */
export function mainOwner(entry: Entry): Slice | undefined {
  return [...entry.slices].sort((a, b) => b.span - a.span).find((slice) => slice.owner > 0);
}

function Hint({ isBlocked, measured }: { isBlocked: boolean; measured: boolean }) {
  return <p class="hint">Each row is a thread. {isBlocked && "In the tallest bars, the thread was blocked on a lock: click one to see which thread owned the lock, what both did, and an arrow to the owner. The arrow keys step through the bars of a row. "}Click a name to see the flame graph of the thread. To see several threads in one flame graph, check their boxes, or click their rows with Shift.{measured && <> When a thread ran is not known, but <a href={address({ page: "steal", mode: "threads" })}>for how long</a>.</>}</p>;
}

/** Leads to the flame graph of the threads that are chosen. */
function Chosen({ lanes, names }: { lanes: Lane[]; names: NameBook }) {
  const { threads } = view.value;
  if (threads.length === 0) return null;
  const blocked = lanes.some((lane) => lane.blockedNs > 0 && threads.includes(names.thread(lane.thread).key));
  const mode = blocked ? "blocked" : "";
  return (
    <p class="tabs" role="group" aria-label="Chosen threads">
      <a href={address({ ...ALL_STACKS, threads, page: "profile", contention: null, mode })}>Flame graph of {threads.length === 1 ? "this thread" : `these ${times(threads.length, "thread")}`}</a>
      <button type="button" class="small" onClick={() => show({ threads: [] })}>choose none</button>
    </p>
  );
}

/** Chooses a thread for the flame graph, or no longer. */
function toggle(key: string): void {
  const { threads } = view.value;
  show({ threads: threads.includes(key) ? threads.filter((one) => one !== key) : [...threads, key] });
}

/** For how long others were blocked on locks that a thread had, by its number and interval. */
interface Owning {
  cut: Cut;
  times: Map<number, number[]>;
}

interface LanesProps {
  lanes: Lane[];
  from: number;
  to: number;
  entry: Entry | null;
  names: NameBook;
  owning: Owning | null;
}

function Lanes({ lanes, from, to, entry, names, owning }: LanesProps) {
  const scroll = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const measure = () => setWidth((scroll.current?.clientWidth ?? 0) - NAME_WIDTH - 4);
    // At once: where nothing is painted no observer ever fires.
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(scroll.current!);
    return () => observer.disconnect();
  }, []);
  const virtual = useVirtualizer({ count: lanes.length, getScrollElement: () => scroll.current, estimateSize: () => ROW, overscan: 6 });
  const laneOf = (thread: number) => lanes.findIndex((lane) => lane.thread === thread);
  useEffect(() => {
    if (entry && laneOf(entry.thread) >= 0) virtual.scrollToIndex(laneOf(entry.thread), { align: "auto" });
  }, [entry?.start, entry?.thread]);
  const x = (time: number) => ((time - from) / (to - from)) * width;
  const height = virtual.getTotalSize();
  const point = (event: MouseEvent) => {
    const at = event.clientX - scroll.current!.getBoundingClientRect().left - NAME_WIDTH;
    cursor.value = at < 0 || at > width ? null : from + (at / Math.max(1, width)) * (to - from);
  };
  return (
    <>
      {width > 0 && <LockMap rows={6} width={width} />}
      <Axis from={from} to={to} style={{ marginLeft: `${NAME_WIDTH}px`, width: `${Math.max(0, width)}px` }} />
    <div class="lanes" ref={scroll} style={{ height: `${Math.min(430, height + 2)}px` }} role="list" aria-label="Threads" onMouseMove={point} onMouseLeave={() => (cursor.value = null)}>
      <div style={{ height: `${height}px`, position: "relative" }}>
        {virtual.getVirtualItems().map((item) => {
          const lane = lanes[item.index]!;
          return (
            <div key={lane.thread} role="listitem" class="lane" style={{ transform: `translateY(${item.start}px)`, height: `${ROW}px` }}>
              <LaneBox text={names.threadText(lane.thread)} threadKey={names.thread(lane.thread).key} />
              <LaneName thread={names.thread(lane.thread).name} text={names.threadText(lane.thread)} blockedNs={lane.blockedNs} />
              {width > 0 && <LaneCanvas lane={lane} from={from} to={to} width={width} selected={entry} name={names.threadText(lane.thread)} threadKey={names.thread(lane.thread).key} owning={owning?.times.get(lane.thread) ?? null} cut={owning?.cut ?? null} />}
            </div>
          );
        })}
        <CursorLine range={{ from, to }} left={NAME_WIDTH} width={width} />
        {entry && width > 0 && <Arrow entry={entry} laneOf={laneOf} x={(time) => NAME_WIDTH + Math.max(0, Math.min(width, x(time)))} height={height} />}
      </div>
    </div>
    </>
  );
}

function LaneBox({ text, threadKey }: { text: string; threadKey: string }) {
  return <input type="checkbox" class="lanebox" style={{ width: `${BOX_WIDTH}px` }} checked={view.value.threads.includes(threadKey)} aria-label={`choose ${text}`} title="Choose this thread for a flame graph of several" onChange={() => toggle(threadKey)} />;
}

/** Leads to the thread's call stacks: it becomes the filter, the kind of time stays open. */
function LaneName({ thread, text, blockedNs }: { thread: string; text: string; blockedNs: number }) {
  const href = address({ ...ALL_STACKS, page: "profile", thread: `=${thread}`, contention: null, mode: blockedNs > 0 ? "blocked" : "" });
  return (
    <a class="cut lanename quiet" style={{ width: `${NAME_WIDTH - BOX_WIDTH}px` }} href={href} title={`${text}: blocked ${duration(blockedNs)}. Show the flame graph of this thread`}>
      <bdi dir="ltr">{text}</bdi>
    </a>
  );
}

interface CanvasProps {
  lane: Lane;
  from: number;
  to: number;
  width: number;
  selected: Entry | null;
  name: string;
  threadKey: string;
  /** For how long others were blocked on its locks, by interval of `cut`. */
  owning: number[] | null;
  cut: Cut | null;
}

function LaneCanvas({ lane, from, to, width, selected, name, threadKey, owning, cut }: CanvasProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [title, setTitle] = useState("");
  const scale = width / (to - from);
  useEffect(() => {
    const density = devicePixelRatio || 1;
    const element = canvas.current!;
    element.width = width * density;
    element.height = ROW * density;
    const draw = element.getContext("2d")!;
    draw.scale(density, density);
    // Lives first, then the others over them, blocking last.
    const order = lane.kind.map((_, at) => at).sort((a, b) => heightOf(laneState(lane, a)) - heightOf(laneState(lane, b)));
    for (const at of order) {
      const state = laneState(lane, at);
      const left = Math.max(0, (lane.start[at]! - from) * scale);
      const right = Math.min(width, (lane.start[at]! + lane.span[at]! - from) * scale);
      draw.fillStyle = STATE_COLOURS[theme.value][state];
      draw.globalAlpha = strength(lane, at);
      draw.fillRect(left, (ROW - heightOf(state)) / 2, Math.max(1, right - left), heightOf(state));
    }
    draw.globalAlpha = 1;
    if (owning && cut) {
      draw.fillStyle = getComputedStyle(element).color;
      owning.forEach((time, interval) => drawOwning(draw, time, cut.edges[interval]!, cut.edges[interval + 1]!, (at) => Math.round(Math.max(0, Math.min(width, (at - from) * scale)))));
      draw.globalAlpha = 1;
    }
    if (selected?.thread === lane.thread) {
      draw.strokeStyle = getComputedStyle(element).color;
      draw.lineWidth = 2;
      draw.strokeRect((selected.start - from) * scale, 1, Math.max(3, selected.span * scale), ROW - 2);
    }
  }, [lane, from, to, width, selected?.start, selected?.thread, theme.value, owning]);
  const at = (event: MouseEvent) => segmentAt(lane, from + event.offsetX / scale, 3 / scale);
  const pick = (segment: number | null) => segment !== null && kindOf(lane.kind[segment]!) !== "alive" && lane.longest[segment] !== ONLY_SUMS && show({ contention: { kind: kindOf(lane.kind[segment]!), start: lane.longest[segment]!, thread: threadKey } });
  const step = (event: KeyboardEvent) => {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (way === undefined) return;
    event.preventDefault();
    const blocked = lane.kind.map((_, place) => place).filter((place) => lane.longest[place] !== ONLY_SUMS).filter((place) => kindOf(lane.kind[place]!) === "monitor" || kindOf(lane.kind[place]!) === "juc");
    const now = blocked.findIndex((place) => lane.longest[place] === selected?.start && lane.thread === selected.thread);
    pick(blocked[now < 0 ? (way > 0 ? 0 : blocked.length - 1) : now + way] ?? null);
  };
  const describe = (event: MouseEvent) => {
    const segment = at(event);
    const interval = cut && intervalAt(cut, from + event.offsetX / scale);
    const others = interval === null ? 0 : (owning?.[interval] ?? 0);
    setTitle([segment === null ? "" : segmentText(lane, segment, laneWords(factsOf(view.value.recording)!)), others > 0 ? `others were blocked ${duration(others)} on locks it had in ${duration(cut!.edges[interval! + 1]! - cut!.edges[interval!]!)}` : ""].filter(Boolean).join("; "));
  };
  return (
    <canvas ref={canvas} tabIndex={0} role="img" aria-label={`${name}: ${title || `blocked ${duration(lane.blockedNs)}; arrow keys step through its contentions`}`} title={title}
      style={{ width: `${width}px`, height: `${ROW}px` }} onMouseMove={describe} onClick={(event) => (event.shiftKey ? toggle(threadKey) : pick(at(event)))} onKeyDown={step} />
  );
}

/** Height of the mark of an owner, below what it does itself. */
const OWNING_HEIGHT = 3;

function drawOwning(draw: CanvasRenderingContext2D, time: number, from: number, to: number, x: (time: number) => number): void {
  if (time <= 0) return;
  draw.globalAlpha = Math.min(1, Math.max(0.35, time / Math.max(1, to - from)));
  draw.fillRect(x(from), ROW - OWNING_HEIGHT, Math.max(1, x(to) - x(from)), OWNING_HEIGHT);
}

/** The segment at a time: of those that lie over each other the one drawn last. */
export function segmentAt(lane: Lane, time: number, slack: number): number | null {
  let found: number | null = null;
  lane.kind.forEach((_, at) => {
    const start = lane.start[at]! - slack;
    if (time < start || time > lane.start[at]! + lane.span[at]! + slack) return;
    if (found === null || heightOf(laneState(lane, at)) >= heightOf(laneState(lane, found))) found = at;
  });
  return found;
}

interface ArrowProps {
  entry: Entry;
  laneOf: (thread: number) => number;
  x: (time: number) => number;
  height: number;
}

/** From the blocked thread to the owner, slice by slice. */
function Arrow({ entry, laneOf, x, height }: ArrowProps) {
  const from = laneOf(entry.thread);
  const slices = [...entry.slices].filter((slice) => slice.owner > 0 && laneOf(slice.owner) >= 0).sort((a, b) => b.span - a.span).slice(0, 5);
  if (from < 0) return null;
  return (
    <svg class="arrows" width="100%" height={height} aria-hidden="true">
      <defs>
        <marker id="head" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="7" markerHeight="7" orient="auto">
          <path d="M0 0L10 5L0 10z" />
        </marker>
      </defs>
      {slices.map((slice) => {
        const to = laneOf(slice.owner);
        const down = to > from;
        const middle = x(slice.start + slice.span / 2);
        const y0 = from * ROW + (down ? ROW - 3 : 3);
        const y1 = to * ROW + (down ? 4 : ROW - 4);
        return (
          <g key={slice.start}>
            <rect x={x(slice.start)} y={to * ROW + 2} width={Math.max(2, x(slice.start + slice.span) - x(slice.start))} height={ROW - 4} class="held" />
            <line x1={middle} y1={y0} x2={middle} y2={y1} marker-end="url(#head)" />
          </g>
        );
      })}
    </svg>
  );
}

function Detail({ entry, names, lanes }: { entry: Entry; names: NameBook; lanes: Lane[] }) {
  const whole = useDuration();
  const kind = kindOf(entry.kind);
  const blocked = kind === "monitor" || kind === "juc";
  const owner = mainOwner(entry);
  const next = owner && blockedAt(lanes, names, owner);
  return (
    <section class="card" aria-label="Selected contention">
      <h2>
        <code>{names.threadText(entry.thread)}</code> was {STATE_WORDS[stateOf(kind, entry.idle)]} for {duration(entry.span)}
        {entry.lock > 0 && <> on <code title={names.lock(entry.lock).name}>{names.lock(entry.lock).short}</code></>}
      </h2>
      <p class="hint">
        from {moment(entry.start, whole)} to {moment(entry.start + entry.span, whole)}
        {entry.afterWait && "; acquiring the monitor again after Object.wait"}
        {entry.unfinished && "; it had not ended when the recording did"}
        {entry.summed && "; several short contentions added up"}
        <button type="button" class="small" title="Make this the time range of every page" onClick={() => show({ range: around(entry, whole) })}>zoom to it</button>
        <button type="button" class="small" onClick={() => show({ contention: null })}>close</button>
      </p>
      {blocked && <Slices entry={entry} names={names} />}
      {owner && blocked && (
        <p>
          {next ? (
            <button type="button" onClick={() => show({ contention: next })} title="The owner was itself blocked at that time">
              Follow: <code>{names.threadText(owner.owner)}</code> was itself blocked meanwhile →
            </button>
          ) : (
            <>
              <code>{names.threadText(owner.owner)}</code> owned it longest and was not blocked itself: it is the root of this wait.
            </>
          )}
        </p>
      )}
      <div class="pair">
        <Chain chain={entry.chain} title={blocked ? "Who was blocked" : "Its call stack"} why="Call stack of the blocked thread, innermost method first" unknown="The call stack was not recorded." />
        {blocked && (
          <Chain chain={owner?.chain ?? 0} title={owner ? `Who owned the lock: ${names.threadText(owner.owner)}` : "Who owned the lock"}
            why="Call stack of the owner when it released the lock" unknown="No owner: hand-off (the lock was free), or the owner was not recorded." />
        )}
      </div>
    </section>
  );
}

/** A contention of the owner during the slice. */
function blockedAt(lanes: Lane[], names: NameBook, slice: Slice): EntryKey | undefined {
  const lane = lanes.find((one) => one.thread === slice.owner);
  if (!lane) return undefined;
  const at = lane.kind.findIndex((kind, place) => {
    const blocked = (kindOf(kind) === "monitor" || kindOf(kind) === "juc") && lane.longest[place] !== ONLY_SUMS;
    const overlap = Math.min(lane.start[place]! + lane.span[place]!, slice.start + slice.span) - Math.max(lane.start[place]!, slice.start);
    return blocked && overlap > slice.span / 4;
  });
  return at < 0 ? undefined : { kind: kindOf(lane.kind[at]!), start: lane.longest[at]!, thread: names.thread(lane.thread).key };
}

function around(entry: Entry, whole: number): { from: number; to: number } {
  const margin = Math.max(entry.span, 1000);
  return { from: Math.max(0, Math.floor(entry.start - margin)), to: Math.min(whole, Math.ceil(entry.start + entry.span + margin)) };
}

function Slices({ entry, names }: { entry: Entry; names: NameBook }) {
  const whole = useDuration();
  return (
    <div class="scroll slices" tabIndex={0} role="region" aria-label="Who owned the lock meanwhile">
      <table class="plain">
        <thead>
          <tr>
            <th>at</th>
            <th class="number">for</th>
            <th>owner</th>
            <th>how that is known</th>
          </tr>
        </thead>
        <tbody>
          {entry.slices.slice(0, 200).map((slice) => (
            <tr key={slice.start}>
              <td>{moment(slice.start, whole)}</td>
              <td class="number">{duration(slice.span)}</td>
              <td>{slice.owner > 0 ? <code>{names.threadText(slice.owner)}</code> : "nobody known"}</td>
              <td>
                {HOW_WORDS[slice.how]}
                {slice.stopped > 0 && `; whole VM stopped for ${duration(slice.stopped)} of it`}
                {slice.approximate && "; its innermost method is approximate"}
                {slice.noCpu && "; the owner probably had no CPU: it could run, but did not"}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
