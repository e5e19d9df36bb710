// Where answers come from. The page knows this and nothing else.
import type { Answer, Opening, Query } from "./contract";
import type { NameBook } from "./names";

/** The answer that belongs to a query. */
export type AnswerTo<Q extends Query> = Extract<Answer, { answer: Q["ask"] }>;

/** The recording that a query is about. */
export function recordingOf(query: Query): number {
  return "scope" in query ? query.scope.recording : query.recording;
}

/** The same question where times count from a moment that is later by `removed`. */
export function shiftedQuery<Q extends Query>(query: Q, removed: number): Q {
  const shifted = (time: number) => Math.max(0, time - removed);
  if (removed === 0) return query;
  if ("scope" in query) return { ...query, scope: { ...query.scope, from: shifted(query.scope.from), to: shifted(query.scope.to) } };
  return "start" in query ? { ...query, start: shifted(query.start) } : query;
}

export interface Source {
  readonly opening: Opening;
  /** Changes when answers may: with each reading of a recording that is still being written. */
  readonly generation: number;
  /** True if the page is complete in one file. */
  readonly embedded: boolean;
  /** Names of a recording, as far as they are known. */
  names(recording: number): NameBook;
  ask<Q extends Query>(query: Q): Promise<AnswerTo<Q>>;
}
