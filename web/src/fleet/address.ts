// What is shown of a store stands in the address behind `#`, so that it can be shared, reloaded and gone back to.
import { parseUtc, utc } from "../text/clock";
import { isOrder, Stated } from "../state/stated";
import type { Only } from "./contract";

export const PAGES = ["services", "locks", "versions", "hosts", "phases"] as const;
export type PageName = (typeof PAGES)[number];

/** What the chart of the locks shows. */
export const CHARTS = ["threads", "share"] as const;

/** Columns of each page's table, by which it can be sorted. */
export const COLUMNS = {
  services: ["service", "version", "jvms", "hosts", "first_us", "last_us", "running_ns", "blocked_ns", "blocked_share", "contentions", "locks", "cpu_ns", "steal_ns", "dropped"],
  locks: ["lock", "service", "version", "blocked_ns", "blocked_share", "contentions", "max_ns", "jvms"],
  versions: ["lock", "service", "versions", "old_ns_per_s", "new_ns_per_s", "more_ns_per_s"],
  hosts: ["host", "service", "version", "jvms", "hosts", "ns_per_s", "median_ns_per_s", "more_ns_per_s", "factor"],
  phases: ["from_us", "length", "lock", "service", "version", "host", "peak", "mean"],
} as const satisfies Record<PageName, readonly string[]>;
/** A column of a page's table. */
export type ColumnOf<Page extends PageName> = (typeof COLUMNS)[Page][number];

export interface FleetView {
  page: PageName;
  /** The rows that count. */
  only: Only;
  /** Order of the page's table: a column, `-` in front for largest first; empty for the page's own. */
  sort: string;
  /** The selected row: what it is known by. */
  pick: string[];
  /** The page's own choice. */
  mode: string;
  /** Which pair of stacks of the selected lock, from 0 on. */
  pair: number;
}

export const ALL: Only = { service: null, version: null, host: null, from_us: null, to_us: null };

export const DEFAULT: FleetView = { page: "services", only: ALL, sort: "", pick: [], mode: "", pair: 0 };

const NAMES = ["service", "version", "host"] as const;
const TEXTS = ["sort", "mode"] as const;

export function toAddress({ page, only, pair, pick, ...rest }: FleetView): string {
  const parameters = new URLSearchParams();
  for (const name of NAMES) if (only[name] !== null) parameters.set(name, only[name]);
  if (only.from_us !== null) parameters.set("from", utc(only.from_us).replace(" ", "T"));
  if (only.to_us !== null) parameters.set("to", utc(only.to_us).replace(" ", "T"));
  for (const name of TEXTS) if (rest[name]) parameters.set(name, rest[name]);
  for (const part of pick) parameters.append("pick", part);
  if (pair > 0) parameters.set("pair", String(pair + 1));
  const text = parameters.toString();
  return `#/${page}${text ? `?${text}` : ""}`;
}

/** Whatever cannot be understood is left at its default, and said in `problems`. */
export function fromAddress(hash: string, problems: string[] = []): FleetView {
  const stated = new Stated(hash, problems);
  const page = stated.page(PAGES, DEFAULT.page);
  const from_us = stated.part("from", "no time is", parseUtc);
  const to_us = stated.part("to", from_us === null ? "no time is" : `no time after ${utc(from_us)} is`, (text) => {
    const us = parseUtc(text);
    return us !== null && us > (from_us ?? -Infinity) ? us : null;
  });
  const only: Only = { service: stated.text("service"), version: stated.text("version"), host: stated.text("host"), from_us, to_us };
  const view: FleetView = {
    page,
    only,
    sort: stated.choice("sort", (text) => isOrder(text, COLUMNS[page])),
    pick: stated.all("pick"),
    mode: stated.choice("mode", (text) => page === "locks" && CHARTS.some((one) => one === text)),
    pair: (stated.part("pair", "there is no pair of stacks", (text) => (/^[1-9]\d{0,3}$/.test(text) ? Number(text) : null)) ?? 1) - 1,
  };
  stated.others();
  return view;
}
