// The one view, as a signal that follows the address and is followed by it.
import { signal } from "@preact/signals";
import { fromAddress, toAddress, type View } from "./address";

/** What of the address that was opened cannot be followed. */
export const problems = signal<string[]>([]);

function read(): View {
  const found: string[] = [];
  const read = fromAddress(location.hash, found);
  problems.value = found;
  return read;
}

export const view = signal<View>(read());

addEventListener("hashchange", () => {
  if (location.hash !== toAddress(view.value)) view.value = read();
});

/** Changes what is shown. A step that one may want to go back from is remembered by the browser. */
export function show(change: Partial<View>, remember = true): void {
  view.value = { ...view.value, ...change };
  problems.value = [];
  const address = toAddress(view.value);
  if (address === location.hash) return;
  if (remember) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

/** The address of a changed view, for links. */
export function address(change: Partial<View>): string {
  return toAddress({ ...view.value, ...change });
}
