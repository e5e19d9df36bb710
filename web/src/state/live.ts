// A recording that is still being written, or read: what is new is asked for every few seconds.
import { signal } from "@preact/signals";
import type { Now } from "../data/contract";
import { Ended, type ServedSource } from "../data/served";
import type { View } from "./address";
import { opened } from "./opened";
import { show, view } from "./view";

/** True while the page shall stay as it is. */
export const paused = signal(false);

/** Why nothing is added any more, in sentences; empty while the recording goes on. */
export const ended = signal("");

/** True while something is being dragged: a chart must not be replaced under the pointer. */
let pressed = false;

/** Follows a running recording until it ends, one that is being read until all was read, or the command that serves it. */
export async function follow(source: ServedSource): Promise<void> {
  let now = source.opening.live;
  if (!now) return;
  watchPointer();
  source.moved = (now) => take(source, now);
  ended.value = over(now);
  for (let skipped = 0; ended.value === "" && source.opening.live; ) {
    await after(now.againMs);
    // A page that nobody sees costs nothing, and one that is paused shows only the end.
    if (document.hidden || (paused.value && ++skipped % WHILE_PAUSED !== 0)) continue;
    try {
      now = await again(source);
      await released();
      // Paused while that was on its way: it comes with the next one.
      if (paused.value && now.ended === "") continue;
      take(source, now);
    } catch (problem) {
      ended.value = problem instanceof Ended ? "The command that serves this page has ended: only what was shown before can be shown." : `The page is no longer updated: ${String(problem)}`;
    }
  }
}

/** A paused page asks this many times less often. */
const WHILE_PAUSED = 5;
/** Until the second attempt, milliseconds: a connection may end without the command. */
const SECOND_ATTEMPT_MS = 1000;

function after(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

async function again(source: ServedSource): Promise<Now> {
  return source.now().catch(() => after(SECOND_ATTEMPT_MS).then(() => source.now()));
}

/** Of what does not drag, and of what the browser takes over, no end may come. */
function watchPointer(): void {
  addEventListener("pointerdown", ({ button }) => (pressed = button === 0), true);
  for (const over of ["pointerup", "pointercancel", "contextmenu", "blur"]) addEventListener(over, () => (pressed = false), true);
}

function over({ ended, reading }: Now): string {
  return ended && `${ended} The page keeps what was ${reading ? "read" : "recorded"} until then.`;
}

async function released(): Promise<void> {
  while (pressed) await after(100);
}

function take(source: ServedSource, now: Now): void {
  // A later one was taken while this was on its way.
  if (now.generation < source.generation) return;
  ended.value = over(now);
  if (now.recordings.length === 0 && !now.reading) return;
  const removed = now.removedNs - (source.opening.live?.removedNs ?? 0);
  source.take(now);
  opened.value = source.opening;
  if (removed !== 0) show(shifted(view.value, removed), false);
}

/** What was chosen, where times count from a moment that is later by `removed`; no range if it was part of what is gone. */
export function shifted({ range, contention }: Pick<View, "range" | "contention">, removed: number): Pick<View, "range" | "contention"> {
  const later = (time: number) => Math.max(0, time - removed);
  return {
    range: range && range.to > removed ? { from: later(range.from), to: later(range.to) } : null,
    // What began before the new beginning and goes on is shown from there.
    contention: contention && { ...contention, start: later(contention.start) },
  };
}
