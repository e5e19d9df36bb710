import { describe, expect, it } from "vitest";
import { average, cut, intervalAt, snap } from "./intervals";

describe("intervals", () => {
  it("are whole base intervals, and as many as wanted or fewer", () => {
    for (const [whole, wanted, base] of [[12e9, 300, 0], [12_345_678_901, 300, 10e6], [999, 300, 0], [5e9, 60, 1e9], [1, 9, 0]] as const) {
      const made = cut({ from: 0, to: whole }, wanted, base);
      expect(made.intervals).toBeLessThanOrEqual(wanted);
      expect(made.length % Math.max(1, base)).toBe(0);
      expect(made.edges).toHaveLength(made.intervals + 1);
      expect([made.edges[0], made.edges.at(-1)]).toEqual([0, whole]);
      expect(made.to).toBeGreaterThanOrEqual(whole);
    }
  });
  it("end where the range ends, whatever the base interval", () => {
    const made = cut({ from: 0, to: 25 }, 3, 10);
    expect(made.edges).toEqual([0, 10, 20, 25]);
    expect(average(made, 2, 10)).toBe(2);
    // 123 base intervals in 50.
    const uneven = cut({ from: 20, to: 1250 }, 50, 10);
    const lengths = uneven.edges.slice(1).map((edge, at) => edge - uneven.edges[at]!);
    expect([uneven.from, uneven.to, uneven.edges.at(-1)]).toEqual([20, 1250, 1250]);
    expect(new Set(lengths)).toEqual(new Set([20, 30]));
    expect(uneven.length).toBe(30);
  });
  it("are found by a moment", () => {
    expect([-1, 0, 9, 10, 24, 25, null].map((moment) => intervalAt(cut({ from: 0, to: 25 }, 3, 10), moment))).toEqual([null, 0, 0, 1, 2, null, null]);
  });
  it("a range grows to whole base intervals, but not beyond the recording", () => {
    expect(snap({ from: 15, to: 31 }, 10, 100)).toEqual({ from: 10, to: 40 });
    expect(snap({ from: 15, to: 98 }, 10, 99)).toEqual({ from: 10, to: 99 });
    expect(snap({ from: 15, to: 31 }, 0, 99)).toEqual({ from: 15, to: 31 });
  });
});
