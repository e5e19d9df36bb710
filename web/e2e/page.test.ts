// The page, as a person uses it: the same steps in one file and served.
import { writeFileSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import axe from "axe-core";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { duration, mean, percent } from "../src/text/units";
import { breakdown, browser, open, report, scratch, serve, SIZE, summary, type Served } from "./stage";

const place = scratch();
let chromium: Browser;
let served: Served;
let file: string;

beforeAll(async () => {
  const source = place.file("sources/com/acme/shop/Stock.java");
  mkdirSync(dirname(source), { recursive: true });
  writeFileSync(source, Array.from({ length: 80 }, (_, line) => (line === 70 ? "    for (var row : rows) index(row);" : "//")).join("\n"));
  file = report(place.file("shop.html"), ["shop.jfr", "shop-after.jfr"], ["--source-path", place.file("sources")]);
  served = await serve(["shop.jfr", "shop-after.jfr"]);
  chromium = await browser();
});

afterAll(async () => {
  await chromium?.close();
  served?.stop();
  place.remove();
});

async function visit(address: string, colorScheme: "light" | "dark" = "light"): Promise<{ page: Page; context: BrowserContext; complaints: string[] }> {
  const context = await chromium.newContext({ viewport: SIZE, colorScheme, acceptDownloads: true });
  return { context, ...(await open(context, address)) };
}

/** Row of the drill-down that shows this text. */
function row(page: Page, text: string) {
  return page.locator(".tablerow", { hasText: text }).first();
}

const PAGES = ["overview", "incident", "locks", "waitfor", "profile", "threads", "parks", "steal", "compare"];

describe.each([["in one file", () => file], ["served", () => served.address]])("the page %s", (_, address) => {
  it("answers on its first picture which lock, which waiters, which owner, and when", async () => {
    const { page, context, complaints } = await visit(`${address()}#/overview`);
    const worst = page.locator(".answers tbody tr").first();
    await worst.waitFor();
    const text = await worst.innerText();
    for (const part of ["Stock.lock", "Stock.reserve", "request-*", "Stock.rebuildIndex"]) expect(text).toContain(part);
    expect(text).toMatch(/\d s–\d/);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("opens two recordings with their comparison", async () => {
    const { page, context, complaints } = await visit(address());
    await page.getByRole("heading", { name: /^Before .*shop\.jfr.*, after .*shop-after\.jfr/ }).waitFor();
    expect(new URL(page.url()).hash).toBe("#/compare");
    const perCpuSecond = page.getByRole("button", { name: "CPU second" });
    await perCpuSecond.click();
    await expect.poll(() => perCpuSecond.getAttribute("aria-pressed")).toBe("true");
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("begins with the verdict and the ledger of the report, and its names can be followed", async () => {
    const { verdict: sentence, ledger } = summary<{ verdict: string; ledger: { entries: { entry: string; total_ns: number }[] } }>("shop.jfr");
    const { page, context, complaints } = await visit(`${address()}#/overview`);
    const verdict = page.getByLabel("Verdict");
    expect(await verdict.locator(".sentence").innerText()).toBe(sentence.replaceAll("`", ""));
    const active = ledger.entries.filter(({ entry }) => entry !== "wait-work");
    const sum = (wanted: (entry: string) => boolean) => active.reduce((sum, { entry, total_ns }) => sum + (wanted(entry) ? total_ns : 0), 0);
    const share = Math.round((100 * sum((entry) => entry.startsWith("lock-"))) / sum(() => true));
    expect(await verdict.locator(".legend").innerText()).toContain(`blocked on locks ${share} %`);
    const widths = await verdict.locator(".stack i").evaluateAll((parts) => parts.map((part) => parseFloat((part as HTMLElement).style.width)));
    expect(widths.reduce((sum, width) => sum + width)).toBeCloseTo(100, 3);
    await verdict.getByRole("link", { name: "Stock.lock" }).click();
    await row(page, "Stock.lock").waitFor();
    expect(page.url()).toContain("lock=Stock.lock");
    await page.goto(`${address()}#/overview`);
    await page.locator(".findings").getByRole("link", { name: "Orders.place" }).click();
    await page.waitForFunction(() => location.hash.includes("method=Orders.place"));
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("has no link on Overview and Incident that leads to a page without data", async () => {
    const { page, context, complaints } = await visit(`${address()}#/overview`);
    const settled = () => page.waitForFunction(() => document.querySelector("main [aria-busy]") === null && document.querySelector("main .card, main .empty") !== null);
    const empty: string[] = [];
    for (const from of ["overview", "incident", "incident?lock=%3DStock.lock", "incident?lock=%3Dcom.acme.shop.Orders"]) {
      await page.goto(`${address()}#/${from}`);
      await settled();
      const links = await page.locator("main a[href^='#']").evaluateAll((all) => [...new Set(all.map((one) => one.getAttribute("href")!))]);
      expect(links.length).toBeGreaterThan(4);
      for (const link of links) {
        await page.goto(`${address()}${link}`);
        await settled();
        const text = await page.locator("main").innerText();
        if (/No blocked time|No call stack|No thread (was|parked)|None in (this|the chosen) range|does not fit this recording|Nothing/.test(text)) empty.push(link);
      }
    }
    expect(empty).toEqual([]);
    // What an owner executed is not on the call stacks that a filter finds: the page says where it is.
    await page.goto(`${address()}#/locks?method=Index.sort`);
    await page.getByText("Owners executed it while they had a lock").getByRole("link", { name: "com.acme.shop.Index.sort" }).click();
    await page.locator(".flame g.middle", { hasText: "Index.sort" }).waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("lets aspects be chosen and drills down to an owner's chain", async () => {
    const { page, context, complaints } = await visit(`${address()}#/locks`);
    await row(page, "Stock.lock").waitFor();
    for (const remove of ["remove blocked method", "remove owner method"]) await page.getByLabel(remove).click();
    await page.getByLabel("Add an aspect").selectOption("owner-chain");
    await row(page, "Stock.lock").getByLabel("open").click();
    await row(page, "Stock.rebuildIndex:71").click();
    const owner = page.locator(".chain", { hasText: "Who owned the lock" });
    await owner.getByText("Stock.rebuildIndex").waitFor();
    expect(await page.locator(".chain", { hasText: "Who was blocked" }).innerText()).toContain("Stock.reserve");
    await owner.getByText("frames of the JDK").click();
    expect(await owner.innerText()).toContain("ThreadPoolExecutor.runWorker");
    // The same view again, from its address alone.
    const again = await visit(page.url());
    await again.page.locator(".chain", { hasText: "Who owned the lock" }).getByText("Stock.rebuildIndex").waitFor();
    expect(await again.page.locator(".tablerow.selected").innerText()).toContain("Stock.rebuildIndex:71");
    expect([...complaints, ...again.complaints]).toEqual([]);
    await context.close();
    await again.context.close();
  });

  it("shows where inside the owner the time went", async () => {
    const { page, context, complaints } = await visit(`${address()}#/locks?lock=Stock`);
    const inside = page.getByLabel("Inside the owner", { exact: true });
    await inside.getByText("Index.sort:12").waitFor();
    expect(await inside.locator("li").first().innerText()).toMatch(/\d+ %[^]*Index\.sort:12/);
    await page.getByRole("button", { name: "Inside the owner" }).click();
    await page.locator(".flame g", { hasText: "Stock.rebuildIndex" }).first().waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("shows what the environment took, of whom and when, and which owners had no CPU", async () => {
    const { page, context, complaints } = await visit(`${address()}#/steal`);
    const offCpu = page.getByLabel("Time without a CPU, by thread", { exact: true });
    await offCpu.locator(".tablerow", { hasText: "indexer-*" }).waitFor();
    const whole = await offCpu.locator(".tablerow", { hasText: "request-*" }).innerText();
    expect(await page.locator("dl", { hasText: "throttled" }).innerText()).toContain("6 of 120 periods");
    expect(await page.locator("dl", { hasText: "CPUs" }).innerText()).toContain("The machine has 2 CPUs; the container may use 1.");
    expect(await row(page, "POST /stock").innerText()).toContain("60");
    await expect.poll(() => page.getByLabel("Locks whose owner had no CPU").innerText()).toContain("Stock.lock");
    await page.goto(`${address()}#/steal?range=8000000000-9000000000&mode=threads.`);
    await offCpu.locator(".tablerow", { hasText: "request-6" }).waitFor();
    expect(await offCpu.innerText()).not.toBe(whole);
    // All of the page is about the range, as the report of it.
    interface Shortage { process: { corrected_ns: number; steal_ns: number; throttled_ns: number; run_queue_ns: number; runnable_share: number }; locks: { lock: string; blocked_ns: number; owner_no_cpu_ns: number }[] }
    const { process: ready, locks } = summary<Shortage>("shop.jfr", ["--steal", "--from=8s", "--to=9s"]);
    const offCpuNs = ready.steal_ns + Math.max(ready.throttled_ns, ready.run_queue_ns);
    const { blocked_ns } = breakdown("shop.jfr", [], ["--from=8s", "--to=9s"]);
    const card = page.locator(".card", { hasText: "CPU shortage in the chosen range" });
    await expect.poll(() => card.locator(".lead").innerText()).toBe(
      `Threads were ready to run, but had no CPU for ${duration(offCpuNs)} (${mean(offCpuNs / 1e9)} threads on average). This is ${percent(ready.runnable_share)} of the ${duration(ready.corrected_ns + offCpuNs)} in which they ran or were ready to run, and ${percent(offCpuNs / (offCpuNs + blocked_ns))} of the ${duration(offCpuNs + blocked_ns)} in which they had no CPU or were blocked on a lock (${duration(blocked_ns)}).`,
    );
    expect(await card.locator("dl").innerText()).toContain("6 of 10 periods");
    const stock = locks.find(({ lock }) => lock.startsWith("Stock.lock"))!;
    const line = page.getByLabel("Locks whose owner had no CPU").locator("tr", { hasText: "Stock.lock" });
    expect(await line.innerText()).toMatch(new RegExp(`${duration(stock.blocked_ns)}\\s+${duration(stock.owner_no_cpu_ns)} `));
    await page.getByRole("heading", { name: /^Threads on CPU.* in the chosen range$/ }).waitFor();
    // The same is said where the contention is looked at.
    await page.goto(`${address()}#/locks?lock=Stock&mode=longest.-total&range=8000000000-9000000000`);
    await page.locator("table a").first().click();
    await page.getByLabel("Selected contention").getByText("the owner probably had no CPU").first().waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("keeps the order of the calling context tree in the address", async () => {
    const { page, context, complaints } = await visit(`${address()}#/profile?mode=cpu.tree`);
    await page.getByRole("button", { name: "method", exact: true }).click();
    await page.waitForFunction(() => location.hash.includes("sort=-text"));
    const again = await visit(page.url());
    await again.page.locator("[aria-sort=descending]", { hasText: "method" }).waitFor();
    expect([...complaints, ...again.complaints]).toEqual([]);
    await context.close();
    await again.context.close();
  });

  it("puts aspects into another order", async () => {
    const { page, context } = await visit(`${address()}#/locks?by=lock,contender-thread`);
    await page.getByLabel("move blocked thread up").click();
    await row(page, "request-2").waitFor();
    expect(page.url()).toContain("by=contender-thread%2Clock");
    await context.close();
  });

  it("brushes a range that every panel follows", async () => {
    const { page, context, complaints } = await visit(`${address()}#/overview`);
    const all = await page.locator(".lead").first().innerText();
    const chart = (await page.locator(".timeline .u-over").boundingBox())!;
    // A part in the middle.
    await page.mouse.move(chart.x + chart.width * 0.35, chart.y + 20);
    await page.mouse.down();
    await page.mouse.move(chart.x + chart.width * 0.5, chart.y + 30, { steps: 5 });
    await page.mouse.up();
    await page.waitForFunction((before) => document.querySelector(".lead")?.textContent !== before, all);
    expect(page.url()).toContain("range=");
    await page.getByRole("link", { name: "Locks", exact: true }).click();
    await row(page, "Stock.lock").waitFor();
    const [from, to] = /range=(\d+)-(\d+)/.exec(page.url())!.slice(1).map(Number);
    expect(from! / 12e9).toBeCloseTo(0.35, 1);
    expect(to! / 12e9).toBeCloseTo(0.5, 1);
    await page.getByRole("button", { name: "Show all" }).click();
    await page.waitForFunction(() => !location.hash.includes("range="));
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("shows on a heat map when how many threads were blocked on which lock, and a cell chooses both", async () => {
    const { page, context, complaints } = await visit(`${address()}#/overview`);
    const card = page.getByLabel("Locks over time", { exact: true });
    const cells = card.getByRole("application");
    await cells.waitFor();
    const said = () => card.getByRole("status").innerText();
    await expect.poll(said).toContain("Each cell shows the mean number of blocked threads in 60.0 ms");
    await cells.focus();
    // The first key shows the first cell; the one wanted is the 34th, from 2.04 s on.
    for (const key of ["ArrowRight", "PageDown", "PageDown", "PageDown", ...new Array<string>(4).fill("ArrowRight")]) await page.keyboard.press(key);
    const [row] = breakdown("shop.jfr", ["lock"], ["--from=2040ms", "--to=2100ms"]).rows.flatMap((one) => (one.value.startsWith("Stock.lock") ? [one] : []));
    await expect.poll(said).toBe(`Stock.lock, 2.040 s to 2.100 s: ${(row!.total_ns / 60e6).toFixed(1)} threads blocked on average (${duration(row!.total_ns)} in all)`);
    // The same moment on the other axes.
    await expect.poll(() => page.locator(".timeline .legend").innerText()).toContain("at 2.0");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.includes("range=2040000000-2100000000") && location.hash.includes("lock=%3DStock.lock"));
    await page.getByText("Each cell shows the mean number of blocked threads in 300 us").waitFor();
    await expect.poll(() => page.locator(".answers tbody tr").count()).toBe(1);
    await expect.poll(() => page.locator(".lead").first().innerText()).toContain(`${duration(row!.total_ns)} blocked`);
    await page.goBack();
    await page.waitForFunction(() => !location.hash.includes("range="));
    await page.getByText("Each cell shows the mean number of blocked threads in 60.0 ms").waitFor();
    // By mouse: a click, and a drag over the first half, whatever the lock.
    const box = (await cells.boundingBox())!;
    await page.mouse.click(box.x + (34.5 / 200) * box.width, box.y + 8);
    await page.waitForFunction(() => location.hash.includes("range=2040000000-2100000000") && location.hash.includes("lock=%3DStock.lock"));
    await page.goBack();
    await page.getByText("Each cell shows the mean number of blocked threads in 60.0 ms").waitFor();
    const again = (await cells.boundingBox())!;
    await page.mouse.move(again.x + 1, again.y + 5);
    await page.mouse.down();
    await page.mouse.move(again.x + again.width / 2 - 2, again.y + 20, { steps: 3 });
    await page.mouse.up();
    await page.waitForFunction(() => location.hash.includes("range=0-6000000000") && !location.hash.includes("lock="));
    // On the lanes' axis, too.
    await page.goto(`${address()}#/threads`);
    const [map, lane] = [page.locator(".lockmap .cells"), page.locator(".lane canvas").first()];
    await lane.waitFor();
    const [upper, lower] = [(await map.boundingBox())!, (await lane.boundingBox())!];
    expect(Math.abs(upper.x - lower.x)).toBeLessThan(1.5);
    expect(Math.abs(upper.width - lower.width)).toBeLessThan(1.5);
    await page.mouse.move(upper.x + 300, upper.y + 5);
    await page.locator(".lanes .cursorline").waitFor();
    const line = (await page.locator(".lanes .cursorline").boundingBox())!;
    expect(Math.abs(line.x - upper.x - 300)).toBeLessThan(2);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("compares the data of a chart only when they change, not while the mouse moves", async () => {
    const { page, context, complaints } = await visit(`${address()}#/overview`);
    await page.locator(".timeline canvas").waitFor();
    await page.locator(".answers tbody tr").first().waitFor();
    await page.evaluate(() => {
      const { stringify } = JSON;
      const counted = (value: unknown) => {
        const text = stringify(value);
        if (text !== undefined && text.length > 5_000) document.title = `large: ${text.length}`;
        return text;
      };
      JSON.stringify = counted;
    });
    const box = (await page.locator(".timeline canvas").boundingBox())!;
    for (const part of [0.3, 0.5, 0.7]) await page.mouse.move(box.x + box.width * part, box.y + box.height / 2);
    await page.locator(".timeline .legend").getByText(/^at \d/).waitFor();
    expect(await page.title()).not.toContain("large");
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("draws the heat map in the colours of its scale, light and dark, on narrow screens and in print", async () => {
    for (const [scheme, strong] of [["light", "rgb(90, 30, 0)"], ["dark", "rgb(255, 241, 227)"]] as const) {
      const { page, context, complaints } = await visit(`${address()}#/overview`, scheme);
      await page.setViewportSize({ width: 800, height: 900 });
      const canvas = page.locator(".lockmap canvas");
      await canvas.waitFor();
      const colourAt = (cell: number) => canvas.evaluate((one: HTMLCanvasElement, at) => {
        // Of a copy: reading the drawing itself would make the browser warn.
        const copy = new OffscreenCanvas(one.width, one.height).getContext("2d", { willReadFrequently: true })!;
        copy.drawImage(one, 0, 0);
        const [red, green, blue, alpha] = copy.getImageData(Math.floor(((at + 0.5) / 200) * one.width), 8 * devicePixelRatio, 1, 1).data;
        return alpha === 0 ? "nothing" : `rgb(${red}, ${green}, ${blue})`;
      }, cell);
      await expect.poll(() => colourAt(35)).toBe(strong); // four threads: the most there is
      await expect.poll(() => colourAt(10)).toBe("nothing");
      await expect.poll(() => page.locator(".lockmap .scale").innerText()).toContain("2+");
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(800);
      await page.emulateMedia({ media: "print" });
      const [inner, outer] = [(await canvas.boundingBox())!, (await page.locator(".lockmap .cells").boundingBox())!];
      expect(inner.width).toBeGreaterThan(100);
      expect(inner.x + inner.width).toBeLessThanOrEqual(outer.x + outer.width + 1);
      expect(complaints).toEqual([]);
      await context.close();
    }
  });

  it("shows an incident on one screen: waiters, owner, what it executed, and what it waited for", async () => {
    const { page, context, complaints } = await visit(`${address()}#/incident`);
    const phases = page.getByLabel("Phases", { exact: true });
    const part = (title: string) => page.getByLabel(title, { exact: true });
    await phases.getByRole("button", { name: /Stock\.lock/ }).first().click();
    await page.waitForFunction(() => location.hash.includes("lock=%3DStock.lock") && location.hash.includes("range="));
    const [from, to] = /range=(\d+)-(\d+)/.exec(page.url())!.slice(1).map(Number);
    const { rows } = breakdown("shop.jfr", ["lock", "contender-group"], [`--from=${from}ns`, `--to=${to}ns`]);
    const stock = rows.find((row) => row.value.startsWith("Stock.lock"))!;
    const sentence = part("The incident").locator(".sentence");
    await expect.poll(() => sentence.innerText()).toContain(`4 threads were blocked ${duration(stock.total_ns)} on Stock.lock in ${stock.count} contentions`);
    await expect.poll(() => part("Who was blocked").innerText()).toMatch(/100 %[^]*request-\*[^]*Stock\.reserve/);
    await expect.poll(() => part("Who had the lock").innerText()).toMatch(/\d+ %[^]*indexer-1[^]*Stock\.rebuildIndex/);
    await expect.poll(() => part("What the owner did").locator("li").first().innerText()).toMatch(/\d+ %[^]*Index\.sort:12/);
    await expect.poll(() => part("What the owner waited for meanwhile").innerText()).toContain("the cause is what the owner did itself");
    for (const box of await page.locator(".incident .card").all()) await expect.poll(async () => (await box.boundingBox())?.y ?? Infinity).toBeLessThan(SIZE.height - 80);
    // The other lock's owner waited for this one.
    await page.goto(`${address()}#/incident?lock=%3Dcom.acme.shop.Orders&range=${from}-${to}`);
    const meanwhile = part("What the owner waited for meanwhile");
    await meanwhile.getByText("request-1").first().waitFor();
    await expect.poll(() => meanwhile.innerText()).toMatch(/9\d %[^]*request-1 was blocked on a monitor: Stock\.lock[^]*which indexer-1 had/);
    await meanwhile.getByRole("link", { name: "Show this incident" }).click();
    await page.waitForFunction(() => location.hash.includes("lock=%3DStock.lock"));
    await page.setViewportSize({ width: 800, height: 900 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(800);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("says by which factor each row changed, and how long each side is", async () => {
    const { page, context, complaints } = await visit(`${address()}#/compare?mode=lock-name.-factor`);
    await row(page, "Stock.lock").waitFor();
    const [, before, after, , factor] = await row(page, "Stock.lock").locator('[role="gridcell"]').allInnerTexts();
    expect([before, after]).toEqual([expect.stringContaining("/s"), expect.stringContaining("/s")]);
    expect(factor).toMatch(/^×0\.\d\d$/);
    expect(await page.locator(".sides").innerText()).toContain("10.8 s long, start-up (1.20 s) left out");
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("follows the arrow from a blocked thread to its owner, and on to the root", async () => {
    const { page, context, complaints } = await visit(`${address()}#/locks?by=lock&mode=longest.-total&lock=Orders`);
    await page.locator("table a").first().click();
    await page.locator(".arrows line").first().waitFor({ state: "attached" });
    const detail = page.getByLabel("Selected contention");
    expect(await detail.innerText()).toMatch(/request-[56] was blocked on a monitor/);
    await detail.getByRole("button", { name: /Follow: request-1/ }).click();
    await detail.getByText("indexer-1 owned it longest").waitFor();
    expect(await detail.innerText()).toMatch(/request-1 was blocked on a monitor/);
    expect(await detail.locator(".chain", { hasText: "Who owned the lock" }).innerText()).toContain("Stock.rebuildIndex");
    await page.locator(".arrows line").first().waitFor({ state: "attached" });
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("draws who blocks whom, with the root named", async () => {
    const { page, context, complaints } = await visit(`${address()}#/waitfor?mode=threads`);
    await page.locator(".graph .node", { hasText: "indexer-1" }).waitFor();
    expect(await page.locator(".findings li").first().innerText()).toMatch(/indexer-1 blocks others/);
    // Names are as large as the rest of the page, however large the graph is.
    const heights = await page.locator(".graph text").evaluateAll((all) => all.filter((one) => one.textContent).map((one) => parseFloat(getComputedStyle(one).fontSize) * (one as SVGGraphicsElement).getScreenCTM()!.d));
    expect(Math.min(...heights)).toBeGreaterThanOrEqual(11);
    await page.locator(".graph .edge").first().press("Enter");
    await page.waitForFunction(() => location.hash.startsWith("#/locks"));
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("names the recording and the page in the tab, and refuses what is no time in words", async () => {
    const { page, context, complaints } = await visit(`${address()}#/overview`);
    await page.locator(".answers tbody tr").first().waitFor();
    expect(await page.title()).toBe("shop.jfr: Overview - Headway");
    const from = page.getByLabel("from", { exact: false }).first();
    await from.fill("soon");
    await page.getByRole("alert").getByText("not a time such as 12.5s or 300ms").waitFor();
    expect(page.url()).not.toContain("range");
    await from.fill("900s");
    await page.getByRole("alert").getByText("not before the end").waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("keeps the chosen range through a click into a chart", async () => {
    const { page, context, complaints } = await visit(`${address()}#/overview?range=1000000000-2000000000`);
    const plot = page.locator(".timeline .u-over");
    await plot.waitFor();
    const chosen = () => page.locator(".timeline .u-select").evaluate((one) => (one as HTMLElement).offsetWidth);
    const before = await chosen();
    expect(before).toBeGreaterThan(2);
    await plot.click({ position: { x: 5, y: 20 } });
    expect(await chosen()).toBe(before);
    expect(page.url()).toContain("range=1000000000-2000000000");
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("has one tab stop in a flame graph, and arrow keys that move on", async () => {
    const { page, context, complaints } = await visit(`${address()}#/profile?mode=blocked.flame`);
    await page.locator(".flame g", { hasText: "Stock.reserve" }).waitFor();
    expect(await page.locator('.flame g[tabindex="0"]').count()).toBe(1);
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? "");
    await page.locator('.flame g[tabindex="0"]').focus();
    const root = await focused();
    await page.keyboard.press("ArrowDown");
    const child = await focused();
    expect(child).not.toBe(root);
    await page.keyboard.press("ArrowUp");
    expect(await focused()).toBe(root);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("shows callers and callees of a method, by keyboard, for every value, in the range, and from the address", async () => {
    const { page, context, complaints } = await visit(`${address()}#/profile?mode=blocked.flame.all`);
    const frame = (text: string) => page.locator(".flame g", { hasText: text }).first();
    await frame("Requests.serve").waitFor();
    await page.locator('.flame g[tabindex="0"]').focus();
    const focused = () => page.evaluate(() => document.activeElement?.querySelector("text")?.textContent ?? "");
    // Down from the root to the method, then "s".
    for (let row = 0; row < 10 && (await focused()) !== "Requests.serve"; row++) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("s");
    await page.waitForFunction(() => location.hash.includes("sandwich=com.acme.shop.Requests.serve"));
    const y = async (text: string) => (await frame(text).boundingBox())!.y;
    await page.locator(".flame g.middle", { hasText: "Requests.serve" }).waitFor();
    expect(await y("ThreadPoolExecutor.runWorker")).toBeLessThan(await y("Requests.serve"));
    expect(await y("Requests.serve")).toBeLessThan(await y("Stock.reserve"));
    // The keyboard goes on from the method: up to a caller, down to a callee.
    await page.waitForFunction(() => document.activeElement?.classList.contains("middle"));
    await page.keyboard.press("ArrowUp");
    expect(await focused()).toContain("runWorker");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    expect(await focused()).toMatch(/Stock.reserve|Orders.place/);
    const total = () => page.locator(".lead", { hasText: "Requests.serve" }).innerText();
    const all = await total();
    const ns = await page.evaluate(() => document.querySelector(".flame g.middle")!.getAttribute("aria-label")!);
    expect(ns).toContain("100 %");
    // The same total as in the list of methods; another one in a range; on CPU it is nothing.
    const again = await visit(page.url());
    await again.page.locator(".flame g.middle").waitFor();
    expect(await again.page.locator(".lead", { hasText: "Requests.serve" }).innerText()).toBe(all);
    await again.page.getByRole("button", { name: "Methods" }).click();
    const cells = await row(again.page, "com.acme.shop.Requests.serve").locator('[role="gridcell"]').allInnerTexts();
    expect(all).toContain(`total ${cells[2]!.split("\n")[0]!.trim().replace(/ \d+ %$/, "")}`);
    await page.goto(`${page.url()}&range=2000000000-4000000000`);
    await expect.poll(total).not.toBe(all);
    await page.getByRole("button", { name: "on CPU" }).click();
    await expect.poll(async () => (await page.locator("main").innerText()).includes("Requests.serve")).toBe(true);
    expect([...complaints, ...again.complaints]).toEqual([]);
    await context.close();
    await again.context.close();
  });

  it("shows only call stacks with or without a method, and copies one", async () => {
    const { page, context, complaints } = await visit(`${address()}#/profile?mode=blocked.flame`);
    const total = async () => (await page.locator(".flame g[data-frame]").first().getAttribute("aria-label"))!;
    const names = () => page.locator(".flame g text").allTextContents();
    await page.locator(".flame g", { hasText: "Stock.reserve" }).waitFor();
    const all = await total();
    await page.locator(".flame g", { hasText: "Stock.reserve" }).focus();
    await page.getByRole("button", { name: "only with it" }).click();
    await page.waitForFunction(() => location.hash.includes("focus=com.acme.shop.Stock.reserve"));
    await expect.poll(total).not.toBe(all);
    expect((await names()).filter((name) => name.includes("Orders.place"))).toEqual([]);
    await page.getByRole("button", { name: "remove: only stacks with com.acme.shop.Stock.reserve" }).click();
    await expect.poll(total).toBe(all);
    await page.locator(".flame g", { hasText: "Stock.reserve" }).focus();
    await page.keyboard.press("d");
    await page.getByText("only stacks without").waitFor();
    await expect.poll(names).not.toContain("Stock.reserve");
    await context.grantPermissions(["clipboard-read", "clipboard-write"]).catch(() => undefined);
    await page.evaluate(() => ((navigator as { copied?: string }).copied = "") || Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text: string) => void ((navigator as { copied?: string }).copied = text) } }));
    // Focused and pressed at once: the graph may be drawn again.
    await page.locator(".flame g", { hasText: "Orders.place" }).press("c");
    const copied = () => page.evaluate(() => (navigator as { copied?: string }).copied);
    await expect.poll(copied).toMatch(/^com\.acme\.shop\.Orders\.place\n.*Requests\.serve\n\(JDK\)$/);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("leads from a lane and from a call stack to the flame graph", async () => {
    const { page, context, complaints } = await visit(`${address()}#/threads`);
    await page.locator(".lanename", { hasText: "request-1" }).click();
    await page.waitForFunction(() => location.hash.includes("profile") && location.hash.includes("thread=%3Drequest-1"));
    await page.locator(".flame g", { hasText: "Stock.reserve" }).waitFor();
    await page.goto(`${address()}#/locks?lock=Stock`);
    await page.locator(".chain", { hasText: "Who owned the lock" }).getByRole("link", { name: "Stock.rebuildIndex" }).click();
    await page.waitForFunction(() => location.hash.includes("sandwich=com.acme.shop.Stock.rebuildIndex"));
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("shows one flame graph of the threads that are chosen among the lanes", async () => {
    const { page, context, complaints } = await visit(`${address()}#/threads`);
    await page.getByLabel("choose request-1", { exact: true }).click();
    await page.locator(".lane", { hasText: "request-2" }).locator("canvas").click({ modifiers: ["Shift"] });
    await page.getByRole("link", { name: "Flame graph of these 2 threads" }).click();
    await page.waitForFunction(() => location.hash.includes("profile") && new URLSearchParams(location.hash.split("?")[1]).getAll("threads").length === 2);
    const total = async () => (await page.locator(".flame g[data-frame]").first().getAttribute("aria-label"))!;
    const { rows } = breakdown("shop.jfr", ["contender-thread"]);
    const time = (wanted: RegExp) => duration(rows.filter(({ value }) => wanted.test(value)).reduce((sum, { total_ns }) => sum + total_ns, 0));
    await expect.poll(total).toContain(`all: ${time(/^request-[12]$/)} (100 %)`);
    const again = await visit(page.url());
    await again.page.getByRole("button", { name: "remove: only thread request-2" }).click();
    await expect.poll(async () => (await again.page.locator(".flame g[data-frame]").first().getAttribute("aria-label"))!).toContain(`all: ${time(/^request-1$/)} (100 %)`);
    expect([...complaints, ...again.complaints]).toEqual([]);
    await context.close();
    await again.context.close();
  });

  it("marks on a lane when its thread had a lock that others waited for, and says for how long", async () => {
    const { page, context, complaints } = await visit(`${address()}#/threads?range=2000000000-3000000000`);
    const lane = page.locator(".lane", { hasText: "indexer-1" }).locator("canvas");
    await page.getByText("has a lock that others wait for").waitFor();
    // The indexer has the stock from 20 to 320 ms; the mark is the lowest pixel of its lane.
    const mark = (part: number) => lane.evaluate((one: HTMLCanvasElement, at) => {
      const copy = new OffscreenCanvas(one.width, one.height).getContext("2d", { willReadFrequently: true })!;
      copy.drawImage(one, 0, 0);
      return copy.getImageData(Math.floor(at * one.width), one.height - 1, 1, 1).data[3]! > 0;
    }, part);
    await expect.poll(() => mark(0.2)).toBe(true);
    expect([await mark(0.005), await mark(0.6)]).toEqual([false, false]);
    const box = (await lane.boundingBox())!;
    await page.mouse.move(box.x + 0.2 * box.width, box.y + box.height / 2);
    await expect.poll(() => lane.getAttribute("title")).toMatch(/others were blocked \d+(\.\d+)? ms on locks it had in 3\.\d+ ms$/);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("compares stacks frame by frame, by the rule of its table", async () => {
    const { page, context, complaints } = await visit(`${address()}#/compare`);
    const label = async (text: string) => (await page.locator(".flame g", { hasText: text }).first().getAttribute("aria-label"))!;
    await page.locator(".flame g", { hasText: "Stock.reserve" }).waitFor();
    // One lock, one method that waits for it: the same rates as in the table.
    const [, before, after, , , noise] = await row(page, "Stock.lock").locator('[role="gridcell"]').allInnerTexts();
    expect(await label("Stock.reserve")).toContain(`${before} before, ${after} after, less (noise ${noise})`);
    const width = async () => (await page.locator(".flame g", { hasText: "Orders.place" }).locator("rect").boundingBox())!.width;
    const now = await width();
    await page.getByRole("group", { name: "Widths" }).getByRole("button", { name: "before" }).click();
    await expect.poll(width).not.toBe(now);
    await page.locator(".flame g", { hasText: "Orders.place" }).focus();
    await page.keyboard.press("s");
    await page.locator(".flame g.middle", { hasText: "Orders.place" }).waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("has addresses that name things, lead to the same in another page, and say what they cannot show", async () => {
    const first = await visit(`${address()}#/locks`);
    await row(first.page, "Stock.lock").click();
    await first.page.waitForFunction(() => location.hash.includes("pick=lock-name%3AStock.lock"));
    const other = address() === file ? served.address : file;
    const { page, context, complaints } = await visit(`${other}${new URL(first.page.url()).hash}&range=2000000000-4000000000`);
    await page.locator(".tablerow.selected", { hasText: "Stock.lock" }).waitFor();
    // One contention, by its kind, begin and thread.
    await page.getByRole("button", { name: "Longest contentions" }).click();
    await page.locator("table a").first().click();
    await page.waitForFunction(() => /contention=monitor%40\d+%40request-\d%23\d+/.test(location.hash));
    expect(page.url()).toContain("range=2000000000-4000000000");
    const said = await page.getByLabel("Selected contention").locator("h2").innerText();
    const again = await visit(`${address()}${new URL(page.url()).hash}`);
    expect(await again.page.getByLabel("Selected contention").locator("h2").innerText()).toBe(said);
    const alert = again.page.getByRole("alert");
    for (const [hash, text] of [
      ["#/locks?pick=lock-name:Stick.lock", "there is no lock name “Stick.lock”"],
      ["#/threads?contention=monitor@17@request-1%2321", "There is no single"],
      ["#/nowhere?range=9-1", "there is no page “nowhere”; no time range is “9-1”"],
    ] as const) {
      await again.page.goto(`${address()}${hash}`);
      await again.page.reload();
      await alert.getByText(text).waitFor();
    }
    expect([...first.complaints, ...complaints, ...again.complaints]).toEqual([]);
    await first.context.close();
    await context.close();
    await again.context.close();
  });

  it("says of the chosen range how much of a finding is in it, and shows its pressure only", async () => {
    const { page, context, complaints } = await visit(`${address()}#/overview?range=1000000-1900000000`);
    await page.getByText("No thread was blocked on this lock in the chosen range").first().waitFor();
    expect(await page.getByText("Pressure of the worst locks").count()).toBe(0);
    await page.goto(`${address()}#/overview?range=3000000000-5000000000`);
    await page.getByText(/\d+ (ms|s) blocked on this lock in the chosen range|\d s blocked on this lock in the chosen range/).first().waitFor();
    await page.getByText("Pressure of the worst locks in the chosen range").waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("is printed with the whole timeline", async () => {
    const { page, context, complaints } = await visit(`${address()}#/overview`);
    await page.locator(".timeline canvas").waitFor();
    await page.setViewportSize({ width: 1800, height: 900 });
    await page.waitForFunction(() => document.querySelector(".timeline canvas")!.getBoundingClientRect().width > 1500);
    await page.emulateMedia({ media: "print" });
    // A4 across, less margins; nothing is laid out again by script while printing.
    const cut = await page.evaluate(() => {
      document.body.style.width = "1040px";
      const [canvas, timeline] = [".timeline canvas", ".timeline"].map((one) => document.querySelector(one)!.getBoundingClientRect());
      return canvas!.right > timeline!.right + 1 || canvas!.bottom > timeline!.bottom + 1 || canvas!.height < 60;
    });
    expect(cut).toBe(false);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("searches and zooms the flame graph", async () => {
    const { page, context, complaints } = await visit(`${address()}#/profile?mode=blocked.flame`);
    await page.locator(".flame g", { hasText: "Stock.reserve" }).waitFor();
    await page.getByLabel("search").fill("reserve");
    await page.getByText(/\d+ % matches/).waitFor();
    expect(await page.locator(".flame g.found").count()).toBe(1);
    await page.locator(".flame g", { hasText: "Requests.serve" }).click();
    await page.getByRole("button", { name: "whole graph" }).click();
    await page.getByRole("button", { name: "on CPU" }).click();
    await page.locator(".flame g", { hasText: "Json.parse" }).waitFor();
    await page.getByRole("button", { name: "Methods" }).click();
    await page.getByLabel("search").fill("");
    await row(page, "com.acme.shop.Json.parse").waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("shows parks and in what two recordings differ in", async () => {
    const { page, context, complaints } = await visit(`${address()}#/parks`);
    await row(page, "72").waitFor();
    await page.getByRole("link", { name: "Compare" }).click();
    await row(page, "Stock.lock").waitFor();
    expect(await row(page, "Stock.lock").innerText()).toContain("better");
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("is usable by everybody: no violation on any page, light and dark", async () => {
    for (const scheme of ["light", "dark"] as const) {
      const { page, context, complaints } = await visit(`${address()}#/overview`, scheme);
      const violations: string[] = [];
      for (const name of [...PAGES, "locks?pick=lock-name:Stock.lock", "threads?contention=monitor@2025000000@request-1%2321", "overview?range=2000000000-4000000000", "incident?lock=%3Dcom.acme.shop.Orders", "profile?mode=blocked.flame.all&sandwich=com.acme.shop.Requests.serve&drop=com.acme.shop.Orders.place", "profile?mode=cpu.flat", "compare?sandwich=com.acme.shop.Stock.reserve", "nowhere"]) {
        await page.evaluate((hash) => (location.hash = hash), `#/${name}`);
        await page.waitForFunction(() => document.querySelector("main [aria-busy]") === null && document.querySelector("main .card") !== null);
        await page.evaluate(axe.source);
        const found = await page.evaluate(() => (window as unknown as { axe: typeof axe }).axe.run());
        violations.push(...found.violations.map((one) => `${name} ${scheme}: ${one.id} ${one.nodes.map((node) => node.html.slice(0, 150)).slice(0, 3).join(" | ")}`));
      }
      expect(violations).toEqual([]);
      expect(complaints).toEqual([]);
      await context.close();
    }
    // Every page twice: the most work of all tests.
  }, 600_000);
});

/** Addresses that name what the recording does not have, and what the page says. */
const NOT_THERE: [address: string, sentence: string][] = [
  ["profile?mode=blocked&threads=nobody%239", "there is no thread “nobody”"],
  ["profile?mode=blocked&focus=no.Such.method", "there is no method “no.Such.method”"],
  ["profile?mode=blocked&drop=no.Such.method", "there is no method “no.Such.method”"],
  ["profile?mode=blocked&sandwich=no.Such.method", "there is no method “no.Such.method”"],
  ["profile?mode=blocked&zoom=1.2", "zooms into a frame that is not here"],
  ["locks?pick=lock-name:Stick.lock", "there is no lock name “Stick.lock”"],
  ["locks?open=lock-name:Stick.lock", "there is no lock name “Stick.lock”"],
  ["overview?thread=nobody", "no thread's name contains “nobody”"],
  ["overview?lock=%3DStick.lock", "no lock is called “Stick.lock”"],
  ["overview?method=nothing", "a method on its call stack whose name contains “nothing”"],
  ["overview?range=99000000000000-99000000000009", "before the time range begins"],
  ["overview?recording=1", "names a second recording"],
  ["threads?contention=monitor@1@nobody%239", "There is no single bar “blocked on a monitor” of nobody"],
  ["locks?kind=rwlock", "there is no kind of lock “rwlock”"],
  ["locks?mode=nonsense", "this page has no mode “nonsense”"],
  ["steal?sort=-nonsense", "this page has no sort “-nonsense”"],
  ["overview?nonsense=1", "there is no parameter “nonsense”"],
  ["locks?mode=chains.-interval", "it has no estimates, so it cannot be sorted by “-interval”"],
  ["locks?search=999", "There is no pair 1000"],
];

describe("the page in one file", () => {
  it("says of each thing in an address that the recording does not have it, and drops it from there", async () => {
    const one = report(place.file("one.html"), ["shop.jfr"]);
    const { page, context, complaints } = await visit(one);
    for (const [address, sentence] of NOT_THERE) {
      await page.goto(`${one}#/${address}`);
      const problem = page.locator(".problem", { hasText: sentence });
      await problem.waitFor();
      expect(await page.locator(".problem").count(), address).toBe(1);
      await page.getByRole("button", { name: address.includes("zoom") ? "whole graph" : "drop it" }).click();
      await problem.waitFor({ state: "detached" });
      await page.locator("main .card").first().waitFor();
      expect(new URL(page.url()).hash).not.toMatch(/nobody|no\.Such|zoom|Stick|nothing|range|recording|rwlock|nonsense|999|interval/);
    }
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("shows the longest waits of the report, before the locks if they are more, and leads to them", async () => {
    const { waits, blocked_ns } = summary<{ waits: { method: string; lock: string; total_ns: number; idle: boolean }[]; blocked_ns: number }>("crowd.jfr");
    const [longest] = waits.filter((wait) => !wait.idle);
    // Call stacks of one method and object are one row.
    const together = waits.filter((wait) => !wait.idle && wait.method === longest!.method && wait.lock === longest!.lock);
    const { page, context, complaints } = await visit(report(place.file("crowd.html"), ["crowd.jfr"]));
    const panel = page.getByLabel("Waits with the most time");
    await panel.waitFor();
    const text = await panel.locator("tbody tr").first().innerText();
    expect(text).toContain(duration(together.reduce((sum, wait) => sum + wait.total_ns, 0)));
    const places = await panel.locator("tbody td:first-child").allInnerTexts();
    expect(new Set(places).size).toBe(places.length);
    // A finding about waits looks like the others.
    const faint = await page.locator(".findings li").evaluateAll((all) => all.filter((one) => getComputedStyle(one).opacity !== "1").length);
    expect(faint).toBe(0);
    expect(blocked_ns).toBeGreaterThan(longest!.total_ns);
    const worst = page.locator("h2", { hasText: /^Worst locks/ });
    await worst.waitFor();
    expect((await worst.boundingBox())!.y).toBeLessThan((await panel.boundingBox())!.y);
    await panel.getByRole("link").first().click();
    await page.waitForFunction((method) => location.hash.includes("parks") && location.hash.includes(method), longest!.method.split(".").pop()!);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("has names of two lines in the tables of narrow windows, and idle threads apart from those that wait", async () => {
    const { page, context, complaints } = await visit(`${file}#/locks`);
    const legend = page.locator(".timeline .legend");
    await legend.getByText("idle", { exact: true }).waitFor();
    // All of its waits are those of idle workers.
    expect(await legend.innerText()).not.toContain("waiting");
    const wraps = () => page.locator(".tablerow .cut").first().evaluate((name) => getComputedStyle(name).whiteSpace);
    await page.locator(".tablerow .cut").first().waitFor();
    expect(await wraps()).toBe("nowrap");
    await page.setViewportSize({ width: 800, height: 900 });
    await expect.poll(wraps).toBe("normal");
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(800);
    // Nothing is beside the window in the tables of many columns.
    for (const [tab, table] of [["Parks", "Park statistics by blocker"], ["CPU shortage", "Time without a CPU, by thread"], ["CPU shortage", "Transactions by kind"]] as const) {
      await page.getByRole("link", { name: tab, exact: true }).click();
      const grid = page.getByRole("treegrid", { name: table });
      await grid.locator(".tablerow").first().waitFor();
      expect(await grid.evaluate((one) => one.scrollWidth - one.clientWidth), table).toBeLessThanOrEqual(0);
    }
    await page.goto(`${file}#/parks?mode=park`);
    const waits = page.getByRole("treegrid", { name: "Waits by blocker" });
    await waits.waitFor();
    expect(await waits.evaluate((one) => one.scrollWidth - one.clientWidth)).toBeLessThanOrEqual(0);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("keeps the last column in sight, however long the names of threads are", async () => {
    const { page, context } = await visit(`${file}#/overview`);
    const card = page.locator(".card", { has: page.locator("table.answers") }).first();
    await card.locator("tbody tr").first().waitFor();
    const beyond = () => card.evaluate((one) => one.scrollWidth - one.clientWidth);
    await card.evaluate((one) => one.querySelectorAll("td:nth-child(3)").forEach((name) => (name.textContent = "PooledConnectionPoolManagerHelperThread".repeat(4))));
    for (const width of [1280, 800]) {
      await page.setViewportSize({ width, height: 900 });
      await expect.poll(beyond, { message: String(width) }).toBeLessThanOrEqual(0);
    }
    await context.close();
  });

  it("shows source lines where sources were given", async () => {
    const { page, context } = await visit(`${file}#/locks`);
    await page.getByText("for (var row : rows) index(row);").waitFor();
    await context.close();
  });

  it("downloads a table and a drawing", async () => {
    const { page, context } = await visit(`${file}#/locks`);
    await row(page, "Stock.lock").waitFor();
    const [table] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).click()]);
    expect(table.suggestedFilename()).toBe("locks.csv");
    await page.getByRole("button", { name: "Stacks of owners" }).click();
    const [drawing] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "SVG" }).click()]);
    expect(drawing.suggestedFilename()).toBe("flame.svg");
    await context.close();
  });
});
