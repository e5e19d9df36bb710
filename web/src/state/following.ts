// A view as a signal that follows the address and is followed by it.
import { signal, type Signal } from "@preact/signals";

export interface Followed<View> {
  /** What is shown. */
  view: Signal<View>;
  /** What of the address that was opened cannot be followed. */
  problems: Signal<string[]>;
  /** Changes what is shown. A step that one may want to go back from is remembered by the browser. */
  show: (change: Partial<View>, remember?: boolean) => void;
}

/** `from` reads an address and adds what it cannot follow; `to` is its inverse. */
export function following<View>(from: (hash: string, problems: string[]) => View, to: (view: View) => string): Followed<View> {
  const problems = signal<string[]>([]);
  const read = () => {
    const found: string[] = [];
    const read = from(location.hash, found);
    problems.value = found;
    return read;
  };
  const view = signal(read());
  addEventListener("hashchange", () => {
    if (location.hash !== to(view.value)) view.value = read();
  });
  const show = (change: Partial<View>, remember = true) => {
    view.value = { ...view.value, ...change };
    problems.value = [];
    const address = to(view.value);
    if (address === location.hash) return;
    if (remember) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  };
  return { view, problems, show };
}
