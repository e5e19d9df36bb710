import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Aspect, Groups, Kind } from "../data/contract";
import type { Estimate, EstimateBook } from "../data/estimates";
import { ASPECTS, pathOf, stepsOf } from "../state/address";
import { grouping, MOST_STACKS, scopeOf, stacksIn, useAnswers, useEstimates, useNames } from "../state/asking";
import { estimatedOrder, PANELS, type ColumnOf } from "../state/pages";
import { show, view } from "../state/view";
import { csv, save } from "../text/download";
import { between, count, duration, percent, times } from "../text/units";
import { ASPECT_WORDS } from "../text/words";
import { Chain, Copy } from "../view/Chain";
import { useDuration } from "../view/FilterBar";
import { byType } from "../view/Flame";
import { Narrowed } from "../view/Narrowed";
import { pairAt, PairLine } from "../view/Pairs";
import { Between, Sampled } from "../view/Sampled";
import { StackGraph } from "../view/StackGraph";
import { keyOf } from "../data/keys";
import { Longest } from "../view/Longest";
import { TreeTable, type Column } from "../view/TreeTable";
import { Inside, INSIDE_WHY, NoSample } from "./Inside";
import { Bar, NoBlockedTime } from "./Overview";
import { keepOpen, useTree, type Tree, type TreeRow } from "./tree";

type Id = ColumnOf<"locks">;

const COLUMNS: Column<TreeRow, Id>[] = [
  { id: "text", title: "what", why: "Value of the aspect of this level", width: "minmax(200px, 1fr)", value: (row) => row.text,
    cell: (row) => <span class={`cut ${row.rest ? "hint" : ""}`} title={row.full}>{row.text}</span> },
  { id: "total", title: "total", why: "Time threads were blocked, all threads added up", width: "82px", value: (row) => row.total,
    cell: (row) => <span class="number">{duration(row.total)}</span> },
  { id: "share", title: "share", why: "Part of all blocked time in the range and filter", width: "96px", value: (row) => row.share,
    cell: (row) => <span class="number">{percent(row.share)}<Bar part={row.share} /></span> },
  { id: "count", title: "count", why: "Contentions with time in this row", width: "70px", value: (row) => row.count,
    cell: (row) => <span class="number">{row.rest ? "" : count(row.count)}</span> },
  { id: "max", title: "max", why: "The longest time of one contention in this row; of contentions that were added up, of those that begin in the range", width: "76px", value: (row) => row.max,
    cell: (row) => <span class="number">{row.rest ? "" : duration(row.max)}</span> },
];

/** Widths beside the columns of estimates. */
const NARROW: Record<string, string> = { text: "minmax(150px, 1fr)", share: "64px", count: "62px" };

/** True if a row that is open to be seen has an estimate. */
function hasEstimates(rows: TreeRow[], by: Aspect[], estimates: EstimateBook): boolean {
  return rows.some((row) => !row.rest && (estimates.of(by, row.path, row) !== null || hasEstimates(row.children ?? [], by, estimates)));
}

/** What a recording that samples has besides: of the shares of `by` that are estimated. */
function estimated(by: Aspect[], { estimates, totalNs }: { estimates: EstimateBook; totalNs: number }): Column<TreeRow, Id>[] {
  const found = (row: TreeRow) => (row.rest ? null : estimates.of(by, row.path, row));
  return [
    { id: "interval", title: "95 % interval", why: "The share is estimated by random instants: 95 % of such intervals contain the true one. Empty where the share is exact, or its interval is not known", width: "98px", value: (row) => found(row)?.low ?? -1,
      cell: (row) => <span class="number">{shareBetween(found(row), totalNs)}</span> },
    { id: "instants", title: "observations", why: "How often this was seen at random instants: once for each instant and lock", width: "88px", value: (row) => found(row)?.instants ?? 0,
      cell: (row) => <span class="number">{found(row) ? count(found(row)!.instants) : ""}</span> },
  ];
}

function shareBetween(found: Estimate | null, totalNs: number): string {
  return found ? between(percent(found.low / totalNs), percent(found.high / totalNs)) : "";
}

const TITLES: Record<(typeof PANELS)[number], string> = {
  chains: "Both call stacks",
  waiting: "Stacks of blocked threads",
  holding: "Stacks of owners",
  inside: "Inside the owner",
  longest: "Longest contentions",
};

export function Locks() {
  const { by, open, pick } = view.value;
  const whole = useDuration();
  const tree = useTree(scopeOf(view.value, whole), by, open);
  const estimates = useEstimates(view.value.recording);
  const columns = useMemo(() => (estimates && tree && (hasEstimates(tree.rows, by, estimates) || estimatedOrder(view.value) !== "") ? [...COLUMNS.map((one) => ({ ...one, width: NARROW[one.id] ?? one.width })), ...estimated(by, { estimates, totalNs: tree.totalNs })] : COLUMNS), [estimates, tree]);
  // The page's mode is the panel and the order of the table.
  const [panel = "", sort = ""] = view.value.mode.split(".");
  const mode = panel || "chains";
  if (!tree) return <p aria-busy="true">…</p>;
  const toggle = (row: TreeRow) => {
    const others = open.filter((path) => path !== row.id && !path.startsWith(`${row.id}/`));
    show({ open: open.includes(row.id) ? others : [...open, row.id] });
  };
  return (
    <div class="columns wide">
      <section class="card">
        <h2 class="away">Blocked time</h2>
        <Aspects by={by} />
        {tree.rows.length === 0 ? (
          <p class="empty"><NoBlockedTime /></p>
        ) : (
          <>
            <TreeTable label="Blocked time by aspects" rows={tree.rows} columns={columns} idOf={(row) => row.id} childrenOf={(row) => row.children}
              canOpen={(row) => !row.leaf} open={open} onToggle={toggle} selected={pick.length > 0 ? pathOf(pick) : null}
              onSelect={(row) => !row.rest && show({ pick: row.steps, search: "" }, false)} sort={sort} otherwise="-total" onSort={(next) => show({ mode: `${mode}.${next}` }, false)} height={430} />
            <Sampled />
            <Foot tree={tree} by={by} estimates={estimates} />
          </>
        )}
      </section>
      <section class="card">
        <h2 class="away">The selected row</h2>
        <Selected />
        <div class="tabs" role="group" aria-label="What to show of the selected row">
          {PANELS.map((name) => (
            <button key={name} type="button" aria-pressed={mode === name} onClick={() => show({ mode: `${name}.${sort}`, zoom: "" })}>
              {TITLES[name]}
            </button>
          ))}
        </div>
        {mode === "chains" && <Chains />}
        {mode === "waiting" && <Stacks by="contender-chain" why="Call stacks of blocked threads; width is blocked time." />}
        {mode === "holding" && <Stacks by="owner-chain" why="Call stacks of the owner, at its release; width is the time that others were blocked meanwhile." />}
        {mode === "inside" && <Stacks by="inside" why={INSIDE_WHY} empty={<NoSample within={pick} />} kinds={["inside"]} fold={false} />}
        {mode === "longest" && <Longest within={pick} />}
      </section>
    </div>
  );
}

function Aspects({ by }: { by: Aspect[] }) {
  const change = (next: Aspect[]) => show({ by: next, open: keepOpen(view.value.open, next), pick: [], search: "" });
  const move = (at: number, to: number) => {
    const next = [...by];
    const [moved] = next.splice(at, 1);
    if (moved) next.splice(to, 0, moved);
    change(next);
  };
  const rest = ASPECTS.filter((one) => !by.includes(one));
  return (
    <div class="aspects" role="group" aria-label="Aspects: each level of the table within the one before">
      <span class="hint">by</span>
      {by.map((one, at) => {
        const [name, why] = ASPECT_WORDS[one];
        return (
          <span key={one} class="chip" title={why}>
            <button type="button" disabled={at === 0} aria-label={`move ${name} up`} onClick={() => move(at, at - 1)}>◂</button>
            {name}
            <button type="button" disabled={at === by.length - 1} aria-label={`move ${name} down`} onClick={() => move(at, at + 1)}>▸</button>
            <button type="button" disabled={by.length === 1} aria-label={`remove ${name}`} onClick={() => change(by.filter((other) => other !== one))}>×</button>
          </span>
        );
      })}
      <select aria-label="Add an aspect" value="" onChange={(event) => change([...by, event.currentTarget.value as Aspect])}>
        <option value="">+ aspect</option>
        {rest.map((one) => (
          <option key={one} value={one}>{ASPECT_WORDS[one][0]}</option>
        ))}
      </select>
    </div>
  );
}

function Foot({ tree, by, estimates }: { tree: Tree; by: Aspect[]; estimates: EstimateBook | null }) {
  const table = () => {
    const lines: (string | number)[][] = [["level", "what", "total_ns", "share", "count", "max_ns", ...(estimates ? ["low_ns", "high_ns", "observations"] : [])]];
    const interval = (row: TreeRow) => {
      const found = estimates?.of(by, row.path, row);
      return found ? [found.low, found.high, found.instants] : ["", "", ""];
    };
    const add = (rows: TreeRow[]) => {
      for (const row of rows) {
        lines.push([row.steps.length, row.full, row.total, row.share, row.count, row.max, ...(estimates ? interval(row) : [])]);
        add(row.children ?? []);
      }
    };
    add(tree.rows);
    return lines;
  };
  return (
    <p class="foot">
      {duration(tree.totalNs)} blocked in {times(tree.count, "contention")}
      {tree.atEdges > 0 && `; about ${duration(tree.atEdges)} more at the edges of the range, where stacks are kept by longer intervals`}
      {tree.leftOut > 0 && `; ${count(tree.leftOut)} smaller rows not shown`}
      <span class="push">
        <Copy text={() => table().map((line) => line.join("\t")).join("\n")} />
        <button type="button" class="small" title="Download the open rows as CSV" onClick={() => save("locks.csv", "text/csv", csv(table()))}>CSV</button>
      </span>
    </p>
  );
}

function Selected() {
  const { pick } = view.value;
  if (pick.length === 0) return <p class="hint">All rows of the table. Select one to see only its part.</p>;
  return (
    <p class="hint cut">
      Selected row: <b>{stepsOf(pathOf(pick)).map((step) => ASPECT_WORDS[step.by][0]).join(" › ")}</b>
      <button type="button" class="small" onClick={() => show({ pick: [], search: "" })}>all rows</button>
    </p>
  );
}

/** The pairs of chains that cost most: who was blocked, who owned the lock. */
function Chains() {
  const whole = useDuration();
  const names = useNames(view.value.recording);
  const { pick, search } = view.value;
  const scope = scopeOf(view.value, whole, undefined, pick);
  const answers = useAnswers(grouping(scope, ["contender-chain"], 30), grouping(scope, ["contender-chain", "owner-chain"], 30));
  const estimates = useEstimates(view.value.recording);
  const pairs = useMemo(() => pairsOf(answers?.[1]), [answers]);
  if (!answers) return <p aria-busy="true">…</p>;
  const wanted = Number(search);
  const pair = pairs[pairAt(wanted, pairs.length)];
  if (!pair) return <p class="empty">No blocked time here.</p>;
  const found = estimates?.ofPair(pair.contender, pair.owner, pair);
  return (
    <>
      <PairLine wanted={wanted} of={pairs.length} onGo={(to) => show({ search: to > 0 ? String(to) : "" }, false)}>
        {duration(pair.total)}{found && <Between found={found} format={duration} />} ({percent(pair.total / answers[1].totalNs)} of the selection){!found && `, ${times(pair.count, "contention")}`}
      </PairLine>
      <div class="pair">
        <Chain chain={pair.contender} title="Who was blocked" why="Call stack of the blocked thread, innermost method first" unknown="The call stack was not recorded." />
        <Chain chain={pair.owner} title="Who owned the lock" why="Call stack of the owner when it released the lock, from the frame that acquired it on"
          unknown="No owner: hand-off (the lock was free), or the owner was not recorded." />
      </div>
      {pair.owner > 0 && <Inside within={[...pick, { by: "owner-chain", key: keyOf(names, "owner-chain", pair.owner) }]} />}
    </>
  );
}

interface Pair {
  contender: number;
  owner: number;
  total: number;
  stopped: number;
  count: number;
}

function pairsOf(groups: Groups | undefined): Pair[] {
  if (!groups) return [];
  const pairs = groups.value.flatMap((owner, at) => {
    const parent = groups.parent[at]!;
    return parent < 0 ? [] : [{ contender: groups.value[parent]!, owner, total: groups.total[at]!, stopped: groups.stopped[at]!, count: groups.entries[at]! }];
  });
  return pairs.sort((a, b) => b.total - a.total);
}

function Stacks({ by, why, empty = "No blocked time here.", kinds, fold = true }: { by: Aspect; why: string; empty?: ComponentChildren; kinds?: Kind[]; fold?: boolean }) {
  const whole = useDuration();
  const names = useNames(view.value.recording);
  const scope = scopeOf(view.value, whole, kinds, view.value.pick);
  const answers = useAnswers(grouping(stacksIn(scope, by, view.value, view.value.sandwich), [by], MOST_STACKS), grouping(stacksIn(scope, by, view.value), [], 1));
  const stacks = useMemo(() => answers && { groups: answers[0], names }, [answers]);
  return (
    <>
      <Narrowed />
      {stacks ? <StackGraph stacks={stacks} options={{ fold, inverted: false }} why={why} label={why} empty={empty} meaning={BY_TYPE} format={duration} search="" all={answers![1].totalNs} /> : <p aria-busy="true">…</p>}
    </>
  );
}

const BY_TYPE = byType(duration);
