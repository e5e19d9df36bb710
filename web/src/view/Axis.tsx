// Moments above or below what is drawn over time.
import { moment } from "../text/units";

const TICKS = [0, 0.25, 0.5, 0.75, 1];

export function Axis({ from, to, style }: { from: number; to: number; style: Record<string, string> }) {
  return (
    <div class="axis" style={style} aria-hidden="true">
      {TICKS.map((at) => (
        <span key={at} style={{ left: `${at * 100}%` }}>{moment(from + (to - from) * at, to - from)}</span>
      ))}
    </div>
  );
}
