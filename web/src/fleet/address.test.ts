import { describe, expect, it } from "vitest";
import { DEFAULT, fromAddress, toAddress, type FleetView } from "./address";

describe("the address of a store's page", () => {
  it("leads back to what was shown", () => {
    const view: FleetView = {
      page: "locks",
      only: { service: "shop & co", version: "1.2#3", host: "web-7?", from_us: Date.UTC(2026, 10, 25, 10, 7) * 1000, to_us: Date.UTC(2026, 10, 25, 11) * 1000 },
      sort: "-max_ns",
      pick: ["shop & co", "", "-8123456789012345678"],
      mode: "share",
      pair: 3,
    };
    const problems: string[] = [];
    expect(fromAddress(toAddress(view), problems)).toEqual(view);
    expect(problems).toEqual([]);
  });
  it("is short for the default", () => {
    expect(toAddress(DEFAULT)).toBe("#/services");
    expect(fromAddress("")).toEqual(DEFAULT);
  });
  it("an empty name is a name", () => {
    const view: FleetView = { ...DEFAULT, only: { ...DEFAULT.only, version: "" } };
    expect(fromAddress(toAddress(view))).toEqual(view);
  });
  it("what makes no sense is left at its default, and said", () => {
    const problems: string[] = [];
    expect(fromAddress("#/evil?from=2026-02-30&to=now&pair=-1", problems)).toEqual(DEFAULT);
    expect(problems).toEqual(["there is no page “evil”", "no time is “2026-02-30”", "no time is “now”", "there is no pair of stacks “-1”"]);
  });
  it("what is no parameter, or is there twice, is said", () => {
    const problems: string[] = [];
    expect(fromAddress("#/locks?service=a&service=b&form=2026-11-25&pick=a&pick=b", problems)).toMatchObject({ only: { service: "a", from_us: null }, pick: ["a", "b"] });
    expect(problems).toEqual(["there is more than one “service”", "there is no parameter “form”"]);
  });
  it("what a page does not have to choose is left at its default, and said", () => {
    for (const [address, ...sentences] of [
      ["hosts?sort=-factor&pick=a&pick=b"],
      ["phases?sort=length"],
      ["locks?from=2026-11-25&to=2026-11-25T00:00", "no time after 2026-11-25 00:00 is “2026-11-25T00:00”"],
      ["hosts?sort=-peak", "this page has no sort “-peak”"],
      ["hosts?mode=share", "this page has no mode “share”"],
      ["locks?mode=time", "this page has no mode “time”"],
    ] as [string, ...string[]][]) {
      const problems: string[] = [];
      const { mode } = fromAddress(`#/${address}`, problems);
      expect(problems, address).toEqual(sentences);
      expect(mode, address).toBe("");
    }
  });
});
