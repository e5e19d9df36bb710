// Park statistics of the whole recording: how much threads parked on each blocker.
import { useMemo } from "preact/hooks";
import type { Blocker } from "../data/contract";
import type { NameBook } from "../data/names";
import { actOf } from "../data/owning";
import { linesOver } from "../data/spent";
import { filterOf, overTime, useAnswers, useNames } from "../state/asking";
import { narrow } from "../state/narrow";
import { factsOf } from "../state/opened";
import type { ColumnOf } from "../state/pages";
import { show, view } from "../state/view";
import { csv, save } from "../text/download";
import { split } from "../text/frames";
import { neverText, records } from "../text/options";
import { PARK_WORDS } from "../text/parks";
import { count, duration, percent, times } from "../text/units";
import { Chain } from "../view/Chain";
import { COLOURS } from "../view/colours";
import { useDuration } from "../view/FilterBar";
import { LockName } from "../view/LockName";
import { Sparkline } from "../view/Sparkline";
import { TreeTable, type Column } from "../view/TreeTable";

const INTERVALS = 60;

export function ParkStatistics() {
  const whole = useDuration();
  const { recording, pick, lock } = view.value;
  const names = useNames(recording);
  const scope = { recording, from: 0, to: whole, filter: { ...filterOf(view.value), thread: "", method: "", services: true }, kinds: ["park" as const, "juc" as const], within: [] };
  const { made, query } = overTime(scope, ["lock"], 1000, INTERVALS);
  const answers = useAnswers({ ask: "whole" as const, recording }, query);
  const lines = useMemo(() => (answers ? linesOver(answers[1], made.intervals) : new Map<number, number[]>()), [answers]);
  if (!answers) return <p aria-busy="true">…</p>;
  const { executionNs, blockers, leftOut } = answers[0].whole.parks;
  const wanted = lock.replace(/^=/, "").toLowerCase();
  const facts = factsOf(recording);
  const rows = blockers.filter((row) => names.lock(row.lock).name.toLowerCase().includes(wanted));
  const columns = columnsOf(names, lines);
  const picked = rows.find((row) => pick[0]?.by === "lock" && pick[0].key === names.lock(row.lock).name);
  if (rows.length === 0) {
    return <p class="empty">{blockers.length > 0 ? "No blocker of this name." : neverText("No thread parked", facts ? records(facts, ["park"]) : null, "park")}</p>;
  }
  return (
    <>
      <TreeTable label="Park statistics by blocker" rows={rows} columns={columns} idOf={(row) => String(row.lock)} selected={picked ? String(picked.lock) : null}
        onSelect={(row) => show({ pick: [{ by: "lock", key: names.lock(row.lock).name }] }, false)} sort={view.value.sort} otherwise="-threadTime" onSort={(next) => show({ sort: next }, false)} height={330} />
      <p class="foot">
        {times(rows.length, "blocker")} over {duration(executionNs)}; the whole recording, whatever the range; point at a number or a column title to see what it means{narrow.value && "; a wider window has more columns"}
        {leftOut > 0 && `; ${count(leftOut)} with less parked time not shown`}
        <button type="button" class="small push" title="Download as CSV" onClick={() => save("park-statistics.csv", "text/csv", csv(tableOf(rows, names)))}>CSV</button>
      </p>
      {picked && (
        <Chain chain={picked.chain} title={`Where ${names.thread(picked.thread).name} parked on ${names.lock(picked.lock).short}`} why="Thread and call stack of the first park that was measured"
          unknown="The call stack was not recorded." />
      )}
    </>
  );
}

type Id = ColumnOf<"statistics">;

const IDLE = ". “idle”: the thread waited for work in its pool";

/** The mark of idle threads, in the column of threads, or of methods where a narrow window has none of threads. */
function idleMark({ idle }: Blocker): string {
  return idle ? "idle: " : "";
}

function columnsOf(names: NameBook, lines: Map<number, number[]>): Column<Blocker, Id>[] {
  const text = (id: Id, title: string, why: string, width: string, small: string | null, value: (row: Blocker) => string): Column<Blocker, Id> => ({
    id, title, why, width, narrow: small, value, cell: (row) => <span class="cut" title={value(row)}>{value(row)}</span>,
  });
  const number = (id: keyof Blocker & keyof typeof PARK_WORDS & Id, width: string, small: string | null, format: (value: number) => string): Column<Blocker, Id> => {
    const [title, why] = PARK_WORDS[id];
    return { id, title, why, width, narrow: small, value: (row) => (row[id] as number | null) ?? -1, cell: (row) => <span class="number" title={why}>{shown(row[id] as number | null, format)}</span> };
  };
  const shown = (value: number | null, format: (value: number) => string) => (value === null ? "" : format(value));
  return [
    { id: "name", title: "blocker", why: "What the code calls the object that threads parked on, then its class and identity hash code; packages are in the CSV file", width: "minmax(200px, 3fr)", narrow: "minmax(110px, 2fr)",
      value: (row) => names.lock(row.lock).name, cell: (row) => <LockName name={names.lock(row.lock).name} /> },
    text("method", "in", "Where the first park that was measured was: the innermost method of the application; its call stack is below the table" + (narrow.value ? IDLE : ""), "minmax(110px, 2fr)", "minmax(80px, 1.4fr)",
      (row) => (narrow.value ? idleMark(row) : "") + methodOf(row, names)),
    text("thread", "thread", `The thread whose park was measured first; its call stack is below the table${IDLE}`, "minmax(70px, 0.8fr)", null, (row) => idleMark(row) + names.threadText(row.thread)),
    { id: "line", title: "over time", why: "How many threads were parked on it, over the recording", width: "84px", narrow: null, value: () => 0,
      cell: (row) => <Sparkline values={lines.get(row.lock) ?? []} colour={COLOURS.park} label={`Parks on ${names.lock(row.lock).short} over time`} width={78} /> },
    number("times", "62px", "52px", count),
    number("now", "44px", null, count),
    number("peak", "46px", "46px", count),
    number("threadTime", "74px", "66px", duration),
    number("realTime", "70px", "64px", duration),
    number("averagePark", "68px", "64px", duration),
    number("averageHold", "68px", "64px", duration),
    number("realUse", "64px", "60px", percent),
    number("threadUse", "62px", "62px", percent),
    number("realLifeUse", "62px", null, percent),
    number("threadLifeUse", "78px", null, percent),
  ];
}

/** The innermost method of the application that parked, or that of the JDK if there is none: as short as the column is. */
function methodOf({ chain }: Blocker, names: NameBook): string {
  const { leaf, own } = actOf(names.chain(chain), names);
  const frame = own ?? leaf;
  return frame === undefined ? "" : split(names.text(names.frame(frame).method))[1].replace(/^.*\$(?=\w+\.)/, "");
}

function tableOf(rows: Blocker[], names: NameBook): (string | number)[][] {
  const head = ["blocker", "class", "hash", "thread", "parks", "now", "peak", "thread_time_ns", "real_time_ns", "avg_park_ns", "avg_hold_ns", "real_util", "thread_util", "real_life_util", "thread_life_util", "chain"];
  const lines = rows.map((row) => [
    names.lock(row.lock).name, names.text(names.lock(row.lock).class), row.hash, names.threadText(row.thread), row.times, row.now, row.peak, row.threadTime, row.realTime ?? "",
    row.averagePark, row.averageHold ?? "", row.realUse ?? "", row.threadUse, row.realLifeUse ?? "", row.threadLifeUse, names.chain(row.chain).map((frame) => names.frameText(frame)).join(" < "),
  ]);
  return [head, ...lines];
}
