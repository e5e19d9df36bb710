// Transactions by kind: how long they took, and where that time went.
import { useMemo } from "preact/hooks";
import type { Scope, Transactions as TransactionRow } from "../data/contract";
import { linesOver } from "../data/spent";
import { offCpuOf } from "../data/steal";
import { overTime, scopeOf, useAnswers, useNames } from "../state/asking";
import { factsOf } from "../state/opened";
import { narrow } from "../state/narrow";
import type { ColumnOf } from "../state/pages";
import { show, view } from "../state/view";
import { csv, save } from "../text/download";
import { count, duration, percent, times } from "../text/units";
import { COLOURS } from "../view/colours";
import { useDuration } from "../view/FilterBar";
import { Sparkline } from "../view/Sparkline";
import { TreeTable, type Column } from "../view/TreeTable";

const SPARKS = 60;

export function Transactions({ rows }: { rows: TransactionRow[] }) {
  const whole = useDuration();
  const names = useNames(view.value.recording);
  const scope: Scope = { ...scopeOf(view.value, whole, ["transaction"]), from: 0, to: whole };
  const { made, query } = overTime(scope, ["lock-name"], 1000, SPARKS);
  const answers = useAnswers(query);
  const lines = useMemo(() => {
    const found = answers ? linesOver(answers[0], made.intervals) : new Map<number, number[]>();
    return new Map([...found].map(([value, line]) => [names.text(value), line]));
  }, [answers]);
  const [tab = "", order = ""] = view.value.mode.split(".");
  return (
    <section class="card">
      <h2 title="Reported by the program with Headway.transaction: the whole recording">Transactions{view.value.range && " of the whole recording"}</h2>
      {rows.length === 0 ? (
        <p class="empty">
          No transaction was recorded. With <code>Headway.transaction("name")</code> of the Java API the program says where a request begins and ends.
        </p>
      ) : (
        <>
          <TreeTable label="Transactions by kind" rows={rows} columns={columnsOf(lines)} idOf={(row) => row.name} selected={null} sort={order} otherwise="-wall" onSort={(next) => show({ mode: `${tab}.${next}` }, false)} height={230} />
          <p class="foot">
            {times(rows.length, "kind")} of transactions
            {rows.some((row) => row.notEnded > 0) && `; ${count(rows.reduce((sum, row) => sum + row.notEnded, 0))} were never seen to end and are left out`}
            {(factsOf(view.value.recording)?.instants ?? 0) > 0 && "; the recording is sampled: blocked, parked and waited have only what was recorded one by one"}
            {rows.some((row) => row.withoutCpu > 0) && `; of ${count(rows.reduce((sum, row) => sum + row.withoutCpu, 0))} the CPU time is not known`}
            {narrow.value && "; a wider window has more columns"}
            <button type="button" class="small push" title="Download as CSV" onClick={() => save("transactions.csv", "text/csv", csv(tableOf(rows)))}>CSV</button>
          </p>
        </>
      )}
    </section>
  );
}

type Id = ColumnOf<"transactions">;

/** Columns for which there is room in a narrow window. */
const IN_NARROW: Id[] = ["count", "p50", "p99", "wall", "cpu", "blocked", "parked", "queued", "offCpu"];

function columnsOf(lines: Map<string, number[]>): Column<TransactionRow, Id>[] {
  const number = (id: Id, title: string, why: string, value: (row: TransactionRow) => number, format = duration, width = "68px"): Column<TransactionRow, Id> => ({
    id, title, why, width, narrow: IN_NARROW.includes(id) ? width : null, value, cell: (row) => <span class="number">{format(value(row))}</span>,
  });
  return [
    { id: "name", title: "transaction", why: "What the program calls it", width: "minmax(110px, 1fr)", value: (row) => row.name, cell: (row) => <span class="cut" title={row.name}>{row.name}</span> },
    { id: "line", title: "over time", why: "How many were under way, over the recording", width: "100px", narrow: null, value: () => 0, cell: (row) => <Sparkline values={lines.get(row.name) ?? []} colour={COLOURS.transaction} label={`${row.name} over time`} width={92} /> },
    number("count", "count", "How many ended", (row) => row.count, count),
    number("p50", "median", "Half took no longer than this", (row) => row.wall.p50),
    number("p99", "99 %", "99 of 100 took no longer than this", (row) => row.wall.p99),
    number("max", "longest", "The longest", (row) => row.wall.max),
    number("wall", "all", "How long all took together", (row) => row.wall.total),
    number("cpu", "on CPU", "CPU time of all, without steal", (row) => row.corrected),
    number("blocked", "blocked", "Time blocked acquiring monitors and j.u.c. locks, of all", (row) => row.blocked),
    number("parked", "parked", "Time parked for anything else, of all", (row) => row.parked),
    number("waited", "waited", "Time in Object.wait, of all", (row) => row.waited),
    number("steal", "steal", "Time in which the hypervisor ran another virtual machine, of all", (row) => row.steal),
    number("throttled", "quota", "Time the quota held them back, of all", (row) => row.throttled),
    number("queued", "run queue", "Time ready and waiting for a CPU, of all", (row) => row.queued),
    number("offCpu", "off-CPU", "Runnable but off-CPU time, as part of their duration", (row) => offCpuOf(row) / Math.max(1, row.wall.total), percent, "58px"),
    number("offCpu99", "off-CPU 99%", "99 of 100 were runnable but off-CPU for no more than this", (row) => row.offCpu.p99),
  ];
}

function tableOf(rows: TransactionRow[]): (string | number)[][] {
  const head = ["transaction", "count", "p50_ns", "p90_ns", "p99_ns", "max_ns", "wall_ns", "cpu_ns", "blocked_ns", "parked_ns", "waited_ns", "steal_ns", "throttled_ns", "run_queue_ns", "off_cpu_p99_ns", "not_ended"];
  const lines = rows.map((row) => [
    row.name, row.count, row.wall.p50, row.wall.p90, row.wall.p99, row.wall.max, row.wall.total, row.corrected, row.blocked, row.parked, row.waited, row.steal, row.throttled, row.queued, row.offCpu.p99, row.notEnded,
  ]);
  return [head, ...lines];
}
