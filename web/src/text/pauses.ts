// What is said of pauses of the VM in a range.
import type { Facts, Groups } from "../data/contract";
import type { Range } from "../data/intervals";
import { count, duration, percent } from "./units";

/**
 * A sentence about the pauses in a range; empty where the recording does not know of pauses. `pauses` is grouped by kind.
 * A recording of Headway has all pauses for garbage collections, those of other tools may have others, or none.
 */
export function pausesText(facts: Pick<Facts, "foreign" | "pauses" | "losses" | "problems">, pauses: Groups, { from, to }: Range, isChosen: boolean): string {
  const one = `${facts.foreign ? "VM" : "garbage collection"} pause`;
  const where = isChosen ? " in the chosen range" : "";
  if (pauses.count > 0) {
    const part = percent(pauses.totalNs / Math.max(1, to - from));
    if (pauses.count === 1) return `One ${one}${where}: ${duration(pauses.totalNs)} (${part} of the time).`;
    return `${count(pauses.count)} ${one}s${where}: ${duration(pauses.totalNs)} in total (${part} of the time), the longest ${duration(Math.max(0, ...pauses.max))}.`;
  }
  // What was dropped or damaged may have been one.
  const isComplete = facts.losses.length === 0 && facts.problems.length === 0;
  const isKnown = facts.foreign ? facts.pauses[0] > 0 : true;
  return isComplete && isKnown ? `No ${one}${where}.` : "";
}
