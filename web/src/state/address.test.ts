import { describe, expect, it } from "vitest";
import { DEFAULT, fromAddress, toAddress, type View } from "./address";

describe("the address tells the whole view", () => {
  it("leads back to it", () => {
    const view: View = {
      page: "locks",
      range: { from: 1_000_000, to: 2_500_000 },
      thread: "=request-1 & co",
      lock: "Stock#lock?",
      method: "a/b~c",
      kind: "juc",
      services: true,
      by: ["owner-chain", "lock"],
      sort: "-self",
      open: ["owner-chain:3", "owner-chain:3/lock:4"],
      pick: [{ by: "owner-chain", value: 3 }],
      stretch: 17,
      mode: "holding.-max",
      search: "x y",
      zoom: "1.2.-1",
      recording: 1,
    };
    expect(fromAddress(toAddress(view))).toEqual(view);
  });
  it("is short for the default", () => {
    expect(toAddress(DEFAULT)).toBe("#/overview");
    expect(fromAddress("")).toEqual(DEFAULT);
  });
  it("what makes no sense is left at its default", () => {
    const hostile = "#/<script>?range=9-1&kind=evil&by=__proto__,lock,lock&pick=lock:x&open=lock:1~zzz&stretch=-5&recording=99";
    expect(fromAddress(hostile)).toEqual({ ...DEFAULT, by: ["lock"], open: ["lock:1"] });
  });
});
