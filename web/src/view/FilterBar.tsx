// One time range and one filter for every page.
import type { TargetedEvent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { isFiltered, NO_FILTER } from "../state/address";
import { baseOf, rangeOf, useSource } from "../state/asking";
import { factsOf } from "../state/opened";
import { show, view } from "../state/view";
import { duration, moment, parseMoment, times, wrongBegin, wrongEnd } from "../text/units";

export function useDuration(): number {
  const { opening } = useSource();
  return Math.max(1, opening.recordings[view.value.recording]?.durationNs ?? 1);
}

export function FilterBar() {
  const { range, thread, lock, method, kind, services, recording } = view.value;
  const whole = useDuration();
  const base = baseOf(recording);
  const folded = factsOf(recording)?.foldedThreads ?? 0;
  const { from, to } = rangeOf(view.value, whole);
  const change = (from: number, to: number) => show({ range: from < to ? { from, to } : null });
  const filtered = range !== null || isFiltered(view.value);
  return (
    <form class="filters" aria-label="Time range and filter" onSubmit={(event) => event.preventDefault()}>
      <Typed label="from" title="Begin of the time range: 12.5s, 300ms" size={7} value={range ? moment(from, whole) : ""} empty="start"
        wrong={(text) => wrongBegin(text, to, whole)}
        onTyped={(text) => change(parseMoment(text) ?? 0, to)} />
      <Typed label="to" title="End of the time range: 12.5s, 300ms" size={7} value={range ? moment(to, whole) : ""} empty="end"
        wrong={(text) => wrongEnd(text, from, whole)}
        onTyped={(text) => change(from, Math.min(parseMoment(text) ?? whole, whole))} />
      <span class="hint" title={`Length of the time range that everything below is about${base > 0 ? `. Short contentions are added up by intervals of ${duration(base)}; a range of whole intervals is exact` : ""}`}>
        {duration(to - from)}
        {base > 0 && range && `, in steps of ${duration(base)}`}
      </span>
      <Typed label="thread" title="Only threads whose name contains this (=name: exactly this)" size={11} value={thread} empty="any"
        onTyped={(text) => show({ thread: text })} />
      <Typed label="lock" title="Only locks whose name or class contains this (=name: exactly this)" size={11} value={lock} empty="any"
        onTyped={(text) => show({ lock: text })} />
      <Typed label="method" title="Only where a method on either call stack contains this" size={11} value={method} empty="any"
        onTyped={(text) => show({ method: text })} />
      {thread !== "" && folded > 0 && (
        <span class="hint" title="Their time is in the row of the other threads of their group, which a filter by thread does not show">
          short contentions of {times(folded, "thread")} are not kept apart
        </span>
      )}
      <label title="Which locks count as contention">
        kind{" "}
        <select value={kind} onChange={(event) => show({ kind: event.currentTarget.value as typeof kind })}>
          <option value="all">all locks</option>
          <option value="monitor">monitors</option>
          <option value="juc">j.u.c. locks</option>
        </select>
      </label>
      <label title="Count the JVM's own threads in waits and samples too">
        <input type="checkbox" checked={services} onChange={(event) => show({ services: event.currentTarget.checked })} /> JVM threads
      </label>
      <button type="button" disabled={!filtered}
        onClick={() => show({ range: null, ...NO_FILTER })}>
        Show all
      </button>
    </form>
  );
}

interface TypedProps {
  label: string;
  title: string;
  value: string;
  empty: string;
  size: number;
  onTyped: (text: string) => void;
  /** What is wrong with a text, in words; empty if nothing is. */
  wrong?: (text: string) => string;
}

/** A text that counts once typing pauses or ends. */
export function Typed({ label, title, value, empty, size, onTyped, wrong }: TypedProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const problem = text === value ? "" : (wrong?.(text) ?? "");
  useEffect(() => {
    if (text === value || problem !== "") return;
    const later = setTimeout(() => onTyped(text), 400);
    return () => clearTimeout(later);
  }, [text]);
  const input = (event: TargetedEvent<HTMLInputElement>) => setText(event.currentTarget.value);
  return (
    <label title={title}>
      {label} <input type="text" aria-invalid={problem !== ""} size={size} value={text} placeholder={empty} spellcheck={false} autocomplete="off" onInput={input} />
      {problem !== "" && (
        <span class="wrong" role="alert">
          {" "}
          {problem}
        </span>
      )}
    </label>
  );
}
