// A recording that is still being written: what is new is asked for every few seconds.
import { signal } from "@preact/signals";
import type { Facts, Now } from "../data/contract";
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

/** Follows a running recording until it ends, or the command that serves it. */
export async function follow(source: ServedSource): Promise<void> {
  let now = source.opening.live;
  if (!now) return;
  addEventListener("pointerdown", () => (pressed = true), true);
  for (const over of ["pointerup", "pointercancel"]) addEventListener(over, () => (pressed = false), true);
  ended.value = over(now);
  while (ended.value === "") {
    await new Promise((done) => setTimeout(done, now!.againMs));
    // A page that nobody sees costs nothing.
    if (paused.value || document.hidden) continue;
    try {
      now = await source.now();
      await released();
      // Paused while that was on its way: it comes with the next one.
      if (paused.value && now.ended === "") continue;
      take(source, now);
    } catch (problem) {
      ended.value = problem instanceof Ended ? "The command that serves this page has ended: only what was shown before can be shown." : `The page is no longer updated: ${String(problem)}`;
    }
  }
}

function over({ ended }: Now): string {
  return ended && `${ended} The page keeps what was recorded until then.`;
}

async function released(): Promise<void> {
  while (pressed) await new Promise((done) => setTimeout(done, 100));
}

function take(source: ServedSource, now: Now): void {
  const { recordings, live } = source.opening;
  ended.value = over(now);
  if (now.recordings.length === 0) return;
  const moved = live?.beginning !== now.beginning;
  source.take(now);
  opened.value = source.opening;
  if (moved) show({ range: shifted(view.value.range, recordings[0], now.recordings[0]) }, false);
}

/** The same part of a recording whose front was removed; null if it was part of that. */
export function shifted(range: View["range"], before: Facts | undefined, after: Facts | undefined): View["range"] {
  if (!range || !before || !after) return range;
  const removed = Math.round((after.startEpochMs - before.startEpochMs) * 1e6);
  const [from, to] = [Math.max(0, range.from - removed), range.to - removed];
  return from < to ? { from, to } : null;
}
