// Intervals of time. Where short contentions were added up, only ranges of whole
// base intervals have exact totals; so every range and interval is made of them.

export interface Range {
  from: number;
  to: number;
}

/** Reads `2000000000-4000000000`: nanoseconds since the start, the end after the begin; null if it is not that. */
export function parseRange(text: string): Range | null {
  const [, from, to] = /^(\d{1,16})-(\d{1,16})$/.exec(text) ?? [];
  return Number(from) < Number(to) ? { from: Number(from), to: Number(to) } : null;
}

/** The shortest range of whole base intervals that holds another one. */
export function snap({ from, to }: Range, baseNs: number, whole: number): Range {
  if (baseNs === 0) return { from, to };
  return { from: Math.floor(from / baseNs) * baseNs, to: Math.min(Math.ceil(to / baseNs) * baseNs, whole) };
}

/** A range in intervals, as even as whole base intervals allow. */
export interface Cut extends Range {
  intervals: number;
  /** Of the longest. */
  length: number;
  /** Begins of the intervals, and the end of the range. */
  edges: number[];
}

/** Where an interval begins: the twin of `Edges` in crates/page/src/group.rs. */
export function edgeOf({ from, to }: Range, intervals: number, base: number, number: number): number {
  // The last base interval of a recording may be short.
  const length = (Math.ceil((to - from) / base) * base) / intervals;
  return number >= intervals ? to : from + Math.floor((number * length) / base) * base;
}

/** Cuts a range into so many intervals of whole nanoseconds and base intervals, or fewer. */
export function cut({ from, to }: Range, wanted: number, baseNs: number): Cut {
  const base = Math.max(1, baseNs);
  const units = Math.max(1, Math.ceil((to - from) / base));
  const intervals = Math.min(wanted, units);
  const range = { from, to: Math.max(to, from + 1) };
  const edges = Array.from({ length: intervals + 1 }, (_, at) => edgeOf(range, intervals, base, at));
  return { ...range, intervals, length: Math.ceil(units / intervals) * base, edges };
}

/** The interval of a moment; null outside. */
export function intervalAt({ edges }: Pick<Cut, "edges">, moment: number | null): number | null {
  if (moment === null) return null;
  const beyond = edges.findIndex((edge) => edge > moment);
  return beyond > 0 ? beyond - 1 : null;
}

/** How many of something there were on average of an interval, given their time in it. */
export function average(cut: Cut, at: number, time: number): number {
  return time / Math.max(1, cut.edges[at + 1]! - cut.edges[at]!);
}
