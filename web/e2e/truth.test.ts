// The page says the same as `headway report --json`: of each lock, thread, interval and
// kind, in every range, whether or not short contentions had to be added up, and of
// recordings of every kind.
import { readFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Answer, Aspect, Facts, Groups, Kind, Query, Scope } from "../src/data/contract";
import { EmbeddedSource } from "../src/data/embedded";
import { EstimateBook } from "../src/data/estimates";
import { countsOf } from "../src/data/group";
import { average, cut, snap, type Range } from "../src/data/intervals";
import type { AnswerTo } from "../src/data/source";
import { STATES, states } from "../src/data/states";
import { duration, times } from "../src/text/units";
import { ASPECT_WORDS } from "../src/text/words";
import { breakdown, browser, golden, open, report, scratch, serve, SIZE, summary, type Row, type Served } from "./stage";

const SECOND = 1e9;
const BLOCKED: Kind[] = ["monitor", "juc"];
/** The kinds of the breakdown of `report --json`: parks on conditions, too. */
const ALL: Kind[] = ["monitor", "juc", "park"];
const CONTEXT: Kind[] = ["alive", "wait", "park", "cpu", "ran", "steal", "throttled", "queued"];
const NO_FILTER = { thread: "", lock: "", method: "", services: false };

/** A recording, and how many rows a page keeps of it; 0 is as many as by default. */
type Shown = [kind: string, file: string, rows: number];

const PAGES: Shown[] = [
  ["monitors, samples and steal", "shop.jfr", 0],
  ["the same, added up", "shop.jfr", 300],
  ["little blocked", "shop-after.jfr", 0],
  ["virtual threads", "crowd.jfr", 0],
  ["the same, added up", "crowd.jfr", 30_000],
  ["cut off", "cut.jfr", 0],
  ["waits and notifies", "queue.jfr", 0],
  ["the same, added up", "queue.jfr", 1_000],
  ["j.u.c. locks, permits and conditions", "pool.jfr", 0],
  ["the same, added up", "pool.jfr", 4_000],
  ["sums of short contentions", "short.jfr", 0],
  ["the same, added up", "short.jfr", 64],
  ["thousands of threads and locks with hostile names", "hostile.jfr", 0],
  ["sampled at random instants", "sampled.jfr", 0],
  ["no events", "empty.jfr", 0],
  ["of the JDK", golden("jfr-25.jfr.zst"), 0],
  ["of async-profiler", golden("async-profiler-4.1-jdk25.jfr.zst"), 0],
  ["of Headway, every event", golden("headway-v2.jfr"), 0],
  ["of an older Headway, parks and samples", golden("headway-v1-parks-and-samples.jfr.lz4"), 0],
];

/** Parts of a recording that are looked at, beside all of it. */
const ZOOMS: [name: string, part: [number, number]][] = [
  ["a third", [0.1234567, 0.45]],
  ["a part of a second", [0.275, 0.28123]],
];

const place = scratch();
let chromium: Browser;

beforeAll(async () => {
  chromium = await browser();
});

afterAll(async () => {
  await chromium?.close();
  place.remove();
});

interface Line {
  path: string;
  total: number;
  count: number;
  max: number;
}

/** What `report --json` prints, a line for each value of each level. */
function linesOfReport(rows: Row[], name: (row: Row) => string, above = ""): Line[] {
  return rows.flatMap((row) => {
    const path = `${above}/${name(row)}`;
    return [{ path, total: row.total_ns, count: row.count, max: row.max_ns }, ...linesOfReport(row.children, name, path)];
  });
}

function linesOfPage(groups: Groups, by: Aspect[], text: (by: Aspect, value: number) => string): Line[] {
  const paths: string[] = [];
  const depths: number[] = [];
  return groups.value.map((value, at) => {
    const parent = groups.parent[at]!;
    depths[at] = parent < 0 ? 0 : depths[parent]! + 1;
    paths[at] = `${parent < 0 ? "" : paths[parent]}/${text(by[depths[at]!]!, value)}`;
    return { path: paths[at]!, total: groups.total[at]!, count: countsOf(groups)[at]!, max: groups.max[at]! };
  });
}

/** As text, in an order that does not depend on whose lines they are. */
function asText(lines: Line[], withMax: boolean): string[] {
  return lines.map(({ path, total, count, max }) => `${path}: ${total} ns in ${count}${withMax ? `, longest ${max}` : ""}`).sort();
}

/** Rows below kinds of locks as one level, most time first. */
function blockedOnly(rows: Row[]): Row[] {
  const found = new Map<string, Row>();
  for (const row of rows.filter((one) => one.value !== "conditional").flatMap((one) => one.children)) {
    const other = found.get(row.value);
    found.set(row.value, other ? { ...other, total_ns: other.total_ns + row.total_ns, count: other.count + row.count, max_ns: Math.max(other.max_ns, row.max_ns) } : row);
  }
  return [...found.values()].sort((a, b) => b.total_ns - a.total_ns);
}

describe.each(PAGES)("the page of a recording: %s (%s, %i rows)", (_, name, rows) => {
  const isHostile = name === "hostile.jfr";
  let file: string;
  let embedded: EmbeddedSource;
  let served: Served;
  let facts: Facts;
  const options = rows > 0 ? ["--rows", String(rows)] : [];

  beforeAll(async () => {
    file = report(place.file(`${name.replace(/.*\//, "")}-${rows}.html`), [name], options);
    const packed = [...readFileSync(new URL(file), "utf8").matchAll(/class="headway-recording">([^<]*)</g)].map((match) => match[1]!);
    embedded = await EmbeddedSource.unpack(packed, "");
    facts = embedded.opening.recordings[0]!;
    served = await serve([name], options);
  });

  afterAll(() => served?.stop());

  const scope = (change: Partial<Scope> = {}): Scope => ({ recording: 0, from: 0, to: facts.durationNs, filter: NO_FILTER, kinds: ALL, within: [], ...change });

  /** Whole base intervals, of which any range of the page consists. */
  const range = (part: [number, number] | null): Range => {
    const [from, to] = (part ?? [0, 1]).map((share) => Math.round(share * facts.durationNs));
    return snap({ from: from!, to: to! }, facts.baseNs, facts.durationNs);
  };
  const rangeOptions = (part: [number, number] | null) => (part ? [`--from=${range(part).from}ns`, `--to=${range(part).to}ns`] : []);

  /** The answer of the page in one file; the served one says the same. */
  async function ask(query: Query): Promise<Groups> {
    const reply = await fetch(`${served.address}query`, { method: "POST", body: JSON.stringify(query) });
    expect(reply.status).toBe(200);
    const { names: _, ...other } = (await reply.json()) as Answer & Groups;
    const { names: __, ...answer } = embedded.answer(query) as unknown as Answer & Groups;
    expect(answer).toEqual(other);
    return answer as unknown as Groups;
  }

  const total = async (change: Partial<Scope>): Promise<[number, number]> => {
    const { totalNs, count } = await ask({ ask: "group", scope: scope(change), by: [], intervals: 1, limit: 1 });
    return [totalNs, count];
  };

  /** Hostile names are cut differently, which other tests look at. */
  const nameOf = (aspect: Aspect, text: string) => (isHostile && (aspect === "lock" || aspect === "contender-thread") ? "" : text);

  /** A park that names no blocker is called by what it waits for. */
  const blockerOf = (lock: string) => (lock === "an unpark" ? "(none)" : lock);

  function text(by: Aspect, value: number): string {
    const names = embedded.names(0);
    if (by === "kind") return ["monitor", "juc", "wait", "conditional"][value]!;
    if (by === "time") return `+${value}s`;
    return nameOf(by, by === "lock" ? blockerOf(names.lock(value).name) : by === "contender-thread" ? names.thread(value).name : names.text(value));
  }

  it("keeps what it should", () => {
    expect(facts.summed > 0).toBe(rows > 0);
    expect(facts.baseNs > 0).toBe(rows > 0);
    if (name === "crowd.jfr") expect(facts.baseNs).toBeLessThanOrEqual(SECOND);
    expect(facts.foldedThreads).toBe(0);
    expect(facts.problems.length > 0).toBe(name === "cut.jfr");
  });

  it.each([
    [["kind", "contender-thread", "lock"], null],
    [["kind", "lock", "contender-thread"], null],
    [["kind", "time", "contender-thread", "lock"], null],
    [["kind", "lock", "time"], null],
    ...ZOOMS.flatMap(([, part]) => [
      [["kind", "contender-thread", "lock"], part],
      [["kind", "lock"], part],
      // Seconds are counted from the begin of the range, and the last one ends with the recording.
      [["kind", "time"], [part[0], 1]],
    ]),
  ] as [Aspect[], [number, number] | null][])("has the time and contentions by %s of %s", async (by, part) => {
    // Little of a short recording may be left one by one; the report's intervals are seconds.
    if (by.includes("time") && facts.baseNs > SECOND) return;
    const { from, to } = range(part);
    const expected = breakdown(name, by, rangeOptions(part));
    // Seconds count from the begin of the range.
    const seconds = Math.max(1, Math.ceil((to - from) / SECOND));
    const answer = await ask({ ask: "group", scope: scope({ from, to: by.includes("time") ? from + seconds * SECOND : to }), by, intervals: seconds, limit: 100_000 });
    expect(await total({ from, to, kinds: BLOCKED })).toEqual([expected.blocked_ns, expected.contentions]);
    // Of what was added up, the longest contention is known of whole seconds, not of a part.
    const withMax = rows === 0 || (part === null && !by.includes("time"));
    const level = (row: Row) => nameOf(row.aspect, row.value);
    expect(asText(linesOfPage(answer, by, text), withMax)).toEqual(asText(linesOfReport(expected.rows, level), withMax));
    expect(answer.rest.every((rest) => rest === 0) && answer.restNs === 0).toBe(true);
  });

  it.each([["all", null], ...ZOOMS] as [string, [number, number] | null][])("says what the report says of waits, pauses and samples of %s", async (_, part) => {
    interface Summary {
      waits: { total_ns: number; count: number }[];
      pauses: { total_ns: number; count: number };
      samples: { count: number; running: number; running_ns: number } | null;
      threads: number;
    }
    const { waits, pauses, samples, threads } = summary<Summary>(name, rangeOptions(part));
    const { from, to } = range(part);
    // Of waits of which there are only sums the report does not know what was waited for.
    if (name !== "short.jfr") expect(await total({ from, to, kinds: ["wait", "park"] })).toEqual([waits.reduce((sum, { total_ns }) => sum + total_ns, 0), waits.reduce((sum, { count }) => sum + count, 0)]);
    expect(await total({ from, to, kinds: ["paused"] })).toEqual([pauses.total_ns, pauses.count]);
    if (part) return;
    expect(facts.threads).toBe(threads);
    const filter = { ...NO_FILTER, services: true };
    const [time, running] = await total({ kinds: ["cpu"], filter });
    const [, others] = await total({ kinds: ["wall"], filter });
    expect([running, running + others]).toEqual([samples?.running ?? 0, samples?.count ?? 0]);
    if (facts.samplesWeighted) expect(time).toBe(samples!.running_ns);
  });

  it("has of chosen threads what it has of each of them", async () => {
    const all = await ask({ ask: "group", scope: scope(), by: ["contender-thread"], intervals: 1, limit: 100_000 });
    const two = all.value.map((thread, at) => ({ thread, total: all.total[at]! })).slice(0, 2);
    const threads = two.map(({ thread }) => embedded.names(0).thread(thread).key);
    const chosen = await ask({ ask: "group", scope: scope({ threads }), by: ["contender-thread"], intervals: 1, limit: 100_000 });
    expect(chosen.value.map((thread, at) => ({ thread, total: chosen.total[at]! }))).toEqual(two);
    const { totalNs } = await ask({ ask: "group", scope: scope({ threads: ["nobody#0"] }), by: [], intervals: 1, limit: 1 });
    expect(totalNs).toBe(0);
  });

  it("says how much of the time it knows no stacks of, and nothing is more than the whole", async () => {
    for (const by of [["lock-name", "owner-method"], ["owner-chain"], ["contender-thread", "contender-method", "owner-thread"], ["owner-method", "time"]] as Aspect[][]) {
      // Of each estimated sum intervals have whole nanoseconds only.
      if (by.includes("time") && name === "sampled.jfr") continue;
      for (const part of [null, [0.2, 0.4]] as ([number, number] | null)[]) {
        const made = cut(range(part), 7, facts.baseNs);
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

  // A recording of one event of each kind has no threads that can have lived so.
  if (!name.includes("headway-v")) it("never has more threads blocked, waiting and running than alive", async () => {
    const made = cut({ from: 0, to: facts.durationNs }, 300, facts.baseNs);
    const group = (kinds: Kind[], by: Aspect[]) => ask({ ask: "group", scope: scope({ kinds, to: made.to }), by, intervals: made.intervals, limit: 100_000 });
    const alive = await group(["alive"], ["time"]);
    const lived = new Map(alive.value.map((interval, at) => [interval, alive.total[at]!]));
    const time = states(await group(BLOCKED, ["thread-kind", "kind", "time"]), await group(CONTEXT, ["thread-kind", "kind", "time"]), made.intervals, facts.samplesWeighted, [], await group([], ["kind", "time"]));
    const platform = STATES.filter((state) => !state.startsWith("virtual"));
    for (let at = 0; at < made.intervals; at++) {
      const sum = platform.reduce((sum, state) => sum + time[state][at]!, 0);
      // The recording knows of a thread's life as long as it does anything.
      expect(sum, `interval ${at} of ${average(made, at, sum)} threads`).toBeLessThanOrEqual((lived.get(at) ?? 0) + 1);
    }
    // And each thread alone. Where contentions are sampled, those that were added up are spread over a second, and one that was
    // recorded lies in it, too.
    if (name === "sampled.jfr") return;
    const threads = await group(["monitor", "juc", "wait", "park"], ["contender-thread", "time"]);
    threads.total.forEach((total, at) => {
      if (threads.parent[at]! >= 0) expect(total).toBeLessThanOrEqual(made.length);
    });
  });

  it("has the report's interval of each share that is estimated, and none where all is exact", async () => {
    const { whole } = embedded.answer({ ask: "whole", recording: 0 }) as AnswerTo<{ ask: "whole"; recording: number }>;
    const { estimates } = whole;
    const { sampling } = summary<{ sampling?: { instants: number } }>(name);
    expect(facts.instants).toBe(sampling?.instants ?? 0);
    expect(estimates.value.length > 0).toBe(name === "sampled.jfr");
    if (!sampling) return;
    // The report adds class and hash to what only one lock is called.
    const path = (row: Row, above: string) => `${above}/${row.aspect === "lock-name" ? row.value.replace(/ \(.*/, "") : row.value}`;
    const lines = (rows: Row[], above: string): string[] => rows.flatMap((row) => [`${path(row, above)}: ${intervalOf(row)}`, ...lines(row.children, path(row, above))]);
    const names = embedded.names(0);
    const frame = (id: number) => (names.frame(id).line > 0 ? `${names.text(names.frame(id).method)}:${names.frame(id).line}` : names.text(names.frame(id).method));
    const chain = (id: number) => (id === 0 ? "unknown" : names.chain(id).map(frame).join());
    const paths: string[][] = [];
    const shown = estimates.value.map((value, at) => {
      paths[at] = [...(paths[estimates.parent[at]!] ?? []), estimates.by[paths[estimates.parent[at]!]?.length ?? 0]!.endsWith("chain") ? chain(value) : names.text(value)];
      return `/${paths[at]!.join("/")}: ${estimates.total[at]} ns, ${estimates.low[at]} to ${estimates.high[at]} by ${estimates.instants[at]}`;
    });
    expect(shown.sort()).toEqual(lines(breakdown(name, estimates.by).rows, "").sort());
    // And what the page has of a row is what the report has: else it would show no interval.
    const book = new EstimateBook(estimates);
    const groups = await ask({ ask: "group", scope: scope({ kinds: BLOCKED }), by: ["lock-name", "owner-method", "contender-method"], intervals: 1, limit: 1000 });
    const ids = (at: number): number[] => (at < 0 ? [] : [...ids(groups.parent[at]!), groups.value[at]!]);
    const found = groups.value.flatMap((_, at) => book.of(estimates.by, ids(at), { total: groups.total[at]!, stopped: groups.stopped[at]! }) ?? []);
    expect(found.length).toBe(groups.parent.filter((parent) => parent >= 0).length);
  });

  it("shows it in the browser", async () => {
    const context = await chromium.newContext({ viewport: SIZE, acceptDownloads: true });
    // Both pages ask the same questions, of whose answers every part is compared above.
    const zoom = ZOOMS[PAGES.findIndex((shown) => shown[1] === name && shown[2] === rows) % ZOOMS.length]!;
    for (const [address, part] of [[file, null], [served.address, zoom[1]]] as [string, [number, number] | null][]) {
      const { page, complaints } = await open(context, address);
      await looksRight(page, address, part);
      expect(complaints).toEqual([]);
      await page.close();
    }
    await context.close();
  });

  /** The tables of the page in a range, against the report's. */
  async function looksRight(page: Page, address: string, part: [number, number] | null): Promise<void> {
    const hash = part ? `&range=${range(part).from}-${range(part).to}` : "";
    for (const by of ["contender-thread", "lock"] as Aspect[]) {
      const expected = breakdown(name, ["kind", by], rangeOptions(part));
      const wanted = blockedOnly(expected.rows).map((row): Line => ({ path: nameOf(by, row.value), total: row.total_ns, count: row.count, max: row.max_ns }));
      await page.goto(`${address}#/locks?by=${by}${hash}`);
      if (wanted.length === 0) {
        const isRecorded = blockedOnly(breakdown(name, ["kind", by]).rows).length > 0;
        await page.getByText(isRecorded ? "No blocked time in this range and filter" : "The recording has no blocked time").waitFor();
        continue;
      }
      const foot = page.locator(".card .foot").first();
      const summed = `${duration(expected.blocked_ns)} blocked in ${times(expected.contentions, "contention")}`;
      await expect.poll(() => foot.innerText(), PATIENCE).toContain(summed);
      await page.locator(".chip", { hasText: ASPECT_WORDS[by][0] }).waitFor();
      const [download] = await Promise.all([page.waitForEvent("download"), foot.getByRole("button", { name: "CSV" }).click()]);
      const shown = rowsOfCsv(readFileSync(await download.path(), "utf8")).map((line) => ({ ...line, path: nameOf(by, line.path) }));
      // What has the same time may stand in another order where the table ends.
      const least = wanted.length > shown.length ? shown.at(-1)!.total : 0;
      const withMax = rows === 0 || part === null;
      expect(shown.length).toBe(Math.min(MOST_ROWS, wanted.length));
      expect(asText(shown.filter((line) => line.total > least), withMax)).toEqual(asText(wanted.filter((line) => line.total > least), withMax));
      if (by === "contender-thread") await looksRightInLanes(page, address, hash, wanted);
      else await looksRightOnOverview(page, address, hash, summed);
    }
  }

  /** Lanes say how long their threads were blocked. */
  async function looksRightInLanes(page: Page, address: string, hash: string, wanted: Line[]): Promise<void> {
    await page.goto(`${address}#/threads?${hash.slice(1)}`);
    const titles = () => page.locator(".lanename").evaluateAll((all) => all.map((one) => one.getAttribute("title")!));
    const first = [...wanted].sort((a, b) => b.total - a.total).slice(0, 10);
    const blocked = (title: string) => title.replace(/^.*: blocked /s, "").replace(/\. Show the flame graph of this thread$/, "");
    await expect.poll(async () => (await titles()).slice(0, first.length).map(blocked), PATIENCE).toEqual(first.map(({ total }) => duration(total)));
  }

  async function looksRightOnOverview(page: Page, address: string, hash: string, summed: string): Promise<void> {
    await page.goto(`${address}#/overview?${hash.slice(1)}`);
    await expect.poll(() => page.locator(".lead").first().innerText(), PATIENCE).toContain(summed);
    const byName = breakdown(name, ["kind", "lock-name"], hash ? hash.replace(/&range=(\d+)-(\d+)/, "--from=$1ns --to=$2ns").split(" ") : []);
    const worst = blockedOnly(byName.rows).slice(0, 5).map((row) => duration(row.total_ns));
    const cells = () => page.locator("section.card", { hasText: "Worst locks" }).locator("tbody tr td:nth-child(2)").allInnerTexts();
    await expect.poll(async () => (await cells()).map((cell) => cell.split("\n")[0]!.trim()), PATIENCE).toEqual(worst);
  }
});

/** A row's time and interval; where it has none it is exact. */
function intervalOf({ total_ns, interval }: Row): string {
  return `${total_ns} ns, ${interval?.low_ns ?? total_ns} to ${interval?.high_ns ?? total_ns} by ${interval?.instants ?? 0}`;
}

/** How long the page may take for a picture on a busy machine. */
const PATIENCE = { timeout: 60_000 };
/** As many rows has a table of the page at most. */
const MOST_ROWS = 500;

function rowsOfCsv(text: string): Line[] {
  const rows = text.matchAll(/^1,("(?:[^"]|"")*"|[^,\r\n]*),(\d+),[^,]*,(\d+),(\d+)(?:,\d*,\d*,\d*)?\r$/gm);
  return [...rows].map(([, what = "", total, count, max]) => {
    const path = what.startsWith('"') ? what.slice(1, -1).replaceAll('""', '"') : what;
    return { path, total: Number(total), count: Number(count), max: Number(max) };
  });
}
