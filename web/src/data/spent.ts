// CPU time and off-CPU time of threads, from groups by something and kind.
import { KINDS, type Groups, type Kind, type Steal } from "./contract";
import { offCpuOf } from "./steal";

/** Kinds of rows that the agent measures, interval by interval. */
export const MEASURED: Kind[] = ["ran", "steal", "throttled", "queued"];
/** Those in which a thread was ready to run, but off-CPU. */
export const OFF_CPU: Kind[] = ["steal", "throttled", "queued"];

export interface SpentRow {
  value: number;
  ran: number;
  steal: number;
  throttled: number;
  queued: number;
  /** Steal and the larger of the other two, which most kernels count twice. */
  offCpu: number;
  /** As part of the time in which it could have run. */
  share: number;
}

/** CPUs of the machine, and how many of them the container's quota lets the process use; null where that is not known or not limited. */
export function cpusOf({ machine, quota, coveredNs }: Pick<Steal, "machine" | "quota" | "coveredNs">): { machine: number | null; limit: number | null } {
  // Time runs on every CPU at once, whatever it does.
  const cpus = coveredNs > 0 ? Math.round((machine.busy + machine.steal + machine.idle) / coveredNs) : 0;
  return { machine: cpus > 0 ? cpus : null, limit: quota && quota.quota > 0 && quota.period > 0 ? quota.quota / quota.period : null };
}

/** Rows of several groups by something, then kind; most off-CPU time first. */
export function spentOf(all: Groups[]): SpentRow[] {
  const rows = new Map<number, SpentRow>();
  for (const groups of all) {
    groups.value.forEach((number, at) => {
      const parent = groups.parent[at]!;
      const value = parent < 0 ? number : groups.value[parent]!;
      const row = rows.get(value) ?? { value, ran: 0, steal: 0, throttled: 0, queued: 0, offCpu: 0, share: 0 };
      rows.set(value, row);
      const kind = parent < 0 ? undefined : KINDS[number];
      if (kind === "ran" || kind === "steal" || kind === "throttled" || kind === "queued") row[kind] += groups.total[at]!;
    });
  }
  for (const row of rows.values()) {
    row.offCpu = offCpuOf(row);
    row.share = row.offCpu > 0 ? row.offCpu / (row.offCpu + row.ran) : 0;
  }
  return [...rows.values()].sort((a, b) => b.offCpu - a.offCpu || b.ran - a.ran);
}

/** Totals over time of each value of the first level, in one or several groups. */
export function linesOver(all: Groups | Groups[], intervals: number): Map<number, number[]> {
  const lines = new Map<number, number[]>();
  for (const groups of [all].flat()) {
    groups.value.forEach((interval, at) => {
      const parent = groups.parent[at]!;
      if (parent < 0) return;
      const value = groups.value[parent]!;
      const line = lines.get(value) ?? new Array<number>(intervals).fill(0);
      lines.set(value, line);
      line[interval]! += groups.total[at]!;
    });
  }
  return lines;
}
