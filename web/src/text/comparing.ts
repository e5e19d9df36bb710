// What is said of the change between two recordings.
import type { Change, Compared, Disagreement } from "../data/compare";
import { count, duration, mean, percent, times } from "./units";

/** `13,000 times less`, `35 % more`; nothing where one of both is zero. */
export function changeText(before: number, after: number): string {
  if (before <= 0 || after <= 0) return "";
  const ratio = after / before;
  if (ratio >= 2) return `${count(Math.round(ratio))} times as much`;
  if (ratio <= 0.5) return `${count(Math.round(1 / ratio))} times less`;
  return `${percent(Math.abs(ratio - 1))} ${ratio > 1 ? "more" : "less"}`;
}

const WORDS: Record<Compared["what"], [did: string, whose: string]> = { blocked: ["were blocked", ""], waiting: ["waited", " (idle threads left out)"] };

/** How long threads were blocked or waited per unit, before and after, and whether that is more than noise. */
export function comparedText({ what, perUnit: [before, after], rows }: Compared, unit: string): string {
  const change = changeText(before, after);
  const per = (ns: number) => `${duration(ns)} per ${unit}`;
  const [did, whose] = WORDS[what];
  return `Threads ${did} ${per(before)} before and ${per(after)} after${whose}${change === "" ? "" : `, ${change}`}. ${summary(rows)}`;
}

function summary(rows: Change[]): string {
  const decided = rows.filter((row) => row.verdict !== "within noise");
  if (decided.length === 0) return rows.length === 0 ? "" : "This can be chance: no change is larger than the noise.";
  const worse = decided.filter((row) => row.verdict === "worse").length;
  const better = decided.length - worse;
  return `${times(decided.length, "significant change")}: ${worse} worse, ${better} better; the largest is ${decided[0]!.name}.`;
}

/**
 * That a second and a CPU second lead to different verdicts, and how they differ: in the CPU time that the application
 * used, of which `cpus` is the average, and in the noise.
 */
export function disagreementText({ name, perSecond, perCpuSecond, noise }: Disagreement, cpus: readonly [before: number, after: number]): string {
  const large = noise > 0 ? `, where the noise is ${percent(noise)} of the change` : "";
  const parts = perSecond === "within noise" ? [`${perCpuSecond} per CPU second`, `${perSecond} per second`] : [`${perSecond} per second`, `${perCpuSecond} per CPU second`];
  const changed = changeText(...cpus);
  const used = changed === "" ? "" : ` The application used ${changed} CPU time per second: ${mean(cpus[0])} CPUs on average before, ${mean(cpus[1])} after.`;
  return `The units disagree: ${name} is ${parts[0]}, but ${parts[1]}${large}.${used}`;
}
