// A call stack, leaf first; runs of the JDK's own frames are folded.
import { useState } from "preact/hooks";
import { useNames } from "../state/asking";
import { ALL_STACKS } from "../state/address";
import { address, view } from "../state/view";
import { parts, split } from "../text/frames";
import type { NameBook } from "../data/names";

export function chainText(names: NameBook, chain: number): string {
  const frames = names.chain(chain);
  return frames.length === 0 ? "unknown" : frames.map((frame) => names.frameText(frame)).join("\n");
}

interface Props {
  chain: number;
  title: string;
  /** One sentence that explains the chain. */
  why: string;
  unknown: string;
}

export function Chain({ chain, title, why, unknown }: Props) {
  const names = useNames(view.value.recording);
  const frames = names.chain(chain);
  const shown = parts(frames, (frame) => names.frame(frame).jdk);
  return (
    <section class="chain">
      <h3 title={why}>
        {title}
        {frames.length > 0 && <Copy text={() => chainText(names, chain)} />}
      </h3>
      {frames.length === 0 && <p class="empty">{unknown}</p>}
      <ol>
        {shown.map((part, place) => (part.folded ? <Folded key={place} frames={part.frames} /> : <Frame key={place} frame={part.frames[0]!} />))}
      </ol>
    </section>
  );
}

function Folded({ frames }: { frames: number[] }) {
  const [open, setOpen] = useState(false);
  if (open) return <>{frames.map((frame, place) => <Frame key={place} frame={frame} />)}</>;
  return (
    <li>
      <button type="button" class="fold" title="Show the JDK's own frames" onClick={() => setOpen(true)}>
        … {frames.length} frames of the JDK
      </button>
    </li>
  );
}

function Frame({ frame }: { frame: number }) {
  const names = useNames(view.value.recording);
  const { method, line, file, jdk, source } = names.frame(frame);
  return (
    <li class={jdk ? "jdk" : ""} title={`${names.frameText(frame)}${file ? ` (${file})` : ""}`}>
      <Method name={names.text(method)} href={address({ ...ALL_STACKS, page: "profile", sandwich: names.text(method) })} />
      {line > 0 && <span class="lineno">:{line}</span>}
      {source && <code class="source">{source}</code>}
    </li>
  );
}

/** A method, its package apart; `href` leads to its callers and callees. */
export function Method({ name, href }: { name: string; href?: string }) {
  const [before, after] = split(name);
  return (
    <>
      <span class="package">{before}</span>
      <wbr />
      {href ? <a class="method quiet" title="Show what called the method and what it called" href={href}>{after}</a> : <span class="method">{after}</span>}
    </>
  );
}

export function Copy({ text, label = "copy" }: { text: () => string; label?: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await copyText(text());
    setDone(true);
    setTimeout(() => setDone(false), 1200);
  };
  return (
    <button type="button" class="small" title="Copy as text" onClick={copy}>
      {done ? "copied" : label}
    </button>
  );
}

/** Copies. A page from a file has no clipboard in some browsers; then the old way works. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
