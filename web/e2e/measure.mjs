// How long a recording takes from a command to its picture, and from a change of
// the filter to the next picture, in the page as served and in one file.
//
//   HEADWAY_BIN=... HEADWAY_CHROMIUM=... node e2e/measure.mjs FILE [view|report]
import { execFileSync, spawn } from "node:child_process";
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { chromium } from "playwright-core";

const [file, how = "view"] = process.argv.slice(2);
const { HEADWAY_BIN: headway, HEADWAY_CHROMIUM: browser } = process.env;
if (!file || !headway || !browser) throw new Error("usage: HEADWAY_BIN=... HEADWAY_CHROMIUM=... node e2e/measure.mjs FILE [view|report]");
const MB = 1 << 20;
const round = (ms) => `${Math.round(ms)} ms`;

/** Proportional set size of a process and its descendants, in MB. */
function memory(pid) {
  const children = new Map();
  for (const entry of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const parent = Number(readFileSync(`/proc/${entry}/stat`, "utf8").replace(/^.*\) /s, "").split(" ")[1]);
      children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
    } catch {
      // It ended meanwhile.
    }
  }
  const all = [pid];
  for (let at = 0; at < all.length; at++) all.push(...(children.get(all[at]) ?? []));
  return all.reduce((sum, one) => sum + Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${one}/smaps_rollup`, "utf8"))?.[1] ?? 0), 0) / 1024;
}

async function serve() {
  const child = spawn(headway, ["view", file], { stdio: ["ignore", "pipe", "ignore"] });
  const address = await new Promise((resolve) => child.stdout.once("data", (data) => resolve(data.toString().trim())));
  return { address, pid: child.pid, stop: () => child.kill("SIGTERM") };
}

function report() {
  const output = `${file}.html`;
  execFileSync(headway, ["report", file, "-o", output], { stdio: "ignore" });
  return { address: `file://${output}`, bytes: statSync(output).size, stop: () => rmSync(output) };
}

const server = await chromium.launchServer({ executablePath: browser, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
const chrome = await chromium.connect(server.wsEndpoint());
const page = await (await chrome.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
await page.goto("about:blank");
const begin = performance.now();
const source = how === "report" ? report() : await serve();
await page.goto(source.address);
await page.locator(".answers tbody tr, main .empty, main .card").first().waitFor({ timeout: 120_000 });
await page.locator(".timeline canvas").waitFor();
const drawn = performance.now();
// A served page begins with first results.
await page.locator("header progress, main .first").first().waitFor({ state: "detached", timeout: 600_000 });
const complete = performance.now();
console.log(`${file} (${Math.round(statSync(file).size / MB)} MB), ${how}`);
console.log(`  first picture after ${round(drawn - begin)}, all of it after ${round(complete - begin)}`);

const devtools = await page.context().newCDPSession(page);
await devtools.send("Performance.enable", { timeDomain: "threadTicks" });

/** CPU time of the page's main thread so far. */
async function cpu() {
  const { metrics } = await devtools.send("Performance.getMetrics");
  return 1000 * metrics.find(({ name }) => name === "TaskDuration").value;
}

/** Changes the view; says when nothing was left to be asked and drawn, and what that took the main thread. */
async function change(hash) {
  const before = await cpu();
  const until = await settled(hash);
  return `${round(until)}, ${round((await cpu()) - before)} of CPU time of the main thread`;
}

async function settled(hash) {
  return page.evaluate(async (wanted) => {
    const start = performance.now();
    let last = start;
    const observer = new MutationObserver(() => (last = performance.now()));
    observer.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
    location.hash = wanted;
    while (performance.now() - last < 400 || document.querySelector("main [aria-busy]")) await new Promise((resolve) => setTimeout(resolve, 10));
    observer.disconnect();
    return last - start;
  }, hash);
}

const seconds = await page.evaluate(() => document.querySelector(".filters .hint").textContent);
const name = await page.evaluate(() => document.querySelector(".answers tbody td code")?.textContent ?? "");
const CHANGES = [
  ["filter by thread", "#/overview?thread=-1"],
  ["filter by lock", `#/overview?lock=${encodeURIComponent(name)}`],
  ["filter by method", "#/overview?method=m3"],
  ["range", "#/overview?range=1000000000-3000000000"],
  ["locks", "#/locks"],
  ["locks by chains", "#/locks?by=owner-chain,contender-chain"],
  ["wait-for", "#/waitfor?mode=threads"],
  ["blocked flame graph", "#/profile?mode=blocked.flame"],
  ["CPU flame graph", "#/profile?mode=cpu.flame"],
  ["CPU flame graph, JDK not folded", "#/profile?mode=cpu.flame.all"],
  ["CPU callers", "#/profile?mode=cpu.callers.all"],
  ["CPU flame graph again", "#/profile?mode=cpu.flame"],
  ["threads", "#/threads"],
  ["threads of a range", "#/threads?range=1000000000-3000000000"],
  ["parks", "#/parks"],
  ["stolen time", "#/steal"],
];
console.log(`  ${seconds} recorded; until nothing moves any more:`);
for (const [what, hash] of CHANGES) console.log(`    ${what}: ${await change(hash)}`);
const chromiumMb = Math.round(memory(server.process().pid));
const own = source.pid ? `, headway view ${Math.round(memory(source.pid))} MB` : `, the file ${(source.bytes / MB).toFixed(1)} MB`;
console.log(`  memory: Chromium ${chromiumMb} MB${own}`);
await chrome.close();
await server.close();
source.stop();
process.exit(0);
