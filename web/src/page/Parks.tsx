export function Parks() { return <p>soon</p>; }
