// Okabe and Ito's colours, which people with any kind of colour vision can tell
// apart; each state has the same one everywhere.
import { KINDS, type Kind } from "../data/contract";
import type { State } from "../data/states";

export const COLOURS: Record<Kind, string> = {
  monitor: "#d55e00",
  juc: "#cc79a7",
  wait: "#56b4e9",
  park: "#0072b2",
  cpu: "#009e73",
  wall: "#8fbfa9",
  alive: "#8d939c",
  paused: "#f0e442",
  inside: "#e69f00",
  ran: "#009e73",
  stolen: "#a6206a",
  throttled: "#e69f00",
  queued: "#f0e442",
  transaction: "#7b61c4",
};

export const STATE_COLOURS: Record<State, string> = { ...COLOURS, "virtual-blocked": "#f2a46f", "virtual-waiting": "#b5d9ee" };

/** The parts of the ledger, in the colours of the states they are made of. */
export const PART_COLOURS: Record<string, string> = {
  cpu: COLOURS.ran,
  "no-cpu": COLOURS.queued,
  lock: COLOURS.monitor,
  "wait-thread": COLOURS.wait,
  "wait-permit": COLOURS.park,
  pause: COLOURS.stolen,
  "off-cpu": COLOURS.alive,
  unknown: "transparent",
};

/** For things that are told apart, not states. */
export const PALETTE = ["#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"] as const;

export function kindOf(number: number): Kind {
  return KINDS[number] ?? "alive";
}

/** Where a difference of shares lies between blue (less), grey and orange (more). */
export function differenceColour(change: number): string {
  const strength = Math.min(1, Math.abs(change));
  const [red, green, blue] = change > 0 ? [213, 94, 0] : [0, 114, 178];
  const mix = (colour: number) => Math.round(190 + (colour! - 190) * strength);
  return `rgb(${mix(red!)}, ${mix(green!)}, ${mix(blue!)})`;
}
