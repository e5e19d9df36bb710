// How far blocked time by owner and call stack may be off: the rows of the analysis of the
// whole recording, found by what the page shows. Nothing is computed here.
import type { Aspect, Estimates } from "./contract";

/** A time that was estimated, and its interval of 95 %. */
export interface Estimate {
  low: number;
  high: number;
  /** Random instants at which it was seen. */
  instants: number;
}

/** What a table or a sentence has of a row. */
export interface Shown {
  /** With pauses of the VM. */
  total: number;
  /** The pauses. */
  stopped: number;
}

export class EstimateBook {
  #rows = new Map<string, number[]>();

  constructor(private readonly estimates: Estimates) {
    const paths: number[][] = [];
    estimates.value.forEach((value, row) => {
      const path = [...(paths[estimates.parent[row]!] ?? []), value];
      paths.push(path);
      this.#add(path.join("/"), row);
      if (path.length === estimates.by.length) this.#add(`pair ${path.slice(-2).join("/")}`, row);
    });
  }

  #add(name: string, row: number): void {
    const rows = this.#rows.get(name);
    if (rows) rows.push(row);
    else this.#rows.set(name, [row]);
  }

  /** Rows that have less time than all that are known. */
  get leftOut(): number {
    return this.estimates.leftOut;
  }

  /** Of the values of the first aspects of `by`; null where the time is exact, or not that of the whole recording. */
  of(by: readonly Aspect[], path: number[], shown: Shown): Estimate | null {
    const known = path.every((_, level) => by[level] === this.estimates.by[level]);
    return known ? this.#find(path.join("/"), shown) : null;
  }

  /** Of a waiter's and an owner's call stack. */
  ofPair(contender: number, owner: number, shown: Shown): Estimate | null {
    return this.#find(`pair ${contender}/${owner}`, shown);
  }

  /** A range or a filter leaves another time than the analysis of the whole recording has: that has no interval. */
  #find(name: string, { total, stopped }: Shown): Estimate | null {
    const { total: totals, low, high, instants } = this.estimates;
    const row = this.#rows.get(name)?.find((row) => totals[row] === total - stopped);
    return row === undefined || instants[row] === 0 ? null : { low: low[row]! + stopped, high: high[row]! + stopped, instants: instants[row]! };
  }
}
