import { expect, it } from "vitest";
import type { Link, Seen } from "../data/contract";
import { DEFAULT, toAddress } from "./address";
import { insideOwners, viewOf } from "./leading";

it("a name of code leads to a page that has it, whatever is filtered", () => {
  const from = { ...DEFAULT, page: "incident" as const, thread: "=other", method: "none", kind: "juc" as const, range: { from: 1, to: 2 } };
  const to = (kind: Link["kind"], seen: Seen) => toAddress({ ...from, ...viewOf({ name: "Prices.load", kind, seen, whole: "a.Prices.load" }) });
  expect(to("method", "blocked")).toBe("#/locks?range=1-2&method=Prices.load");
  expect(to("method", "inside")).toBe("#/locks?range=1-2&sandwich=a.Prices.load&mode=inside");
  expect(to("method", "wait")).toBe("#/parks?range=1-2&method=Prices.load&mode=wait");
  expect(to("method", "cpu")).toBe("#/profile?range=1-2&sandwich=a.Prices.load&mode=cpu");
  expect(to("lock", "blocked")).toBe("#/locks?range=1-2&lock=Prices.load");
  expect(to("lock", "park")).toBe("#/parks?range=1-2&lock=Prices.load&mode=park");
  expect(to("thread", "blocked")).toBe("#/threads?range=1-2&thread=%3DPrices.load");
  expect(toAddress({ ...from, ...insideOwners("a.B.c", "B.lock") })).toBe("#/locks?range=1-2&lock=%3DB.lock&sandwich=a.B.c&mode=inside");
});
