// Okabe and Ito's colours, which people with any kind of colour vision can
// distinguish; each state has the same one everywhere.
import { KINDS, type Kind, type LedgerPart } from "../data/contract";
import type { State } from "../data/states";
import type { Theme } from "../state/theme";

export const COLOURS: Record<Kind, string> = {
  monitor: "#d55e00",
  juc: "#cc79a7",
  wait: "#56b4e9",
  park: "#0072b2",
  cpu: "#009e73",
  wall: "#8fbfa9",
  alive: "#727882",
  paused: "#7a4b2a",
  inside: "#3d4450",
  ran: "#009e73",
  steal: "#a6206a",
  throttled: "#e69f00",
  queued: "#f0e442",
  transaction: "#9d86e0",
};

const VIRTUAL = { "virtual-ran": "#9ff5c8", "virtual-ready": "#f8f2a6", "virtual-blocked": "#f5b48a", "virtual-waiting": "#b5d9ee" };

/** Idle time is the largest area of most timelines, so it is weaker than each state that a program loses time in: `colours.test.ts`. */
export const STATE_COLOURS: Record<Theme, Record<State, string>> = {
  light: { ...COLOURS, ...VIRTUAL, idle: "#c9ced6" },
  dark: { ...COLOURS, ...VIRTUAL, idle: "#71685c" },
};

/** For quantities that are no state's: as dim as words of explanation. */
export const NO_STATE = "var(--dim)";

/** Parts of the ledger that are one state. */
const PART_COLOURS: Record<string, string> = {
  cpu: COLOURS.ran,
  pause: COLOURS.paused,
  "off-cpu": COLOURS.alive,
};

/** Those that are made of two states, and which way their stripes lean. */
const MIXED_PARTS: Record<string, [Kind, Kind, degrees: number]> = {
  lock: ["monitor", "juc", 45],
  "wait-thread": ["wait", "park", 45],
  "wait-permit": ["wait", "park", 135],
  "wait-time": ["wait", "park", 90],
};

/** Entries of the part "ready, no CPU" that are not run-queue wait. */
const NO_CPU: Kind[] = ["throttled", "steal"];

/** The states of that part side by side, each as wide as its time. */
function noCpuFill({ ns, entries }: LedgerPart): string {
  let from = 0;
  const stops = entries.map(([words, time]) => {
    const to = from + (100 * time) / Math.max(1, ns);
    const stop = `${COLOURS[NO_CPU.find((kind) => kind === words) ?? "queued"]} ${from}% ${to}%`;
    from = to;
    return stop;
  });
  return stops.length === 0 ? COLOURS.queued : `linear-gradient(90deg, ${stops.join(", ")})`;
}

/**
 * The background of a part of the ledger, in the colours of the states that it is made of: stripes, if the recording has
 * both. `counts` is how many contentions and waits of each kind it has.
 */
export function partFill(part: LedgerPart, counts: number[]): string {
  if (part.name === "no-cpu") return noCpuFill(part);
  const mixed = MIXED_PARTS[part.name];
  if (!mixed) return PART_COLOURS[part.name] ?? "transparent";
  const [first, second, degrees] = mixed;
  const [a, b] = [first, second].filter((kind) => (counts[KINDS.indexOf(kind)] ?? 0) > 0).map((kind) => COLOURS[kind]);
  // Waits for another thread and for an object lie side by side.
  const other = b ?? (part.name === "wait-permit" ? `color-mix(in srgb, ${a ?? COLOURS[first]} 70%, white)` : a);
  return `repeating-linear-gradient(${degrees}deg, ${a ?? COLOURS[first]} 0 4px, ${other ?? COLOURS[first]} 4px 8px)`;
}

/** For things that are distinguished, not states. */
export const PALETTE = ["#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"] as const;

/** What kind of code a frame is. */
export type FrameType = "app" | "jdk" | "native" | "kernel";

/**
 * Hue, saturation and lightness of the application's, native and the kernel's frames, each from
 * and to: a method has the same shade everywhere. The JDK's are grey. `colours.test.ts` checks that
 * they differ for people with any kind of colour vision, and from the yellow of what was searched for.
 */
export const FRAME_SHADES: Record<Exclude<FrameType, "jdk">, [from: number, to: number][]> = {
  app: [[8, 18], [66, 80], [66, 72]],
  native: [[200, 208], [66, 80], [76, 82]],
  kernel: [[206, 212], [60, 70], [55, 58]],
};

/** The colour of a frame by its type and name. */
export function frameColour(type: FrameType, name: string): string {
  if (type === "jdk") return "var(--folded)";
  let hash = 0;
  for (let i = 0; i < name.length; i++) hash = (hash * 31 + name.charCodeAt(i)) | 0;
  const [hue, saturation, lightness] = FRAME_SHADES[type].map(([from, to], place) => from + Math.round(((to - from) * ((hash >> (4 * place)) & 15)) / 15));
  return `hsl(${hue} ${saturation}% ${lightness}%)`;
}

export function kindOf(number: number): Kind {
  return KINDS[number] ?? "alive";
}

/** Where a difference lies between blue (-1: less), grey (0) and orange (1: more); `colours.test.ts` checks it. */
export function differenceColour(change: number): string {
  const strength = Math.min(1, Math.abs(change));
  const [red, green, blue] = change > 0 ? [233, 125, 50] : [70, 160, 220];
  const mix = (colour: number) => Math.round(190 + (colour! - 190) * strength);
  return `rgb(${mix(red!)}, ${mix(green!)}, ${mix(blue!)})`;
}
