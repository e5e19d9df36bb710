// The recordings that are open; set before anything is shown, and again while one is running.
import { signal } from "@preact/signals";
import type { Facts, Opening } from "../data/contract";

export const opened = signal<Opening>({ recordings: [], version: "", live: null });

export function factsOf(recording: number): Facts | undefined {
  return opened.value.recordings[recording];
}
