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
