"""Tables, charts and the page, made from the raw data and nothing else."""

from __future__ import annotations

import html
import math
import re
from dataclasses import asdict
from pathlib import Path
from typing import Sequence

import pandas as pd

import charts
import contents
import figures
from agreement import Agreement
from cells import FRESH, TOGGLE, Measured
from profilers import all_profilers
from ratios import all_pairs
from workloads import WORKLOADS

# What a measure is a ratio of, where its name would say the reverse.
FILES = {"throughput": "time"}
MODES = {
    TOGGLE: "switched on and off inside one JVM, neighbouring phases compared",
    FRESH: "fresh JVMs in turns, recording from their start, compared with the same round's JVM without a profiler",
}
MEASURES = {
    "cpu": "CPU time per operation, profiler's threads included",
    "throughput": "time per operation",
    "p50": "median of latencies",
    "p99": "99th percentile of latencies",
}
CHECKED = {
    "waits": ("Waits", "Programs that measure their own waits. coverage: recorded over self-measured time, of contentions of a "
              "millisecond and more (ge_1ms) and of all, of which spinning posts no event. attributed: part of the recorded time "
              "that is blamed on an owner's method, attributable: what can be at best, since a lock changes hands meanwhile; "
              "wrong: blamed on an owner beyond what that one can have caused; share_difference: the largest error of a "
              "method's share. Fractions; peers do not tell owners' call chains. lost: what a profiler says that it lost."),
    "shares": ("Known shares", "A program with two methods whose shares of the CPU it knows."),
    "walk": ("Call chains", "What a call chain at an event costs."),
    "analysis": ("Analysis", "`headway report` of generated recordings."),
    "page": ("Page", "Questions of the page to a generated recording."),
    "causal": ("Causal profiling", "Programs whose gain at a speedup of 50 % is known, in points; covered: is the truth in the "
               "95 % interval."),
    "steal": ("Stolen time", "Times of threads against what programs know of themselves."),
    "chains": ("Re-use of call chains", "Of recordings of locks and of samples."),
    "answers": ("Latency of stacks that the VM gives", "From the request for a running thread's stack to the answer, by engine and "
                "interval; one thread works, a processor is free."),
    "online": ("Online against offline", "Analysis while the program runs, and afterwards."),
}  # fmt: skip
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }
th, td { padding: .2rem .7rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top }
.wide { overflow-x: auto }
svg { max-width: 100%; height: auto }
"""


class Report:
    """What an evaluation found."""

    def __init__(self, measured: Sequence[Measured], machine: dict[str, str], agreements: Sequence[Agreement] = ()) -> None:
        self.measured = [m for m in measured if not m.failure]
        done = {m.cell.key() for m in self.measured}
        self.failed = [m for m in measured if m.failure and m.cell.key() not in done]
        self.machine = machine
        self.agreements = agreements
        pairs = pd.DataFrame([asdict(pair) for pair in all_pairs(self.measured)])
        if not pairs.empty:
            # As time per operation, so that in every table more than 1 is cost.
            pairs["throughput"] = 1 / pairs["throughput"]
            pairs["order"] = pairs["profiler"].map({name: i for i, name in enumerate(all_profilers())})
            pairs = pairs.sort_values(["mode", "jdk", "workload", "order"], kind="stable")
        self.pairs = pairs

    def write(self, directory: Path, first: Sequence[str] = ()) -> None:
        """Writes everything: tables.md, a CSV per measure, and index.html, which begins with these parts."""
        directory.joinpath("tables.md").write_text(self.markdown(), encoding="utf-8")
        for measure in MEASURES:
            if not self.pairs.empty:
                figures.table(self.pairs, measure).to_csv(directory / f"{FILES.get(measure, measure)}.csv", index=False)
        for heading, _, frame in self.tables_of_contents():
            frame.to_csv(directory / f"{heading.lower().replace(' ', '-')}.csv", index=False)
        directory.joinpath("index.html").write_text(self.page(first), encoding="utf-8")

    def markdown(self) -> str:
        """All tables."""
        parts = ["# Evaluation", "", *[f"- {name}: {value}" for name, value in self.machine.items()], ""]
        for heading, note, frame in self.tables():
            parts += [f"## {heading}", "", note, "", as_markdown(frame), ""]
        parts += self.failures()
        return "\n".join(parts)

    def page(self, first: Sequence[str] = ()) -> str:
        """The same with charts, as one file that needs no network."""
        parts = ["<!doctype html><html lang='en'><meta charset='utf-8'><title>Evaluation</title>", f"<style>{STYLE}</style>"]
        parts += ["<h1>Evaluation</h1><ul>"]
        parts += [f"<li>{html.escape(name)}: {html.escape(value)}</li>" for name, value in self.machine.items()]
        parts += ["</ul>", *[f"<p>{html.escape(line)}</p>" for line in self.failures()], *first, *self.drawings()]
        for heading, note, frame in self.tables():
            parts += as_html(heading, note, frame)
        return "\n".join([*parts, "</html>\n"])

    def drawings(self) -> list[str]:
        """One chart per mode and JDK."""
        if self.pairs.empty:
            return []
        rows = figures.table(self.pairs, "cpu")
        return [
            charts.overhead_chart(part, f"JDK {jdk}: {MEASURES['cpu']} ({mode})")
            for (mode, jdk), part in rows.groupby(["mode", "jdk"], sort=False)
        ]

    def tables(self) -> list[tuple[str, str, pd.DataFrame]]:
        """Heading, note and table, in the order of reading."""
        found: list[tuple[str, str, pd.DataFrame]] = []
        if not self.pairs.empty:
            for measure, words in MEASURES.items():
                found += self.tables_of(measure, words)
        found += self.tables_of_contents()
        return found + [("Profilers", "What was compared.", self.profilers()), ("Programs", "What they do.", programs())]

    def tables_of(self, measure: str, words: str) -> list[tuple[str, str, pd.DataFrame]]:
        """The summary and the lines of one measure."""
        if self.pairs[measure].dropna().empty:
            return []
        whole = figures.summary(self.pairs, measure)
        whole["overhead"] = [f"{percent(v, a, b)} ({n})" for v, a, b, n in zip(whole["mean"], whole["low"], whole["high"], whole["programs"])]
        found = [(f"Overhead: {words}", "Geometric mean over programs, in %, with its 95 % interval, and of how many: profilers "
                  "that were measured on different programs do not compare.",
                  wide(whole, ["mode", "jdk"], "profiler"))]  # fmt: skip
        lines = figures.table(self.pairs, measure)
        lines["overhead"] = [percent(v, a, b) for v, a, b in zip(lines["median"], lines["low"], lines["high"])]
        for (mode, jdk), part in lines.groupby(["mode", "jdk"], sort=False):
            note = f"Medians in %, with 95 % intervals ([?]: too few values for one); {MODES[mode]}."
            found.append((f"JDK {jdk}, {mode}: {words}", note, wide(part, ["workload"], "profiler")))
        return found

    def tables_of_contents(self) -> list[tuple[str, str, pd.DataFrame]]:
        """What profilers take and leave, as far as it was measured."""
        found = [
            ("Resources", "Medians. Resident memory is that of the JVM, above_base that beyond the same round's JVM without a "
             "profiler; own_threads is the part of the process's CPU time that the profiler's own threads took while it was "
             "on; on and off are what switching takes.", contents.resources(self.measured)),
            ("Recordings", "Of fresh JVMs from their start; gzip is one and the same packer for all. report: CPU time in which "
             "`headway report` reads and analyses an event.", contents.recordings(self.measured)),
            ("Samples", "Of fresh JVMs. cut_off are stacks without their root; lost never reached the recording.",
             contents.samples(self.measured)),
            ("Composition", "Types of event in fresh JVMs' recordings.", contents.composition(self.measured)),
            ("Buffer sizes", "Lock recordings of fresh JVMs by the bound of the event buffers: dropped are events that found them "
             "full. overhead: of CPU time, switched on and off inside one JVM.", self.buffers()),
            ("Degraded", "Mechanisms that were not in force.", contents.degraded(self.measured)),
            ("Agreement", "Calling context trees of samples side by side, in %: degree of overlap, and coverage of hot edges "
             "(T = 0.1, mean of both directions). Two runs of one profiler show what can be expected.",
             contents.agreements(self.agreements)),
        ]  # fmt: skip
        found = [table for table in found if not table[2].empty]
        return found + [(*CHECKED.get(kind, (kind.capitalize(), "")), frame)
                        for kind, frame in contents.checked(self.measured).items()]  # fmt: skip

    def buffers(self) -> pd.DataFrame:
        """By size: what is dropped, and what they cost."""
        frame = contents.buffers(self.measured)
        if frame.empty:
            return frame
        costs = {}
        if not self.pairs.empty:
            lines = figures.table(self.pairs[self.pairs["mode"] == TOGGLE], "cpu")
            costs = {(line.jdk, line.workload, line.profiler): percent(line.median, line.low, line.high) for line in lines.itertuples()}
        keys = zip(frame["jdk"], frame["workload"], frame["profiler"])
        return frame.drop(columns=["mode", "profiler"]).assign(overhead=[costs.get(key, "") for key in keys])

    def profilers(self) -> pd.DataFrame:
        """Those that were measured."""
        known = all_profilers()
        names = dict.fromkeys(m.cell.profiler for m in self.measured)
        return pd.DataFrame([(n, known[n].about) for n in known if n in names], columns=["profiler", "what"])

    def failures(self) -> list[str]:
        """What could not be measured, and why."""
        return [f"Not measured: {m.cell.key()}: {m.failure}" for m in self.failed]


def programs() -> pd.DataFrame:
    """All programs."""
    return pd.DataFrame([(w.name, w.kind, w.threads, w.about) for w in WORKLOADS.values()],
                        columns=["program", "kind", "threads", "what"])  # fmt: skip


def percent(value: float, low: float, high: float) -> str:
    """A ratio as overhead: ``+2.1 [1.0 3.2]``."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return f"{(value - 1) * 100:+.1f} [?]"
    return f"{(value - 1) * 100:+.1f} [{(low - 1) * 100:.1f} {(high - 1) * 100:.1f}]"


def wide(rows: pd.DataFrame, down: list[str], across: str) -> pd.DataFrame:
    """Overheads with profilers as lines and programs (or JDKs) as columns."""
    frame = rows.pivot_table(index=across, columns=down, values="overhead", aggfunc="first", sort=False)
    frame.columns = [" ".join(str(part) for part in (c if isinstance(c, tuple) else (c,))) for c in frame.columns]
    return frame.reset_index().fillna("")


def as_html(heading: str, note: str, frame: pd.DataFrame) -> list[str]:
    """A table under its heading."""
    table = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", frame.to_html(index=False, border=0, justify="left", na_rep=""))
    return [f"<h2>{html.escape(heading)}</h2><p>{html.escape(note)}</p>", f"<div class=wide>{table}</div>"]


def as_markdown(frame: pd.DataFrame) -> str:
    """A table."""
    lines = ["| " + " | ".join(map(str, frame.columns)) + " |", "|" + "---|" * len(frame.columns)]
    cells = frame.astype(object).where(frame.notna(), "")
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in cells.itertuples(index=False)]
    return "\n".join(lines)
