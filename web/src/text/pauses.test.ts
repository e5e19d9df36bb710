import { expect, it } from "vitest";
import { noGroups } from "../data/group";
import { pausesText } from "./pauses";

it("says how long the VM was paused, that it was not, or nothing where that is not known", () => {
  const range = { from: 1e9, to: 3e9 };
  const facts = (change: object = {}) => ({ foreign: false, pauses: [0, 0] as [number, number], losses: [], problems: [], ...change });
  const some = (count: number, totalNs: number, max: number) => ({ ...noGroups(), count, totalNs, parent: [-1], value: [7], total: [totalNs], max: [max] });
  expect(pausesText(facts(), some(3, 50e6, 30e6), range, true)).toBe("3 garbage collection pauses in the chosen range: 50.0 ms in total (2.5 % of the time), the longest 30.0 ms.");
  expect(pausesText(facts({ foreign: true }), some(1, 50e6, 50e6), range, false)).toBe("One VM pause: 50.0 ms (2.5 % of the time).");
  expect(pausesText(facts(), noGroups(), range, false)).toBe("No garbage collection pause.");
  expect(pausesText(facts({ foreign: true, pauses: [4, 100] }), noGroups(), range, false)).toBe("No VM pause.");
  expect(pausesText(facts({ foreign: true }), noGroups(), range, false)).toBe("");
  expect(pausesText(facts({ losses: [{ name: "x", count: 1, explanation: "" }] }), noGroups(), range, false)).toBe("");
});
