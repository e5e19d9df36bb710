import { expect, it } from "vitest";
import { EstimateBook } from "./estimates";

const BOOK = new EstimateBook({
  by: ["lock-name", "owner-method", "contender-method", "contender-chain", "owner-chain"],
  parent: [-1, 0, 1, 2, 3, 3],
  value: [7, 20, 30, 41, 51, 52],
  total: [1000, 600, 600, 600, 400, 200],
  low: [1000, 550, 550, 560, 370, 180],
  high: [1000, 650, 640, 650, 430, 230],
  instants: [0, 40, 40, 40, 30, 12],
  leftOut: 3,
});
const shown = (total: number, stopped = 0) => ({ total, stopped });

it("a row has the interval of the analysis, with the pauses that its time has", () => {
  expect(BOOK.of(["lock-name", "owner-method"], [7, 20], shown(600))).toEqual({ low: 550, high: 650, instants: 40 });
  expect(BOOK.of(["lock-name", "owner-method", "contender-method"], [7, 20, 30], shown(605, 5))).toEqual({ low: 555, high: 645, instants: 40 });
  expect(BOOK.ofPair(41, 52, shown(200))).toEqual({ low: 180, high: 230, instants: 12 });
  expect(BOOK.leftOut).toBe(3);
});

it("what is exact, of other aspects or of a part of the recording has none", () => {
  expect(BOOK.of(["lock-name"], [7], shown(1000))).toBeNull();
  expect(BOOK.of(["lock-name", "owner-group"], [7, 20], shown(600))).toBeNull();
  expect(BOOK.of(["lock-name", "owner-method"], [7, 20], shown(599))).toBeNull();
  expect(BOOK.ofPair(41, 53, shown(200))).toBeNull();
});
