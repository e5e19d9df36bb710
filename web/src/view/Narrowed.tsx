// Which call stacks are shown: of which threads, with and without methods, as the view says.
import { show, view } from "../state/view";
import { times } from "../text/units";

const TITLES = { threads: "only thread", focus: "only stacks with", drop: "only stacks without" } as const;
type List = keyof typeof TITLES;

/** Threads that are named one by one; more of them are a number. */
const MOST_NAMED = 8;

/** True if the view leaves call stacks out. */
export function isNarrowed(): boolean {
  const { focus, drop, threads } = view.value;
  return focus.length + drop.length + threads.length > 0;
}

/** Why a graph of the chosen call stacks is empty. */
export const NONE_CHOSEN = "None of the chosen call stacks has such time in this range and filter; “all stacks” shows all of them.";

export function Narrowed() {
  const { threads } = view.value;
  if (!isNarrowed()) return null;
  const without = (list: List, name: string) => show({ [list]: view.value[list].filter((one) => one !== name), zoom: "" });
  const isNamed = (list: List) => list !== "threads" || threads.length <= MOST_NAMED;
  return (
    <div class="tabs" role="group" aria-label="Which call stacks">
      {!isNamed("threads") && (
        <span class="chip">
          <span title={threads.map(nameOf).join("\n")}>only {times(threads.length, "chosen thread")}</span>
          <button type="button" aria-label="remove: only chosen threads" onClick={() => show({ threads: [], zoom: "" })}>×</button>
        </span>
      )}
      {(Object.keys(TITLES) as List[]).filter(isNamed).flatMap((list) =>
        view.value[list].map((one) => {
          const name = list === "threads" ? nameOf(one) : one;
          return (
            <span key={`${list} ${one}`} class="chip">
              <span class="cut" title={name}>{TITLES[list]} <code>{name}</code></span>
              <button type="button" aria-label={`remove: ${TITLES[list]} ${name}`} onClick={() => without(list, one)}>×</button>
            </span>
          );
        }),
      )}
      <button type="button" class="small" onClick={() => show({ focus: [], drop: [], threads: [], zoom: "" })}>all stacks</button>
    </div>
  );
}

/** A thread's name, of its key `request-1#21`. */
export function nameOf(key: string): string {
  return key.replace(/#\d+$/, "");
}
