// Where the page's cursor stands on an axis that fills its box.
import { cursor } from "../state/cursor";
import type { Range } from "../data/intervals";

export function CursorLine({ range: { from, to }, left = 0, width }: { range: Range; left?: number; width: number }) {
  const at = cursor.value;
  if (at === null || at < from || at > to || width <= 0) return null;
  return <i class="cursorline" style={{ left: `${left + ((at - from) / (to - from)) * width}px` }} />;
}
