import { expect, it } from "vitest";
import { disagreement, type Change } from "../data/compare";
import { changeText, comparedText, disagreementText } from "./comparing";
import { factor } from "./units";

it("the factor of a change has two digits", () => {
  const cases: [before: number, after: number, text: string][] = [
    [10, 4, "×0.40"], [10, 21, "×2.1"], [10, 130_000, "×13,000"], [10, 10, "×1.0"], [0, 0, "×1.0"], [0, 5, "new"], [5, 0, "gone"], [1000, 5, "×0.005"], [1_000_000, 5, "< ×0.001"],
  ];
  for (const [before, after, text] of cases) expect(factor(before, after)).toBe(text);
});

it("says how long threads waited before and after, and whether that can be chance", () => {
  const row = (name: string, verdict: Change["verdict"]) => ({ name, verdict }) as Change;
  const rows = [row("Pool.borrow", "better"), row("Queue.take", "within noise")];
  expect(comparedText({ what: "waiting", perUnit: [8e9, 2e9], rows }, "second")).toBe(
    "Threads waited 8.00 s per second before and 2.00 s per second after (idle threads left out), 4 times less. 1 significant change: 0 worse, 1 better; the largest is Pool.borrow.",
  );
  expect(comparedText({ what: "blocked", perUnit: [170_000, 0], rows: rows.slice(1) }, "CPU second")).toBe(
    "Threads were blocked 170 us per CPU second before and 0 ns per CPU second after. This can be chance: no change is larger than the noise.",
  );
});

it("says which verdict depends on the unit, and why", () => {
  const change = (name: string, verdict: Change["verdict"]) => ({ name, verdict, difference: -10, noise: 12 }) as Change;
  const perSecond = [change("a", "worse"), change("b", "within noise"), change("c", "better"), change("d", "worse")];
  const perCpuSecond = [change("b", "worse"), change("c", "worse"), change("a", "worse"), change("d", "worse")];
  const found = disagreement(perSecond, perCpuSecond)!;
  expect(found).toEqual({ name: "c", perSecond: "better", perCpuSecond: "worse", noise: 0 });
  const decidedOnce = disagreement(perSecond.slice(0, 2), perCpuSecond)!;
  expect(disagreementText(decidedOnce, [0, 0])).toBe("The units disagree: b is worse per CPU second, but within noise per second, where the noise is 120 % of the change.");
  expect(disagreement(perSecond.slice(0, 2), perCpuSecond)?.name).toBe("b");
  expect(disagreement(perSecond, perSecond)).toBeNull();
  expect(disagreementText(found, [2, 0.4])).toBe("The units disagree: c is better per second, but worse per CPU second. The application used 5 times less CPU time per second: 2.0 CPUs on average before, 0.40 after.");
  expect(changeText(0, 4)).toBe("");
  expect(changeText(4, 5)).toBe("25 % more");
});
