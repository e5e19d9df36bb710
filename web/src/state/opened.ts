// The recordings that are open; set once, before anything is shown.
import { signal } from "@preact/signals";
import type { Facts, Opening } from "../data/contract";

export const opened = signal<Opening>({ recordings: [], version: "" });

export function factsOf(recording: number): Facts | undefined {
  return opened.value.recordings[recording];
}
