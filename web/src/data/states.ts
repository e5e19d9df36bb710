// Where threads' time went, per interval: the base of the timeline.
import { KINDS, type Groups, type IdleWaits, type Kind } from "./contract";
import { fit } from "./fit";
import { CARRIER, JVM } from "./lanes";
import { MEASURED } from "./spent";

/** What threads do: the kinds of rows, as platform threads have them; idle waits and virtual threads apart. */
export type State = Kind | "idle" | "virtual-ran" | "virtual-ready" | "virtual-blocked" | "virtual-waiting";

/** In the order in which they are stacked: first those of platform threads, which add up to their lives. */
export const STATES: State[] = ["monitor", "juc", "steal", "throttled", "queued", "ran", "cpu", "alive", "wait", "park", "idle", "virtual-ready", "virtual-ran", "virtual-blocked", "virtual-waiting"];

/** The state of a row of a kind. */
export function stateOf(kind: Kind, isIdle: boolean): State {
  return isIdle ? "idle" : kind;
}

/** The thread kind of platform threads of the application. */
export const PLATFORM = 0;
/** The thread kind of virtual threads. */
export const VIRTUAL = 1;

/**
 * Time per interval, by state. `alive` is what is left of platform threads' lives.
 *
 * `blocked` is grouped by kind of thread, kind and time, `context` (lives, waits,
 * parks, samples and what was measured of threads) likewise. A virtual thread has no
 * part in the lives of platform threads: its blocked and waiting time stand for
 * themselves, in the time that all virtual threads have in each interval (`virtualRoom`).
 * Where CPU time was measured, samples are not needed for it. What `carriers` ran, or were ready to,
 * by kind and time, is time of the virtual threads on them.
 */
export function states(blocked: Groups, context: Groups, intervals: number, weighted: boolean, virtualRoom: number[], carriers: Groups): Record<State, number[]> {
  const empty = () => new Array<number>(intervals).fill(0);
  const time = Object.fromEntries([...KINDS, ...STATES].map((state) => [state, empty()])) as Record<State, number[]>;
  const lives = empty();
  const sampled = empty();
  // Waits of the JVM's own threads, which have no lives here.
  const jvm = { wait: empty(), park: empty() };
  addUp(blocked, 2, ([threads = 0, kind = 0], interval, total) => {
    // The JVM's own threads have no lives here.
    if (threads >= JVM) return;
    const state: State = threads === VIRTUAL ? "virtual-blocked" : KINDS[kind]!;
    time[state][interval]! += total;
  });
  addUp(context, 2, ([threads = 0, number = 0], interval, total) => {
    const kind = KINDS[number]!;
    if (kind === "alive" && threads !== VIRTUAL) lives[interval]! += total;
    if (kind === "wait" || kind === "park") {
      const waits = threads === VIRTUAL ? time["virtual-waiting"] : threads >= JVM ? jvm[kind] : time[kind];
      waits[interval]! += total;
      return;
    }
    // On a CPU a virtual thread is its carrier, whose time is in `carriers`, or its samples.
    if (threads === CARRIER && MEASURED.includes(kind)) return;
    if (threads === VIRTUAL) {
      if (kind === "cpu" && weighted) sampled[interval]! += total;
      return;
    }
    time[kind][interval]! += total;
  });
  const carried = carriedBy(carriers, intervals);
  fit(AWAY.map((kind) => time[kind]), lives);
  const room = virtualRoom.map((room, at) => MEASURED.reduce((rest, kind) => Math.max(0, rest - carried[kind][at]!), room));
  fit([time["virtual-blocked"], time["virtual-waiting"]], room);
  const measured = time.ran.some((ran) => ran > 0) || carried.ran.some((ran) => ran > 0);
  time["virtual-ran"] = measured ? carried.ran : sampled;
  time["virtual-ready"] = carried.queued.map((queued, at) => queued + carried.throttled[at]! + carried.steal[at]!);
  for (let at = 0; at < intervals; at++) {
    if (measured || !weighted) time.cpu[at] = 0;
    // Most kernels count what the quota held back as waiting for a CPU, too.
    time.queued[at] = Math.max(0, time.queued[at]! - time.throttled[at]!);
    let left = AWAY.reduce((rest, kind) => rest - time[kind][at]!, lives[at]!);
    left = Math.max(0, left);
    for (const kind of SHARES) left -= time[kind][at] = Math.min(left, time[kind][at]!);
    time.alive[at] = left;
    for (const kind of ["wait", "park"] as const) time[kind][at]! += jvm[kind][at]!;
  }
  return time;
}

/** What carriers of virtual threads ran or were ready to, per interval. */
function carriedBy(carriers: Groups, intervals: number): Record<Kind, number[]> {
  const carried = Object.fromEntries(KINDS.map((kind) => [kind, new Array<number>(intervals).fill(0)])) as Record<Kind, number[]>;
  addUp(carriers, 1, ([number = 0], interval, total) => {
    carried[KINDS[number]!][interval]! += total;
  });
  // As in the timeline: what the quota held back counts once.
  carried.queued = carried.queued.map((queued, at) => Math.max(0, queued - carried.throttled[at]!));
  return carried;
}

/** In which a platform thread neither runs nor could run. */
export const AWAY = ["monitor", "juc", "wait", "park"] as const;

/** What running time is made of, beside blocking; the estimates give way to each other in this order. */
const SHARES: Kind[] = ["ran", "cpu", "steal", "throttled", "queued"];

/** Which part of the waits of a kind in a method is that of idle threads. */
export function idlePartOf(idleWaits: IdleWaits[]): (method: string, kind: Kind) => number {
  const parts = new Map(idleWaits.map(({ method, isMonitor, idleNs, totalNs }) => [`${isMonitor ? "wait" : "park"} ${method}`, idleNs / totalNs]));
  return (method, kind) => parts.get(`${kind} ${method}`) ?? 0;
}

/**
 * Takes what idle threads waited out of the times of waits. `byMethod` is grouped by method, kind and time: it says how
 * large the idle part of each interval is.
 */
export function takeIdle(time: Record<State, number[]>, byMethod: Groups, nameOf: (method: number) => string, idleWaits: IdleWaits[]): void {
  const idlePart = idlePartOf(idleWaits);
  const parts = { wait: time.wait.map(() => [0, 0]), park: time.park.map(() => [0, 0]) };
  addUp(byMethod, 2, ([method = 0, number = 0], interval, total) => {
    const kind = KINDS[number];
    if (kind !== "wait" && kind !== "park") return;
    const sums = parts[kind][interval]!;
    sums[0]! += total * idlePart(nameOf(method), kind);
    sums[1]! += total;
  });
  for (const kind of ["wait", "park"] as const) {
    parts[kind].forEach(([idle = 0, all = 0], at) => {
      const part = all > 0 ? time[kind][at]! * (idle / all) : 0;
      time[kind][at]! -= part;
      time.idle[at]! += part;
    });
  }
}

/** Calls with the values of the upper levels, the interval and its total. */
export function addUp(groups: Groups, levels: number, call: (path: number[], interval: number, total: number) => void): void {
  const depth: number[] = [];
  groups.parent.forEach((parent, at) => {
    depth[at] = parent < 0 ? 0 : depth[parent]! + 1;
    if (depth[at] !== levels) return;
    const path: number[] = [];
    for (let up = parent; up >= 0; up = groups.parent[up]!) path.unshift(groups.value[up]!);
    call(path, groups.value[at]!, groups.total[at]!);
  });
}
