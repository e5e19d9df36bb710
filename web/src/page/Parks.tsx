import { useMemo } from "preact/hooks";
import { HOWS, KINDS, type Groups, type How, type Kind } from "../data/contract";
import { addUp } from "../data/states";
import { hasOnlyMonitorWaits } from "../data/waits";
import { grouping, overTime, scopeOf, useAnswers, useNames, useSource } from "../state/asking";
import { narrow } from "../state/narrow";
import { factsOf } from "../state/opened";
import { WAITS, type ColumnOf } from "../state/pages";
import { address, show, view } from "../state/view";
import { csv, save } from "../text/download";
import { neverText, records } from "../text/options";
import { count, duration, times } from "../text/units";
import { HOW_WORDS } from "../text/words";
import { Chain } from "../view/Chain";
import { COLOURS } from "../view/colours";
import { useDuration } from "../view/FilterBar";
import { LockName } from "../view/LockName";
import { Sparkline } from "../view/Sparkline";
import { TreeTable, type Column } from "../view/TreeTable";
import { ParkStatistics } from "./ParkStatistics";

const INTERVALS = 60;
const MOST = 1000;

/** How a wait ends. Of a contention it is recorded how its owner is known. */
const ENDS: How[] = ["notified", "timed-out", "interrupted", "spurious", "unfinished"];

type Waiting = Exclude<(typeof WAITS)[number], "statistics">;

const MODES: Record<Waiting, [title: string, kinds: Kind[], empty: string, event: string]> = {
  park: ["parks", ["park", "juc"], "No thread parked", "park"],
  wait: ["Object.wait", ["wait"], "No thread was in Object.wait", "monitor"],
};

interface Blocker {
  lock: number;
  name: string;
  total: number;
  count: number;
  max: number;
  threads: number;
  ended: string;
  line: number[];
}

export function Parks() {
  const { recording, mode } = view.value;
  const facts = useSource().opening.recordings[recording];
  const chosen = WAITS.find((one) => one === mode) ?? (hasOnlyMonitorWaits(facts?.entries ?? []) ? "wait" : "statistics");
  return (
    <>
      <section class="card">
        <h2 class="away">Waits</h2>
        <div class="tabs" role="group" aria-label="What waits are shown">
          {WAITS.map((name) => (
            <button key={name} type="button" aria-pressed={name === chosen} onClick={() => show({ mode: name, sort: "", pick: [] }, false)}>{name === "statistics" ? "park statistics" : MODES[name][0]}</button>
          ))}
          {chosen !== "statistics" && <span class="hint">in the chosen range and filter</span>}
        </div>
        {chosen === "statistics" ? <ParkStatistics /> : <Waits key={chosen} mode={chosen} />}
      </section>
      {chosen !== "statistics" && view.value.pick[0]?.by === "lock" && <Waiters lock={view.value.pick[0].key} kinds={MODES[chosen][1]} />}
    </>
  );
}

function Waits({ mode }: { mode: Waiting }) {
  const whole = useDuration();
  const names = useNames(view.value.recording);
  const { recording, services } = view.value;
  const [, kinds, empty, event] = MODES[mode];
  const facts = factsOf(recording);
  const occurred = kinds.some((kind) => (facts?.entries[KINDS.indexOf(kind)] ?? 0) > 0);
  const scope = scopeOf(view.value, whole, kinds);
  const { made, query } = overTime(scope, ["lock"], MOST, INTERVALS);
  const answers = useAnswers(grouping(scope, ["lock", "how"], MOST), grouping(scope, ["lock", "contender-thread"], MOST), query);
  const rows = useMemo(() => answers && blockersOf(answers[0], answers[1], answers[2], made.intervals, (lock) => names.lock(lock).name), [answers]);
  const picked = view.value.pick[0]?.by === "lock" ? view.value.pick[0].key : null;
  const colour = COLOURS[kinds[0]!];
  const columns: Column<Blocker, ColumnOf<"waits">>[] = [
    { id: "name", title: "blocker", why: "The object that threads waited on; a class where the recording names no object", width: "minmax(220px, 1fr)", narrow: "minmax(120px, 1fr)", value: (row) => row.name, cell: (row) => <LockName name={row.name} /> },
    { id: "line", title: "over time", why: "How many threads waited on it, over the range", width: "130px", narrow: "88px", value: () => 0, cell: (row) => <Sparkline values={row.line} colour={colour} label={`Waits on ${row.name} over time`} width={narrow.value ? 76 : 118} /> },
    { id: "count", title: "times", why: "How often a thread began to wait on it", width: "80px", narrow: "58px", value: (row) => row.count, cell: (row) => <span class="number">{count(row.count)}</span> },
    { id: "total", title: "thread time", why: "Time waited, all threads added up", width: "100px", narrow: "88px", value: (row) => row.total, cell: (row) => <span class="number">{duration(row.total)}</span> },
    { id: "average", title: "average", why: "Thread time divided by times", width: "90px", narrow: "72px", value: (row) => row.total / row.count, cell: (row) => <span class="number">{duration(row.total / row.count)}</span> },
    { id: "max", title: "longest", why: "The longest single wait", width: "90px", narrow: "72px", value: (row) => row.max, cell: (row) => <span class="number">{duration(row.max)}</span> },
    { id: "threads", title: "threads", why: "Different threads that waited on it", width: "70px", narrow: "66px", value: (row) => row.threads, cell: (row) => <span class="number">{count(row.threads)}</span> },
    { id: "ended", title: "how it ended", why: "How the waits ended; not shown for locks", width: "minmax(190px, 0.5fr)", narrow: "minmax(100px, 0.8fr)", value: (row) => row.ended, cell: (row) => <span class="cut" title={row.ended}>{row.ended}</span> },
  ];
  if (!rows) return <p aria-busy="true">…</p>;
  if (rows.length === 0) return <p class="empty">{occurred ? `${empty} in this range and filter${services ? "" : "; check “JVM threads” to include the JVM's own threads"}.` : neverText(empty, facts ? records(facts, [event]) : null, event)}</p>;
  return (
    <>
      <TreeTable label="Waits by blocker" rows={rows} columns={columns} idOf={(row) => String(row.lock)} selected={picked === null ? null : String(rows.find((row) => row.name === picked)?.lock)}
        onSelect={(row) => show({ pick: [{ by: "lock", key: row.name }] }, false)} sort={view.value.sort} otherwise="-total" onSort={(next) => show({ sort: next }, false)} height={360} />
      <p class="foot">
        {times(rows.length, "blocker")}
        {answers![0].leftOut > 0 && `; ${count(answers![0].leftOut)} with less time not shown`}
        <button type="button" class="small push" onClick={() => save("parks.csv", "text/csv", csv([["blocker", "times", "thread_time_ns", "longest_ns", "threads"], ...rows.map((row) => [row.name, row.count, row.total, row.max, row.threads])]))}>CSV</button>
      </p>
    </>
  );
}

/** Who waits on one blocker, and from where. */
function Waiters({ lock, kinds }: { lock: string; kinds: Kind[] }) {
  const whole = useDuration();
  const names = useNames(view.value.recording);
  const scope = scopeOf(view.value, whole, kinds, [{ by: "lock", key: lock }]);
  const answers = useAnswers(grouping(scope, ["contender-chain"], 1), grouping(scope, ["contender-group"], 5), grouping(scope, ["owner-group"], 5));
  if (!answers || answers[0].totalNs === 0) return null;
  const list = (groups: Groups) => groups.value.map((group) => names.text(group)).join(", ");
  return (
    <section class="card">
      <h2><code>{lock}</code></h2>
      <p class="hint">
        waiting: {list(answers[1])}; ended by: {list(answers[2])}{" "}
        <a href={address({ page: "threads", lock: `=${lock}` })}>show among the threads</a>
      </p>
      <Chain chain={answers[0].value[0] ?? 0} title={`Where most of the time is waited (${duration(answers[0].total[0] ?? 0)})`} why="The call stack that waits longest on this blocker" unknown="The call stack was not recorded." />
    </section>
  );
}

function blockersOf(byHow: Groups, byThread: Groups, byTime: Groups, intervals: number, name: (lock: number) => string): Blocker[] {
  const found = new Map<number, Blocker>();
  const ends = new Map<number, string[]>();
  const order: number[] = [];
  byHow.value.forEach((value, at) => {
    const parent = byHow.parent[at]!;
    if (parent < 0) {
      order.push(value);
      found.set(value, { lock: value, name: name(value), total: byHow.total[at]!, count: byHow.entries[at]!, max: byHow.max[at]!, threads: 0, ended: "", line: new Array<number>(intervals).fill(0) });
    } else {
      const lock = byHow.value[parent]!;
      const how = HOWS[value]!;
      if (ENDS.includes(how)) ends.set(lock, [...(ends.get(lock) ?? []), `${count(byHow.entries[at]!)} ${HOW_WORDS[how]}`]);
    }
  });
  byThread.parent.forEach((parent) => {
    const blocker = parent < 0 ? undefined : found.get(byThread.value[parent]!);
    if (blocker) blocker.threads++;
  });
  addUp(byTime, 1, ([lock = 0], interval, total) => {
    const blocker = found.get(lock);
    if (blocker) blocker.line[interval] = total;
  });
  for (const [lock, how] of ends) found.get(lock)!.ended = how.join(", ");
  return order.map((lock) => found.get(lock)!);
}
