"""Asks the report: overheads over several programs, and what checks found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Optional, Sequence

import numpy as np
import pandas as pd

import figures
from cells import CHECK, TOGGLE
from intervals import Interval
from report import Report, percent
from workloads import WORKLOADS

NOT_HERE = "not in this run"
LOCK_PEERS = ("async-lock", "jfr-lock")
CPU_BOUND = tuple(w.name for w in WORKLOADS.values() if w.cpu_bound)
ALONE = tuple(w.name for w in WORKLOADS.values() if w.kind == "compute")
TOGETHER = tuple(w.name for w in WORKLOADS.values() if w.kind == "published" and not w.cpu_bound)
WORST = tuple(w.name for w in WORKLOADS.values() if w.kind == "worst")


class Findings:
    """Asks the report."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.jdks = sorted({m.cell.jdk for m in report.measured})
        self.checked: dict[tuple[str, int, str], list[dict[str, float]]] = {}
        for m in report.measured:
            if m.cell.mode == CHECK:
                self.checked.setdefault((m.cell.workload, m.cell.jdk, m.cell.profiler), []).append(m.figures)
        self.pairs: dict[tuple[str, int, str, str], pd.DataFrame] = {}
        if not report.pairs.empty:
            grouped = report.pairs.groupby(["mode", "jdk", "profiler", "workload"], sort=False)
            self.pairs = {(str(key[0]), int(key[1]), str(key[2]), str(key[3])): part for key, part in grouped}

    def overhead(
        self, profiler: str, jdk: int, programs: Sequence[str], measure: str = "cpu", mode: str = TOGGLE
    ) -> Optional[Interval]:
        """Geometric mean over those programs that were measured; None if none was."""
        parts = [self.pairs.get((mode, jdk, profiler, program)) for program in programs]
        groups = [figures.by_round(part, measure) for part in parts if part is not None]
        groups = [group for group in groups if group]
        return figures.geometric_mean(groups) if groups else None

    def common(self, profilers: Sequence[str], jdk: int, programs: Sequence[str], mode: str = TOGGLE) -> list[str]:
        """Those of the programs on which all of these profilers were measured that were measured on any of them: what is
        compared is compared on the same programs."""
        of = {name: {program for program in programs if (mode, jdk, name, program) in self.pairs} for name in profilers}
        sets = [found for found in of.values() if found]
        return [program for program in programs if sets and all(program in found for found in sets)]

    def figure(self, check: str, jdk: int, name: str, by: str = "headway") -> Optional[float]:
        """Median over the rounds of a check; None if it was not made, or has no such figure."""
        values = [one[name] for one in self.checked.get((check, jdk, by), []) if name in one]
        return float(np.median(values)) if values else None

    def checks(self, kind: str, jdk: int) -> list[str]:
        """Names of the checks of a kind that were made, sorted."""
        return sorted({name for name, of, _ in self.checked if of == jdk and name.split("-")[0] == kind})

    def worst(self, profiler: str, jdk: int, programs: Sequence[str]) -> Optional[tuple[str, Interval]]:
        """The program on which it costs most."""
        found = [(name, self.overhead(profiler, jdk, [name])) for name in programs]
        known = [(name, interval) for name, interval in found if interval is not None]
        return max(known, key=lambda one: one[1].value, default=None)


def shown(interval: Interval) -> str:
    """In per cent."""
    return percent(interval.value, interval.low, interval.high)


@dataclass(frozen=True)
class Cells:
    """Ours, the peers' and the verdict for one JDK."""

    ours: str
    peers: str
    verdict: str


def on(text: str, programs: Sequence[str]) -> str:
    """With the program, or how many."""
    return f"{text} ({programs[0] if len(programs) == 1 else f'{len(programs)} programs'})"


def peers_of(intervals: dict[str, Optional[Interval]]) -> str:
    """Those that were measured."""
    return "; ".join(f"{name} {shown(interval)}" for name, interval in intervals.items() if interval is not None)


Question = Callable[[Findings, int], Cells]
"""Asked for each JDK."""
