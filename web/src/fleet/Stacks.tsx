// Call stacks of both sides of a lock.
import { duration, percent, times } from "../text/units";
import { Copy, Method } from "../view/Chain";
import { pairAt, PairLine } from "../view/Pairs";
import type { Rows, StackRow } from "./contract";
import { show, view } from "./view";

/** A call stack, leaf first. */
export function Stack({ frames, title, why, unknown }: { frames: string[]; title: string; why: string; unknown: string }) {
  return (
    <section class="chain">
      <h3 title={why}>
        {title}
        {frames.length > 0 && <Copy text={() => frames.join("\n")} />}
      </h3>
      {frames.length === 0 && <p class="empty">{unknown}</p>}
      <ol tabIndex={0} aria-label={title}>
        {frames.map((method, at) => (
          <li key={at} title={method}>
            <Method name={method} />
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Stacks of waiters and owner beside each other. */
export function Both({ waiter_stack, owner_stack }: { waiter_stack: string[]; owner_stack: string[] }) {
  return (
    <div class="pair">
      <Stack frames={waiter_stack} title="Who was blocked" why="Call stack of the blocked threads, innermost method first" unknown="The call stack was not recorded." />
      <Stack frames={owner_stack} title="Who owned the lock" why="Call stack of the owner meanwhile, from the frame that owned the lock on" unknown="No owner: hand-off (the lock was free), or the owner was not recorded." />
    </div>
  );
}

/** The pairs of stacks with most blocked time, one at a time. */
export function Pairs({ answer: { rows, more } }: { answer: Rows<StackRow> }) {
  const wanted = view.value.pair;
  const pair = rows[pairAt(wanted, rows.length)];
  if (!pair) return <p class="empty">No blocked time with this filter.</p>;
  const all = rows.reduce((sum, { blocked_ns }) => sum + blocked_ns, 0);
  return (
    <>
      <PairLine wanted={wanted} of={rows.length} more={more} onGo={(pair) => show({ pair }, false)}>
        {duration(pair.blocked_ns)} ({percent(pair.blocked_ns / Math.max(1, all))} of these), {times(pair.contentions, "contention")}
      </PairLine>
      <Both {...pair} />
    </>
  );
}
