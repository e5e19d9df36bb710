import { beforeAll, describe, expect, it, vi } from "vitest";
import type { Facts, Now } from "../data/contract";

// The view follows the address of a page.
vi.stubGlobal("location", { hash: "" });
vi.stubGlobal("addEventListener", () => undefined);
vi.stubGlobal("history", { pushState: () => undefined, replaceState: () => undefined });
vi.stubGlobal("document", { hidden: false });

type Live = typeof import("./live");
type Served = typeof import("../data/served");
let live: Live;
let served: Served;
beforeAll(async () => {
  live = await import("./live");
  served = await import("../data/served");
});

const facts = (startEpochMs: number, durationNs: number) => ({ startEpochMs, durationNs }) as Facts;
const now = (generation: number, rest: Partial<Now> = {}): Now => ({ generation, beginning: 1, recordings: [], ended: "", againMs: 1, ...rest });

describe("a recording whose front was removed", () => {
  it("keeps the chosen range in place, or drops it with the part that it was", () => {
    const range = { from: 3e9, to: 5e9 };
    expect(live.shifted(range, facts(1_000, 6e9), facts(2_000, 6e9))).toEqual({ from: 2e9, to: 4e9 });
    expect(live.shifted(range, facts(1_000, 6e9), facts(5_000, 6e9))).toEqual({ from: 0, to: 1e9 });
    expect(live.shifted(range, facts(1_000, 6e9), facts(9_000, 6e9))).toBeNull();
    expect(live.shifted(null, facts(1_000, 6e9), facts(9_000, 6e9))).toBeNull();
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
  it("says when the command that serves it has ended", async () => {
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
    await live.follow(new served.ServedSource({ recordings: [facts(0, 1e9)], version: "", live: now(1) }));
    expect(live.ended.value).toContain("The command that serves this page has ended");
  });
});
