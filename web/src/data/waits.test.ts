import { expect, it } from "vitest";
import { KINDS, type Groups, type WaitPlace } from "./contract";
import { firstFinding, hasOnlyMonitorWaits, isLockFirst, linesOfWaits, rangeOfMost, waitsMost } from "./waits";

const [WAIT, PARK] = [KINDS.indexOf("wait"), KINDS.indexOf("park")];

it("finds when threads waited at a place, unless others waited there, too", () => {
  // Method 1: parks in intervals 2 and 3. Method 2: waits in interval 0, of which the report has a half.
  const groups = { value: [1, PARK, 2, 3, 2, WAIT, 0], parent: [-1, 0, 1, 1, -1, 4, 5], total: [30, 30, 10, 20, 8, 8, 8] } as unknown as Groups;
  const place = (method: string, isMonitor: boolean, totalNs: number) => ({ method, isMonitor, totalNs }) as WaitPlace;
  const waits = [place("m1", false, 30), place("m1", true, 30), place("m2", true, 4), place("m3", true, 1)];
  expect(linesOfWaits(groups, (method) => `m${method}`, 4, waits)).toEqual([[0, 0, 10, 20], null, null, null]);
});

it("says in which range nearly all of a time is, if that is not nearly everywhere", () => {
  const edges = [0, 10, 20, 30, 40, 50];
  expect(rangeOfMost([0, 0, 0, 5, 5], edges)).toEqual({ from: 30, to: 50 });
  expect(rangeOfMost([1, 0, 600, 0, 1], edges)).toEqual({ from: 20, to: 30 });
  expect(rangeOfMost([9, 0, 600, 0, 1], edges)).toEqual({ from: 0, to: 30 });
  expect(rangeOfMost([5, 0, 0, 0, 5], edges)).toBeNull();
});

it("knows whether locks or something else cost most", () => {
  const facts = (...kinds: string[]) => ({ findings: kinds.map((kind) => ({ kind, text: "", details: [], ownerDid: "", cost: 1 })) });
  expect(isLockFirst(facts("hot-lock", "waiting"))).toBe(true);
  expect(isLockFirst(facts("unreliable", "hot-lock"))).toBe(true);
  expect(isLockFirst(facts("waiting", "hot-lock"))).toBe(false);
  expect(isLockFirst(facts("environment"))).toBe(false);
  expect(isLockFirst(facts())).toBe(false);
  expect(firstFinding(facts("unreliable", "environment", "hot-lock"))?.kind).toBe("environment");
  expect(waitsMost({ waitedNs: 7, blockedNs: 6 })).toBe(true);
  expect(waitsMost({ waitedNs: 0, blockedNs: 0 })).toBe(false);
});

it("Object.wait comes first where no thread parked", () => {
  const counts = (...kinds: number[]) => KINDS.map((_, at) => (kinds.includes(at) ? 3 : 0));
  expect([counts(WAIT), counts(WAIT, PARK), counts(WAIT, KINDS.indexOf("juc")), counts()].map(hasOnlyMonitorWaits)).toEqual([true, false, false, false]);
});
