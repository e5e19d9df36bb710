export function Threads() { return <p>soon</p>; }
