// What is shown is in the address behind `#`, so that a view can be
// shared, reloaded and gone back to.
import { KINDS, type Aspect, type Pick } from "../data/contract";
import { parseRange, type Range } from "../data/intervals";
import type { EntryKey } from "../data/lanes";
import { isMode, isSearch, PAGES, sortable, type PageName } from "./pages";
import { isOrder, Stated } from "./stated";

/** A condition of the drill-down, outermost first. */
export type Step = Pick;

export interface View {
  page: PageName;
  /** The time range in nanoseconds since the start; null is the whole recording. */
  range: Range | null;
  thread: string;
  lock: string;
  method: string;
  /** Which kinds of blocking count: monitors, j.u.c. locks, or both. */
  kind: "all" | "monitor" | "juc";
  services: boolean;
  /** Aspects of the drill-down. */
  by: Aspect[];
  /** Order of a table that is one of several on its page: a column, `-` in front for largest first. */
  sort: string;
  /** Rows of the drill-down that are open, as paths. */
  open: string[];
  /** The selected row, as a path. */
  pick: Step[];
  /** The selected contention, wait or park. */
  contention: EntryKey | null;
  /** A page's own choice, such as the weights of the profile. */
  mode: string;
  /** What is searched for in a profile. */
  search: string;
  /** The part of a flame graph that is shown, as a path of methods. */
  zoom: string;
  /** The method whose callers and callees are shown, by its whole name. */
  sandwich: string;
  /** Methods that are on every call stack that is shown. */
  focus: string[];
  /** Methods that are on none of them. */
  drop: string[];
  /** Keys of the threads whose call stacks are shown; all if none. Chosen on the lanes. */
  threads: string[];
  /** Which recording is shown, where there are two. */
  recording: number;
}

export const DEFAULT: View = {
  page: "overview",
  range: null,
  thread: "",
  lock: "",
  method: "",
  kind: "all",
  services: false,
  by: ["lock-name", "owner-method", "contender-method"],
  sort: "",
  open: [],
  pick: [],
  contention: null,
  mode: "",
  search: "",
  zoom: "",
  sandwich: "",
  focus: [],
  drop: [],
  threads: [],
  recording: 0,
};

/** A view in which no call stack is left out, and none chosen. */
export const ALL_STACKS = { zoom: "", search: "", sandwich: "", focus: [], drop: [], threads: [] } satisfies Partial<View>;

/** The filter that leaves nothing out. */
export const NO_FILTER = { thread: "", lock: "", method: "", kind: "all", services: false } satisfies Partial<View>;

/** True if the filter may leave something out, or adds the JVM's threads. */
export function isFiltered({ thread, lock, method, kind, services }: View): boolean {
  return thread !== "" || lock !== "" || method !== "" || kind !== "all" || services;
}

export const ASPECTS: readonly Aspect[] = [
  "kind",
  "lock-class",
  "lock-name",
  "lock",
  "contender-thread",
  "contender-group",
  "contender-method",
  "contender-chain",
  "owner-thread",
  "owner-group",
  "owner-method",
  "owner-chain",
];

const NAMES = ["thread", "lock", "method", "sandwich"] as const;
const CHOICES = ["mode", "sort", "search", "zoom"] as const;
const LISTS = ["focus", "drop", "threads"] as const;

export function toAddress(view: View): string {
  const parameters = new URLSearchParams();
  if (view.range) parameters.set("range", `${view.range.from}-${view.range.to}`);
  for (const name of [...NAMES, ...CHOICES]) if (view[name]) parameters.set(name, view[name]);
  // A name may have any character in it, so each is a parameter.
  for (const name of LISTS) for (const method of view[name]) parameters.append(name, method);
  if (view.kind !== "all") parameters.set("kind", view.kind);
  if (view.services) parameters.set("services", "yes");
  if (view.by.join() !== DEFAULT.by.join()) parameters.set("by", view.by.join());
  if (view.open.length > 0) parameters.set("open", view.open.join("~"));
  if (view.pick.length > 0) parameters.set("pick", pathOf(view.pick));
  if (view.contention !== null) parameters.set("contention", `${view.contention.kind}@${view.contention.start}@${view.contention.thread}`);
  if (view.recording > 0) parameters.set("recording", String(view.recording));
  const rest = parameters.toString();
  return `#/${view.page}${rest ? `?${rest}` : ""}`;
}

/** Whatever cannot be understood is left at its default, and said in `problems`. */
export function fromAddress(hash: string, problems: string[] = []): View {
  const stated = new Stated(hash, problems);
  const view: View = { ...DEFAULT, page: stated.page(PAGES, DEFAULT.page) };
  view.range = stated.part("range", "no time range is", parseRange);
  for (const name of NAMES) view[name] = stated.text(name) ?? "";
  for (const name of LISTS) view[name] = [...new Set(stated.all(name).filter(Boolean))];
  view.mode = stated.choice("mode", (text) => isMode(view.page, text));
  view.sort = stated.choice("sort", (text) => isOrder(text, sortable(view.page, view.mode)));
  view.search = stated.choice("search", (text) => isSearch(view.page, text));
  view.zoom = stated.choice("zoom", (text) => text.split("~").every((path) => /^-?\d+(\.-?\d+)*$/.test(path)));
  view.kind = stated.part("kind", "there is no kind of lock", (text) => (text === "monitor" || text === "juc" || text === "all" ? text : null)) ?? "all";
  view.services = stated.part("services", "services is yes or no, not", (text) => (text === "yes" || text === "no" ? text : null)) === "yes";
  const by = stated.part("by", "no sequence of aspects is", (text) => (text.split(",").every(isAspect) ? text.split(",").filter(isAspect) : null));
  if (by) view.by = [...new Set(by)];
  view.open = stated.part("open", "no rows are", (text) => (text.split("~").every((path) => stepsOf(path).length > 0) ? text.split("~") : null)) ?? [];
  view.pick = stated.part("pick", "no row is", (text) => (stepsOf(text).length > 0 ? stepsOf(text) : null)) ?? [];
  view.contention = stated.part("contention", "no contention is", contentionOf);
  view.recording = stated.part("recording", "there is no recording", (text) => (text === "1" ? 1 : text === "0" ? 0 : null)) ?? 0;
  stated.others();
  return view;
}

/** `monitor@123456789@request-1#21`: kind, begin, thread. */
function contentionOf(text: string): EntryKey | null {
  const [, name = "", start = "", thread = ""] = /^([a-z]+)@(\d{1,16})@(.+)$/s.exec(text) ?? [];
  const kind = KINDS.find((one) => one === name);
  return kind ? { kind, start: Number(start), thread } : null;
}

/** `lock-name:Stock.lock/owner-method:com.acme.Stock.rebuild`, with what could be mistaken escaped. */
export function pathOf(steps: Step[]): string {
  return steps.map((step) => `${step.by}:${encodeURIComponent(step.key).replaceAll("~", "%7E")}`).join("/");
}

export function stepsOf(path: string): Step[] {
  const steps: Step[] = [];
  for (const part of path.split("/")) {
    const [, by = "", text = ""] = /^([a-z-]+):(.*)$/s.exec(part) ?? [];
    const key = decoded(text);
    if (!isAspect(by) || key === null) return [];
    steps.push({ by, key });
  }
  return steps;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function isAspect(name: string): name is Aspect {
  return (ASPECTS as readonly string[]).includes(name);
}
