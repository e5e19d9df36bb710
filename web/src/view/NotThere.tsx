// What the address names and the recording does not have: a sentence for each, and a way to drop it.
import type { ComponentChildren } from "preact";
import { KINDS, type Aspect, type Filter } from "../data/contract";
import { stepsOf, type View } from "../state/address";
import { grouping, useAnswers, useSource } from "../state/asking";
import { factsOf } from "../state/opened";
import { estimatedOrder } from "../state/pages";
import { show, view } from "../state/view";
import { moment } from "../text/units";
import { ASPECT_WORDS } from "../text/words";
import { ExecutedByOwners } from "./ExecutedByOwners";
import { useDuration } from "./FilterBar";
import { nameOf } from "./Narrowed";

/** Something that an address names. */
interface Named {
  by: Aspect;
  key: string;
  /** As a reader calls it. */
  what: string;
  drop: Partial<View>;
}

const NO_FILTER: Filter = { thread: "", lock: "", method: "", services: true };

const FILTERS = {
  thread: (name: string, whole: boolean) => (whole ? `no thread is called “${name}”` : `no thread's name contains “${name}”`),
  lock: (name: string, whole: boolean) => (whole ? `no lock is called “${name}”` : `no lock's name or class contains “${name}”`),
  method: (name: string, whole: boolean) => (whole ? `no waiter, owner or sample has a method “${name}” on its call stack` : `no blocked or waiting thread, owner at its release, or sample has a method on its call stack whose name contains “${name}”`),
} as const;

/** Everything of the address that the recording does not have. */
export function NotThere() {
  const { recording, range } = view.value;
  const { live } = useSource().opening;
  const whole = useDuration();
  const order = estimatedOrder(view.value);
  const facts = factsOf(recording);
  const named = namedBy(view.value);
  const within = named.map(({ by, key }) => ({ by, key }));
  const answers = useAnswers(grouping({ recording, from: 0, to: 1, filter: NO_FILTER, kinds: [], within }, [], 1));
  // What was not read yet may still come.
  if (live?.reading) return null;
  const unknown = new Set(answers?.[0].unknown);
  return (
    <>
      {range !== null && range.from >= whole && <Sentence text={`it ends at ${moment(whole, whole)}, before the time range begins`} drop={{ range: null }} />}
      {order !== "" && facts?.instants === 0 && <Sentence text={`it has no estimates, so it cannot be sorted by “${order}”`} drop={{ mode: view.value.mode.replace(/\..*/, "") }} />}
      {(Object.keys(FILTERS) as (keyof typeof FILTERS)[]).map((filter) => view.value[filter] !== "" && <OfFilter key={`${filter} ${view.value[filter]}`} filter={filter} />)}
      {named.filter(({ key }) => unknown.has(key)).map(({ what, drop }) => <Sentence key={what} text={`there is no ${what}`} drop={drop} />)}
    </>
  );
}

function Sentence({ text, drop, children }: { text: string; drop: Partial<View>; children?: ComponentChildren }) {
  return (
    <p class="card problem" role="alert">
      The address does not fit this recording: {text}.{children} <button type="button" class="small" onClick={() => show(drop)}>drop it</button>
    </p>
  );
}

/** A filter that leaves out everything, whatever the range is. */
function OfFilter({ filter }: { filter: keyof typeof FILTERS }) {
  const { recording } = view.value;
  const text = view.value[filter];
  const scope = { recording, from: 0, to: useDuration(), filter: { ...NO_FILTER, [filter]: text }, kinds: [...KINDS], within: [] };
  const answers = useAnswers(grouping(scope, [], 1));
  if (!answers || answers[0].count > 0) return null;
  return (
    <Sentence text={FILTERS[filter](text.replace(/^=/, ""), text.startsWith("="))} drop={{ [filter]: "" }}>
      {filter === "method" && <ExecutedByOwners />}
    </Sentence>
  );
}

/** What a view names by whole names or keys. */
function namedBy({ threads, focus, drop, sandwich, pick, open }: View): Named[] {
  const without = (list: string[], one: string) => list.filter((other) => other !== one);
  const method = (key: string, change: Partial<View>): Named => ({ by: "contender-method", key, what: `method “${key}”`, drop: { ...change, zoom: "" } });
  const steps = (path: { by: Aspect; key: string }[], change: Partial<View>): Named[] => path.map(({ by, key }) => ({ by, key, what: `${ASPECT_WORDS[by][0]} “${by.endsWith("thread") ? nameOf(key) : key}”`, drop: change }));
  return [
    ...threads.map((key): Named => ({ by: "contender-thread", key, what: `thread “${nameOf(key)}”`, drop: { threads: without(threads, key), zoom: "" } })),
    ...focus.map((key) => method(key, { focus: without(focus, key) })),
    ...drop.map((key) => method(key, { drop: without(drop, key) })),
    ...(sandwich === "" ? [] : [method(sandwich, { sandwich: "" })]),
    ...steps(pick, { pick: [] }),
    ...open.flatMap((path) => steps(stepsOf(path), { open: without(open, path) })),
  ];
}
