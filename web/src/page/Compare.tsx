import { useMemo } from "preact/hooks";
import { KINDS, type Aspect, type Kind } from "../data/contract";
import { changes, disagreement, frameChange, ofNames, partOf, PIECES, rates, unitsOf, waitRates, withoutStartUp, type Change, type Compared, type Unit } from "../data/compare";
import type { FlameNode } from "../data/flame";
import { snap, type Range } from "../data/intervals";
import { waitsMost } from "../data/waits";
import { baseOf, filterOf, MOST_STACKS, overTime, stacksIn, useAnswers, useSource } from "../state/asking";
import { COMPARED_BY, COMPARED_PER, COMPARED_STACKS, type ColumnOf } from "../state/pages";
import { show, view } from "../state/view";
import { comparedText, disagreementText } from "../text/comparing";
import { duration, factor, moment, parseMoment, percent, wrongBegin, wrongEnd } from "../text/units";
import { ASPECT_WORDS } from "../text/words";
import { Typed } from "../view/FilterBar";
import { differenceColour } from "../view/colours";
import type { Meaning } from "../view/Flame";
import { Narrowed } from "../view/Narrowed";
import { StackGraph } from "../view/StackGraph";
import { TreeTable, type Column } from "../view/TreeTable";
import { valueText } from "./tree";

const STACKS: Record<(typeof COMPARED_STACKS)[number], [title: string, by: Aspect, kinds: Kind[]]> = {
  waiting: ["blocked", "contender-chain", ["monitor", "juc"]],
  holding: ["blocking others", "owner-chain", ["monitor", "juc"]],
  cpu: ["on CPU", "contender-chain", ["cpu"]],
  wall: ["wall clock", "contender-chain", ["wall", "cpu"]],
  waits: ["waiting", "contender-chain", ["wait", "park"]],
};

export function Compare() {
  const { opening } = useSource();
  if (opening.recordings.length < 2) {
    return (
      <section class="card">
        <h2>Nothing to compare with</h2>
        <p class="empty">
          Open two recordings, the earlier one first: <code>headway view before.jfr after.jfr</code> or <code>headway report before.jfr after.jfr -o report.html</code>
        </p>
      </section>
    );
  }
  return <Both />;
}

const UNITS: Record<Unit, [title: string, short: string, why: string]> = {
  second: ["second", "s", "Time per second of the recording"],
  cpu: ["CPU second", "CPU s", "Time per second of CPU time of the application: a program that does more is not worse for that"],
  transaction: ["transaction", "transaction", "Time per transaction that the program reported"],
};

const WAITED: Kind[] = ["wait", "park"];

/** Widths are of the first recording. */
const BEFORE = /-before$/;

/** What is compared, as the address says: aspect, order, stacks, unit, and the range of each side. */
function choiceOf(mode: string, durations: number[]) {
  const [aspect = "", order = "", stack = "", unit = "", ...ranges] = mode.split(".");
  const parts = durations.map((whole, side) => partOf(ranges[side] ?? "", whole));
  const range = (side: number) => snap(parts[side] ?? withoutStartUp(durations[side]!), baseOf(side), durations[side]!);
  return {
    by: COMPARED_BY.find((one) => one === aspect) ?? "lock-name",
    sort: order,
    stack: COMPARED_STACKS.find((one) => one === stack.replace(BEFORE, "")) ?? "waiting",
    side: BEFORE.test(stack) ? ("before" as const) : ("total" as const),
    unit: COMPARED_PER.find((one) => one === unit) ?? "second",
    ranges: [range(0), range(1)] as const,
    /** True for a side whose recording ends before its range in the address. */
    beyond: parts.map((part) => part === null),
    typed: [ranges[0] ?? "", ranges[1] ?? ""] as const,
  };
}

function Both() {
  const source = useSource();
  const [before, after] = source.opening.recordings;
  const durations = source.opening.recordings.map((facts) => Math.max(1, facts.durationNs));
  const isWaitsFirst = source.opening.recordings.some(waitsMost);
  const { by, sort, stack, side: wantedSide, unit: wanted, ranges, beyond, typed } = choiceOf(view.value.mode, durations);
  const [, chains, kinds] = STACKS[stack];
  const scope = (recording: 0 | 1, kinds: Kind[]) => ({ recording, ...ranges[recording], filter: filterOf(view.value), kinds, within: [] });
  const contention: Kind[] = view.value.kind === "all" ? ["monitor", "juc"] : [view.value.kind];
  const noFilter = { thread: "", lock: "", method: "", services: false };
  const times = ([0, 1] as const).map((side) => overTime(scope(side, contention), [by], 2000, PIECES));
  const waits = ([0, 1] as const).map((side) => overTime(scope(side, WAITED), ["contender-method", "kind"], 2000, PIECES));
  const stacks = ([0, 1] as const).map((side) => overTime(stacksIn(scope(side, kinds), chains, view.value, view.value.sandwich), [chains], MOST_STACKS, PIECES));
  // Where CPU time was measured samples are not needed.
  const cpu = source.opening.recordings.every((facts) => (facts.entries[KINDS.indexOf("ran")] ?? 0) > 0) ? ("ran" as const) : ("cpu" as const);
  const counted = (side: 0 | 1, kind: Kind) => overTime({ ...scope(side, [kind]), filter: noFilter }, [], 10, PIECES).query;
  const answers = useAnswers(
    times[0]!.query, times[1]!.query,
    stacks[0]!.query, stacks[1]!.query,
    counted(0, cpu), counted(1, cpu), counted(0, "transaction"), counted(1, "transaction"),
    waits[0]!.query, waits[1]!.query,
  );
  const compared = useMemo(() => {
    if (!answers) return null;
    const weighted = cpu === "ran" || source.opening.recordings.every((facts) => facts.samplesWeighted);
    const known: Record<Unit, boolean> = { second: true, cpu: weighted && answers[4].totalNs > 0 && answers[5].totalNs > 0, transaction: answers[6].count > 0 && answers[7].count > 0 };
    const unit = known[wanted] ? wanted : "second";
    const unitsPer = (unit: Unit) => ([0, 1] as const).map((side) => unitsOf(unit, times[side]!.made, unit === "cpu" ? answers[side === 0 ? 4 : 5] : answers[side === 0 ? 6 : 7])) as [number[], number[]];
    const rowsPer = (units: readonly [number[], number[]]) => {
      const rate = (side: 0 | 1) => rates(answers[side], (value) => valueText(source.names(side), by, value).text, units[side]);
      return changes(rate(0), rate(1));
    };
    const units = unitsPer(unit);
    // Where the reports of both recordings list waits; idle threads may wait there, too.
    const listed = new Set(source.opening.recordings.flatMap((facts) => facts.waits.map(({ method }) => method)));
    const waited = (side: 0 | 1) => ofNames(waitRates(answers[side === 0 ? 8 : 9], (value) => source.names(side).text(value), units[side], source.opening.recordings[side]!.idleWaits), listed);
    const waitRows = changes(waited(0), waited(1));
    const perUnitWaited = ([0, 1] as const).map((side) => waitRows.reduce((sum, { before, after }) => sum + (side === 0 ? before : after).mean, 0)) as [number, number];
    const [was, is] = ([0, 1] as const).map((side) => answers[side].totalNs / sumOf(units[side])) as [number, number];
    const missing = answers[0].restNs + answers[1].restNs;
    const [seconds, cpuSeconds] = [unitsPer("second"), unitsPer("cpu")];
    const disagreeing = known.cpu && unit !== "transaction" ? disagreement(rowsPer(seconds), rowsPer(cpuSeconds)) : null;
    const cpus = ([0, 1] as const).map((side) => sumOf(cpuSeconds[side]) / sumOf(seconds[side])) as [number, number];
    const blocked: Compared = { what: "blocked", perUnit: [was, is], rows: rowsPer(units) };
    const waiting: Compared = { what: "waiting", perUnit: perUnitWaited, rows: waitRows };
    return { unit, known, missing, blocked, waiting, units, disagreeing: disagreeing && disagreementText(disagreeing, cpus) };
  }, [answers, wanted]);
  const sides = useMemo(() => answers && ([0, 1] as const).map((side) => ({ groups: answers[side === 0 ? 2 : 3], names: source.names(side), pieces: stacks[side]!.made.intervals })), [answers]);
  // Widths of nothing would be no picture.
  const shown = sides && wantedSide === "total" && sides[1]!.groups.totalNs === 0 && sides[0]!.groups.totalNs > 0 ? "before" : wantedSide;
  const meaning = useMemo(() => (compared && sides ? meaningOf(compared.units, UNITS[compared.unit][1], shown) : null), [compared, shown]);
  const mode = (next: { by?: string; sort?: string; stack?: string; side?: string; unit?: string; ranges?: readonly string[] }) =>
    show({ mode: [next.by ?? by, next.sort ?? sort, `${next.stack ?? stack}${(next.side ?? wantedSide) === "before" ? "-before" : ""}`, next.unit ?? wanted, ...(next.ranges ?? typed)].join("."), zoom: "" }, false);
  if (!compared || !sides || !meaning) return <p aria-busy="true">…</p>;
  const [unitTitle, unitShort] = UNITS[compared.unit];
  const rate = (ns: number) => `${duration(Math.abs(ns))}/${unitShort}`;
  const setRange = (side: 0 | 1, range: Range | null) => {
    const next = [...typed];
    next[side] = range ? `${range.from}-${range.to}` : "";
    mode({ ranges: next });
  };
  const { blocked, waiting } = compared;
  const sorting = { sort, otherwise: "-size", onSort: (next: string) => mode({ sort: next }) };
  const waitsTable = waiting.rows.length > 0 && (
    <>
      <h3 title="Object.wait and parks on java.util.concurrent, in the methods that the reports list; without idle threads">Waits with the most time</h3>
      <TreeTable label="Waits that changed" rows={waiting.rows} columns={columnsOf("waiting in", "The method that waited", "Waited", unitTitle, rate)} idOf={(row) => row.name} selected={null} {...sorting} height={280} />
    </>
  );
  return (
    <>
      <section class="card">
        <h2>
          Before <code>{before!.file}</code> ({duration(before!.durationNs)}), after <code>{after!.file}</code> ({duration(after!.durationNs)})
        </h2>
        {(isWaitsFirst ? [waiting, blocked] : [blocked, waiting]).filter(({ what, rows }) => what === "blocked" || rows.length > 0).map((one) => (
          <p key={one.what} class="lead">{comparedText(one, UNITS[compared.unit][0])}</p>
        ))}
        {compared.disagreeing && <p>{compared.disagreeing}</p>}
        <div class="sides">
          {([0, 1] as const).map((side) => (
            <Side key={side} title={side === 0 ? "before" : "after"} range={ranges[side]} whole={durations[side]!} isDefault={typed[side] === ""} isBeyond={beyond[side]!} onRange={(range) => setRange(side, range)} />
          ))}
        </div>
        <p class="hint">
          Each side has its own range, whatever the time range above; the other filters apply.
          {compared.missing > 0 && ` Of ${duration(compared.missing)} it is not known to which row they belong: stacks of short contentions are kept by longer intervals.`}
        </p>
        <div class="tabs" role="group" aria-label="Compare per">
          {compared.unit !== wanted && (
            <b class="problem" role="alert">
              Not both recordings have {UNITS[wanted][0]}s; this is per second. <button type="button" class="small" onClick={() => mode({ unit: "second" })}>drop it</button>
            </b>
          )}
          <span class="hint">per</span>
          {COMPARED_PER.map((one) => (
            <button key={one} type="button" aria-pressed={one === compared.unit} disabled={!compared.known[one]}
              title={compared.known[one] ? UNITS[one][2] : "Not recorded in both recordings"} onClick={() => mode({ unit: one })}>{UNITS[one][0]}</button>
          ))}
        </div>
        {isWaitsFirst && waitsTable}
        <div class="tabs" role="group" aria-label="Compare by">
          <span class="hint">blocked time by</span>
          {COMPARED_BY.map((one) => (
            <button key={one} type="button" aria-pressed={one === by} onClick={() => mode({ by: one })}>{ASPECT_WORDS[one][0]}</button>
          ))}
        </div>
        {blocked.rows.length === 0 ? <p class="empty">Neither recording has blocked time in this filter.</p> : (
          <TreeTable label="What changed" rows={blocked.rows} columns={columnsOf(...ASPECT_WORDS[by], "Blocked", unitTitle, rate)} idOf={(row) => row.name} selected={null} {...sorting} height={280} />
        )}
        {!isWaitsFirst && waitsTable}
      </section>
      <section class="card">
        <h2 class="away">Stacks</h2>
        <div class="tabs" role="group" aria-label="Stacks">
          {Object.entries(STACKS).map(([name, [title]]) => (
            <button key={name} type="button" aria-pressed={stack === name} onClick={() => mode({ stack: name })}>{title}</button>
          ))}
          <Typed label="search" title="Marks methods whose name contains this" size={16} value={view.value.search} empty="method" onTyped={(text) => show({ search: text }, false)} />
        </div>
        <div class="tabs" role="group" aria-label="Widths">
          <span class="hint">widths</span>
          {(["before", "total"] as const).map((one) => (
            <button key={one} type="button" aria-pressed={one === shown} onClick={() => mode({ side: one })}>{one === "before" ? "before" : "after"}</button>
          ))}
        </div>
        <Narrowed />
        <StackGraph stacks={sides[1]!} before={sides[0]!} options={{ fold: true, inverted: false }} label="Difference flame graph" meaning={meaning} format={duration} search={view.value.search} all={null}
          why={`Widths are the time of the recording ${shown === "before" ? "before" : "after"}, colours how the time per ${unitTitle} changed, unless that is within the noise.`}
          empty={`The recording ${shown === "before" ? "before" : "after"} has none of these stacks.`} />
      </section>
    </>
  );
}

/** How strong a colour is: a tenth of all there is per unit is much. */
const MUCH = 0.1;

/** Colours by the change of time per unit; what is within the noise is grey, as in the table. */
function meaningOf(units: readonly [number[], number[]], short: string, side: "before" | "total"): Meaning {
  const spent = ({ total, before }: FlameNode) => Math.max(total / sumOf(units[1]), before / sumOf(units[0]));
  let [whole, much] = [null as FlameNode | null, 1];
  const rate = (ns: number) => `${duration(ns)}/${short}`;
  return {
    side,
    legend: [[differenceColour(-1), "less"], [differenceColour(0), "within noise"], [differenceColour(1), "more"]],
    colour: (node, root) => {
      if (root !== whole) [whole, much] = [root, MUCH * spent(root)];
      const change = frameChange(node, units);
      return differenceColour(!change || change.verdict === "within noise" ? 0 : change.difference / much);
    },
    describe: (node, root) => {
      const change = frameChange(node, units);
      const share = percent(node[side] / root[side]);
      if (!change) return `${node.name}: ${share}`;
      const verdict = change.verdict === "within noise" ? "within noise" : change.difference > 0 ? "more" : "less";
      return `${node.name}: ${rate(change.before.mean)} before, ${rate(change.after.mean)} after, ${verdict} (noise ±${rate(change.noise)}); ${share} of the width`;
    },
  };
}

function sumOf(units: number[]): number {
  return units.reduce((sum, one) => sum + one, 0) || 1;
}

/** The range of one side; unless another one is typed start-up is left out. */
function Side({ title, range, whole, isDefault, isBeyond, onRange }: { title: string; range: Range; whole: number; isDefault: boolean; isBeyond: boolean; onRange: (range: Range | null) => void }) {
  return (
    <span class="side">
      {isBeyond && <b class="problem" role="alert">The address has a range after the end of this recording. </b>}
      <Typed label={`${title}: from`} title="Begin of the part that is compared" size={8} value={moment(range.from, whole)} empty="start" wrong={(text) => wrongBegin(text, range.to, whole)} onTyped={(text) => onRange({ from: parseMoment(text) ?? 0, to: range.to })} />{" "}
      <Typed label="to" title="End of the part that is compared" size={8} value={moment(range.to, whole)} empty="end" wrong={(text) => wrongEnd(text, range.from, whole)} onTyped={(text) => onRange({ from: range.from, to: Math.min(parseMoment(text) ?? whole, whole) })} />{" "}
      <span class="hint">{duration(range.to - range.from)} long{isDefault && ", "}</span>
      {isDefault ? (
        <>
          <span class="hint">start-up ({duration(range.from)}) left out</span>
          <button type="button" class="small" onClick={() => onRange({ from: 0, to: whole })}>include it</button>
        </>
      ) : (
        <button type="button" class="small" onClick={() => onRange(null)}>leave out start-up</button>
      )}
    </span>
  );
}

/** Columns of changes of some time, per unit. */
function columnsOf(title: string, why: string, time: string, unit: string, rate: (ns: number) => string): Column<Change, ColumnOf<"changes">>[] {
  return [
    { id: "name", title, why, width: "minmax(120px, 1fr)", value: (row) => row.name, cell: (row) => <span class="cut" title={row.name}>{row.name}</span> },
    { id: "before", title: "before", why: `${time} time per ${unit} of the first recording, all threads added up`, width: "98px", value: (row) => row.before.mean, cell: (row) => <span class="number">{rate(row.before.mean)}</span> },
    { id: "after", title: "after", why: `${time} time per ${unit} of the second recording`, width: "98px", value: (row) => row.after.mean, cell: (row) => <span class="number">{rate(row.after.mean)}</span> },
    { id: "size", title: "change", why: "After minus before; sorted by how large it is, whichever way", width: "104px", value: (row) => Math.abs(row.difference), cell: (row) => <span class="number">{row.difference > 0 ? "+" : "−"}{rate(row.difference)}</span> },
    { id: "factor", title: "factor", why: "After divided by before: ×0.40 is 60 % less, ×2.0 twice as much", width: "72px", value: (row) => (row.before.mean > 0 ? row.after.mean / row.before.mean : Infinity), cell: (row) => <span class="number">{factor(row.before.mean, row.after.mean)}</span> },
    { id: "noise", title: "noise", why: `Changes up to this are noise: two standard errors, from how the ${PIECES} pieces of each recording differ among themselves`, width: "108px", value: (row) => row.noise, cell: (row) => <span class="number">±{rate(row.noise)}</span> },
    { id: "verdict", title: "verdict", why: "Worse or better only where the change is larger than the noise", width: "112px", value: (row) => row.verdict, cell: (row) => <b class={`verdict ${row.verdict.replace(" ", "-")}`}>{row.verdict === "worse" ? "▲ worse" : row.verdict === "better" ? "▼ better" : "≈ within noise"}</b> },
  ];
}
