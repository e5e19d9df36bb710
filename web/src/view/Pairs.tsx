// Pairs of call stacks, one at a time: the one that the address numbers, or the last where there are fewer.
import type { ComponentChildren } from "preact";

interface Props {
  /** The number of the pair that is wanted, from 0 on. */
  wanted: number;
  /** How many pairs there are, at least one. */
  of: number;
  /** True where there are more than `of`. */
  more?: boolean;
  onGo: (to: number) => void;
  /** What there is to say about the pair that is shown. */
  children: ComponentChildren;
}

/** The pair that is shown instead of one that there is not. */
export function pairAt(wanted: number, of: number): number {
  return Math.min(wanted, Math.max(0, of - 1));
}

/** Which pair is shown, with buttons to those beside it. */
export function PairLine({ wanted, of, more = false, onGo, children }: Props) {
  const at = pairAt(wanted, of);
  return (
    <p class="foot" title="A pair consists of the call stack of a blocked thread and that of the owner. The pair with the most blocked time is the first">
      <button type="button" class="small" disabled={at === 0} aria-label="previous pair" onClick={() => onGo(at - 1)}>◂</button>
      pair of call stacks {at + 1} of {of}{more && " and more"}: {children}
      <button type="button" class="small" disabled={at >= of - 1} aria-label="next pair" onClick={() => onGo(at + 1)}>▸</button>
      {at < wanted && (
        <b class="problem" role="alert">
          There is no pair {wanted + 1}; this is the last. <button type="button" class="small" onClick={() => onGo(0)}>drop it</button>
        </b>
      )}
    </p>
  );
}
