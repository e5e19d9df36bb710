import { describe, expect, it } from "vitest";
import { HOWS, KINDS, type Entry, type Groups, type How, type Kind } from "./contract";
import { NO_NAMES, noGroups } from "./group";
import { doingOf, NO_FRAME, ownersOf, together, waitsOfOwners, worstOf, type Incident } from "./incident";
import { NameBook } from "./names";

const names = new NameBook();
names.learn({
  ...NO_NAMES,
  texts: { 1: "app.Index.rebuild", 2: "java.util.TreeMap.put", 3: "write [libc.so.6]", 4: "java.lang.Object.wait" },
  frames: Object.fromEntries([[1, 1, false], [2, 2, true], [3, 3, false], [4, 4, true]].map(([id, method, jdk]) => [id, { method: Number(method), line: 7, jdk: Boolean(jdk), file: "", source: "" }])),
  chains: { 1: [1], 2: [2, 1], 3: [3, 2, 1], 4: [4, 1], 5: [3] },
});

/** Samples by stack and how they were seen. */
function samples(seen: [chain: number, how: How, total: number][]): Groups {
  const made = noGroups();
  for (const [chain, how, total] of seen) {
    made.parent.push(-1, made.value.length);
    made.value.push(chain, HOWS.indexOf(how));
    made.total.push(total, total);
  }
  return made;
}

/** `1: 10-50 of 2`: a thread was blocked from 10 to 50, and thread 2 had the lock. */
function blocked(kind: Kind, text: string, lock: number): Entry {
  const [, thread, start, end, owner] = /^(\d+): (\d+)-(\d+)(?: of (\d+))?$/.exec(text)!.map(Number);
  const [from, span] = [start!, end! - start!];
  const slice = { start: from, span, owner: owner || 0, chain: 0, how: "exit", stopped: 0 } as Entry["slices"][number];
  return { kind: KINDS.indexOf(kind), start: from, span, thread: thread!, chain: 0, lock, afterWait: false, unfinished: false, summed: false, idle: false, slices: [slice] };
}

describe("what an owner did", () => {
  it("is the application's frame, with the JDK and the kernel below, and waiting apart", () => {
    const { running, waiting } = doingOf(samples([[2, "java", 5], [3, "native", 9], [1, "java", 4], [5, "native", 3], [0, "java", 1], [4, "waiting", 6]]), names);
    expect(running).toEqual([
      { text: "app.Index.rebuild:7", method: "app.Index.rebuild", call: "", total: 18, below: [{ text: "write [libc.so.6]:7", total: 9 }, { text: "java.util.TreeMap.put:7", total: 5 }] },
      { text: "write [libc.so.6]:7", method: "write [libc.so.6]", call: "", total: 3, below: [] },
      { text: NO_FRAME, method: "", call: "", total: 1, below: [] },
    ]);
    expect(waiting).toEqual([{ text: "app.Index.rebuild:7", method: "app.Index.rebuild", call: "java.lang.Object.wait", total: 6, below: [{ text: "java.lang.Object.wait:7", total: 6 }] }]);
    expect(together({ running, waiting }).map(({ spot, isWaiting }) => [spot.total, isWaiting])).toEqual([[18, false], [6, true], [3, false], [1, false]]);
  });
});

it("the worst phase is opened only if its lock was clearly more contended in it", () => {
  const phase = (mean: number, usual: number) => ({ mean, usual }) as Incident;
  expect(worstOf([phase(0.48, 0.13), phase(0.9, 0.1)])?.mean).toBe(0.48);
  expect(worstOf([phase(0.2, 0.13), phase(0.9, 0.1)])).toBeNull();
  expect(worstOf([])).toBeNull();
});

describe("what an owner waited for", () => {
  const contentions = [blocked("monitor", "1: 10-50 of 2", 1), blocked("monitor", "3: 20-50 of 2", 1), blocked("monitor", "4: 60-70", 1)];
  it("counts for every thread that was blocked meanwhile", () => {
    const waits = [blocked("monitor", "2: 40-90 of 9", 5), blocked("park", "2: 0-15", 6), blocked("wait", "7: 0-99", 6)];
    const all = { from: 0, to: 100 };
    expect(waitsOfOwners(contentions, waits, all).map(({ owner, kind, lock, total }) => [owner, kind, lock, total])).toEqual([[2, "monitor", 5, 20], [2, "park", 6, 5]]);
    expect(waitsOfOwners(contentions, waits, { from: 0, to: 45 }).map(({ total }) => total)).toEqual([10, 5]);
    expect(waitsOfOwners(contentions, waits, { from: 90, to: 95 })).toEqual([]);
  });
  it("is asked of the owners in the range", () => {
    expect(ownersOf(contentions, { from: 0, to: 100 })).toEqual([{ owner: 2, total: 70 }]);
    expect(ownersOf(contentions, { from: 60, to: 100 })).toEqual([]);
  });
});
