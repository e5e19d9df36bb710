import { withoutPackage } from "../text/frames";
import { duration } from "../text/units";
import { differenceColour } from "../view/colours";
import type { Column } from "../view/TreeTable";
import type { ColumnOf } from "./address";
import { Answered } from "./Answered";
import type { DifferenceRow } from "./contract";
import { difference } from "./Hosts";
import { Regressions } from "./Regressions";
import { number, Table, text } from "./Table";
import { view } from "./view";

const COLUMNS: Column<DifferenceRow, ColumnOf<"versions">>[] = [
  { id: "lock", title: "lock", why: "What the code calls the lock", width: "minmax(130px, 2fr)", value: (row) => row.lock,
    cell: (row) => (
      <span class="cut" title={`${row.lock} (${row.class})`}>
        <i class="swatch" style={{ background: differenceColour(relative(row)) }} /> {withoutPackage(row.lock)}
      </span>
    ) },
  text("service", "service", "Of which service", (row) => row.service, "minmax(60px, 1fr)"),
  text("versions", "versions", "The earlier version and the later one", (row) => `${row.old_version} → ${row.new_version}`, "minmax(80px, 1fr)"),
  number("old_ns_per_s", "before", "Blocked time per second of running time in the earlier version", (row) => row.old_ns_per_s, duration, "80px"),
  number("new_ns_per_s", "after", "The same in the later version", (row) => row.new_ns_per_s, duration, "80px"),
  { id: "more_ns_per_s", title: "difference", why: "Later minus earlier", width: "96px", value: (row) => row.more_ns_per_s ?? 0,
    cell: (row) => <span class="number">{difference(row.more_ns_per_s)}</span> },
];

/** From -1, gone, to 1, new. */
function relative({ old_ns_per_s, new_ns_per_s }: DifferenceRow): number {
  const [before, after] = [old_ns_per_s ?? 0, new_ns_per_s ?? 0];
  return (after - before) / Math.max(before, after, 1e-9);
}

export function Versions() {
  const { only } = view.value;
  return (
    <div class="columns wide">
      <section class="card">
        <h2 title="Blocked time per second of running time, in each version and in the one that appeared before it">Versions compared</h2>
        <p class="hint">Plain differences: chance and load are part of them. Regressions are tested beside.</p>
        {/* Of one version there is nothing to compare. */}
        <Answered question={{ ask: "differences" as const, only: { ...only, version: null } }}>
          {(answer) => <Table one="lock" label="Versions compared" from="regressions" answer={answer} columns={COLUMNS} partsOf={(row) => [row.service, row.new_version, row.class, row.lock]} otherwise="-more_ns_per_s" height={480} />}
        </Answered>
      </section>
      <Regressions service={only.service} />
    </div>
  );
}
