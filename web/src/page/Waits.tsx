// Where threads waited longest, which threads, and when: of the whole recording, as the report has it.
import type { Facts } from "../data/contract";
import { average } from "../data/intervals";
import { linesOfWaits, rangeOfMost } from "../data/waits";
import { overTime, useAnswers, useNames } from "../state/asking";
import { waitsIn } from "../state/leading";
import { address, show, view } from "../state/view";
import { split } from "../text/frames";
import { duration, interval, moment, times } from "../text/units";
import { Code } from "../view/Code";
import { COLOURS } from "../view/colours";
import { useDuration } from "../view/FilterBar";
import { Heat } from "../view/Heat";
import { Bar } from "./Overview";

/** Intervals of the column "when". */
const HEAT = 50;
const MOST_METHODS = 1000;

/** The waits of the report. */
export function Waits({ facts }: { facts: Facts }) {
  if (facts.waits.length === 0) return null;
  const most = facts.waits[0]!.totalNs;
  return (
    <section class="card" aria-label="Waits with the most time">
      <h2 title="Object.wait and parks on java.util.concurrent, all threads added up; without idle threads">
        Waits with the most time{view.value.range && " of the whole recording"}
      </h2>
      <table class="plain answers waits">
        <thead>
          <tr>
            <th>in</th>
            <th class="number" title="Waited time of all threads">waited</th>
            <th title="The threads that waited">waiting thread</th>
            <th title="Who ended most of the waited time">ended by</th>
            <th title="In which part of the recording threads waited. Below: nearly all of the time is in this range">when</th>
          </tr>
        </thead>
        <tbody>
          {facts.waits.map((wait, place) => (
            <tr key={place}>
              <td>
                <a href={address(waitsIn(wait.method, wait.isMonitor))} title={`Show the waits in ${wait.method}`}>
                  <Code name={split(wait.method)[1]} />
                </a>
                <small><Object name={split(wait.on)[1]} /></small>
              </td>
              <td class="number">
                {duration(wait.totalNs)}
                <Bar part={wait.totalNs / most} colour={wait.isMonitor ? COLOURS.wait : COLOURS.park} />
                <small class="whole">{times(wait.count, "wait")}</small>
                <small class="whole">longest {duration(wait.maxNs)}</small>
              </td>
              <td>{wait.groups.join(", ")}</td>
              <td title={wait.endedBy}>{wait.endedBy ? <Code name={split(wait.endedBy)[1]} /> : wait.byTimeout ? "timeout" : "several, or unknown"}</td>
              <td>
                <When facts={facts} place={place} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** A name that is broken before its identity hash code, if it must be. */
function Object({ name }: { name: string }) {
  const at = name.lastIndexOf("@");
  return at <= 0 ? <>{name}</> : <>{name.slice(0, at)}<wbr />{name.slice(at)}</>;
}

function When({ facts, place }: { facts: Facts; place: number }) {
  const whole = useDuration();
  const { recording } = view.value;
  const names = useNames(recording);
  const scope = { recording, from: 0, to: whole, filter: { thread: "", lock: "", method: "", services: false }, kinds: ["wait" as const, "park" as const], within: [] };
  const { made, query } = overTime(scope, ["contender-method", "kind"], MOST_METHODS, HEAT);
  const answers = useAnswers(query);
  if (!answers) return null;
  const wait = facts.waits[place]!;
  const line = linesOfWaits(answers[0], (method) => names.text(method), made.intervals, facts.waits)[place];
  if (!line) return <small title="Other threads that waited in this method were idle">not known</small>;
  const range = rangeOfMost(line, made.edges);
  return (
    <>
      <Heat made={made} values={line} colour={wait.isMonitor ? COLOURS.wait : COLOURS.park} label={`When threads waited in ${wait.method}`} onPick={(range) => show({ range })}
        title={(at) => `${moment(made.edges[at]!, whole)}: ${average(made, at, line[at]!).toFixed(1)} threads waited in it. Click to choose this interval`} />
      {range && (
        <button type="button" class="small" title="Nearly all of the time is in this range. Click to choose it" onClick={() => show({ range })}>
          {interval(range, whole)}
        </button>
      )}
    </>
  );
}
