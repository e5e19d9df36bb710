import { describe, expect, it } from "vitest";
import type { Groups } from "./contract";
import { noGroups } from "./group";
import { boundsOf, heatMap, shadeOf } from "./heatmap";
import { cut } from "./intervals";

/** Locks (or none) with their time in each interval. */
function overTime(lines: [lock: number, time: number[]][], leftOut = 0): Groups {
  const sum = (time: number[]) => time.reduce((one, other) => one + other, 0);
  const made = { ...noGroups(), leftOut };
  lines.forEach(([lock, time]) => {
    const parent = lock < 0 ? -1 : made.value.push(lock) - 1;
    if (parent >= 0) made.total.push(sum(time)), made.parent.push(-1);
    time.forEach((total, at) => {
      if (total > 0) made.value.push(at), made.total.push(total), made.parent.push(parent);
    });
  });
  return made;
}

describe("the heat map of locks", () => {
  const made = cut({ from: 0, to: 40 }, 4, 10);
  it("adds up to all blocked time of each interval, with what is beyond its rows", () => {
    const map = heatMap(overTime([[7, [40, 0, 5, 0]], [9, [0, 20, 0, 0]]], 3), overTime([[-1, [41, 25, 5, 2]]]), made, 9);
    expect(map.rows).toEqual([
      { lock: 7, total: 45, time: [40, 0, 5, 0] },
      { lock: 9, total: 20, time: [0, 20, 0, 0] },
      { lock: null, total: 8, time: [1, 5, 0, 2] },
    ]);
    expect([map.others, map.most]).toEqual([3, 4]);
  });
  it("never has more threads blocked than there are: what does not fit is in the next interval, or said to be left over", () => {
    const map = heatMap(overTime([[7, [10, 60, 5, 0]], [9, [0, 20, 0, 0]]]), overTime([[-1, [10, 80, 5, 0]]]), made, 4);
    expect(map.rows.map(({ total }) => total)).toEqual([75, 20]);
    const inAll = made.edges.slice(1).map((_, at) => map.rows.reduce((sum, row) => sum + row.time[at]!, 0));
    expect(inAll.map(Math.round)).toEqual([10, 40, 40, 5]);
    expect([Math.round(map.most), map.over]).toEqual([3, 0]);
    const full = heatMap(overTime([[7, [50, 50, 50, 50]]]), overTime([[-1, [50, 50, 50, 50]]]), made, 4);
    expect([full.rows[0]!.time.map(Math.round), full.most, full.over]).toEqual([[40, 40, 40, 40], 4, 40]);
  });
  it("has no row for others where there are none", () => {
    expect(heatMap(overTime([[7, [1, 0, 0, 0]]]), overTime([[-1, [1, 0, 0, 0]]]), made, 1).rows.map((row) => row.lock)).toEqual([7]);
  });
  it("has shades down from the largest value, and none for nothing", () => {
    expect(boundsOf(7.3)).toEqual([5, 2, 1, 0.5, 0.2, 0]);
    expect(boundsOf(0.1)).toEqual([0.1, 0.05, 0.02, 0.01, 0.005, 0]);
    expect(boundsOf(1000)).toEqual([1000, 500, 200, 100, 50, 0]);
    expect([8, 5, 4.9, 0.01, 0].map((value) => shadeOf(value, boundsOf(7.3)))).toEqual([0, 0, 1, 5, null]);
  });
});
