// What an address states behind `#`: a page and parameters. A part that cannot be understood is
// left at its default and said; pages of recordings and of stores read theirs by this alone.

/** An address while it is read. Ask for the page first, and for `others` last. */
export class Stated {
  readonly #path: string;
  readonly #parameters: URLSearchParams;
  readonly #asked = new Set<string>();
  readonly #problems: string[];

  /** For each part that cannot be understood `problems` gets a phrase. */
  constructor(hash: string, problems: string[]) {
    const [, path = "", rest = ""] = /^#?\/?([^?]*)\??(.*)$/s.exec(hash) ?? [];
    this.#path = path;
    this.#parameters = new URLSearchParams(rest);
    this.#problems = problems;
  }

  /** The page, `first` if none is named. */
  page<Name extends string>(pages: readonly Name[], first: Name): Name {
    const page = pages.find((name) => name === this.#path);
    if (page === undefined && this.#path !== "") this.#wrong("there is no page", this.#path);
    return page ?? first;
  }

  /** All values of a parameter. */
  all(name: string): string[] {
    this.#asked.add(name);
    return this.#parameters.getAll(name);
  }

  /** The value of a parameter as `read` understands it; null if it is missing or wrong, which `what` and the value say. */
  part<T>(name: string, what: string, read: (text: string) => T | null): T | null {
    const [text, second] = this.all(name);
    if (second !== undefined) this.#wrong("there is more than one", name);
    const value = text === undefined ? null : read(text);
    if (text !== undefined && value === null) this.#wrong(what, text);
    return value;
  }

  /** The value of a parameter that may be any text. */
  text(name: string): string | null {
    return this.part(name, "", (text) => text);
  }

  /** A choice that fits the page; the empty text, its default, if there is none or it does not fit. */
  choice(name: string, fits: (text: string) => boolean): string {
    return this.part(name, `this page has no ${name}`, (text) => (text === "" || fits(text) ? text : null)) ?? "";
  }

  /** Says which parameters nothing asked for. */
  others(): void {
    for (const name of new Set(this.#parameters.keys())) if (!this.#asked.has(name)) this.#wrong("there is no parameter", name);
  }

  #wrong(what: string, text: string): void {
    this.#problems.push(`${what} “${text.slice(0, 80)}”`);
  }
}

/** True for an order by one of these columns: its name, `-` in front for largest first. */
export function isOrder(text: string, columns: readonly string[]): boolean {
  return columns.includes(text.replace(/^-/, ""));
}
