import { describe, expect, it } from "vitest";
import { noCpuText, notOwned, onAverage, SHARE_WORDS, threadsText, tooFew, whoText } from "./owning";
import { PARK_WORDS } from "./parks";
import { PRESSURE } from "./words";
import { NO_NAMES, noGroups } from "../data/group";
import { NameBook } from "../data/names";
import { spotsOf } from "../data/incident";
import { applicationThreads } from "../data/lanes";

describe("words about owners", () => {
  it("never say that more threads were blocked on average than there were", () => {
    expect(onAverage(300, 100, 4)).toBe("3.0 threads on average");
    expect(onAverage(500, 100, 4)).toBe("more than these threads can be blocked in this range (when short contentions were is known only to a second or so),");
  });
  it("say what an owner was in as the findings do: what the application called, and where", () => {
    const names = new NameBook();
    const frame = (method: number, line: number, jdk: boolean) => ({ method, line, jdk, file: "", source: "" });
    names.learn({ ...NO_NAMES, texts: { 1: "app.Prices.download", 2: "java.lang.Thread.sleep", 3: "java.lang.Thread.sleep0" }, frames: { 1: frame(1, 14, false), 2: frame(2, 9, true), 3: frame(3, 0, true) }, chains: { 1: [3, 2, 1], 2: [1] } });
    const groups = { ...noGroups(), parent: [-1, -1, -1], value: [1, 2, 0], total: [30, 20, 10] };
    expect(spotsOf(groups, names).map(({ text }) => text)).toEqual(["java.lang.Thread.sleep, called from app.Prices.download:14", "app.Prices.download:14", "outside the method that acquired the lock"]);
  });
  it("say whose time in the run queue it is, and of what a part", () => {
    const owner = (time: number) => ({ what: "owner" as const, time, owner: { method: 1, time, paused: 0 } });
    expect(noCpuText(54, 1000, [{ what: "unknown", time: 840 }])).toBe("the owner had no CPU for 5.4 % of it");
    expect(noCpuText(320, 1000, [owner(670)])).toBe("the owner had no CPU for 32 % of it");
    expect(noCpuText(320, 1000, [owner(300)])).toBe("its owners together had no CPU for 32 % of it");
  });
  it("say of all parts of which sum they are", () => {
    const said = (what: keyof typeof SHARE_WORDS, place: "largest" | "other") => SHARE_WORDS[what][place].join("94 %");
    expect(said("hand-off", "largest")).toBe("94 % of that: the lock had been released, and the next thread had not run yet");
    expect(said("owner", "largest")).toBe("owned it for 94 % of that");
    expect(said("pauses", "other")).toBe("94 % VM pauses");
    expect(said("unknown", "other")).toBe("94 % unknown owner");
  });
  it("keep hand-off, VM pauses and unknown owners apart", () => {
    const known = { total: 66_900, paused: 3690, handOff: 63_030, owned: 100, unknown: 80 };
    expect(notOwned(known, "the blocked time")).toBe("For 94 % of the blocked time, no thread had the lock (hand-off); for 5.5 %, the VM was paused; for 0.1 %, the owner is unknown.");
    expect(notOwned({ ...known, unknown: 63_030, handOff: 0, paused: 0 }, "the time of the 300 longest contentions")).toBe("For 94 % of the time of the 300 longest contentions, the owner is unknown.");
    expect(notOwned({ ...known, owned: 40_000 }, "the blocked time")).toBe("");
  });
  it("say that samples are too few", () => {
    expect(tooFew(2)).toBe("Only 2 samples of owners were taken: too few to say what they did.");
    expect(tooFew(18_504, 0.041)).toBe("Samples of owners cover 4.1 % of the blocked time: too little to say what they did.");
    expect(tooFew(3, null)).toBe("Too few samples of owners were taken to say what they did.");
    expect(tooFew(1)).toBe("Only 1 sample of owners was taken: too few to say what they did.");
  });
});

describe("words about threads", () => {
  const thread = (name: string, kind = 0, others = 0) => ({ name, kind, others });
  it("count those of the JVM apart from the application's", () => {
    const own = [thread("main"), thread("request-1"), thread("virtual", 1)];
    expect(threadsText(3, own)).toBe("3 application threads");
    expect(threadsText(3, [...own, thread("Common-Cleaner", 2)])).toBe("3 application threads and Common-Cleaner of the JVM");
    expect(threadsText(3, [...own, thread("Common-Cleaner", 2), thread("Finalizer", 2)])).toBe("3 application threads and 2 threads of the JVM");
    const counted = (name: string, kind = 0, others = 0) => applicationThreads({ ...thread(name, kind, others), key: `${name}#1` });
    expect([counted("main"), counted("request-*", 0, 40), counted("Finalizer", 2)]).toEqual([1, 40, 0]);
    // What virtual threads did of which it is not known which one it was.
    expect(applicationThreads({ ...thread("virtual threads", 1), key: "virtual threads" })).toBe(0);
  });
});

describe("explanations", () => {
  it("say of what pressure is a part", () => {
    expect(PRESSURE).toBe("Pressure: time blocked on the lock / time in which threads did not wait, all threads added up.");
  });
  it("each column of park statistics has one, which says what is divided by what", () => {
    for (const [title, why] of Object.values(PARK_WORDS)) expect(why, title).toMatch(/^[A-Z].+\.$/);
    const divided = ["averagePark", "averageHold", "realUse", "threadUse", "realLifeUse", "threadLifeUse"] as const;
    for (const id of divided) expect(PARK_WORDS[id][1], id).toContain(" / ");
  });
});

it("says how many threads were blocked, unless some are known as a sum only", () => {
  expect([whoText(1, 0), whoText(40, 0), whoText(194, 209)]).toEqual(["1 thread was", "40 threads were", "Threads were"]);
});
