"""The tables and charts of the published evaluations, made again of what was measured here: each
published figure beside ours and the peers'. What was published was measured inside modified virtual
machines, on other programs and on machines with 4 to 48 processors: only orders of magnitude compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Sequence

import pandas as pd

import charts
import contents
import figures
from cells import TOGGLE
from findings import ALONE, CPU_BOUND, LOCK_PEERS, NOT_HERE, TOGETHER, WORST, Cells, Findings, Question, on, peers_of, shown
from report import Report
from workloads import WORKLOADS

TRACING = "Hofer et al., lock contention tracing, 2016"
THESIS = "Hofer, thesis, 2016"
FREE_LUNCH = "David et al., critical section pressure, 2014"
PATROS = "Patros, park statistics, 2014"
JCOZ = "JCoz, 2016"
EVERY = tuple(WORKLOADS)
PUBLISHED_PROGRAMS = tuple(w.name for w in WORKLOADS.values() if w.kind == "published")


# MB in a KiB.
KB = 1024 / 1e6


@dataclass(frozen=True)
class Published:
    """A figure of somebody's evaluation, and how to ask for ours."""

    source: str
    what: str
    value: str
    ask: Question


def again(found: Findings) -> pd.DataFrame:
    """A line for each published figure and JDK."""
    rows = []
    for one in PUBLISHED:
        asked = [(str(jdk), one.ask(found, jdk)) for jdk in found.jdks]
        known = [(jdk, cells) for jdk, cells in asked if cells.ours != NOT_HERE]
        for jdk, cells in known or [("", Cells(NOT_HERE, "", ""))]:
            rows.append((one.source, one.what, one.value, jdk, cells.ours, cells.peers))
    return pd.DataFrame(rows, columns=["published in", "what", "there", "JDK", "Headway", "peers"])


def overhead(profiler: str, programs: Sequence[str], peers: Sequence[str] = ()) -> Question:
    """Of CPU time per operation, geometric mean."""

    def ask(found: Findings, jdk: int) -> Cells:
        common = found.common((profiler, *peers), jdk, programs)
        ours = found.overhead(profiler, jdk, common)
        if ours is None:
            return Cells(NOT_HERE, "", "")
        theirs = peers_of({name: found.overhead(name, jdk, common) for name in peers})
        return Cells(on(f"{profiler} {shown(ours)}", common), theirs, "")

    return ask


def worst(profiler: str, programs: Sequence[str], peers: Sequence[str] = ()) -> Question:
    """The program on which it costs most."""

    def ask(found: Findings, jdk: int) -> Cells:
        most = found.worst(profiler, jdk, programs)
        if most is None:
            return Cells(NOT_HERE, "", "")
        name, interval = most
        return Cells(f"{name} {shown(interval)}", peers_of({peer: found.overhead(peer, jdk, [name]) for peer in peers}), "")

    return ask


def data_rate(found: Findings, jdk: int) -> Cells:
    """The most that was written a second, and what is left of it when packed."""
    frame = contents.recordings(found.report.measured)
    if frame.empty:
        return Cells(NOT_HERE, "", "")
    frame = frame[frame["jdk"] == jdk]

    def most(profiler: str) -> Optional[str]:
        part = frame[frame["profiler"] == profiler]
        if part.empty:
            return None
        row = part.loc[part["KiB/s"].idxmax()]
        return f"{row['workload']} {row['KiB/s'] * KB:.1f} -> {row['gzip_KiB/s'] * KB:.1f} MB/s"

    ours = most("headway-lock")
    told = [(name, most(name)) for name in LOCK_PEERS]
    return Cells(ours or NOT_HERE, "; ".join(f"{name}: {text}" for name, text in told if text), "")


def composition(found: Findings, jdk: int) -> Cells:
    """What lock recordings are made of, over all programs."""
    frame = contents.event_shares([m for m in found.report.measured if m.cell.jdk == jdk and m.cell.profiler == "headway-lock"])
    if frame.empty:
        return Cells(NOT_HERE, "", "")
    total = frame.groupby("type")["events"].sum().sort_values(ascending=False)
    shares = (100 * total / total.sum()).head(5)
    return Cells(", ".join(f"{name.rsplit('.', 1)[1]} {share:.0f} %" for name, share in shares.items()), "", "")


def lost_samples(found: Findings, jdk: int) -> Cells:
    """At the shortest interval that was measured."""
    frame = of_jdk(contents.samples(found.report.measured), jdk)
    for rate in ("100us", "1ms", "10ms"):
        part = frame[frame["profiler"] == f"headway-cpu-{rate}"]
        if not part.empty:
            lost = 100 * part["lost"] / (part["samples"] + part["lost"])
            row = part.loc[lost.idxmax()]
            return Cells(f"{lost.max():.2f} % at {rate} ({row['workload']})", "", "")
    return Cells(NOT_HERE, "", "")


def complete(found: Findings, jdk: int) -> Cells:
    """Samples with a complete stack."""
    frame = of_jdk(contents.samples(found.report.measured), jdk)

    def share(prefix: str) -> Optional[float]:
        part = frame[frame["profiler"].str.startswith(prefix)]
        return None if part.empty else 100 * (1 - part["cut_off"].sum() / part["samples"].sum())

    ours, theirs = share("headway-cpu"), share("async-cpu")
    return Cells(NOT_HERE if ours is None else f"{ours:.2f} %", "" if theirs is None else f"async-profiler {theirs:.2f} %", "")


def agreement(found: Findings, jdk: int) -> Cells:
    """On how many programs the trees of two profilers overlap by more than 70 %."""
    frame = contents.agreements(found.report.agreements)
    if frame.empty:
        return Cells(NOT_HERE, "", "")
    frame = frame[(frame["jdk"] == jdk) & (frame["compared"] == "headway / async") & (frame["rate"] == "cpu-1ms")]
    if frame.empty:
        return Cells(NOT_HERE, "", "")
    above = int((frame["overlap"] > 70).sum())
    return Cells(f"{above} of {len(frame)} (median {frame['overlap'].median():.1f} %)", "", "")


def chain_reuse(found: Findings, jdk: int) -> Cells:
    """Events of locks whose chain was known already, in per cent."""
    texts = []
    for name in found.checks("chains", jdk):
        reused = found.figure(name, jdk, "lock_chains_known_percent")
        if reused is not None:
            texts.append(f"{name.removeprefix('chains-')} {reused:.2f} %")
    return Cells("; ".join(texts) or NOT_HERE, "", "")


def online(found: Findings, jdk: int) -> Cells:
    """What its own threads take for an event: written and analysed meanwhile, with somebody watching, and afterwards."""
    figures = [found.figure("online", jdk, f"{name}_ns_per_event") for name in ("file_own", "watched_own", "offline")]
    if any(figure is None for figure in figures):
        return Cells(NOT_HERE, "", "")
    file, watched, offline = (float(figure or 0) for figure in figures)
    return Cells(f"{file:.0f} ns an event; watched {watched:.0f}; `report` afterwards {offline:.0f}", "", "")


def frames_known(found: Findings, jdk: int) -> Cells:
    """Frames of events that came in a chain that was known already."""
    told = [(name, found.figure(name, jdk, "lock_frames_known_percent")) for name in found.checks("chains", jdk)]
    return Cells("; ".join(f"{name.removeprefix('chains-')} {value:.2f} %" for name, value in told if value is not None) or NOT_HERE, "", "")


def answers(found: Findings, jdk: int) -> Cells:
    """How long the VM takes to give a stack."""
    told = [(engine, found.figure(f"answers-{engine}-1ms", jdk, "median_us"), found.figure(f"answers-{engine}-1ms", jdk, "p97_5_us"))
            for engine in ("handshake", "jvmti")]  # fmt: skip
    texts = [f"{engine}: median {median:.0f} us, 97.5 % within {most:.0f}" for engine, median, most in told
             if median is not None and most is not None]  # fmt: skip
    return Cells("; ".join(texts) or NOT_HERE, "", "")


def causal_overhead(found: Findings, jdk: int) -> Cells:
    """Beyond the delays that experiments insert."""
    value = found.figure("causal-overhead", jdk, "overhead_beyond_delays_percent")
    return Cells(NOT_HERE if value is None else f"{value:.1f} %", "", "")


PUBLISHED = (
    Published(TRACING, "tracing to a file, programs of many threads (fig. 9)", "7.8 %", overhead("headway-lock", TOGETHER, LOCK_PEERS)),
    Published(TRACING, "the same, packed as it is written (fig. 9)", "7.8 %", overhead("headway-lock-zst", TOGETHER)),
    Published(TRACING, "analysed while it runs, no file (fig. 9); here always both: own threads' time", "9.4 %", online),
    Published(TRACING, "packed file, single-threaded programs (fig. 9); here two threads that share nothing, plain", "0.8 %",
              overhead("headway-lock", ALONE)),
    Published(TRACING, "the worst of the programs (fig. 9)", "xalan 80 %, actors 22 %",
              worst("headway-lock", PUBLISHED_PROGRAMS, LOCK_PEERS)),
    Published(TRACING, "the worst made for it", "", worst("headway-lock", WORST, LOCK_PEERS)),
    Published(TRACING, "without call chains (fig. 12)", "6.4 % of 7.8 %; xalan 73 % of 79 %",
              overhead("headway-lock-no-chains", TOGETHER, ("headway-lock",))),
    Published(TRACING, "most data a second, and packed (fig. 10); here by gzip afterwards", "xalan 26.3 -> 10 MB/s", data_rate),
    Published(TRACING, "composition (fig. 11)", "enter = entered < exit; park = parked = unpark", composition),
    Published(TRACING, "call chains that were known (5.6)", "99.5 % and more above 10,000 a second, but pmd 89 %", chain_reuse),
    Published(TRACING, "frames not examined again (5.6); here frames in chains that were known", "10 to 50 %", frames_known),
    Published(THESIS, "stack fragments each 10 ms, all programs (fig. 3.21); here CPU-bound ones", "1 %",
              overhead("headway-cpu-10ms", CPU_BOUND, ("async-cpu-10ms", "jfr-cpu-10ms", "interrupt-10ms"))),
    Published(THESIS, "the same each 1 ms", "2.1 %",
              overhead("headway-cpu-1ms", CPU_BOUND, ("async-cpu-1ms", "interrupt-1ms"))),
    Published(THESIS, "the same each 0.1 ms", "9.7 %",
              overhead("headway-cpu-100us", CPU_BOUND, ("async-cpu-100us", "interrupt-100us"))),
    Published(THESIS, "fragments decoded (fig. 3.20); here complete stacks", "91.3 %", complete),
    Published(THESIS, "samples lost each 0.1 ms, running threads (fig. 3.19)", "2.2 % at most", lost_samples),
    Published(THESIS, "programs on which two profilers' trees overlap by more than 70 % (fig. 3.24: each 0.1 ms, waiting threads, too)",
              "17 of 25", agreement),
    Published(THESIS, "JVMTI each 10 ms, all threads (fig. 3.26); here running ones", "DaCapo 10.7 %, Scala 4.8 %",
              overhead("headway-jvmti-10ms", CPU_BOUND)),
    Published(THESIS, "partial safepoints, incremental, each 10 ms (fig. 3.26); here threads one by one", "DaCapo 2.1 %, Scala 3.4 %",
              overhead("headway-handshake-10ms", CPU_BOUND)),
    Published(THESIS, "the same each 1 ms", "DaCapo 6.7 %, Scala 9.8 %", overhead("headway-handshake-1ms", CPU_BOUND)),
    Published(THESIS, "latency of that, each 1 ms (fig. 3.27)", "0.1 ms or below; JVMTI can exceed 1 ms", answers),
    Published(THESIS, "steal time each 100 ms (fig. 5.4)", "negligible, 2 % under load", overhead("headway-steal-100ms", EVERY)),
    Published(THESIS, "steal time each 10 ms (fig. 5.4)", "1 %, 8 % under load", overhead("headway-steal-10ms", EVERY)),
    Published(FREE_LUNCH, "critical section pressure, all programs (fig. 6)", "below 6 % on each",
              worst("headway-pressure", (*PUBLISHED_PROGRAMS, *WORST))),
    Published(PATROS, "park statistics, two scores (tables 4.5, 4.6; none told from 0)", "0.17, -0.39 %; freed on printing 0.35, -0.09 %",
              overhead("headway-park-statistics", TOGETHER)),
    Published(JCOZ, "causal profiling, all of it; here beyond its delays", "10 to 40 %", causal_overhead),
)  # fmt: skip


LOCKS = ("headway-lock", "headway-lock-zst", "headway-pressure", *LOCK_PEERS)
CHAINS = ("headway-lock", "headway-lock-no-chains")
RATES = ("10ms", "1ms", "100us")
SAMPLERS = ("interrupt", "headway-cpu", "async-cpu", "jfr-cpu", "headway-handshake", "headway-jvmti")
FEWEST_EVENTS = 1000


def drawings(report: Report) -> dict[str, tuple[str, str]]:
    """By name: title and drawing, of the newest JDK that has what the chart shows."""
    found = Findings(report)
    drawn: dict[str, tuple[str, str]] = {}
    for jdk in reversed(found.jdks):
        for name, draw in DRAWINGS.items():
            if name not in drawn and (one := draw(found, jdk)) is not None:
                drawn[name] = one
    return {name: drawn[name] for name in DRAWINGS if name in drawn}


def of_profilers(found: Findings, jdk: int, names: Sequence[str], title: str) -> Optional[tuple[str, str]]:
    """Overheads of these, on programs that more than one of them was measured on."""
    pairs = found.report.pairs
    if pairs.empty:
        return None
    part = pairs[(pairs["mode"] == TOGGLE) & (pairs["jdk"] == jdk) & pairs["profiler"].isin(names)]
    several = part.groupby("workload")["profiler"].nunique()
    part = part[part["workload"].isin(several[several > 1].index)]
    if part.empty:
        return None
    return title, charts.overhead_chart(figures.table(part, "cpu"), f"{title}, JDK {jdk}")


def tracing(found: Findings, jdk: int) -> Optional[tuple[str, str]]:
    """Figure 9 of the paper on tracing."""
    return of_profilers(found, jdk, LOCKS, "Tracing locks: file, packed, windows only, and peers")


def chains(found: Findings, jdk: int) -> Optional[tuple[str, str]]:
    """Figure 12."""
    return of_profilers(found, jdk, CHAINS, "Tracing locks with and without call chains")


def rates(found: Findings, jdk: int) -> Optional[tuple[str, str]]:
    """Figure 10: bytes a second, plain and packed."""
    frame = contents.recordings(found.report.measured)
    if frame.empty:
        return None
    frame = frame[(frame["jdk"] == jdk) & frame["profiler"].isin(("headway-lock", *LOCK_PEERS))]
    if frame.empty:
        return None
    columns = {}
    for profiler, part in frame.groupby("profiler"):
        by_program = part.set_index("workload")
        columns[profiler] = by_program["KiB/s"] / 1024
        columns[f"{profiler}, packed"] = by_program["gzip_KiB/s"] / 1024
    title = "Data of lock recordings"
    return title, charts.bars(pd.DataFrame(columns), f"{title}, JDK {jdk}", "MiB a second")


def events(found: Findings, jdk: int) -> Optional[tuple[str, str]]:
    """Figure 11: shares of types of event, of programs that have more than a few."""
    measured = [m for m in found.report.measured if m.cell.jdk == jdk and m.cell.profiler == "headway-lock"]
    frame = contents.event_shares(measured).pivot_table(index="workload", columns="type", values="events", fill_value=0)
    frame = frame[frame.sum(axis=1) >= FEWEST_EVENTS]
    if frame.empty:
        return None
    shares = 100 * frame.div(frame.sum(axis=1), axis=0)
    shares = shares.loc[:, shares.max() >= 1]
    title = "Events of lock recordings"
    return title, charts.bars(shares, f"{title}, JDK {jdk}", "% of events", stacked=True)


def sampling(found: Findings, jdk: int) -> Optional[tuple[str, str]]:
    """Figure 3.21 of the thesis: geometric means over CPU-bound programs by interval."""
    values = {rate: {name: found.overhead(f"{name}-{rate}", jdk, CPU_BOUND) for name in SAMPLERS} for rate in RATES}
    frame = pd.DataFrame({rate: {name: 100 * (one.value - 1) for name, one in by_name.items() if one is not None}
                          for rate, by_name in values.items()}).T  # fmt: skip
    frame = frame.dropna(how="all").dropna(how="all", axis=1)
    if frame.empty:
        return None
    title = "Sampling the processor by interval"
    return title, charts.bars(frame, f"{title}, JDK {jdk}", "overhead in %, geometric mean")


def of_jdk(frame: pd.DataFrame, jdk: int) -> pd.DataFrame:
    """The lines of one JDK. Frames without lines may have no columns either."""
    return frame if frame.empty else frame[frame["jdk"] == jdk]


def incomplete(found: Findings, jdk: int) -> Optional[tuple[str, str]]:
    """Figures 3.19 and 3.20: samples that were lost, and stacks without their root, by profiler."""
    frame = of_jdk(contents.samples(found.report.measured), jdk)
    if frame.empty:
        return None
    frame = frame.set_index(frame["workload"] + ", " + frame["profiler"])
    all_samples = frame["samples"] + frame["lost"]
    shares = pd.DataFrame({"without their root": 100 * frame["cut_off"] / all_samples, "lost": 100 * frame["lost"] / all_samples})
    title = "Samples that are not complete"
    return title, charts.bars(shares, f"{title}, JDK {jdk}", "% of all samples", stacked=True)


def overlaps(found: Findings, jdk: int) -> Optional[tuple[str, str]]:
    """Figures 3.22 to 3.25: trees of repeats, and of different profilers, side by side."""
    frame = of_jdk(contents.agreements(found.report.agreements), jdk)
    if frame.empty:
        return None
    names = frame["workload"] + ", " + frame["compared"] + ", " + frame["rate"].str.removeprefix("cpu-")
    shares = frame.set_index(names)[["overlap", "coverage"]].rename(
        columns={"overlap": "degree of overlap", "coverage": "coverage of hot edges"}
    )
    title = "Call trees of samples side by side"
    return title, charts.bars(shares, f"{title}, JDK {jdk}", "%")


def dropped(found: Findings, jdk: int) -> Optional[tuple[str, str]]:
    """Events that found the buffers full, by their size."""
    frame = of_jdk(contents.buffers(found.report.measured), jdk)
    if frame.empty:
        return None
    shares = frame.pivot_table(index="workload", columns="buffers_MiB", values="dropped_%")
    shares.columns = [f"{size:g} MiB" for size in shares.columns]
    title = "Events dropped by size of the buffers"
    return title, charts.bars(shares, f"{title}, JDK {jdk}", "% of all events")


DRAWINGS = {
    "tracing": tracing, "chains": chains, "data": rates, "events": events, "buffers": dropped, "sampling": sampling,
    "incomplete": incomplete, "overlaps": overlaps,
}  # fmt: skip
