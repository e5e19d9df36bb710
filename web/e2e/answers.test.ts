// A page in one file and a served one must say the same.
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Aspect, Kind, Query, Scope } from "../src/data/contract";
import { EmbeddedSource } from "../src/data/embedded";
import { chainKey, hash } from "../src/data/keys";
import { report, scratch, serve, type Served } from "./stage";

const place = scratch();
let served: Served;
let embedded: EmbeddedSource;

beforeAll(async () => {
  const file = place.file("shop.html");
  report(file, ["shop.jfr", "hostile.jfr"]);
  const packed = [...readFileSync(file, "utf8").matchAll(/class="headway-recording">([^<]*)</g)].map((match) => match[1]!);
  expect(packed).toHaveLength(2);
  embedded = await EmbeddedSource.unpack(packed, "");
  served = await serve(["shop.jfr", "hostile.jfr"]);
});

afterAll(() => {
  served?.stop();
  place.remove();
});

async function ask(query: Query): Promise<unknown> {
  const reply = await fetch(`${served.address}query`, { method: "POST", body: JSON.stringify(query) });
  expect(reply.status).toBe(200);
  const { names: _, ...answer } = (await reply.json()) as { names: unknown };
  return answer;
}

function embeddedAnswer(query: Query): unknown {
  const { names: _, ...answer } = embedded.answer(query);
  return answer;
}

const SECOND = 1e9;
const BLOCKED: Kind[] = ["monitor", "juc"];
const ALL: Kind[] = ["monitor", "juc", "wait", "park", "cpu", "wall", "alive", "paused", "inside", "ran", "steal", "throttled", "queued", "transaction"];
const NO_FILTER = { thread: "", lock: "", method: "", services: false };
const whole = (change: Partial<Scope> = {}): Scope => ({ recording: 0, from: 0, to: 12 * SECOND, filter: NO_FILTER, kinds: BLOCKED, within: [], ...change });
const group = (scope: Scope, by: Aspect[], intervals = 1, limit = 100): Query => ({ ask: "group", scope, by, intervals, limit });

const QUERIES: [string, Query][] = [
  ["drill-down", group(whole(), ["lock", "owner-method", "contender-method"])],
  ["every aspect", group(whole(), ["kind", "lock-class", "lock-name", "contender-group", "contender-thread", "owner-group", "owner-thread", "how", "thread-kind"])],
  ["chains", group(whole(), ["contender-chain", "owner-chain"])],
  ["states over time", group(whole({ kinds: ALL }), ["thread-kind", "kind", "time"], 300)],
  ["odd intervals of a part", group(whole({ kinds: ALL, from: 1_234_567_891, to: 4_999_999_999 }), ["kind", "time"], 77)],
  ["filter by thread", group(whole({ kinds: ALL, filter: { ...NO_FILTER, thread: "REQUEST-1" } }), ["kind", "contender-thread"])],
  ["filter by exact lock", group(whole({ filter: { ...NO_FILTER, lock: "=Stock.lock (java.lang.Object@1001)" } }), ["lock"])],
  ["filter by what the code calls locks", group(whole({ filter: { ...NO_FILTER, lock: "=Stock.lock" } }), ["lock"])],
  ["filter by method", group(whole({ filter: { ...NO_FILTER, method: "rebuildindex" } }), ["owner-method"])],
  ["a part of the tree", group(whole({ within: [{ by: "kind", key: "monitor" }, { by: "thread-kind", key: "0" }] }), ["owner-thread"])],
  ["few rows", group(whole(), ["contender-thread"], 1, 2)],
  ["lanes", { ask: "lanes", scope: whole({ kinds: ALL }), first: 0, count: 50, pixels: 100 }],
  ["some lanes", { ask: "lanes", scope: whole({ kinds: ALL, from: 2 * SECOND, to: 3 * SECOND }), first: 2, count: 3, pixels: 1000 }],
  ["inside owners", group(whole({ kinds: ["inside"] }), ["owner-method", "inside", "how"])],
  ["CPU time and off-CPU time of threads", group(whole({ kinds: ["ran", "steal", "throttled", "queued"], from: 7 * SECOND + 5, to: 9 * SECOND }), ["contender-group", "kind", "time"], 7)],
  ["transactions", group(whole({ kinds: ["transaction"] }), ["lock-name", "time"], 60)],
  ["whole", { ask: "whole", recording: 0 }],
  ["whole of hostile names", { ask: "whole", recording: 1 }],
  ["longest", { ask: "longest", scope: whole(), limit: 10 }],
  ["a thread", group(whole({ within: [{ by: "contender-thread", key: "request-1#21" }] }), ["lock", "owner-chain"])],
  ["a call stack", group(whole({ within: [{ by: "contender-chain", key: chainKey(["com.acme.shop.Stock.reserve:44", "com.acme.shop.Requests.serve:18", "java.util.concurrent.ThreadPoolExecutor.runWorker:1144", "java.lang.Thread.run:1583"].map(hash)) }] }), ["lock-name"])],
  ["stacks with a method", group(whole({ kinds: ["cpu", "wall"], stacks: { of: "contender-chain", with: ["com.acme.shop.Json.parse"], without: [] } }), ["contender-chain"])],
  ["stacks of owners with two methods and without one", group(whole({ stacks: { of: "owner-chain", with: ["com.acme.shop.Stock.rebuildIndex", "java.lang.Thread.run"], without: ["com.acme.shop.Index.sort"] } }), ["owner-chain", "time"], 12)],
  ["a contention", { ask: "entry", recording: 0, kind: "monitor", start: 2_025_000_000, thread: "request-1#21" }],
  ["no such contention", { ask: "entry", recording: 0, kind: "monitor", start: 2_025_000_001, thread: "request-1#21" }],
  ["many of hostile names", group(whole({ recording: 1 }), ["contender-thread"], 1, 1000)],
  ["hostile lanes", { ask: "lanes", scope: whole({ recording: 1, kinds: ALL }), first: 0, count: 40, pixels: 200 }],
];

describe("embedded and served answers are the same", () => {
  it.each(QUERIES)("%s", async (name, query) => {
    const answer = await ask(query);
    expect(embeddedAnswer(query)).toEqual(answer);
    if (query.ask === "group") expect(answer).toMatchObject({ totalNs: expect.toSatisfy((time: number) => time > 0) as number, unknown: [] });
    if (query.ask === "entry") expect((answer as { entry: unknown }).entry === null).toBe(name.startsWith("no such"));
  });
  it("of stacks with and without a method add up to all", async () => {
    const time = async (part: Partial<Scope>) => ((await ask(group(whole(part), []))) as { totalNs: number }).totalNs;
    const method = ["com.acme.shop.Stock.rebuildIndex"];
    const [all, those, others, none] = [await time({}), await time({ stacks: { of: "owner-chain", with: method, without: [] } }), await time({ stacks: { of: "owner-chain", with: [], without: method } }), await time({ stacks: { of: "owner-chain", with: ["no.such"], without: [] } })];
    expect([those > 0, others > 0, those + others, none]).toEqual([true, true, all, 0]);
  });
  it("says what the recording does not have", async () => {
    const query = group(whole({ within: [{ by: "lock-name", key: "Stick.lock" }, { by: "kind", key: "monitor" }] }), ["lock"]);
    expect(await ask(query)).toMatchObject({ totalNs: 0, unknown: ["Stick.lock"] });
    expect(embeddedAnswer(query)).toEqual(await ask(query));
  });
});

describe("the server", () => {
  it("answers only who knows the secret and names this host", async () => {
    const address = new URL(served.address);
    expect((await fetch(address.origin)).status).toBe(404);
    expect((await fetch(`${address.origin}/${"0".repeat(32)}/`)).status).toBe(404);
    expect((await fetch(served.address, { headers: { Origin: "http://evil.example" } })).status).toBe(403);
    const page = await fetch(served.address);
    expect(page.status).toBe(200);
    expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(page.headers.get("x-content-type-options")).toBe("nosniff");
  });
  it("refuses what is no question", async () => {
    const reply = await fetch(`${served.address}query`, { method: "POST", body: '{"ask":"everything"}' });
    expect(reply.status).toBe(400);
  });
});
