// A virtualised table whose rows may open: TanStack Table orders and expands,
// TanStack Virtual draws only what is seen.
import { createExpandedRowModel, createSortedRowModel, rowExpandingFeature, rowSortingFeature, tableFeatures, useTable, type ColumnDef } from "@tanstack/preact-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import type { ComponentChildren } from "preact";
import { useId, useMemo, useRef } from "preact/hooks";
import { narrow } from "../state/narrow";
import { isOrder } from "../state/stated";

const features = tableFeatures({
  rowExpandingFeature,
  rowSortingFeature,
  expandedRowModel: createExpandedRowModel(),
  sortedRowModel: createSortedRowModel(),
});

export interface Column<Row, Id extends string = string> {
  id: Id;
  title: string;
  /** One sentence that explains the number. */
  why: string;
  width: string;
  /** The width in a narrow window; null if there is no room for the column there. */
  narrow?: string | null;
  value: (row: Row) => number | string;
  /** What a file gets, if it is not the value by which rows are sorted. */
  exported?: (row: Row) => number | string;
  cell: (row: Row) => ComponentChildren;
}

interface Props<Row> {
  label: string;
  rows: Row[];
  columns: Column<Row>[];
  idOf: (row: Row) => string;
  childrenOf?: (row: Row) => Row[] | undefined;
  canOpen?: (row: Row) => boolean;
  open?: string[];
  onToggle?: (row: Row) => void;
  selected: string | null;
  onSelect?: (row: Row) => void;
  /** Column sorted by, `-` in front for the largest first; `otherwise` where this names none. */
  sort: string;
  otherwise: string;
  onSort: (sort: string) => void;
  height: number;
  /** True where rows hold nothing that can have the focus: then what scrolls has it. */
  flat?: boolean;
}

const ROW = 26;

export function TreeTable<Row extends object>(props: Props<Row>) {
  const { rows, idOf, childrenOf, canOpen, open = [], selected } = props;
  const columns = props.columns.filter((column) => !narrow.value || column.narrow !== null);
  const sort = isOrder(props.sort, props.columns.map(({ id }) => id)) ? props.sort : props.otherwise;
  const scroll = useRef<HTMLDivElement>(null);
  const prefix = useId();
  const definitions = useMemo(
    () => props.columns.map((column): ColumnDef<typeof features, Row> => ({ id: column.id, accessorFn: column.value, sortDescFirst: true, sortFn: compare })),
    [props.columns],
  );
  const expanded = Object.fromEntries(open.map((id) => [id, true]));
  // The table makes a row of whatever it gets, seen or not: what is below a closed row is not for it.
  const data = useMemo(() => [...rows], [rows, open.join("~")]);
  const table = useTable({
    features,
    columns: definitions,
    data,
    getRowId: (row) => idOf(row),
    getSubRows: (row) => (idOf(row) in expanded ? childrenOf?.(row) : undefined),
    getRowCanExpand: (row) => canOpen?.(row.original) ?? false,
    state: { expanded, sorting: [{ id: sort.replace(/^-/, ""), desc: sort.startsWith("-") }] },
  });
  const shown = table.getRowModel().rows;
  const virtual = useVirtualizer({ count: shown.length, getScrollElement: () => scroll.current, estimateSize: () => ROW, overscan: 12 });
  const drawn = virtual.getVirtualItems();
  const template = { gridTemplateColumns: columns.map((column) => (narrow.value && column.narrow) || column.width).join(" ") };
  const at = shown.findIndex((row) => row.id === selected);
  const onKey = (event: KeyboardEvent) => {
    const row = shown[at];
    const move = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15 }[event.key];
    if (move !== undefined) {
      const next = Math.max(0, Math.min(shown.length - 1, at + move));
      if (shown[next]) props.onSelect?.(shown[next].original);
      virtual.scrollToIndex(next);
    } else if (row && (event.key === "ArrowRight" || event.key === "ArrowLeft" || event.key === "Enter")) {
      const isOpen = open.includes(row.id);
      if (row.getCanExpand() && isOpen !== (event.key === "ArrowRight") && !(event.key === "ArrowLeft" && !isOpen)) props.onToggle?.(row.original);
    } else return;
    event.preventDefault();
  };
  return (
    <div class="table" role="treegrid" aria-label={props.label} aria-rowcount={shown.length + 1} tabIndex={0} onKeyDown={onKey}
      {...(at >= 0 && drawn.some((item) => item.index === at) ? { "aria-activedescendant": `${prefix}-${at}` } : {})}>
      <div class="tablehead" role="row" style={template}>
        {columns.map((column) => {
          const sorted = sort.replace(/^-/, "") === column.id;
          return (
            <div key={column.id} role="columnheader" aria-sort={sorted ? (sort.startsWith("-") ? "descending" : "ascending") : "none"}>
              <button type="button" class="plain" title={column.why} onClick={() => props.onSort(sorted && sort.startsWith("-") ? column.id : `-${column.id}`)}>
                {column.title}
                {sorted ? (sort.startsWith("-") ? " ▾" : " ▴") : ""}
              </button>
            </div>
          );
        })}
      </div>
      <div class="tablebody" ref={scroll} role="rowgroup" {...(props.flat ? { tabIndex: 0 } : {})} style={{ maxHeight: `${props.height}px` }}>
        <div role="presentation" style={{ height: `${virtual.getTotalSize()}px`, position: "relative" }}>
          {drawn.map((item) => {
            const row = shown[item.index]!;
            const isOpen = open.includes(row.id);
            const opens = row.getCanExpand();
            return (
              <div key={row.id} id={`${prefix}-${item.index}`} role="row" class={`tablerow ${row.id === selected ? "selected" : ""}`} aria-rowindex={item.index + 2} aria-level={row.depth + 1}
                aria-selected={row.id === selected} {...(opens ? { "aria-expanded": isOpen } : {})} style={{ ...template, transform: `translateY(${item.start}px)`, height: `${ROW}px` }}
                onClick={() => props.onSelect?.(row.original)} onDblClick={() => opens && props.onToggle?.(row.original)}>
                {columns.map((column, place) => (
                  <div key={column.id} role="gridcell" style={place === 0 ? { paddingLeft: `${6 + row.depth * 16}px` } : {}}>
                    {place === 0 && canOpen && (
                      <button type="button" class="toggle" tabIndex={-1} aria-label={isOpen ? "close" : "open"} style={{ visibility: opens ? "visible" : "hidden" }}
                        onClick={(event) => (event.stopPropagation(), props.onToggle?.(row.original))}>
                        {isOpen ? "▾" : "▸"}
                      </button>
                    )}
                    {column.cell(row.original)}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function compare(a: { getValue: (id: string) => unknown }, b: { getValue: (id: string) => unknown }, id: string): number {
  const [left, right] = [a.getValue(id), b.getValue(id)];
  return typeof left === "number" && typeof right === "number" ? left - right : String(left).localeCompare(String(right));
}
