"""The part of RESULTS.md that is measured: each published figure beside ours and the peers', whether the
target is met as far as the intervals decide it, what null runs and the known cost read, and where we
lose. Written between two marks, so that what people wrote around it stays."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Optional, Sequence

import numpy as np
import pandas as pd

import contents
import published
from cells import FRESH, TOGGLE
from figures import Interval
from findings import (
    ALONE, CPU_BOUND, LOCK_PEERS, NOT_HERE, TOGETHER, WORST, Cells, Findings, Question, peers_of, shown,
)  # fmt: skip
from profilers import ProfilerError
from report import Report, as_html, as_markdown
from workloads import WORKLOADS

BEGIN = "<!-- measured: written by ./hw eval --results, not by hand -->"
END = "<!-- end of what is measured -->"
# Beside the file of results.
CHARTS = "charts"
MET, MISSED, OPEN = "met", "**missed**", "not decided"
CONTROLS, TARGETS_OF, AGAIN = "Can the harness measure?", "Targets", "The published evaluations again"
PUBLISHED_NOTE = (
    "Published figures are of modified virtual machines, other programs and other machines; peers' are of this run."
)
KNOWN_COST = 1.05
KNOWN_COST_LEEWAY = 0.01


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
    drawings = published.drawings(report)
    directory = file.with_name(CHARTS)
    for name, (_, svg) in drawings.items():
        directory.mkdir(exist_ok=True)
        directory.joinpath(f"{name}.svg").write_text(f"{svg.rstrip()}\n", encoding="utf-8")
    images = "\n\n".join(f"![{title}]({CHARTS}/{name}.svg)" for name, (title, _) in drawings.items())
    file.write_text(f"{before}{BEGIN}\n\n{measured_part(report, images)}\n{END}{after}", encoding="utf-8")


def first_parts(report: Report) -> list[str]:
    """What the page begins with: the same tables and charts."""
    found = Findings(report)
    parts = []
    for heading, note, frame in ((CONTROLS, "", controls(found)), (TARGETS_OF, "", targets(found)),
                                 (AGAIN, PUBLISHED_NOTE, published.again(found))):  # fmt: skip
        parts += [] if frame.empty else as_html(heading, note, frame)
    return parts + [svg for _, svg in published.drawings(report).values()]


def measured_part(report: Report, images: str = "") -> str:
    """All of it, as Markdown."""
    found = Findings(report)
    machine = "; ".join(f"{name} {value}" for name, value in report.machine.items())
    loads = [m.load_average for m in report.measured]
    load = f"{np.median(loads):.1f} (up to {max(loads):.1f})" if loads else "unknown"
    parts = [
        f"Machine: {machine}. Load average while measuring: {load}; {len(report.measured)} JVMs.",
        "Overheads are medians in % of pairs of neighbouring phases (or of fresh JVMs of one round), over several programs "
        "geometric means, with 95 % intervals in brackets ([?]: too few pairs for one).", "",
        f"### {CONTROLS}", "", as_markdown(controls(found)) if not controls(found).empty else NOT_HERE, "",
        f"### {TARGETS_OF}", "", as_markdown(targets(found)), "",
        f"### {AGAIN}", "", PUBLISHED_NOTE, "", as_markdown(published.again(found)), "", images, "",
        "### Where Headway costs more than a peer", "", losses(found), "",
    ]  # fmt: skip
    for heading, note, frame in report.tables():
        if heading not in ("Profilers", "Programs"):
            parts += [f"### {heading}", "", note, "", as_markdown(frame), ""]
    return "\n".join(parts + report.failures())


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


def targets(found: Findings) -> pd.DataFrame:
    """One line per target and JDK."""
    rows = []
    for what, published, target, ask in TARGETS:
        asked = [(str(jdk), ask(found, jdk)) for jdk in found.jdks]
        known = [(jdk, cells) for jdk, cells in asked if cells.ours != NOT_HERE or cells.peers]
        for jdk, cells in known or [("", Cells(NOT_HERE, "", ""))]:
            rows.append((what, published, target, jdk, cells.ours, cells.peers, cells.verdict))
    return pd.DataFrame(rows, columns=["what", "published", "target", "JDK", "Headway", "peers", ""])


def sampling(rate: str) -> Question:
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


def locks(programs: Sequence[str], limit: float, profiler: str = "headway-lock") -> Question:
    """Lock tracing over several programs."""

    def ask(found: Findings, jdk: int) -> Cells:
        ours = found.overhead(profiler, jdk, programs)
        peers = peers_of({name: found.overhead(name, jdk, programs) for name in LOCK_PEERS})
        return Cells(NOT_HERE, peers, "") if ours is None else Cells(shown(ours), peers, verdict(ours, limit))

    return ask


def worst(profiler: str, limit: float, peers: Sequence[str]) -> Question:
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


def call_chains(found: Findings, jdk: int) -> Cells:
    """What a chain at an event costs: walk, look-up and append."""
    warm, cold = (found.figure("walk", jdk, name) for name in ("warm_us", "cold_us"))
    if warm is None or cold is None:
        return Cells(NOT_HERE, "", "")
    return Cells(f"{warm:.2f} us; cold {cold:.2f} us", "", MET if warm <= 0.5 and cold <= 1 else MISSED)


LONG_WAITS = ("waits-50ms", "waits-2.5ms")
SHORT_WAITS = ("waits-200us", "waits-20us")
RECORDED_AT_LEAST = 0.999


def waits(found: Findings, jdk: int) -> Cells:
    """Recorded over self-measured waits: of stretches of a millisecond and more, and of shorter ones."""
    told = {by: coverage(found, jdk, by) for by in ("headway", "jfr", "async")}
    if not told["headway"]:
        return Cells(NOT_HERE, "", "")
    texts = {by: "; ".join(f"{name.split('-')[1]} {100 * value:.2f}" for name, value in known.items()) for by, known in told.items()}
    long = [value for name, value in told["headway"].items() if name in LONG_WAITS]
    verdicts = [f">= 1 ms: {MET if min(long) >= RECORDED_AT_LEAST else MISSED}"] if long else []
    short = [(told["headway"][name], told["jfr"][name]) for name in SHORT_WAITS if name in told["headway"] and name in told["jfr"]]
    if short:
        verdicts.append(f"below, not under JFR: {MET if all(ours >= theirs for ours, theirs in short) else MISSED}")
    return Cells(texts["headway"], "; ".join(f"{by} {texts[by]}" for by in ("jfr", "async") if texts[by]), "; ".join(verdicts))


def coverage(found: Findings, jdk: int, by: str) -> dict[str, float]:
    """By check; of long waits the stretches of a millisecond and more."""
    asked = [(name, "coverage_ge_1ms") for name in LONG_WAITS] + [(name, "coverage") for name in SHORT_WAITS]
    values = {name: found.figure(name, jdk, figure, by) for name, figure in asked}
    return {name: value for name, value in values.items() if value is not None}


def owners(found: Findings, jdk: int) -> Cells:
    """Recall and precision of blame, over all programs that know who held their locks: of the time that can be
    attributed, what is, and of what is recorded, what is blamed on somebody who cannot have caused it."""
    names = found.checks("waits", jdk)
    figures_of = [[found.figure(name, jdk, one) for one in ("attributed", "attributable", "wrong")] for name in names]
    known = [(name, got / could, wrong) for name, (got, could, wrong) in zip(names, figures_of)
             if got is not None and could and wrong is not None]  # fmt: skip
    if not known:
        return Cells(NOT_HERE, "", "")
    least = min(known, key=lambda one: one[1])
    most_wrong = max(known, key=lambda one: one[2])
    text = (f"attributed {100 * float(np.median([one[1] for one in known])):.1f} % of what can be (least "
            f"{100 * least[1]:.1f} %, {least[0]}); wrong {100 * most_wrong[2]:.2f} % at most ({most_wrong[0]})")  # fmt: skip
    return Cells(text, "", MET if least[1] >= 0.975 and most_wrong[2] <= 0.001 else MISSED)


GIB = "1024m"


def analysed(found: Findings, jdk: int) -> Cells:
    """Reading and analysing a recording of 1 GB."""
    speed, wall_s, mib = (found.figure(f"analysis-{GIB}", jdk, name) for name in ("million_events_per_cpu_s", "wall_s", "most_mib"))
    if speed is None or wall_s is None or mib is None:
        return Cells(NOT_HERE, "", "")
    met = speed >= 3 and wall_s < 15 and mib < 1024
    return Cells(f"{speed:.1f} million events/s/core; 1 GB in {wall_s:.1f} s and {mib:.0f} MiB", "", MET if met else MISSED)


def opened(found: Findings, jdk: int) -> Cells:
    """The page's data, of a recording of 1 GB."""
    figures = [found.figure(f"page-{GIB}", jdk, name) for name in ("open_s", "worst_again_ms", "median_again_ms", "worst_first_ms")]
    open_s, worst_ms, middle_ms, first_ms = figures
    if open_s is None or worst_ms is None or middle_ms is None or first_ms is None:
        return Cells(NOT_HERE, "", "")
    text = f"opened in {open_s:.1f} s; answers {middle_ms:.0f} ms, the slowest {worst_ms:.0f} ms ({first_ms:.0f} the first time)"
    return Cells(text, "", MET if open_s < 15 and worst_ms < 100 else MISSED)


def predicted(found: Findings, jdk: int) -> Cells:
    """Predicted against known gains at a speedup of 50 %."""
    known = [(name, found.figure(name, jdk, "error_points"), found.figure(name, jdk, "covered")) for name in found.checks("causal", jdk)]
    made = [(name.removeprefix("causal-"), error, covered) for name, error, covered in known if error is not None]
    if not made:
        return Cells(NOT_HERE, "", "")
    held = sum(covered == 1 for _, _, covered in made)
    text = ", ".join(f"{name} {error:+.1f}" for name, error, _ in made) + f" points; truth in the interval of {held} of {len(made)}"
    return Cells(text, "", MET if all(abs(error) <= 3 for _, error, _ in made) and held == len(made) else MISSED)


def beyond_delays(found: Findings, jdk: int) -> Cells:
    """What experiments cost without their delays."""
    value, null = (found.figure("causal-overhead", jdk, name) for name in ("overhead_beyond_delays_percent", "null_percent"))
    if value is None or null is None:
        return Cells(NOT_HERE, "", "")
    return Cells(f"{value:.1f} %", f"nothing switched {null:.1f} %", MET if value <= 5 else MISSED)


def stolen(found: Findings, jdk: int) -> Cells:
    """CPU time of threads by Headway and by themselves, and what accounting takes at 100 ms."""
    error, crowd = (found.figure("steal", jdk, name) for name in ("worst_error_percent", "crowd_error_percent"))
    cost = found.figure("steal-overhead", jdk, "own_percent_of_program")
    if error is None or crowd is None:
        return Cells(NOT_HERE, "", "")
    text = f"CPU time within {error:.2f} %, with lost time within {crowd:.2f} % of the clock"
    met = error <= 5 and crowd <= 5 and (cost is None or cost <= 0.1)
    return Cells(text + ("" if cost is None else f"; costs {cost:.2f} %"), "", MET if met else MISSED)


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
    ("call chain at a lock or park event, 40 frames", "4-24 us", "0.5 us, 1 us with cold caches", call_chains),
    ("recorded / self-measured wait time, %", "99.9", "99.9 of 1 ms and more; below, not under JFR", waits),
    ("blocked time attributed to the right owner", "no peer", "97.5 %, wrong 0.1 %", owners),
    ("offline analysis", "", "3 million events/s/core; 1 GB in 15 s and 1 GB", analysed),
    ("causal profiling: error of predicted gains", "+-5 points", "+-3 points, truth in the interval", predicted),
    ("causal profiling beyond its delays", "10-40 %", "5 %", beyond_delays),
    ("steal time per thread, at 100 ms", "20 %; 0-2 %", "5 %; 0.1 %", stolen),
    ("the page's data with a 1 GB recording", "0.5-1.5 GB JSON breaks viewers", "15 s; 100 ms", opened),
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
