// Says that a recording is still being written, and holds the page; or how much of it was read.
import type { Reading } from "../data/contract";
import { useSource } from "../state/asking";
import { ended, paused } from "../state/live";
import { duration, megabytes } from "../text/units";

export function Live() {
  const { opening } = useSource();
  if (!opening.live) return null;
  if (opening.live.reading && !ended.value) return <HowFar reading={opening.live.reading} />;
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

function HowFar({ reading }: { reading: Reading }) {
  return (
    <span class="live">
      reading <progress value={reading.bytes} max={reading.of} aria-label="Read so far" /> {megabytes(reading.bytes)} of {megabytes(reading.of)} MB
    </span>
  );
}

/** Before anything is known of a recording. */
export function Arriving() {
  const { opening } = useSource();
  const reading = opening.live?.reading;
  return (
    <main class="arriving">
      <p class="card" role="status">
        {ended.value || "Headway reads this recording. First results come as soon as they are known."}
      </p>
      {reading && !ended.value && <HowFar reading={reading} />}
    </main>
  );
}

/** Says that what is shown is not all. */
export function First() {
  const { opening } = useSource();
  if (!opening.live?.reading) return null;
  return (
    <p class="card first" role="status">
      First results: only the first {duration(opening.recordings[0]?.durationNs ?? 0)} of this recording. {ended.value ? "" : "The rest is being read, and then replaces them."}
    </p>
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
