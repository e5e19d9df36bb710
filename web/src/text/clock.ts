// Wall-clock times in UTC, as stores have them.

const DAY_S = 86_400;

/** `2026-11-25 10:00`: a minute of microseconds since the Unix epoch. */
export function utc(us: number): string {
  const date = new Date(us / 1000);
  return Number.isNaN(date.getTime()) ? "–" : date.toISOString().slice(0, 16).replace("T", " ");
}

/** Reads `2026-11-25 10:00`, `2026-11-25T10:00` or `2026-11-25`; null if it is none of these. */
export function parseUtc(text: string): number | null {
  const match = /^\s*(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}))?\s*$/.exec(text);
  if (!match) return null;
  const ms = Date.parse(`${match[1]}T${match[2] ?? "00:00"}Z`);
  // There is no 30th of February.
  return Number.isNaN(ms) || !utc(ms * 1000).startsWith(match[1]!) ? null : ms * 1000;
}

/** Seconds between the marks of an axis: minutes, hours, days. */
export const STEPS = [60, 300, 600, 1800, 3600, 7200, 10_800, 21_600, 43_200, ...[1, 2, 5, 10, 30, 100, 365].map((days) => days * DAY_S)];

/** A mark of an axis that has one every so many seconds: a time, or at midnight and of days a date. */
export function tick(seconds: number, step: number): string {
  const [day = "", time = ""] = utc(seconds * 1e6).split(" ");
  return step >= DAY_S || seconds % DAY_S === 0 ? day.slice(5) : time;
}
