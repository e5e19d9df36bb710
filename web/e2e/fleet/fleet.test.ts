// The page of a store, as a person uses it; its numbers are those of `headway sql`.
import axe from "axe-core";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { count, duration, percent } from "../../src/text/units";
import { browser, generate, open, scratch, SIZE, sql, viewStore, type Served } from "../stage";

const place = scratch();
const store = place.file("rows");
let chromium: Browser;
let served: Served;

beforeAll(async () => {
  generate(store, ["--minutes", "70", "--services", "2", "--hosts", "4", "--jvms", "6", "--sites", "20", "--busy", "4", "--seed", "5", "--regressions", "1", "--effect", "3"]);
  served = await viewStore(store);
  chromium = await browser();
});

afterAll(async () => {
  await chromium?.close();
  await served?.stop();
  place.remove();
});

async function visit(view: string, colorScheme: "light" | "dark" = "light"): Promise<{ page: Page; context: BrowserContext; complaints: string[] }> {
  const context = await chromium.newContext({ viewport: SIZE, colorScheme });
  const visited = await open(context, `${served.address}#/${view}`);
  await complete(visited.page);
  return { context, ...visited };
}

/** Until all answers are there. */
async function complete(page: Page): Promise<void> {
  await page.waitForFunction(() => document.querySelector("main [aria-busy=true]") === null && document.querySelector("main .card") !== null);
}

/** The cells of a table's first rows. */
function cells(page: Page, table: string, rows: number): Promise<string[][]> {
  return page.getByRole("treegrid", { name: table, exact: true }).evaluate(
    (grid, rows) =>
      [...grid.querySelectorAll(".tablerow")].slice(0, rows).map((row) => [...row.querySelectorAll("[role=gridcell]")].map((cell) => (cell as HTMLElement).innerText.trim())),
    rows,
  );
}

const PAGES = ["services", "locks", "locks?mode=share", "versions", "hosts", "phases"];

describe("the page of a store", () => {
  it("has the services of the view services", async () => {
    const { page, context, complaints } = await visit("services");
    const expected = sql<{ service: string; version: string; jvms: number; running_ns: number; blocked_ns: number; blocked_share?: number; contentions: number }>(
      store, "SELECT service, version, jvms, running_ns, blocked_ns, blocked_share, contentions FROM services ORDER BY running_ns DESC, service, version");
    const shown = await cells(page, "Services and their versions", expected.length);
    expect(shown.map((row) => [row[0], row[1], row[2], row[6], row[7], row[8], row[9]])).toEqual(
      expected.map((row) => [row.service, row.version, count(row.jvms), duration(row.running_ns), duration(row.blocked_ns), row.blocked_share === undefined ? "unknown" : percent(row.blocked_share), count(row.contentions)]),
    );
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("has the locks of the view top_sites, and opens one to both stacks", async () => {
    const { page, context, complaints } = await visit("locks");
    const expected = sql<{ lock: string; service: string; version: string; blocked_ns: number; contentions: number; jvms: number; site: string }>(
      store, "SELECT lock, service, version, blocked_ns, contentions, jvms, CAST(site_id AS VARCHAR) AS site FROM top_sites ORDER BY blocked_ns DESC, service, version, site_id LIMIT 5");
    const shown = await cells(page, "Locks", 5);
    expect(shown.map((row) => [row[1], row[2], row[3], row[5], row[7]])).toEqual(
      expected.map((row) => [row.service, row.version, duration(row.blocked_ns), count(row.contentions), count(row.jvms)]),
    );
    const second = expected[1]!;
    await page.getByRole("treegrid", { name: "Locks" }).locator(".tablerow").nth(1).click();
    await complete(page);
    const [pair] = sql<{ blocked_ns: number; waiter_stack?: string[]; owner_stack?: string[] }>(
      store, `SELECT blocked_ns, waiter_stack, owner_stack FROM lock_stacks WHERE site_id = ${second.site} AND service = '${second.service}' AND version = '${second.version}' ORDER BY blocked_ns DESC LIMIT 1`);
    await page.getByText(`: ${duration(pair!.blocked_ns)} (`).waitFor();
    for (const [title, frames] of [["Who was blocked", pair!.waiter_stack], ["Who owned the lock", pair!.owner_stack]] as const) {
      expect(await page.locator(".chain", { hasText: title }).locator("li").allInnerTexts()).toEqual(frames ?? []);
    }
    // The same again, from its address alone.
    const again = await visit(new URL(page.url()).hash.slice(2));
    expect(await again.page.locator(".tablerow.selected").innerText()).toContain(duration(second.blocked_ns));
    expect([...complaints, ...again.complaints]).toEqual([]);
    await context.close();
    await again.context.close();
  });

  it("narrows to a service, and to a time range that is dragged", async () => {
    const { page, context, complaints } = await visit("services");
    const [first] = sql<{ service: string; version: string }>(store, "SELECT service, version FROM services ORDER BY running_ns DESC, service, version LIMIT 1");
    await page.getByRole("treegrid").locator("a").first().click();
    await page.getByRole("treegrid", { name: "Locks" }).waitFor();
    await complete(page);
    const [total] = sql<{ n: number }>(store, `SELECT count(*) AS n FROM top_sites WHERE service = '${first!.service}' AND version = '${first!.version}'`);
    await page.getByText(`${count(total!.n)} lock`).first().waitFor();
    const chart = (await page.locator(".u-over").boundingBox())!;
    await page.mouse.move(chart.x + 1, chart.y + 20);
    await page.mouse.down();
    await page.mouse.move(chart.x + chart.width * 0.5, chart.y + 20, { steps: 5 });
    await page.mouse.up();
    await page.waitForFunction(() => /from=\d{4}-\d\d-\d\dT/.test(location.hash));
    await complete(page);
    expect(await page.getByLabel("from").inputValue()).toMatch(/^2026-01-0\d \d\d:\d\d$/);
    await page.getByRole("button", { name: "Show all" }).click();
    await page.waitForFunction(() => location.hash === "#/locks");
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("compares hosts and versions, and searches regressions by a click", async () => {
    const { page, context, complaints } = await visit("hosts");
    const hosts = sql<{ host: string; ns_per_s?: number; median_ns_per_s?: number }>(store, "SELECT host, ns_per_s, median_ns_per_s FROM outlier_hosts ORDER BY more_ns_per_s DESC NULLS LAST LIMIT 1");
    const [[host, , , , , rate, median]] = (await cells(page, "Hosts", 1)) as [string[]];
    expect([host, rate, median]).toEqual([hosts[0]!.host, duration(hosts[0]!.ns_per_s!), duration(hosts[0]!.median_ns_per_s!)]);
    await page.getByRole("link", { name: "Versions" }).click();
    await page.getByRole("button", { name: "Search all services" }).click();
    const regressions = page.getByLabel("Regressions", { exact: true });
    await regressions.getByText(/regressions? in \d+ locks? tested/).waitFor();
    await regressions.getByText(`headway fleet regressions --store=${store}`).waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("says what of an address cannot be followed, and what the command refuses", async () => {
    const { page, context } = await visit("everything?from=yesterday&pair=0&service=nobody");
    await page.getByText("there is no page “everything”; no time is “yesterday”; there is no pair of stacks “0”").waitFor();
    await page.getByText("No rows with this filter.").waitFor();
    await context.close();
  });

  it("is accessible, light and dark", async () => {
    const violations: string[] = [];
    for (const scheme of ["light", "dark"] as const) {
      const { page, context, complaints } = await visit("services", scheme);
      for (const view of PAGES) {
        await page.goto(`${served.address}#/${view}`);
        await complete(page);
        await page.evaluate(axe.source);
        const found = await page.evaluate(() => (window as unknown as { axe: typeof axe }).axe.run());
        violations.push(...found.violations.map((one) => `${view} ${scheme}: ${one.id} ${one.nodes.map((node) => node.html.slice(0, 150)).slice(0, 3).join(" | ")}`));
      }
      expect(complaints).toEqual([]);
      await context.close();
    }
    expect(violations).toEqual([]);
  });
});
