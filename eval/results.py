"""The part of RESULTS.md that is measured: each published figure beside ours and the peers', whether the
target is met as far as the intervals decide it, what null runs and the known cost read, and where we
lose. Written between two marks, so that what people wrote around it stays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional, Sequence

import numpy as np
import pandas as pd

import contents
import figures
from cells import FRESH, TOGGLE
from figures import Interval
from profilers import ProfilerError
from report import Report, as_markdown, percent
from workloads import WORKLOADS

BEGIN = "<!-- measured: written by ./hw eval --results, not by hand -->"
END = "<!-- end of what is measured -->"
NOT_HERE = "not in this run"
MET, MISSED, OPEN = "met", "**missed**", "not decided"
KNOWN_COST = 1.05
KNOWN_COST_LEEWAY = 0.01
LOCK_PEERS = ("async-lock", "jfr-lock")

CPU_BOUND = tuple(w.name for w in WORKLOADS.values() if w.cpu_bound)
ALONE = tuple(w.name for w in WORKLOADS.values() if w.kind == "compute")
TOGETHER = tuple(w.name for w in WORKLOADS.values() if w.kind == "published" and not w.cpu_bound)
WORST = tuple(w.name for w in WORKLOADS.values() if w.kind == "worst")


def renew(file: Path, report: Report) -> None:
    """Replaces what stands between the marks."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise ProfilerError(f"cannot read {file}: {error.strerror}") from error
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ProfilerError(f"{file} lacks the lines {BEGIN!r} and {END!r}, between which results go")
    file.write_text(f"{before}{BEGIN}\n\n{measured_part(report)}\n{END}{after}", encoding="utf-8")


def measured_part(report: Report) -> str:
    """All of it, as Markdown."""
    found = Findings(report)
    machine = "; ".join(f"{name} {value}" for name, value in report.machine.items())
    loads = [m.load_average for m in report.measured]
    load = f"{np.median(loads):.1f} (up to {max(loads):.1f})" if loads else "unknown"
    parts = [
        f"Machine: {machine}. Load average while measuring: {load}; {len(report.measured)} JVMs.",
        "Overheads are medians in % of pairs of neighbouring phases (or of fresh JVMs of one round), over several programs "
        "geometric means, with 95 % intervals in brackets ([?]: too few pairs for one).", "",
        "### Can the harness measure?", "", as_markdown(controls(found)) if not controls(found).empty else NOT_HERE, "",
        "### Targets", "", as_markdown(targets(found)), "",
        "### Where Headway costs more than a peer", "", losses(found), "",
    ]  # fmt: skip
    for heading, note, frame in report.tables():
        if heading not in ("Profilers", "Programs"):
            parts += [f"### {heading}", "", note, "", as_markdown(frame), ""]
    return "\n".join(parts + report.failures())


class Findings:
    """Asks the report."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.jdks = sorted({m.cell.jdk for m in report.measured})
        self.pairs: dict[tuple[str, int, str, str], pd.DataFrame] = {}
        if not report.pairs.empty:
            grouped = report.pairs.groupby(["mode", "jdk", "profiler", "workload"], sort=False)
            self.pairs = {(str(key[0]), int(key[1]), str(key[2]), str(key[3])): part for key, part in grouped}

    def overhead(
        self, profiler: str, jdk: int, programs: Sequence[str], measure: str = "cpu", mode: str = TOGGLE
    ) -> Optional[Interval]:
        """Geometric mean over those programs that were measured; None if none was."""
        parts = [self.pairs.get((mode, jdk, profiler, program)) for program in programs]
        groups = [part[measure].dropna().to_numpy() for part in parts if part is not None]
        groups = [group for group in groups if group.size > 0]
        return figures.geometric_mean_interval(groups) if groups else None

    def worst(self, profiler: str, jdk: int, programs: Sequence[str]) -> Optional[tuple[str, Interval]]:
        """The program on which it costs most."""
        found = [(name, self.overhead(profiler, jdk, [name])) for name in programs]
        known = [(name, interval) for name, interval in found if interval is not None]
        return max(known, key=lambda one: one[1].value, default=None)


def shown(interval: Interval) -> str:
    """In per cent."""
    return percent(interval.value, interval.low, interval.high)


def verdict(interval: Interval, limit: float) -> str:
    """Is the ratio at most this?"""
    if interval.high <= limit:
        return MET
    return MISSED if interval.low > limit else OPEN


def excess_verdict(ours: Interval, theirs: Interval, factor: float) -> str:
    """Is our overhead at most so many times theirs? Decided only where the worst of one and the best of
    the other say the same."""
    if not all(map(math.isfinite, (ours.low, ours.high, theirs.low, theirs.high))):
        return OPEN
    if ours.high - 1 <= factor * (theirs.low - 1):
        return MET
    return MISSED if ours.low - 1 > factor * max(0.0, theirs.high - 1) else OPEN


def controls(found: Findings) -> pd.DataFrame:
    """Null runs must contain 0; the known cost must read what it is."""
    rows = []
    for mode in (TOGGLE, FRESH):
        for jdk in found.jdks:
            for name in WORKLOADS:
                null = found.overhead("none", jdk, [name], mode=mode)
                busy = found.overhead("busy-5", jdk, [name], mode=mode)
                if null is None and busy is None:
                    continue
                rows.append((mode, jdk, name, "" if null is None else shown(null), judged_null(null),
                             "" if busy is None else shown(busy), judged_busy(busy)))  # fmt: skip
    return pd.DataFrame(rows, columns=["mode", "JDK", "program", "none against none", "contains 0", "loop of 5 %", "reads 5 +- 1"])


def judged_null(null: Optional[Interval]) -> str:
    """Does the interval contain 0? Nothing is said where there were too few pairs for one."""
    if null is None or not math.isfinite(null.low):
        return ""
    return "yes" if null.contains(1.0) else "**no**"


def judged_busy(busy: Optional[Interval]) -> str:
    """Is the known cost found?"""
    if busy is None or not math.isfinite(busy.low):
        return ""
    return "yes" if abs(busy.value - KNOWN_COST) <= KNOWN_COST_LEEWAY else "**no**"


@dataclass(frozen=True)
class Cells:
    """Ours, the peers' and the verdict for one JDK."""

    ours: str
    peers: str
    verdict: str


def targets(found: Findings) -> pd.DataFrame:
    """One line per target and JDK. Targets that other tools measure are named with the tool."""
    rows = []
    for what, published, target, ask in TARGETS:
        asked = [(str(jdk), ask(found, jdk)) for jdk in found.jdks]
        known = [(jdk, cells) for jdk, cells in asked if cells.ours != NOT_HERE or cells.peers]
        for jdk, cells in known or [("", Cells(NOT_HERE, "", ""))]:
            rows.append((what, published, target, jdk, cells.ours, cells.peers, cells.verdict))
    rows += [(what, published, target, "", f"see {where}", "", "") for what, published, target, where in ELSEWHERE]
    return pd.DataFrame(rows, columns=["what", "published", "target", "JDK", "Headway", "peers", ""])


def sampling(rate: str) -> Callable[[Findings, int], Cells]:
    """CPU sampling against the bare interrupt and async-profiler."""

    def ask(found: Findings, jdk: int) -> Cells:
        ours = found.overhead(f"headway-cpu-{rate}", jdk, CPU_BOUND)
        theirs = {name: found.overhead(name, jdk, CPU_BOUND)
                  for name in (f"interrupt-{rate}", f"async-cpu-{rate}", f"jfr-cpu-{rate}")}  # fmt: skip
        if ours is None:
            return Cells(NOT_HERE, peers_of(theirs), "")
        interrupt, async_cpu = theirs[f"interrupt-{rate}"], theirs[f"async-cpu-{rate}"]
        verdicts = []
        if interrupt is not None:
            verdicts.append(f"1.5 interrupts: {excess_verdict(ours, interrupt, 1.5)}")
        if async_cpu is not None and rate != "10ms":
            verdicts.append(f"a third of async-profiler: {excess_verdict(ours, async_cpu, 1 / 3)}")
        return Cells(shown(ours), peers_of(theirs), "; ".join(verdicts))

    return ask


def peers_of(intervals: dict[str, Optional[Interval]]) -> str:
    """Those that were measured."""
    return "; ".join(f"{name} {shown(interval)}" for name, interval in intervals.items() if interval is not None)


def locks(programs: Sequence[str], limit: float, profiler: str = "headway-lock") -> Callable[[Findings, int], Cells]:
    """Lock tracing over several programs."""

    def ask(found: Findings, jdk: int) -> Cells:
        ours = found.overhead(profiler, jdk, programs)
        peers = peers_of({name: found.overhead(name, jdk, programs) for name in LOCK_PEERS})
        return Cells(NOT_HERE, peers, "") if ours is None else Cells(shown(ours), peers, verdict(ours, limit))

    return ask


def worst(profiler: str, limit: float, peers: Sequence[str]) -> Callable[[Findings, int], Cells]:
    """The program on which something costs most, and the peers on the same."""

    def ask(found: Findings, jdk: int) -> Cells:
        most = found.worst(profiler, jdk, WORST)
        if most is None:
            return Cells(NOT_HERE, "", "")
        name, interval = most
        others = peers_of({peer: found.overhead(peer, jdk, [name]) for peer in peers})
        return Cells(f"{name} {shown(interval)}", others, verdict(interval, limit))

    return ask


def complete(found: Findings, jdk: int) -> Cells:
    """Samples whose stack is complete."""
    frame = contents.samples(found.report.measured)
    frame = frame[frame["jdk"] == jdk]
    ours = frame[frame["profiler"].str.startswith("headway-cpu")]
    if ours.empty:
        return Cells(NOT_HERE, "", "")
    share = share_complete(ours)
    peers = {name: share_complete(part) for name, part in frame[frame["profiler"].str.startswith("async-cpu")].groupby("profiler")}
    lowest = ours.loc[ours["complete_%"].idxmin()]
    text = f"{share:.2f} %; least {lowest['complete_%']:.2f} % ({lowest['workload']}, {lowest['profiler']})"
    return Cells(text, "; ".join(f"{name} {value:.2f} %" for name, value in peers.items()),
                 MET if lowest["complete_%"] >= 99.5 else MISSED)  # fmt: skip


def share_complete(frame: pd.DataFrame) -> float:
    """Of all samples."""
    return 100 * (1 - frame["cut_off"].sum() / frame["samples"].sum())


def agreeing(found: Findings, jdk: int) -> Cells:
    """Overlap and coverage, where two runs of async-profiler agree that well."""
    frame = contents.agreements(found.report.agreements)
    if frame.empty or frame[frame["jdk"] == jdk].empty:
        return Cells(NOT_HERE, "", "")
    table = frame[frame["jdk"] == jdk].pivot_table(index=["workload", "rate"], columns="compared", values=["overlap", "coverage"])
    between, itself = "headway / async", "async / async"
    if ("overlap", between) not in table or ("overlap", itself) not in table:
        return Cells(NOT_HERE, "", "")
    asked = table[(table[("overlap", itself)] >= 90) & (table[("coverage", itself)] >= 95)]
    good = asked[(asked[("overlap", between)] >= 90) & (asked[("coverage", between)] >= 95)]
    ours = f"{table[('overlap', between)].median():.1f} / {table[('coverage', between)].median():.1f}"
    peers = f"async-profiler with itself {table[('overlap', itself)].median():.1f} / {table[('coverage', itself)].median():.1f}"
    if asked.empty:
        return Cells(ours, peers, "async-profiler never agrees that well with itself here")
    decided = MET if len(good) == len(asked) else MISSED
    return Cells(ours, peers, f"{decided} on {len(good)} of {len(asked)} where async-profiler agrees with itself")


def loaded(found: Findings, jdk: int) -> Cells:
    """An agent that records nothing, against one that only asks for an environment."""
    programs = list(WORKLOADS)
    ours = found.overhead("headway-idle", jdk, programs, mode=FRESH)
    least = found.overhead("getenv", jdk, programs, mode=FRESH)
    if ours is None or least is None:
        return Cells(NOT_HERE, "", "")
    overlap = ours.low <= least.high and least.low <= ours.high
    return Cells(shown(ours), f"getenv {shown(least)}", MET if overlap else MISSED)


def memory(found: Findings, jdk: int) -> Cells:
    """Resident memory beyond the JVM's own."""
    frame = contents.resources(found.report.measured)
    frame = frame[(frame["jdk"] == jdk) & (frame["mode"] == FRESH)].dropna(subset=["above_base_MiB"])
    by_profiler = frame.groupby("profiler")["above_base_MiB"].median()
    names = [name for name in ("headway", "headway-lock", "headway-cpu-1ms") if name in by_profiler]
    if not names:
        return Cells(NOT_HERE, "", "")
    peers = [name for name in ("none", "async-lock", "async-cpu-1ms", "jfr-lock", "jfr-default") if name in by_profiler]
    told = lambda them: "; ".join(f"{name} {by_profiler[name]:.1f}" for name in them)  # noqa: E731
    return Cells(told(names), told(peers), MET if max(by_profiler[names]) <= 16 else MISSED)


def bytes_per_event(found: Findings, jdk: int) -> Cells:
    """Of recordings of locks."""
    frame = contents.recordings(found.report.measured)
    if frame.empty:
        return Cells(NOT_HERE, "", "")
    frame = frame[(frame["jdk"] == jdk) & frame["workload"].isin(WORST)]
    packed = frame.groupby("profiler")["gzip_bytes/event"].median()
    if "headway-lock" not in packed or not math.isfinite(packed["headway-lock"]):
        return Cells(NOT_HERE, "", "")
    peers = "; ".join(f"{name} {packed[name]:.1f}" for name in LOCK_PEERS if name in packed and math.isfinite(packed[name]))
    return Cells(f"{packed['headway-lock']:.1f}", peers, MET if packed["headway-lock"] <= 10 else MISSED)


Question = Callable[[Findings, int], Cells]
TARGETS: tuple[tuple[str, str, str, Question], ...] = (
    ("CPU sampling at 10 ms, CPU-bound programs", "1 % in a modified VM", "1.5 bare interrupts", sampling("10ms")),
    ("CPU sampling at 1 ms", "2.1 %", "1.5 bare interrupts, a third of async-profiler's", sampling("1ms")),
    ("CPU sampling at 0.1 ms", "9.7 %", "1.5 bare interrupts, a third of async-profiler's", sampling("100us")),
    ("samples with a complete stack", "91.3 %", "99.5 %", complete),
    ("agreement with async-profiler, overlap / hot edges in %", "70 on 17 of 25 programs", "90 / 95", agreeing),
    ("lock tracing, multi-threaded programs", "7.8 %", "2 %", locks(TOGETHER, 1.02)),
    ("lock tracing, threads that share nothing", "0.8 %", "0.3 %", locks(ALONE, 1.003)),
    ("lock tracing, worst contended program", "80 %", "10 %", worst("headway-lock", 1.10, LOCK_PEERS)),
    ("agent loaded, nothing enabled", "", "as an agent that only asks for an environment", loaded),
    ("pressure always on, worst program", "6 %", "1 %", worst("headway-pressure", 1.01, ())),
    ("resident memory, MiB beyond the JVM's", "0.27 % (park statistics)", "16 MB", memory),
    ("bytes per event of locks, packed", "26.3 -> 10 MB/s on the worst program", "10", bytes_per_event),
)
ELSEWHERE: tuple[tuple[str, str, str, str], ...] = (
    ("call chain at a lock or park event, 40 frames", "4-24 us", "0.5 us", "`./hw bench signal`, `./hw guard`"),
    ("recorded / self-measured wait time", "99.9 %", "99.9 %", "the accuracy tests of `crates/e2e`, which print it"),
    ("blocked time attributed to the right owner", "no peer", "97.5 %, wrong 0.1 %", "the accuracy tests of `crates/e2e`"),
    ("offline analysis", "", "3 million events/s/core", "`./hw bench analysis`"),
    ("causal profiling", "+-5 points", "+-3 points", "`docs/causal.md`"),
    ("steal time per thread", "20 %; 0-2 %", "5 %; 0.1 %", "`docs/metrics.md`"),
    ("the page with a 1 GB recording", "0.5-1.5 GB JSON breaks viewers", "15 s; 100 ms", "`docs/page.md`"),
)
RIVALS = (
    ("headway-lock", LOCK_PEERS), ("headway", (*LOCK_PEERS, "jfr-default")),
    *((f"headway-cpu-{rate}", (f"async-cpu-{rate}", f"jfr-cpu-{rate}")) for rate in ("10ms", "1ms", "100us")),
)  # fmt: skip


def losses(found: Findings) -> str:
    """Programs on which our whole interval lies above a peer's."""
    rows = []
    for jdk in found.jdks:
        for ours_name, peers in RIVALS:
            for program in WORKLOADS:
                ours = found.overhead(ours_name, jdk, [program])
                for peer in peers:
                    theirs = found.overhead(peer, jdk, [program])
                    if ours is not None and theirs is not None and ours.low > theirs.high:
                        rows.append((jdk, program, f"{ours_name} {shown(ours)}", f"{peer} {shown(theirs)}"))
    if not rows:
        return "Nowhere that these intervals tell apart."
    return as_markdown(pd.DataFrame(rows, columns=["JDK", "program", "Headway", "peer"]))
