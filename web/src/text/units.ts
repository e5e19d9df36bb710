// Numbers for people. The same rules as crates/model/src/quantity.rs, whose table of cases tests both.

const UNITS: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "us"],
];

/** Three significant digits: `812 ns`, `4.21 us`, `38.0 ms`, `12.4 s`. */
export function duration(ns: number): string {
  for (const [size, unit] of UNITS) {
    // What would round to 1000 of a unit is 1 of the next.
    if (ns >= size * 0.9995) return `${digits(ns / size)} ${unit}`;
  }
  return `${Math.round(ns)} ns`;
}

function digits(value: number): string {
  if (value >= 999.5) return count(Math.round(value));
  if (value >= 99.95) return value.toFixed(0);
  return value.toFixed(value >= 9.995 ? 1 : 2);
}

/** A place on the time axis: `12.345 s`, as exact as the length of the axis asks for. */
export function moment(ns: number, axis: number): string {
  const places = axis > 100e9 ? 1 : axis > 10e9 ? 2 : axis > 1e9 ? 3 : axis > 1e6 ? 6 : 9;
  return `${(ns / 1e9).toFixed(places)} s`;
}

/** An interval of the time axis, no more exact than where its ends are: `8 s–17 s`, `8.5 s–17 s`. */
export function interval({ from, to }: { from: number; to: number }, axis: number): string {
  return [from, to].map((ns) => moment(ns, axis).replace(/(\.\d*?)0+ s$/, "$1 s").replace(". s", " s")).join("–");
}

/** How many of something there are on average: `3.5`, `0.08`. */
export function mean(n: number): string {
  if (n > 0 && n < 0.01) return "< 0.01";
  return n < 0.95 ? n.toFixed(2) : n.toFixed(1);
}

/** How many times as much something became: `×0.40`, `×2.1`, `×13,000`; `new` and `gone` where it was or is nothing. */
export function factor(before: number, after: number): string {
  if (before === after) return "×1.0";
  if (before <= 0) return "new";
  if (after <= 0) return "gone";
  const ratio = after / before;
  if (ratio < 0.001) return "< ×0.001";
  if (ratio >= 9.95) return `×${count(Math.round(ratio))}`;
  return `×${ratio < 0.0995 ? ratio.toPrecision(1) : ratio.toFixed(ratio < 0.995 ? 2 : 1)}`;
}

/** `1,234,567`. */
export function count(n: number): string {
  return n.toLocaleString("en-US");
}

/** Bytes as whole megabytes: `1,048`. */
export function megabytes(bytes: number): string {
  return count(Math.floor(bytes / 1e6));
}

export function times(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** A fraction as a percentage: `45 %`, `3.8 %`, `< 0.1 %`; never `0 %` or `100 %` unless it is. */
export function percent(share: number): string {
  if (!Number.isFinite(share)) return "–";
  const value = Math.abs(share) * 100;
  const [sign, below, above] = share < 0 ? ["-", ">", "<"] : ["", "<", ">"];
  if (value === 0) return "0 %";
  if (value < 0.1) return `${below} ${sign}0.1 %`;
  if (value < 9.95) return `${sign}${value.toFixed(1)} %`;
  if (value < 99.5) return `${sign}${value.toFixed(0)} %`;
  if (value < 99.9999) return `${above} ${sign}99 %`;
  return `${sign}${count(Math.round(value))} %`;
}

/** An interval, of its ends with their unit: `58 to 66 %`; `at least 98 %` where only one of its ends says something. */
export function between(low: string, high: string): string {
  const isOpenAbove = high.startsWith(">") || high === "100 %";
  const isOpenBelow = low.startsWith("<") || low === "0 %";
  if (low.startsWith(">")) return low;
  if (isOpenAbove && !isOpenBelow) return `at least ${low}`;
  if (isOpenBelow && !isOpenAbove && !high.startsWith("<")) return `at most ${high}`;
  const unit = high.slice(high.lastIndexOf(" "));
  return `${low.endsWith(unit) ? low.slice(0, -unit.length) : low} to ${high}`;
}

/** Reads `12.5`, `12.5s`, `300ms`, `40us`, `7ns` (seconds if no unit); null if it is none of these. */
export function parseMoment(text: string): number | null {
  const match = /^\s*(\d+(?:\.\d*)?)\s*(ns|us|µs|ms|s)?\s*$/.exec(text);
  if (!match) return null;
  const factor = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9 }[match[2] ?? "s"] ?? 1e9;
  return Math.round(Number(match[1]) * factor);
}

/** Why a typed time cannot be the begin of a range that ends at `to`; empty if it can. */
export function wrongBegin(text: string, to: number, whole: number): string {
  return wrongMoment(text, (at) => at < to || `not before the end, ${moment(to, whole)}`);
}

/** Why a typed time cannot be the end of a range that begins at `from`; empty if it can. */
export function wrongEnd(text: string, from: number, whole: number): string {
  return wrongMoment(text, (at) => at > from || `not after the begin, ${moment(from, whole)}`);
}

/** Why a typed time cannot be used; empty text stands for the edge of the recording. */
function wrongMoment(text: string, fits: (at: number) => true | string): string {
  if (text.trim() === "") return "";
  const at = parseMoment(text);
  if (at === null) return "not a time such as 12.5s or 300ms";
  const fit = fits(at);
  return fit === true ? "" : fit;
}

/** Where the axis of a chart ends: of whole numbers its middle is one, too. */
export function axisEnd(max: number, whole: boolean): number {
  if (!whole) return max > 0 ? max * 1.05 : 1;
  return 2 * Math.max(1, Math.ceil(max / 2));
}
