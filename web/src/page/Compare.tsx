import { useMemo } from "preact/hooks";
import type { Dimension, Kind } from "../data/contract";
import { changes, PIECES, rates, type Change } from "../data/compare";
import { flame } from "../data/flame";
import { filterOf, grouping, useAnswers, useSource } from "../state/asking";
import { show, view } from "../state/view";
import { duration, times } from "../text/units";
import { ASPECT_WORDS } from "../text/words";
import { Typed } from "../view/FilterBar";
import { Flame } from "../view/Flame";
import { TreeTable, type Column } from "../view/TreeTable";
import { valueText } from "./tree";

const ASPECTS: Dimension[] = ["lock-name", "owner-method", "contender-method", "contender-group", "owner-group"];

const STACKS: Record<string, [title: string, by: Dimension, kinds: Kind[]]> = {
  waiting: ["waiting stacks", "contender-chain", ["monitor", "juc"]],
  holding: ["holding stacks", "owner-chain", ["monitor", "juc"]],
  cpu: ["CPU stacks", "contender-chain", ["cpu"]],
};

export function Compare() {
  const { opening } = useSource();
  if (opening.recordings.length < 2) {
    return (
      <section class="card">
        <h2>Nothing to compare with</h2>
        <p class="empty">
          Open two recordings, the earlier one first: <code>headway view before.jfr after.jfr</code> or <code>headway report before.jfr after.jfr -o report.html</code>
        </p>
      </section>
    );
  }
  return <Both />;
}

function Both() {
  const source = useSource();
  const [before, after] = source.opening.recordings;
  const [aspect = "", order = "", stack = ""] = view.value.mode.split(".");
  const by = ASPECTS.find((one) => one === aspect) ?? "lock-name";
  const sort = /^-?(name|before|after|size|noise|verdict)$/.test(order) ? order : "-size";
  const [, chains, kinds] = STACKS[stack] ?? STACKS.waiting!;
  const scope = (recording: number, kinds: Kind[]) => ({
    recording,
    from: 0,
    to: Math.max(1, source.opening.recordings[recording]!.durationNs),
    filter: filterOf(view.value),
    kinds,
    within: [],
  });
  const contention: Kind[] = view.value.kind === "all" ? ["monitor", "juc"] : [view.value.kind];
  const answers = useAnswers(
    grouping(scope(0, contention), [by, "time"], 2000, PIECES),
    grouping(scope(1, contention), [by, "time"], 2000, PIECES),
    grouping(scope(0, kinds), [chains], 5000),
    grouping(scope(1, kinds), [chains], 5000),
  );
  const told = useMemo(() => {
    if (!answers) return null;
    const rate = (recording: 0 | 1) => {
      const names = source.names(recording);
      return rates(answers[recording], (value) => valueText(names, by, value).text, (source.opening.recordings[recording]!.durationNs || 1) / 1e9);
    };
    const options = { fold: true, inverted: false };
    const perSecond = ([0, 1] as const).map((recording) => {
      const seconds = (source.opening.recordings[recording]!.durationNs || 1) / 1e9;
      return `${duration(answers[recording].totalNs / seconds)} a second`;
    });
    return {
      perSecond,
      rows: changes(rate(0), rate(1)),
      root: flame(answers[3], source.names(1), options, { groups: answers[2], names: source.names(0) }),
    };
  }, [answers]);
  const mode = (next: { by?: string; sort?: string; stack?: string }) => show({ mode: [next.by ?? by, next.sort ?? sort, next.stack ?? stack].join("."), zoom: "" }, false);
  if (!told) return <p aria-busy="true">…</p>;
  const rate = (ns: number) => `${duration(Math.abs(ns))}/s`;
  const columns: Column<Change>[] = [
    { id: "name", title: ASPECT_WORDS[by][0], why: ASPECT_WORDS[by][1], width: "minmax(220px, 1fr)", value: (row) => row.name, cell: (row) => <span class="cut" title={row.name}>{row.name}</span> },
    { id: "before", title: "before", why: "Blocked time per second of the first recording, all threads added up", width: "100px", value: (row) => row.before.mean, cell: (row) => <span class="number">{rate(row.before.mean)}</span> },
    { id: "after", title: "after", why: "Blocked time per second of the second recording", width: "100px", value: (row) => row.after.mean, cell: (row) => <span class="number">{rate(row.after.mean)}</span> },
    { id: "size", title: "change", why: "After minus before; sorted by how large it is, whichever way", width: "110px", value: (row) => Math.abs(row.difference), cell: (row) => <span class="number">{row.difference > 0 ? "+" : "−"}{rate(row.difference)}</span> },
    { id: "noise", title: "noise", why: `Changes up to this are noise: two standard errors, from how the ${PIECES} pieces of each recording differ among themselves`, width: "100px", value: (row) => row.noise, cell: (row) => <span class="number">±{rate(row.noise)}</span> },
    { id: "verdict", title: "verdict", why: "Worse or better only where the change is larger than the noise", width: "110px", value: (row) => row.verdict, cell: (row) => <b class={`verdict ${row.verdict.replace(" ", "-")}`}>{row.verdict === "worse" ? "▲ worse" : row.verdict === "better" ? "▼ better" : "≈ within noise"}</b> },
  ];
  const decided = told.rows.filter((row) => row.verdict !== "within noise");
  return (
    <>
      <section class="card">
        <h2>
          Before <code>{before!.file}</code> ({duration(before!.durationNs)}), after <code>{after!.file}</code> ({duration(after!.durationNs)})
        </h2>
        <p class="lead">
          Threads were blocked {told.perSecond[0]} before and {told.perSecond[1]} after. {summary(decided)}
        </p>
        <p class="hint">The whole of both recordings, whatever the time range; the other filters apply.</p>
        <div class="tabs" role="group" aria-label="Compare by">
          <span class="hint">by</span>
          {ASPECTS.map((one) => (
            <button key={one} type="button" aria-pressed={one === by} onClick={() => mode({ by: one })}>{ASPECT_WORDS[one][0]}</button>
          ))}
        </div>
        {told.rows.length === 0 ? <p class="empty">Neither recording has blocked time in this filter.</p> : (
          <TreeTable label="What changed" rows={told.rows} columns={columns} idOf={(row) => row.name} selected={null} sort={sort} onSort={(next) => mode({ sort: next })} height={280} />
        )}
      </section>
      <section class="card">
        <div class="tabs" role="group" aria-label="Stacks">
          {Object.entries(STACKS).map(([name, [title]]) => (
            <button key={name} type="button" aria-pressed={(STACKS[stack] ? stack : "waiting") === name} onClick={() => mode({ stack: name })}>{title}</button>
          ))}
          <Typed label="search" title="Marks methods whose name contains this" size={16} value={view.value.search} empty="method" onTyped={(text) => show({ search: text }, false)} />
        </div>
        {told.root.total === 0 ? <p class="empty">The second recording has none of these stacks.</p> : (
          <Flame root={told.root} why="Stacks of the second recording, and how their shares of its time changed, not the time itself: orange has a larger share than before, blue a smaller one, grey the same." label="Difference flame graph" format={duration} difference
            zoom={view.value.zoom.split(".").filter(Boolean).map(Number)} onZoom={(path) => show({ zoom: path.join(".") })} search={view.value.search} />
        )}
      </section>
    </>
  );
}

function summary(decided: Change[]): string {
  if (decided.length === 0) return "No change is larger than the noise.";
  const worse = decided.filter((row) => row.verdict === "worse").length;
  const better = decided.length - worse;
  return `Beyond the noise ${worse || "none"} of ${times(decided.length, "changed entry", "changed entries")} got worse, ${better || "none"} better; most of all ${decided[0]!.name}.`;
}
