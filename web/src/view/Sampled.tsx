// What of a recording that samples is estimated, and how far it may be off. Where everything was
// recorded nothing of this is shown.
import type { Estimate } from "../data/estimates";
import { factsOf } from "../state/opened";
import { view } from "../state/view";
import { between, times } from "../text/units";

/** Which times are exact and which are estimates. */
export function Sampled() {
  const facts = factsOf(view.value.recording);
  const instants = facts?.instants ?? 0;
  if (instants === 0) return null;
  const except = facts?.thins ? ", except parks of threads that park very often" : "";
  return (
    <p class="hint" title="Intervals of 95 % are shown for the whole recording without a filter, by lock name, owner, waiter and their call stacks">
      Sampled at {times(instants, "random instant")}: times by lock and by thread are exact for each second{except}. Shorter ranges and cells show the mean of the second. Times by owner and by call stack are estimates.
    </p>
  );
}

/** The interval of an estimate, behind it: ` (58 to 66 %, 412 observations)`. */
export function Between({ found, format }: { found: Estimate; format: (ns: number) => string }) {
  const [low, high] = [format(found.low), format(found.high)];
  // As in the report: an interval without a width says nothing.
  const interval = low === high ? "" : `${between(low, high)}, `;
  return <span title="95 % confidence interval"> ({interval}{times(found.instants, "observation")})</span>;
}
