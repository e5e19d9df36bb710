// Pictures of pages, and where things are on them, compared with those that are kept.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateSync } from "node:zlib";
import pixelmatch from "pixelmatch";
import type { Browser, Page } from "playwright-core";
import { PNG } from "pngjs";

const KEPT = fileURLToPath(new URL("./pictures/", import.meta.url));
/** Where pictures that differ are put, for somebody to look at. */
const DIFFERENT = fileURLToPath(new URL("../../build/pictures/", import.meta.url));

export const RENEWS = process.env["HEADWAY_UPDATE"] === "1";

/** What pictures depend on besides the page. */
export interface DrawnWith {
  browser: string;
  /** Hash of some text, drawn: of the fonts, and of how this machine smooths them. */
  text: string;
}

export async function drawnWith(browser: Browser): Promise<DrawnWith> {
  const page = await browser.newPage();
  const drawn = await page.evaluate(() => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [600, 120];
    const draw = canvas.getContext("2d")!;
    ['13px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif', 'bold 15px system-ui, "DejaVu Sans", sans-serif', '12px ui-monospace, "DejaVu Sans Mono", monospace'].forEach((font, row) => {
      draw.font = font;
      draw.fillText("Stock.lock blocked 1.30 ms ±5 % – ▾▸✕→ com.acme.(lambda)", 2, 20 + 34 * row);
    });
    return canvas.toDataURL();
  });
  await page.close();
  return { browser: browser.version(), text: createHash("sha256").update(drawn).digest("hex").slice(0, 16) };
}

/** What the kept pictures were drawn with; renewed with them. */
export function keptDrawnWith(now: DrawnWith): DrawnWith {
  const file = join(KEPT, "drawn-with.json");
  if (RENEWS) write(file, `${JSON.stringify(now, null, 2)}\n`);
  return JSON.parse(readFileSync(file, "utf8")) as DrawnWith;
}

/** A picture of the whole page once it is at rest: two in a row are equal. */
export async function still(page: Page): Promise<Buffer> {
  let last: Buffer = Buffer.alloc(0);
  for (let attempt = 0; attempt < 30; attempt++) {
    const next = await page.screenshot({ fullPage: true, animations: "disabled", caret: "hide" });
    if (next.equals(last)) return next;
    last = next;
  }
  throw new Error("the page does not come to rest");
}

const LEAST_DIFFERENCE = 0.1;
const WINDOW = 16;
/** Pixels in a square of WINDOW that may differ: a letter that is drawn a little differently, not another word. */
const MOST_DIFFERENT = 40;

/** What is wrong with a picture, in a sentence; empty if it is the one that is kept. */
export function compare(name: string, taken: Buffer): string {
  const file = join(KEPT, `${name}.png`);
  const now = PNG.sync.read(taken);
  if (RENEWS) write(file, palette(now));
  if (!existsSync(file)) return `${name}: there is no picture; ./hw pictures --renew makes one`;
  const kept = PNG.sync.read(readFileSync(file));
  const keep = () => write(join(DIFFERENT, `${name}.png`), taken);
  if (kept.width !== now.width || kept.height !== now.height) {
    keep();
    return `${name}: is ${now.width} x ${now.height}, was ${kept.width} x ${kept.height}`;
  }
  const marked = new PNG({ width: now.width, height: now.height });
  const most = pixelmatch(kept.data, now.data, marked.data, now.width, now.height, { threshold: LEAST_DIFFERENCE, windowSize: WINDOW });
  if (most <= MOST_DIFFERENT) return "";
  keep();
  write(join(DIFFERENT, `${name}-marked.png`), PNG.sync.write(marked));
  return `${name}: ${most} of ${WINDOW * WINDOW} pixels of some square differ; build/pictures has the new one, and one with the difference marked`;
}

/** A picture of at most 256 colours: a third of the bytes. Rare colours become the nearest of the frequent ones. */
function palette({ width, height, data }: PNG): Buffer {
  const counted = new Map<number, number>();
  const colour = (at: number) => (data[at]! << 16) | (data[at + 1]! << 8) | data[at + 2]!;
  for (let at = 0; at < data.length; at += 4) counted.set(colour(at), (counted.get(colour(at)) ?? 0) + 1);
  const colours = chosen([...counted].sort((a, b) => b[1] - a[1] || a[0] - b[0]));
  const places = new Map(colours.map((one, place) => [one, place]));
  const place = (wanted: number): number => {
    let found = places.get(wanted);
    if (found === undefined) places.set(wanted, (found = nearest(colours, wanted)));
    return found;
  };
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = place(colour(4 * (y * width + x)));
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  // Eight bits a pixel, by palette.
  head.set([8, 3, 0, 0, 0], 8);
  const parts = [chunk("IHDR", head), chunk("PLTE", Buffer.from(colours.flatMap((one) => [one >> 16, (one >> 8) & 255, one & 255]))), chunk("IDAT", deflateSync(rows, { level: 9 })), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), ...parts]);
}

/** The most frequent colours, and of the others those that are most wrong without. */
function chosen(counted: [colour: number, pixels: number][]): number[] {
  const found = counted.slice(0, FREQUENT).map(([one]) => one);
  const others = counted.slice(FREQUENT).map(([one, pixels]) => ({ one, pixels, wrong: Math.min(...found.map((other) => far(one, other))) }));
  while (found.length < 256 && others.length > 0) {
    const worst = others.reduce((worst, next, at) => (next.wrong * next.pixels > others[worst]!.wrong * others[worst]!.pixels ? at : worst), 0);
    const { one } = others.splice(worst, 1)[0]!;
    found.push(one);
    for (const other of others) other.wrong = Math.min(other.wrong, far(one, other.one));
  }
  return found;
}

const FREQUENT = 96;

function far(a: number, b: number): number {
  return [16, 8, 0].reduce((sum, shift) => sum + (((a >> shift) & 255) - ((b >> shift) & 255)) ** 2, 0);
}

function nearest(colours: number[], wanted: number): number {
  return colours.reduce((best, one, at) => (far(one, wanted) < far(colours[best]!, wanted) ? at : best), 0);
}

function chunk(name: string, content: Buffer): Buffer {
  const whole = Buffer.concat([Buffer.from(name, "latin1"), content]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  check.writeUInt32BE(crc(whole));
  return Buffer.concat([length, whole, check]);
}

/** The check sum of a PNG's parts. */
function crc(bytes: Buffer): number {
  let rest = 0xffffffff;
  for (const byte of bytes) {
    rest ^= byte;
    for (let bit = 0; bit < 8; bit++) rest = (rest >>> 1) ^ (rest & 1 ? 0xedb88320 : 0);
  }
  return ~rest >>> 0;
}

/** An element of a page: what it is, and where. */
export type Box = [name: string, x: number, y: number, width: number, height: number];

/** The main elements of a page, in the order of the document. */
export function boxes(page: Page): Promise<Box[]> {
  return page.evaluate(() => {
    const found = [...document.querySelectorAll("header, form, .timeline, main h2, main .card, main table, main .table, main .flame, main .lanes, main .graph")];
    return found.filter((one) => one.getBoundingClientRect().width > 1).map((one): [string, number, number, number, number] => {
      const { x, y, width, height } = one.getBoundingClientRect();
      const text = one.matches("h2") ? ` ${one.textContent!.slice(0, 30)}` : "";
      return [`${one.tagName.toLowerCase()}${one.className ? `.${String(one.className).split(" ")[0]}` : ""}${text}`, ...([x, y + scrollY, width, height].map(Math.round) as [number, number, number, number])];
    });
  });
}

/** How far an element may be from where it was, as a part of the page's width, where fonts are others. */
const OTHER_FONTS = 0.1;

/** What is wrong with the layout, in sentences. Where fonts are others only order, left edges and widths count. */
export function compareBoxes(name: string, now: Box[], sameFonts: boolean): string[] {
  const file = join(KEPT, "boxes", `${name}.json`);
  if (RENEWS) write(file, `[\n${now.map((box) => `  ${JSON.stringify(box)}`).join(",\n")}\n]\n`);
  const kept = JSON.parse(readFileSync(file, "utf8")) as Box[];
  const names = (boxes: Box[]) => boxes.map(([name]) => name).join(", ");
  if (names(now) !== names(kept)) return [`${name}: has ${names(now)}; had ${names(kept)}`];
  const width = Math.max(...kept.map(([, x, , width]) => x + width));
  return now.flatMap((box, at) => {
    const far = [1, 2, 3, 4].map((side) => Math.abs((box[side] as number) - (kept[at]![side] as number)));
    const wrong = sameFonts ? far.some((one) => one > 1) : [far[0]!, far[2]!].some((one) => one > OTHER_FONTS * width);
    return wrong ? [`${name}: ${JSON.stringify(box)}, was ${JSON.stringify(kept[at])}`] : [];
  });
}

function write(file: string, content: Buffer | string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}
