import { describe, expect, it } from "vitest";
import { DEFAULT, fromAddress, pathOf, stepsOf, toAddress, type View } from "./address";

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
      open: ["owner-chain:811c9dc59747b28c", pathOf([{ by: "owner-chain", key: "811c9dc59747b28c" }, { by: "lock", key: "a/b:c~d (x.Y@1) %2F" }])],
      pick: [{ by: "contender-thread", key: "request-1 ~ x#21" }],
      contention: { kind: "monitor", start: 17, thread: "request-1#2@1" },
      mode: "holding.-max",
      search: "x y",
      zoom: "1.2.-1",
      sandwich: "a.B.(lambda)&x=1",
      focus: ["a.B.c~d,e", "poll [libc.so.6]"],
      drop: ["<clinit> + 1"],
      threads: ["request-1 & co#21", "a,b#2"],
      recording: 1,
    };
    const problems: string[] = [];
    expect(fromAddress(toAddress(view), problems)).toEqual(view);
    expect(problems).toEqual([]);
    expect(stepsOf(view.open[1]!)[1]).toEqual({ by: "lock", key: "a/b:c~d (x.Y@1) %2F" });
  });
  it("is short for the default", () => {
    expect(toAddress(DEFAULT)).toBe("#/overview");
    expect(fromAddress("")).toEqual(DEFAULT);
  });
  it("what is no parameter, or is there twice, is said", () => {
    for (const [address, ...sentences] of [
      ["threads?threads=a&threads=b&services=no"],
      ["threads?lock=a&lock=b", "there is more than one “lock”"],
      ["threads?sorted=name&range=1-2&", "there is no parameter “sorted”"],
      ["threads?services=true", "services is yes or no, not “true”"],
      ["profile?zoom=1.x", "no frame is “1.x”"],
    ] as [string, ...string[]][]) {
      const problems: string[] = [];
      expect(fromAddress(`#/${address}`, problems), address).toMatchObject({ services: false, zoom: "" });
      expect(problems, address).toEqual(sentences);
    }
    expect(fromAddress("#/locks?lock=a?b").lock).toBe("a?b");
  });
  it("what makes no sense is left at its default, and said", () => {
    const hostile = "#/<script>?range=9-1&kind=evil&by=__proto__,lock,lock&pick=locks:x&open=lock:1~zzz&contention=-5&recording=99";
    const problems: string[] = [];
    expect(fromAddress(hostile, problems)).toEqual(DEFAULT);
    expect(problems).toEqual([
      "there is no page “<script>”",
      "no time range is “9-1”",
      "there is no kind of lock “evil”",
      "no sequence of aspects is “__proto__,lock,lock”",
      "no rows are “lock:1~zzz”",
      "no row is “locks:x”",
      "no contention is “-5”",
      "there is no recording “99”",
    ]);
  });
});
