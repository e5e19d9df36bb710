// What the tests of the page stand on: recordings, the command, a browser.
import { execFileSync, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Aspect } from "../src/data/contract";
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";

function named(variable: string): string {
  const value = process.env[variable];
  if (!value) throw new Error(`${variable} is not set; ./hw test sets it`);
  return value;
}

export function recording(name: string): string {
  return resolve(named("HEADWAY_RECORDINGS"), name);
}

/** A directory of its own for a test file. */
export function scratch(): { file: (name: string) => string; remove: () => void } {
  const place = mkdtempSync(join(tmpdir(), "headway-page-"));
  return { file: (name) => join(place, name), remove: () => rmSync(place, { recursive: true, force: true }) };
}

/** A recording that was made long ago, by Headway or another tool. */
export function golden(name: string): string {
  return fileURLToPath(new URL(`../../crates/jfr/tests/golden/${name}`, import.meta.url));
}

/** What a damaged recording ends the command with, its readable part being shown. */
const DAMAGED = 4;

/** What `headway report` prints. */
function headwayReport(words: string[]): string {
  const { status, stdout, stderr } = spawnSync(named("HEADWAY_BIN"), ["report", ...words], { encoding: "utf8", maxBuffer: 1 << 28 });
  if (status !== 0 && status !== DAMAGED) throw new Error(`headway report ${words.join(" ")} ended with ${status}: ${stderr}`);
  return stdout;
}

/** Writes a report and gives its address. */
export function report(output: string, recordings: string[], options: string[] = []): string {
  headwayReport([...recordings.map(recording), "-o", output, ...options]);
  return `file://${output}`;
}

/** What `headway report --json` says of a recording. */
export function summary<T>(name: string, options: string[] = []): T {
  return JSON.parse(headwayReport(["--json", ...options, recording(name)])) as T;
}

/** A row of the breakdown of `headway report --json`. */
export interface Row {
  aspect: Aspect;
  value: string;
  total_ns: number;
  count: number;
  max_ns: number;
  interval?: { low_ns: number; high_ns: number; instants: number };
  children: Row[];
}

/** The breakdown of a recording, all of its rows. */
export function breakdown(name: string, by: string[], options: string[] = []): { blocked_ns: number; contentions: number; rows: Row[] } {
  return summary(name, ["--top", "100000", ...(by.length > 0 ? ["--by", by.join()] : []), ...options]);
}

export interface Served {
  address: string;
  /** Ends the server; done when its process has ended. */
  stop: () => Promise<void>;
}

/** How long a busy machine may take for anything: less than a test has (vitest.config.ts). */
const PATIENCE_MS = 100_000;

/** Serves recordings, when all of them were read: a large one has its address before. */
export async function serve(recordings: string[], options: string[] = []): Promise<Served> {
  const served = await view([...options, ...recordings.map(recording)]);
  while (await isReading(served.address)) await new Promise((resolve) => setTimeout(resolve, 50));
  return served;
}

/** What is read says how far; what was read at once, that it is over. */
async function isReading(address: string): Promise<boolean> {
  const reply = await fetch(`${address}now`, { method: "POST", body: "0" });
  return reply.status === 200 && ((await reply.json()) as { reading: unknown }).reading !== null;
}

/** Serves what these words of `headway view` say. */
export function view(words: string[]): Promise<Served> {
  return served(named("HEADWAY_BIN"), ["view", ...words]);
}

/** Serves a store. */
export function viewStore(place: string): Promise<Served> {
  return served(named("HEADWAY_FLEET"), ["fleet", "view", "--store", place]);
}

/** Generates a store. */
export function generate(place: string, options: string[]): void {
  execFileSync(named("HEADWAY_GENERATOR"), ["--store", place, ...options], { stdio: ["ignore", "ignore", "inherit"] });
}

/** The rows of a question to a store. */
export function sql<Row>(place: string, question: string): Row[] {
  const lines = execFileSync(named("HEADWAY_FLEET"), ["sql", question, place, "--format", "json"], { encoding: "utf8", maxBuffer: 1 << 28 });
  return lines.split("\n").filter(Boolean).map((line) => JSON.parse(line) as Row);
}

/** Serves what a program prints the address of. */
async function served(program: string, words: string[]): Promise<Served> {
  const child: ChildProcess = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"] });
  let warnings = "";
  child.stderr!.on("data", (data: Buffer) => (warnings += data.toString()));
  const address = await new Promise<string>((resolve, reject) => {
    let printed = "";
    child.stdout!.on("data", (data: Buffer) => {
      printed += data.toString();
      if (printed.includes("\n")) resolve(printed.trim());
    });
    child.on("close", (code) => reject(new Error(`${program} ${words.join(" ")} ended with ${code}: ${warnings}`)));
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const stop = (): Promise<void> => {
    child.kill("SIGTERM");
    return ended;
  };
  return { address, stop };
}

export interface Java {
  pid: string;
  /** Ends the JVM; done when its process has ended. */
  stop: () => Promise<void>;
}

/** Runs a Java program in one source file, which prints a line when it is ready; nothing if there is no JDK. */
export async function java(source: string): Promise<Java | null> {
  const home = ["HEADWAY_JDK25", "HEADWAY_JDK21", "HEADWAY_JDK17", "JAVA_HOME"].map((name) => process.env[name]).find((home) => home);
  if (!home) return null;
  const child: ChildProcess = spawn(join(home, "bin/java"), ["-XX:+EnableDynamicAgentLoading", source], { stdio: ["ignore", "pipe", "inherit"] });
  // The JVM ends with the test, however that ends.
  process.once("exit", () => child.kill("SIGKILL"));
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  await new Promise<void>((resolve, reject) => {
    child.stdout!.once("data", () => resolve());
    child.once("exit", (code) => reject(new Error(`java ended with ${code}`)));
    child.once("error", reject);
  });
  const stop = (): Promise<void> => {
    child.kill("SIGTERM");
    return ended;
  };
  return { pid: String(child.pid), stop };
}

export async function browser(): Promise<Browser> {
  // A container has no room for Chromium's own sandbox; what is opened is our own page.
  return chromium.launch({ executablePath: await resolved(named("HEADWAY_CHROMIUM")), args: ["--no-sandbox", "--disable-dev-shm-usage"], timeout: PATIENCE_MS });
}

async function resolved(name: string): Promise<string> {
  return name.includes("/") ? name : execFileSync("sh", ["-c", 'command -v "$1"', "sh", name]).toString().trim();
}

/** Opens a page; whatever its console complains about is collected. */
export async function open(context: BrowserContext, address: string): Promise<{ page: Page; complaints: string[] }> {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("dialog", (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    const url = request.url();
    const own = new URL(address);
    if (!url.startsWith("file:") && !url.startsWith("data:") && !url.startsWith("blob:") && new URL(url).origin !== own.origin) complaints.push(`asks ${url}`);
  });
  await page.goto(address);
  await page.waitForSelector("main");
  return { page, complaints };
}

export const SIZE = { width: 1280, height: 800 };
