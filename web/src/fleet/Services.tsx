import { utc } from "../text/clock";
import { duration, percent } from "../text/units";
import { Bar } from "../page/Overview";
import type { Column } from "../view/TreeTable";
import type { ColumnOf } from "./address";
import { Answered } from "./Answered";
import type { ServiceRow } from "./contract";
import { number, Table, text } from "./Table";
import { address, view } from "./view";

const COLUMNS: Column<ServiceRow, ColumnOf<"services">>[] = [
  { id: "service", title: "service", why: "What the JVMs are instances of; leads to its locks", width: "minmax(110px, 1.4fr)", value: (row) => row.service,
    cell: (row) => <a class="cut" href={address({ page: "locks" }, { service: row.service, version: row.version })} title={`Locks of ${row.service}, version ${row.version}`}>{row.service || "(no name)"}</a> },
  text("version", "version", "The version of the service", (row) => row.version, "minmax(60px, 0.8fr)"),
  number("jvms", "JVMs", "JVMs with recordings", (row) => row.jvms, undefined, "60px"),
  number("hosts", "hosts", "Hosts with such JVMs", (row) => row.hosts, undefined, "60px"),
  text("first_us", "first", "The first minute, in UTC", (row) => utc(row.first_us), "138px"),
  text("last_us", "last", "The last minute, in UTC", (row) => utc(row.last_us), "138px"),
  number("running_ns", "running", "Running time: lifetime of platform threads without their waits", (row) => row.running_ns, duration),
  number("blocked_ns", "blocked", "Blocked time of all threads", (row) => row.blocked_ns, duration),
  { id: "blocked_share", title: "share", why: "Blocked time per running time; unknown if running time is", width: "92px", value: (row) => row.blocked_share ?? -1,
    cell: (row) => <span class="number">{row.blocked_share === null ? "unknown" : <>{percent(row.blocked_share)}<Bar part={row.blocked_share} /></>}</span> },
  number("contentions", "contentions", "Contentions on all locks", (row) => row.contentions),
  number("locks", "locks", "Locks that threads were blocked on", (row) => row.locks, undefined, "58px"),
  number("cpu_ns", "CPU", "CPU time of the processes; unknown if no recording has it", (row) => row.cpu_ns, duration),
  number("steal_ns", "steal", "Steal time, an estimate; unknown if no recording has it", (row) => row.steal_ns, duration, "76px"),
  number("dropped", "dropped", "Dropped events and other losses; where there are some, blocked time is too low", (row) => row.dropped, undefined, "72px"),
];

export function Services() {
  return (
    <section class="card">
      <h2>Services and their versions</h2>
      <Answered question={{ ask: "services" as const, only: view.value.only }}>
        {(answer) => <Table one="version" label="Services and their versions" from="services" answer={answer} columns={COLUMNS} partsOf={(row) => [row.service, row.version]} otherwise="-running_ns" height={560} />}
      </Answered>
    </section>
  );
}
