import { useMemo, useState } from "preact/hooks";
import { KINDS, type Aspect, type Facts, type Kind } from "../data/contract";
import { flame, flat, type FlameNode, type MethodTotal, type Stacks } from "../data/flame";
import { grouping, MOST_STACKS, scopeOf, stacksIn, useAnswers, useNames, useSource } from "../state/asking";
import { SHAPES, WEIGHTS, type ColumnOf } from "../state/pages";
import { address, show, view } from "../state/view";
import { csv, save } from "../text/download";
import { records } from "../text/options";
import { duration, percent, times } from "../text/units";
import { Typed, useDuration } from "../view/FilterBar";
import { NO_STATE } from "../view/colours";
import { byType } from "../view/Flame";
import { isNarrowed, Narrowed, NONE_CHOSEN } from "../view/Narrowed";
import { Sampled } from "../view/Sampled";
import { StackGraph } from "../view/StackGraph";
import { TreeTable, type Column } from "../view/TreeTable";
import { Bar } from "./Overview";

interface Weight {
  title: string;
  kinds: Kind[];
  of: Aspect;
  why: string;
  /** The events of `-e`, what is said if they were recorded and did not occur, and otherwise. */
  events: string[];
  never: string;
  empty: string;
}

const TIMES: Record<(typeof WEIGHTS)[number], Weight> = {
  cpu: { title: "on CPU", kinds: ["cpu"], of: "contender-chain", why: "CPU time, by call stack.", events: ["cpu"], never: "No thread was sampled on a CPU.", empty: "No CPU samples were recorded (-e cpu records them)." },
  wall: { title: "wall clock", kinds: ["wall", "cpu"], of: "contender-chain", why: "Wall-clock time of sampled threads, running or not.", events: ["wall"], never: "No thread was sampled.", empty: "No wall-clock samples were recorded (-e wall records them)." },
  blocked: { title: "blocked", kinds: ["monitor", "juc"], of: "contender-chain", why: "Time blocked on locks, by the call stack that wanted the lock.", events: ["monitor", "park"], never: "No thread was blocked on a lock.", empty: "No blocked time was recorded (-e lock records it)." },
  owning: { title: "blocking others", kinds: ["monitor", "juc"], of: "owner-chain", why: "Time that others were blocked, by the call stack of the lock's owner.", events: ["monitor", "park"], never: "No thread was blocked on a lock.", empty: "No blocked time was recorded (-e lock records it)." },
  waiting: { title: "waiting", kinds: ["wait", "park"], of: "contender-chain", why: "Time in Object.wait or parked, by call stack.", events: ["monitor", "park"], never: "No thread waited.", empty: "No waits were recorded (-e lock records them)." },
};

const TITLES: Record<(typeof SHAPES)[number], string> = { flame: "Flame graph", tree: "Calling context tree", flat: "Methods", callers: "Callers" };

export function Profile() {
  const whole = useDuration();
  const { opening } = useSource();
  const { recording, search, sandwich, kind } = view.value;
  const facts = opening.recordings[recording]!;
  const names = useNames(recording);
  const [weight = "", shape = "", folding = ""] = view.value.mode.split(".");
  const chosen = WEIGHTS.find((one) => one === weight) ?? firstFilled(facts);
  const { kinds, of, why } = TIMES[chosen];
  const occurred = kinds.some((one) => (facts.entries[KINDS.indexOf(one)] ?? 0) > 0);
  const { events, never, empty: missing } = TIMES[chosen];
  const empty = occurred ? "None in this range and filter. “Show all” removes both." : records(facts, events) ? never : missing;
  const form = sandwich !== "" ? "sandwich" : shape || "flame";
  const fold = folding !== "all";
  const scope = scopeOf(view.value, whole, of === "owner-chain" || chosen === "blocked" ? kinds.filter((one) => kind === "all" || one === kind) : kinds);
  const answers = useAnswers(grouping(stacksIn(scope, of, view.value, sandwich), [of], MOST_STACKS), grouping(stacksIn(scope, of, view.value), [], 1));
  const stacks = useMemo(() => answers && { groups: answers[0], names }, [answers]);
  const total = answers ? answers[0].totalNs : null;
  // Samples that do not say how much time they stand for are counted.
  const counted = (chosen === "cpu" || chosen === "wall") && !facts.samplesWeighted;
  const format = counted ? (value: number) => times(value, "sample") : duration;
  const meaning = useMemo(() => byType(format), [counted]);
  const mode = (next: Partial<{ weight: string; shape: string; folding: string }>) =>
    show({ mode: [next.weight ?? chosen, next.shape ?? shape, next.folding ?? folding].join("."), zoom: "", sort: "", ...(next.shape === undefined ? {} : { sandwich: "" }) });
  return (
    <section class="card">
      <h2 class="away">Time by call stack</h2>
      <div class="tabs">
        <span class="hint">time</span>
        {Object.entries(TIMES).map(([name, { title, why }]) => (
          <button key={name} type="button" title={why} aria-pressed={name === chosen} onClick={() => mode({ weight: name })}>
            {title}
          </button>
        ))}
        <span class="hint">as</span>
        {SHAPES.map((name) => (
          <button key={name} type="button" aria-pressed={name === form} onClick={() => mode({ shape: name })}>
            {TITLES[name]}
          </button>
        ))}
        <label title="Join runs of the JDK's own frames into one">
          <input type="checkbox" checked={fold} onChange={(event) => mode({ folding: event.currentTarget.checked ? "" : "all" })} /> fold JDK
        </label>
        <Typed label="search" title="Marks methods whose name contains this and says how much time they are in" size={16} value={search} empty="method" onTyped={(text) => show({ search: text }, false)} />
      </div>
      <Narrowed />
      {chosen !== "cpu" && chosen !== "wall" && <Sampled />}
      {!stacks && <p aria-busy="true">…</p>}
      {stacks && total === 0 && sandwich === "" && <p class="empty">{isNarrowed() ? NONE_CHOSEN : empty}</p>}
      {stacks && (total! > 0 || sandwich !== "") && (form === "tree" ? (
        <ContextTree stacks={stacks} fold={fold} format={format} search={search} />
      ) : form === "flat" ? (
        <Flat stacks={stacks} format={format} search={search} />
      ) : (
        <StackGraph stacks={stacks} options={{ fold, inverted: form === "callers" }} why={form === "callers" ? `${why} Callers stand below what they call.` : `${why} Callees stand below their callers.`} label={`${chosen} flame graph`}
          empty={empty} meaning={meaning} format={format} search={search} all={answers![1].totalNs} />
      ))}
    </section>
  );
}

/** The first weight that the recording has anything of; CPU if none. */
function firstFilled({ entries, waitedNs, blockedNs }: Facts): (typeof WEIGHTS)[number] {
  if ((entries[4] ?? 0) > 0) return "cpu";
  if ((entries[5] ?? 0) > 0) return "wall";
  if (waitedNs > blockedNs) return "waiting";
  if ((entries[0] ?? 0) + (entries[1] ?? 0) > 0) return "blocked";
  return "cpu";
}

interface ContextRow {
  id: string;
  node: FlameNode;
  children: ContextRow[];
}

function contextRows(node: FlameNode, above: string): ContextRow[] {
  return node.children.map((child) => {
    const id = above === "" ? String(child.key) : `${above}.${child.key}`;
    return { id, node: child, get children() { return contextRows(child, id); } };
  });
}

interface TableProps {
  stacks: Stacks;
  format: (value: number) => string;
  search: string;
}

function ContextTree({ stacks, fold, format, search }: TableProps & { fold: boolean }) {
  const root = useMemo(() => flame(stacks, { fold, inverted: false }), [stacks, fold]);
  const rows = useMemo(() => contextRows(root, ""), [root]);
  const [chosen, setChosen] = useState<string | null>(null);
  // The address has open rows as one path: where one is, those above are open too.
  const open = view.value.zoom.split("~").filter(Boolean);
  const columns: Column<ContextRow, ColumnOf<"contexts">>[] = [
    { id: "text", title: "method", why: "Each method below the one that called it", width: "minmax(260px, 1fr)", value: (row) => row.node.name,
      cell: (row) => <span class={`cut ${search && row.node.name.toLowerCase().includes(search.toLowerCase()) ? "hit" : ""}`} title={row.node.name}><Method name={row.node.name} isOne={row.node.key >= 0} /></span> },
    { id: "total", title: "total", why: "Time in the method and in what it called", width: "110px", value: (row) => row.node.total, cell: (row) => <span class="number">{format(row.node.total)}</span> },
    { id: "share", title: "share", why: "Part of all time in the range and filter", width: "110px", value: (row) => row.node.total, cell: (row) => <span class="number">{percent(row.node.total / root.total)}<Bar part={row.node.total / root.total} colour={NO_STATE} /></span> },
    { id: "self", title: "self", why: "Time in the method itself", width: "110px", value: (row) => row.node.self, cell: (row) => <span class="number">{format(row.node.self)}</span> },
  ];
  const toggle = (row: ContextRow) => {
    const next = open.includes(row.id) ? open.filter((id) => id !== row.id && !id.startsWith(`${row.id}.`)) : [...open, ...hotPath(row)];
    show({ zoom: [...new Set(next)].join("~") }, false);
  };
  return (
    <TreeTable label="Calling context tree" rows={rows} columns={columns} idOf={(row) => row.id} childrenOf={(row) => row.children} canOpen={(row) => row.node.children.length > 0}
      open={open} onToggle={toggle} selected={chosen} onSelect={(row) => setChosen(row.id)} sort={view.value.sort} otherwise="-total" onSort={(next) => show({ sort: next }, false)} height={520} />
  );
}

/** A method's name, which leads to its callers and callees. */
function Method({ name, isOne = true }: { name: string; isOne?: boolean }) {
  if (!isOne || name === "unknown") return <>{name}</>;
  return <a class="quiet" title="Show what called the method and what it called" href={address({ sandwich: name, zoom: "", sort: "" })}>{name}</a>;
}

/** The row and, below it, whatever has most time as long as there is no choice. */
function hotPath(row: ContextRow): string[] {
  const path = [row.id];
  let at = row;
  while (at.children.length === 1 && path.length < 50) {
    at = at.children[0]!;
    path.push(at.id);
  }
  return path;
}

function Flat({ stacks, format, search }: TableProps) {
  const methods = useMemo(() => flat(stacks.groups, stacks.names), [stacks]);
  const total = stacks.groups.totalNs;
  const [chosen, setChosen] = useState<string | null>(null);
  const shown = search ? methods.filter((method) => method.name.toLowerCase().includes(search.toLowerCase())) : methods;
  const columns: Column<MethodTotal, ColumnOf<"methods">>[] = [
    { id: "text", title: "method", why: "Methods of the same name together", width: "minmax(260px, 1fr)", value: (row) => row.name, cell: (row) => <span class="cut" title={row.name}><Method name={row.name} /></span> },
    { id: "self", title: "self", why: "Time in the method itself", width: "150px", value: (row) => row.self, cell: (row) => <span class="number">{format(row.self)} <small class="inline">{percent(row.self / total)}</small></span> },
    { id: "total", title: "total", why: "Time in which the method was anywhere on the call stack", width: "150px", value: (row) => row.total, cell: (row) => <span class="number">{format(row.total)} <small class="inline">{percent(row.total / total)}</small></span> },
  ];
  return (
    <>
      <TreeTable label="Methods" rows={shown} columns={columns} idOf={(row) => row.name} selected={chosen} sort={view.value.sort} otherwise="-self" onSort={(next) => show({ sort: next }, false)} height={520}
        onSelect={(row) => setChosen(row.name)} />
      <p class="foot">
        {times(shown.length, "method")}; a name leads to what called the method and what it called
        <button type="button" class="small push" onClick={() => save("methods.csv", "text/csv", csv([["method", "self", "total"], ...shown.map((row) => [row.name, row.self, row.total])]))}>CSV</button>
      </p>
    </>
  );
}

