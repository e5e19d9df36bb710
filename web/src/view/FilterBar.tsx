// One time range and one filter for every page.
import type { TargetedEvent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useSource } from "../state/asking";
import { show, view } from "../state/view";
import { duration, moment, parseMoment } from "../text/units";

export function useDuration(): number {
  const { opening } = useSource();
  return Math.max(1, opening.recordings[view.value.recording]?.durationNs ?? 1);
}

export function FilterBar() {
  const { range, thread, lock, method, kind, services } = view.value;
  const whole = useDuration();
  const from = range?.from ?? 0;
  const to = range?.to ?? whole;
  const change = (from: number, to: number) => show({ range: from < to ? { from, to } : null });
  const filtered = range || thread || lock || method || kind !== "all" || services;
  return (
    <form class="filters" aria-label="Time range and filter" onSubmit={(event) => event.preventDefault()}>
      <Typed label="from" title="Begin of the time range: 12.5s, 300ms" size={7} value={range ? moment(from, whole) : ""} empty="start"
        onTyped={(text) => (text === "" ? change(0, to) : settle(parseMoment(text), (at) => change(at, to)))} />
      <Typed label="to" title="End of the time range: 12.5s, 300ms" size={7} value={range ? moment(to, whole) : ""} empty="end"
        onTyped={(text) => (text === "" ? change(from, whole) : settle(parseMoment(text), (at) => change(from, Math.min(at, whole))))} />
      <span class="hint" title="Length of the time range that everything below is about">
        {duration(to - from)}
      </span>
      <Typed label="thread" title="Only threads whose name contains this (=name: exactly this)" size={11} value={thread} empty="any"
        onTyped={(text) => show({ thread: text })} />
      <Typed label="lock" title="Only locks whose name or class contains this (=name: exactly this)" size={11} value={lock} empty="any"
        onTyped={(text) => show({ lock: text })} />
      <Typed label="method" title="Only where a method on either call chain contains this" size={11} value={method} empty="any"
        onTyped={(text) => show({ method: text })} />
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
        onClick={() => show({ range: null, thread: "", lock: "", method: "", kind: "all", services: false })}>
        Show all
      </button>
    </form>
  );
}

function settle(value: number | null, use: (value: number) => void): void {
  if (value !== null) use(value);
}

interface TypedProps {
  label: string;
  title: string;
  value: string;
  empty: string;
  size: number;
  onTyped: (text: string) => void;
}

/** A text that counts once typing pauses or ends. */
export function Typed({ label, title, value, empty, size, onTyped }: TypedProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const later = setTimeout(() => onTyped(text), 400);
    return () => clearTimeout(later);
  }, [text]);
  const input = (event: TargetedEvent<HTMLInputElement>) => setText(event.currentTarget.value);
  return (
    <label title={title}>
      {label} <input type="text" size={size} value={text} placeholder={empty} spellcheck={false} autocomplete="off" onInput={input} />
    </label>
  );
}
