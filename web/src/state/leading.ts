// Where a name of code leads: to a page that has it.
import type { Link } from "../data/contract";
import { ALL_STACKS, DEFAULT, NO_FILTER, type View } from "./address";

const ALL = { ...ALL_STACKS, ...NO_FILTER, pick: [], open: [], contention: null, by: DEFAULT.by } satisfies Partial<View>;

/** The view of what a sentence names. */
export function viewOf({ name, kind, seen, whole }: Link): Partial<View> {
  if (kind === "thread") return { ...ALL, page: "threads", thread: `=${name}` };
  switch (seen) {
    case "blocked":
      return { ...ALL, page: "locks", [kind]: name };
    case "inside":
      return insideOwners(whole);
    case "park":
    case "wait":
      return { ...ALL, page: "parks", mode: seen, [kind]: name };
    case "cpu":
    case "wall":
      return { ...ALL, page: "profile", mode: seen, sandwich: whole };
  }
}

/** CPU time around a method, by its whole name. */
export function methodOnCpu(method: string): Partial<View> {
  return { ...ALL, page: "profile", mode: "cpu", sandwich: method };
}

/** What owners executed around a method, by its whole name: of all locks, or of those of a name. */
export function insideOwners(method: string, lock = ""): Partial<View> {
  return { ...ALL, page: "locks", mode: "inside", sandwich: method, lock: lock === "" ? "" : `=${lock}` };
}

/** Waits in a method: by `Object.wait`, or parks. */
export function waitsIn(method: string, isMonitor: boolean): Partial<View> {
  return { ...ALL, page: "parks", mode: isMonitor ? "wait" : "park", method };
}
