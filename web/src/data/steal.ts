// CPU shortage of a time range: what is measured interval by interval counts in proportion to the overlap.
import type { Machine, Quota, Ready, Steal } from "./contract";
import type { Range } from "./intervals";

/** What a range has of `Steal`. */
export interface StealPart {
  machine: Machine;
  quota: Quota | null;
  process: Ready;
  intervals: number;
  refinedIntervals: number;
  coveredNs: number;
}

/** The part of a range; all of it if there is none. */
export function stealIn(steal: Steal, range: Range | null): StealPart {
  if (range === null) return steal;
  const parts = steal.windows.map((window) => ({ window, part: partOf(window, range) })).filter(({ part }) => part > 0);
  const sum = (value: (window: Steal["windows"][number]) => number) => Math.round(parts.reduce((all, { window, part }) => all + part * value(window), 0));
  return {
    machine: { busy: sum((one) => one.machine.busy), steal: sum((one) => one.machine.steal), idle: sum((one) => one.machine.idle) },
    quota: steal.quota && { ...steal.quota, periods: sum((one) => one.periods), throttledPeriods: sum((one) => one.throttledPeriods), throttled: sum((one) => one.throttled) },
    process: { corrected: sum((one) => one.process.corrected), steal: sum((one) => one.process.steal), throttled: sum((one) => one.process.throttled), queued: sum((one) => one.process.queued) },
    intervals: parts.reduce((all, { window }) => all + window.intervals, 0),
    refinedIntervals: parts.reduce((all, { window }) => all + window.refined, 0),
    coveredNs: sum((one) => one.to - one.from),
  };
}

/** How long the owners of the locks of each name had no CPU in a range, or in all of the recording. */
export function noCpuIn({ lockNames, lockIntervalNs }: Pick<Steal, "lockNames" | "lockIntervalNs">, range: Range | null): Map<number, number> {
  const within = (when: [start: number, ns: number][], range: Range) =>
    Math.round(when.reduce((sum, [from, ns]) => sum + ns * partOf({ from, to: from + lockIntervalNs }, range), 0));
  return new Map(lockNames.map(({ name, offCpu, when }) => [name, range ? within(when, range) : offCpu]));
}

/** The part of an interval that lies in a range. */
function partOf({ from, to }: Range, range: Range): number {
  return Math.max(0, Math.min(to, range.to) - Math.max(from, range.from)) / Math.max(1, to - from);
}

/** Time in which threads were ready to run, but had no CPU: steal, and the larger of the other two, which most kernels count twice. */
export function offCpuOf({ steal, throttled, queued }: Omit<Ready, "corrected">): number {
  return steal + Math.max(throttled, queued);
}
