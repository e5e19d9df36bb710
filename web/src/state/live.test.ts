import { beforeAll, describe, expect, it, vi } from "vitest";
import type { Facts, Now } from "../data/contract";
import { NO_NAMES } from "../data/group";

// The view follows the address of a page.
vi.stubGlobal("location", { hash: "" });
const heard = new Map<string, (event: { button: number }) => void>();
vi.stubGlobal("addEventListener", (name: string, hear: (event: { button: number }) => void) => heard.set(name, hear));
vi.stubGlobal("history", { pushState: () => undefined, replaceState: () => undefined });
vi.stubGlobal("document", { hidden: false });

type Live = typeof import("./live");
type Served = typeof import("../data/served");
let live: Live;
let served: Served;
let state: typeof import("./view");
beforeAll(async () => {
  live = await import("./live");
  served = await import("../data/served");
  state = await import("./view");
});

const facts = (startEpochMs: number, durationNs: number) => ({ startEpochMs, durationNs }) as Facts;
const now = (generation: number, rest: Partial<Now> = {}): Now => ({ generation, beginning: 1, removedNs: 0, recordings: [], ended: "", againMs: 1, reading: null, ...rest });

describe("a recording whose front was removed", () => {
  const range = { from: 3e9, to: 5e9 };
  const contention = { kind: "monitor" as const, start: 4_000_000_123, thread: "order-1#21" };
  it("keeps the chosen range and contention in place, or drops the range with the part that it was", () => {
    expect(live.shifted({ range, contention }, 1e9)).toEqual({ range: { from: 2e9, to: 4e9 }, contention: { ...contention, start: 3_000_000_123 } });
    expect(live.shifted({ range, contention }, 4.5e9)).toEqual({ range: { from: 0, to: 0.5e9 }, contention: { ...contention, start: 0 } });
    expect(live.shifted({ range, contention: null }, 5e9)).toEqual({ range: null, contention: null });
    expect(live.shifted({ range: null, contention: null }, 5e9)).toEqual({ range: null, contention: null });
  });
  it("is asked again with times from the new beginning, and the page shows that", async () => {
    const asked: string[] = [];
    const scope = { recording: 0, ...range, filter: { thread: "", lock: "", method: "", services: false }, kinds: [], within: [] };
    const question = { ask: "lanes" as const, scope, first: 0, count: 1, pixels: 1 };
    vi.stubGlobal("fetch", (path: string, { body }: { body: string }) => {
      asked.push(`${path} ${body}`);
      const moved = path === "query?beginning=1";
      const answer = path === "now" ? now(2, { beginning: 2, removedNs: 1e9, recordings: [facts(1_000, 6e9)], ended: "Over." }) : { answer: "lanes", lanes: [], names: NO_NAMES };
      return Promise.resolve({ ok: !moved, status: moved ? 409 : 200, json: () => Promise.resolve(answer), text: () => Promise.resolve("moved") });
    });
    state.view.value = { ...state.view.value, range, contention };
    live.paused.value = true;
    const source = new served.ServedSource({ recordings: [facts(0, 6e9)], version: "", live: now(1, { againMs: 50 }) });
    const following = live.follow(source);
    await source.ask(question);
    live.paused.value = false;
    expect(asked).toEqual([
      `query?beginning=1 ${JSON.stringify(question)}`,
      "now 1",
      `query?beginning=2 ${JSON.stringify({ ...question, scope: { ...scope, from: 2e9, to: 4e9 } })}`,
    ]);
    expect(state.view.value.range).toEqual({ from: 2e9, to: 4e9 });
    expect(state.view.value.contention).toEqual({ ...contention, start: 3_000_000_123 });
    await following;
  });
});

describe("a running recording", () => {
  it("grows with each answer that has something new, until it ends, and names stay known", async () => {
    const answers = [now(1), now(2, { recordings: [facts(0, 2e9)] }), now(3, { recordings: [facts(0, 3e9)], ended: "The JVM 7 has ended." })];
    const asked: string[] = [];
    vi.stubGlobal("fetch", (path: string, { body }: { body: string }) => {
      asked.push(`${path} ${body}`);
      return Promise.resolve({ ok: true, json: () => Promise.resolve(answers[asked.length - 1]) });
    });
    const source = new served.ServedSource({ recordings: [facts(0, 1e9)], version: "", live: now(1) });
    const names = source.names(0);
    await live.follow(source);
    expect(asked).toEqual(["now 1", "now 1", "now 2"]);
    expect(source.opening.recordings[0]?.durationNs).toBe(3e9);
    expect([source.generation, live.ended.value]).toEqual([3, "The JVM 7 has ended. The page keeps what was recorded until then."]);
    expect(source.names(0)).toBe(names);
    source.take(now(4, { beginning: 2 }));
    expect(source.names(0)).not.toBe(names);
  });
  it("is not held by a pointer that drags nothing", async () => {
    const answered = () => Promise.resolve({ ok: true, json: () => Promise.resolve(now(2, { ended: "Over." })) });
    vi.stubGlobal("fetch", answered);
    // Each would hold for good: no end of a press follows.
    for (const events of [["pointerdown 2"], ["pointerdown 0", "contextmenu 0"], ["pointerdown 0", "blur 0"]]) {
      const following = live.follow(new served.ServedSource({ recordings: [facts(0, 1e9)], version: "", live: now(1) }));
      for (const [name = "", button] of events.map((event) => event.split(" "))) heard.get(name)?.({ button: Number(button) });
      await following;
      expect(live.ended.value, events.join()).toContain("Over.");
    }
  });
  it("shows its end on a paused page, too, and nothing else", async () => {
    const answers = [now(2, { recordings: [facts(0, 2e9)] }), now(3, { recordings: [facts(0, 3e9)], ended: "Over." })];
    const shown: (number | undefined)[] = [];
    const source = new served.ServedSource({ recordings: [facts(0, 1e9)], version: "", live: now(1) });
    vi.stubGlobal("fetch", () => {
      shown.push(source.opening.recordings[0]?.durationNs);
      return Promise.resolve({ ok: true, json: () => Promise.resolve(answers[shown.length - 1]) });
    });
    live.paused.value = true;
    await live.follow(source);
    live.paused.value = false;
    expect([...shown, source.opening.recordings[0]?.durationNs]).toEqual([1e9, 1e9, 3e9]);
    expect(live.ended.value).toContain("Over.");
  });
  it("goes on after one failed attempt", async () => {
    let attempts = 0;
    vi.stubGlobal("fetch", () => {
      attempts++;
      return attempts === 1 ? Promise.reject(new TypeError("Failed to fetch")) : Promise.resolve({ ok: true, json: () => Promise.resolve(now(2, { ended: "Over." })) });
    });
    await live.follow(new served.ServedSource({ recordings: [facts(0, 1e9)], version: "", live: now(1) }));
    expect([attempts, live.ended.value]).toEqual([2, "Over. The page keeps what was recorded until then."]);
  });
  it("says when the command that serves it has ended", async () => {
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
    await live.follow(new served.ServedSource({ recordings: [facts(0, 1e9)], version: "", live: now(1) }));
    expect(live.ended.value).toContain("The command that serves this page has ended");
  });
});

describe("a recording that is being read", () => {
  it("is known by its beginning first, and then is a recording like any other", async () => {
    const far = (bytes: number) => ({ reading: { bytes, of: 100 } });
    const answers = [now(0, far(10)), now(1, { ...far(40), beginning: 1, recordings: [facts(0, 1e9)] }), now(1, { ...far(90), beginning: 1 }), now(2, { beginning: 2, recordings: [facts(0, 8e9)] })];
    const source = new served.ServedSource({ recordings: [], version: "", live: now(0, { ...far(0), beginning: 0 }) });
    const seen: [number | undefined, number | undefined][] = [];
    vi.stubGlobal("fetch", (path: string) => {
      seen.push([source.opening.live?.reading?.bytes, source.opening.recordings[0]?.durationNs]);
      const answer = path === "now" ? answers[seen.length - 1] : { answer: "lanes", lanes: [], names: NO_NAMES };
      return Promise.resolve({ ok: true, status: 200, json: () => Promise.resolve(answer) });
    });
    await live.follow(source);
    expect(seen).toEqual([[0, undefined], [10, undefined], [40, 1e9], [90, 1e9]]);
    expect([source.opening.live, source.opening.recordings.length, source.opening.recordings[0]?.durationNs, live.ended.value]).toEqual([null, 1, 8e9, ""]);
  });
});
