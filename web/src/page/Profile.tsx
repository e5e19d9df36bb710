export function Profile() { return <p>soon</p>; }
