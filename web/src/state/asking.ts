// Questions of components, answered once and remembered.
import { createContext } from "preact";
import { useContext, useEffect, useMemo, useState } from "preact/hooks";
import type { Aspect, Filter, Kind, Query, Scope } from "../data/contract";
import { EstimateBook } from "../data/estimates";
import type { NameBook } from "../data/names";
import type { AnswerTo, Source } from "../data/source";
import { cut, snap, type Cut, type Range } from "../data/intervals";
import { noCpuIn } from "../data/steal";
import { stepsOf, type Step, type View } from "./address";
import { factsOf } from "./opened";
import { view } from "./view";

export const SourceContext = createContext<Source | null>(null);

export function useSource(): Source {
  const source = useContext(SourceContext);
  if (!source) throw new Error("no source of data");
  return source;
}

export function useNames(recording: number): NameBook {
  return useSource().names(recording);
}

const remembered = new Map<string, Promise<unknown>>();
const MOST_REMEMBERED = 200;

export function ask<Q extends Query>(source: Source, query: Q): Promise<AnswerTo<Q>> {
  const key = `${source.generation} ${JSON.stringify(query)}`;
  let answer = remembered.get(key) as Promise<AnswerTo<Q>> | undefined;
  if (!answer) {
    answer = source.ask(query);
    answer.catch(() => remembered.delete(key));
    remembered.set(key, answer);
    const oldest = remembered.keys().next().value;
    if (remembered.size > MOST_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
  }
  return answer;
}

/** The answers to some queries; the last ones while new ones are on their way, null before the first. */
export function useAnswers<Q extends Query[]>(...queries: Q): { [K in keyof Q]: AnswerTo<Q[K]> } | null {
  type Answers = { [K in keyof Q]: AnswerTo<Q[K]> };
  const source = useSource();
  const key = `${source.generation} ${JSON.stringify(queries)}`;
  const [known, setKnown] = useState<{ key: string; answers: Answers } | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  useEffect(() => {
    let wanted = true;
    Promise.all(queries.map((query) => ask(source, query))).then(
      (answers) => wanted && setKnown({ key, answers: answers as unknown as Answers }),
      (error: unknown) => wanted && setProblem(error),
    );
    return () => {
      wanted = false;
    };
  }, [key]);
  if (problem) throw problem;
  return known?.answers ?? null;
}

/** How far estimates of a recording that samples may be off; null where everything is exact, or not known yet. */
export function useEstimates(recording: number): EstimateBook | null {
  const answers = useAnswers({ ask: "whole" as const, recording });
  const isSampled = (factsOf(recording)?.instants ?? 0) > 0;
  return useMemo(() => (answers && isSampled ? new EstimateBook(answers[0].whole.estimates) : null), [answers, isSampled]);
}

/**
 * How long the owner of the locks of each name had no CPU in the range while others were blocked: the analysis' estimate,
 * which is of all threads. Null where the view is of a part of them.
 */
export function useNoCpu(recording: number): Map<number, number> | null {
  const answers = useAnswers({ ask: "whole" as const, recording });
  const { range, thread, method, kind } = view.value;
  const steal = answers?.[0].whole.steal;
  const isOfPart = thread !== "" || method !== "" || kind !== "all";
  const { from, to } = rangeOf(view.value, factsOf(recording)?.durationNs ?? 1);
  return useMemo(() => (steal && !isOfPart ? noCpuIn(steal, range && { from, to }) : null), [steal, isOfPart, range === null, from, to]);
}

const CONTENTION: Record<View["kind"], Kind[]> = { all: ["monitor", "juc"], monitor: ["monitor"], juc: ["juc"] };

export function filterOf(view: View): Filter {
  return { thread: view.thread, lock: view.lock, method: view.method, services: view.services };
}

/** Length of the intervals of which ranges are made; 0 if any range is exact. */
export function baseOf(recording: number): number {
  return factsOf(recording)?.baseNs ?? 0;
}

/** The range that is shown: of whole base intervals. */
export function rangeOf(view: View, duration: number): Range {
  return snap(view.range ?? { from: 0, to: duration }, baseOf(view.recording), duration);
}

/** A question by time; the intervals are cut so that what is in each is exact. */
export function overTime(scope: Scope, by: Aspect[], limit: number, wanted: number) {
  const made: Cut = cut(scope, wanted, baseOf(scope.recording));
  return { made, query: grouping(scope, [...by, "time"], limit, made.intervals) };
}

/** The part of the recording that the view is about, for blocked time unless other kinds are named. */
export function scopeOf(view: View, duration: number, kinds?: Kind[], within: Step[] = []): Scope {
  return {
    recording: view.recording,
    ...rangeOf(view, duration),
    filter: filterOf(view),
    kinds: kinds ?? CONTENTION[view.kind],
    within,
  };
}

/** The same range, whatever the filter is. */
export function withoutFilter(view: View, duration: number, kinds: Kind[] = CONTENTION.all): Scope {
  const filter = { thread: "", lock: "", method: "", services: true };
  return { recording: view.recording, ...rangeOf(view, duration), filter, kinds, within: [] };
}

/** Threads that are counted one by one. */
const MOST_THREADS = 1000;

/** Groups of call stacks that are asked for at most; what is beyond is one group. */
export const MOST_STACKS = 5000;

/** The scope, narrowed to the threads that the view names, and to call stacks with and without the methods. */
export function stacksIn(scope: Scope, of: Aspect, { focus, drop, threads }: Pick<View, "focus" | "drop" | "threads">, sandwich = ""): Scope {
  const wanted = sandwich === "" ? focus : [...focus, sandwich];
  const ofThreads = threads.length === 0 ? scope : { ...scope, threads };
  return wanted.length + drop.length === 0 ? ofThreads : { ...ofThreads, stacks: { of, with: wanted, without: drop } };
}

export function grouping(scope: Scope, by: Aspect[], limit: number, intervals = 1) {
  return { ask: "group" as const, scope, by, intervals, limit };
}

/** Asks how many threads have anything of the scope. */
export function threadsWith(scope: Scope) {
  return grouping(scope, ["contender-thread"], MOST_THREADS);
}

export { stepsOf };
