// Names of code stand in backticks; they are shown as code, never as markup.
import type { Finding, Link } from "../data/contract";

export interface Piece {
  text: string;
  code: boolean;
}

export function pieces(sentence: string): Piece[] {
  return sentence
    .split("`")
    .map((text, place) => ({ text, code: place % 2 === 1 }))
    .filter((piece) => piece.text !== "");
}

/** The lock that a finding names first: by its name, or by class and hash; null if it names none. */
export function lockOf({ text }: Pick<Finding, "text">, links: Pick<Link, "kind" | "name">[]): string | null {
  const named = pieces(text).find(({ text, code }) => code && links.some(({ kind, name }) => kind === "lock" && name === text));
  return named?.text ?? null;
}
