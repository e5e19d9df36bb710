// The page says the same as `headway report --json`: of each lock, thread, interval and
// kind, in every range, whether or not short contentions had to be added up.
import { readFileSync } from "node:fs";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Answer, Aspect, Facts, Groups, Kind, Query, Scope } from "../src/data/contract";
import { EmbeddedSource } from "../src/data/embedded";
import { countsOf } from "../src/data/group";
import { average, cut, snap } from "../src/data/intervals";
import { STATES, states } from "../src/data/states";
import { count, duration } from "../src/text/units";
import { breakdown, browser, open, report, scratch, serve, SIZE, type Row, type Served } from "./stage";

const SECOND = 1e9;
const BLOCKED: Kind[] = ["monitor", "juc"];
/** The kinds of the breakdown of `report --json`: parks on conditions, too. */
const ALL: Kind[] = ["monitor", "juc", "park"];
const CONTEXT: Kind[] = ["alive", "wait", "park", "cpu", "ran", "stolen", "throttled", "queued"];
const NO_FILTER = { thread: "", lock: "", method: "", services: false };

/** Recordings, and how many rows a page keeps of each; 0 is as many as by default. */
const PAGES: [string, number][] = [["shop.jfr", 0], ["shop.jfr", 300], ["shop-after.jfr", 0], ["crowd.jfr", 0], ["crowd.jfr", 60_000], ["crowd.jfr", 30_000]];

const place = scratch();
let chromium: Browser;

beforeAll(async () => {
  chromium = await browser();
});

afterAll(async () => {
  await chromium?.close();
  place.remove();
});

/** Paths of values with time and contentions, of what `report --json` prints. */
function linesOfReport(rows: Row[], above = ""): Map<string, string> {
  const lines = new Map<string, string>();
  for (const row of rows) {
    const path = `${above}/${row.value}`;
    lines.set(path, `${row.total_ns} ns in ${row.count}`);
    for (const [below, text] of linesOfReport(row.children, path)) lines.set(below, text);
  }
  return lines;
}

/** Rows below kinds of locks as one level, most time first. */
function blockedOnly(rows: Row[]): Row[] {
  const found = new Map<string, Row>();
  for (const row of rows.filter((one) => one.value !== "conditional").flatMap((one) => one.children)) {
    const other = found.get(row.value);
    found.set(row.value, other ? { ...other, total_ns: other.total_ns + row.total_ns, count: other.count + row.count } : row);
  }
  return [...found.values()].sort((a, b) => b.total_ns - a.total_ns);
}

function linesOfPage(groups: Groups, by: Aspect[], text: (by: Aspect, value: number) => string): Map<string, string> {
  const paths: string[] = [];
  const depths: number[] = [];
  const lines = new Map<string, string>();
  groups.value.forEach((value, at) => {
    const parent = groups.parent[at]!;
    depths[at] = parent < 0 ? 0 : depths[parent]! + 1;
    paths[at] = `${parent < 0 ? "" : paths[parent]}/${text(by[depths[at]!]!, value)}`;
    lines.set(paths[at]!, `${groups.total[at]} ns in ${countsOf(groups)[at]}`);
  });
  return lines;
}

describe.each(PAGES)("the page of %s with %i rows", (name, rows) => {
  let file: string;
  let embedded: EmbeddedSource;
  let served: Served;
  let facts: Facts;
  const options = rows > 0 ? ["--rows", String(rows)] : [];

  beforeAll(async () => {
    file = report(place.file(`${name}-${rows}.html`), [name], options);
    const packed = [...readFileSync(new URL(file), "utf8").matchAll(/class="headway-recording">([^<]*)</g)].map((match) => match[1]!);
    embedded = await EmbeddedSource.unpack(packed, "");
    facts = embedded.opening.recordings[0]!;
    served = await serve([name], options);
  });

  afterAll(() => served?.stop());

  const scope = (change: Partial<Scope> = {}): Scope => ({ recording: 0, from: 0, to: facts.durationNs, filter: NO_FILTER, kinds: ALL, within: [], ...change });

  /** The answer of the page in one file; the served one says the same. */
  async function ask(query: Query): Promise<Groups> {
    const reply = await fetch(`${served.address}query`, { method: "POST", body: JSON.stringify(query) });
    expect(reply.status).toBe(200);
    const { names: _, ...other } = (await reply.json()) as Answer & Groups;
    const { names: __, ...answer } = embedded.answer(query) as unknown as Answer & Groups;
    expect(answer).toEqual(other);
    return answer as unknown as Groups;
  }

  function text(by: Aspect, value: number): string {
    const names = embedded.names(0);
    if (by === "kind") return ["monitor", "juc", "wait", "conditional"][value]!;
    if (by === "time") return `+${value}s`;
    if (by === "lock") return names.lock(value).name;
    return by === "contender-thread" ? names.thread(value).name : names.text(value);
  }

  it("keeps what it should", () => {
    expect(facts.summed > 0).toBe(rows > 0);
    expect(facts.baseNs > 0).toBe(rows > 0);
    if (name === "crowd.jfr") expect(facts.baseNs).toBeLessThanOrEqual(SECOND);
    expect(facts.foldedThreads).toBe(0);
  });

  it.each([
    ["everything", ["kind", "contender-thread", "lock"], null],
    ["another order", ["kind", "lock", "contender-thread"], null],
    ["every second", ["kind", "time", "contender-thread", "lock"], null],
    ["every second of a lock", ["kind", "lock", "time"], null],
    ["a part", ["kind", "contender-thread", "lock"], [1, 4]],
    ["a part of a second by thread", ["kind", "contender-thread"], [2.2, 2.4]],
    ["a part of a second by lock", ["kind", "lock"], [2.2, 2.4]],
    ["the end by time", ["kind", "time"], [3, 900]],
  ] as [string, Aspect[], [number, number] | null][])("has the time and contentions of %s", async (_, by, part) => {
    const { from, to } = snap({ from: (part?.[0] ?? 0) * SECOND, to: Math.min(facts.durationNs, (part?.[1] ?? 900) * SECOND) }, facts.baseNs, facts.durationNs);
    // Little of a short recording may be left one by one; the report's intervals are seconds.
    if (by.includes("time") && facts.baseNs > SECOND) return;
    const range = part ? [`--from=${from}ns`, `--to=${to}ns`] : [];
    const expected = breakdown(name, by, range);
    // Seconds count from the begin of the range.
    const seconds = Math.ceil((to - from) / SECOND);
    const answer = await ask({ ask: "group", scope: scope({ from, to: by.includes("time") ? from + seconds * SECOND : to }), by, intervals: seconds, limit: 100_000 });
    const { totalNs, count } = await ask({ ask: "group", scope: scope({ from, to, kinds: BLOCKED }), by: [], intervals: 1, limit: 1 });
    expect([totalNs, count]).toEqual([expected.blocked_ns, expected.contentions]);
    const shown = linesOfPage(answer, by, text);
    expect(Object.fromEntries(shown)).toEqual(Object.fromEntries(linesOfReport(expected.rows)));
    expect(answer.rest.every((rest) => rest === 0) && answer.restNs === 0).toBe(true);
  });

  it("says how much of the time it knows no stacks of, and nothing is more than the whole", async () => {
    for (const by of [["lock-name", "owner-method"], ["owner-chain"], ["contender-thread", "contender-method", "owner-thread"], ["owner-method", "time"]] as Aspect[][]) {
      for (const range of [{ from: 0, to: facts.durationNs }, { from: 2 * SECOND, to: 4 * SECOND }]) {
        const made = cut(snap(range, facts.baseNs, facts.durationNs), 7, facts.baseNs);
        const { from, to } = made;
        const plain = await ask({ ask: "group", scope: scope({ from, to }), by: by.filter((one) => one === "lock-name"), intervals: 1, limit: 100_000 });
        const answer = await ask({ ask: "group", scope: scope({ from, to }), by, intervals: made.intervals, limit: 100_000 });
        expect([answer.totalNs, answer.count]).toEqual([plain.totalNs, plain.count]);
        const below = (parent: number) => answer.total.reduce((sum, total, at) => sum + (answer.parent[at] === parent ? total : 0), 0);
        expect(below(-1) + answer.restNs).toBe(answer.totalNs);
        const inner = answer.value.map((_, at) => at).filter((at) => answer.parent.includes(at));
        for (const at of inner) expect(below(at) + answer.rest[at]!).toBe(answer.total[at]);
        if (rows === 0) expect([answer.restNs, ...answer.rest].every((rest) => rest === 0)).toBe(true);
      }
    }
  });

  it("never has more threads blocked, waiting and running than alive", async () => {
    const made = cut({ from: 0, to: facts.durationNs }, 300, facts.baseNs);
    const group = (kinds: Kind[], by: Aspect[]) => ask({ ask: "group", scope: scope({ kinds, to: made.to }), by, intervals: made.intervals, limit: 100_000 });
    const alive = await group(["alive"], ["time"]);
    const lived = new Map(alive.value.map((interval, at) => [interval, alive.total[at]!]));
    const time = states(await group(BLOCKED, ["thread-kind", "kind", "time"]), await group(CONTEXT, ["thread-kind", "kind", "time"]), made.intervals, facts.samplesWeighted);
    const platform = STATES.filter((state) => !state.startsWith("virtual"));
    for (let at = 0; at < made.intervals; at++) {
      const sum = platform.reduce((sum, state) => sum + time[state][at]!, 0);
      // The recording knows of a thread's life as long as it does anything.
      expect(sum, `interval ${at} of ${average(made, at, sum)} threads`).toBeLessThanOrEqual((lived.get(at) ?? 0) + 1);
    }
    // And each thread alone.
    const threads = await group(["monitor", "juc", "wait", "park"], ["contender-thread", "time"]);
    threads.total.forEach((total, at) => {
      if (threads.parent[at]! >= 0) expect(total).toBeLessThanOrEqual(made.length);
    });
  });

  it("shows it in the browser", async () => {
    const context = await chromium.newContext({ viewport: SIZE });
    const views: [string, string, [number, number] | null][] = [[file, "contender-thread", null], [served.address, "lock", null], [file, "lock", [2, 3]]];
    for (const [address, by, range] of views) {
      const { from, to } = snap(range ? { from: range[0] * SECOND, to: range[1] * SECOND } : { from: 0, to: facts.durationNs }, facts.baseNs, facts.durationNs);
      const hash = range ? `&range=${from}-${to}` : "";
      const expected = breakdown(name, ["kind", by], range ? [`--from=${from}ns`, `--to=${to}ns`] : []);
      if (blockedOnly(expected.rows).length === 0) continue;
      const { page, complaints } = await open(context, `${address}#/locks?by=${by}${hash}`);
      await page.locator(".tablerow").first().waitFor();
      expect(await page.locator(".card .foot").first().innerText()).toContain(`${duration(expected.blocked_ns)} blocked in ${count(expected.contentions)} contentions`);
      const shown = await page.locator(".tablerow").evaluateAll((all) => all.map((one) => [...one.querySelectorAll("[role=gridcell]")].map((cell) => cell.textContent!.trim())));
      const values = shown.slice(0, 10).map(([, total, , contentions]) => `${total} in ${contentions}`);
      const wanted = blockedOnly(expected.rows).slice(0, 10).map((row) => `${duration(row.total_ns)} in ${count(row.count)}`);
      expect(values).toEqual(wanted);
      expect(complaints).toEqual([]);
      await page.close();
    }
    await context.close();
  });
});
