// Names come from the profiled program: they are shown, never obeyed.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { browser, open, report, scratch, serve, SIZE, type Served } from "./stage";

const place = scratch();
let chromium: Browser;
let served: Served;
let file: string;
let empty: string;

beforeAll(async () => {
  file = report(place.file("hostile.html"), ["hostile.jfr"]);
  empty = report(place.file("empty.html"), ["empty.jfr"]);
  served = await serve(["hostile.jfr"]);
  chromium = await browser();
});

afterAll(async () => {
  await chromium?.close();
  served?.stop();
  place.remove();
});

const PAGES = ["overview", "incident", "locks", "waitfor", "waitfor?mode=threads", "profile?mode=blocked.flame", "profile?mode=blocked.flat", "threads", "threads?contention=monitor@1000000@x%2310", "parks", "parks?mode=park", "steal", "compare"];

describe.each([["in one file", () => file], ["served", () => served.address]])("hostile names %s", (_, address) => {
  it.each(PAGES)("%s", async (name) => {
    const context = await chromium.newContext({ viewport: SIZE });
    const { page, complaints } = await open(context, `${address()}#/${name}`);
    await page.waitForFunction(() => document.querySelector("main [aria-busy]") === null && document.querySelector("main .card") !== null);
    expect(await page.title()).toMatch(/^hostile\.jfr: [A-Z][A-Za-z -]+(\/ wall)? - Headway$/);
    expect(await page.locator("main img, main iframe, main script, main object").count()).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("shows markup as text, and long names shortened", async () => {
    const context = await chromium.newContext({ viewport: SIZE });
    const { page } = await open(context, `${address()}#/locks?by=contender-thread`);
    await page.getByText("<img src=x onerror=").first().waitFor();
    const long = page.getByText("bytes)").first();
    await long.waitFor();
    expect((await long.innerText()).length).toBeLessThan(1100);
    expect(await page.locator(".tablerow").count()).toBeLessThan(120); // of thousands of threads
    await context.close();
  });
});

describe("an empty recording", () => {
  it.each(PAGES)("%s says what to record", async (name) => {
    const context = await chromium.newContext({ viewport: SIZE });
    const { page, complaints } = await open(context, `${empty}#/${name}`);
    await page.locator(".empty").first().waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });
});
