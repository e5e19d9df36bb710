// The table of an embedded recording: the columns of crates/page/src/embed.rs.
import type { Facts, Frame, Lock, Thread, Whole } from "./contract";

/** Flags of a row, as in crates/page/src/table.rs. */
export const CONTINUES = 1;
export const APPROXIMATE = 2;
export const AFTER_WAIT = 4;
export const UNFINISHED = 8;
export const SUMMED = 16;
export const NO_CPU = 32;
export const TOTALS = 64;
export const STACKS = 128;

/** What stands before the columns. */
export interface Head {
  facts: Facts;
  rows: number;
  texts: string[];
  threads: Thread[];
  locks: Lock[];
  frames: Frame[];
  chains: number[][];
  acting: number[];
  whole: Whole;
}

/** What a summed row stands for. */
export interface Sum {
  total: number;
  count: number;
  going: number;
  apart: number;
  max: number;
}

export interface Table {
  length: number;
  start: Float64Array;
  span: Float64Array;
  stopped: Float64Array;
  thread: Uint32Array;
  chain: Uint32Array;
  lock: Uint32Array;
  owner: Uint32Array;
  ownerChain: Uint32Array;
  inside: Uint32Array;
  kind: Uint8Array;
  how: Uint8Array;
  flags: Uint8Array;
  /** Where in `sums` it stands what a row with SUMMED stands for. */
  sum: Uint32Array;
  sums: Sums;
}

/** What summed rows stand for: columns of `Sum`. */
export type Sums = Record<keyof Sum, Float64Array>;

/** What a row stands for; nothing if it is a single one. */
export function sumOf({ flags, sum, sums }: Table, row: number): Sum | undefined {
  if (!(flags[row]! & SUMMED)) return undefined;
  const at = sum[row]!;
  return { total: sums.total[at]!, count: sums.count[at]!, going: sums.going[at]!, apart: sums.apart[at]!, max: sums.max[at]! };
}

/** Unpacks base64 of gzip. */
export async function unpack(base64: string): Promise<Uint8Array> {
  const text = atob(base64.trim());
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Reads what `embed` of crates/page wrote. */
export function read(bytes: Uint8Array): { head: Head; table: Table } {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length))) as Head;
  const integers = new Integers(bytes, 4 + length);
  const rows = head.rows;
  const table: Table = {
    length: rows,
    start: integers.differences(new Float64Array(rows)),
    span: integers.fill(new Float64Array(rows)),
    stopped: integers.fill(new Float64Array(rows)),
    thread: integers.fill(new Uint32Array(rows)),
    chain: integers.fill(new Uint32Array(rows)),
    lock: integers.fill(new Uint32Array(rows)),
    owner: integers.fill(new Uint32Array(rows)),
    ownerChain: integers.fill(new Uint32Array(rows)),
    inside: integers.fill(new Uint32Array(rows)),
    kind: integers.fill(new Uint8Array(rows)),
    how: integers.fill(new Uint8Array(rows)),
    flags: integers.fill(new Uint8Array(rows)),
    sum: new Uint32Array(rows),
    sums: { total: new Float64Array(), count: new Float64Array(), going: new Float64Array(), apart: new Float64Array(), max: new Float64Array() },
  };
  let sums = 0;
  for (let row = 0; row < rows; row++) if (table.flags[row]! & SUMMED) table.sum[row] = sums++;
  const names = Object.keys(table.sums) as (keyof Sums)[];
  for (const name of names) table.sums[name] = new Float64Array(sums);
  for (let at = 0; at < sums; at++) for (const name of names) table.sums[name][at] = integers.next();
  return { head, table };
}

/** Integers in groups of seven bits. */
class Integers {
  constructor(
    private readonly bytes: Uint8Array,
    private at: number,
  ) {}

  next(): number {
    let value = 0;
    let factor = 1;
    for (;;) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) throw new Error("the embedded recording ends too early");
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 128;
    }
  }

  fill<T extends Float64Array | Uint32Array | Uint8Array>(column: T): T {
    for (let i = 0; i < column.length; i++) column[i] = this.next();
    return column;
  }

  differences(column: Float64Array): Float64Array {
    let value = 0;
    for (let i = 0; i < column.length; i++) {
      const zigzag = this.next();
      value += zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
      column[i] = value;
    }
    return column;
  }
}
