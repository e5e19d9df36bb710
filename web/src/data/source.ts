// Where answers come from. The page knows this and nothing else.
import type { Answer, Opening, Query } from "./contract";
import type { NameBook } from "./names";

/** The answer that belongs to a query. */
export type AnswerTo<Q extends Query> = Extract<Answer, { answer: Q["ask"] }>;

/** The recording that a query is about. */
export function recordingOf(query: Query): number {
  return "scope" in query ? query.scope.recording : query.recording;
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
