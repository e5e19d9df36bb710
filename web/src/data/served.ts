// Answers from the command that serves this page.
import type { Opening, Query } from "./contract";
import { NameBook } from "./names";
import { recordingOf, type AnswerTo, type Source } from "./source";

/** There is nobody to ask any more. */
export class Ended extends Error {
  constructor() {
    super("The command that serves this page has ended: run `headway view FILE` again and open the address that it prints.");
  }
}

export class ServedSource implements Source {
  readonly embedded = false;
  readonly #books: NameBook[];
  /** The question before: one at a time, so that one connection is enough. */
  #before: Promise<unknown> = Promise.resolve();

  constructor(readonly opening: Opening) {
    this.#books = opening.recordings.map(() => new NameBook());
  }

  names(recording: number): NameBook {
    return this.#books[recording] ?? new NameBook();
  }

  ask<Q extends Query>(query: Q): Promise<AnswerTo<Q>> {
    const answer = this.#before.then(() => this.#ask(query));
    this.#before = answer.catch(() => undefined);
    return answer;
  }

  async #ask<Q extends Query>(query: Q): Promise<AnswerTo<Q>> {
    // The page's own path carries the token.
    const reply = await fetch("query", { method: "POST", body: JSON.stringify(query), cache: "no-store" }).catch(() => {
      throw new Ended();
    });
    if (!reply.ok) throw new Error(`the command that serves this page answered ${reply.status}: ${await reply.text()}`);
    const answer = (await reply.json()) as AnswerTo<Q>;
    this.names(recordingOf(query)).learn(answer.names);
    return answer;
  }
}
