// Says that a recording is still being written, and holds the page.
import { useSource } from "../state/asking";
import { ended, paused } from "../state/live";
import { duration } from "../text/units";

export function Live() {
  const { opening } = useSource();
  if (!opening.live) return null;
  const length = duration(opening.recordings[0]?.durationNs ?? 0);
  if (ended.value) {
    return (
      <span class="live over">
        ended after {length}
      </span>
    );
  }
  return (
    <>
      <span class={paused.value ? "live held" : "live"} title="This recording is still being written. The page shows what was read of it so far">
        <i /> {paused.value ? "paused at" : "live,"} {length}
      </span>
      <button type="button" aria-pressed={paused.value} title="Keep the page as it is; the recording continues" onClick={() => (paused.value = !paused.value)}>
        {paused.value ? "Resume" : "Pause"}
      </button>
    </>
  );
}

/** Why nothing is added any more. */
export function Over() {
  const { opening } = useSource();
  if (!opening.live || !ended.value) return null;
  return (
    <p class="card ended" role="status">
      {ended.value}
    </p>
  );
}
