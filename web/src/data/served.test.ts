import { describe, expect, it, vi } from "vitest";
import type { Aspect, Facts, Now } from "./contract";
import { noGroups } from "./group";
import { ServedSource } from "./served";

/** Call stacks of the recording; the command answers with those that a filter leaves. */
const STACKS = 600;

describe("names of call stacks", () => {
  const asked: string[] = [];
  /** What the command answers: so many stacks, the first with this id. */
  const answers = (first: number, count: number) =>
    vi.stubGlobal("fetch", (path: string) => {
      asked.push(path);
      const value = Array.from({ length: count }, (_, at) => first + at);
      const chains = Object.fromEntries(value.map((id) => [id, [id]]));
      const groups = { ...noGroups(), value, parent: value.map(() => -1), total: value };
      const names = path.includes("names=no") ? groups.names : { ...groups.names, chains };
      return Promise.resolve({ ok: true, status: 200, json: () => Promise.resolve({ answer: "group", ...groups, names }) });
    });
  const ask = async (source: ServedSource, ...by: Aspect[]) => {
    asked.length = 0;
    const scope = { recording: 0, from: 0, to: 1, filter: { thread: "", lock: "", method: "", services: false }, kinds: [], within: [] };
    const { value } = await source.ask({ ask: "group" as const, scope, by, intervals: 1, limit: 5000 });
    return { asked: [...asked], isNamed: value.every((id) => source.names(0).chain(id).length === 1) };
  };
  it("are asked for once, and again only for an answer that has others", async () => {
    const source = new ServedSource({ recordings: [{} as Facts], version: "", live: null });
    answers(0, STACKS);
    expect(await ask(source, "contender-chain")).toEqual({ asked: ["query"], isNamed: true });
    answers(10, 20);
    expect(await ask(source, "contender-chain", "time")).toEqual({ asked: ["query?names=no"], isNamed: true });
    expect(await ask(source, "contender-chain", "owner-chain")).toEqual({ asked: ["query"], isNamed: true });
    answers(STACKS - 1, 2);
    expect(await ask(source, "inside")).toEqual({ asked: ["query?names=no", "query"], isNamed: true });
  });

  it("stay those of the reading that was asked", async () => {
    const live: Now = { beginning: 1, generation: 1, removedNs: 0, reading: null, recordings: [], ended: "", againMs: 0 };
    const source = new ServedSource({ recordings: [{} as Facts], version: "", live });
    answers(0, STACKS);
    const before = source.names(0);
    const { fetch } = globalThis;
    // The recording is read again after the command answered, before the answer is taken in.
    vi.stubGlobal("fetch", async (path: string) => {
      const reply = await fetch(path);
      return { ...reply, json: () => (source.take({ ...live, beginning: 2, recordings: [{} as Facts] }), reply.json()) };
    });
    await ask(source, "contender-chain");
    expect(before.chains.size).toBe(STACKS);
    expect(source.names(0).chains.size).toBe(0);
  });
});
