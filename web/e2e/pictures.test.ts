// Every page as a picture: light, dark and printed. CONTRIBUTING.md says when they are compared, and how they are renewed.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { boxes, compare, compareBoxes, drawnWith, keptDrawnWith, still } from "./picture";
import { browser, open, report, scratch } from "./stage";

const place = scratch();
let chromium: Browser;
let shop: string;
let sampled: string;
let sameFonts: boolean;

beforeAll(async () => {
  shop = report(place.file("shop.html"), ["shop.jfr", "shop-after.jfr"]);
  sampled = report(place.file("sampled.html"), ["sampled.jfr"]);
  chromium = await browser();
  const now = await drawnWith(chromium);
  const kept = keptDrawnWith(now);
  sameFonts = kept.browser === now.browser && kept.text === now.text;
  if (!sameFonts) console.log(`Pictures: only layouts are compared: this is ${JSON.stringify(now)}, pictures are of ${JSON.stringify(kept)}`);
});

afterAll(async () => {
  await chromium?.close();
  place.remove();
});

const PAGES: [name: string, address: string][] = [
  ["overview", "overview"],
  ["incident", "incident"],
  ["locks", "locks?pick=lock-name:Stock.lock"],
  ["waitfor", "waitfor"],
  ["profile", "profile?mode=blocked.flame.all"],
  ["sandwich", "profile?mode=blocked.flame.all&sandwich=com.acme.shop.Requests.serve"],
  ["threads", "threads?contention=monitor@2025000000@request-1%2321"],
  ["parks", "parks"],
  ["steal", "steal"],
  ["compare", "compare"],
  ["sampled", "locks?pick=lock-name:Stock.lock&open=lock-name:Stock.lock"],
];

const MEDIA = [
  ["light", { media: "screen", colorScheme: "light" }, 1280],
  ["dark", { media: "screen", colorScheme: "dark" }, 1280],
  // A4 across, less margins.
  ["print", { media: "print", colorScheme: "light" }, 1040],
] as const;

describe("the picture of", () => {
  it.each(PAGES)("%s is the one that is kept, light, dark and printed", async (name, address) => {
    const context = await chromium.newContext({ viewport: { width: 1280, height: 800 }, timezoneId: "UTC", locale: "en-US", reducedMotion: "reduce" });
    const { page, complaints } = await open(context, `${name === "sampled" ? sampled : shop}#/${address}`);
    const wrong: string[] = [];
    for (const [medium, media, width] of MEDIA) {
      await page.emulateMedia(media);
      await page.setViewportSize({ width, height: 800 });
      await page.waitForFunction((theme) => document.documentElement.dataset["theme"] === theme && document.querySelector("main .card") !== null && document.querySelector("main [aria-busy]") === null, media.colorScheme);
      const taken = await still(page);
      if (sameFonts) wrong.push(compare(`${name}-${medium}`, taken));
      // Light and dark have one layout.
      if (medium !== "dark") wrong.push(...compareBoxes(`${name}-${medium}`, await boxes(page), sameFonts));
    }
    expect(wrong.filter((one) => one !== "")).toEqual([]);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
