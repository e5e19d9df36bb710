// The settings of a recording as the options of the command line.
import type { Facts } from "../data/contract";
import { count, duration } from "./units";

/** What an option is called that has the value, or nothing where it has its default. */
const OPTIONS: Record<string, (value: string) => string> = {
  events: (value) => `-e ${eventsOf(value)}`,
  interval: (value) => `-i ${spanOf(value)}`,
  budget: (value) => (value === "none" ? "no budget" : `--budget ${value.replace(" %", "")}`),
  max_rate: (value) => (value === "none" ? "" : `--max-rate ${count(Number.parseFloat(value))} bytes/s`),
  min_duration: (value) => (value === "0" ? "" : `--min-duration ${spanOf(value)}`),
  park_floor: (value) => (value === "0" ? "" : `--park-floor ${spanOf(value)}`),
  pressure_interval: (value) => (value === "1000000000" ? "" : `--pressure-interval ${spanOf(value)}`),
  threads: (value) => (value === "" ? "" : `--threads '${value}'`),
  engine: (value) => `--engine ${value}`,
  safe: (value) => (value === "true" ? "--safe" : ""),
  redact: (value) => (value === "true" ? "--redact" : ""),
};

/** `-e lock,steal  --budget 1`; what is no option as name and value. */
export function optionsOf(settings: [string, string][]): string {
  const texts = settings.map(([name, value]) => OPTIONS[name]?.(value) ?? `${name}=${value}`);
  return texts.filter((text) => text !== "").join("  ");
}

/** True if neither locks nor waits were recorded, so that nothing can be said of them. Other tools' recordings do not say. */
export function leavesOutLocks(settings: [string, string][]): boolean {
  const events = settings.find(([name]) => name === "events")?.[1].split(",");
  return events !== undefined && !["monitor", "park", "pressure"].some((event) => events.includes(event));
}

/** What JFR calls what an event of `-e` records. */
const OF_JFR: Record<string, string[]> = { monitor: ["jdk.JavaMonitorEnter", "jdk.JavaMonitorWait"], park: ["jdk.ThreadPark"], cpu: ["jdk.ExecutionSample"] };

/** True if all these events of `-e` were recorded, whether or not they occurred; null if the recording does not say, or if
 * something may have kept a part of them out: `--safe`, a part of Headway that did not work, a threshold of JFR. */
export function records({ settings, degraded }: Pick<Facts, "settings" | "degraded">, wanted: string[]): boolean | null {
  const value = (name: string) => settings.find(([known]) => known === name)?.[1];
  const events = value("events")?.split(/[,+]/);
  if (events) {
    const isThere = (event: string) => events.includes(event) || (events.includes("lock") && (event === "monitor" || event === "park"));
    if (!wanted.every(isThere)) return false;
    const isPartial = value("safe") === "true" || wanted.some((event) => degraded.some(([name]) => name.startsWith(event)));
    return isPartial ? null : true;
  }
  const ofJfr = wanted.flatMap((event) => OF_JFR[event] ?? []);
  const enabled = ofJfr.map((event) => value(`${event}#enabled`));
  if (enabled.length === 0 || enabled.includes(undefined)) return null;
  if (enabled.includes("false")) return false;
  return ofJfr.every((event) => Number.parseFloat(value(`${event}#threshold`) ?? "0") === 0) ? true : null;
}

/** Why a table about an event is empty in the whole recording: nothing happened, or nothing was recorded. */
export function neverText(empty: string, isRecorded: boolean | null, event: string): string {
  if (isRecorded) return `${empty} in the whole recording.`;
  const how = `record with -e ${event} (or -e lock)`;
  return isRecorded === null ? `${empty} in this recording. It does not say whether such events were recorded: to be sure, ${how}.` : `Not recorded: to fill this table, ${how}.`;
}

/** The events that `-e` takes: `lock` stands for monitor and park. */
function eventsOf(value: string): string {
  const events = value.split(",");
  const isLock = events.includes("monitor") && events.includes("park");
  return isLock ? ["lock", ...events.filter((event) => event !== "monitor" && event !== "park")].join(",") : value;
}

/** `10.0ms` of `10000000 ns` or `10000000`. */
function spanOf(value: string): string {
  return duration(Number.parseFloat(value)).replace(" ", "");
}
