// The moment under the pointer, or chosen by keys: one for all time axes of the page.
import { signal } from "@preact/signals";

/** Nanoseconds since the recording's start; null if no moment is pointed at. */
export const cursor = signal<number | null>(null);
