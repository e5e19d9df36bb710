// What the owner of a lock was executing while others waited for it.
import { useMemo } from "preact/hooks";
import { HOWS, type Groups } from "../data/contract";
import type { NameBook } from "../data/names";
import type { Step } from "../state/address";
import { grouping, scopeOf, useAnswers, useNames } from "../state/asking";
import { view } from "../state/view";
import { percent, times } from "../text/units";
import { useDuration } from "../view/FilterBar";
import { Bar } from "./Overview";

const MOST = 8;

export const INSIDE_WHY =
  "Samples of the thread that held the lock, taken while others were blocked on it, up to the frame that held it. A sample counts once for each blocked thread.";
export const INSIDE_EMPTY = "No sample of an owner here. Record with -e lock,cpu (or wall) to see where inside the owner the time went.";

interface Spot {
  text: string;
  share: number;
}

/** The innermost methods of owners, dearest first. */
function spotsOf(groups: Groups, names: NameBook): Spot[] {
  const found = new Map<string, number>();
  groups.value.forEach((chain, at) => {
    if (groups.parent[at]! >= 0) return;
    const leaf = names.chain(chain)[0];
    const text = leaf === undefined ? "outside the method that held the lock" : names.frameText(leaf);
    found.set(text, (found.get(text) ?? 0) + groups.total[at]!);
  });
  return [...found].map(([text, total]) => ({ text, share: total / groups.totalNs })).sort((a, b) => b.share - a.share);
}

/** Where inside the owner the time of a selection went. */
export function Inside({ within }: { within: Step[] }) {
  const whole = useDuration();
  const names = useNames(view.value.recording);
  const scope = scopeOf(view.value, whole, ["inside"], within);
  const answers = useAnswers(grouping(scope, ["inside"], 500), grouping(scope, ["how"], 20));
  const spots = useMemo(() => (answers ? spotsOf(answers[0], names) : []), [answers]);
  if (!answers) return null;
  const waiting = answers[1].value.indexOf(HOWS.indexOf("waiting"));
  const waited = waiting < 0 ? 0 : answers[1].total[waiting]!;
  return (
    <section class="chain inside" aria-label="Inside the owner">
      <h3 title={INSIDE_WHY}>Where inside the owner the time went</h3>
      {spots.length === 0 ? (
        <p class="empty">{INSIDE_EMPTY}</p>
      ) : (
        <>
          <ol class="spots">
            {spots.slice(0, MOST).map((spot) => (
              <li key={spot.text} title={spot.text}>
                <span class="number">{percent(spot.share)}</span>
                <Bar part={spot.share} />
                <code class="cut">{spot.text}</code>
              </li>
            ))}
          </ol>
          <p class="hint">
            From {times(answers[0].count, "sample")} of owners, each counted for every thread that was blocked
            {waited > 0 && `; in ${percent(waited / answers[0].totalNs)} the owner itself was waiting`}
            {spots.length > MOST && `; ${times(spots.length - MOST, "more line")} in the flame graph`}
          </p>
        </>
      )}
    </section>
  );
}
