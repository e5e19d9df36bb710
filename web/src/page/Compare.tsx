export function Compare() { return <p>soon</p>; }
