import { shellWord } from "../text/shell";
import { utc } from "../text/clock";
import { withoutPackage } from "../text/frames";
import { duration, percent } from "../text/units";
import { Copy } from "../view/Chain";
import type { Column } from "../view/TreeTable";
import type { ColumnOf } from "./address";
import { Answered } from "./Answered";
import type { PhaseRow } from "./contract";
import { Both } from "./Stacks";
import { number, Table, text } from "./Table";
import { view } from "./view";

const COLUMNS: Column<PhaseRow, ColumnOf<"phases">>[] = [
  text("from_us", "from", "When it began, in UTC", (row) => utc(row.from_us), "138px"),
  number("length", "length", "How long it was", (row) => (row.to_us - row.from_us) * 1000, duration, "76px"),
  text("lock", "lock", "The lock with high pressure", (row) => withoutPackage(row.lock), "minmax(120px, 1.6fr)"),
  text("service", "service", "Of which service", (row) => row.service),
  text("version", "version", "In which version", (row) => row.version, "minmax(50px, 0.6fr)"),
  text("host", "host", "On which host", (row) => row.host ?? "unknown"),
  number("peak", "peak", "Critical section pressure of the worst interval: time threads spent acquiring the lock per running time", (row) => row.peak, percent, "64px"),
  number("mean", "mean", "Critical section pressure of the whole phase", (row) => row.mean, percent, "64px"),
];

function partsOf(row: PhaseRow): string[] {
  return [String(row.from_us), row.service, row.version, row.host ?? "", row.lock];
}

export function Phases() {
  return (
    <Answered question={{ ask: "phases" as const, only: view.value.only }}>
      {(answer) => {
        const { pick } = view.value;
        const row = answer.rows.find((row) => partsOf(row).join("\n") === pick.join("\n")) ?? (pick.length === 0 ? answer.rows[0] : undefined);
        return (
          <div class="columns wide">
            <section class="card">
              <h2 title="Consecutive intervals in which a lock's critical section pressure was high">Phases of high lock pressure</h2>
              <Table one="phase" label="Phases" from="phases" answer={answer} columns={COLUMNS} partsOf={partsOf} otherwise="-peak" height={560} />
            </section>
            <section class="card">{row ? <Phase row={row} /> : <p class="empty">No phase to show.</p>}</section>
          </div>
        );
      }}
    </Answered>
  );
}

function Phase({ row }: { row: PhaseRow }) {
  return (
    <>
      <h2 class="cut" title={row.lock}>{withoutPackage(row.lock)}</h2>
      <p class="hint">
        {utc(row.from_us)} UTC for {duration((row.to_us - row.from_us) * 1000)}: threads spent {percent(row.mean)} of their running time acquiring it, {percent(row.peak)} at worst.
      </p>
      <Both {...row} />
      <h3>The recording</h3>
      <Recording row={row} />
    </>
  );
}

function Recording({ row: { recording, host } }: { row: PhaseRow }) {
  if (!recording) return <p class="empty">It was not kept. Only <code>headway ingest</code> leaves recordings where they are.</p>;
  const command = `headway view ${shellWord(recording)}`;
  return (
    <p>
      On host {host ?? "unknown"}: <code>{command}</code>
      <Copy text={() => command} />
    </p>
  );
}
