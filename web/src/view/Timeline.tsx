// Where all threads' time went over the whole recording; its brush is the page's range.
import { useMemo, useState } from "preact/hooks";
import type { Kind, Scope } from "../data/contract";
import { roomOf, threadCount } from "../data/fit";
import { CARRIER } from "../data/lanes";
import { MEASURED } from "../data/spent";
import { average, intervalAt, type Cut } from "../data/intervals";
import { PLATFORM, STATES, states, takeIdle, VIRTUAL, type State } from "../data/states";
import { filterOf, overTime, rangeOf, scopeOf, threadsWith, useAnswers, useNames, useSource } from "../state/asking";
import { cursor } from "../state/cursor";
import { theme } from "../state/theme";
import { show, view } from "../state/view";
import { STATE_WORDS } from "../text/words";
import { moment } from "../text/units";
import { STATE_COLOURS } from "./colours";
import { useDuration } from "./FilterBar";
import { Plot } from "./Plot";

const INTERVALS = 300;
const MOST_METHODS = 1000;
const BLOCKED: State[] = ["monitor", "juc", "virtual-blocked"];
const CONTENTION: Kind[] = ["monitor", "juc"];
const WAITS: Kind[] = ["wait", "park"];
const CONTEXT: Kind[] = ["alive", ...WAITS, "cpu", "ran", "steal", "throttled", "queued"];

/** Time of each state, by interval. */
interface Shown {
  made: Cut;
  time: Record<State, number[]>;
}

/** Threads by what they did, over the whole recording. */
function useStates(): Shown | null {
  const whole = useDuration();
  const { opening } = useSource();
  const names = useNames(view.value.recording);
  const scope: Scope = { ...scopeOf(view.value, whole), from: 0, to: whole };
  const filter = { ...filterOf(view.value), lock: "", method: "" };
  const blocked = overTime(scope, ["thread-kind", "kind"], 10, INTERVALS);
  const context = overTime({ ...scope, kinds: CONTEXT, filter }, ["thread-kind", "kind"], 10, INTERVALS);
  const ofVirtual = { ...scope, kinds: CONTENTION.concat(WAITS), filter, within: [{ by: "thread-kind" as const, key: String(VIRTUAL) }] };
  const ofPlatform = { ...scope, kinds: WAITS, filter, within: [{ by: "thread-kind" as const, key: String(PLATFORM) }] };
  const ofCarriers = { ...scope, kinds: MEASURED, filter: { ...filter, services: true }, within: [{ by: "thread-kind" as const, key: String(CARRIER) }] };
  const carriers = overTime(ofCarriers, ["kind"], 10, INTERVALS);
  const waits = overTime(ofPlatform, ["contender-method", "kind"], MOST_METHODS, INTERVALS);
  const answers = useAnswers(blocked.query, context.query, threadsWith(ofVirtual), waits.query, carriers.query);
  const facts = opening.recordings[view.value.recording];
  return useMemo(() => {
    if (!answers || !facts) return null;
    const { made } = blocked;
    const room = roomOf(threadCount(answers[2], (thread) => names.thread(thread).others, facts.knownVirtualThreads), made.edges);
    const time = states(answers[0], answers[1], made.intervals, facts.samplesWeighted, room, answers[4]);
    takeIdle(time, answers[3], (method) => names.text(method), facts.idleWaits);
    return { made, time };
  }, [answers, facts]);
}

/** How many threads are in a state, on average of an interval. */
function countIn({ made, time }: Shown, state: State, at: number): number {
  return average(made, at, time[state][at]!);
}

export function Timeline() {
  const whole = useDuration();
  const found = useStates();
  const [open, setOpen] = useState(true);
  // Under a filter by lock or method, only blocked time is known.
  const narrow = view.value.lock !== "" || view.value.method !== "";
  const colours = STATE_COLOURS[theme.value];
  const [shown, series] = useMemo(() => {
    if (!found) return [[], []];
    const shown = STATES.filter((state) => found.time[state].some((time) => time > 0) && (!narrow || BLOCKED.includes(state)));
    return [shown, shown.map((state) => ({ label: STATE_WORDS[state], colour: colours[state], values: found.time[state].map((_, at) => countIn(found, state, at)) }))];
  }, [found, narrow, colours]);
  if (!found) return <div class="timeline" aria-busy="true" />;
  const { made } = found;
  const at = intervalAt(made, cursor.value);
  return (
    <section class="timeline" aria-label="Timeline">
      <div class="legend">
        <button type="button" class="plain" title="How many threads were in which state, on average of each interval" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "▾" : "▸"} Threads, by what they did
        </button>
        {shown.map((state) => (
          <span key={state} title={`How many threads were ${STATE_WORDS[state]}, on average of each interval`}>
            <i class="swatch" style={{ background: colours[state] }} /> {STATE_WORDS[state]}
            {at !== null && <b> {countIn(found, state, at).toFixed(1)}</b>}
          </span>
        ))}
        {shown.length === 0 && <span>{narrow ? "No blocked time in this filter; a filter by lock or method leaves out all other time." : "Nothing of this was recorded."}</span>}
        <span class="hint push">{at === null ? "drag to choose a time range" : `at ${moment(made.edges[at]!, whole)}`}</span>
      </div>
      {open && (
        <Plot
          label="Stacked timeline: how many threads were in each state. Drag to choose a time range, or type one into the filter bar."
          times={made.edges}
          series={series}
          stacked
          whole
          height={view.value.page === "overview" ? 150 : 104}
          range={view.value.range && rangeOf(view.value, whole)}
          onBrush={(range) => show({ range })}
          format={(value) => value.toFixed(0)}
        />
      )}
    </section>
  );
}
