// Answers from the columns that are embedded in the page.
import type { Opening, Query } from "./contract";
import { group, NO_NAMES } from "./group";
import { entryOf, lanes, longest } from "./lanes";
import { NameBook } from "./names";
import type { Recording } from "./scope";
import { recordingOf, type AnswerTo, type Source } from "./source";
import { read, unpack } from "./table";

export class EmbeddedSource implements Source {
  readonly embedded = true;
  readonly generation = 0;
  readonly opening: Opening;
  readonly #books: NameBook[];

  constructor(
    private readonly recordings: Recording[],
    version: string,
  ) {
    this.opening = { recordings: recordings.map(({ head }) => head.facts), version, live: null };
    this.#books = recordings.map(({ head }) => bookOf(head));
  }

  static async unpack(packed: string[], version: string): Promise<EmbeddedSource> {
    return new EmbeddedSource(await Promise.all(packed.map(async (text) => read(await unpack(text)))), version);
  }

  names(recording: number): NameBook {
    return this.#books[recording] ?? new NameBook();
  }

  ask<Q extends Query>(query: Q): Promise<AnswerTo<Q>> {
    return Promise.resolve(this.answer(query) as AnswerTo<Q>);
  }

  answer(query: Query) {
    const asked = recordingOf(query);
    const recording = this.recordings[asked];
    if (!recording) throw new Error(`there is no recording number ${asked}`);
    switch (query.ask) {
      case "group":
        return { answer: "group", ...group(recording, query.scope, query.by, query.intervals, query.limit) };
      case "lanes":
        return { answer: "lanes", ...lanes(recording, query.scope, query.first, query.count, query.pixels) };
      case "longest":
        return { answer: "longest", entries: longest(recording, query.scope, query.limit), names: NO_NAMES };
      case "entry":
        return { answer: "entry", entry: entryOf(recording, query), names: NO_NAMES };
      case "whole":
        return { answer: "whole", whole: recording.head.whole, names: NO_NAMES };
    }
  }
}

function bookOf(head: Recording["head"]): NameBook {
  const book = new NameBook();
  head.texts.forEach((text, id) => book.texts.set(id, text));
  head.threads.forEach((thread, id) => book.threads.set(id, thread));
  head.locks.forEach((lock, id) => book.locks.set(id, lock));
  head.frames.forEach((frame, id) => book.frames.set(id, frame));
  head.chains.forEach((chain, id) => book.chains.set(id, chain));
  return book;
}
