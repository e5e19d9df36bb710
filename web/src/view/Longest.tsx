// The longest contentions; each leads to its place among the threads.
import { keyOfEntry } from "../data/lanes";
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
  const { entries } = answers[0];
  const summed = factsOf(view.value.recording)?.summed ?? 0;
  if (entries.length === 0) return <p class="empty">No {summed > 0 ? "contention that is kept one by one" : "contention"} here.</p>;
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
          {entries.map((entry) => {
            const owner = [...entry.slices].sort((a, b) => b.span - a.span).find((slice) => slice.owner > 0);
            return (
              <tr key={`${entry.start} ${entry.thread}`}>
                <td class="number">
                  <a href={address({ page: "threads", contention: keyOfEntry(names, entry) })} title="Show it among the threads">
                    {duration(entry.span)}
                  </a>
                </td>
                <td>{moment(entry.start, whole)}</td>
                <td class="cut">{names.threadText(entry.thread)}</td>
                <td class="cut" title={names.lock(entry.lock).name}>{names.lock(entry.lock).short}</td>
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
