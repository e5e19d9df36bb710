import { useMemo } from "preact/hooks";
import { KINDS, type Facts, type Finding, type Groups, type Kind, type Ledger, type LedgerPart, type Link, type Phase, type Pressure as OfLocks } from "../data/contract";
import { edgesOf, linesOf, phasesOf } from "../data/pressure";
import { average, intervalAt } from "../data/intervals";
import { partsOf, sharesOf, type Share } from "../data/owning";
import { linesOver } from "../data/spent";
import { firstFinding, waitsMost } from "../data/waits";
import { grouping, overTime, rangeOf, scopeOf, useAnswers, useEstimates, useNames, useNoCpu, useSource, withoutFilter } from "../state/asking";
import { ALL_STACKS, pathOf, type Step, type View } from "../state/address";
import { viewOf } from "../state/leading";
import { cursor } from "../state/cursor";
import { address, show, view } from "../state/view";
import { noCpuText, SHARE_WORDS } from "../text/owning";
import { pausesText } from "../text/pauses";
import { lockOf, pieces } from "../text/sentence";
import { interval, count, duration, moment, percent, times } from "../text/units";
import { split } from "../text/frames";
import { leavesOutLocks, optionsOf } from "../text/options";
import { PRESSURE } from "../text/words";
import { Code } from "../view/Code";
import { FactList } from "../view/Facts";
import { COLOURS, NO_STATE, PALETTE, partFill } from "../view/colours";
import { Heat } from "../view/Heat";
import { ExecutedByOwners } from "../view/ExecutedByOwners";
import { useDuration } from "../view/FilterBar";
import { LockMap } from "../view/LockMap";
import { Plot } from "../view/Plot";
import { Between, Sampled } from "../view/Sampled";
import { MethodsOnCpu } from "./MethodsOnCpu";
import { VirtualThreads } from "./VirtualThreads";
import { Waits } from "./Waits";

const WORST = 5;
/** Owners of each lock that are asked for: hand-offs are looked for among them. */
const OWNERS = 20;
/** Intervals of the column "when". */
const HEAT = 50;

export function Overview() {
  const { opening } = useSource();
  const facts = opening.recordings[view.value.recording]!;
  const waits = <Waits facts={facts} />;
  const waitsFirst = waitsMost(facts);
  const cpuOnly = hasOnlyCpu(facts);
  return (
    <div class="columns">
      {facts.problems.length > 0 && (
        <p class="card problem whole" role="alert">
          This recording is damaged, and what follows is from the part that can be read: {facts.problems.join("; ")}
        </p>
      )}
      <Verdict facts={facts} />
      <div>
        {waitsFirst && waits}
        {!cpuOnly && <Answers />}
        {!waitsFirst && waits}
        {cpuOnly && <MethodsOnCpu />}
        {!isNegligible(facts) && <LocksOverTime />}
        {!isNegligible(facts) && <Pressure />}
        {cpuOnly && <Answers />}
      </div>
      <div>
        <Findings facts={facts} />
        <VirtualThreads facts={facts} />
        <About facts={facts} />
      </div>
    </div>
  );
}

/** What is wrong, and where thread time went: of the whole recording. */
function Verdict({ facts }: { facts: Facts }) {
  if (!facts.verdict && facts.ledger.parts.length === 0) return null;
  return (
    <section class="card whole verdict" aria-label="Verdict">
      <p class="sentence">
        <Sentence text={facts.verdict} links={facts.links} />
        <MoreOnCpus facts={facts} />
      </p>
      {facts.selection && <p class="hint">{facts.selection}</p>}
      <ThreadTime facts={facts} />
      <VmPauses facts={facts} />
    </section>
  );
}

/** Leads to the CPU shortage where that costs most: what follows is about locks, and none of them is the cause. */
export function MoreOnCpus({ facts }: { facts: Facts }) {
  return firstFinding(facts)?.kind === "environment" ? <> <a href={address({ page: "steal" })}>Show the CPU shortage</a></> : null;
}

/** How long the VM was paused in the range, where the recording knows. */
function VmPauses({ facts }: { facts: Facts }) {
  const whole = useDuration();
  const answers = useAnswers(grouping(withoutFilter(view.value, whole, ["paused"]), ["kind"], 1));
  if (!answers) return <p class="hint" aria-busy="true" />;
  const text = pausesText(facts, answers[0], rangeOf(view.value, whole), view.value.range !== null);
  return text === "" ? null : <p class="hint">{text}</p>;
}

/** The ledger as one bar. */
function ThreadTime({ facts }: { facts: Facts }) {
  const ledger: Ledger = facts.ledger;
  if (ledger.activeNs === 0) return null;
  const share = (ns: number) => percent(ns / ledger.activeNs);
  const fill = (part: LedgerPart) => partFill(part, facts.entries);
  const idle = ledger.idleNs > 0 ? ` and ${duration(ledger.idleNs)} idle` : "";
  return (
    <div class="ledger">
      <p class="hint" title="All time of the application's threads but idle time, in the whole recording">
        Thread time{view.value.range && " of the whole recording"}: {duration(ledger.activeNs)} active{idle}, {times(ledger.threads, "thread")}
      </p>
      <div class="stack" role="img" aria-label={ledger.parts.map((part) => `${part.words} ${share(part.ns)}`).join(", ")}>
        {ledger.parts.map((part) => (
          <i key={part.name} style={{ width: `${(100 * part.ns) / ledger.activeNs}%`, background: fill(part) }} title={entriesOf(part)} />
        ))}
      </div>
      <div class="legend">
        {ledger.parts.map((part) => {
          const to = tabOf(part, facts);
          return (
            <span key={part.name} title={entriesOf(part)}>
              <i class="swatch" style={{ background: fill(part) }} /> {to ? <a href={address({ ...ALL_STACKS, ...to })}>{part.words}</a> : part.words} <b>{share(part.ns)}</b>
            </span>
          );
        })}
      </div>
      <WhileWaiting ledger={ledger} />
    </div>
  );
}

/** What the CPU shortage counts and the bar does not: the CPU time of threads that an event says waited. */
function WhileWaiting({ ledger }: { ledger: Ledger }) {
  const [ran, ready] = ledger.whileWaitingNs;
  const least = ledger.activeNs / 20;
  const said = [
    ...(ready < least ? [] : [`they had no CPU for at least ${duration(ready)} (a wait lasts until the thread runs again)`]),
    ...(ran < least ? [] : [`they ran for ${duration(ran)}`]),
  ];
  if (said.length === 0) return null;
  return (
    <p class="hint" title="The parts “on CPU” and “ready, no CPU” do not contain this time; the CPU shortage does">
      While threads were waiting, blocked or idle, {said.join(", and ")}.
    </p>
  );
}

/** Where the time of a part is shown in detail; null where the recording has no more than the sum. */
function tabOf({ name }: LedgerPart, facts: Facts): Partial<View> | null {
  if (name === "cpu" && has(facts, "cpu")) return { page: "profile", mode: "cpu" };
  if (name === "cpu" || name === "no-cpu") return has(facts, "ran", "queued") ? { page: "steal" } : null;
  if (name === "lock") return has(facts, "monitor", "juc") ? { page: "locks" } : null;
  if (name === "off-cpu") return has(facts, "wall") ? { page: "profile", mode: "wall" } : null;
  return name.startsWith("wait-") && has(facts, "wait", "park") ? { page: "profile", mode: "waiting" } : null;
}

/** What a part is made of, a line each. */
function entriesOf(part: LedgerPart): string {
  const line = ([words, ns, estimated]: [string, number, boolean]) => `${duration(ns)} ${words}${estimated ? " (estimate)" : ""}`;
  return [`${duration(part.ns)} ${part.words}`, ...(part.entries.length > 1 ? part.entries.map(line) : [])].join("\n");
}

/** True if threads were hardly blocked at all: then pictures of locks over time would show what does not matter. */
function isNegligible({ blockedNs, ledger }: Facts): boolean {
  return blockedNs < ledger.activeNs / 1000;
}

/** True if there are CPU samples and nothing of locks and waits. Elsewhere all call stacks would be too much to ask for. */
function hasOnlyCpu(facts: Facts): boolean {
  return has(facts, "cpu") && (leavesOutLocks(facts.settings) || (facts.contentions === 0 && facts.waits.length === 0));
}

/** True if the recording has anything of these kinds. */
function has({ entries }: Facts, ...kinds: Kind[]): boolean {
  return kinds.some((kind) => (entries[KINDS.indexOf(kind)] ?? 0) > 0);
}

/** Pressure as the analysis of the whole recording reports it. */
function usePressure(): OfLocks | null {
  const answers = useAnswers({ ask: "whole" as const, recording: view.value.recording });
  return answers && answers[0].whole.pressure;
}

/** Which lock, which waiters, which owner, when: for the range and filter. */
function Answers() {
  const whole = useDuration();
  const names = useNames(view.value.recording);
  const facts = useSource().opening.recordings[view.value.recording]!;
  const scope = scopeOf(view.value, whole);
  const pressure = usePressure();
  const { made, query } = overTime(scope, ["lock-name"], WORST, HEAT);
  const answers = useAnswers(
    query,
    grouping(scope, ["lock-name", "owner-method", "how"], OWNERS),
    grouping(scope, ["lock-name", "contender-method"], WORST),
    grouping(scope, ["lock-name", "contender-group"], WORST),
  );
  if (!answers) return <section class="card" aria-busy="true" />;
  const [byTime, owners, methods, groups] = answers;
  const heat = linesOver(byTime, made.intervals);
  if (owners.totalNs === 0) return <NothingBlocked />;
  return (
    <section class="card">
      <h2 title="Time that threads were blocked acquiring locks, all threads added up">
        Worst locks {view.value.range ? "in the chosen range" : ""}
      </h2>
      <p class="lead">
        <b>{duration(owners.totalNs)}</b> blocked in {times(owners.count, "contention")}.
        {isNegligible(facts) && ` Threads were blocked for ${percent(facts.blockedNs / facts.ledger.activeNs)} of the active thread time.`}
      </p>
      <Sampled />
      <table class="plain answers">
        <thead>
          <tr>
            <th>lock</th>
            <th class="number" title="Blocked time of all threads, and its part of all blocked time in the range">blocked</th>
            <th title="The method and the thread group that were blocked most">blocked thread</th>
            <th title="Who owned the lock while threads were blocked. Percentages are parts of the blocked time of the row">owner</th>
            <th>when</th>
          </tr>
        </thead>
        <tbody>
          {tops(owners).slice(0, WORST).map(({ value, total }) => {
            const method = (id: number | undefined) => (id === undefined ? "unknown" : id === 0 ? "unknown" : split(names.text(id))[1]);
            const blocked = below(methods, value)[0];
            const group = below(groups, value)[0];
            return (
              <tr key={value}>
                <td>
                  <a href={address({ page: "locks", ...drill(names.text(value)), by: ["lock-name", "owner-method", "contender-method"] })}
                    title={`Drill down into ${names.text(value)}`}>
                    <Code name={names.text(value)} />
                  </a>
                </td>
                <td class="number">
                  {duration(total)}
                  <Bar part={total / owners.totalNs} />
                  <Pauses stopped={owners.stopped[placeOf(owners, value)] ?? 0} total={total} />
                </td>
                <td title={names.text(blocked?.value ?? 0)}>
                  <Code name={method(blocked?.value)} />
                  <small>{group ? names.text(group.value) : ""}</small>
                </td>
                <td>
                  <Cause owners={owners} lock={value} />
                </td>
                <td>
                  <Heat made={made} values={heat.get(value) ?? []} colour={COLOURS.monitor} label={`When threads were blocked on ${names.text(value)}`} onPick={(range) => show({ range })}
                    title={(at) => `${moment(made.edges[at]!, whole)}: ${average(made, at, heat.get(value)?.[at] ?? 0).toFixed(1)} threads blocked on it. Click to choose this interval`} />
                  {pressure && <When phases={phasesOf(pressure, names, value, rangeOf(view.value, whole))} whole={whole} />}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

/** The row of a lock's name in the drill-down, selected and open. */
function drill(lockName: string): Pick<View, "pick" | "open"> {
  const pick: Step[] = [{ by: "lock-name", key: lockName }];
  return { pick, open: [pathOf(pick)] };
}

/** True if the recording has blocked time at all, whatever range and filter are. */
function useHasBlockedTime(): boolean {
  const whole = useSource().opening.recordings[view.value.recording]?.entries ?? [];
  return (whole[0] ?? 0) + (whole[1] ?? 0) > 0;
}

/** Why there is no blocked time to show: nothing of it was recorded, or the filter leaves it out. */
export function NoBlockedTime() {
  const any = useHasBlockedTime();
  const facts = useSource().opening.recordings[view.value.recording];
  if (!any && facts && leavesOutLocks(facts.settings)) return <NotRecorded />;
  if (!any) return <>The recording has no blocked time: no thread was blocked on a lock.</>;
  return (
    <>
      No blocked time in this range and filter; “Show all” removes both.
      {view.value.method !== "" && " A method counts here if a thread was blocked in it, or released the lock in it."}
      <ExecutedByOwners />
    </>
  );
}

/** What to do to see locks. */
function NotRecorded() {
  return (
    <>
      This recording has no locks and no waits. To see them, record with <code>-e lock,steal</code>, the default.
    </>
  );
}

function NothingBlocked() {
  const any = useHasBlockedTime();
  const facts = useSource().opening.recordings[view.value.recording];
  if (!any && facts && leavesOutLocks(facts.settings)) {
    return (
      <section class="card">
        <h2>Locks and waits were not recorded</h2>
        <p class="empty">
          <NotRecorded />
        </p>
      </section>
    );
  }
  return (
    <section class="card">
      <h2>No thread was blocked {any ? "here" : "on a lock"}</h2>
      <p class="empty">
        {any
          ? "No blocked time in this range and filter. “Show all” removes them."
          : "The recording has no contention. What else costs time is in the findings."}
      </p>
    </section>
  );
}

/** How much of blocked time was in pauses of the VM, where that is a hundredth or more: findings leave it out. */
export function Pauses({ stopped, total }: { stopped: number; total: number }) {
  if (stopped < total / 100) return null;
  return <small title="The VM was paused meanwhile: findings about the lock leave this time out, because the lock is not its cause">{duration(stopped)} of it in VM pauses</small>;
}

/** What the largest part of the blocked time was, then the others: owners, hand-off, VM pauses, or unknown. */
function Cause({ owners, lock }: { owners: Groups; lock: number }) {
  const names = useNames(view.value.recording);
  const estimates = useEstimates(view.value.recording);
  const parts = partsOf(owners, lock);
  const { total } = parts;
  const noCpu = Math.min(useNoCpu(view.value.recording)?.get(lock) ?? 0, total);
  const [largest, ...others] = sharesOf(parts, noCpu);
  if (!largest) return <>unknown</>;
  const isNoOwner = ({ what }: Share) => what === "hand-off" || what === "no-method" || what === "unknown";
  const withoutOwner = [largest, ...others].filter(isNoOwner);
  // The interval is that of all time without an owner.
  const free = below(owners, lock).find(({ value }) => value === 0);
  const estimate = ({ what, owner }: Share) => {
    if (what === "owner" && owner) return found(owner.method, { total: owner.time + owner.paused, stopped: owner.paused });
    return free && withoutOwner.length === 1 && withoutOwner[0]!.what === what && withoutOwner[0]!.time === free.total - free.stopped ? found(0, free) : null;
  };
  const found = (value: number, shown: { total: number; stopped: number }) => {
    const estimate = estimates?.of(OF_OWNERS, [lock, value], shown);
    return estimate && <Between found={estimate} format={(ns) => percent((ns - shown.stopped) / total)} />;
  };
  const name = ({ owner }: Share) => owner && split(names.text(owner.method))[1];
  const { title, largest: words, why } = SHARE_WORDS[largest.what];
  return (
    <>
      {largest.owner ? <Code title={names.text(largest.owner.method)} name={name(largest)!} /> : largest.what === "no-method" ? <OwnerThreads name={names.text(lock)} text={title} /> : title}
      <small title={why}>{words[0]}{percent(largest.time / total)}{estimate(largest)}{words[1]}</small>
      {others.map((share) => {
        const { other, why } = SHARE_WORDS[share.what];
        return <small key={share.what} title={share.owner ? names.text(share.owner.method) : why}>{other[0]}{percent(share.time / total)}{estimate(share)}{share.what === "no-method" ? <> <OwnerThreads name={names.text(lock)} text={other[1].trim()} /></> : other[1]}{name(share)}</small>;
      })}
      {noCpu > total / 100 && (
        <small title="The owner could run but had no CPU: the environment is the cause, not the lock. An estimate">
          {noCpuText(noCpu, total, [largest, ...others])}
        </small>
      )}
    </>
  );
}

/** Leads to the threads that owned a lock, as `--by owner-thread` shows them. */
function OwnerThreads({ name, text }: { name: string; text: string }) {
  return <a href={address({ page: "locks", by: ["lock-name", "owner-thread"], ...drill(name) })} title="The thread that owned the lock is known, its method is not. Show the threads">{text}</a>;
}

const OF_OWNERS = ["lock-name", "owner-method"] as const;

/** Where a value stands on the first level. */
function placeOf(groups: Groups, value: number): number {
  return groups.value.findIndex((one, at) => one === value && groups.parent[at]! < 0);
}

/** Groups of the first level. */
function tops(groups: Groups): { value: number; total: number }[] {
  return groups.value.flatMap((value, at) => (groups.parent[at]! < 0 ? [{ value, total: groups.total[at]! }] : []));
}

/** A group of the second level. */
interface Below {
  value: number;
  total: number;
  stopped: number;
}

/** Groups of the second level below a value. */
function below(groups: Groups, value: number): Below[] {
  const parent = placeOf(groups, value);
  return groups.value.flatMap((one, at) => (groups.parent[at] === parent && parent >= 0 ? [{ value: one, total: groups.total[at]!, stopped: groups.stopped[at]! }] : []));
}

function When({ phases, whole }: { phases: Phase[]; whole: number }) {
  if (phases.length === 0) return <small title="No interval in which the lock's pressure reached the threshold">no phase</small>;
  return (
    <>
      {phases.slice(0, 2).map((phase) => {
        const range = { from: phase.from, to: Math.min(phase.to, whole) };
        const who = phase.owner ? `; ${phase.owner} owned it while ${phase.acquiring || "others"} was blocked` : "";
        return (
          <button key={phase.from} type="button" class="small" title={`Choose this range; highest pressure ${percent(phase.peak)}${who}`}
            onClick={() => show({ range })}>
            {interval(range, whole)}
          </button>
        );
      })}
      {phases.length > 2 && <small> and {times(phases.length - 2, "more phase")}</small>}
    </>
  );
}

/** Orange for blocked time; what is not blocked time has another colour. */
export function Bar({ part, colour }: { part: number; colour?: string }) {
  return (
    <span class="bar" title={percent(part)}>
      <i style={{ width: `${Math.min(100, part * 100)}%`, ...(colour && { background: colour }) }} />
    </span>
  );
}

/** The locks with most blocked time, and when threads were blocked on them. */
function LocksOverTime() {
  return (
    <section class="card heatcard" aria-label="Locks over time">
      <h2 title="How many threads were blocked on which lock, on average of each interval; locks of one name together">
        Locks over time{view.value.range && " in the chosen range"}
      </h2>
      <LockMap rows={10} />
    </section>
  );
}

function Pressure() {
  const whole = useDuration();
  const names = useNames(view.value.recording);
  const pressure = usePressure();
  const range = rangeOf(view.value, whole);
  const { lines, edges, series, shades } = useMemo(() => {
    const lines = pressure ? linesOf(pressure, names, view.value.lock, range, WORST) : [];
    const series = lines.map((line, place) => ({ label: line.label, colour: PALETTE[place]!, values: line.values }));
    const shades = lines[0]?.phases.map((phase) => ({ from: phase.from, to: phase.to, colour: PALETTE[0] })) ?? [];
    return { lines, series, shades, edges: pressure ? edgesOf(pressure, range, whole) : [] };
  }, [pressure, view.value.lock, range.from, range.to, whole]);
  if (!pressure || lines.length === 0) return null;
  const at = intervalAt({ edges }, cursor.value);
  const highest = lines.reduce((most, line) => line.values.reduce((max, value) => Math.max(max, value), most), 0);
  const places = highest > 0 ? Math.min(4, Math.max(0, Math.ceil(-Math.log10(highest * 100)))) : 0;
  return (
    <section class="card">
      <h2>
        Pressure of the worst locks{view.value.range && " in the chosen range"}
      </h2>
      <p class="hint">{PRESSURE}</p>
      <div class="legend">
        {lines.map((line, place) => (
          <span key={line.lock} title={`All locks that are called ${line.label}`}>
            <i class="swatch" style={{ background: PALETTE[place] }} /> {line.label}
            <b> {percent(at !== null ? line.values[at]! : line.mean)}</b>
          </span>
        ))}
        <span class="hint push">{at === null ? (view.value.range ? "mean over the chosen range" : "mean over the recording") : `at ${moment(edges[at]!, whole)}`}</span>
      </div>
      <Plot
        label="Critical section pressure of the worst locks over time. Drag to choose a time range."
        times={edges}
        series={series}
        stacked={false}
        height={170}
        range={null}
        onBrush={(range) => show({ range })}
        format={(value) => `${(value * 100).toFixed(places)} %`}
        shades={shades}
      />
      <p class="hint">
        In intervals of {duration(pressure.intervalNs)}, over all threads. {shades.length > 0 && `Shaded: phases of ${lines[0]!.label}, in which its pressure is ${percent(pressure.threshold)} or more.`}
      </p>
    </section>
  );
}

function Findings({ facts }: { facts: Facts }) {
  const most = Math.max(1, ...facts.findings.map((finding) => finding.cost));
  const inRange = useInRange(facts);
  return (
    <section class="card">
      <h2 title="Findings of the whole recording, the most costly first">Findings{view.value.range && " of the whole recording"}</h2>
      <ol class="findings">
        {facts.findings.map((finding, place) => (
          <FindingItem key={place} finding={finding} links={facts.links} most={most} inRange={inRange(finding)} />
        ))}
      </ol>
    </section>
  );
}

/** Of a finding about a lock: its blocked time in the chosen range; null if no range is chosen, or it is about none. */
function useInRange(facts: Facts): (finding: Finding) => number | null {
  const whole = useDuration();
  const names = useNames(view.value.recording);
  const scope = { ...scopeOf(view.value, whole, ["monitor", "juc"]), filter: { thread: "", lock: "", method: "", services: false } };
  const answers = useAnswers(grouping(scope, ["lock-name", "lock"], 10_000));
  if (!answers || !view.value.range) return () => null;
  const times = new Map<string, number>();
  const [groups] = answers;
  groups.value.forEach((value, at) => {
    // A sentence calls a lock by its name, or where it has none by class and hash.
    const lock = names.lock(value);
    for (const text of groups.parent[at]! < 0 ? [names.text(value)] : new Set([lock.name, lock.short])) {
      if (groups.parent[at]! < 0 || !times.has(text)) times.set(text, groups.total[at]!);
    }
  });
  return (finding) => {
    const lock = lockOf(finding, facts.links);
    return lock === null ? null : (times.get(lock) ?? 0);
  };
}

function FindingItem({ finding, links, most, inRange }: { finding: Finding; links: Facts["links"]; most: number; inRange: number | null }) {
  return (
    <li class={`of-${finding.kind} ${inRange === 0 ? "elsewhere" : ""}`}>
      <p>
        <Sentence text={finding.text} links={links} everywhere={inRange === 0} />
      </p>
      {finding.cost > 0 && (
        <div class="cost" title="Thread time that it cost in the whole recording">
          {duration(finding.cost)} of thread time <Bar part={finding.cost / most} colour={NO_STATE} />
        </div>
      )}
      {inRange !== null && <p class="hint">{inRange > 0 ? `${duration(inRange)} blocked on this lock in the chosen range` : "No thread was blocked on this lock in the chosen range"}</p>}
      {finding.details.length > 0 && (
        <details>
          <summary>details</summary>
          <pre tabIndex={0}>{finding.details.join("\n")}</pre>
        </details>
      )}
    </li>
  );
}

/** A sentence; each name of code in it that is known leads to what it names, if wanted in the whole recording. */
export function Sentence({ text, links = [], everywhere = false }: { text: string; links?: Link[]; everywhere?: boolean }) {
  const known = new Map(links.map((link) => [link.name, link]));
  return (
    <>
      {pieces(text).map(({ text, code }, place) => {
        const link = code ? known.get(text) : undefined;
        const shown = code ? <code key={place}>{text}</code> : text;
        if (link === undefined) return shown;
        return (
          <a key={place} href={address({ ...viewOf(link), ...(everywhere && { range: null }) })} title={`Show only this ${link.kind}`}>
            {shown}
          </a>
        );
      })}
    </>
  );
}


function About({ facts }: { facts: Facts }) {
  const rows: [string, string][] = [
    ["made by", facts.producer || "unknown"],
    ["JVM", facts.jvm],
    ["program", facts.javaArguments],
    ["process", facts.pid > 0 ? String(facts.pid) : ""],
    ["began", facts.startEpochMs > 0 ? new Date(facts.startEpochMs).toISOString().replace("T", " ").slice(0, 19) + " UTC" : ""],
    ["length", duration(facts.durationNs)],
    ["threads", times(facts.threads, "application thread")],
    ["events", count(facts.events)],
    ["pauses", facts.pauses[0] > 0 ? `${times(facts.pauses[0], "pause")} of the VM, ${duration(facts.pauses[1])} in total` : ""],
    ["cost", costOf(facts)],
    ["recorded with", optionsOf(facts.settings)],
  ];
  return (
    <section class="card">
      <h2>This recording</h2>
      <FactList rows={rows} />
      <h3>What is missing</h3>
      <Missing facts={facts} />
    </section>
  );
}

/** What Headway itself cost. */
function costOf(facts: Facts): string {
  if (facts.ownCpuNs === 0) return "";
  const all = facts.ownCpuNs + (facts.hookCpuNs ?? 0);
  if (facts.processCpuNs === 0) return `${duration(facts.ownCpuNs)} of CPU time in Headway's own threads`;
  const share = `${duration(all)} of CPU time, ${percent(all / facts.processCpuNs)} of the process's ${duration(facts.processCpuNs)}`;
  return facts.hookCpuNs === null ? `Headway's own threads used ${share}` : `Headway used ${share} (estimate)`;
}

/** What is kept of contentions that are too many to be shown one by one. */
function addedUp(facts: Facts): string {
  const what = `${times(facts.summed, "short contention, wait or sample", "short contentions, waits and samples")} cannot be shown one by one. Their time is exact by thread, lock and kind in intervals of ${duration(facts.baseNs)}`;
  const groups = facts.stacksByGroup ? ", by thread group" : "";
  const folded = facts.foldedThreads > 0 ? ` Those of ${times(facts.foldedThreads, "thread")} with the least time are in the sum of the others of their group.` : "";
  const locks = facts.foldedLocks > 0 ? ` Those of ${times(facts.foldedLocks, "lock")} with the least time are in the sum of the others of their name.` : "";
  return `${what}; their stacks and owners are kept in intervals of ${duration(facts.stacksNs)}${groups}.${folded}${locks}`;
}

function Missing({ facts }: { facts: Facts }) {
  const lines: [string, string][] = [
    ...facts.problems.map((problem): [string, string] => ["damage", problem]),
    ...facts.losses.map((loss): [string, string] => [`${count(loss.count)} ${loss.name}`, loss.explanation]),
    ...facts.degraded,
  ];
  if (facts.summed > 0) lines.push(["added up", addedUp(facts)]);
  if (facts.foreign) lines.push(["owners", `${facts.producer} does not record who owned a lock; record with headway to see it`]);
  if (lines.length === 0) return <p class="empty">No events dropped. All features active.</p>;
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
