// Where all threads' time went over the whole recording; its brush is the page's range.
import { useState } from "preact/hooks";
import type { Kind, Scope } from "../data/contract";
import { addUp, states, type States } from "../data/states";
import { filterOf, grouping, scopeOf, useAnswers, useSource } from "../state/asking";
import { show, view } from "../state/view";
import { KIND_WORDS } from "../text/words";
import { moment } from "../text/units";
import { COLOURS } from "./colours";
import { useDuration } from "./FilterBar";
import { Plot } from "./Plot";

const INTERVALS = 300;
const CONTEXT: Kind[] = ["alive", "wait", "park", "cpu", "ran", "stolen", "throttled", "queued"];
const ORDER: Kind[] = ["monitor", "juc", "stolen", "throttled", "queued", "ran", "cpu", "alive", "wait", "park"];

export function useStates(intervals: number): States | null {
  const whole = useDuration();
  const { opening } = useSource();
  const scope: Scope = { ...scopeOf(view.value, whole), from: 0, to: whole };
  const filter = { ...filterOf(view.value), lock: "", method: "" };
  const context: Scope = { ...scope, kinds: CONTEXT, filter };
  const answers = useAnswers(
    grouping(scope, ["kind", "time"], 10, intervals),
    grouping(context, ["thread-kind", "kind", "time"], 10, intervals),
  );
  if (!answers) return null;
  const weighted = opening.recordings[view.value.recording]?.samplesWeighted ?? false;
  return states(answers[0], answers[1], intervals, weighted);
}

export function boundaries(whole: number, intervals: number): number[] {
  return Array.from({ length: intervals + 1 }, (_, at) => Math.floor((at * whole) / intervals));
}

export function Timeline() {
  const whole = useDuration();
  const told = useStates(INTERVALS);
  const [hover, setHover] = useState<number | null>(null);
  const [open, setOpen] = useState(true);
  if (!told) return <div class="timeline" aria-busy="true" />;
  const times = boundaries(whole, INTERVALS);
  const length = whole / INTERVALS;
  // Under a filter by lock or method, only blocked time can be told.
  const narrow = view.value.lock !== "" || view.value.method !== "";
  const shown = ORDER.filter((kind) => told.time[kind].some((time) => time > 0) && (!narrow || kind === "monitor" || kind === "juc"));
  const series = shown.map((kind) => ({ label: KIND_WORDS[kind], colour: COLOURS[kind], values: told.time[kind].map((time) => time / length) }));
  const at = hover !== null && hover < INTERVALS ? hover : null;
  return (
    <section class="timeline" aria-label="Timeline">
      <div class="legend">
        <button type="button" class="plain" title="How many threads were in which state, on average of each interval" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "▾" : "▸"} Threads, by what they did
        </button>
        {shown.map((kind) => (
          <span key={kind} title={`How many threads were ${KIND_WORDS[kind]}, on average of each interval`}>
            <i class="swatch" style={{ background: COLOURS[kind] }} /> {KIND_WORDS[kind]}
            {at !== null && <b> {(told.time[kind][at]! / length).toFixed(1)}</b>}
          </span>
        ))}
        <span class="hint push">{at === null ? "drag to choose a time range" : `at ${moment(times[at]!, whole)}`}</span>
      </div>
      {open && (
        <Plot
          label="Stacked timeline: how many threads were in each state. Drag to choose a time range, or type one into the filter bar."
          times={times}
          series={series}
          stacked
          whole
          height={view.value.page === "overview" ? 150 : 104}
          range={view.value.range}
          onBrush={(range) => show({ range })}
          onHover={setHover}
          format={(value) => value.toFixed(0)}
        />
      )}
    </section>
  );
}

export { addUp };
