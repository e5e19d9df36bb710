import { KINDS } from "../data/contract";
import { useSource } from "../state/asking";
import { view } from "../state/view";

/** Why there is no blocked time to show: nothing of it was recorded, or the filter leaves it out. */
export function NoBlockedTime() {
  const stretches = useSource().opening.recordings[view.value.recording]?.stretches ?? [];
  const isRecorded = (["monitor", "juc"] as const).some((kind) => (stretches[KINDS.indexOf(kind)] ?? 0) > 0);
  if (!isRecorded) return <>The recording has no blocked time. Record with -e lock while the program is slow.</>;
  const { method } = view.value;
  return (
    <>
      No blocked time in this range and filter; “Show all” removes both.
      {method !== "" && " A method that an owner executed while it had the lock is in Locks, under “Inside the owner”: here it counts only if a thread was blocked in it, or released the lock in it."}
    </>
  );
}
