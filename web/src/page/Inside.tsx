// What the owner of a lock was executing while others waited for it.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { HOWS, type Groups } from "../data/contract";
import { spotsOf } from "../data/incident";
import { coverageOf, isWeighted, knowledgeOf } from "../data/owning";
import type { Step } from "../state/address";
import { grouping, scopeOf, useAnswers, useNames, useSource } from "../state/asking";
import { view } from "../state/view";
import { split } from "../text/frames";
import { CALLED_FROM } from "../text/owning";
import { lockOf } from "../text/sentence";
import { duration, percent, times } from "../text/units";
import { useDuration } from "../view/FilterBar";
import { Bar, Sentence } from "./Overview";

const MOST = 8;

export const INSIDE_WHY =
  "Samples of the thread that owned the lock, taken while others were blocked on it, up to the frame that acquired it. A sample counts once for each blocked thread.";
/** Why there is no sample of an owner, given the part of the blocked time in which the lock was free. */
export function noSample(free: number): string {
  if (free > 0.5) return `No sample of an owner here: for ${percent(free)} of the blocked time, no thread had the lock (hand-off).`;
  return "No sample of an owner here. Record with -e lock,cpu (or lock,wall) to take more samples.";
}

/** What the finding about a lock says of what its owner did: it rests on measured times, too, not only on samples. */
export function OwnerDid({ lock }: { lock: string }) {
  const { findings, links } = useSource().opening.recordings[view.value.recording]!;
  const text = findings.find((finding) => lockOf(finding, links) === lock)?.ownerDid ?? "";
  return text === "" ? null : <p><Sentence text={text} />{view.value.range !== null && " This is about the whole recording."}</p>;
}

/** The part of blocked time in which the lock was free. */
export function freeOf(blocked: Groups): number {
  const { handOff, total } = knowledgeOf(blocked);
  return handOff / Math.max(1, total);
}

/** The same for a selection whose blocked time has not been asked for. */
export function NoSample({ within }: { within: Step[] }) {
  const answers = useAnswers(grouping(scopeOf(view.value, useDuration(), undefined, within), ["how"], 20));
  return answers && <>{noSample(freeOf(answers[0]))}</>;
}

/** Without packages: what distinguishes methods is at the end, where a narrow window cuts. Those that would be the same keep theirs. */
function shortNames(spots: string[]): string[] {
  const short = spots.map((spot) => spot.split(CALLED_FROM).map((frame) => split(frame)[1]).join(CALLED_FROM));
  return short.map((name, at) => (short.indexOf(name) === short.lastIndexOf(name) ? name : spots[at]!));
}

/** Where inside the owner the time of a selection went. */
export function Inside({ within }: { within: Step[] }) {
  const whole = useDuration();
  const { opening } = useSource();
  const names = useNames(view.value.recording);
  const scope = scopeOf(view.value, whole, ["inside"], within);
  const answers = useAnswers(grouping(scope, ["inside"], 500), grouping(scope, ["how"], 20), grouping(scopeOf(view.value, whole, undefined, within), ["how"], 20));
  const spots = useMemo(() => (answers ? spotsOf(answers[0], names) : []), [answers]);
  if (!answers) return null;
  const [inside, hows, blocked] = answers;
  // Samples without weight are only counted.
  const weighted = isWeighted(inside, opening.recordings[view.value.recording]);
  const coverage = weighted ? coverageOf(blocked, inside.totalNs) : { whole: inside.totalNs, sampled: inside.totalNs, notSampled: 0 };
  const waiting = hows.value.indexOf(HOWS.indexOf("waiting"));
  const waited = waiting < 0 ? 0 : hows.total[waiting]!;
  const rest = spots.slice(MOST).reduce((sum, spot) => sum + spot.total, 0);
  const short = shortNames(spots.slice(0, MOST).map((spot) => spot.text));
  const line = (key: string, total: number, text: ComponentChildren, why: string) => (
    <li key={key} title={why}>
      <span class="number">{percent(total / coverage.whole)}</span>
      <Bar part={total / coverage.whole} />
      {text}
    </li>
  );
  return (
    <section class="chain inside" aria-label="Inside the owner">
      <h3 title={INSIDE_WHY}>Where inside the owner the time went</h3>
      {spots.length === 0 ? (
        <>
          <OwnerDid lock={within.find(({ by }) => by === "lock-name")?.key ?? ""} />
          <p class="empty">{noSample(freeOf(blocked))}</p>
        </>
      ) : (
        <>
          <ol class="spots">
            {spots.slice(0, MOST).map((spot, at) => line(spot.text, spot.total, <code class="cut">{short[at]}</code>, spot.text))}
            {rest > 0 && line("rest", rest, <span class="hint">{times(spots.length - MOST, "more line")} in the flame graph</span>, "Lines with less time")}
            {coverage.notSampled > 0 && line("none", coverage.notSampled, <span class="hint">not sampled</span>, "Blocked time with a known owner of which no sample shows what the owner did")}
          </ol>
          <p class="hint">
            {weighted
              ? `Samples cover ${percent(coverage.sampled / coverage.whole)} of the ${duration(coverage.whole)} blocked by a known owner`
              : "Shares of samples, which do not say how much time they stand for"}
            ; {times(inside.count, "sample")} of owners, each counted for every thread that was blocked
            {waited > 0 && `; in ${percent(waited / inside.totalNs)} of them the owner itself was waiting`}
          </p>
        </>
      )}
    </section>
  );
}
