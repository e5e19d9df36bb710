// How long each action on the page takes, from a change of the address or a click until the last of its pictures is drawn.
//
//   HEADWAY_BIN=... HEADWAY_CHROMIUM=... node e2e/measure.mjs FILE [view|report] [--rounds N] [--page BUILT.html]...
//
// With several `--page`, each a build of the page, rounds alternate between them. HEADWAY_FIREFOX in place of
// HEADWAY_CHROMIUM measures in Firefox, which does not say how much CPU time it takes.
import { execFileSync, spawn } from "node:child_process";
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { parseArgs } from "node:util";
import { chromium, firefox } from "playwright-core";

const { values: options, positionals } = parseArgs({ allowPositionals: true, options: { rounds: { type: "string", default: "1" }, page: { type: "string", multiple: true, default: [] } } });
const [file, how = "view"] = positionals;
const { HEADWAY_BIN: headway, HEADWAY_CHROMIUM: chromiumPath, HEADWAY_FIREFOX: firefoxPath } = process.env;
if (!file || !headway || !(chromiumPath || firefoxPath)) throw new Error("usage: HEADWAY_BIN=... HEADWAY_CHROMIUM=... node e2e/measure.mjs FILE [view|report] [--rounds N] [--page BUILT.html]...");
const MB = 1 << 20;
const ROUNDS = Number(options.rounds);
/** Each build of the page that is measured; `null` is the command's own. */
const BUILDS = options.page.length > 0 ? options.page : [null];

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

async function launched() {
  if (firefoxPath) return { browser: await firefox.launch({ executablePath: firefoxPath, channel: "moz-firefox" }), pid: null };
  const server = await chromium.launchServer({ executablePath: chromiumPath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  return { browser: await chromium.connect(server.wsEndpoint()), pid: server.process().pid };
}

/** The page of the command with another build in its place: its data and policy stay. */
function exchanged(text, build) {
  const data = /<script type="application\/(?:json|octet-stream)" (?:id="headway-opening"|class="headway-recording")>[^<]*<\/script>/g;
  const policy = text.includes("connect-src 'self'") ? "connect-src 'self'" : "connect-src 'none'";
  const found = text.match(data).join("\n");
  return readFileSync(build, "utf8").replace("<!--headway:data-->", () => found).replace("connect-src 'none'", policy);
}

/** Opens the page again, and waits until all of the recording is there. */
async function opened(browser, build) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  // How many questions are not answered yet: on a busy machine an answer may take long.
  await page.addInitScript(() => {
    const { fetch } = window;
    window.pending = 0;
    window.fetch = (...words) => {
      window.pending++;
      return fetch(...words).finally(() => window.pending--);
    };
  });
  if (build !== null) {
    await page.route((url) => url.href.split("#")[0] === source.address, async (route) => {
      const text = source.pid ? await (await fetch(source.address)).text() : readFileSync(new URL(source.address), "utf8");
      await route.fulfill({ body: exchanged(text, build), contentType: "text/html; charset=utf-8" });
    });
  }
  const begin = performance.now();
  await page.goto(source.address);
  await page.locator(".answers tbody tr, main .empty, main .card").first().waitFor({ timeout: 120_000 });
  await page.locator(".timeline canvas").waitFor();
  const drawn = performance.now() - begin;
  await page.locator("header progress, main .first").first().waitFor({ state: "detached", timeout: 600_000 });
  if (firefoxPath) return { page, context, drawn, cpu: async () => NaN };
  const devtools = await context.newCDPSession(page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  /** CPU time of the page's main thread so far. */
  const cpu = async () => {
    const { metrics } = await devtools.send("Performance.getMetrics");
    return 1000 * metrics.find(({ name }) => name === "TaskDuration").value;
  };
  return { page, context, drawn, cpu };
}

/** Acts in the page, and says after how long nothing was left to be asked and drawn; null if there is nothing to act on. */
async function settled(page, { hash, click, key }) {
  return page.evaluate(async ({ hash, click, key }) => {
    const wait = () => new Promise((resolve) => setTimeout(resolve, 25));
    const element = click ? document.querySelector(click) : null;
    if (click && !element) return null;
    if (key) element.focus();
    await wait();
    const start = performance.now();
    let [last, drawn] = [start, start];
    const observer = new MutationObserver(() => {
      last = performance.now();
      // After the next frame a task begins: what changed is laid out and painted.
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => (drawn = performance.now());
        port2.postMessage(null);
      });
    });
    observer.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
    if (hash !== undefined) location.hash = hash;
    else if (key) element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    else element.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
    let quiet = start;
    while (performance.now() - Math.max(last, quiet) < 400 || drawn < last || document.querySelector("main [aria-busy]")) {
      await wait();
      if (window.pending > 0) quiet = performance.now();
    }
    observer.disconnect();
    return drawn - start;
  }, { hash, click, key });
}

/** What is done one after the other, with names of what the recording has. */
function actions(name, method) {
  const lock = `lock=${encodeURIComponent(name)}`;
  const frame = "g[data-frame='12']";
  return [
    ["filter by thread", { hash: "#/overview?thread=-1" }],
    ["filter by lock", { hash: `#/overview?${lock}` }],
    ["filter by method", { hash: "#/overview?method=m3" }],
    ["range", { hash: "#/overview?range=1000000000-3000000000" }],
    ["incident", { hash: "#/incident" }],
    ["locks", { hash: "#/locks" }],
    ["locks: a row opens", { click: ".tablerow [aria-label=open]" }],
    ["locks: a row is chosen", { click: ".tablerow" }],
    ["locks: waiting", { hash: `#/locks?${lock}&mode=waiting` }],
    ["locks: holding", { hash: `#/locks?${lock}&mode=holding` }],
    ["locks: inside", { hash: `#/locks?${lock}&mode=inside` }],
    ["locks: longest", { hash: `#/locks?${lock}&mode=longest` }],
    ["locks by stacks", { hash: "#/locks?by=owner-chain,contender-chain" }],
    ["wait-for", { hash: "#/waitfor" }],
    ["wait-for by thread", { hash: "#/waitfor?mode=threads" }],
    ["wait-for by method", { hash: "#/waitfor?mode=methods" }],
    ["blocked flame graph", { hash: "#/profile?mode=blocked.flame" }],
    ["owning flame graph", { hash: "#/profile?mode=owning.flame" }],
    ["CPU flame graph", { hash: "#/profile?mode=cpu.flame" }],
    ["CPU, JDK not folded", { hash: "#/profile?mode=cpu.flame.all" }],
    ["CPU callers", { hash: "#/profile?mode=cpu.callers.all" }],
    ["CPU callers, folded", { hash: "#/profile?mode=cpu.callers" }],
    ["CPU flame graph again", { hash: "#/profile?mode=cpu.flame" }],
    ["a frame: next by key", { click: "g[data-frame][tabindex='0']", key: "ArrowDown" }],
    ["zoomed into a frame", { click: frame }],
    ["zoomed out again", { hash: "#/profile?mode=cpu.flame" }],
    ["a search", { hash: "#/profile?mode=cpu.flame&search=m1" }],
    ["callers and callees", { hash: `#/profile?mode=cpu.flame&sandwich=${encodeURIComponent(method)}` }],
    ["only stacks with a method", { hash: `#/profile?mode=cpu.flame&focus=${encodeURIComponent(method)}` }],
    ["calling context tree", { hash: "#/profile?mode=cpu.tree" }],
    ["context: a row opens", { click: ".tablerow [aria-label=open]" }],
    ["methods", { hash: "#/profile?mode=cpu.flat" }],
    ["methods by name", { hash: "#/profile?mode=cpu.flat&sort=text" }],
    ["threads", { hash: "#/threads" }],
    ["threads of a range", { hash: "#/threads?range=1000000000-3000000000" }],
    ["parks", { hash: "#/parks" }],
    ["parks: each", { hash: "#/parks?mode=park" }],
    ["parks: waits", { hash: "#/parks?mode=wait" }],
    ["CPU shortage", { hash: "#/steal" }],
    ["CPU shortage by thread", { hash: "#/steal?mode=threads" }],
    ["overview again", { hash: "#/overview" }],
  ];
}

/** The median, the 95th percentile and the largest. */
function summary(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (part) => sorted[Math.min(sorted.length - 1, Math.ceil(part * sorted.length) - 1)] ?? NaN;
  return [at(0.5), at(0.95), sorted.at(-1) ?? NaN].map((ms) => Math.round(ms).toString().padStart(5)).join(" ");
}

const { browser, pid } = await launched();
const begin = performance.now();
const source = how === "report" ? report() : await serve();
console.log(`${file} (${Math.round(statSync(file).size / MB)} MB), ${how}${source.bytes ? `, the file ${(source.bytes / MB).toFixed(1)} MB` : ""}`);
const { page, context } = await opened(browser, BUILDS[0]);
console.log(`  all of it after ${Math.round(performance.now() - begin)} ms`);
const name = await page.evaluate(() => document.querySelector(".answers tbody td code")?.textContent ?? "");
await settled(page, { hash: "#/profile?mode=cpu.flame" });
const method = await page.evaluate(() => /^(.*?): \d/.exec(document.querySelector("g[data-frame='12']")?.getAttribute("aria-label") ?? "")?.[1] ?? "none");
await context.close();

/** Of each action and build, times in ms. */
const found = new Map();
const drawn = BUILDS.map(() => []);
for (let round = 0; round < ROUNDS; round++) {
  for (const [at, build] of BUILDS.entries()) {
    const opening = await opened(browser, build);
    drawn[at].push(opening.drawn);
    for (const [what, action] of actions(name, method)) {
      const before = await opening.cpu();
      const wall = await settled(opening.page, action);
      if (wall === null) continue;
      const of = found.get(what) ?? BUILDS.map(() => ({ wall: [], cpu: [] }));
      found.set(what, of);
      of[at].wall.push(wall);
      of[at].cpu.push((await opening.cpu()) - before);
    }
    if (round === ROUNDS - 1 && at === BUILDS.length - 1 && pid) {
      console.log(`  memory: Chromium ${Math.round(memory(pid))} MB${source.pid ? `, headway view ${Math.round(memory(source.pid))} MB` : ""}`);
    }
    await opening.context.close();
  }
}
console.log(`  ${ROUNDS} rounds; ms until drawn: median, 95th percentile, largest; the same of the main thread's CPU time`);
for (const [at, build] of BUILDS.entries()) {
  console.log(`  ${build ?? "the command's page"}`);
  console.log(`    first picture of the page: ${summary(drawn[at])}`);
  for (const [what, of] of found) console.log(`    ${what.padEnd(28)} ${summary(of[at].wall)}   ${summary(of[at].cpu)}`);
  const [all, cpu] = [[...found.values()].flatMap((of) => of[at].wall), [...found.values()].flatMap((of) => of[at].cpu)];
  console.log(`    ${"all of these".padEnd(28)} ${summary(all)}   ${summary(cpu)}`);
}
await browser.close();
source.stop();
process.exit(0);
