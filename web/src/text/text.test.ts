import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseUtc, tick, utc } from "./clock";
import { KINDS, type Facts, type Kind } from "../data/contract";
import { csv } from "./download";
import { parts, split, withoutPackage, wordsOf } from "./frames";
import { leavesOutLocks, neverText, optionsOf, records } from "./options";
import { lockOf, pieces } from "./sentence";
import { shellWord } from "./shell";
import { laneWords, STATE_WORDS } from "./words";
import { axisEnd, between, count, duration, interval, moment, parseMoment, percent, wrongBegin, wrongEnd } from "./units";

describe("findings", () => {
  it("are about the first lock that they name", () => {
    const links = [{ kind: "lock", name: "Settings.lock" }, { kind: "thread", name: "reloader" }] as const;
    expect(lockOf({ text: "Thread `reloader` spent 3 s blocked on `Settings.lock`." }, [...links])).toBe("Settings.lock");
    expect(lockOf({ text: "`reloader` waited on Settings.lock" }, [...links])).toBeNull();
  });
});

describe("numbers", () => {
  it("look as in the table that the command line shares", () => {
    const table = readFileSync(new URL("../../../crates/model/src/quantity_cases.txt", import.meta.url), "utf8");
    const cases = table.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    const shown = { duration, percent, count };
    for (const line of cases) {
      const [kind, value] = line.split(" ", 2) as [keyof typeof shown, string];
      expect(`${kind} ${value} = ${shown[kind](Number(value))}`).toBe(line);
    }
    expect(cases.length).toBeGreaterThan(40);
  });
  it("moments are as exact as their axis", () => {
    expect(moment(1_234_567_890, 5e9)).toBe("1.235 s");
    expect(moment(1_234_567_890, 200e9)).toBe("1.2 s");
  });
  it("what is typed is understood or refused", () => {
    expect(["12.5", "12.5s", "300ms", " 40 us ", "7ns", "", "-1", "soon"].map(parseMoment)).toEqual([12.5e9, 12.5e9, 3e8, 4e4, 7, null, null, null]);
  });
  it("a typed time that cannot be the begin or the end of a range is refused, and why", () => {
    expect(["", "1", "2", "soon"].map((text) => wrongBegin(text, 2e9, 9e9))).toEqual(["", "", "not before the end, 2.000 s", "not a time such as 12.5s or 300ms"]);
    expect(["", "3", "2", "soon"].map((text) => wrongEnd(text, 2e9, 9e9))).toEqual(["", "", "not after the begin, 2.000 s", "not a time such as 12.5s or 300ms"]);
  });
});

it("an interval is as exact as its ends", () => {
  const shown = [[8e9, 17e9], [8.5e9, 10e9], [0, 0.25e9]].map(([from, to]) => interval({ from: from!, to: to! }, 24e9));
  expect(shown).toEqual(["8 s–17 s", "8.5 s–10 s", "0 s–0.25 s"]);
});

it("an interval of values has their unit once if it is the same", () => {
  expect([between("58 %", "66 %"), between("812 us", "1.20 ms"), between("0 %", "< 0.1 %")]).toEqual(["58 to 66 %", "812 us to 1.20 ms", "0 to < 0.1 %"]);
  expect([between("98 %", "> 99 %"), between("> 99 %", "> 99 %"), between("< 0.1 %", "3.0 %"), between("0 %", "100 %")]).toEqual(["at least 98 %", "> 99 %", "at most 3.0 %", "0 to 100 %"]);
});

describe("the axis of a chart", () => {
  it("has a whole number in its middle where it counts things", () => {
    expect([0, 0.3, 2, 2.1, 10.2].map((max) => axisEnd(max, true))).toEqual([2, 2, 2, 4, 12]);
    expect([0, 0.5].map((max) => axisEnd(max, false))).toEqual([1, 0.525]);
  });
});

describe("names", () => {
  it("of native functions are whole", () => {
    const names = ["[libc.so.6]", "poll [libc.so.6]", "os::naked_sleep", "a.b.C.d"];
    expect(names.map(split)).toEqual([["", "[libc.so.6]"], ["", "poll [libc.so.6]"], ["", "os::naked_sleep"], ["a.b.", "C.d"]]);
  });
  it("of locks drop the package, not what distinguishes them", () => {
    const names = ["java.util.concurrent.locks.AQS$ConditionObject@31f", "Stock.lock (java.lang.Object@1a2b)", "com.acme.Many#12", "Main", "a.b.C.(lambda)@5", "<b>.x (y"];
    expect(names.map(withoutPackage)).toEqual(["AQS$ConditionObject@31f", "Stock.lock (Object@1a2b)", "Many#12", "Main", "a.b.C.(lambda)@5", "<b>.x (y"]);
  });
  it("backticks mark code", () => {
    expect(pieces("held by `a.b` in `t`").filter((piece) => piece.code).map((piece) => piece.text)).toEqual(["a.b", "t"]);
  });
  it("packages are distinguished from classes, lambdas stay with their class", () => {
    expect(split("com.acme.Shop.sell")).toEqual(["com.acme.", "Shop.sell"]);
    expect(split("com.acme.Shop.(lambda).run")).toEqual(["com.acme.", "Shop.(lambda).run"]);
    expect(split("start_thread")).toEqual(["", "start_thread"]);
  });
  it("runs of the JDK's frames are folded, single ones are not", () => {
    expect(parts([1, 20, 21, 2, 22], (frame) => frame >= 20)).toEqual([
      { frames: [1], folded: false },
      { frames: [20, 21], folded: true },
      { frames: [2], folded: false },
      { frames: [22], folded: false },
    ]);
  });
});

describe("wall-clock times", () => {
  it("are minutes in UTC", () => {
    expect(utc(1_767_225_600_000_000)).toBe("2026-01-01 00:00");
    expect(["2026-01-01 00:00", "2026-01-01T00:01", " 2026-01-01 ", "2026-02-30", "2026-01-01 25:00", "soon"].map(parseUtc)).toEqual([1_767_225_600e6, 1_767_225_660e6, 1_767_225_600e6, null, null, null]);
  });
  it("mark an axis by times, and midnight by the date", () => {
    expect([tick(1_767_225_600, 3600), tick(1_767_229_200, 3600), tick(1_767_312_000, 86_400)]).toEqual(["01-01", "01:00", "01-02"]);
  });
});

describe("words of a command", () => {
  it("are quoted where a shell would take them apart", () => {
    expect(["/var/app-1.jfr", "it's $HOME", ""].map(shellWord)).toEqual(["/var/app-1.jfr", "'it'\\''s $HOME'", "''"]);
  });
});

describe("files for spreadsheets", () => {
  it("quotes, and lets no name become a formula", () => {
    expect(csv([["a,b", 'say "x"', 3], ["=HYPERLINK(1)", "-1+2", "ok"]])).toBe('"a,b","say ""x""",3\r\n\'=HYPERLINK(1),\'-1+2,ok\r\n');
  });
});

describe("words of names", () => {
  it("end after dots and before capitals, and are the name together", () => {
    expect(wordsOf("Transaction.waitForThisToEnd")).toEqual(["Transaction.", "wait", "For", "This", "To", "End"]);
    expect(wordsOf("Pools$Orders.IDLE")).toEqual(["Pools$", "Orders.", "IDLE"]);
    for (const name of ["", "a", "x.", "int[]", "A<B>.c(lambda#0)"]) expect(wordsOf(name).join("")).toBe(name);
  });
});

describe("settings of a recording", () => {
  it("says whether locks were recorded", () => {
    const of = (events: string) => leavesOutLocks([["events", events]]);
    expect([of("cpu,wall"), of("cpu,park"), of("monitor"), of("pressure"), leavesOutLocks([])]).toEqual([true, false, false, false, false]);
  });

  it("say of lanes that the rest contains CPU time where that is known by interval only", () => {
    const facts = (...kinds: Kind[]) => ({ entries: KINDS.map((kind) => (kinds.includes(kind) ? 1 : 0)) }) as unknown as Facts;
    expect(laneWords(facts("ran", "monitor")).alive).toMatch(/^on CPU, ready, sleep/);
    expect([laneWords(facts("ran", "cpu")), laneWords(facts("monitor"))]).toEqual([STATE_WORDS, STATE_WORDS]);
  });

  it("know whether an event was recorded that did not occur", () => {
    const recorded = (settings: [string, string][], wanted = ["park"], degraded: [string, string][] = []) => records({ settings, degraded }, wanted);
    const park = (settings: [string, string][]) => recorded(settings);
    expect([park([["events", "monitor,park,steal"]]), park([["events", "lock"]]), park([["events", "cpu"]])]).toEqual([true, true, false]);
    expect([park([["jdk.ThreadPark#enabled", "true"]]), park([["jdk.ThreadPark#enabled", "false"]]), park([])]).toEqual([true, false, null]);
    const threshold = (value: string) => park([["jdk.ThreadPark#enabled", "true"], ["jdk.ThreadPark#threshold", value]]);
    expect([threshold("0 ns"), threshold("20 ms")]).toEqual([true, null]);
    expect(park([["events", "lock"], ["safe", "true"]])).toBe(null);
    expect(recorded([["events", "lock"]], ["park"], [["park-natives", "not bound"]])).toBe(null);
    expect([recorded([["events", "monitor"]], ["monitor"]), recorded([["events", "monitor"]], ["monitor", "park"])]).toEqual([true, false]);
    expect(recorded([["jdk.JavaMonitorWait#enabled", "true"]], ["monitor"])).toBe(null);
    expect(neverText("No thread parked", true, "park")).toBe("No thread parked in the whole recording.");
    expect(neverText("No thread parked", false, "park")).toBe("Not recorded: to fill this table, record with -e park (or -e lock).");
    expect(neverText("No thread parked", null, "park")).toContain("does not say whether");
  });

  it("are the options that a user types", () => {
    const plain: [string, string][] = [
      ["events", "monitor,park,steal"], ["park_floor", "0"], ["min_duration", "0"], ["budget", "1 %"], ["max_rate", "none"],
      ["safe", "false"], ["redact", "false"], ["pressure_interval", "1000000000"], ["threads", ""],
    ];
    expect(optionsOf(plain)).toBe("-e lock,steal  --budget 1");
    const others: [string, string][] = [
      ["events", "monitor,cpu"], ["budget", "none"], ["max_rate", "1048576 bytes/s"], ["min_duration", "100000"], ["redact", "true"],
      ["pressure_interval", "200000000"], ["threads", "http-.*"], ["interval", "10000000 ns"], ["stack_requests", "7"],
    ];
    expect(optionsOf(others)).toBe(
      "-e monitor,cpu  no budget  --max-rate 1,048,576 bytes/s  --min-duration 100us  --redact  --pressure-interval 200ms  --threads 'http-.*'  -i 10.0ms  stack_requests=7",
    );
  });
});
