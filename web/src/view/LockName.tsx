import { withoutPackage } from "../text/frames";

/** A lock's name in a narrow column: what distinguishes it from others of its class is never cut. */
export function LockName({ name }: { name: string }) {
  const shown = withoutPackage(name);
  const end = Math.max(shown.lastIndexOf("@"), shown.lastIndexOf("#"));
  const tail = end > 0 && shown.length - end < 20 ? shown.slice(end) : "";
  return (
    <>
      <span class="cut" title={name}>{shown.slice(0, shown.length - tail.length)}</span>
      <span class="kept" title={name}>{tail}</span>
    </>
  );
}
