// Segments of lanes in words.
import { KINDS, type Lane } from "../data/contract";
import { ONLY_SUMS } from "../data/lanes";
import { stateOf, type State } from "../data/states";
import { duration, times } from "./units";
import { STATE_WORDS } from "./words";

/** What the thread did in a segment. */
export function laneState(lane: Lane, at: number): State {
  return stateOf(KINDS[lane.kind[at]!] ?? "alive", lane.idle[at]!);
}

/** What a segment is; of several close together the time in them, not from first to last. */
export function segmentText(lane: Lane, at: number, words = STATE_WORDS): string {
  const state = words[laneState(lane, at)];
  const several = lane.joined[at]! > 1 || lane.longest[at] === ONLY_SUMS;
  if (!several) return `${state} for ${duration(lane.total[at]!)}`;
  const sum = lane.longest[at] === ONLY_SUMS ? ", of which only the sum is kept" : "";
  const joined = lane.joined[at]! > 0 ? `: ${times(lane.joined[at]!, "segment")} close together` : "";
  return `${state} for ${duration(lane.total[at]!)} of ${duration(lane.span[at]!)}${joined}${sum}`;
}
