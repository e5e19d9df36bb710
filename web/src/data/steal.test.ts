import { expect, it } from "vitest";
import type { Steal, StealWindow } from "./contract";
import { noCpuIn, stealIn } from "./steal";

const window = (from: number, to: number, times: number): StealWindow => ({
  from, to, intervals: 1, refined: times > 1 ? 1 : 0,
  machine: { busy: 10 * times, steal: 4 * times, idle: 6 * times },
  periods: 2 * times, throttledPeriods: times, throttled: 8 * times,
  process: { corrected: 20 * times, steal: 2 * times, throttled: 8 * times, queued: 6 * times },
});

const STEAL = {
  windows: [window(0, 100, 1), window(100, 200, 2), window(200, 300, 4)],
  quota: { quota: 50, period: 100, periods: 14, throttledPeriods: 7, throttled: 56 },
  process: { corrected: 140, steal: 14, throttled: 56, queued: 42 },
  lockIntervalNs: 50,
  lockNames: [{ name: 7, offCpu: 30, when: [[0, 10], [50, 20]] }, { name: 8, offCpu: 5, when: [[200, 5]] }],
} as unknown as Steal;

it("CPU shortage is that of the range, in proportion where an interval is only partly in it", () => {
  const part = stealIn(STEAL, { from: 50, to: 200 });
  expect(part.process).toEqual({ corrected: 50, steal: 5, throttled: 20, queued: 15 });
  expect(part.machine).toEqual({ busy: 25, steal: 10, idle: 15 });
  expect(part.quota).toEqual({ quota: 50, period: 100, periods: 5, throttledPeriods: 3, throttled: 20 });
  expect([part.intervals, part.refinedIntervals, part.coveredNs]).toEqual([2, 1, 150]);
  expect(stealIn(STEAL, null)).toBe(STEAL);
});

it("locks whose owner had no CPU are those of the range", () => {
  expect([...noCpuIn(STEAL, { from: 25, to: 75 })]).toEqual([[7, 15], [8, 0]]);
  expect([...noCpuIn(STEAL, null)]).toEqual([[7, 30], [8, 5]]);
});
