// No thread is blocked and waits for longer than it is there: lanes with sums of short contentions and waits.
import { KINDS, type Kind, type Lane, type Thread } from "./contract";
import { fit } from "./fit";
import type { Range } from "./intervals";
import { ONLY_SUMS } from "./lanes";
import { AWAY } from "./states";

/** Of each kind, by number. */
const IS_AWAY = KINDS.map((kind) => (AWAY as readonly Kind[]).includes(kind));
const IS_BLOCKED = KINDS.map((kind) => kind === "monitor" || kind === "juc");

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
  const away = lane.kind.map((_, at) => at).filter((at) => IS_AWAY[lane.kind[at]!]);
  const sums = away.filter((at) => lane.longest[at] === ONLY_SUMS);
  if (sums.length === 0) return lane;
  const edges = edgesOf(lane, sums, range);
  const cells = edges.length - 1;
  const room = new Float64Array(cells);
  for (let cell = 0; cell < cells; cell++) room[cell] = threads * (edges[cell + 1]! - edges[cell]!);
  const blocked = { singly: 0, summed: 0 };
  for (const at of away) {
    if (lane.longest[at] === ONLY_SUMS) continue;
    eachCell(lane, at, edges, (cell, time) => (room[cell] = Math.max(0, room[cell]! - time)));
    if (IS_BLOCKED[lane.kind[at]!]) blocked.singly += timeIn(lane, at, range.from, range.to);
  }
  // What the sums have in each cell, by what they are.
  const likes = [...new Set(sums.map((at) => likeOf(lane, at)))];
  const places = sums.map((at) => likes.indexOf(likeOf(lane, at)));
  const times = likes.map(() => new Float64Array(cells));
  sums.forEach((at, sum) => {
    const mine = times[places[sum]!]!;
    eachCell(lane, at, edges, (cell, time) => (mine[cell]! += time));
  });
  if (room.every((most, cell) => times.reduce((sum, time) => sum + time[cell]!, 0) <= most + 1)) return lane;
  const wanted = times.map((time) => time.slice());
  if (room.some((most) => most > 0)) fit(times, room);
  else times.forEach((time) => time.fill(0));
  const made: Lane = { ...lane, start: [...lane.start], span: [...lane.span], total: [...lane.total], kind: [...lane.kind], longest: [...lane.longest], joined: [...lane.joined], idle: [...lane.idle] };
  sums.forEach((at, sum) => {
    const [fits, asked] = [times[places[sum]!]!, wanted[places[sum]!]!];
    let total = 0;
    eachCell(lane, at, edges, (cell, time) => (total += asked[cell]! > 0 ? (fits[cell]! * time) / asked[cell]! : 0));
    made.total[at] = total;
  });
  likes.forEach((_, place) => {
    const like = sums[places.indexOf(place)]!;
    times[place]!.forEach((time, cell) => {
      const [from, to] = [edges[cell]!, edges[cell + 1]!];
      if (from >= range.from && to <= range.to && IS_BLOCKED[lane.kind[like]!]) blocked.summed += time;
      if (wanted[place]![cell] === 0 && time >= 1) append(made, like, from, to - from, time);
    });
  });
  return { ...made, total: made.total.map(Math.round), blockedNs: Math.round(blocked.singly + blocked.summed) };
}

/** The same for segments that are drawn in the same way. */
function likeOf(lane: Lane, at: number): number {
  return 2 * lane.kind[at]! + (lane.idle[at] ? 1 : 0);
}

/** Edges of cells in which no sum begins or ends, and neither does the range. */
function edgesOf({ start, span }: Lane, sums: number[], { from, to }: Range): Float64Array {
  const edges = new Float64Array(2 * sums.length + 2);
  sums.forEach((at, sum) => {
    edges[2 * sum] = start[at]!;
    edges[2 * sum + 1] = start[at]! + span[at]!;
  });
  edges.set([from, to], 2 * sums.length);
  edges.sort();
  let cells = 0;
  for (const edge of edges) if (edge !== edges[cells]) edges[++cells] = edge;
  return edges.subarray(0, cells + 1);
}

/** Calls with each cell in which a segment has time, and that time. */
function eachCell(lane: Lane, at: number, edges: Float64Array, call: (cell: number, time: number) => void): void {
  const [start, end] = [lane.start[at]!, lane.start[at]! + lane.span[at]!];
  for (let cell = Math.max(0, firstFrom(edges, start + 1) - 1); cell + 1 < edges.length && edges[cell]! < end; cell++) call(cell, timeIn(lane, at, edges[cell]!, edges[cell + 1]!));
}

/** The place of the first of the ordered numbers that is not less. */
function firstFrom(numbers: Float64Array, least: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The time of a segment between two moments. */
function timeIn(lane: Lane, at: number, from: number, to: number): number {
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
