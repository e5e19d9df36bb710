import { describe, expect, it } from "vitest";
import { HOWS, type Entry, type Groups, type How } from "./contract";
import { NO_NAMES, noGroups } from "./group";
import { coverageOf, isWeighted, knowledgeIn, knowledgeOf, partsOf, seenOf, sharesOf, suffice } from "./owning";
import { NameBook } from "./names";

/** Groups from paths of values to their time, and pauses of the VM in it. */
function groups(given: [path: number[], total: number, stopped?: number][]): Groups {
  const made = noGroups();
  const places = new Map<string, number>();
  for (const [path, total, stopped = 0] of given) {
    path.forEach((value, level) => {
      const key = path.slice(0, level + 1).join();
      const place = places.get(key) ?? made.value.length;
      if (!places.has(key)) {
        places.set(key, place);
        made.parent.push(level === 0 ? -1 : places.get(path.slice(0, level).join())!);
        made.value.push(value);
        made.total.push(0);
        made.stopped.push(0);
        made.rest.push(0);
      }
      made.total[place]! += total;
      made.stopped[place]! += stopped;
    });
    made.totalNs += total;
    made.count++;
  }
  return made;
}

const how = (name: How) => HOWS.indexOf(name);
const [LOCK, OTHER, SOME, REBUILD, LOOKUP] = [7, 8, 9, 21, 22];

describe("parts of a lock's blocked time", () => {
  it("are parts of one sum: pauses of the VM are in no other part", () => {
    // As of `Transaction` in the demo: 66.9 s, 3.69 s of it in pauses.
    const found = partsOf(groups([
      [[LOCK, 0, how("hand-off")], 66_780, 3690],
      [[LOCK, 0, how("unknown")], 20],
      [[LOCK, REBUILD, how("exit")], 99],
      [[OTHER, 0, how("hand-off")], 500],
    ]), LOCK);
    expect(found).toEqual({ total: 66_899, paused: 3690, handOff: 63_090, noMethod: 0, unknown: 20, owners: [{ method: REBUILD, time: 99, paused: 0 }], cut: 0 });
    expect(found.paused + found.handOff + found.noMethod + found.unknown + found.owners[0]!.time).toBe(found.total);
    expect(Math.round((100 * found.handOff) / found.total)).toBe(94);
  });
  it("an owner has no pauses, and a known thread without a method is not unknown", () => {
    const found = partsOf(groups([[[LOCK, REBUILD, how("exit")], 100, 10], [[LOCK, LOOKUP, how("exit")], 95], [[LOCK, 0, how("seen")], 30, 5]]), LOCK);
    expect(found).toEqual({ total: 225, paused: 15, handOff: 0, noMethod: 25, unknown: 0, owners: [{ method: LOOKUP, time: 95, paused: 0 }, { method: REBUILD, time: 90, paused: 10 }], cut: 0 });
  });
  it("what short contentions have no owner of is unknown, and no more than there is", () => {
    const some = groups([[[LOCK, REBUILD, how("exit")], 80, 10]]);
    some.total[0] = 100;
    some.rest[0] = 20;
    some.stopped[0] = 15;
    expect(partsOf(some, LOCK)).toMatchObject({ total: 100, paused: 15, unknown: 15 });
    expect(partsOf(some, SOME)).toEqual({ total: 0, paused: 0, handOff: 0, noMethod: 0, unknown: 0, owners: [], cut: 0 });
  });
  it("begin with the largest, and an owner is not named beside more time in the run queue than it had the lock", () => {
    const parts = { cut: 0, total: 1000, paused: 60, handOff: 160, noMethod: 5, unknown: 735, owners: [{ method: REBUILD, time: 30, paused: 0 }, { method: LOOKUP, time: 10, paused: 0 }] };
    const shown = (noCpu: number) => sharesOf(parts, noCpu).map(({ what, time }) => [what, time]);
    expect(shown(54)).toEqual([["unknown", 735], ["hand-off", 160], ["pauses", 60], ["owners", 40]]);
    expect(shown(20)).toEqual([["unknown", 735], ["hand-off", 160], ["pauses", 60], ["owner", 30], ["owners", 10]]);
    expect(sharesOf({ ...parts, unknown: 0, owners: [{ method: REBUILD, time: 765, paused: 0 }] }, 900)[0]).toEqual({ what: "owner", time: 765, owner: { method: REBUILD, time: 765, paused: 0 } });
    expect(sharesOf({ total: 0, paused: 0, handOff: 0, noMethod: 0, unknown: 0, owners: [], cut: 0 }, 0)).toEqual([]);
  });
  it("owners that were cut off are owners, and together they may be the largest part", () => {
    const some = groups([[[LOCK, REBUILD, how("exit")], 175], [[LOCK, LOOKUP, how("exit")], 175], [[LOCK, 0, how("hand-off")], 300]]);
    some.total[0] = 1000;
    const parts = partsOf(some, LOCK);
    expect(parts).toMatchObject({ total: 1000, handOff: 300, unknown: 0, cut: 350 });
    expect(sharesOf(parts, 0).map(({ what, time }) => [what, time])).toEqual([["owners", 700], ["hand-off", 300]]);
  });
});

describe("what is known of owners", () => {
  it("hand-off, VM pauses, owners and unknown add up to the blocked time", () => {
    const hows = groups([[[how("hand-off")], 700, 50], [[how("exit")], 200, 10], [[how("seen")], 40], [[how("unknown")], 60]]);
    expect(knowledgeOf(hows)).toEqual({ total: 1000, paused: 60, handOff: 650, owned: 230, unknown: 60 });
  });
  it("the same of contentions in a range", () => {
    const slice = (start: number, span: number, name: How, owner = 0, stopped = 0) => ({ start, span, owner, chain: 0, how: name, stopped }) as Entry["slices"][number];
    const contentions = [{ slices: [slice(0, 100, "hand-off", 0, 40), slice(100, 50, "exit", 3)] }, { slices: [slice(40, 60, "unknown")] }] as Entry[];
    expect(knowledgeIn(contentions, { from: 0, to: 200 })).toEqual({ total: 210, paused: 40, handOff: 60, owned: 50, unknown: 60 });
    expect(knowledgeIn(contentions, { from: 50, to: 125 })).toEqual({ total: 125, paused: 20, handOff: 30, owned: 25, unknown: 50 });
    expect(knowledgeIn(contentions, { from: 500, to: 600 }).total).toBe(0);
  });
});

describe("samples of owners", () => {
  const names = new NameBook();
  const thread = { name: "a", group: 1, others: 0, key: "a#1" };
  names.learn({ ...NO_NAMES, threads: { 2: { ...thread, kind: 0 }, 3: { ...thread, kind: 1 } } });
  const sample = (time: number, owner: number, name: How = "java", span = 10) => ({ start: time - span, span, slices: [{ owner, how: name }] }) as unknown as Entry;
  it("count once, however many threads were blocked", () => {
    const seen = seenOf([sample(50, 2), sample(50, 2), sample(60, 2), sample(60, 3)], 4, 0.3, names);
    expect(seen).toEqual({ taken: 3, coverage: 0.3, parked: 0 });
    // Those that are only kept as sums count as different ones.
    expect(seenOf([sample(50, 2), sample(50, 2)], 40, 0.3, names).taken).toBe(39);
    // One of them may be of as many threads as were blocked.
    expect(seenOf([], 18_504, null, names, 400)).toEqual({ taken: 47, coverage: null, parked: 0 });
  });
  it("parks of virtual threads are no samples", () => {
    expect(seenOf([sample(50, 3, "waiting", 30), sample(60, 2, "waiting", 10)], 2, 1, names).parked).toBe(0.75);
  });
  it("are too few to say anything by the rule of the report", () => {
    const enough = (taken: number, coverage: number | null, parked = 0) => suffice({ taken, coverage, parked });
    expect([enough(2, 0.2), enough(19, 0.49), enough(4, 0.9), enough(500, 0.04), enough(1, 0.04, 1)]).toEqual([false, false, false, false, false]);
    expect([enough(20, 0.2), enough(5, 0.5), enough(1, 0.9, 0.6)]).toEqual([true, true, true]);
    expect([enough(19, null), enough(20, null), enough(1, null, 0.6)]).toEqual([false, true, true]);
  });
  it("say how much time they stand for even if no other sample does", () => {
    const inside = (totalNs: number, count: number) => ({ ...noGroups(), totalNs, count });
    expect([isWeighted(inside(4_000_000, 2), { samplesWeighted: false }), isWeighted(inside(2, 2), { samplesWeighted: false }), isWeighted(inside(2, 2), { samplesWeighted: true })]).toEqual([true, false, true]);
    // Where contentions were sampled, blocked time is that of all, owners' samples are of some.
    expect(isWeighted(inside(4_000_000, 2), { samplesWeighted: true, instants: 272 })).toBe(false);
    expect(coverageOf(groups([[[how("exit")], 160, 100], [[how("hand-off")], 500], [[how("seen")], 40]]), 25)).toEqual({ whole: 100, sampled: 25, notSampled: 75 });
  });
});
