export function WaitFor() { return <p>soon</p>; }
