// What ids stand for in addresses: words that stay the same whenever and however a
// recording is read again. The twin of crates/page/src/keys.rs.
import { HOWS, KINDS, type Aspect, type Pick } from "./contract";
import type { NameBook } from "./names";
import type { Head } from "./table";

const PRIME = 0x01000193;
const BASES = [0x811c9dc5, 0x9747b28c] as const;
const encoder = new TextEncoder();

type Hash = [number, number];

/** Two FNV-1a hashes. */
export function hash(text: string): Hash {
  let [one, other] = BASES as unknown as Hash;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // Names are mostly ASCII, where a character is its byte.
    if (code > 127) return hashOf(encoder.encode(text));
    one = Math.imul(one ^ code, PRIME);
    other = Math.imul(other ^ code, PRIME);
  }
  return [one >>> 0, other >>> 0];
}

function hashOf(bytes: Uint8Array): Hash {
  let [one, other] = BASES as unknown as Hash;
  for (const byte of bytes) {
    one = Math.imul(one ^ byte, PRIME);
    other = Math.imul(other ^ byte, PRIME);
  }
  return [one >>> 0, other >>> 0];
}

/** The key of a chain of frames, each as `method:line`, given their hashes. */
export function chainKey(frames: Hash[]): string {
  let [high, low] = BASES as unknown as Hash;
  for (const [one, other] of frames) {
    high = Math.imul(high ^ one, PRIME);
    low = Math.imul(low ^ other, PRIME);
  }
  return [high, low].map((part) => (part >>> 0).toString(16).padStart(8, "0")).join("");
}

/** What an address calls a value of a aspect. */
export function keyOf(names: NameBook, by: Aspect, value: number): string {
  switch (by) {
    case "kind":
      return KINDS[value] ?? "";
    case "how":
      return HOWS[value] ?? "";
    case "thread-kind":
    case "time":
      return String(value);
    case "lock":
      return names.lock(value).name;
    case "contender-thread":
    case "owner-thread":
      return names.thread(value).key;
    case "contender-chain":
    case "owner-chain":
    case "inside":
      return chainKey(names.chain(value).map((id) => frameHash(names.text(names.frame(id).method), names.frame(id).line)));
    default:
      return names.text(value);
  }
}

function frameHash(method: string, line: number): Hash {
  return hash(`${method}:${line}`);
}

const chains = new WeakMap<Head, Map<string, number>>();

/** The id of a value; null if the recording has no such thing. */
export function find({ by, key }: Pick, head: Head): number | null {
  const place = (at: number) => (at < 0 ? null : at);
  switch (by) {
    case "kind":
      return place((KINDS as readonly string[]).indexOf(key));
    case "how":
      return place((HOWS as readonly string[]).indexOf(key));
    case "thread-kind":
    case "time":
      return /^\d{1,9}$/.test(key) ? Number(key) : null;
    case "lock":
      return place(head.locks.findIndex((lock) => lock.name === key));
    case "contender-thread":
    case "owner-thread":
      return place(head.threads.findIndex((thread) => thread.key === key));
    case "contender-chain":
    case "owner-chain":
    case "inside":
      return chainsOf(head).get(key) ?? null;
    default:
      return place(head.texts.indexOf(key));
  }
}

function chainsOf(head: Head): Map<string, number> {
  let known = chains.get(head);
  if (!known) {
    const frames = head.frames.map((frame) => frameHash(head.texts[frame.method] ?? "", frame.line));
    known = new Map(head.chains.map((chain, id) => [chainKey(chain.map((frame) => frames[frame]!)), id]));
    chains.set(head, known);
  }
  return known;
}
