"""The part of RESULTS.md that is measured: each published figure beside ours and the peers', whether the
target is met as far as the intervals decide it, what null runs and the known cost read, and where we
lose. Written between two marks, so that what people wrote around it stays."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Optional, Sequence

import numpy as np
import pandas as pd
from scipy import stats

import contents
import published
from cells import FRESH, TOGGLE
from intervals import Interval
from findings import (
    ALONE, CPU_BOUND, LOCK_PEERS, NOT_HERE, TOGETHER, WORST, Cells, Findings, Question, on, peers_of, shown,
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
    "Published figures are of other programs and other machines, and mostly of modified virtual machines; peers' are of this run."
)
HOW_TO_READ = (
    "Overheads are of CPU time per operation, the profiler's own threads included, in %, of phases switched on and off inside "
    "one JVM unless told otherwise: medians of pairs of neighbouring phases; over several programs geometric means, of those "
    "programs on which all that is compared was measured, their number behind it. In brackets 95 % intervals: of phases within "
    "one JVM where there were fewer than three ([?]: too few pairs). What switching on and off takes itself is in none of them "
    "(see on_ms and off_ms under Resources). Several threads: "
    f"{', '.join(TOGETHER)}; CPU-bound: {', '.join(CPU_BOUND)}; worst: {', '.join(WORST)}."
)
# An absolute path up to the last of its names.
DIRECTORIES = re.compile(r"(?<![\w.])/(?:[\w.+-]+/)+")
KNOWN_COST = 1.05
# A null run's interval within this says that larger costs are seen.
TELLS = 0.05
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
    for heading, note, frame in ((CONTROLS, "", controls(found)), (TARGETS_OF, HOW_TO_READ, targets(found)),
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
        f"Machine: {machine}. Load average while measuring: {load}; {len(report.measured)} cells.",
        "", HOW_TO_READ, "",
        f"### {CONTROLS}", "", as_markdown(controls(found)) if not controls(found).empty else NOT_HERE, "",
        f"### {TARGETS_OF}", "", as_markdown(targets(found)), "",
        f"### {AGAIN}", "", PUBLISHED_NOTE, "", as_markdown(published.again(found)), "", images, "",
        "### Where Headway costs more than a peer", "", losses(found), "",
    ]  # fmt: skip
    for heading, note, frame in report.tables():
        if heading not in ("Profilers", "Programs"):
            parts += [f"### {heading}", "", note, "", as_markdown(frame), ""]
    return "\n".join(parts + [without_directories(line) for line in report.failures()])


def without_directories(text: str) -> str:
    """Files by their names only: where they lie is of one machine."""
    return DIRECTORIES.sub("", text)


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
    """Null runs must contain 0, of every measure; the known cost must read what it is."""
    rows = []
    for mode in (TOGGLE, FRESH):
        for jdk in found.jdks:
            for name in WORKLOADS:
                null = found.overhead("none", jdk, [name], mode=mode)
                busy = found.overhead("busy-5", jdk, [name], mode=mode)
                if null is None and busy is None:
                    continue
                wrong = [words for measure, words in (("throughput", "time"), ("p50", "median latency"), ("p99", "p99"))
                         if judged_null(found.overhead("none", jdk, [name], measure, mode)) == "**no**"]  # fmt: skip
                rows.append((mode, jdk, name, "" if null is None else shown(null), judged_null(null), ", ".join(wrong),
                             "" if busy is None else shown(busy), judged_busy(busy)))  # fmt: skip
    return pd.DataFrame(rows, columns=["mode", "JDK", "program", "none against none, CPU", "contains 0", "does not, of",
                                       "loop of 5 %, CPU", "reads 5 +- 1"])  # fmt: skip


def judged_null(null: Optional[Interval]) -> str:
    """Does the interval contain 0? Nothing is said where there were too few pairs for one, and little where it is so wide
    that much would not be seen."""
    if null is None or not null.is_known():
        return ""
    if not null.contains(1.0):
        return "**no**"
    return "yes" if max(null.high - 1, 1 - null.low) <= TELLS else "yes, but tells little"


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
        names = (f"headway-cpu-{rate}", f"interrupt-{rate}", f"async-cpu-{rate}")
        programs = found.common(names, jdk, CPU_BOUND)
        ours = found.overhead(names[0], jdk, programs)
        theirs = {name: found.overhead(name, jdk, programs) for name in names[1:]}
        theirs[f"jfr-cpu-{rate}"] = found.overhead(f"jfr-cpu-{rate}", jdk, found.common((*names, f"jfr-cpu-{rate}"), jdk, CPU_BOUND))
        if ours is None:
            return Cells(NOT_HERE, peers_of(theirs), "")
        interrupt, async_cpu = theirs[f"interrupt-{rate}"], theirs[f"async-cpu-{rate}"]
        verdicts = []
        if interrupt is not None:
            verdicts.append(f"1.5 interrupts: {excess_verdict(ours, interrupt, 1.5)}")
        if async_cpu is not None and rate != "10ms":
            verdicts.append(f"a third of async-profiler: {excess_verdict(ours, async_cpu, 1 / 3)}")
        return Cells(on(shown(ours), programs), peers_of(theirs), "; ".join(verdicts))

    return ask


def over(
    programs: Sequence[str], limit: float, profiler: str = "headway-lock", peers: Sequence[str] = LOCK_PEERS
) -> Question:
    """What something costs over several programs."""

    def ask(found: Findings, jdk: int) -> Cells:
        common = found.common((profiler, *peers), jdk, programs)
        ours = found.overhead(profiler, jdk, common)
        theirs = peers_of({name: found.overhead(name, jdk, common) for name in peers})
        return Cells(NOT_HERE, theirs, "") if ours is None else Cells(on(shown(ours), common), theirs, verdict(ours, limit))

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
    """An agent that records nothing, against one that only asks for an environment: alike if neither interval leaves
    room for more than a few points."""
    names = ("headway-idle", "getenv")
    programs = found.common(names, jdk, list(WORKLOADS), FRESH)
    ours, least = (found.overhead(name, jdk, programs, mode=FRESH) for name in names)
    if ours is None or least is None:
        return Cells(NOT_HERE, "", "")
    return Cells(on(shown(ours), programs), f"getenv {shown(least)}", judged_alike(ours, least))


ALIKE = 0.02


def judged_alike(ours: Interval, least: Interval) -> str:
    """Do two overheads differ by less than can matter?"""
    if not (ours.is_known() and least.is_known()):
        return OPEN
    if ours.low > least.high:
        return MISSED
    return MET if ours.high - least.low <= ALIKE else OPEN


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
    """Of recordings of locks that are packed as they are written, by event of a lock; peers' packed afterwards."""
    ours = lock_event_bytes(found, jdk, "headway-lock-zst", packed=True)
    if not ours:
        return Cells(NOT_HERE, "", "")
    peers = {name: lock_event_bytes(found, jdk, name, packed=False) for name in LOCK_PEERS}
    told = lambda them: ", ".join(f"{program} {value:.1f}" for program, value in them.items())  # noqa: E731
    return Cells(told(ours), "; ".join(f"{name}: {told(them)}" for name, them in peers.items() if them),
                 MET if max(ours.values()) <= 10 else MISSED)  # fmt: skip


def lock_event_bytes(found: Findings, jdk: int, profiler: str, packed: bool) -> dict[str, float]:
    """By worst program: bytes of the file (packed as it is, or by gzip) over its events but the profiler's own notes."""
    values: dict[str, float] = {}
    for m in found.report.measured:
        if m.contents is not None and (m.cell.jdk, m.cell.profiler) == (jdk, profiler) and m.cell.workload in WORST:
            events = int(contents.event_shares([m])["events"].sum())
            size = m.contents.bytes if packed else m.contents.gzip_bytes
            if events >= FEWEST_EVENTS:
                values[m.cell.workload] = size / events
    return values


FEWEST_EVENTS = 1000


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
    """Recorded over self-measured waits: of contentions of a millisecond and more, and of shorter ones."""
    covered = {by: coverage(found, jdk, by) for by in ("headway", "jfr", "async")}
    if not covered["headway"]:
        return Cells(NOT_HERE, "", "")
    texts = {by: "; ".join(wait_text(found, jdk, by, name, value) for name, value in known.items()) for by, known in covered.items()}
    long = [value for name, value in covered["headway"].items() if name in LONG_WAITS]
    verdicts = [f">= 1 ms: {MET if min(long) >= RECORDED_AT_LEAST else MISSED}"] if long else []
    short = [(covered["headway"][name], covered["jfr"][name]) for name in SHORT_WAITS if name in covered["headway"] and name in covered["jfr"]]
    if short:
        verdicts.append(f"below, not under JFR: {MET if all(ours >= theirs for ours, theirs in short) else MISSED}")
    return Cells(texts["headway"], "; ".join(f"{by} {texts[by]}" for by in ("jfr", "async") if texts[by]), "; ".join(verdicts))


def wait_text(found: Findings, jdk: int, by: str, name: str, value: float) -> str:
    """Coverage, and what is missing of each contention: the profiler itself changes how often a program contends."""
    missing = found.figure(name, jdk, "missing_ns_per_contention", by)
    if missing is None:
        # Files of before have another name for it.
        missing = found.figure(name, jdk, "missing_ns_per_stretch", by)
    return f"{name.split('-')[1]} {100 * value:.2f}" + ("" if missing is None else f" (-{missing / 1e3:.1f} us each)")


def coverage(found: Findings, jdk: int, by: str) -> dict[str, float]:
    """By check; of long waits the contentions of a millisecond and more."""
    asked = [(name, "coverage_ge_1ms") for name in LONG_WAITS] + [(name, "coverage") for name in SHORT_WAITS]
    values = {name: found.figure(name, jdk, figure, by) for name, figure in asked}
    return {name: value for name, value in values.items() if value is not None}


def owners(found: Findings, jdk: int) -> Cells:
    """Of the time in which somebody held the lock, what is blamed on one who can have caused it, by thread and method; and
    what is blamed on somebody beyond what that one can have caused, added up over the run: at least so much is wrong."""
    names = ("coverage", "attributed", "approximate", "wrong", "attributable")
    known = []
    for check in found.checks("waits", jdk):
        figures = [found.figure(check, jdk, name) for name in names]
        if all(figure is not None for figure in figures):
            covered, attributed, approximate, wrong, attributable = (float(figure or 0) for figure in figures)
            right = covered * (attributed - approximate - wrong) / attributable
            known.append((check.removeprefix("waits-"), min(right, 1.0), wrong))
    if not known:
        return Cells(NOT_HERE, "", "")
    least, most_wrong = min(known, key=lambda one: one[1]), max(known, key=lambda one: one[2])
    text = (f"right for {100 * float(np.median([one[1] for one in known])):.1f} % of what can be known (least "
            f"{100 * least[1]:.1f} %, {least[0]}); wrong at least {100 * most_wrong[2]:.2f} % ({most_wrong[0]}, the most)")  # fmt: skip
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
    return Cells(text, "", MET if open_s < 15 and first_ms < 100 else MISSED)


def predicted(found: Findings, jdk: int) -> Cells:
    """Predicted against known gains at a speedup of 50 %, of each run."""
    runs = [(name.removeprefix("causal-"), one["error_points"], one["covered"]) for name in found.checks("causal", jdk)
            for one in found.checked[name, jdk, "headway"] if "error_points" in one]  # fmt: skip
    if not runs:
        return Cells(NOT_HERE, "", "")
    missed = sum(covered < 1 for _, _, covered in runs)
    text = ", ".join(f"{name} {error:+.1f}" for name, error, _ in runs)
    # So many of so many may miss if each does with 5 %.
    may_miss = int(stats.binom.ppf(0.95, len(runs), 0.05))
    met = all(abs(error) <= 3 for _, error, _ in runs) and missed <= may_miss
    return Cells(f"{text} points; truth in the interval of {len(runs) - missed} of {len(runs)}", "", MET if met else MISSED)


def beyond_delays(found: Findings, jdk: int) -> Cells:
    """What experiments cost without their delays."""
    value, null = (found.figure("causal-overhead", jdk, name) for name in ("overhead_beyond_delays_percent", "null_percent"))
    if value is None or null is None:
        return Cells(NOT_HERE, "", "")
    return Cells(f"{value:.1f} %", f"nothing switched {null:.1f} %", MET if value <= 5 else MISSED)


def stolen(found: Findings, jdk: int) -> Cells:
    """What accounting takes. Nothing here steals a known time, so that how it is divided among threads is not measured;
    the CPU times that it is divided by are."""
    cost, error = found.figure("steal-overhead", jdk, "own_percent_of_program"), found.figure("steal", jdk, "worst_error_percent")
    if cost is None:
        return Cells(NOT_HERE, "", "")
    text = f"costs {cost:.2f} % with 50 threads" + ("" if error is None else f"; CPU times of threads within {error:.2f} %")
    return Cells(text, "", f"cost: {MET if cost <= 0.1 else MISSED}; attribution: not measured")


LATENCY_US = 100.0
"""Of 97.5 % of the answers, where a processor is free."""


def handshakes(found: Findings, jdk: int) -> Cells:
    """Running threads asked one by one at their safepoints."""
    texts, verdicts = [], []
    for rate, limit in (("10ms", 1.01), ("1ms", 1.04)):
        ours = found.overhead(f"headway-handshake-{rate}", jdk, CPU_BOUND)
        if ours is not None:
            texts.append(f"{rate} {shown(ours)}")
            verdicts.append(f"{rate}: {verdict(ours, limit)}")
    for rate in ("10ms", "1ms"):
        took = found.figure(f"answers-handshake-{rate}", jdk, "p97_5_us")
        if took is not None:
            texts.append(f"97.5 % within {took:.0f} us at {rate}")
            verdicts.append(f"latency at {rate}: {MET if took <= LATENCY_US else MISSED}")
    return Cells("; ".join(texts) or NOT_HERE, "", "; ".join(verdicts))


TARGETS: tuple[tuple[str, str, str, Question], ...] = (
    ("CPU sampling at 10 ms, CPU-bound programs", "1 % in a modified VM", "1.5 bare interrupts", sampling("10ms")),
    ("CPU sampling at 1 ms", "2.1 %", "1.5 bare interrupts, a third of async-profiler's", sampling("1ms")),
    ("CPU sampling at 0.1 ms", "9.7 %", "1.5 bare interrupts, a third of async-profiler's", sampling("100us")),
    ("samples with a complete stack", "91.3 %", "99.5 %", complete),
    ("agreement with async-profiler, overlap / hot edges in %", "70 on 17 of 25 programs", "90 / 95", agreeing),
    ("safepoint-based sampling of running threads", "2.1 / 6.7 % at 10 / 1 ms", "1 / 4 %, a latency of 0.1 ms",
     handshakes),
    ("lock tracing, multi-threaded programs", "7.8 %", "2 %", over(TOGETHER, 1.02)),
    ("lock tracing, threads that share nothing", "0.8 %", "0.3 %", over(ALONE, 1.003, peers=())),
    ("lock tracing, worst contended program", "80 %", "10 %", worst("headway-lock", 1.10, LOCK_PEERS)),
    ("agent loaded, nothing enabled", "", "as an agent that only asks for an environment", loaded),
    ("pressure always on, worst program", "6 %", "1 %", worst("headway-pressure", 1.01, ())),
    ("park statistics", "0.2-0.35 %", "0.2 %", over(TOGETHER, 1.002, "headway-park-statistics", ())),
    ("resident memory, MiB beyond the JVM's", "0.27 % (park statistics)", "16 MB", memory),
    ("bytes per lock event as packed on the fly", "26.3 -> 10 MB/s on the worst program", "10", bytes_per_event),
    ("call chain at a lock or park event, 40 frames", "4-24 us", "0.5 us, 1 us with cold caches", call_chains),
    ("recorded / self-measured wait time, %", "99.9", "99.9 of 1 ms and more; below, not under JFR", waits),
    ("blocked time attributed to the right owner", "no peer", "97.5 %, wrong 0.1 %", owners),
    ("offline analysis", "", "3 million events/s/core; 1 GB in 15 s and 1 GB", analysed),
    ("causal profiling: error of predicted gains", "+-5 points", "+-3 points, truth in the interval", predicted),
    ("causal profiling beyond its delays", "10-40 %", "5 %", beyond_delays),
    ("steal time at 100 ms", "0-2 %, error within 20 %", "0.1 %, error within 5 %", stolen),
    ("the page's data with a 1 GB recording", "0.5-1.5 GB JSON breaks viewers", "15 s; 100 ms", opened),
)
RIVALS = (
    ("headway-lock", LOCK_PEERS), ("headway", (*LOCK_PEERS, "jfr-default")),
    *((f"headway-cpu-{rate}", (f"async-cpu-{rate}", f"jfr-cpu-{rate}")) for rate in ("10ms", "1ms", "100us")),
)  # fmt: skip


MEASURED_BY = (("cpu", "CPU"), ("throughput", "time"), ("p99", "p99 latency"))


def losses(found: Findings) -> str:
    """Programs on which our whole interval lies above what a peer's median is."""
    rows = []
    for jdk in found.jdks:
        for ours_name, peers in RIVALS:
            for program in WORKLOADS:
                for measure, words in MEASURED_BY:
                    ours = found.overhead(ours_name, jdk, [program], measure)
                    for peer in peers:
                        theirs = found.overhead(peer, jdk, [program], measure)
                        if ours is not None and theirs is not None and ours.low > theirs.value:
                            sure = "yes" if ours.low > theirs.high else ""
                            rows.append((jdk, program, words, f"{ours_name} {shown(ours)}", f"{peer} {shown(theirs)}", sure))
    if not rows:
        return "Nowhere that these intervals tell apart."
    return as_markdown(pd.DataFrame(rows, columns=["JDK", "program", "of", "Headway", "peer", "above its interval, too"]))
