// Takes the picture of the page in README.md.
//
//     ./hw demo --seconds 30
//     target/release/headway report build/demo/demo.jfr -o build/demo/report.html
//     node web/picture.mjs build/demo/report.html docs/pictures/overview.png
//
// Needs Chromium: HEADWAY_CHROMIUM, or the one on the path.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const LIMIT_BYTES = 300_000;
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

const [report, picture, view = ""] = process.argv.slice(2);
if (!picture) {
  console.error("usage: node web/picture.mjs REPORT.html PICTURE.png [#VIEW]");
  process.exit(2);
}

function browserPath() {
  if (process.env.HEADWAY_CHROMIUM) return process.env.HEADWAY_CHROMIUM;
  for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
    try {
      return execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
    } catch {
      // Try the next one.
    }
  }
  throw new Error("no Chromium found: install the package chromium, or set HEADWAY_CHROMIUM");
}

const profile = mkdtempSync(join(tmpdir(), "headway-picture-"));
const context = await chromium.launchPersistentContext(profile, {
  executablePath: browserPath(),
  args: FLAGS,
  viewport: { width: 1200, height: 820 },
  colorScheme: "light",
});
try {
  const page = await context.newPage();
  await page.goto(pathToFileURL(resolve(report)).href + view);
  await page.waitForSelector("main table");
  await page.waitForLoadState("networkidle");
  await page.evaluate(() => document.fonts.ready);
  mkdirSync(dirname(resolve(picture)), { recursive: true });
  await page.screenshot({ path: picture });
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
}
const { size } = statSync(picture);
if (size > LIMIT_BYTES) throw new Error(`${picture} has ${size} bytes, more than ${LIMIT_BYTES}`);
console.log(`${picture}: ${size} bytes`);
