// A part of a page that waits for an answer.
import type { ComponentChildren } from "preact";
import type { Question } from "./contract";
import { useAnswer, type AnswerTo } from "./source";

interface Props<Q extends Question> {
  question: Q;
  children: (answer: AnswerTo<Q>) => ComponentChildren;
}

export function Answered<Q extends Question>({ question, children }: Props<Q>) {
  const { answer, busy, problem } = useAnswer(question);
  if (problem) return <p class="problem" role="alert">{problem}</p>;
  return (
    <div class={busy && answer ? "waiting" : ""} aria-busy={busy}>
      {answer ? children(answer) : <p class="hint">…</p>}
    </div>
  );
}
