import { utc } from "../text/clock";
import { duration, mean, percent, times } from "../text/units";
import { withoutPackage } from "../text/frames";
import { COLOURS, PALETTE } from "../view/colours";
import { Plot, type Series } from "../view/Plot";
import type { Column } from "../view/TreeTable";
import { Bar } from "../page/Overview";
import { CHARTS, type ColumnOf } from "./address";
import { Answered } from "./Answered";
import type { LockJvmsRow, LockOf, LockRow, OverTime, Rows } from "./contract";
import { useAnswer } from "./source";
import { Pairs } from "./Stacks";
import { number, Table, text } from "./Table";
import { narrow, show, view } from "./view";

/** Locks that have a colour. */
const WORST = 5;

export function Locks() {
  return <Answered question={{ ask: "locks" as const, only: view.value.only }}>{(answer) => <Shown answer={answer} />}</Answered>;
}

/** The number of JVMs comes later: it needs minutes, and everything else is known from hours. */
function Shown({ answer }: { answer: Rows<LockRow> }) {
  const jvms = useAnswer({ ask: "lock-jvms" as const, only: view.value.only });
  const counted = new Map((jvms.busy ? [] : (jvms.answer?.rows ?? [])).map((row) => [partsOf(row).join("\n"), row.jvms]));
  const jvmsOf = (row: LockRow) => counted.get(partsOf(row).join("\n"));
  return (
    <>
      <Chart rows={answer.rows} />
      <div class="columns wide">
        <section class="card" aria-busy={jvms.busy}>
          <h2 title="Blocked time of all threads of a service and version">Locks</h2>
          <Table one="lock" label="Locks" from="top_sites" answer={answer} columns={[...columnsOf(worst(answer.rows)), jvmsColumn(jvmsOf, jvms.busy)]} partsOf={partsOf} otherwise="-blocked_ns" height={430} />
          {jvms.problem && <p class="problem" role="alert">JVMs: {jvms.problem}</p>}
        </section>
        <section class="card">
          <Selected answer={answer} />
        </section>
      </div>
    </>
  );
}

function jvmsColumn(jvmsOf: (row: LockRow) => number | undefined, busy: boolean): Column<LockRow, ColumnOf<"locks">> {
  const column = number<LockRow, ColumnOf<"locks">>("jvms", "JVMs", "JVMs in which threads were blocked on it", jvmsOf, undefined, "52px");
  return busy ? { ...column, cell: () => <span class="number">…</span> } : column;
}

function partsOf(row: LockJvmsRow | LockRow): string[] {
  return [row.service, row.version, row.site];
}

/** Locks with most blocked time, whatever their version. */
function worst(rows: LockRow[]): (LockOf & { lock: string })[] {
  const sums = new Map<string, { service: string; site: string; lock: string; ns: number }>();
  for (const { service, site, lock, blocked_ns } of rows) {
    const key = `${site} ${service}`;
    const sum = sums.get(key) ?? { service, site, lock, ns: 0 };
    sums.set(key, { ...sum, ns: sum.ns + blocked_ns });
  }
  return [...sums.values()].sort((a, b) => b.ns - a.ns).slice(0, WORST);
}

function columnsOf(coloured: LockOf[]): Column<LockRow, ColumnOf<"locks">>[] {
  const colour = (row: LockRow) => PALETTE[coloured.findIndex(({ service, site }) => service === row.service && site === row.site)];
  return [
    { id: "lock", title: "lock", why: "What the code calls the lock; its class if it has no name", width: "minmax(130px, 2fr)", value: (row) => row.lock,
      cell: (row) => (
        <span class="cut" title={`${row.lock} (${row.kind}, ${row.class})`}>
          <i class="swatch" style={{ background: colour(row) ?? "transparent" }} /> {withoutPackage(row.lock)}
        </span>
      ) },
    text("service", "service", "Whose lock", (row) => row.service, "minmax(60px, 1fr)"),
    text("version", "version", "In which version", (row) => row.version, "minmax(50px, 0.6fr)"),
    number("blocked_ns", "blocked", "Blocked time of all threads", (row) => row.blocked_ns, duration, "76px"),
    { id: "blocked_share", title: "share", why: "Blocked time per running time of the service and version; unknown if running time is", width: "80px", value: (row) => row.blocked_share ?? -1,
      cell: (row) => <span class="number">{row.blocked_share === null ? "unknown" : <>{percent(row.blocked_share)}<Bar part={row.blocked_share} /></>}</span> },
    number("contentions", "contentions", "How often a thread was blocked", (row) => row.contentions, undefined, "82px"),
    number("max_ns", "max", "The longest contention", (row) => row.max_ns, duration, "68px"),
  ];
}

const TITLES: Record<(typeof CHARTS)[number], string> = { threads: "Threads blocked", share: "Share of running time" };

function Chart({ rows }: { rows: LockRow[] }) {
  const locks = worst(rows);
  const mode = view.value.mode || "threads";
  if (rows.length === 0) return null;
  return (
    <section class="card">
      <h2 title="The locks with most blocked time; drag to choose a time range">Locks over time</h2>
      <div class="tabs" role="group" aria-label="What the chart shows">
        {CHARTS.map((name) => (
          <button key={name} type="button" aria-pressed={mode === name} onClick={() => show({ mode: name === "threads" ? "" : name })}>
            {TITLES[name]}
          </button>
        ))}
      </div>
      <Answered question={{ ask: "over-time" as const, only: view.value.only, locks: locks.map(({ service, site }) => ({ service, site })) }}>
        {(answer) => <Lines over={answer} names={namesOf(locks)} share={mode === "share"} />}
      </Answered>
    </section>
  );
}

/** With the service, unless all are of one. */
function namesOf(locks: { service: string; lock: string }[]): string[] {
  const several = new Set(locks.map(({ service }) => service)).size > 1;
  return locks.map(({ service, lock }) => `${withoutPackage(lock)}${several ? ` (${service})` : ""}`);
}

const BUCKETS: Record<number, string> = { 60_000_000: "minute", 3_600_000_000: "hour", 86_400_000_000: "day" };

function Lines({ over, names, share }: { over: OverTime; names: string[]; share: boolean }) {
  const { first_us, bucket_us, locks_ns, all_ns, running_ns } = over;
  const bucket = BUCKETS[bucket_us] ?? duration(bucket_us * 1000);
  // Blocked time per wall time is the number of threads that are blocked, on average.
  const part = (ns: number, at: number) => (share ? (running_ns[at] ? ns / running_ns[at] : 0) : ns / (bucket_us * 1000));
  const rest = all_ns.map((all, at) => Math.max(0, locks_ns.reduce((left, line) => left - (line[at] ?? 0), all)));
  const line = (label: string, colour: string, values: number[]): Series => ({ label, colour, values: values.map(part) });
  const series = [...locks_ns.map((values, at) => line(names[at] ?? "", PALETTE[at % PALETTE.length]!, values)), line("all other locks", COLOURS.alive, rest)];
  const times = Array.from({ length: all_ns.length + 1 }, (_, at) => (first_us + at * bucket_us) * 1000);
  const most = all_ns.map(part).reduce((most, value, at) => (value > most.value ? { value, at } : most), { value: 0, at: 0 });
  const format = share ? percent : mean;
  const brushed = (range: { from: number; to: number } | null) => {
    const minute = (ns: number) => Math.round(ns / 60e9) * 60_000_000;
    if (range && minute(range.from) < minute(range.to)) narrow({ from_us: minute(range.from), to_us: minute(range.to) });
  };
  return (
    <>
      <div class="legend">
        {series.map(({ label, colour }) => (
          <span key={label}><i class="swatch" style={{ background: colour }} /> {label}</span>
        ))}
      </div>
      <Plot label={`${share ? "Blocked time per running time" : "Threads blocked on average"}, for each ${bucket}`} times={times} series={series} stacked height={190} range={null} onBrush={brushed} format={format} clock />
      <p class="foot">
        {share ? "Blocked time per running time" : "Threads blocked on average"}, all JVMs together, for each {bucket}. Most: {format(most.value)} at {utc(first_us + most.at * bucket_us)} UTC.
      </p>
    </>
  );
}

/** The selected lock, or the first. */
function Selected({ answer: { rows } }: { answer: Rows<LockRow> }) {
  const { pick, only } = view.value;
  const row = rows.find((row) => partsOf(row).join("\n") === pick.join("\n"));
  const [service, version, site] = pick.length === 3 ? pick : rows[0] ? partsOf(rows[0]) : [];
  if (service === undefined || version === undefined || site === undefined) return <p class="empty">No lock to show.</p>;
  const named = row ?? (pick.length === 3 ? undefined : rows[0]);
  return (
    <>
      <h2 class="cut" title={named?.lock}>{named ? withoutPackage(named.lock) : "The selected lock"}</h2>
      {named ? (
        <p class="hint">
          {named.kind === "juc" ? "j.u.c. lock" : named.kind} of {service}, version {version}: {duration(named.blocked_ns)} blocked in {times(named.contentions, "contention")}, {duration(named.handoff_ns)} of it hand-off, {duration(named.unknown_ns)} with an unknown owner.
        </p>
      ) : (
        <p class="hint">It is not among these rows.</p>
      )}
      <Answered question={{ ask: "stacks" as const, only: { ...only, version }, lock: { service, site } }}>{(answer) => <Pairs answer={answer} />}</Answered>
    </>
  );
}
