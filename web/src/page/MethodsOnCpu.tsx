// Methods that used most CPU time, for the overview of a recording in which that is what there is.
import { useMemo } from "preact/hooks";
import { flat, selfOver } from "../data/flame";
import { average } from "../data/intervals";
import { MOST_STACKS, overTime, scopeOf, useAnswers, useNames, useSource } from "../state/asking";
import { methodOnCpu } from "../state/leading";
import { address, show, view } from "../state/view";
import { split } from "../text/frames";
import { duration, moment, percent, times } from "../text/units";
import { Code } from "../view/Code";
import { COLOURS } from "../view/colours";
import { useDuration } from "../view/FilterBar";
import { Heat } from "../view/Heat";
import { Bar } from "./Overview";

const MOST = 12;
/** A method with a smaller part of the time is left out. */
const LEAST = 0.005;
/** Intervals of the column "when". */
const HEAT = 50;

/** By CPU samples, in the range and filter. */
export function MethodsOnCpu() {
  const whole = useDuration();
  const { recording } = view.value;
  const names = useNames(recording);
  const { samplesWeighted } = useSource().opening.recordings[recording]!;
  const scope = scopeOf(view.value, whole, ["cpu"]);
  const { made, query } = overTime(scope, ["contender-chain"], MOST_STACKS, HEAT);
  // One question: its answer has all call stacks, which is much.
  const answers = useAnswers(query);
  const rows = useMemo(() => (answers ? flat(answers[0], names) : []).filter(({ self }) => self > 0), [answers]);
  const lines = useMemo(() => answers && selfOver(answers[0], names, made.intervals), [answers]);
  if (!answers || !lines) return <section class="card" aria-busy="true" />;
  const { totalNs } = answers[0];
  if (totalNs === 0) return null;
  const shown = rows.filter(({ self }) => self >= LEAST * totalNs).slice(0, MOST);
  // Samples that do not say how much time they stand for are counted.
  const format = samplesWeighted ? duration : (value: number) => times(value, "sample");
  return (
    <section class="card" aria-label="Methods on CPU">
      <h2 title="By samples of running threads, all threads added up">Methods on CPU{view.value.range && " in the chosen range"}</h2>
      <p class="lead">
        <b>{format(totalNs)}</b> on CPU{!view.value.services && ", without the JVM's own threads"}. <a href={address({ page: "profile", mode: "cpu" })}>Show the flame graph</a>
      </p>
      <table class="plain answers">
        <thead>
          <tr>
            <th>method</th>
            <th class="number" title="Time in the method itself, and its part of all time on CPU">on CPU</th>
            <th class="number" title="Time in the method and in what it called">with callees</th>
            <th title="When threads were in the method itself">when</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ name, self, total }) => (
            <tr key={name}>
              <td title={name}>
                <a href={address(methodOnCpu(name))} title={`Show what called ${name} and what it called`}>
                  <Code name={split(name)[1]} />
                </a>
              </td>
              <td class="number">
                {format(self)}
                <Bar part={self / totalNs} colour={COLOURS.cpu} />
                <small>{percent(self / totalNs)}</small>
              </td>
              <td class="number">
                {format(total)}
                <small>{percent(total / totalNs)}</small>
              </td>
              <td>
                <Heat made={made} values={lines.get(name) ?? []} colour={COLOURS.cpu} label={`When threads were in ${name}`} onPick={(range) => show({ range })}
                  title={(at) => `${moment(made.edges[at]!, whole)}: ${samplesWeighted ? `${average(made, at, lines.get(name)?.[at] ?? 0).toFixed(1)} threads` : times(lines.get(name)?.[at] ?? 0, "sample")} in it. Click to choose this interval`} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > shown.length && <p class="hint">{times(rows.length - shown.length, "method")} with less time not shown</p>}
    </section>
  );
}
