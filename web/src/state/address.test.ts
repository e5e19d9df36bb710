import { describe, expect, it } from "vitest";
import { DEFAULT, fromAddress, pathOf, stepsOf, toAddress, type View } from "./address";
import { estimatedOrder } from "./pages";

describe("the address has the whole view", () => {
  it("leads back to it", () => {
    const view: View = {
      page: "profile",
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
      mode: "owning.flat.all",
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
  it("has what each page can choose", () => {
    for (const chosen of [
      "locks?mode=holding.-max&search=3",
      "locks?mode=.instants",
      "waitfor?mode=methods",
      "profile?mode=.tree&sort=-share&search=a.B%3A%3Ac(",
      "profile?mode=cpu.callers.all&zoom=-1~1.2~-3.4",
      "parks?sort=-threadLifeUse",
      "parks?mode=wait&sort=ended",
      "steal?mode=threads.-offCpu99&sort=offCpu",
      "steal?mode=groups.",
      "compare?mode=owner-group.-noise.wall-before.cpu.1-2.&search=x",
      "threads?services=no&recording=0",
    ]) {
      const problems: string[] = [];
      const view = fromAddress(`#/${chosen}`, problems);
      expect(problems, chosen).toEqual([]);
      expect(fromAddress(toAddress(view)), chosen).toEqual(view);
    }
  });
  it("what a page does not have to choose is left at its default, and said", () => {
    for (const [address, ...sentences] of [
      ["overview?mode=x&sort=total&search=y", "this page has no mode “x”", "this page has no sort “total”", "this page has no search “y”"],
      ["locks?mode=nonsense", "this page has no mode “nonsense”"],
      ["locks?mode=chains.-nonsense", "this page has no mode “chains.-nonsense”"],
      ["locks?mode=chains.-max.x", "this page has no mode “chains.-max.x”"],
      ["locks?sort=-max", "this page has no sort “-max”"],
      ["locks?search=reserve", "this page has no search “reserve”"],
      ["waitfor?mode=toString", "this page has no mode “toString”"],
      ["profile?mode=cpu.flames", "this page has no mode “cpu.flames”"],
      ["profile?mode=cpu.flame.some", "this page has no mode “cpu.flame.some”"],
      ["parks?mode=waits&sort=-max", "this page has no mode “waits”", "this page has no sort “-max”"],
      ["steal?mode=threads.-total", "this page has no mode “threads.-total”"],
      ["steal?sort=--offCpu", "this page has no sort “--offCpu”"],
      ["compare?mode=lock", "this page has no mode “lock”"],
      ["compare?mode=lock-name.-size.waiting-after", "this page has no mode “lock-name.-size.waiting-after”"],
      ["compare?mode=....2-1", "this page has no mode “....2-1”"],
      ["profile?zoom=1.x", "this page has no zoom “1.x”"],
    ] as [string, ...string[]][]) {
      const problems: string[] = [];
      expect(fromAddress(`#/${address}`, problems), address).toMatchObject({ mode: "", sort: "", search: "", zoom: "" });
      expect(problems, address).toEqual(sentences);
    }
    // A column of the calling context tree, not of the methods.
    const problems: string[] = [];
    expect(fromAddress("#/profile?mode=cpu.flat&sort=-share", problems)).toMatchObject({ mode: "cpu.flat", sort: "" });
    expect(problems).toEqual(["this page has no sort “-share”"]);
  });
  it("knows which order only a recording that samples has", () => {
    const orders = ["locks?mode=chains.-interval", "locks?mode=.instants", "locks?mode=chains.-max", "steal?mode=groups.-max"];
    expect(orders.map((address) => estimatedOrder(fromAddress(`#/${address}`)))).toEqual(["-interval", "instants", "", ""]);
  });
  it("what is no parameter, or is there twice, is said", () => {
    for (const [address, ...sentences] of [
      ["threads?threads=a&threads=b&services=no"],
      ["threads?lock=a&lock=b", "there is more than one “lock”"],
      ["threads?sorted=name&range=1-2&", "there is no parameter “sorted”"],
      ["threads?services=true", "services is yes or no, not “true”"],
    ] as [string, ...string[]][]) {
      const problems: string[] = [];
      expect(fromAddress(`#/${address}`, problems), address).toMatchObject({ services: false });
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
