// The pages, and what an address may choose on each: its mode, the order of its table, a search.
// Names of choices come from here only, so that what an address may say is what a page understands.
import { parseRange } from "../data/intervals";
import { isOrder } from "./stated";

export const PAGES = ["overview", "incident", "locks", "waitfor", "profile", "threads", "parks", "steal", "compare"] as const;
export type PageName = (typeof PAGES)[number];

/** What *Locks* shows of the selected row. */
export const PANELS = ["chains", "waiting", "holding", "inside", "longest"] as const;
/** What the nodes of the wait-for graph are. */
export const NODES = ["groups", "threads", "methods"] as const;
/** What the widths of a profile stand for. */
export const WEIGHTS = ["cpu", "wall", "blocked", "owning", "waiting"] as const;
/** That *Incident* shows the whole recording, not its worst phase. */
export const WHOLE = "whole";
/** How a profile is shown. */
export const SHAPES = ["flame", "tree", "flat", "callers"] as const;
/** What *Parks* shows. */
export const WAITS = ["statistics", "park", "wait"] as const;
/** By which aspect recordings are compared. */
export const COMPARED_BY = ["lock-name", "owner-method", "contender-method", "contender-group", "owner-group"] as const;
/** Which call stacks of recordings are compared. */
export const COMPARED_STACKS = ["waiting", "holding", "cpu", "wall", "waits"] as const;
/** What blocked time is compared per. */
export const COMPARED_PER = ["second", "cpu", "transaction"] as const;

/** Columns of *Locks* that only a recording has that samples. */
const ESTIMATED = ["interval", "instants"] as const;

/** Columns of tables, by which they can be sorted. */
export const COLUMNS = {
  locks: ["text", "total", "share", "count", "max", ...ESTIMATED],
  contexts: ["text", "total", "share", "self"],
  methods: ["text", "self", "total"],
  statistics: ["name", "method", "thread", "line", "times", "now", "peak", "threadTime", "realTime", "averagePark", "averageHold", "realUse", "threadUse", "realLifeUse", "threadLifeUse"],
  waits: ["name", "line", "count", "total", "average", "max", "threads", "ended"],
  spent: ["name", "line", "ran", "steal", "throttled", "queued", "offCpu", "share"],
  transactions: ["name", "line", "count", "p50", "p99", "max", "wall", "cpu", "blocked", "parked", "waited", "steal", "throttled", "queued", "offCpu", "offCpu99"],
  changes: ["name", "before", "after", "size", "factor", "noise", "verdict"],
} as const;
/** A column of a table: that of *Locks*, the calling context tree, ... */
export type ColumnOf<Table extends keyof typeof COLUMNS> = (typeof COLUMNS)[Table][number];

type Fits = (text: string) => boolean;
const oneOf = (names: readonly string[]): Fits => (text) => names.includes(text);
const orderOf = (columns: readonly string[]): Fits => (text) => isOrder(text, columns);
const isRange: Fits = (text) => parseRange(text) !== null;

/** The parts of a page's mode, which stand between dots; an empty one is its default. */
const MODES: Record<PageName, readonly Fits[]> = {
  overview: [],
  incident: [oneOf([WHOLE])],
  locks: [oneOf(PANELS), orderOf(COLUMNS.locks)],
  waitfor: [oneOf(NODES)],
  profile: [oneOf(WEIGHTS), oneOf(SHAPES), oneOf(["all"])],
  threads: [],
  parks: [oneOf(WAITS)],
  steal: [oneOf(["groups", "threads"]), orderOf(COLUMNS.transactions)],
  compare: [oneOf(COMPARED_BY), orderOf(COLUMNS.changes), oneOf(COMPARED_STACKS.flatMap((one) => [one, `${one}-before`])), oneOf(COMPARED_PER), isRange, isRange],
};

/** True for a mode of the page. */
export function isMode(page: PageName, text: string): boolean {
  return text.split(".").every((part, at) => part === "" || MODES[page][at]?.(part) === true);
}

/** The order of *Locks* if only a recording that samples has its column; else the empty text. */
export function estimatedOrder({ page, mode }: { page: PageName; mode: string }): string {
  const [, order = ""] = mode.split(".");
  return page === "locks" && isOrder(order, ESTIMATED) ? order : "";
}

/** Columns of the table that the order of a page is about; none if there is no such table. */
export function sortable(page: PageName, mode: string): readonly string[] {
  const [first, shape] = mode.split(".");
  if (page === "parks") return first === "park" || first === "wait" ? COLUMNS.waits : COLUMNS.statistics;
  if (page === "profile") return shape === "tree" ? COLUMNS.contexts : shape === "flat" ? COLUMNS.methods : [];
  return page === "steal" ? COLUMNS.spent : [];
}

/** True for what a page searches for: methods by a part of their name; *Locks*, a pair of call stacks by its number. */
export function isSearch(page: PageName, text: string): boolean {
  return page === "profile" || page === "compare" || (page === "locks" && /^\d{1,4}$/.test(text));
}
