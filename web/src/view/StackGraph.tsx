// Call stacks as one graph: all of them, or callers and callees of a chosen method. What is
// chosen is in the address and the same for every value.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { flame, sandwich, type FlameNode, type FlameOptions, type Stacks } from "../data/flame";
import { show, view } from "../state/view";
import { percent } from "../text/units";
import { isNarrowed, NONE_CHOSEN } from "./Narrowed";
import { Flame, SandwichGraph, type Meaning } from "./Flame";

interface Props {
  stacks: Stacks;
  before?: Stacks;
  options: FlameOptions;
  why: string;
  label: string;
  empty: ComponentChildren;
  meaning: Meaning;
  format: (value: number) => string;
  search: string;
  /** What there is with and without the chosen method; null while that is unknown. */
  all: number | null;
}

export function StackGraph({ stacks, before, options, why, label, empty, meaning, format, search, all }: Props) {
  const method = view.value.sandwich;
  const made = useMemo(
    () => (method === "" ? { root: flame(stacks, options, before), pair: null } : { root: null, pair: sandwich(stacks, method, options.fold, before) }),
    [stacks, before, method, options.fold, options.inverted],
  );
  const own = made.pair?.callees;
  const has = (node: FlameNode) => node[meaning.side] > 0;
  if (made.root !== null) return has(made.root) ? <Flame root={made.root} {...{ why, label, meaning, search }} /> : <p class="empty">{isNarrowed() ? NONE_CHOSEN : empty}</p>;
  if (!own || !has(own)) {
    return <p class="empty">No call stack here has “{method}”. <button type="button" class="small" onClick={() => show({ sandwich: "" })}>whole graph</button></p>;
  }
  const part = (time: number) => (all === null ? format(time) : `${format(time)} (${percent(time / all)})`);
  return (
    <>
      <p class="lead"><code>{method}</code>: total {part(own.total)}, self {part(own.self)}</p>
      <SandwichGraph pair={made.pair} why="What called the method is above it, what it called is below it; a stack counts once." label={`Callers and callees: ${label}`} meaning={meaning} search={search} />
    </>
  );
}
