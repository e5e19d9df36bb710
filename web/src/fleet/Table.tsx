// A table of rows of a view: in the page's order and with its selection, which stand in the address.
import { csv, save } from "../text/download";
import { count, times } from "../text/units";
import { TreeTable, type Column } from "../view/TreeTable";
import type { Rows } from "./contract";
import { show, view } from "./view";

interface Props<Row> {
  /** What a row is, for the number of rows: `lock`. */
  one: string;
  label: string;
  /** The view in SQL that has the rows. */
  from: string;
  answer: Rows<Row>;
  columns: Column<Row>[];
  /** What a row is known by. */
  partsOf: (row: Row) => string[];
  /** The order unless one is chosen. */
  otherwise: string;
  height: number;
}

export function Table<Row extends object>({ one, label, from, answer: { rows, more }, columns, partsOf, otherwise, height }: Props<Row>) {
  const { pick } = view.value;
  if (rows.length === 0) return <p class="empty">No rows with this filter.</p>;
  const idOf = (row: Row) => JSON.stringify(partsOf(row));
  const download = () => csv([columns.map(({ id }) => id), ...rows.map((row) => columns.map(({ value, exported }) => (exported ?? value)(row)))]);
  return (
    <>
      <div class="sideways">
        <div style={{ minWidth: `${leastWidth(columns)}px` }}>
          <TreeTable label={label} rows={rows} columns={columns} idOf={idOf} selected={pick.length > 0 ? JSON.stringify(pick) : null}
            onSelect={(row) => show({ pick: partsOf(row), pair: 0 }, false)} sort={view.value.sort} otherwise={otherwise} onSort={(sort) => show({ sort }, false)} height={height} flat />
        </div>
      </div>
      <p class="foot">
        {more ? `the first ${count(rows.length)} ${one}s; a filter shows others` : times(rows.length, one)}, view <code>{from}</code>
        <button type="button" class="small push" title="Download as CSV" onClick={() => save(`${from}.csv`, "text/csv", download())}>CSV</button>
      </p>
    </>
  );
}

/** Pixels without which columns would be cut: the first number of each width. */
function leastWidth<Row>(columns: Column<Row>[]): number {
  const padding = 20;
  return columns.reduce((sum, { width }) => sum + Number(/\d+/.exec(width)?.[0] ?? 0), padding);
}

/** A column of numbers. */
export function number<Row, Id extends string>(id: Id, title: string, why: string, value: (row: Row) => number | null | undefined, format: (n: number) => string = count, width = "84px"): Column<Row, Id> {
  const cell = (row: Row) => <span class="number">{shown(value(row), format)}</span>;
  return { id, title, why, width, value: (row) => value(row) ?? -1, exported: (row) => value(row) ?? "", cell };
}

function shown(value: number | null | undefined, format: (n: number) => string): string {
  return value === null || value === undefined ? "unknown" : format(value);
}

/** A column of names. */
export function text<Row, Id extends string>(id: Id, title: string, why: string, value: (row: Row) => string, width = "minmax(90px, 1fr)"): Column<Row, Id> {
  const cell = (row: Row) => <span class="cut" title={value(row)}>{value(row)}</span>;
  return { id, title, why, width, value, cell };
}
