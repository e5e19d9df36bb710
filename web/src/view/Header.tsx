// What stands above every page.
import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { choose, theme } from "../state/theme";

interface Props<Name extends string> {
  pages: readonly Name[];
  titles: Record<Name, string>;
  current: Name;
  hrefOf: (page: Name) => string;
  /** What is looked at: a recording, a store. */
  file: string;
  children?: ComponentChildren;
}

export function Header<Name extends string>({ pages, titles, current, hrefOf, file, children }: Props<Name>) {
  return (
    <header>
      <a class="skip" href="#content" onClick={(event) => (event.preventDefault(), document.getElementById("content")?.focus())}>
        Skip to content
      </a>
      <strong class="brand">Headway</strong>
      <nav aria-label="Pages">
        {pages.map((name) => (
          <a key={name} href={hrefOf(name)} aria-current={name === current ? "page" : undefined}>
            {titles[name]}
          </a>
        ))}
      </nav>
      {children}
      <span class="file" title={file}>
        {file}
      </span>
      <button type="button" onClick={() => choose(theme.value === "dark" ? "light" : "dark")}>
        {theme.value === "dark" ? "Light" : "Dark"}
      </button>
    </header>
  );
}

/** What of the address cannot be shown; `drop` leaves it out of the address, too. */
export function Problems({ of, drop }: { of: Signal<string[]>; drop: () => void }) {
  if (of.value.length === 0) return null;
  return (
    <p class="card problem" role="alert">
      This address cannot be followed in full: {of.value.join("; ")}.{" "}
      <button type="button" class="small" onClick={drop}>drop it</button>
    </p>
  );
}
