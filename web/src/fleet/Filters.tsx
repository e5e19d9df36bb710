// Which rows count: one filter for every page.
import { parseUtc, utc } from "../text/clock";
import { Typed } from "../view/FilterBar";
import { ALL } from "./address";
import { useAnswer } from "./source";
import { narrow, view } from "./view";

const EVERYTHING = { ask: "services" as const, only: ALL };

export function Filters() {
  const { service, version, host, from_us, to_us } = view.value.only;
  const { answer } = useAnswer(EVERYTHING);
  const rows = answer?.rows ?? [];
  const services = distinct([...rows.map((row) => row.service), ...(service === null ? [] : [service])]);
  const versions = distinct([...rows.filter((row) => service === null || row.service === service).map((row) => row.version), ...(version === null ? [] : [version])]);
  const filtered = [service, version, host, from_us, to_us].some((one) => one !== null);
  return (
    <form class="filters" aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
      <Choice label="service" chosen={service} of={services} onChoose={(service) => narrow({ service, version: null })} />
      <Choice label="version" chosen={version} of={versions} onChoose={(version) => narrow({ version })} />
      <Typed label="host" title="Only JVMs on this host: its whole name" size={14} value={host ?? ""} empty="any" onTyped={(text) => narrow({ host: text.trim() || null })} />
      <Typed label="from" title="Only minutes from this time on, in UTC: 2026-11-25 10:00" size={16} value={from_us === null ? "" : utc(from_us)} empty="first"
        wrong={(text) => wrongTime(text, (us) => (to_us !== null && us >= to_us ? `not before the end, ${utc(to_us)}` : ""))}
        onTyped={(text) => narrow({ from_us: parseUtc(text) })} />
      <Typed label="to" title="Only minutes before this time, in UTC: 2026-11-25 11:00" size={16} value={to_us === null ? "" : utc(to_us)} empty="last"
        wrong={(text) => wrongTime(text, (us) => (from_us !== null && us <= from_us ? `not after the begin, ${utc(from_us)}` : ""))}
        onTyped={(text) => narrow({ to_us: parseUtc(text) })} />
      <span class="hint">UTC</span>
      <button type="button" disabled={!filtered} onClick={() => narrow(ALL)}>
        Show all
      </button>
    </form>
  );
}

/** Why a typed time cannot be used: it is none, or what `order` has against it; empty text stands for the first or the last. */
function wrongTime(text: string, order: (us: number) => string): string {
  if (text.trim() === "") return "";
  const us = parseUtc(text);
  return us === null ? "not a time such as 2026-11-25 10:00" : order(us);
}

function distinct(names: string[]): string[] {
  return [...new Set(names)].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
}

function Choice({ label, chosen, of, onChoose }: { label: string; chosen: string | null; of: string[]; onChoose: (name: string | null) => void }) {
  // Names are numbered: one may be empty.
  return (
    <label>
      {label}{" "}
      <select value={chosen === null ? "" : String(of.indexOf(chosen))} onChange={({ currentTarget: { value } }) => onChoose(value === "" ? null : (of[Number(value)] ?? null))}>
        <option value="">all</option>
        {of.map((name, at) => (
          <option key={name} value={String(at)}>{name || "(no name)"}</option>
        ))}
      </select>
    </label>
  );
}
