// A running recording: the page grows, and what a person chose stays.
import { writeFileSync } from "node:fs";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { browser, java, open, scratch, SIZE, view, type Java, type Served } from "./stage";

const PROGRAM = `
public class Shop {
    static final Object LOCK = new Object();
    public static void main(String[] arguments) throws Exception {
        for (int n = 0; n < 4; n++) {
            new Thread(Shop::order, "order-" + n).start();
        }
        System.out.println("ready");
    }
    static void order() {
        while (true) {
            try {
                synchronized (LOCK) { Thread.sleep(5); }
                Thread.sleep(5);
            } catch (InterruptedException over) { return; }
        }
    }
}
`;

const place = scratch();
let chromium: Browser;
let jvm: Java | null;
let served: Served | undefined;

beforeAll(async () => {
  const source = place.file("Shop.java");
  writeFileSync(source, PROGRAM);
  jvm = await java(source);
  if (!jvm) return;
  served = await view([jvm.pid]);
  chromium = await browser();
});

afterAll(async () => {
  await chromium?.close();
  await served?.stop();
  await jvm?.stop();
  place.remove();
});

it("grows while the program runs, keeps what was chosen, can be held, and says when the program has ended", async (context) => {
  if (!jvm || !served) {
    console.log("SKIPPED: no JDK (HEADWAY_JDK25, HEADWAY_JDK21, HEADWAY_JDK17, JAVA_HOME)");
    return context.skip();
  }
  const window = await chromium.newContext({ viewport: SIZE });
  const { page, complaints } = await open(window, served.address);
  const mark = page.locator("header .live");
  // No time limits but the test's own: on a busy machine an update takes as long as it takes.
  const poll = { timeout: 200_000, interval: 200 };
  // The first picture may be of a moment before the first contention.
  await page.locator(".answers tbody tr", { hasText: "Shop.LOCK" }).first().waitFor();
  const length = () => mark.innerText();
  expect(await length()).toContain("live");

  // A chosen range and page stay, in the address and on the page, while the time axis grows.
  await page.getByRole("link", { name: "Locks", exact: true }).click();
  // A range ends with the recording, which may be shorter at first.
  const choose = async () => {
    await page.getByLabel("to", { exact: true }).fill("0.5s");
    return page.url();
  };
  await expect.poll(choose, poll).toContain("range=0-500000000");
  const row = page.locator(".tablerow", { hasText: "Shop.LOCK" }).first();
  await row.waitFor();
  const address = page.url();
  const updated = async () => {
    const then = await length();
    await expect.poll(length, poll).not.toBe(then);
  };
  // Of the whole recording it would be more after each update. The first text may still be of that.
  const stays = async () => {
    const text = await row.innerText();
    await updated();
    await updated();
    return (await row.innerText()) === text;
  };
  await expect.poll(stays, poll).toBe(true);
  expect(page.url()).toBe(address);

  await page.getByRole("button", { name: "Pause" }).click();
  const held = await length();
  expect(held).toContain("paused");
  await new Promise((done) => setTimeout(done, 5_000));
  expect(await length()).toBe(held);
  await page.getByRole("button", { name: "Resume" }).click();
  await expect.poll(length, poll).not.toContain("paused");
  await updated();

  await jvm.stop();
  await expect.poll(() => page.locator("main .ended").allInnerTexts(), poll).toEqual([`The JVM ${jvm.pid} has ended. The page keeps what was recorded until then.`]);
  expect(await mark.innerText()).toContain("ended after");
  await page.getByRole("button", { name: "Show all" }).click();
  await row.waitFor();
  expect(complaints).toEqual([]);
  await window.close();
});
