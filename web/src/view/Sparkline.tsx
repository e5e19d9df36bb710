// A small picture of how something went over time.
interface Props {
  values: number[];
  colour: string;
  label: string;
  width?: number;
}

export function Sparkline({ values, colour, label, width = 118 }: Props) {
  const most = Math.max(1, ...values);
  const right = width - 2;
  const points = values.map((value, at) => `${(at / Math.max(1, values.length - 1)) * right},${20 - (value / most) * 18}`).join(" ");
  return (
    <svg width={width} height="22" role="img" aria-label={label}>
      <polygon points={`0,20 ${points} ${right},20`} style={{ fill: colour, opacity: "0.6" }} />
    </svg>
  );
}
