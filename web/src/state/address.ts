// What is shown is told by the address behind `#`, so that a view can be
// shared, reloaded and gone back to.
import type { Dimension } from "../data/contract";

export const PAGES = ["overview", "locks", "waitfor", "profile", "threads", "parks", "steal", "compare"] as const;
export type PageName = (typeof PAGES)[number];

/** A condition of the drill-down, outermost first. */
export interface Step {
  by: Dimension;
  value: number;
}

export interface View {
  page: PageName;
  /** The time range in nanoseconds since the start; null is the whole recording. */
  range: { from: number; to: number } | null;
  thread: string;
  lock: string;
  method: string;
  /** Which kinds of blocking count: monitors, j.u.c. locks, or both. */
  kind: "all" | "monitor" | "juc";
  services: boolean;
  /** Aspects of the drill-down. */
  by: Dimension[];
  /** Order of a table that is one of several on its page: a column, `-` in front for largest first. */
  sort: string;
  /** Rows of the drill-down that are open, as paths. */
  open: string[];
  /** The selected row, as a path. */
  pick: Step[];
  /** The selected stretch, a row of the table. */
  stretch: number | null;
  /** A page's own choice, such as the weights of the profile. */
  mode: string;
  /** What is searched for in a profile. */
  search: string;
  /** The part of a flame graph that is shown, as a path of methods. */
  zoom: string;
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
  stretch: null,
  mode: "",
  search: "",
  zoom: "",
  recording: 0,
};

export const DIMENSIONS: readonly Dimension[] = [
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

const TEXTS = ["thread", "lock", "method", "mode", "sort", "search", "zoom"] as const;

export function toAddress(view: View): string {
  const told = new URLSearchParams();
  if (view.range) told.set("range", `${view.range.from}-${view.range.to}`);
  for (const name of TEXTS) if (view[name]) told.set(name, view[name]);
  if (view.kind !== "all") told.set("kind", view.kind);
  if (view.services) told.set("services", "yes");
  if (view.by.join() !== DEFAULT.by.join()) told.set("by", view.by.join());
  if (view.open.length > 0) told.set("open", view.open.join("~"));
  if (view.pick.length > 0) told.set("pick", pathOf(view.pick));
  if (view.stretch !== null) told.set("stretch", String(view.stretch));
  if (view.recording > 0) told.set("recording", String(view.recording));
  const rest = told.toString();
  return `#/${view.page}${rest ? `?${rest}` : ""}`;
}

/** Whatever cannot be understood is left at its default. */
export function fromAddress(hash: string): View {
  const [page = "", rest = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const told = new URLSearchParams(rest);
  const view: View = { ...DEFAULT };
  if ((PAGES as readonly string[]).includes(page)) view.page = page as PageName;
  const range = /^(\d{1,16})-(\d{1,16})$/.exec(told.get("range") ?? "");
  if (range && Number(range[1]) < Number(range[2])) view.range = { from: Number(range[1]), to: Number(range[2]) };
  for (const name of TEXTS) view[name] = told.get(name) ?? "";
  const kind = told.get("kind");
  if (kind === "monitor" || kind === "juc") view.kind = kind;
  view.services = told.get("services") === "yes";
  const by = (told.get("by") ?? "").split(",").filter(isDimension);
  if (by.length > 0) view.by = [...new Set(by)];
  view.open = (told.get("open") ?? "").split("~").filter((path) => stepsOf(path).length > 0);
  view.pick = stepsOf(told.get("pick") ?? "");
  const stretch = told.get("stretch");
  if (stretch !== null && /^\d{1,10}$/.test(stretch)) view.stretch = Number(stretch);
  view.recording = told.get("recording") === "1" ? 1 : 0;
  return view;
}

/** `lock:3/owner-method:17`. */
export function pathOf(steps: Step[]): string {
  return steps.map((step) => `${step.by}:${step.value}`).join("/");
}

export function stepsOf(path: string): Step[] {
  const steps: Step[] = [];
  for (const part of path.split("/")) {
    const [by = "", value = ""] = part.split(":");
    if (!isDimension(by) || !/^\d{1,10}$/.test(value)) return [];
    steps.push({ by, value: Number(value) });
  }
  return steps;
}

function isDimension(name: string): name is Dimension {
  return (DIMENSIONS as readonly string[]).includes(name);
}
