// The longest contentions; each leads to its place among the threads.
import { keyOfStretch } from "../data/lanes";
import { grouping, scopeOf, useAnswers, useNames } from "../state/asking";
import type { Step } from "../state/address";
import { factsOf } from "../state/opened";
import { address, view } from "../state/view";
import { duration, moment } from "../text/units";
import { useDuration } from "./FilterBar";

const MOST = 50;

export function Longest({ within }: { within: Step[] }) {
  const whole = useDuration();
  const names = useNames(view.value.recording);
  const scope = scopeOf(view.value, whole, undefined, within);
  const answers = useAnswers({ ask: "longest" as const, scope, limit: MOST });
  if (!answers) return <p aria-busy="true">…</p>;
  const { stretches } = answers[0];
  const summed = factsOf(view.value.recording)?.summed ?? 0;
  if (stretches.length === 0) return <p class="empty">No {summed > 0 ? "contention that is kept one by one" : "contention"} here.</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Longest contentions">
      <table class="plain">
        <thead>
          <tr>
            <th class="number">blocked</th>
            <th>at</th>
            <th>thread</th>
            <th>lock</th>
            <th>owner</th>
          </tr>
        </thead>
        <tbody>
          {stretches.map((stretch) => {
            const owner = [...stretch.slices].sort((a, b) => b.span - a.span).find((slice) => slice.owner > 0);
            return (
              <tr key={`${stretch.start} ${stretch.thread}`}>
                <td class="number">
                  <a href={address({ page: "threads", contention: keyOfStretch(names, stretch) })} title="Show it among the threads">
                    {duration(stretch.span)}
                  </a>
                </td>
                <td>{moment(stretch.start, whole)}</td>
                <td class="cut">{names.threadText(stretch.thread)}</td>
                <td class="cut" title={names.lock(stretch.lock).name}>{names.lock(stretch.lock).short}</td>
                <td class="cut">{owner ? names.threadText(owner.owner) : "unknown"}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

export { grouping };
