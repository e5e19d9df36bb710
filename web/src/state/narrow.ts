// Whether the window is narrow: as wide as half a screen.
import { signal } from "@preact/signals";

const query = matchMedia("(max-width: 1000px)");

export const narrow = signal(query.matches);

query.addEventListener("change", () => (narrow.value = query.matches));
