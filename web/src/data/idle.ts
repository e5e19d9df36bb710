// Which waits are those of idle threads: the embedded twin of crates/page/src/idle.rs.
import { KINDS } from "./contract";
import { valueIn, valuesOf, type Recording } from "./scope";
import { TOTALS, SUMMED } from "./table";

const WAIT = KINDS.indexOf("wait");
const PARK = KINDS.indexOf("park");

/** Whether a row is a wait of which most of the like are those of idle threads. */
export function idleRows(recording: Recording): (row: number) => boolean {
  const { head, table } = recording;
  const mostly = head.facts.idleWaits.filter(({ idleNs, totalNs }) => 2 * idleNs >= totalNs);
  if (mostly.length === 0) return () => false;
  const wanted = new Set(mostly.map(({ method, isMonitor }) => `${isMonitor ? WAIT : PARK} ${method}`));
  const methods = [WAIT, PARK].map((kind) => Uint8Array.from(head.texts, (text) => (wanted.has(`${kind} ${text}`) ? 1 : 0)));
  const [method, name] = [valuesOf("contender-method", recording), valuesOf("lock-name", recording)];
  const isOfMethod = (row: number) => methods[table.kind[row] === WAIT ? 0 : 1]![valueIn(method, row)] === 1;
  const isWait = (row: number) => table.kind[row] === WAIT || table.kind[row] === PARK;
  // Sums without call stacks have only the name of what was waited for.
  const times = new Map<number, [idle: number, all: number]>();
  const nameOf = (row: number) => 2 * valueIn(name, row) + (table.kind[row] === WAIT ? 0 : 1);
  for (let row = 0; row < table.length; row++) {
    if (!isWait(row) || table.chain[row] === 0 || table.lock[row] === 0 || table.flags[row]! & TOTALS) continue;
    const total = table.flags[row]! & SUMMED ? table.sums.total[table.sum[row]!]! : table.span[row]!;
    const time = times.get(nameOf(row)) ?? [0, 0];
    time[0] += isOfMethod(row) ? total : 0;
    time[1] += total;
    times.set(nameOf(row), time);
  }
  return (row) => {
    if (!isWait(row)) return false;
    if (table.chain[row] !== 0) return isOfMethod(row);
    const [idle, all] = times.get(nameOf(row)) ?? [0, 0];
    return table.lock[row] !== 0 && idle > 0 && 2 * idle >= all;
  };
}
