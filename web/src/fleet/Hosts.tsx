import { duration } from "../text/units";
import type { Column } from "../view/TreeTable";
import type { ColumnOf } from "./address";
import { Answered } from "./Answered";
import type { HostRow } from "./contract";
import { number, Table, text } from "./Table";
import { address, view } from "./view";

const COLUMNS: Column<HostRow, ColumnOf<"hosts">>[] = [
  { id: "host", title: "host", why: "The host; leads to its locks", width: "minmax(110px, 1.4fr)", value: (row) => row.host,
    cell: (row) => <a class="cut" href={address({ page: "locks" }, { service: row.service, version: row.version, host: row.host })} title={`Locks of ${row.service}, version ${row.version}, on ${row.host}`}>{row.host || "(no name)"}</a> },
  text("service", "service", "What its JVMs are instances of", (row) => row.service),
  text("version", "version", "In which version", (row) => row.version, "minmax(60px, 0.6fr)"),
  number("jvms", "JVMs", "JVMs of the service and version on the host", (row) => row.jvms, undefined, "58px"),
  number("hosts", "of hosts", "Hosts of the service and version: the median is theirs", (row) => row.hosts, undefined, "72px"),
  number("ns_per_s", "blocked per s", "Blocked time per second of running time; unknown if running time is", (row) => row.ns_per_s, duration, "104px"),
  number("median_ns_per_s", "median", "The median of all hosts of the service and version", (row) => row.median_ns_per_s, duration, "88px"),
  { id: "more_ns_per_s", title: "difference", why: "Difference from the median", width: "104px", value: (row) => row.more_ns_per_s ?? 0,
    cell: (row) => <span class="number">{difference(row.more_ns_per_s)}</span> },
  { id: "factor", title: "of median", why: "How many times the median", width: "88px", value: (row) => factor(row) ?? -1,
    cell: (row) => <span class="number">{factor(row)?.toFixed(2) ?? "unknown"}{factor(row) !== null && " x"}</span> },
];

/** `+12.0 ms`. */
export function difference(ns: number | null): string {
  if (ns === null) return "unknown";
  return ns < 0 ? `-${duration(-ns)}` : `+${duration(ns)}`;
}

function factor({ ns_per_s, median_ns_per_s }: HostRow): number | null {
  return ns_per_s === null || !median_ns_per_s ? null : ns_per_s / median_ns_per_s;
}

export function Hosts() {
  return (
    <section class="card">
      <h2 title="Blocked time per second of running time, beside the median of the hosts with the same service and version">Hosts beside the median of their service and version</h2>
      <Answered question={{ ask: "hosts" as const, only: { ...view.value.only, host: null } }}>
        {(answer) => <Table one="host" label="Hosts" from="outlier_hosts" answer={answer} columns={COLUMNS} partsOf={(row) => [row.service, row.version, row.host]} otherwise="-more_ns_per_s" height={560} />}
      </Answered>
      {view.value.only.host !== null && <p class="hint">All hosts are shown, also beside one that is chosen: the median needs them.</p>}
    </section>
  );
}
