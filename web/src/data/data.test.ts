import { describe, expect, it, vi } from "vitest";
import { changes, frameChange, partOf, PIECES, rates, unitsOf, waitRates, withoutStartUp } from "./compare";
import { cut } from "./intervals";
import { KINDS, type Groups, type Lane } from "./contract";
import { roomOf, threadCount } from "./fit";
import { flame, flat, follow, JDK, REST, sandwich, selfOver, type FlameNode } from "./flame";
import { layout, MOST_FRAMES } from "./flamelayout";
import { countsOf, NO_NAMES } from "./group";
import { draw, ONLY_SUMS, strength } from "./lanes";
import { NameBook } from "./names";
import { edgesOf as pressureEdges, linesOf, phasesOf } from "./pressure";
import { cpusOf, linesOver, spentOf } from "./spent";
import { addUp, states, takeIdle } from "./states";
import { edgesOf, folded, OTHERS, rootsOf, withinOf } from "./waitfor";

/** Groups from paths of values to totals, level by level. */
function groups(paths: [path: number[], total: number][]): Groups {
  const made: Groups = { totalNs: 0, count: 0, parent: [], value: [], total: [], entries: [], max: [], stopped: [], approximate: [], rest: [], restNs: 0, unknown: [], leftOut: 0, names: NO_NAMES };
  const places = new Map<string, number>();
  const depth = Math.max(0, ...paths.map(([path]) => path.length));
  for (let level = 1; level <= depth; level++) {
    for (const [path, total] of paths) {
      const key = path.slice(0, level).join();
      let place = places.get(key);
      if (place === undefined) {
        places.set(key, (place = made.value.length));
        made.parent.push(places.get(path.slice(0, level - 1).join()) ?? -1);
        made.value.push(path[level - 1]!);
        made.total.push(0);
        made.entries.push(1);
      }
      made.total[place] = made.total[place]! + total;
      if (level === 1) made.totalNs += total;
    }
  }
  return made;
}

const kind = (name: (typeof KINDS)[number]) => KINDS.indexOf(name);

describe("lanes of threads", () => {
  it("sums of many locks in the same second are one pale segment with their time together", () => {
    const lane: Lane = { thread: 1, blockedNs: 0, start: [], span: [], total: [], kind: [], longest: [], joined: [], idle: [] };
    const spans: number[] = [];
    for (const start of [0, 0, 0, 1000]) draw(lane, spans, 10, { start, span: 1000, total: 300, kind: 0, longest: ONLY_SUMS, joined: 2, idle: false });
    expect([lane.start, lane.span, lane.total, lane.joined]).toEqual([[0, 1000], [1000, 1000], [900, 300], [6, 2]]);
    expect([strength(lane, 0), strength(lane, 1)]).toEqual([0.6, 0.3]);
    expect(strength({ ...lane, longest: [0, 1000] }, 0)).toBe(0.9);
  });
});

describe("states of threads", () => {
  it("what is left of lives is neither blocked nor waiting", () => {
    const blocked = groups([
      [[0, kind("monitor"), 0], 30],
      [[1, kind("monitor"), 0], 777], // of virtual threads: no part of platform lives
      [[1, kind("juc"), 0], 111],
    ]);
    const context = groups([
      [[0, kind("alive"), 0], 100],
      [[0, kind("wait"), 0], 20],
      [[1, kind("wait"), 0], 999],
      [[0, kind("cpu"), 0], 10],
    ]);
    const time = states(blocked, context, 1, true, [], groups([]));
    expect([time.monitor[0], time.juc[0], time.wait[0], time.cpu[0], time.alive[0]]).toEqual([30, 0, 20, 10, 40]);
    expect([time["virtual-blocked"][0], time["virtual-waiting"][0]]).toEqual([888, 999]);
    expect(states(blocked, context, 1, false, [], groups([])).alive).toEqual([50]);
  });
  it("more threads than are alive are never shown: what does not fit is in the next interval", () => {
    const blocked = groups([
      [[0, kind("monitor"), 0], 90],
      [[0, kind("monitor"), 1], 20],
    ]);
    const context = groups([
      [[0, kind("alive"), 0], 100],
      [[0, kind("alive"), 1], 100],
      [[0, kind("wait"), 0], 60],
      [[2, kind("wait"), 0], 7], // of the JVM's threads, which have no lives here
    ]);
    const time = states(blocked, context, 2, true, [], groups([]));
    expect(time.monitor.map(Math.round)).toEqual([60, 50]);
    expect(time.wait.map(Math.round)).toEqual([47, 20]);
    expect(time.alive.map(Math.round)).toEqual([0, 30]);
  });
  it("threads that are in the sum of their group are counted once", () => {
    const others = (thread: number) => (thread === 9 ? 207 : 0);
    expect(threadCount({ value: [1, 2, 9], leftOut: 0 }, others, 400)).toBe(209);
    expect(threadCount({ value: [1, 2, 9], leftOut: 396 }, others, 400)).toBe(400);
    // Of one thread, and of more than the application's.
    expect([threadCount({ value: [1], leftOut: 0 }, others, 400), threadCount({ value: [1, 2, 3], leftOut: 0 }, others, 2)]).toEqual([1, 3]);
  });
  it("idle threads wait for nothing: their part of the waits in a method is not shown as waiting", () => {
    const context = groups([[[0, kind("alive"), 0], 200], [[0, kind("park"), 0], 100], [[0, kind("wait"), 0], 10], [[0, kind("alive"), 1], 200], [[0, kind("park"), 1], 80]]);
    const time = states(groups([]), context, 2, true, [], groups([]));
    const byMethod = groups([[[1, kind("park"), 0], 75], [[2, kind("park"), 0], 25], [[1, kind("wait"), 0], 10], [[2, kind("park"), 1], 80]]);
    takeIdle(time, byMethod, (method) => ["", "Worker.run", "Pool.borrow"][method]!, [{ method: "Worker.run", isMonitor: false, idleNs: 2, totalNs: 3 }]);
    expect([time.idle, time.park, time.wait]).toEqual([[50, 0], [50, 80], [10, 0]]);
  });
  it("waits are compared without what idle threads waited in the same method, as in the report", () => {
    const waits = groups([[[1, kind("park"), 0], 90], [[1, kind("wait"), 0], 8], [[2, kind("park"), 1], 30]]);
    const found = waitRates(waits, (method) => ["", "Worker.run", "Pool.borrow"][method]!, [1, 1], [{ method: "Worker.run", isMonitor: false, idleNs: 2, totalNs: 3 }]);
    expect([found.get("Worker.run")!.mean, found.get("Pool.borrow")!.mean]).toEqual([expect.closeTo((30 + 8) / 2), 15]);
  });
  it("no more virtual threads are blocked and wait than there are", () => {
    const blocked = groups([
      [[1, kind("juc"), 0], 390], // those recorded one by one fill it nearly
      [[1, kind("monitor"), 0], 168],
      [[1, kind("juc"), 1], 200],
    ]);
    const context = groups([[[0, kind("alive"), 0], 2], [[1, kind("park"), 1], 20]]);
    const time = states(blocked, context, 3, true, roomOf(4, [0, 100, 200, 300]), groups([]));
    expect(time["virtual-blocked"].map(Math.round)).toEqual([400, 358, 0]);
    expect(time["virtual-waiting"].map(Math.round)).toEqual([0, 20, 0]);
  });
  it("what carriers did is time of virtual threads, which then neither are blocked nor wait", () => {
    const carriers = groups([
      [[kind("ran"), 0], 150],
      [[kind("queued"), 0], 40], // those 10 included
      [[kind("throttled"), 0], 10],
    ]);
    const context = groups([
      [[0, kind("alive"), 0], 100],
      [[0, kind("wait"), 0], 100],
      [[3, kind("ran"), 0], 150], // as with the JVM's threads: not counted twice
      [[1, kind("park"), 0], 300],
      [[1, kind("park"), 1], 300],
      [[1, kind("cpu"), 0], 140],
    ]);
    const time = states(groups([]), context, 2, true, roomOf(4, [0, 100, 200]), carriers);
    expect([time["virtual-ran"][0], time["virtual-ready"][0], time.ran[0], time.queued[0], time.cpu[0], time.wait[0]]).toEqual([150, 40, 0, 0, 0, 100]);
    expect(time["virtual-waiting"].map(Math.round)).toEqual([210, 390]);
    // Where nothing is measured, samples say it.
    const sampled = states(groups([]), groups([[[0, kind("alive"), 0], 100], [[1, kind("cpu"), 0], 140]]), 1, true, [], groups([]));
    expect([sampled["virtual-ran"][0], sampled.cpu[0], sampled.alive[0]]).toEqual([140, 0, 100]);
  });
  it("measured CPU time is better than samples, and nothing is more than running time", () => {
    const blocked = groups([[[0, kind("monitor"), 0], 30]]);
    const context = groups([
      [[0, kind("alive"), 0], 100],
      [[0, kind("cpu"), 0], 60],
      [[0, kind("ran"), 0], 40],
      [[0, kind("steal"), 0], 10],
      [[0, kind("throttled"), 0], 5],
      [[0, kind("queued"), 0], 50], // those 5 included
    ]);
    const time = states(blocked, context, 1, true, [], groups([]));
    expect([time.cpu[0], time.ran[0], time.steal[0], time.throttled[0], time.queued[0], time.alive[0]]).toEqual([0, 40, 10, 5, 15, 0]);
  });
  it("off-CPU time is steal and the larger of the other two", () => {
    const rows = spentOf([groups([
      [[3, kind("ran")], 60], [[3, kind("steal")], 10], [[3, kind("throttled")], 5], [[3, kind("queued")], 30],
      [[4, kind("ran")], 90],
    ])]);
    expect(rows.map(({ value, offCpu, share }) => [value, offCpu, share])).toEqual([[3, 40, 0.4], [4, 0, 0]]);
  });
  it("carriers of virtual threads are among the application's threads, in rows and over time", () => {
    const threads = groups([[[3, kind("ran")], 60], [[3, kind("queued")], 30]]);
    const carriers = groups([[[3, kind("ran")], 6], [[5, kind("steal")], 40], [[5, kind("ran")], 60]]);
    expect(spentOf([threads, carriers]).map(({ value, ran, steal, queued, share }) => [value, ran, steal, queued, share])).toEqual([[5, 60, 40, 0, 0.4], [3, 66, 0, 30, 30 / 96]]);
    expect(linesOver([groups([[[3, 0], 1]]), groups([[[3, 0], 2], [[3, 1], 4]])], 2)).toEqual(new Map([[3, [3, 4]]]));
  });
  it("the machine has as many CPUs as its time has seconds per second", () => {
    const machine = { busy: 30e9, steal: 1e9, idle: 8.9e9 };
    expect(cpusOf({ machine, quota: null, coveredNs: 10e9 })).toEqual({ machine: 4, limit: null });
    const quota = { quota: 150e6, period: 100e6, periods: 1, throttledPeriods: 0, throttled: 0 };
    expect(cpusOf({ machine, quota, coveredNs: 10e9 }).limit).toBe(1.5);
    expect(cpusOf({ machine: { busy: 0, steal: 0, idle: 0 }, quota: { ...quota, quota: 0 }, coveredNs: 0 })).toEqual({ machine: null, limit: null });
  });
  it("totals come with the path above them", () => {
    const found: [number[], number, number][] = [];
    addUp(groups([[[7, 0], 1], [[7, 3], 2], [[9, 1], 4]]), 1, (path, interval, total) => found.push([path, interval, total]));
    expect(found).toEqual([[[7], 0, 1], [[7], 3, 2], [[9], 1, 4]]);
  });
});

describe("who blocks whom", () => {
  const found = edgesOf(groups([[[1, 2], 50], [[3, 1], 30], [[1, 0], 7], [[4, 4], 9]]));
  it("nobody is blamed for what is nobody's", () => {
    expect(found.unblamed).toBe(7);
    expect(found.edges).toHaveLength(3);
  });
  it("chains lead to who is not blocked itself", () => {
    expect(rootsOf(found.edges)).toEqual([{ node: 2, total: 50, chain: [3, 1, 2] }]);
  });
  it("groups whose threads block each other are found, unless others block them for long", () => {
    const edge = (from: number, to: number, total: number) => ({ from, to, total });
    expect(withinOf([edge(1, 1, 9), edge(2, 2, 4231), edge(2, 3, 332), edge(4, 4, 100), edge(4, 3, 30)])).toEqual([edge(2, 2, 4231), edge(1, 1, 9)]);
  });
  it("those with least time are one node, which has all of their time", () => {
    const edges = [{ from: 1, to: 9, total: 50 }, { from: 2, to: 9, total: 30 }, { from: 3, to: 9, total: 5 }, { from: 4, to: 3, total: 4 }, { from: 4, to: 9, total: 2 }];
    expect(folded(edges, 5)).toEqual({ edges, folded: 0 });
    expect(folded(edges, 4)).toEqual({ edges: [{ from: 1, to: 9, total: 50 }, { from: 2, to: 9, total: 30 }, { from: OTHERS, to: 9, total: 7 }, { from: OTHERS, to: OTHERS, total: 4 }], folded: 2 });
    const many = Array.from({ length: 400 }, (_, at) => ({ from: at + 1, to: 0, total: 1000 - at }));
    const drawn = folded(many, 20);
    expect([new Set(drawn.edges.flatMap(({ from, to }) => [from, to])).size, drawn.folded]).toEqual([20, 382]);
    expect(drawn.edges.reduce((sum, { total }) => sum + total, 0)).toBe(many.reduce((sum, { total }) => sum + total, 0));
  });
  it("circles end", () => {
    expect(rootsOf([{ from: 1, to: 2, total: 9 }, { from: 2, to: 1, total: 9 }])).toEqual([]);
  });
});

function book(): NameBook {
  const names = new NameBook();
  names.learn({
    ...NO_NAMES,
    texts: { 1: "app.A.run", 2: "app.B.work", 3: "java.lang.Object.wait" },
    frames: {
      1: { method: 1, line: 1, jdk: false, file: "", source: "" },
      2: { method: 2, line: 2, jdk: false, file: "", source: "" },
      3: { method: 3, line: 0, jdk: true, file: "", source: "" },
    },
    chains: { 1: [2, 1], 2: [3, 3, 2, 1], 3: [1, 2, 1] },
  });
  return names;
}

describe("flame graphs", () => {
  const chains = groups([[[1], 10], [[2], 5], [[3], 1], [[0], 2]]);
  it("add up what is below, root first", () => {
    const root = flame({ groups: chains, names: book() }, { fold: true, inverted: false });
    expect(root.total).toBe(18);
    const run = root.children[0]!;
    expect([run.name, run.total, run.self]).toEqual(["app.A.run", 16, 0]);
    const work = run.children[0]!;
    expect([work.name, work.total, work.self]).toEqual(["app.B.work", 16, 10]);
    expect(work.children.map((child) => [child.name, child.total])).toEqual([["(JDK)", 5], ["app.A.run", 1]]);
    expect(root.children[1]!.name).toBe("unknown");
    expect(follow(root, [run.key, work.key, JDK]).at(-1)!.total).toBe(5);
  });
  it("a method that calls itself counts once", () => {
    expect(flat(chains, book()).find((method) => method.name === "app.A.run")).toEqual({ name: "app.A.run", self: 1, total: 16 });
  });
  it("a method has its own time by interval, whatever called it", () => {
    const overTime = groups([[[1, 0], 3], [[1, 1], 2], [[2, 1], 5], [[0, 0], 9]]);
    const lines = selfOver(overTime, book(), 2);
    const total = [...lines.values()].flat().reduce((sum, time) => sum + time, 0);
    const leaves = new Map(flat({ ...chains, value: [1, 2], total: [5, 5], parent: [-1, -1] }, book()).filter(({ self }) => self > 0).map(({ name, self }) => [name, self]));
    expect([total, new Map([...lines].map(([name, line]) => [name, line[0]! + line[1]!]))]).toEqual([10, leaves]);
    expect([...lines.values()].map((line) => line.length)).toEqual([...lines].map(() => 2));
  });
  it("have what is beyond the limit as one frame, so that the whole is the whole", () => {
    const cut = { ...chains, totalNs: 25, leftOut: 3 };
    const root = flame({ groups: cut, names: book() }, { fold: true, inverted: false });
    expect([root.total, root.children.find((child) => child.key === REST)]).toMatchObject([25, { name: "(other stacks)", total: 7, self: 7 }]);
  });
  it("of callers have no self time", () => {
    const root = flame({ groups: chains, names: book() }, { fold: false, inverted: true });
    expect(root.children.map((child) => [child.name, child.total, child.self])).toEqual([["app.B.work", 10, 0], ["java.lang.Object.wait", 5, 0], ["unknown", 2, 0], ["app.A.run", 1, 0]]);
  });
  it("two recordings meet by name", () => {
    const other = new NameBook();
    other.learn({ ...NO_NAMES, texts: { 8: "app.A.run" }, frames: { 9: { method: 8, line: 0, jdk: false, file: "", source: "" } }, chains: { 5: [9] } });
    const root = flame({ groups: chains, names: book() }, { fold: true, inverted: false }, { groups: groups([[[5], 40]]), names: other });
    expect([root.before, root.children[0]!.name, root.children[0]!.before]).toEqual([40, "app.A.run", 40]);
  });
});

describe("a tree of 5000 stacks", () => {
  /** Counts how often a frame or call stack is looked up. */
  class Counting extends NameBook {
    looked = 0;
    override frame(id: number) { this.looked++; return super.frame(id); }
    override chain(id: number) { this.looked++; return super.chain(id); }
  }
  const names = new Counting();
  const DEPTH = 50;
  const METHODS = 500;
  for (let id = 1; id <= METHODS; id++) {
    names.texts.set(id, `app.C${id}.run`);
    names.frames.set(id, { method: id, line: 1, jdk: id % 5 === 0, file: "", source: "" });
  }
  // Leaf first: two stacks differ in the frames next to their leaf.
  for (let chain = 1; chain <= 5000; chain++) names.chains.set(chain, Array.from({ length: DEPTH }, (_, depth) => 1 + (Math.floor(chain / 3 ** depth) + depth) % METHODS));
  const stacks = { groups: groups(Array.from({ length: 5000 }, (_, at) => [[at + 1], 7])), names };
  it("looks up each call stack and frame once, whatever is chosen of it", () => {
    names.looked = 0;
    const root = flame(stacks, { fold: true, inverted: false });
    expect([root.total, names.looked]).toEqual([35_000, 5000 + METHODS]);
    const inverted = flame(stacks, { fold: false, inverted: true });
    const { callers } = sandwich(stacks, "app.C7.run", true);
    expect([inverted.total, callers.total > 0, names.looked]).toEqual([35_000, true, 5000 + METHODS]);
  });
  it("makes objects only of the frames that are drawn, and of those beside them", () => {
    const root = flame(stacks, { fold: false, inverted: false });
    let asked = 0;
    const kind = Object.getPrototypeOf(Object.getPrototypeOf(root)) as FlameNode;
    const { get } = Object.getOwnPropertyDescriptor(kind, "children")!;
    const spy = vi.spyOn(kind, "children", "get").mockImplementation(function (this: FlameNode) { asked++; return get!.call(this) as FlameNode[]; });
    const { boxes } = layout(root, { width: 1000 });
    spy.mockRestore();
    expect(boxes.length).toBeGreaterThan(DEPTH);
    // Each attempt of the layout asks each frame for its children once.
    expect(asked).toBeLessThanOrEqual(MOST_FRAMES * 12);
  });
  it("finds the time of what was searched for without any of them", () => {
    const root = flame(stacks, { fold: false, inverted: false });
    const has = (chain: number) => names.chain(chain).some((frame) => names.text(frame).includes("C7."));
    expect(root.matched("c7.")).toBe(7 * Array.from({ length: 5000 }, (_, at) => at + 1).filter(has).length);
    expect([root.matched("all"), root.matched("nothing")]).toEqual([35_000, 0]);
  });
});

describe("a tree whose nodes are made when they are asked for", () => {
  interface Plain { name: string; total: number; before: number; self: number; children: Plain[] }
  /** The same tree, made of all frames at once. */
  function plain(paths: { names: string[]; total: number; before: number }[], isInverted: boolean): Plain {
    const root: Plain = { name: "all", total: 0, before: 0, self: 0, children: [] };
    for (const { names, total, before } of paths) {
      let node = root;
      for (const name of [null, ...(isInverted ? [...names].reverse() : names)]) {
        if (name !== null) {
          let next = node.children.find((child) => child.name === name);
          if (!next) node.children.push((next = { name, total: 0, before: 0, self: 0, children: [] }));
          node = next;
        }
        node.total += total;
        node.before += before;
      }
      if (!isInverted) node.self += total;
    }
    return sorted(root);
  }
  const sorted = ({ children, ...node }: Plain): Plain => {
    const most = (one: Plain) => Math.max(one.total, one.before);
    return { ...node, children: children.map(sorted).sort((a, b) => most(b) - most(a) || (a.name < b.name ? -1 : 1)) };
  };
  const made = ({ name, total, before, self, children }: FlameNode): Plain => ({ name, total, before, self, children: children.map(made) });
  const folded = (names: string[]) => names.map((name) => (name.startsWith("java.") ? "(JDK)" : name)).filter((name, at, all) => name !== "(JDK)" || all[at - 1] !== "(JDK)");

  // Few methods on stacks of very different depth: most stacks begin or end like others, and some are a part of others.
  let seed = 7;
  const random = (below: number) => (seed = (seed * 1103515245 + 12345) % 2147483648) % below;
  const names = new NameBook();
  for (let id = 1; id <= 6; id++) {
    names.texts.set(id, id % 3 === 0 ? `java.util.C${id}.run` : `app.C${id}.run`);
    names.frames.set(id, { method: id, line: 1, jdk: id % 3 === 0, file: "", source: "" });
  }
  for (let chain = 1; chain <= 300; chain++) names.chains.set(chain, Array.from({ length: 1 + random(12) }, () => 1 + random(6)));
  const side = () => groups(Array.from({ length: 200 }, () => [[1 + random(300)], 1 + random(50)] as [number[], number]));
  const [now, before] = [side(), side()];
  const paths = (stacks: Groups, of: "total" | "before") => stacks.value.map((chain, at) => ({
    names: names.chain(chain).map((frame) => names.text(names.frame(frame).method)).reverse(), total: 0, before: 0, [of]: stacks.total[at]!,
  }));
  it.each([[false, false], [false, true], [true, false], [true, true]])("is the tree of all frames (folded %s, inverted %s)", (fold, inverted) => {
    const all = [...paths(now, "total"), ...paths(before, "before")].map((path) => (fold ? { ...path, names: folded(path.names) } : path));
    const root = flame({ groups: now, names }, { fold, inverted }, { groups: before, names });
    expect(made(root)).toEqual(plain(all, inverted));
    const has = ({ names }: { names: string[] }) => names.some((name) => name.includes("C4."));
    expect(root.matched("c4.")).toBe(all.filter(has).reduce((sum, { total }) => sum + total, 0));
  });
});

describe("callers and callees", () => {
  const names = book();
  names.learn({ ...NO_NAMES, chains: { 4: [2, 1, 2, 1], 5: [2, 2], 6: [3, 2, 3] } });
  const chains = groups([[[1], 10], [[2], 5], [[4], 3], [[5], 2], [[6], 7]]);
  const of = (method: string, fold = true) => sandwich({ groups: chains, names }, method, fold);
  const drawn = (node: { name: string; total: number; self: number; children: unknown[] }, depth = 0): string[] => [
    `${"  ".repeat(depth)}${node.name} ${node.total} ${node.self}`,
    ...(node.children as (typeof node)[]).flatMap((child) => drawn(child, depth + 1)),
  ];
  it("of a method are from its outermost call on, a stack counting once", () => {
    const { callers, callees } = of("app.B.work");
    expect(drawn(callers)).toEqual(["app.B.work 27 15", "  app.A.run 18 0", "  (JDK) 7 0"]);
    expect(drawn(callees)).toEqual(["app.B.work 27 15", "  (JDK) 12 12", "  app.A.run 3 0", "    app.B.work 3 3", "  app.B.work 2 2"]);
  });
  it("have the same total and self as the list of methods", () => {
    for (const method of flat(chains, names)) expect(of(method.name).callees).toMatchObject({ total: method.total, self: method.self });
  });
  it("of a method of the JDK are not folded into it", () => {
    expect(drawn(of("java.lang.Object.wait").callers)).toEqual(["java.lang.Object.wait 12 12", "  app.B.work 5 0", "    app.A.run 5 0"]);
  });
  it("of what is on no stack are nothing", () => {
    expect(of("app.C.none").callees.total).toBe(0);
  });
});

describe("comparisons", () => {
  const even = (total: number) => groups(Array.from({ length: PIECES }, (_, piece) => [[1, piece], total] as [number[], number]));
  const uneven = groups([[[1, 0], 12_000]]);
  const rate = (totals: Groups) => rates(totals, () => "lock", new Array<number>(PIECES).fill(1));
  it("a steady change is shown", () => {
    expect(changes(rate(even(100)), rate(even(300)))[0]).toMatchObject({ difference: 200, verdict: "worse" });
    expect(changes(rate(even(300)), new Map())[0]).toMatchObject({ difference: -300, verdict: "better" });
  });
  it("per transaction and CPU second a program that does more is not worse", () => {
    const made = cut({ from: 0, to: PIECES * 1e9 }, PIECES, 0);
    const counted = groups(Array.from({ length: PIECES }, (_, piece) => [[piece], 2e9] as [number[], number]));
    countsOf(counted).fill(50);
    expect(unitsOf("second", made, counted)).toEqual(new Array(PIECES).fill(1));
    expect(unitsOf("cpu", made, counted)).toEqual(new Array(PIECES).fill(2));
    expect(unitsOf("transaction", made, counted)).toEqual(new Array(PIECES).fill(50));
    const twice = rates(even(200), () => "lock", unitsOf("cpu", made, counted));
    expect(changes(rate(even(100)), twice)[0]).toMatchObject({ difference: 0, verdict: "within noise" });
  });
  it("of stacks follow the same rule as those of locks, frame by frame", () => {
    const side = (total: (piece: number) => number) => ({ names: book(), pieces: PIECES, groups: groups(Array.from({ length: PIECES }, (_, piece) => [[2, piece], total(piece)] as [number[], number])) });
    const units = [new Array<number>(PIECES).fill(1), new Array<number>(PIECES).fill(2)] as const;
    const change = (before: (piece: number) => number, after: (piece: number) => number) =>
      frameChange(flame(side(after), { fold: true, inverted: false }, side(before)).children[0]!.children[0]!, units);
    expect(change(() => 100, () => 200)).toMatchObject({ name: "app.B.work", before: { mean: 100 }, after: { mean: 100 }, verdict: "within noise" });
    expect(change(() => 100, () => 600)).toMatchObject({ difference: 200, verdict: "worse" });
    expect(change(() => 100, (piece) => (piece === 0 ? 7200 : 0))).toMatchObject({ difference: 200, verdict: "within noise" });
    expect(change(() => 300, () => 0)).toMatchObject({ difference: -300, verdict: "better" });
    const plain = flame({ groups: groups([[[2], 5]]), names: book() }, { fold: true, inverted: false });
    expect(frameChange(plain, units)).toBe(null);
  });
  it("start-up is left out", () => {
    expect(withoutStartUp(20e9)).toEqual({ from: 2e9, to: 20e9 });
    expect(withoutStartUp(3600e9)).toEqual({ from: 10e9, to: 3600e9 });
    expect(partOf("", 20e9)).toEqual({ from: 2e9, to: 20e9 });
    expect(partOf("5-30000000000", 20e9)).toEqual({ from: 5, to: 20e9 });
    expect(partOf("20000000000-30000000000", 20e9)).toBeNull();
  });
  it("one burst is not more than noise", () => {
    expect(changes(rate(even(900)), rate(uneven))[0]!.verdict).toBe("within noise");
  });
});

describe("pressure of locks", () => {
  const names = new NameBook();
  names.learn({ ...NO_NAMES, texts: { 1: "Stock.lock", 2: "com.acme.Stock" }, locks: { 1: { name: "Stock.lock (com.acme.Stock@1)", short: "Stock.lock", class: 2, title: 1 }, 2: { name: "Stock.lock (com.acme.Stock@2)", short: "Stock.lock", class: 2, title: 1 } } });
  const phase = (from: number, mean: number) => ({ from, to: from + 10, mean, peak: mean, acquiring: "", owner: "" });
  const pressure = {
    intervalNs: 10,
    threshold: 0.05,
    windows: [[0, 0.1], [10, 0.4], [20, 0]] as [number, number][],
    running: [300, 100, 0],
    locks: [
      { lock: 1, mean: 0.1, peak: 0.3, windows: [[10, 0.3]] as [number, number][], phases: [phase(10, 0.3)] },
      { lock: 2, mean: 0.1, peak: 0.4, windows: [[0, 0.1], [10, 0.1]] as [number, number][], phases: [phase(0, 0.4)] },
    ],
  };
  it("is a line with every interval, as long as the recording", () => {
    const all = { from: 0, to: 25 };
    expect(pressureEdges(pressure, all, 25)).toEqual([0, 10, 20, 25]);
    expect(linesOf(pressure, names, "", all, 9).map((line) => [line.label, ...line.values])).toEqual([["Stock.lock", 0.1, 0.4, 0]]);
    // Time acquiring the lock over running time, of the range as of a phase: in an interval that is cut short threads run less.
    expect(linesOf(pressure, names, "", all, 9)[0]!.mean).toBeCloseTo((0.1 * 300 + 0.4 * 100) / 400, 9);
    expect(phasesOf(pressure, names, 1, all)[0]!.mean).toBeCloseTo((0.1 * 300 + 0.4 * 100) / 400, 9);
    expect(linesOf(pressure, names, "stock@2", all, 9).map((line) => line.lock)).toEqual([2]);
    expect(linesOf(pressure, names, "=com.acme.Stock", all, 1).map((line) => line.lock)).toEqual([1]);
    expect(linesOf(pressure, names, "=Stock.lock", all, 9)).toHaveLength(1);
    expect(linesOf(pressure, names, "=Stock", all, 9)).toEqual([]);
  });
  it("of a part of the recording is that of the part", () => {
    const part = { from: 0, to: 9 };
    expect(pressureEdges(pressure, part, 25)).toEqual([0, 10]);
    expect(linesOf(pressure, names, "", part, 9).map((line) => [line.lock, line.values, line.mean])).toEqual([[1, [0.1], 0.1]]);
    expect(phasesOf(pressure, names, 1, part).map((one) => one.from)).toEqual([0]);
  });
  it("phases of objects of one name belong together, the worst first", () => {
    expect(phasesOf(pressure, names, 1, { from: 0, to: 25 }).map((one) => one.from)).toEqual([0]);
    expect(phasesOf(pressure, names, 7, { from: 0, to: 25 })).toEqual([]);
  });
});
