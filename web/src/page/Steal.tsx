// Lack of CPU: time in which threads were runnable and did not run.
import { useMemo } from "preact/hooks";
import { KINDS, type Groups, type Kind, type Scope, type Steal as Taken } from "../data/contract";
import { average, type Range } from "../data/intervals";
import { CARRIER, JVM } from "../data/lanes";
import { cpusOf, linesOver, OFF_CPU, MEASURED, spentOf, type SpentRow } from "../data/spent";
import { noCpuIn, offCpuOf, stealIn } from "../data/steal";
import { grouping, overTime, rangeOf, scopeOf, useAnswers, useNames, withoutFilter } from "../state/asking";
import type { View } from "../state/address";
import { narrow } from "../state/narrow";
import { factsOf } from "../state/opened";
import type { ColumnOf } from "../state/pages";
import { address, show, view } from "../state/view";
import { csv, save } from "../text/download";
import { threadsText } from "../text/owning";
import { count, duration, mean, percent, times } from "../text/units";
import { KIND_WORDS } from "../text/words";
import { COLOURS, NO_STATE } from "../view/colours";
import { useDuration } from "../view/FilterBar";
import { Plot } from "../view/Plot";
import { Sparkline } from "../view/Sparkline";
import { TreeTable, type Column } from "../view/TreeTable";
import { Bar } from "./Overview";
import { Transactions } from "./Transactions";

const INTERVALS = 200;
const SPARKS = 60;
const MOST = 1000;
const MOST_LOCKS = 50;

export function Steal() {
  const answers = useAnswers({ ask: "whole" as const, recording: view.value.recording });
  if (!answers) return <p aria-busy="true">…</p>;
  const steal = answers[0].whole.steal;
  if (!steal) {
    return (
      <p class="empty card">
        The recording does not show how long threads had no CPU. To fill this page, record with <code>-e lock,steal</code> (the default).
      </p>
    );
  }
  return (
    <>
      <div class="columns">
        <div>
          <OverTime steal={steal} />
        </div>
        <div>
          <Facts steal={steal} />
        </div>
      </div>
      <Threads />
      <Transactions rows={steal.transactions} />
      <Holders steal={steal} />
    </>
  );
}

/** The range that is chosen; null if that is the whole recording. */
function useChosen(): Range | null {
  const whole = useDuration();
  return view.value.range && rangeOf(view.value, whole);
}

/** The machine, the quota, and how to read the values: of the range. */
function Facts({ steal }: { steal: Taken }) {
  const whole = useDuration();
  const range = useChosen();
  const { machine, process, quota, intervals, refinedIntervals, coveredNs } = stealIn(steal, range);
  const share = machine.steal / Math.max(1, machine.busy + machine.steal);
  const accounting: Record<string, string> = {
    "left out": "The times on CPU contain no steal: this kernel leaves it out.",
    included: "The times on CPU contain no steal: this kernel includes it, and Headway subtracted it.",
  };
  return (
    <section class="card">
      <h2 title="Time in which threads were ready to run but had no CPU: because of the hypervisor (steal), the container's CPU quota (throttling), or other threads (run queue)">CPU shortage{range && " in the chosen range"}</h2>
      <Shortage offCpu={offCpuOf(process)} ran={process.corrected} length={range ? range.to - range.from : whole} />
      <dl>
        <Fact name="CPUs" value={cpusText(steal)} />
        <Fact name="steal" value={`process ${duration(process.steal)}, machine ${duration(machine.steal)} (${percent(share)} of the time in which the machine had work)`} />
        <Fact name="throttled" value={quota ? `${duration(quota.throttled)}, in ${count(quota.throttledPeriods)} of ${times(quota.periods, "period")}${quota.quota > 0 ? `; the quota is ${duration(quota.quota)} in ${duration(quota.period)}` : ""}` : "no quota"} />
        <Fact name="waiting for a CPU" value={steal.runQueueKnown ? duration(process.queued) : "not reported by this kernel"} />
        <Fact name="measured" value={`${times(intervals, "interval")} over ${duration(coveredNs)}${refinedIntervals > 0 ? `; in ${count(refinedIntervals)} steal was divided CPU by CPU` : ""}`} />
      </dl>
      <p class="hint">{accounting[steal.accounting] ?? "The times on CPU may contain steal: it is not known whether this kernel includes it."}</p>
    </section>
  );
}

/** How long threads had no CPU, and of what that is how much: a large part of little is not the cause of much. */
function Shortage({ offCpu, ran, length }: { offCpu: number; ran: number; length: number }) {
  const answers = useAnswers(grouping(withoutFilter(view.value, useDuration()), [], 1));
  if (!answers) return <p class="lead" aria-busy="true" />;
  const blocked = answers[0].totalNs;
  return (
    <p class="lead" title="All threads of the process, the JVM's included. Waits are not in these times">
      Threads were ready to run, but had no CPU for <b>{duration(offCpu)}</b> ({mean(offCpu / Math.max(1, length))} threads on average)
      {offCpu > 0 && <>. This is {percent(offCpu / (ran + offCpu))} of the {duration(ran + offCpu)} in which they ran or were ready to run</>}
      {offCpu > 0 && blocked > 0 && <>, and {percent(offCpu / (blocked + offCpu))} of the {duration(blocked + offCpu)} in which they had no CPU or were blocked on a lock ({duration(blocked)})</>}.
    </p>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

/** `The machine has 2 CPUs; the container may use 1.50 of them.` */
function cpusText(steal: Taken): string {
  const { machine, limit } = cpusOf(steal);
  const has = machine === null ? "The number of CPUs is not known" : `The machine has ${times(machine, "CPU")}`;
  return limit === null ? `${has}.` : `${has}; the container may use ${limit.toPrecision(3).replace(/\.?0+$/, "")}.`;
}

function OverTime({ steal }: { steal: Taken }) {
  const whole = useDuration();
  const scope = scopeOf(ofThreads(view.value), whole, MEASURED);
  const { made, query } = overTime(scope, ["kind"], 10, INTERVALS);
  const answers = useAnswers(query, overTime(ofCarriers(scope), ["kind"], 10, INTERVALS).query);
  const series = useMemo(() => {
    if (!answers) return [];
    const lines = linesOver(ofApplication(answers[0], answers[1]), made.intervals);
    const of = (kind: Kind, at: number) => lines.get(KINDS.indexOf(kind))?.[at] ?? 0;
    const value = (kind: Kind, at: number) => average(made, at, kind === "queued" ? Math.max(0, of("queued", at) - of("throttled", at)) : of(kind, at));
    return ORDER.map((kind) => ({ label: KIND_WORDS[kind], colour: COLOURS[kind], values: Array.from({ length: made.intervals }, (_, at) => value(kind, at)) }));
  }, [answers]);
  if (!answers) return <section class="card" aria-busy="true" />;
  return (
    <section class="card">
      <h2 title="How many threads ran, and how many were ready to run but had no CPU, on average of each interval">Threads on CPU, and ready without a CPU{view.value.range && " in the chosen range"}</h2>
      <div class="legend">
        {series.map(({ label, colour }) => (
          <span key={label}>
            <i class="swatch" style={{ background: colour }} /> {label}
          </span>
        ))}
        <span class="hint push">{cpusText(steal)}</span>
      </div>
      <Plot label="Threads on CPU, steal, throttled and waiting for a CPU over time. Drag to choose a time range." times={made.edges} series={series} stacked whole height={170}
        range={null} onBrush={(range) => show({ range })} format={(value) => value.toFixed(0)} />
    </section>
  );
}

/** CPU times are of threads, whatever locks and methods there are: only the filter by thread applies. */
function ofThreads(view: View): View {
  return { ...view, lock: "", method: "" };
}

/** Carriers run the application's virtual threads, though they are threads of the JVM. */
function ofCarriers(scope: Scope): Scope {
  return { ...scope, filter: { ...scope.filter, services: true }, within: [{ by: "thread-kind", key: String(CARRIER) }] };
}

/** What is of the application: the JVM's own threads have the carriers among them. */
function ofApplication(threads: Groups, carriers: Groups): Groups[] {
  return view.value.services ? [threads] : [threads, carriers];
}

const ORDER: Kind[] = ["steal", "throttled", "queued", "ran"];

interface Row extends SpentRow {
  name: string;
  line: number[];
}

/** Threads or their groups, in the range and filter. */
function Threads() {
  const whole = useDuration();
  const names = useNames(view.value.recording);
  const [tab = "", rest = ""] = view.value.mode.split(".");
  const single = tab === "threads";
  const by = single ? ("contender-thread" as const) : ("contender-group" as const);
  const [offCpu, measured] = [scopeOf(ofThreads(view.value), whole, OFF_CPU), scopeOf(ofThreads(view.value), whole, MEASURED)];
  const sparks = overTime(offCpu, [by], MOST, SPARKS);
  const answers = useAnswers(grouping(measured, [by, "kind"], MOST), grouping(ofCarriers(measured), [by, "kind"], MOST), sparks.query, overTime(ofCarriers(offCpu), [by], MOST, SPARKS).query);
  const rows = useMemo((): Row[] => {
    if (!answers) return [];
    const lines = linesOver(ofApplication(answers[2], answers[3]), sparks.made.intervals);
    const name = (value: number) => (single ? names.threadText(value) : names.text(value));
    return spentOf(ofApplication(answers[0], answers[1])).map((row) => ({ ...row, name: name(row.value), line: lines.get(row.value) ?? [] }));
  }, [answers, single]);
  const columns: Column<Row, ColumnOf<"spent">>[] = [
    { id: "name", title: single ? "thread" : "thread group", why: single ? "The thread" : "Threads whose names differ in numbers only", width: "minmax(200px, 1fr)", narrow: "minmax(100px, 1fr)", value: (row) => row.name,
      cell: (row) => <a class="cut" title={`${row.name}: show among the threads`} href={address({ page: "threads", thread: single ? `=${row.name}` : row.name.replace(/\*.*$/, "") })}>{row.name}</a> },
    { id: "line", title: "no CPU, over time", why: "Time ready to run, but without a CPU, over the range", width: "130px", narrow: "110px", value: () => 0, cell: (row) => <Sparkline values={row.line} colour={NO_STATE} label={`Time of ${row.name} without a CPU, over time`} width={narrow.value ? 98 : 118} /> },
    time("ran", "on CPU", "CPU time without steal"),
    time("steal", "steal", "Time the hypervisor ran something else, in proportion to CPU time: an estimate"),
    time("throttled", "throttled", "Time the container's quota held the threads back, in proportion to CPU time: an estimate"),
    time("queued", "run queue", "Time ready and waiting for a CPU. On most kernels what the quota held back is in here, too"),
    { id: "offCpu", title: "no CPU", why: "Steal and the larger of throttling and run-queue wait: how long the threads were ready to run, but had no CPU", width: "100px", narrow: "78px", value: (row) => row.offCpu,
      cell: (row) => <span class="number">{duration(row.offCpu)}</span> },
    { id: "share", title: "of ready time", why: "Steal and the larger of throttling and run-queue wait, as part of the time in which the thread was ready to run", width: "120px", narrow: "104px", value: (row) => row.share,
      cell: (row) => <span class="number">{percent(row.share)}<Bar part={row.share} colour={NO_STATE} /></span> },
  ];
  const leftOut = answers ? ofApplication(answers[0], answers[1]).reduce((sum, groups) => sum + groups.leftOut, 0) : 0;
  const mode = (next: string) => show({ mode: `${next}.${rest}` }, false);
  return (
    <section class="card">
      <div class="tabs" role="group" aria-label="Whose time">
        <button type="button" aria-pressed={!single} onClick={() => mode("groups")}>thread groups</button>
        <button type="button" aria-pressed={single} onClick={() => mode("threads")}>threads</button>
        <span class="hint">in the chosen range{view.value.thread !== "" && " and filter by thread"}{view.value.services ? "" : ", without the JVM's own threads except carriers of virtual threads; the sentence above includes all"}</span>
      </div>
      {answers && rows.length === 0 ? (
        <p class="empty">Nothing was measured of these threads in this range. The box “JVM threads” adds the JVM's own.</p>
      ) : (
        <>
          <TreeTable label="Time without a CPU, by thread" rows={rows} columns={columns} idOf={(row) => String(row.value)} selected={null} sort={view.value.sort} otherwise="-offCpu" onSort={(next) => show({ sort: next }, false)} height={230} />
          <p class="foot">
            {single ? <Counted rows={rows} leftOut={leftOut} /> : times(rows.length, "group")}
            {leftOut > 0 && `; ${count(leftOut)} with less time not shown`}
            <button type="button" class="small push" title="Download as CSV" onClick={() => save("steal.csv", "text/csv", csv([["name", "cpu_ns", "steal_ns", "throttled_ns", "run_queue_ns", "off_cpu_ns", "off_cpu_share"], ...rows.map((row) => [row.name, row.ran, row.steal, row.throttled, row.queued, row.offCpu, row.share])]))}>CSV</button>
          </p>
        </>
      )}
    </section>
  );
}

/** How many threads the table has, and how many of the application it does not have, if it shows all that were measured. */
function Counted({ rows, leftOut }: { rows: Row[]; leftOut: number }) {
  const names = useNames(view.value.recording);
  const { range, thread, recording } = view.value;
  const threads = rows.map(({ value }) => names.thread(value));
  const own = threads.filter(({ kind }) => kind < JVM).reduce((sum, { others }) => sum + Math.max(1, others), 0);
  const missing = range || thread !== "" || leftOut > 0 ? 0 : (factsOf(recording)?.threads ?? 0) - own;
  return (
    <span title={missing > 0 ? "Virtual threads, whose carriers are measured; and threads that did not run" : undefined}>
      {threadsText(own, threads)}
      {missing > 0 && `; no time was measured of the other ${times(missing, "application thread")}`}
    </span>
  );
}

function time(id: "ran" | "steal" | "throttled" | "queued", title: string, why: string): Column<Row, ColumnOf<"spent">> {
  return { id, title, why, width: "100px", narrow: "80px", value: (row) => row[id], cell: (row) => <span class="number">{duration(row[id])}</span> };
}

/** Locks that looked contended because their owners had no CPU, by name. Blocked time is that of the overview. */
function Holders({ steal }: { steal: Taken }) {
  const whole = useDuration();
  const names = useNames(view.value.recording);
  const range = useChosen();
  const answers = useAnswers(grouping(withoutFilter(view.value, whole), ["lock-name"], MOST));
  if (steal.lockNames.length === 0 || !answers) return null;
  const blocked = new Map(answers[0].value.map((name, at) => [name, answers[0].total[at]!]));
  const rows = [...noCpuIn(steal, range)]
    .map(([name, offCpu]) => ({ name, offCpu: Math.min(offCpu, blocked.get(name) ?? 0) }))
    .filter(({ offCpu }) => offCpu > 0)
    .sort((a, b) => b.offCpu - a.offCpu);
  if (rows.length === 0 && range === null) return null;
  return (
    <section class="card">
      <h2 title="Blocked time during which the owner could run, but had no CPU: an estimate">Locks whose owner had no CPU{range && " in the chosen range"}</h2>
      {rows.length === 0 ? <p class="empty">None in the chosen range.</p> : (
      <div class="scroll" tabIndex={0} role="region" aria-label="Locks whose owner had no CPU">
        <table class="plain">
          <thead>
            <tr>
              <th title="What the code calls the lock; objects of one name together">lock</th>
              <th class="number" title="Blocked time of all threads">blocked</th>
              <th class="number" title="Time in which the owner could run, but had no CPU">owner had no CPU</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, MOST_LOCKS).map(({ name, offCpu }) => (
              <tr key={name}>
                <td>
                  <a href={address({ page: "locks", lock: `=${names.text(name)}` })}><code>{names.text(name)}</code></a>
                </td>
                <td class="number">{duration(blocked.get(name)!)}</td>
                <td class="number">
                  {duration(offCpu)} ({percent(offCpu / Math.max(1, blocked.get(name)!))})
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      )}
    </section>
  );
}
