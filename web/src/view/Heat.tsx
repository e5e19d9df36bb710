// When something happened: one cell for each interval, the stronger the more.
import type { Cut, Range } from "../data/intervals";

interface Props {
  made: Cut;
  /** Time in each interval. */
  values: number[];
  colour: string;
  label: string;
  /** Called with the interval that was clicked. */
  onPick: (range: Range) => void;
  title: (at: number) => string;
}

const WIDTH = 150;
const HEIGHT = 14;

export function Heat({ made, values, colour, label, onPick, title }: Props) {
  const most = Math.max(1, ...values);
  const cell = WIDTH / made.intervals;
  return (
    <svg class="heat" width={WIDTH} height={HEIGHT} role="img" aria-label={label}>
      <rect width={WIDTH} height={HEIGHT} style={{ fill: "var(--code)" }} />
      {values.map((value, at) =>
        value > 0 ? (
          <rect key={at} x={at * cell} width={Math.max(1, cell)} height={HEIGHT} style={{ fill: colour, opacity: String(0.2 + (0.8 * value) / most) }}
            onClick={() => onPick({ from: made.edges[at]!, to: made.edges[at + 1]! })}>
            <title>{title(at)}</title>
          </rect>
        ) : null,
      )}
    </svg>
  );
}
