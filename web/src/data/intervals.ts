// Intervals of time. Where short contentions were added up, only ranges of whole
// base intervals have exact totals; so every range and interval is made of them.

export interface Range {
  from: number;
  to: number;
}

/** The shortest range of whole base intervals that holds another one. */
export function snap({ from, to }: Range, baseNs: number, whole: number): Range {
  if (baseNs === 0) return { from, to };
  return { from: Math.floor(from / baseNs) * baseNs, to: Math.min(Math.ceil(to / baseNs) * baseNs, whole) };
}

/** A range in intervals of equal length; the last one may reach beyond its end. */
export interface Cut extends Range {
  intervals: number;
  length: number;
  /** Begins of the intervals, and the end of the range. */
  edges: number[];
}

/** Cuts a range into about so many intervals of whole nanoseconds and base intervals. */
export function cut({ from, to }: Range, wanted: number, baseNs: number): Cut {
  const step = Math.max(1, baseNs);
  const length = Math.max(step, Math.ceil((to - from) / wanted / step) * step);
  const intervals = Math.max(1, Math.ceil((to - from) / length));
  const edges = Array.from({ length: intervals + 1 }, (_, at) => Math.min(from + at * length, Math.max(to, from + 1)));
  return { from, to: from + intervals * length, intervals, length, edges };
}

/** How many of something there were on average of an interval, given their time in it. */
export function average(cut: Cut, at: number, time: number): number {
  return time / Math.max(1, cut.edges[at + 1]! - cut.edges[at]!);
}
