import { describe, expect, it } from "vitest";
import { segmentText } from "../text/segment";
import { KINDS, type Facts, type Kind, type Lane } from "./contract";
import { idleRows } from "./idle";
import { fitLane } from "./lanefit";
import { draw, ONLY_SUMS } from "./lanes";
import type { Recording } from "./scope";
import { SUMMED, TOTALS } from "./table";

const kind = (name: Kind) => KINDS.indexOf(name);

describe("lanes of threads that are idle", () => {
  const facts = { idleWaits: [{ method: "Worker.run", isMonitor: false, idleNs: 60, totalNs: 100 }, { method: "Pool.borrow", isMonitor: false, idleNs: 40, totalNs: 100 }] } as Facts;
  // Methods, and what was waited for, by name.
  const texts = ["", "Worker.run", "Pool.borrow", "queue", "pool"];
  const rows = [
    { chain: 1, lock: 1, kind: "park", flags: 0 },
    { chain: 2, lock: 2, kind: "park", flags: 0 },
    { chain: 1, lock: 1, kind: "wait", flags: 0 },
    { chain: 0, lock: 1, kind: "park", flags: SUMMED | TOTALS },
    { chain: 0, lock: 2, kind: "park", flags: SUMMED | TOTALS },
    { chain: 0, lock: 0, kind: "park", flags: 0 },
    { chain: 1, lock: 1, kind: "monitor", flags: 0 },
  ] as const;
  const column = (of: (row: (typeof rows)[number]) => number) => Uint32Array.from(rows, of);
  const table = { length: rows.length, span: column(() => 10), chain: column((row) => row.chain), lock: column((row) => row.lock), flags: column((row) => row.flags), kind: column((row) => kind(row.kind)), sum: column(() => 0), sums: { total: [10] } };
  const head = { facts, texts, threads: [], locks: [{ title: 0 }, { title: 3 }, { title: 4 }], acting: [0, 1, 2] };
  it("a wait is idle if most of the time in its method is; a sum, if most of the waits for the same object are", () => {
    const isIdle = idleRows({ head, table } as unknown as Recording);
    expect(rows.map((_, row) => isIdle(row))).toEqual([true, false, false, true, false, false, false]);
  });
  it("idle and other waits are segments apart, and have the words of the timeline", () => {
    const lane: Lane = { thread: 1, blockedNs: 0, start: [], span: [], total: [], kind: [], longest: [], joined: [], idle: [] };
    const spans: number[] = [];
    for (const [start, idle] of [[0, true], [10, false], [20, true]] as const) draw(lane, spans, 100, { start, span: 10, total: 10, kind: kind("park"), longest: start, joined: 1, idle });
    expect([lane.total, lane.idle]).toEqual([[20, 10], [true, false]]);
    expect([0, 1].map((at) => segmentText(lane, at))).toEqual(["idle for 20 ns of 30 ns: 2 segments close together", "waiting, parked for 10 ns"]);
  });
});

describe("lanes with sums", () => {
  /** Segments as `kind start-end: total`; sums have a `~`. */
  function lane(...segments: string[]): Lane {
    const made: Lane = { thread: 1, blockedNs: 0, start: [], span: [], total: [], kind: [], longest: [], joined: [], idle: [] };
    for (const text of segments) {
      const [, name, start, end, sum, total] = /^(\w+) (\d+)-(\d+): (~?)(\d+)$/.exec(text)!;
      made.start.push(Number(start));
      made.span.push(Number(end) - Number(start));
      made.total.push(Number(total));
      made.kind.push(kind(name as Kind));
      made.longest.push(sum ? ONLY_SUMS : Number(start));
      made.joined.push(1);
      made.idle.push(false);
    }
    return made;
  }
  const shown = (one: Lane) => one.kind.map((number, at) => `${KINDS[number]} ${one.start[at]}-${one.start[at]! + one.span[at]!}: ${one.longest[at] === ONLY_SUMS ? "~" : ""}${one.total[at]}`);
  const range = { from: 0, to: 300 };
  it("stay as they are where all fits", () => {
    const fits = { ...lane("monitor 0-100: ~50", "park 0-100: ~50", "monitor 100-200: 100"), blockedNs: 150 };
    expect(fitLane(fits, 1, range)).toBe(fits);
    const single = lane("monitor 0-100: 100");
    expect(fitLane(single, 1, range)).toBe(single);
  });
  it("no thread is blocked and waits for longer than it is there: the rest is nearby, and nothing of it is dropped", () => {
    const over = lane("monitor 0-100: ~120", "monitor 100-200: 60", "park 0-100: ~60", "monitor 200-300: ~10");
    const fitted = fitLane(over, 1, range);
    expect(shown(fitted)).toEqual(["monitor 0-100: ~67", "monitor 100-200: 60", "park 0-100: ~33", "monitor 200-300: ~37", "monitor 100-200: ~27", "park 100-200: ~13", "park 200-300: ~13"]);
    expect(fitted.blockedNs).toBe(190);
  });
  it("a range is never blocked for longer than it lasts, however many threads the lane stands for", () => {
    const over = lane("juc 0-300: ~900", "monitor 100-200: 60");
    expect(fitLane(over, 1, { from: 100, to: 200 }).blockedNs).toBe(100);
    expect(fitLane(over, 4, { from: 100, to: 200 })).toBe(over);
  });
});
