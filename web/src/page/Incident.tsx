// One incident on one screen: who was blocked, who had the lock, what the owner executed, and
// what the owner waited for itself. The range and filter of the page choose it, or a phase.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Entry, Groups, Kind } from "../data/contract";
import { doingOf, incidentsOf, NO_FRAME, ownersOf, together, waitsOfOwners, worstOf, type Executed, type Incident as Phase, type OwnWait } from "../data/incident";
import type { NameBook } from "../data/names";
import { coverageOf, isWeighted, knowledgeIn, knowledgeOf, seenOf, suffice } from "../data/owning";
import { isLockFirst, waitsMost } from "../data/waits";
import { ALL_STACKS, isFiltered, NO_FILTER, type Step, type View } from "../state/address";
import { grouping, rangeOf, scopeOf, useAnswers, useNames, useNoCpu, useSource } from "../state/asking";
import { insideOwners, waitsIn } from "../state/leading";
import { factsOf } from "../state/opened";
import { WHOLE } from "../state/pages";
import { address, problems, show, view } from "../state/view";
import { split } from "../text/frames";
import { CALLED_FROM, NOT_RUNNING, notOwned, onAverage, tooFew, whoText } from "../text/owning";
import { interval, duration, moment, percent, times } from "../text/units";
import { KIND_WORDS } from "../text/words";
import { useDuration } from "../view/FilterBar";
import { freeOf, INSIDE_WHY, noSample, OwnerDid } from "./Inside";
import { Sampled } from "../view/Sampled";
import { Bar, MoreOnCpus, NoBlockedTime, Pauses, Sentence } from "./Overview";
import { Waits } from "./Waits";

const MOST_PHASES = 8;
const MOST_ROWS = 5;
/** Contentions of which it is looked up what their owners did meanwhile, and owners. */
const MOST_CONTENTIONS = 300;
const MOST_OWNERS = 4;
const MOST_WAITS = 2000;
/** Samples that are asked for one by one: more are always enough. */
const MOST_SAMPLES = 2000;

export function Incident() {
  const whole = useDuration();
  const names = useNames(view.value.recording);
  const scope = scopeOf(view.value, whole);
  const answers = useAnswers(grouping(scope, ["lock-name"], 6));
  if (!answers) return <p aria-busy="true">…</p>;
  const [lock] = answers[0].value;
  return (
    <>
      <Otherwise />
      <Phases />
      {lock === undefined ? (
        <p class="card empty"><NoBlockedTime /></p>
      ) : (
        <OfLock lock={lock} name={names.text(lock)} locks={answers[0]} />
      )}
    </>
  );
}

/** What costs most where that is no lock, of which the rest of the page is. */
function Otherwise() {
  const facts = useSource().opening.recordings[view.value.recording]!;
  if (facts.verdict === "" || isLockFirst(facts)) return null;
  return (
    <>
      <section class="card verdict" aria-label="Verdict">
        <p class="sentence">
          <Sentence text={facts.verdict} links={facts.links} />
          <MoreOnCpus facts={facts} />
        </p>
        {facts.blockedNs > 0 && <p class="hint">What follows{waitsMost(facts) && " after the waits"} is about locks: threads were blocked on locks for {duration(facts.blockedNs)} in the whole recording.</p>}
      </section>
      {waitsMost(facts) && <Waits facts={facts} />}
    </>
  );
}

/** The view of a phase. */
function only({ range, lock }: Phase): Partial<View> {
  return { range, lock: `=${lock}`, mode: "" };
}

/**
 * Opens the page on a phase, unless the address says what to show; then the address says so, too. Whatever is chosen
 * later stays. `phase` is undefined while it is not known, and null if there is none.
 */
function useOpening(phase: Phase | null | undefined) {
  const isOpen = useRef(false);
  const isChosen = view.value.range !== null || isFiltered(view.value) || view.value.mode === WHOLE || problems.value.length > 0;
  useEffect(() => {
    if (isChosen) isOpen.current = true;
    if (isChosen || phase === undefined) return;
    if (!isOpen.current && phase !== null) show(only(phase), false);
    else if (isOpen.current) show({ mode: WHOLE }, false);
    isOpen.current = true;
  }, [isChosen, phase]);
}

/** Phases of the recording to choose from, worst first. */
function Phases() {
  const whole = useDuration();
  const names = useNames(view.value.recording);
  const answers = useAnswers({ ask: "whole" as const, recording: view.value.recording });
  const phases = useMemo(() => (answers ? incidentsOf(answers[0].whole.pressure, names, whole, MOST_PHASES) : []), [answers]);
  useOpening(answers ? worstOf(phases) : undefined);
  if (!answers || (phases.length === 0 && factsOf(view.value.recording)?.blockedNs === 0)) return null;
  const chosen = ({ range, lock }: Phase) => view.value.range?.from === range.from && view.value.range.to === range.to && view.value.lock === `=${lock}`;
  return (
    <section class="card phases" aria-label="Phases">
      <h2 title="Intervals in which much of the threads' time went into acquiring one lock">Phases</h2>
      {phases.length === 0 ? (
        <p class="empty">No interval with much contention. Choose a time range above.</p>
      ) : (
        <div class="tabs" role="group" aria-label="Phases, worst first">
          <button type="button" aria-pressed={view.value.range === null && !isFiltered(view.value)} onClick={() => show({ ...NO_FILTER, range: null, mode: WHOLE })}>whole recording</button>
          {phases.map((phase) => (
            <button key={`${phase.lock} ${phase.range.from}`} type="button" aria-pressed={chosen(phase)} onClick={() => show(only(phase))}
              title={`mean pressure of ${phase.lock}: ${percent(phase.mean)}${phase.owner ? `; ${phase.owner} had it while ${phase.acquiring || "others"} was blocked` : ""}`}>
              {interval(phase.range, whole)} <b>{phase.lock}</b> pressure {percent(phase.mean)}
            </button>
          ))}
        </div>
      )}
    </section>
  );
}

function OfLock({ lock, name, locks }: { lock: number; name: string; locks: Groups }) {
  const { opening } = useSource();
  const whole = useDuration();
  const names = useNames(view.value.recording);
  const within: Step[] = [{ by: "lock-name", key: name }];
  const scope = scopeOf(view.value, whole, undefined, within);
  const samples = scopeOf(view.value, whole, ["inside"], within);
  const noCpu = useNoCpu(view.value.recording);
  const answers = useAnswers(
    grouping(scope, ["contender-thread"], 1),
    grouping(scope, ["contender-group", "contender-method"], MOST_ROWS),
    grouping(scope, ["owner-thread", "owner-method"], MOST_ROWS),
    grouping(scope, ["owner-group", "owner-method"], MOST_ROWS),
    grouping(scope, ["how"], 20),
    grouping(samples, ["inside", "how"], 500),
    { ask: "longest" as const, scope, limit: MOST_CONTENTIONS },
    { ask: "longest" as const, scope: samples, limit: MOST_SAMPLES },
  );
  if (!answers) return <p aria-busy="true">…</p>;
  const [threads, waiters, owners, ownerGroups, hows, inside, longest, sampled] = answers;
  const facts = opening.recordings[view.value.recording]!;
  const range = rangeOf(view.value, whole);
  const blocked = threads.totalNs;
  const others = locks.value.filter((_, at) => at > 0).map((lock) => names.text(lock));
  return (
    <>
      <section class="card" aria-label="The incident">
        <p class="sentence">
          {whoText(threads.value.length + threads.leftOut, facts.foldedThreads)} blocked <b>{duration(blocked)}</b> on{" "}
          <a href={address({ page: "locks", lock: `=${name}` })}><code>{name}</code></a> in {times(threads.count, "contention")},{" "}
          {onAverage(blocked, range.to - range.from, facts.foldedThreads > 0 ? facts.threads : threads.value.length + threads.leftOut)} from {moment(range.from, whole)} to {moment(range.to, whole)}.{" "}
          <Pauses stopped={locks.stopped[locks.value.indexOf(lock)] ?? 0} total={blocked} />
        </p>
        <Sampled />
        {others.length > 0 && (
          <p class="hint">
            Other locks {view.value.range ? "in this range" : "of the recording"}:
            {others.map((other) => <button key={other} type="button" class="small" onClick={() => show({ lock: `=${other}` })}>{other}</button>)}
          </p>
        )}
      </section>
      <div class="incident">
        <Part title="Who was blocked" why="Groups of blocked threads and the method that wanted the lock; part of the blocked time">
          <Waiters groups={waiters} names={names} />
        </Part>
        <Part title="Who had the lock" why="Threads that had the lock while others were blocked, and the method that acquired it; part of the blocked time">
          <Owners threads={owners} groups={ownerGroups} hows={hows} names={names} />
        </Part>
        <Part title="What the owner did" why={INSIDE_WHY}>
          <Doings inside={inside} samples={sampled.entries} threads={threads.value.length + threads.leftOut} hows={hows} noCpu={Math.min(noCpu?.get(lock) ?? 0, blocked)} name={name} names={names} />
        </Part>
        <Part title="What the owner waited for meanwhile" why="Where the owner was itself blocked, waiting or parked while it had the lock that others wanted">
          <OwnWaits name={name} contentions={longest.entries} blocked={blocked} names={names} />
        </Part>
      </div>
    </>
  );
}

function Part({ title, why, children }: { title: string; why: string; children: ComponentChildren }) {
  return (
    <section class="card" aria-label={title}>
      <h2 title={why}>{title}</h2>
      {children}
    </section>
  );
}

interface LineProps {
  part: number;
  why?: string;
  children: ComponentChildren;
  /** A class for lines that are no code. */
  kind?: string;
}

function Line({ part, why = "", children, kind = "" }: LineProps) {
  return (
    <li title={why} class={kind}>
      <span class="number">{percent(part)}</span>
      <Bar part={part} />
      <span class="what">{children}</span>
    </li>
  );
}

function Method({ name }: { name: string }) {
  if (name === NO_FRAME) return <>{name}</>;
  return (
    <a href={address({ method: withoutLine(name) })} title={`Filter by ${name}`}>
      <code>{split(name)[1]}</code>
    </a>
  );
}

function withoutLine(frame: string): string {
  return frame.replace(/:\d+$/, "");
}

function Waiters({ groups, names }: { groups: Groups; names: NameBook }) {
  return (
    <ol class="spots">
      {pairs(groups).slice(0, MOST_ROWS).map(({ first, second, total }) => (
        <Line key={`${first} ${second}`} part={total / groups.totalNs} why={`${duration(total)} in ${names.text(second)}`}>
          <a href={address({ thread: names.text(first) })} title={`Filter by ${names.text(first)}`}><code>{names.text(first)}</code></a> in{" "}
          {second > 0 ? <Method name={names.text(second)} /> : "an unknown method"}
        </Line>
      ))}
      <Rest groups={groups} shown={MOST_ROWS} />
    </ol>
  );
}

/** Owners one by one; by group where those that had the lock longest had it for less than half of the time together. */
function Owners({ threads, groups, hows, names }: { threads: Groups; groups: Groups; hows: Groups; names: NameBook }) {
  const { total, handOff, paused, owned, unknown } = knowledgeOf(hows);
  // Less than that is in "other owners".
  const isWorth = (time: number) => time >= total / 1000;
  const knownOf = (groups: Groups) => pairs(groups).filter(({ first, total, stopped }) => first > 0 && isWorth(total - stopped)).slice(0, MOST_ROWS);
  const ownedBy = (known: Paired[]) => known.reduce((sum, { total, stopped }) => sum + total - stopped, 0);
  const isByGroup = ownedBy(knownOf(threads)) < owned / 2;
  const known = knownOf(isByGroup ? groups : threads);
  const others = owned - ownedBy(known);
  const nameOf = (owner: number) => (isByGroup ? names.text(owner) : names.threadText(owner));
  const filterBy = (owner: number) => `=${isByGroup ? names.text(owner) : names.thread(owner).name}`;
  const lines: [time: number, line: ComponentChildren][] = known.map(({ first, second, total: all, stopped }) => [
    all - stopped,
    <Line key={`${first} ${second}`} part={(all - stopped) / total} why={`${duration(all - stopped)}: ${nameOf(first)} in ${names.text(second)}`}>
      <a href={address({ ...ALL_STACKS, page: "threads", thread: filterBy(first), lock: "" })} title={isByGroup ? "What these threads did, over time" : "What this thread did, over time"}><code>{nameOf(first)}</code></a> in{" "}
      {second > 0 ? <Method name={names.text(second)} /> : "a method that is not recorded"}
    </Line>,
  ]);
  const rest = (time: number, text: string, why: string) => {
    if (isWorth(time)) lines.push([time, <Line key={text} part={time / total} kind="hint" why={why}>{text}</Line>]);
  };
  rest(handOff, "hand-off: the lock was free, and the next thread had not run yet", "Too few CPUs, or a lock convoy");
  rest(paused, "VM pauses", "The VM had stopped all threads, for example for a garbage collection. Nobody owns a lock during a pause");
  rest(unknown, "unknown owner", "The recording does not show the owner");
  lines.sort(([a], [b]) => b - a);
  rest(others, known.length > 0 ? "other owners" : "several owners", "");
  return <ol class="spots">{lines.map(([, line]) => line)}</ol>;
}

interface DoingsProps {
  inside: Groups;
  /** Samples one by one. */
  samples: Entry[];
  /** How many threads were blocked. */
  threads: number;
  hows: Groups;
  noCpu: number;
  /** Of the lock. */
  name: string;
  names: NameBook;
}

function Doings({ inside, samples, threads, hows, noCpu, name, names }: DoingsProps) {
  const { opening } = useSource();
  const spots = useMemo(() => together(doingOf(inside, names)), [inside]);
  if (inside.count === 0) return <><OwnerDid lock={name} /><p class="empty">{noSample(freeOf(hows))}</p></>;
  const facts = opening.recordings[view.value.recording]!;
  const weighted = isWeighted(inside, facts);
  const { whole, sampled, notSampled } = weighted ? coverageOf(hows, inside.totalNs) : { whole: inside.totalNs, sampled: inside.totalNs, notSampled: 0 };
  const seen = seenOf(samples, inside.count, facts.instants > 0 ? null : sampled / whole, names, threads);
  const isEnough = suffice(seen);
  const rest = spots.slice(MOST_ROWS).reduce((sum, { spot }) => sum + spot.total, 0);
  const known = knowledgeOf(hows);
  const free = notOwned(known, "the blocked time");
  return (
    <>
      {free !== "" && <p>{free}{isEnough && " The rest:"}</p>}
      {isEnough ? (
        <ol class="spots">
          {spots.slice(0, MOST_ROWS).map(({ spot, isWaiting }) => {
            const Row = isWaiting ? WaitedIn : Ran;
            return <Row key={`${isWaiting} ${spot.call} ${spot.text}`} spot={spot} whole={whole} lock={name} />;
          })}
          {rest > 0 && <Line part={rest / whole} kind="hint">{times(spots.length - MOST_ROWS, "more line")}</Line>}
          {notSampled > 0 && <Line part={notSampled / whole} kind="hint">not sampled</Line>}
        </ol>
      ) : (
        <><OwnerDid lock={name} /><p class="empty">{tooFew(seen.taken, seen.coverage)}</p></>
      )}
      {noCpu > known.total / 100 && (
        <p class="hint">
          For {duration(noCpu)} ({percent(noCpu / known.total)} of the blocked time) the owner was probably runnable, but had no CPU: see <a href={address({ page: "steal" })}>CPU shortage</a>.{isEnough && " The bars above include this time."}
        </p>
      )}
      {isEnough && <p class="hint">{times(inside.count, "sample")} of owners, each counted for every thread that was blocked. Percentages are of {weighted ? `the ${duration(whole)} blocked by a known owner` : "all these samples"}.</p>}
    </>
  );
}

interface SpotProps {
  spot: Executed;
  whole: number;
  /** Name of the lock. */
  lock: string;
}

/** A line of the application, which leads to the call stacks of owners with its method. */
function Spot({ spot, lock }: Omit<SpotProps, "whole">) {
  if (spot.method === "") return <>{spot.text}</>;
  return (
    <a href={address(insideOwners(spot.method, lock))} title={`Show what called ${spot.text} and what it called, while the owner had the lock`}>
      <code>{split(spot.text)[1]}</code>
    </a>
  );
}

/** What the owner was in while it did not run. */
function WaitedIn({ spot, whole, lock }: SpotProps) {
  return (
    <Line part={spot.total / whole} kind="notrunning" why={`${spot.call === "" ? "" : `${spot.call}${CALLED_FROM}`}${spot.text}: ${duration(spot.total)}`}>
      {spot.method !== "" && "in "}
      {spot.call !== "" && <><code>{split(spot.call)[1]}</code>{CALLED_FROM}</>}
      <Spot spot={spot} lock={lock} />
      <small>{NOT_RUNNING}</small>
    </Line>
  );
}

/** A line of the application, with what ran below it. */
function Ran({ spot, whole, lock }: SpotProps) {
  return (
    <Line part={spot.total / whole} why={`${spot.text}: ${duration(spot.total)}`}>
      <Spot spot={spot} lock={lock} />
      {spot.below.length > 0 && (
        <small class="cut" title={spot.below.map((one) => `${duration(one.total)} ${one.text}`).join("\n")}>
          {spot.below.slice(0, 2).map((one) => `${percent(one.total / whole)} ${split(one.text)[1]}`).join(", ")}
          {spot.below.length > 2 && `, ${times(spot.below.length - 2, "more method")}`}
        </small>
      )}
    </Line>
  );
}

/** What the owners waited for: of contentions that are kept one by one. */
function OwnWaits({ name, contentions, blocked, names }: { name: string; contentions: Entry[]; blocked: number; names: NameBook }) {
  const whole = useDuration();
  const range = rangeOf(view.value, whole);
  const owners = ownersOf(contentions, range).slice(0, MOST_OWNERS);
  const kinds: Kind[] = ["monitor", "juc", "wait", "park"];
  const answers = useAnswers(
    ...owners.map(({ owner }) => {
      const filter = { thread: `=${names.thread(owner).name}`, lock: "", method: "", services: true };
      return { ask: "longest" as const, scope: { recording: view.value.recording, ...range, filter, kinds, within: [] }, limit: MOST_WAITS };
    }),
  );
  const found = useMemo(() => waitsOfOwners(contentions, (answers ?? []).flatMap(({ entries }) => entries), range), [answers, contentions]);
  if (!answers) return <p aria-busy="true">…</p>;
  const knowledge = knowledgeIn(contentions, range);
  const known = knowledge.total;
  if (known === 0) return <p class="empty">This page keeps only the sum of these contentions: {view.value.range ? "a larger --rows keeps more of them" : "choose a shorter time range"}.</p>;
  if (owners.length === 0) return <p class="empty">No owner is known: hand-offs, or the recording does not name owners.</p>;
  const free = notOwned(knowledge, known < blocked * 0.995 ? `the time of the ${times(contentions.length, "longest contention")}` : "the blocked time");
  return (
    <>
      {free !== "" && <p>{free}{found.length > 0 && " The rest:"}</p>}
      {found.length === 0 && <p class="empty">{known >= blocked / 2 ? "The" : "In these contentions, the"} owners waited for no lock and no other thread.{free === "" && known >= blocked / 2 && " So the cause is what the owner did itself."}</p>}
      <ol class="spots">
        {found.slice(0, MOST_ROWS).map((wait) => <Waited key={`${wait.owner} ${wait.kind} ${wait.lock}`} wait={wait} known={known} name={name} names={names} />)}
      </ol>
      <p class="hint">
        {known < blocked * 0.995
          ? `This list uses the ${times(contentions.length, "longest contention")} (${percent(known / blocked)} of the blocked time)`
          : `This list uses all ${times(contentions.length, "contention")}`}
        {ownersOf(contentions, range).length > MOST_OWNERS && ` and the ${MOST_OWNERS} threads that had the lock longest. It leaves out owners that did not wait`}.
      </p>
    </>
  );
}

function Waited({ wait, known, name, names }: { wait: OwnWait; known: number; name: string; names: NameBook }) {
  const blocked = wait.kind === "monitor" || wait.kind === "juc";
  const next = blocked ? [...wait.longest.slices].sort((a, b) => b.span - a.span).find((slice) => slice.owner > 0) : undefined;
  const title = names.text(names.lock(wait.lock).title);
  const what = wait.lock > 0 ? <code title={names.lock(wait.lock).name}>{title}</code> : "something that is not recorded";
  const line = names.chain(wait.longest.chain).find((frame) => !names.frame(frame).jdk);
  return (
    <Line part={wait.total / known} kind="notrunning" why={`${duration(wait.total)} of blocked threads`}>
      <code>{names.threadText(wait.owner)}</code> was {KIND_WORDS[wait.kind]}{wait.kind === "wait" || wait.kind === "park" ? (wait.lock > 0 ? <> on {what}</> : "") : <>: {what}</>}
      {next && (
        <small>
          which <code>{names.threadText(next.owner)}</code> had.{" "}
          {wait.lock > 0 && title !== name && <a href={address({ lock: `=${title}` })}>Show this incident</a>}
        </small>
      )}
      {!blocked && line !== undefined && (
        <small>
          in <a href={address({ ...waitsIn(names.text(names.frame(line).method), wait.kind === "wait"), thread: `=${names.thread(wait.owner).name}`, services: true })}><code>{split(names.frameText(line))[1]}</code></a>
        </small>
      )}
    </Line>
  );
}

function Rest({ groups, shown }: { groups: Groups; shown: number }) {
  const all = pairs(groups);
  const rest = groups.totalNs - all.slice(0, shown).reduce((sum, { total }) => sum + total, 0);
  return rest > groups.totalNs / 1000 ? <Line part={rest / groups.totalNs} kind="hint">others</Line> : null;
}

interface Paired {
  first: number;
  second: number;
  total: number;
  stopped: number;
}

/** Groups of two levels as pairs, most time first. */
function pairs(groups: Groups): Paired[] {
  const found = groups.value.flatMap((second, at) => {
    const parent = groups.parent[at]!;
    return parent < 0 ? [] : [{ first: groups.value[parent]!, second, total: groups.total[at]!, stopped: groups.stopped[at]! }];
  });
  return found.sort((a, b) => b.total - a.total);
}
