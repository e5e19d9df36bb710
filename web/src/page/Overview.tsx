import { useState } from "preact/hooks";
import { HOWS, type Facts, type Finding, type Groups, type Scope } from "../data/contract";
import { addUp, phases, type Phase } from "../data/states";
import { grouping, scopeOf, useAnswers, useNames, useSource } from "../state/asking";
import { address, show, view } from "../state/view";
import { pieces } from "../text/sentence";
import { count, duration, moment, percent, times } from "../text/units";
import { split } from "../text/frames";
import { PALETTE } from "../view/colours";
import { useDuration } from "../view/FilterBar";
import { Plot } from "../view/Plot";
import { boundaries, useStates } from "../view/Timeline";

const WORST = 5;
/** Above this part of running time a lock is said to be in a phase of contention. */
const THRESHOLD = 0.05;

export function Overview() {
  const { opening } = useSource();
  const facts = opening.recordings[view.value.recording]!;
  return (
    <div class="columns">
      <div>
        <Answers />
        <Pressure />
      </div>
      <div>
        <Findings facts={facts} />
        <About facts={facts} />
      </div>
    </div>
  );
}

function intervalsFor(whole: number): number {
  return Math.min(300, Math.max(30, Math.ceil(whole / 1e9)));
}

interface Line {
  lock: number;
  pressure: number[];
  phases: Phase[];
}

/** Pressure of the worst locks, over the whole recording. */
function usePressure(intervals: number): Line[] | null {
  const whole = useDuration();
  const told = useStates(intervals);
  const scope: Scope = { ...scopeOf(view.value, whole), from: 0, to: whole };
  const answers = useAnswers(grouping(scope, ["lock-name", "time"], WORST, intervals));
  if (!told || !answers) return null;
  const lines = new Map<number, number[]>();
  addUp(answers[0], 1, ([lock = 0], interval, total) => {
    const line = lines.get(lock) ?? new Array<number>(intervals).fill(0);
    lines.set(lock, line);
    line[interval] = told.running[interval]! > 0 ? Math.min(1, total / told.running[interval]!) : 0;
  });
  return [...lines].map(([lock, pressure]) => ({ lock, pressure, phases: phases(pressure, THRESHOLD) }));
}

/** Which lock, who suffers, who causes it, when: for the range and filter. */
function Answers() {
  const whole = useDuration();
  const names = useNames(view.value.recording);
  const scope = scopeOf(view.value, whole);
  const intervals = intervalsFor(whole);
  const pressure = usePressure(intervals);
  const answers = useAnswers(
    grouping(scope, ["lock-name", "owner-method", "how"], WORST),
    grouping(scope, ["lock-name", "contender-method"], WORST),
    grouping(scope, ["lock-name", "contender-group"], WORST),
  );
  if (!answers) return <section class="card" aria-busy="true" />;
  const [owners, methods, groups] = answers;
  if (owners.totalNs === 0) return <NothingBlocked />;
  const times = boundaries(whole, intervals);
  return (
    <section class="card">
      <h2 title="Time that threads were blocked acquiring locks, all threads added up">
        Worst locks {view.value.range ? "in the chosen range" : ""}
      </h2>
      <p class="lead">
        Threads were blocked <b>{duration(owners.totalNs)}</b> altogether, in {count(owners.count)} stretches.
      </p>
      <table class="plain answers">
        <thead>
          <tr>
            <th>which lock</th>
            <th class="number" title="Blocked time of all threads, and its part of all blocked time in the range">blocked</th>
            <th>who suffers</th>
            <th>who causes it</th>
            <th>when</th>
          </tr>
        </thead>
        <tbody>
          {tops(owners).map(({ value, total }) => {
            const line = pressure?.find((one) => one.lock === value);
            const method = (id: number | undefined) => (id === undefined ? "unknown" : id === 0 ? "unknown" : split(names.text(id))[1]);
            const blocked = below(methods, value)[0];
            const group = below(groups, value)[0];
            return (
              <tr key={value}>
                <td>
                  <a href={address({ page: "locks", pick: [{ by: "lock-name", value }], open: [`lock-name:${value}`], by: ["lock-name", "owner-method", "contender-method"] })}
                    title={`Drill down into ${names.text(value)}`}>
                    <code>{names.text(value)}</code>
                  </a>
                </td>
                <td class="number">
                  {duration(total)}
                  <Bar part={total / owners.totalNs} />
                </td>
                <td title={names.text(blocked?.value ?? 0)}>
                  <code>{method(blocked?.value)}</code>
                  <small>{group ? names.text(group.value) : ""}</small>
                </td>
                <td>
                  <Cause owners={owners} lock={value} total={total} />
                </td>
                <td>{line ? <When line={line} times={times} whole={whole} /> : null}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

function NothingBlocked() {
  const { opening } = useSource();
  const whole = opening.recordings[view.value.recording]?.stretches ?? [];
  const any = (whole[0] ?? 0) + (whole[1] ?? 0) > 0;
  return (
    <section class="card">
      <h2>No thread was blocked {any ? "here" : "on a lock"}</h2>
      <p class="empty">
        {any
          ? "The range and filter leave no blocked time. “Show all” takes them away."
          : "The recording has no blocked stretch. Record with -e lock while the program is slow to see who blocks whom."}
      </p>
    </section>
  );
}

/** The method that held the lock longest, or that nobody did. */
function Cause({ owners, lock, total }: { owners: Groups; lock: number; total: number }) {
  const names = useNames(view.value.recording);
  const [first, second] = below(owners, lock);
  if (!first) return <>unknown</>;
  const known = first.value > 0 ? first : second;
  const free = first.value === 0 ? handedOver(owners, lock) : 0;
  return (
    <>
      {known && <code title={names.text(known.value)}>{split(names.text(known.value))[1]}</code>}
      {known && <small>held it for {percent(known.total / total)} of that</small>}
      {free > 0 && (
        <small title="Released, and whoever was woken for it did not run yet: a shortage of processors, or a convoy">
          {percent(free / total)} nobody held it: changing hands
        </small>
      )}
      {!known && free === 0 && <>not provable</>}
    </>
  );
}

/** Time in which the lock was changing hands. */
function handedOver(owners: Groups, lock: number): number {
  const top = owners.value.findIndex((one, at) => one === lock && owners.parent[at]! < 0);
  const unknown = owners.value.findIndex((one, at) => one === 0 && owners.parent[at] === top);
  const how = HOWS.indexOf("hand-over");
  return owners.value.reduce((sum, one, at) => sum + (owners.parent[at] === unknown && one === how ? owners.total[at]! : 0), 0);
}

/** Groups of the first level. */
function tops(groups: Groups): { value: number; total: number }[] {
  return groups.value.flatMap((value, at) => (groups.parent[at]! < 0 ? [{ value, total: groups.total[at]! }] : []));
}

/** Groups of the second level below a value. */
function below(groups: Groups, value: number): { value: number; total: number }[] {
  const parent = groups.value.findIndex((one, at) => one === value && groups.parent[at]! < 0);
  return groups.value.flatMap((one, at) => (groups.parent[at] === parent && parent >= 0 ? [{ value: one, total: groups.total[at]! }] : []));
}

function When({ line, times: edges, whole }: { line: Line; times: number[]; whole: number }) {
  if (line.phases.length === 0) return <small title="No interval in which a twentieth of running time went into acquiring it">spread thin</small>;
  const worst = [...line.phases].sort((a, b) => weight(b, line) - weight(a, line)).slice(0, 2);
  return (
    <>
      {worst.map((phase) => {
        const range = { from: edges[phase.from]!, to: edges[phase.to]! };
        return (
          <button key={phase.from} type="button" class="small" title={`Choose this range; at worst ${percent(phase.peak)} of running time went into acquiring this lock`}
            onClick={() => show({ range })}>
            {moment(range.from, whole)}–{moment(range.to, whole)}
          </button>
        );
      })}
      {line.phases.length > 2 && <small> and {times(line.phases.length - 2, "more phase")}</small>}
    </>
  );
}

function weight(phase: Phase, line: Line): number {
  return line.pressure.slice(phase.from, phase.to).reduce((sum, value) => sum + value, 0);
}

export function Bar({ part }: { part: number }) {
  return (
    <span class="bar" title={percent(part)}>
      <i style={{ width: `${Math.min(100, part * 100)}%` }} />
    </span>
  );
}

function Pressure() {
  const whole = useDuration();
  const names = useNames(view.value.recording);
  const intervals = intervalsFor(whole);
  const lines = usePressure(intervals);
  const [hover, setHover] = useState<number | null>(null);
  if (!lines || lines.length === 0) return null;
  const edges = boundaries(whole, intervals);
  const shades = lines[0]!.phases.map((phase) => ({ from: edges[phase.from]!, to: edges[phase.to]!, colour: PALETTE[0] }));
  const at = hover !== null && hover < intervals ? hover : null;
  return (
    <section class="card">
      <h2 title="Critical section pressure: time spent acquiring the lock, over the running time of all threads. Waiting for work does not count as running.">
        Pressure of the worst locks
      </h2>
      <div class="legend">
        {lines.map((line, place) => (
          <span key={line.lock} title={names.text(line.lock)}>
            <i class="swatch" style={{ background: PALETTE[place] }} /> {names.text(line.lock)}
            {at !== null && <b> {percent(line.pressure[at]!)}</b>}
          </span>
        ))}
      </div>
      <Plot
        label="Critical section pressure of the worst locks over time. Drag to choose a time range."
        times={edges}
        series={lines.map((line, place) => ({ label: names.text(line.lock), colour: PALETTE[place]!, values: line.pressure }))}
        stacked={false}
        height={170}
        range={view.value.range}
        onBrush={(range) => show({ range })}
        onHover={setHover}
        format={(value) => `${Math.round(value * 100)} %`}
        shades={shades}
      />
      <p class="hint">Shaded: {percent(THRESHOLD)} and more of all running time went into acquiring {names.text(lines[0]!.lock)}.</p>
    </section>
  );
}

function Findings({ facts }: { facts: Facts }) {
  const most = Math.max(1, ...facts.findings.map((finding) => finding.cost));
  return (
    <section class="card">
      <h2 title="What the analysis of the whole recording found, dearest first">Findings</h2>
      <ol class="findings">
        {facts.findings.map((finding, place) => (
          <FindingItem key={place} finding={finding} most={most} />
        ))}
      </ol>
    </section>
  );
}

function FindingItem({ finding, most }: { finding: Finding; most: number }) {
  return (
    <li class={finding.kind}>
      <p>
        <Sentence text={finding.text} />
      </p>
      {finding.cost > 0 && (
        <div class="cost" title="Thread time that it cost in the whole recording">
          {duration(finding.cost)} of thread time <Bar part={finding.cost / most} />
        </div>
      )}
      {finding.details.length > 0 && (
        <details>
          <summary>details</summary>
          <pre tabIndex={0}>{finding.details.join("\n")}</pre>
        </details>
      )}
    </li>
  );
}

export function Sentence({ text }: { text: string }) {
  return <>{pieces(text).map((piece, place) => (piece.code ? <code key={place}>{piece.text}</code> : piece.text))}</>;
}

function About({ facts }: { facts: Facts }) {
  const settings = facts.settings.map(([name, value]) => `${name}=${value}`).join("  ");
  const rows: [string, string][] = [
    ["made by", facts.producer || "unknown"],
    ["JVM", facts.jvm],
    ["program", facts.javaArguments],
    ["process", facts.pid > 0 ? String(facts.pid) : ""],
    ["began", facts.startEpochMs > 0 ? new Date(facts.startEpochMs).toISOString().replace("T", " ").slice(0, 19) + " UTC" : ""],
    ["length", duration(facts.durationNs)],
    ["threads", times(facts.threads, "application thread")],
    ["events", count(facts.events)],
    ["pauses", facts.pauses[0] > 0 ? `the whole VM stopped ${times(facts.pauses[0], "time")}, ${duration(facts.pauses[1])} together` : ""],
    ["cost", facts.ownCpuNs > 0 ? `${duration(facts.ownCpuNs)} of CPU for Headway itself` : ""],
    ["settings", settings],
  ];
  return (
    <section class="card">
      <h2>This recording</h2>
      <dl>
        {rows.filter(([, value]) => value).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <h3>What is missing</h3>
      <Missing facts={facts} />
    </section>
  );
}

function Missing({ facts }: { facts: Facts }) {
  const lines: [string, string][] = [
    ...facts.problems.map((problem): [string, string] => ["damage", problem]),
    ...facts.losses.map((loss): [string, string] => [`${count(loss.count)} ${loss.name}`, loss.explanation]),
    ...facts.degraded,
  ];
  if (facts.summed > 0) lines.push(["added up", `${count(facts.summed)} short stretches are shown as sums per interval, because there are too many to show each`]);
  if (facts.foreign) lines.push(["owners", `${facts.producer} does not record which call chain held a lock; record with headway to see it`]);
  if (lines.length === 0) return <p class="empty">Nothing: no event was lost, no mechanism was off.</p>;
  return (
    <dl class="missing">
      {lines.map(([name, text], place) => (
        <div key={place}>
          <dt>{name}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}
