// Answers from the command that serves this page. A question that nobody waits for any more is taken back: the
// command then stops working on it.
import { useEffect, useState } from "preact/hooks";
import { Ended, good } from "../data/served";
import type { Answer, FleetOpening, Question } from "./contract";

/** The answer that belongs to a question. */
export type AnswerTo<Q extends Question> = Extract<Answer, { answer: Q["ask"] }>;

/** What a page of a store knows at once; null on a page of recordings. */
export function openingOf(page: Document): FleetOpening | null {
  const text = page.getElementById("headway-fleet")?.textContent;
  return text ? (JSON.parse(text) as FleetOpening) : null;
}

export async function ask<Q extends Question>(question: Q, signal: AbortSignal): Promise<AnswerTo<Q>> {
  const reply = await fetch("query", { method: "POST", body: JSON.stringify(question), cache: "no-store", signal }).catch((problem: unknown) => {
    throw signal.aborted ? problem : new Ended("headway fleet view --store PLACE");
  });
  return (await good(reply)).json() as Promise<AnswerTo<Q>>;
}

interface Asked {
  answer: Promise<unknown>;
  stop: AbortController;
  /** Components that wait for it. */
  waiting: number;
  done: boolean;
}

const asked = new Map<string, Asked>();
const MOST_REMEMBERED = 100;

function want(key: string): Asked {
  const known = asked.get(key);
  if (known) {
    known.waiting++;
    return known;
  }
  const stop = new AbortController();
  const made: Asked = { answer: ask(JSON.parse(key) as Question, stop.signal), stop, waiting: 1, done: false };
  made.answer.then(
    () => (made.done = true),
    () => forget(key, made),
  );
  asked.set(key, made);
  const [oldest, first] = asked.entries().next().value ?? [];
  if (asked.size > MOST_REMEMBERED && oldest !== undefined && first?.done) asked.delete(oldest);
  return made;
}

/** The same question may have been asked again meanwhile. */
function forget(key: string, one: Asked): void {
  if (asked.get(key) === one) asked.delete(key);
}

function leave(key: string, left: Asked): void {
  left.waiting--;
  if (left.done || left.waiting > 0) return;
  forget(key, left);
  left.stop.abort();
}

export interface Waited<Q extends Question> {
  /** The last answer, while a new one is on its way; null before the first. */
  answer: AnswerTo<Q> | null;
  /** True while it is not the answer to this question. */
  busy: boolean;
  problem: string;
}

export function useAnswer<Q extends Question>(question: Q): Waited<Q> {
  const key = JSON.stringify(question);
  const [got, setGot] = useState<{ key: string; answer: AnswerTo<Q> | null; problem: string }>({ key: "", answer: null, problem: "" });
  useEffect(() => {
    const mine = want(key);
    let wanted = true;
    mine.answer.then(
      (answer) => wanted && setGot({ key, answer: answer as AnswerTo<Q>, problem: "" }),
      (problem: unknown) => wanted && setGot({ key, answer: null, problem: problem instanceof Error ? problem.message : String(problem) }),
    );
    return () => {
      wanted = false;
      leave(key, mine);
    };
  }, [key]);
  return { answer: got.answer, busy: got.key !== key, problem: got.key === key ? got.problem : "" };
}
