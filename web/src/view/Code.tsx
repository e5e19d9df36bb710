// A name of code in a narrow column: it breaks between its words before it breaks anywhere else.
import type { JSX } from "preact";
import { wordsOf } from "../text/frames";

/** The name, with places to break it. */
export function Code({ name, title }: { name: string; title?: string }) {
  const words = wordsOf(name).flatMap((word, at): (string | JSX.Element)[] => (at === 0 ? [word] : [<wbr key={at} />, word]));
  return <code title={title}>{words}</code>;
}
