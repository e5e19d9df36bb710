// What ids stand for, one book per recording. A served page learns names from
// answers; an embedded one knows them all.
import type { Frame, Lock, Names, Thread } from "./contract";

const UNKNOWN = "unknown";
const NO_FRAME: Frame = { method: 0, line: 0, jdk: false, file: "", source: "" };
const NO_THREAD: Thread = { name: UNKNOWN, group: 0, kind: 0, others: 0, key: "unknown#0" };
const NO_LOCK: Lock = { name: UNKNOWN, short: UNKNOWN, class: 0, title: 0 };

export class NameBook {
  readonly texts = new Map<number, string>();
  readonly threads = new Map<number, Thread>();
  readonly locks = new Map<number, Lock>();
  readonly frames = new Map<number, Frame>();
  readonly chains = new Map<number, number[]>();

  learn(names: Names): void {
    take(this.texts, names.texts);
    take(this.threads, names.threads);
    take(this.locks, names.locks);
    take(this.frames, names.frames);
    take(this.chains, names.chains);
  }

  text(id: number): string {
    return this.texts.get(id) ?? UNKNOWN;
  }

  thread(id: number): Thread {
    return this.threads.get(id) ?? NO_THREAD;
  }

  /** A thread's name; of what stands for several, how many. */
  threadText(id: number): string {
    const { name, others } = this.thread(id);
    return others > 0 ? `${name} (${others} threads)` : name;
  }

  lock(id: number): Lock {
    return this.locks.get(id) ?? NO_LOCK;
  }

  frame(id: number): Frame {
    return this.frames.get(id) ?? NO_FRAME;
  }

  /** Frames, leaf first; empty if unknown. */
  chain(id: number): number[] {
    return this.chains.get(id) ?? [];
  }

  /** `com.acme.Inventory.rebuild:71`. */
  frameText(id: number): string {
    const frame = this.frame(id);
    const method = this.text(frame.method);
    return frame.line > 0 ? `${method}:${frame.line}` : method;
  }
}

function take<T>(book: Map<number, T>, names: { [key in number]: T }): void {
  for (const id in names) book.set(Number(id), names[id]!);
}
