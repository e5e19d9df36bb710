import dagre from "@dagrejs/dagre";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Aspect } from "../data/contract";
import { keyOf } from "../data/keys";
import type { NameBook } from "../data/names";
import { ALL_STACKS, pathOf } from "../state/address";
import { edgesOf, folded, OTHERS, rootsOf, withinOf, type Edge, type Root } from "../data/waitfor";
import { grouping, scopeOf, useAnswers, useNames } from "../state/asking";
import { NODES } from "../state/pages";
import { address, show, view } from "../state/view";
import { save, svgText } from "../text/download";
import { duration, percent, times } from "../text/units";
import { split } from "../text/frames";
import { NoBlockedTime } from "./Overview";
import { useDuration } from "../view/FilterBar";
import { Sampled } from "../view/Sampled";
import { valueText } from "./tree";

const MOST_EDGES = 40;
/** Threads, groups or methods that are drawn at most; all others are one node. */
const MOST_NODES = 20;
/** A graph is made smaller where that is enough to show it whole: text of 13 px is then 11 px at least. */
const LEAST_SCALE = 0.85;
const MOST_ROOTS = 12;
/** Part of the blocked time from which on who blocks others is a root to look at. */
const LEAST_ROOT = 0.001;
/** A graph that is wider is drawn from left to right. */
const WIDE = 1000;

const MODES: Record<(typeof NODES)[number], [title: string, contender: Aspect, owner: Aspect]> = {
  groups: ["thread groups", "contender-group", "owner-group"],
  threads: ["threads", "contender-thread", "owner-thread"],
  methods: ["methods", "contender-method", "owner-method"],
};

export function WaitFor() {
  const whole = useDuration();
  const names = useNames(view.value.recording);
  const mode = NODES.find((one) => one === view.value.mode) ?? "groups";
  const [, contender, owner] = MODES[mode];
  const answers = useAnswers(grouping(scopeOf(view.value, whole), [contender, owner], 200));
  const blame = useMemo(() => answers && edgesOf(answers[0]), [answers]);
  const drawn = useMemo(() => blame && folded(blame.edges, MOST_NODES), [blame]);
  const label = (node: number) => {
    if (node === OTHERS) return `${drawn?.folded ?? 0} other ${MODES[mode][0]}`;
    const { text } = valueText(names, contender, node);
    return mode === "methods" ? split(text)[1] : text;
  };
  const tabs = (
    <div class="tabs" role="group" aria-label="What the graph is about">
      {Object.entries(MODES).map(([name, [title]]) => (
        <button key={name} type="button" aria-pressed={mode === name} onClick={() => show({ mode: name }, false)}>
          {title}
        </button>
      ))}
    </div>
  );
  if (!blame || !drawn || !answers) return <p aria-busy="true">…</p>;
  if (answers[0].totalNs === 0) return <p class="empty card"><NoBlockedTime /></p>;
  // Less is not worth a look.
  const blockers = blockersIn(blame.edges).filter(({ total }) => total >= LEAST_ROOT * answers[0].totalNs);
  return (
    <div class="columns wide graphs">
      <section class="card">
        <h2 class="away">Wait-for graph</h2>
        {tabs}
        <Sampled />
        {blame.edges.length > 0 ? (
          <Graph edges={drawn.edges.slice(0, MOST_EDGES)} label={label} onEdge={(edge) => drill(names, contender, owner, edge)} />
        ) : (
          <p class="empty">No owner is known: hand-offs, or the recording does not name owners.</p>
        )}
        <p class="foot">
          An arrow leads from the blocked threads to the owner of the lock. Its width is the blocked time.
          {drawn.folded > 0 && ` The ${drawn.folded} ${MODES[mode][0]} with least blocked time are one node.`}
          {drawn.edges.length > MOST_EDGES && ` The ${MOST_EDGES} arrows with most blocked time of ${drawn.edges.length} are drawn.`}
          {blame.unblamed > 0 && ` ${duration(blame.unblamed)} (${percent(blame.unblamed / answers[0].totalNs)}) has no owner: hand-offs, or owners not recorded.`}
        </p>
      </section>
      <section class="card">
        <h2>Roots</h2>
        {blockers.length === 0 ? <p class="empty">None: those who block others are blocked by others themselves, for about as long.</p> : (
          <p class="hint">They block others or each other, and are not blocked themselves by others, or for much less time. Look at them first.</p>
        )}
        <ol class="findings">
          {blockers.slice(0, MOST_ROOTS).map(({ node, total, chain }) => (
            <li key={`${node} ${chain.length}`}>
              <a href={ownedBy(names, owner, contender, node)} title="Show which locks they had, and who was blocked on them"><code>{label(node)}</code></a> {chain.length > 0 ? "blocks others" : "block each other"} for <b>{duration(total)}</b>
              {chain.length > 1 && <small>{chain.map(label).join(" → ")}</small>}
            </li>
          ))}
        </ol>
        <h3>Who blocks whom</h3>
        <div class="scroll" tabIndex={0} role="region" aria-label="Who blocks whom">
          <table class="plain">
            <thead>
              <tr>
                <th>blocked</th>
                <th>by</th>
                <th class="number">time</th>
              </tr>
            </thead>
            <tbody>
              {blame.edges.slice(0, 100).map((edge) => (
                <tr key={`${edge.from} ${edge.to}`}>
                  <td>{label(edge.from)}</td>
                  <td>{label(edge.to)}</td>
                  <td class="number">
                    <button type="button" class="small" title="Drill down into this pair" onClick={() => drill(names, contender, owner, edge)}>
                      {duration(edge.total)}
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </section>
    </div>
  );
}

/** Roots, and groups or methods whose threads block each other: those have no chain. */
function blockersIn(edges: Edge[]): Root[] {
  const within = withinOf(edges).map(({ from, total }): Root => ({ node: from, total, chain: [] }));
  return [...rootsOf(edges), ...within].sort((a, b) => b.total - a.total);
}

/** The address of all time in which others were blocked by an owner, by lock and blocked thread. */
function ownedBy(names: NameBook, owner: Aspect, contender: Aspect, node: number): string {
  const pick = [{ by: owner, key: keyOf(names, owner, node) }];
  return address({ ...ALL_STACKS, page: "locks", by: [owner, "lock-name", contender], pick, open: [pathOf(pick)] });
}

function drill(names: NameBook, contender: Aspect, owner: Aspect, edge: Edge): void {
  const pick = [
    { by: contender, key: keyOf(names, contender, edge.from) },
    { by: owner, key: keyOf(names, owner, edge.to) },
  ];
  show({ page: "locks", by: [contender, owner, "lock"], pick, open: [pathOf(pick.slice(0, 1)), pathOf(pick)], mode: "" });
}

const NODE_HEIGHT = 36;

function Graph({ edges, label, onEdge }: { edges: Edge[]; label: (node: number) => string; onEdge: (edge: Edge) => void }) {
  const drawing = useRef<SVGSVGElement>(null);
  const graph = useMemo(() => layout(edges, label), [edges]);
  // A group that blocks itself says so in its own box.
  const within = new Map(edges.filter((edge) => edge.from === edge.to).map((edge) => [edge.from, edge]));
  const between = edges.filter((edge) => edge.from !== edge.to);
  const most = Math.max(1, ...between.map((edge) => edge.total));
  const strokeOf = (edge: Edge) => 1 + (7 * edge.total) / most;
  const tipOf = (edge: Edge) => 8 + 1.5 * strokeOf(edge);
  const { width: drawn = 0, height = 0 } = graph.graph();
  // The time beside the last arrow may stand out.
  const width = drawn + 30;
  const place = useRef<HTMLDivElement>(null);
  // What does not fit begins with whoever has most blocked time, waiting or blocking.
  useLayoutEffect(() => {
    const { x, y } = graph.node(String(busiest(edges))) as { x: number; y: number };
    const { clientWidth, clientHeight } = place.current!;
    place.current!.scrollTo({ left: x - clientWidth / 2, top: y - clientHeight / 2, behavior: "instant" });
  }, [graph]);
  return (
    <div ref={place} class="graph" tabIndex={0} role="group" aria-label="Wait-for graph">
      <button type="button" class="small" title="Download as SVG" onClick={() => drawing.current && save("wait-for.svg", "image/svg+xml", svgText(drawing.current))}>
        SVG
      </button>
      <svg ref={drawing} viewBox={`-6 -6 ${width + 12} ${height + 12}`} style={{ maxWidth: `${width + 12}px`, minWidth: `${LEAST_SCALE * (width + 12)}px` }} role="group" aria-label={`${times(graph.nodeCount(), "node")}, ${times(edges.length, "arrow")}`}>
        <defs>
          {between.map((edge) => (
            <marker key={`${edge.from} ${edge.to}`} id={`tip-${edge.from}-${edge.to}`} viewBox="0 0 10 10" refX="0" refY="5" markerWidth={tipOf(edge)} markerHeight={tipOf(edge)} markerUnits="userSpaceOnUse" orient="auto">
              <path d="M0 0L10 5L0 10z" />
            </marker>
          ))}
        </defs>
        {between.map((edge) => {
          const { points } = graph.edge(String(edge.from), String(edge.to)) as { points: { x: number; y: number }[] };
          const text = `${label(edge.from)} was blocked ${duration(edge.total)} by ${label(edge.to)}`;
          const middle = points[Math.floor(points.length / 2)]!;
          // Several threads together are no row of the drill-down.
          const isOne = edge.from !== OTHERS && edge.to !== OTHERS;
          const pick = { tabindex: 0, role: "button" as const, onClick: () => onEdge(edge), onKeyDown: (event: KeyboardEvent) => event.key === "Enter" && onEdge(edge) };
          return (
            <g key={`${edge.from} ${edge.to}`} class="edge" aria-label={text} {...(isOne ? pick : { role: "img" as const })}>
              <path d={`M${before(points, tipOf(edge)).map((point) => `${point.x} ${point.y}`).join("L")}`} style={{ strokeWidth: String(strokeOf(edge)) }} marker-end={`url(#tip-${edge.from}-${edge.to})`} />
              <text x={middle.x + 6} y={middle.y + 4}>{duration(edge.total)}</text>
              <title>{text}</title>
            </g>
          );
        })}
        {graph.nodes().map((id) => {
          const node = graph.node(id) as { x: number; y: number; width: number };
          const text = label(Number(id));
          const own = within.get(Number(id));
          return (
            <g key={id} class="node">
              <rect x={node.x - node.width / 2} y={node.y - NODE_HEIGHT / 2} width={node.width} height={NODE_HEIGHT} rx={5} />
              <text x={node.x} y={node.y - 2} text-anchor="middle">{text.length > 40 ? `${text.slice(0, 39)}…` : text}</text>
              <text x={node.x} y={node.y + 12} text-anchor="middle" class="hint">{own ? `among themselves ${duration(own.total)}` : ""}</text>
              <title>{text}</title>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

interface Point {
  x: number;
  y: number;
}

/** A line that ends so far before its end: there its tip begins, which a wide line would cover. */
function before(points: Point[], length: number): Point[] {
  const [from, to] = points.slice(-2) as [Point, Point];
  const part = Math.max(0, 1 - length / Math.max(1, Math.hypot(to.x - from.x, to.y - from.y)));
  return [...points.slice(0, -1), { x: from.x + part * (to.x - from.x), y: from.y + part * (to.y - from.y) }];
}

function busiest(edges: Edge[]): number {
  const times = new Map<number, number>();
  for (const { from, to, total } of edges) for (const node of [from, to]) times.set(node, (times.get(node) ?? 0) + total);
  return [...times].reduce((most, one) => (one[1] > most[1] ? one : most), [0, -1])[0];
}

/** From top to bottom; from left to right if that is too wide. */
function layout(edges: Edge[], label: (node: number) => string) {
  const down = laidOut(edges, label, "TB");
  if ((down.graph().width ?? 0) <= WIDE) return down;
  const across = laidOut(edges, label, "LR");
  return (across.graph().width ?? 0) < (down.graph().width ?? 0) ? across : down;
}

function laidOut(edges: Edge[], label: (node: number) => string, rankdir: "TB" | "LR") {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir, nodesep: rankdir === "TB" ? 26 : 12, ranksep: 54, edgesep: 26 });
  graph.setDefaultEdgeLabel(() => ({}));
  const within = new Set(edges.filter((edge) => edge.from === edge.to).map((edge) => edge.from));
  for (const node of new Set(edges.flatMap((edge) => [edge.from, edge.to]))) {
    const width = Math.max(within.has(node) ? 210 : 90, Math.min(330, 22 + label(node).length * 7.6));
    graph.setNode(String(node), { width, height: NODE_HEIGHT });
  }
  for (const edge of edges.filter((one) => one.from !== one.to)) graph.setEdge(String(edge.from), String(edge.to), { width: 56, height: 14, labelpos: "c" });
  dagre.layout(graph);
  return graph;
}
