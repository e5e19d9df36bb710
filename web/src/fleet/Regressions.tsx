// The search for regressions: by a click, since it takes a while.
import { signal } from "@preact/signals";
import { withoutPackage } from "../text/frames";
import { percent } from "../text/units";
import { Copy } from "../view/Chain";
import type { Changed, Compared, Progress, Regressions as Found } from "./contract";
import { ask } from "./source";
import { Both } from "./Stacks";

interface Search {
  /** Of which service; null for all. */
  service: string | null;
  progress: Progress;
  found: Found | null;
  problem: string;
  stop: AbortController;
}

/** The search that was begun last; it goes on while other pages are looked at. */
const search = signal<Search | null>(null);

const AGAIN_MS = 500;

async function begin(service: string | null): Promise<void> {
  search.value?.stop.abort();
  const stop = new AbortController();
  const begun: Search = { service, progress: { step: "idle" }, found: null, problem: "", stop };
  search.value = begun;
  const change = (change: Partial<Search>) => {
    if (search.value?.stop === stop) search.value = { ...search.value, ...change };
  };
  const watching = setInterval(() => {
    ask({ ask: "progress" as const }, stop.signal).then(({ answer: _, ...progress }) => change({ progress }), () => undefined);
  }, AGAIN_MS);
  try {
    change({ found: await ask({ ask: "regressions" as const, service }, stop.signal) });
  } catch (problem) {
    if (!stop.signal.aborted) change({ problem: problem instanceof Error ? problem.message : String(problem) });
  } finally {
    clearInterval(watching);
  }
}

function cancel(): void {
  search.value?.stop.abort();
  search.value = null;
}

export function Regressions({ service }: { service: string | null }) {
  const now = search.value?.service === service ? search.value : null;
  const running = now !== null && now.found === null && now.problem === "";
  return (
    <section class="card" aria-label="Regressions">
      <h2 title="As headway fleet regressions finds them: hosts are resampled, false discoveries bounded">Regressions</h2>
      <p class="foot">
        <button type="button" disabled={running} onClick={() => void begin(service)}>
          Search {service === null ? "all services" : service}
        </button>
        {running && <button type="button" onClick={cancel}>Cancel</button>}
        {running && <span role="status">{wordsOf(now.progress)}</span>}
      </p>
      {!now && <p class="hint">Compares the newest version with the one before, with intervals. It reads the minutes of 14 days before and after, which can take minutes; time range, version and host do not narrow it.</p>}
      {now?.problem && <p class="problem" role="alert">{now.problem}</p>}
      {now?.found && <Result found={now.found} />}
    </section>
  );
}

function wordsOf(progress: Progress): string {
  switch (progress.step) {
    case "idle":
      return "waiting …";
    case "reading":
      return `reading ${progress.service}, ${progress.number} of ${progress.of} …`;
    case "comparing":
      return "comparing versions …";
    case "naming":
      return "reading names and stacks …";
  }
}

function Result({ found: { verdict, services, single_version, command } }: { found: Found }) {
  return (
    <>
      <p class="lead"><b>{verdict}.</b></p>
      {services.map((service) => <Service key={service.service} of={service} />)}
      {single_version.length > 0 && <p class="hint">Only one version: {single_version.join(", ")}</p>}
      <p class="hint">
        The same: <code>{command}</code>
        <Copy text={() => command} />
      </p>
    </>
  );
}

function Service({ of: { service, old_version, new_version, sentences, changed } }: { of: Compared }) {
  return (
    <>
      <h3>{service}: version {new_version} compared with {old_version}</h3>
      {changed.map((lock, at) => <Lock key={at} lock={lock} />)}
      {sentences.map((sentence) => <p key={sentence} class="hint">{sentence}</p>)}
    </>
  );
}

function Lock({ lock: { lock, kind, worse, change, interval, q, old_share, new_share, waiter_stack, owner_stack } }: { lock: Changed }) {
  const size = change === null || interval === null ? "not contended before" : `${signed(change)} (95 % interval ${signed(interval[0])} to ${signed(interval[1])})`;
  return (
    <>
      <p>
        <b class={`verdict ${worse ? "worse" : "better"}`}>{worse ? "worse" : "better"}</b> <code title={lock}>{withoutPackage(lock)}</code> ({kind}): {size}, q {q < 0.0001 ? "< 0.0001" : q.toFixed(4)};{" "}
        {percent(new_share)} of running time, was {percent(old_share)}
      </p>
      {waiter_stack.length > 0 && (
        <details>
          <summary>Stacks of {withoutPackage(lock)}</summary>
          <Both waiter_stack={waiter_stack} owner_stack={owner_stack} />
        </details>
      )}
    </>
  );
}

function signed(share: number): string {
  return share > 0 ? `+${percent(share)}` : percent(share);
}
