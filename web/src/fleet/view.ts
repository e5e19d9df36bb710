// What is shown, as a signal that follows the address and is followed by it.
import { signal } from "@preact/signals";
import { fromAddress, toAddress, type FleetView } from "./address";
import type { Only } from "./contract";

/** What of the address that was opened cannot be followed. */
export const problems = signal<string[]>([]);

function read(): FleetView {
  const found: string[] = [];
  const read = fromAddress(location.hash, found);
  problems.value = found;
  return read;
}

export const view = signal<FleetView>(read());

addEventListener("hashchange", () => {
  if (location.hash !== toAddress(view.value)) view.value = read();
});

/** Changes what is shown. A step that one may want to go back from is remembered by the browser. */
export function show(change: Partial<FleetView>, remember = true): void {
  view.value = { ...view.value, ...change };
  problems.value = [];
  const address = toAddress(view.value);
  if (address === location.hash) return;
  if (remember) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

/** Changes which rows count. */
export function narrow(change: Partial<Only>): void {
  show({ only: { ...view.value.only, ...change }, pick: [], pair: 0 });
}

/** The address of a page with a changed filter, for links. */
export function address(change: Partial<FleetView>, only: Partial<Only> = {}): string {
  return toAddress({ ...view.value, sort: "", pick: [], mode: "", pair: 0, ...change, only: { ...view.value.only, ...only } });
}
