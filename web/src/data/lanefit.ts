// No thread is blocked and waits for longer than it is there: lanes with sums of short contentions and waits.
import { KINDS, type Lane, type Thread } from "./contract";
import { fit } from "./fit";
import type { Range } from "./intervals";
import { ONLY_SUMS } from "./lanes";
import { AWAY } from "./states";

const AWAY_KINDS = AWAY.map((kind) => KINDS.indexOf(kind));
const BLOCKED = [KINDS.indexOf("monitor"), KINDS.indexOf("juc")];

/** Parts of a lane in which no sum begins or ends, and neither does the range. */
interface Cells {
  edges: number[];
  /** The first cell and the one behind the last of a segment. */
  of(at: number): [first: number, end: number];
}

/** The lanes that all fit, most blocked first. */
export function fitLanes(lanes: Lane[], threadOf: (lane: Lane) => Thread, range: Range): Lane[] {
  const fitted = lanes.map((lane) => {
    const { key, others } = threadOf(lane);
    // Without a number it is not known how many threads it stands for.
    return key.includes("#") ? fitLane(lane, Math.max(1, others), range) : lane;
  });
  return fitted.every((lane, at) => lane === lanes[at]) ? lanes : fitted.sort((a, b) => b.blockedNs - a.blockedNs);
}

/**
 * The lane with its sums where there is room for them: see `fit`. It stands for so many `threads`. A lane without sums, and
 * one in which all fits, stays what it is.
 */
export function fitLane(lane: Lane, threads: number, range: Range): Lane {
  const away = lane.kind.map((_, at) => at).filter((at) => AWAY_KINDS.includes(lane.kind[at]!));
  const sums = away.filter((at) => lane.longest[at] === ONLY_SUMS);
  if (sums.length === 0) return lane;
  const cells = cellsOf(lane, sums, range);
  const length = (cell: number) => cells.edges[cell + 1]! - cells.edges[cell]!;
  const part = (at: number, cell: number) => {
    const inside = Math.min(lane.start[at]! + lane.span[at]!, cells.edges[cell + 1]!) - Math.max(lane.start[at]!, cells.edges[cell]!);
    return (lane.total[at]! * Math.max(0, inside)) / Math.max(1, lane.span[at]!);
  };
  const room = cells.edges.slice(1).map((_, cell) => threads * length(cell));
  const blocked = { singly: 0, summed: 0 };
  const eachCell = (at: number, call: (cell: number, time: number) => void) => {
    const [first, end] = cells.of(at);
    for (let cell = first; cell < end; cell++) call(cell, part(at, cell));
  };
  const isIn = (cell: number) => cells.edges[cell]! >= range.from && cells.edges[cell + 1]! <= range.to;
  for (const at of away) {
    if (lane.longest[at] === ONLY_SUMS) continue;
    eachCell(at, (cell, time) => (room[cell] = Math.max(0, room[cell]! - time)));
    if (BLOCKED.includes(lane.kind[at]!)) blocked.singly += clipped(lane, at, range);
  }
  // What the sums have in each cell, by what they are.
  const keys = [...new Set(sums.map((at) => keyOf(lane, at)))];
  const times = keys.map(() => room.map(() => 0));
  for (const at of sums) {
    const mine = times[keys.indexOf(keyOf(lane, at))]!;
    eachCell(at, (cell, time) => (mine[cell]! += time));
  }
  const wanted = times.map((time) => [...time]);
  if (room.every((most, cell) => times.reduce((sum, time) => sum + time[cell]!, 0) <= most + 1)) return lane;
  if (room.some((most) => most > 0)) fit(times, room);
  else times.forEach((time) => time.fill(0));
  const made: Lane = { ...lane, start: [...lane.start], span: [...lane.span], total: [...lane.total], kind: [...lane.kind], longest: [...lane.longest], joined: [...lane.joined], idle: [...lane.idle] };
  for (const at of sums) {
    const of = keys.indexOf(keyOf(lane, at));
    const [fits, asked] = [times[of]!, wanted[of]!];
    let total = 0;
    eachCell(at, (cell, time) => (total += asked[cell]! > 0 ? (fits[cell]! * time) / asked[cell]! : 0));
    made.total[at] = total;
  }
  keys.forEach((_, of) => {
    const like = sums.find((at) => keyOf(lane, at) === keys[of])!;
    times[of]!.forEach((time, cell) => {
      if (isIn(cell) && BLOCKED.includes(lane.kind[like]!)) blocked.summed += time;
      if (wanted[of]![cell] === 0 && time >= 1) append(made, like, cells.edges[cell]!, length(cell), time);
    });
  });
  return { ...made, total: made.total.map(Math.round), blockedNs: Math.round(blocked.singly + blocked.summed) };
}

function keyOf(lane: Lane, at: number): string {
  return `${lane.kind[at]} ${lane.idle[at]}`;
}

function cellsOf(lane: Lane, sums: number[], { from, to }: Range): Cells {
  const ends = sums.flatMap((at) => [lane.start[at]!, lane.start[at]! + lane.span[at]!]);
  const edges = [...new Set([...ends, from, to])].sort((a, b) => a - b);
  return {
    edges,
    of(at) {
      const [start, end] = [lane.start[at]!, lane.start[at]! + lane.span[at]!];
      const behind = firstFrom(edges, start + 1) - 1;
      return [Math.max(0, behind), Math.min(edges.length - 1, firstFrom(edges, end))];
    },
  };
}

/** The place of the first of the ordered numbers that is not less. */
function firstFrom(numbers: number[], least: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

function clipped(lane: Lane, at: number, { from, to }: Range): number {
  const inside = Math.min(lane.start[at]! + lane.span[at]!, to) - Math.max(lane.start[at]!, from);
  return (lane.total[at]! * Math.max(0, inside)) / Math.max(1, lane.span[at]!);
}

/** Time that belongs nearby, where there was none of its kind; how many contentions it is of is not known. */
function append(made: Lane, like: number, start: number, span: number, total: number): void {
  made.start.push(start);
  made.span.push(span);
  made.total.push(total);
  made.kind.push(made.kind[like]!);
  made.longest.push(ONLY_SUMS);
  made.joined.push(0);
  made.idle.push(made.idle[like]!);
}
