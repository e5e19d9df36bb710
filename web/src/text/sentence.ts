// Names of code stand in backticks; they are shown as code, never as markup.

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

/** `com.acme.Inventory.rebuild` is `Inventory.rebuild`; lambdas keep their mark. */
export function shortMethod(method: string): string {
  const bracket = method.indexOf("(");
  const end = bracket < 0 ? method.length : Math.max(0, bracket - 1);
  const parts = method.slice(0, end).split(".");
  const kept = bracket < 0 ? 2 : 1;
  return parts.slice(-kept).join(".") + method.slice(end);
}
