/** Names with their values, without those that have none. */
export function FactList({ rows }: { rows: [name: string, value: string][] }) {
  return (
    <dl>
      {rows.filter(([, value]) => value).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
