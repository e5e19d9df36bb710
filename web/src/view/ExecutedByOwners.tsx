// Where a method is that the filter does not find, because owners executed it while they had a lock.
import { useMemo } from "preact/hooks";
import { grouping, MOST_STACKS, scopeOf, useAnswers, useNames } from "../state/asking";
import { insideOwners } from "../state/leading";
import { address, view } from "../state/view";
import { useDuration } from "./FilterBar";

/** Methods that are named. */
const MOST = 3;

export function ExecutedByOwners() {
  const whole = useDuration();
  const names = useNames(view.value.recording);
  const { method } = view.value;
  const scope = scopeOf({ ...view.value, method: "" }, whole, ["inside"]);
  const answers = useAnswers(grouping(scope, ["inside"], MOST_STACKS));
  const found = useMemo(() => {
    if (!answers || method === "") return [];
    const wanted = method.toLowerCase();
    const fits = (name: string) => (method.startsWith("=") ? name === method.slice(1) : name.toLowerCase().includes(wanted));
    const all = answers[0].value.flatMap((chain) => names.chain(chain)).map((frame) => names.text(names.frame(frame).method));
    return [...new Set(all.filter(fits))].slice(0, MOST);
  }, [answers, method]);
  if (found.length === 0) return null;
  return (
    <>
      {" "}Owners executed it while they had a lock:
      {found.map((one, place) => (
        <>{place > 0 && ","} <a href={address(insideOwners(one))}><code>{one}</code></a></>
      ))}
      .
    </>
  );
}
