// Answers from the command that serves this page.
import { signal } from "@preact/signals";
import type { Aspect, Groups, Now, Opening, Query } from "./contract";
import { NameBook } from "./names";
import { recordingOf, shiftedQuery, type AnswerTo, type Source } from "./source";

/** There is nobody to ask any more. */
export class Ended extends Error {
  constructor(command = "headway view FILE") {
    super(`The command that serves this page has ended: run \`${command}\` again and open the address that it prints.`);
  }
}

export class ServedSource implements Source {
  readonly embedded = false;
  /** What is known of the recordings; components that read it follow it. */
  readonly #opening;
  #books: NameBook[] = [];
  /** Takes how far the recording was read where its front was removed meanwhile. */
  moved: (now: Now) => void = (now) => this.take(now);
  /** The question before: one at a time, so that one connection is enough. */
  #before: Promise<unknown> = Promise.resolve();

  constructor(opening: Opening) {
    this.#opening = signal(opening);
    this.#books = opening.recordings.map(() => new NameBook());
  }

  get opening(): Opening {
    return this.#opening.value;
  }

  get generation(): number {
    return this.#opening.value.live?.generation ?? 0;
  }

  /** By how much times count from a later moment than in the first reading. */
  get #removed(): number {
    return this.opening.live?.removedNs ?? 0;
  }

  /** How far a recording was read; the command reads a running one again for that if it is time to. */
  async now(): Promise<Now> {
    // Not behind other questions, nor they behind this one: reading may take long.
    return (await good(await reply("now", String(this.generation)))).json() as Promise<Now>;
  }

  /** From here on, answers are of this reading. */
  take(now: Now): void {
    const { version, live } = this.opening;
    const recordings = now.recordings.length > 0 ? now.recordings : this.opening.recordings;
    // Ids stay what they are as long as the recording begins with the same moment.
    if (live?.beginning !== now.beginning) this.#books = recordings.map(() => new NameBook());
    // Once all was read it is a recording like any other.
    const arrived = live?.reading && !now.reading;
    this.#opening.value = { recordings, version, live: arrived ? null : now };
  }

  names(recording: number): NameBook {
    return this.#books[recording] ?? new NameBook();
  }

  ask<Q extends Query>(query: Q): Promise<AnswerTo<Q>> {
    const removed = this.#removed;
    const answer = this.#before.then(() => this.#ask(query, removed));
    this.#before = answer.catch(() => undefined);
    return answer;
  }

  /** Times in the question count from when so much had been removed. */
  async #ask<Q extends Query>(query: Q, removed: number): Promise<AnswerTo<Q>> {
    const known = await this.#askWithoutNames(query);
    if (known) return known;
    // Ids are those of the reading that was asked, also if there is another one when the answer comes.
    let book = this.names(recordingOf(query));
    let reply = await this.#send(query, removed);
    if (reply.status === MOVED) {
      this.moved(await this.now());
      book = this.names(recordingOf(query));
      reply = await this.#send(query, removed);
    }
    const answer = (await (await good(reply)).json()) as AnswerTo<Q>;
    book.learn(answer.names);
    return answer;
  }

  /** The answer to a question about many call stacks, if those are known by now; null if not. Their names are most of such an answer. */
  async #askWithoutNames<Q extends Query>(query: Q): Promise<AnswerTo<Q> | null> {
    const { chains } = this.names(recordingOf(query));
    if (this.opening.live || chains.size < MANY || query.ask !== "group" || !isByStack(query.by)) return null;
    const answer = (await (await good(await reply("query?names=no", JSON.stringify(query)))).json()) as Groups;
    const isNamed = answer.value.every((chain, at) => answer.parent[at]! >= 0 || chains.has(chain));
    return isNamed ? (answer as unknown as AnswerTo<Q>) : null;
  }

  #send(query: Query, removed: number): Promise<Response> {
    const { live } = this.opening;
    return reply(live ? `query?beginning=${live.beginning}` : "query", JSON.stringify(shiftedQuery(query, this.#removed - removed)));
  }
}

/** Names of fewer call stacks are soon read. */
const MANY = 500;

/** True for groups by call stack, and time below it at most. */
function isByStack([first, ...rest]: Aspect[]): boolean {
  return (first === "contender-chain" || first === "owner-chain" || first === "inside") && rest.every((by) => by === "time");
}

/** The status of an answer to a question whose times count from a beginning that is gone. */
const MOVED = 409;

/** What the command answers. The page's own path carries the token. */
function reply(path: string, body: string): Promise<Response> {
  return fetch(path, { method: "POST", body, cache: "no-store" }).catch(() => {
    throw new Ended();
  });
}

export async function good(reply: Response): Promise<Response> {
  if (!reply.ok) throw new Error(`the command that serves this page answered ${reply.status}: ${await reply.text()}`);
  return reply;
}
