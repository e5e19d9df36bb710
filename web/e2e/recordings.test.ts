// What the page says of recordings that have something: a phase, pauses of the VM, less CPU time than another; and of one
// whose server has ended.
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { duration, percent } from "../src/text/units";
import { browser, open, report, scratch, serve, SIZE, summary, type Row } from "./stage";

const place = scratch();
let chromium: Browser;
let shop: string;

beforeAll(async () => {
  shop = report(place.file("shop.html"), ["shop.jfr", "shop-after.jfr"]);
  chromium = await browser();
});

afterAll(async () => {
  await chromium?.close();
  place.remove();
});

async function visit(address: string): Promise<{ page: Page; context: BrowserContext; complaints: string[] }> {
  const context = await chromium.newContext({ viewport: SIZE });
  return { context, ...(await open(context, address)) };
}

describe("the page", () => {
  it("says why a verdict per second differs from that per CPU second", async () => {
    const { page, context, complaints } = await visit(`${report(place.file("scarce.html"), ["shop.jfr", "scarce.jfr"])}#/compare`);
    const said = page.getByText(/^The units disagree: Stock\.lock is better per second, but (worse|within noise) per CPU second/);
    await said.waitFor();
    expect(await said.innerText()).toMatch(/The application used 4\d % less CPU time per second: 0\.8\d CPUs on average before, 0\.48 after\.$/);
    await page.goto(`${shop}#/compare`);
    await page.reload();
    await page.locator(".tablerow", { hasText: "Stock.lock" }).first().waitFor();
    expect(await page.getByText("The units disagree").count()).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("leads from a part of thread time to its tab, and from a root to the locks that it had", async () => {
    const { page, context, complaints } = await visit(`${shop}#/overview`);
    const legend = page.getByRole("region", { name: "Verdict" }).locator(".legend");
    await legend.getByRole("link", { name: "blocked on locks", exact: true }).click();
    await page.locator(".tablerow", { hasText: "Stock.lock" }).first().waitFor();
    expect(new URL(page.url()).hash).toBe("#/locks");
    await page.goto(`${shop}#/waitfor`);
    const root = page.locator(".findings li").first().getByRole("link");
    const name = await root.innerText();
    await root.click();
    await page.locator(".tablerow[aria-level='2']", { hasText: "Stock.lock" }).waitFor();
    expect(await page.locator(".tablerow.selected").innerText()).toContain(name);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("opens Incident on a phase that is clearly worse than the rest, unless the address says what to show", async () => {
    const phase = report(place.file("phase.html"), ["phase.jfr"]);
    const { page, context, complaints } = await visit(`${phase}#/overview`);
    await page.getByRole("link", { name: "Incident", exact: true }).click();
    await page.waitForFunction(() => location.hash === "#/incident?range=4000000000-7000000000&lock=%3DStock.lock");
    const sentence = page.getByLabel("The incident", { exact: true }).locator(".sentence");
    await expect.poll(() => sentence.innerText()).toContain("from 4.00 s to 7.00 s");
    // One click shows all of it, and a reload the same.
    await page.getByRole("button", { name: "whole recording" }).click();
    await expect.poll(() => sentence.innerText()).toContain("from 0.00 s to 12.00 s");
    await page.reload();
    await expect.poll(() => sentence.innerText()).toContain("from 0.00 s to 12.00 s");
    await page.getByRole("button", { name: /Stock.lock/ }).first().click();
    await page.getByRole("button", { name: "Show all" }).click();
    await page.waitForFunction(() => location.hash === "#/incident?mode=whole");
    for (const said of ["range=1000000000-5000000000", "lock=%3Dcom.acme.shop.Orders", "thread=request-1"]) {
      await page.goto(`${phase}#/incident?${said}`);
      await page.reload();
      await sentence.waitFor();
      expect(new URL(page.url()).hash).toBe(`#/incident?${said}`);
    }
    // Contention that lasts is no phase to open.
    await page.goto(`${shop}#/incident`);
    await page.reload();
    await sentence.waitFor();
    await expect.poll(() => sentence.innerText()).toContain("from 0.00 s to 12.00 s");
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("shows the methods that used the CPU where nothing else was recorded", async () => {
    const { page, context, complaints } = await visit(`${report(place.file("cpu.html"), ["cpu.jfr"])}#/overview`);
    const card = page.getByLabel("Methods on CPU");
    const rows = card.locator("tbody tr");
    await rows.first().waitFor();
    const texts = (await rows.allInnerTexts()).map((text) => text.replace(/\u200b/g, ""));
    expect(texts).toHaveLength(2);
    for (const [at, parts] of [["Index.hash", "2.99 s", "75 %"], ["Index.sort", "990 ms", "25 %"]].entries()) for (const part of parts) expect(texts[at]).toContain(part);
    await card.getByText("1 method with less time not shown").waitFor();
    // The same part as in the finding.
    expect(await page.locator(".findings").innerText()).toMatch(/75 % were in com.acme.shop.Index.hash/);
    expect(await page.locator("main h2").allInnerTexts()).toEqual(["Methods on CPU", "Locks and waits were not recorded", "Findings", "This recording"]);
    await rows.first().getByRole("link").click();
    await page.waitForFunction(() => location.hash.startsWith("#/profile") && location.hash.includes("com.acme.shop.Index.hash"));
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("marks idle threads in every width: beside the method where there is no column of threads", async () => {
    const { page, context, complaints } = await visit(`${report(place.file("idle.html"), ["idle.jfr"])}#/parks`);
    const statistics = page.getByRole("treegrid", { name: "Park statistics by blocker" });
    const mark = statistics.locator(".tablerow .cut", { hasText: /^idle: / });
    await expect.poll(() => mark.allInnerTexts()).toEqual(["idle: worker-0"]);
    await page.setViewportSize({ width: 800, height: 900 });
    await expect.poll(() => mark.allInnerTexts()).toEqual(["idle: Unsafe.park"]);
    expect(await statistics.getByRole("columnheader").allInnerTexts()).not.toContain("thread");
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("leads to the threads that owned a lock in a method that was not recorded", async () => {
    const [lock] = summary<{ rows: Row[] }>("pool.jfr", ["--by", "lock-name,owner-thread"]).rows;
    const owner = lock!.children[0]!;
    const { page, context, complaints } = await visit(report(place.file("pool.html"), ["pool.jfr"]));
    await page.getByRole("link", { name: "method not recorded" }).first().click();
    await page.waitForFunction(() => location.hash.startsWith("#/locks") && location.hash.includes("owner-thread"));
    const row = page.locator(".tablerow").nth(1);
    await expect.poll(() => row.innerText()).toContain(owner.value);
    expect(await row.innerText()).toContain(duration(owner.total_ns));
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("shows waits where they cost more than locks: when, on Incident too, and before and after", async () => {
    interface Waited { blocked_ns: number; waits: { total_ns: number; idle: boolean }[] }
    const { blocked_ns, waits } = summary<Waited>("exhausted.jfr");
    const waited = waits.filter(({ idle }) => !idle).reduce((sum, { total_ns }) => sum + total_ns, 0);
    const { page, context, complaints } = await visit(`${report(place.file("exhausted.html"), ["exhausted.jfr", "queue.jfr"])}#/overview`);
    const card = page.getByLabel("Waits with the most time");
    const row = card.locator("tbody tr").first();
    await row.getByRole("button", { name: "2 s–3.84 s" }).waitFor();
    for (const part of ["Connections.borrow", "order-worker-*", "Connections.giveBack", duration(waited)]) expect((await row.innerText()).replace(/\u200b/g, "")).toContain(part);
    // Pictures of locks would show what does not matter.
    await page.getByText("Threads were blocked for < 0.1 % of the active thread time.").waitFor();
    expect(await page.getByLabel("Locks over time").count()).toBe(0);
    await page.getByRole("link", { name: "Incident", exact: true }).click();
    await page.getByLabel("Verdict").getByText(`about locks: threads were blocked on locks for ${duration(blocked_ns)} in the whole recording`).waitFor();
    await row.getByRole("button", { name: "2 s–3.84 s" }).click();
    await page.waitForFunction(() => location.hash.includes("range=2000000000-3840000000"));
    // A filter leaves nothing for the timeline, which says why.
    await page.getByRole("button", { name: "Show all" }).click();
    await page.getByRole("link", { name: "Overview" }).click();
    await row.getByRole("link").first().click();
    await page.getByText("No blocked time in this filter; a filter by lock or method leaves out all other time.").waitFor();
    await page.getByRole("button", { name: "Show all" }).click();
    await page.getByRole("link", { name: "Compare" }).click();
    const leads = page.locator(".lead");
    await expect.poll(() => leads.first().innerText()).toMatch(/^Threads waited .* per second before and .*\(idle threads left out\).* 1 better; the largest is com\.acme\.Connections\.borrow\.$/);
    expect(await leads.nth(1).innerText()).toMatch(/^Threads were blocked /);
    const changed = page.getByRole("treegrid", { name: "Waits that changed" }).or(page.getByLabel("Waits that changed")).first();
    expect(await changed.innerText()).toMatch(/Connections\.borrow[^]*better/);
    // Where locks cost most the first sentence is about them, and Incident begins with its phases.
    await page.goto(`${shop}#/compare`);
    await page.reload();
    await expect.poll(() => leads.first().innerText()).toMatch(/^Threads were blocked /);
    await page.goto(`${shop}#/incident`);
    await page.reload();
    await page.getByLabel("Phases", { exact: true }).waitFor();
    expect(await page.getByLabel("Verdict").count()).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("names owners by group where many had the lock, and says where there is no root", async () => {
    const pool = report(place.file("pool.html"), ["pool.jfr"]);
    const { page, context, complaints } = await visit(`${pool}#/incident?mode=whole`);
    const owners = page.getByLabel("Who had the lock", { exact: true });
    await expect.poll(() => owners.innerText()).toMatch(/worker-\* in a method that is not recorded[^]*task-\* in a method that is not recorded/);
    await owners.getByRole("link", { name: "worker-*" }).click();
    await page.waitForFunction(() => location.hash.includes("/threads?") && location.hash.includes("thread=%3Dworker-*"));
    await page.locator(".lanename", { hasText: "worker-0" }).first().waitFor();
    await page.goto(`${pool}#/waitfor`);
    await page.getByText("None: those who block others are blocked by others themselves, for about as long.").waitFor();
    // One owner has its own name.
    await page.goto(`${shop}#/incident?lock=%3DStock.lock`);
    await page.reload();
    await expect.poll(() => page.getByLabel("Who had the lock", { exact: true }).innerText()).toContain("indexer-1");
    // The method where threads parked is in the park statistics.
    await page.goto(`${pool}#/parks`);
    await page.reload();
    await page.locator(".tablerow", { hasText: "Pool.permits" }).first().waitFor();
    expect(await page.locator(".tablerow", { hasText: "Pool.permits" }).first().innerText()).toContain("Pool.take2");
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("says how long the VM was paused in the range, or that it was not", async () => {
    const queue = report(place.file("queue.html"), ["queue.jfr"]);
    interface Paused { pauses: { count: number; total_ns: number; max_ns: number }; duration_ns: number }
    const said = (options: string[], where: string, length?: number) => {
      const { pauses, duration_ns } = summary<Paused>("queue.jfr", options);
      return `${pauses.count} garbage collection pauses${where}: ${duration(pauses.total_ns)} in total (${percent(pauses.total_ns / (length ?? duration_ns))} of the time), the longest ${duration(pauses.max_ns)}.`;
    };
    const { page, context, complaints } = await visit(`${queue}#/overview`);
    const verdict = page.getByLabel("Verdict");
    await verdict.getByText(said([], "")).waitFor();
    await page.goto(`${queue}#/overview?range=1000000000-2000000000`);
    await verdict.getByText(said(["--from=1s", "--to=2s"], " in the chosen range", 1e9)).waitFor();
    await page.goto(`${shop}#/overview?range=1000000000-2000000000`);
    await page.reload();
    await verdict.getByText("No garbage collection pause in the chosen range.").waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });
});

it("says so when the command that serves it has ended", async () => {
  const short = await serve(["shop.jfr"]);
  const { page, context } = await visit(short.address);
  await page.locator(".answers tbody tr").first().waitFor();
  await short.stop();
  expect(await fetch(short.address).then(() => "there", () => "gone")).toBe("gone");
  await page.getByRole("link", { name: "Threads" }).click();
  await page.getByText("The command that serves this page has ended").first().waitFor();
  await expect.poll(() => page.locator(".problem").count()).toBe(1);
  await context.close();
});
