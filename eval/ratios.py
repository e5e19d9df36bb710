"""Ratios of what a program does with a profiler to what it does without.

Two ratios are formed of each pair of phases that lie beside each other:

- *CPU per operation* (with all of the profiler's own threads): what a profiler
  costs, also where the machine is busy with other things. Above 1 is cost.
- *Throughput*: operations per second. Below 1 is cost. On a machine that others
  use it is far noisier, and where threads wait it moves less than CPU does.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass
from typing import Iterable, Optional, Sequence

from cells import FRESH, TOGGLE, Measured, Phase


SETTLED = 1.05
"""A program is warm when a phase takes at most so many times what later ones take."""


@dataclass(frozen=True)
class Pair:
    """One ratio of each kind, and where it comes from."""

    mode: str
    jdk: int
    workload: str
    profiler: str
    round: int
    """Which of the JVMs of this kind."""
    cpu: float
    throughput: float
    p50: Optional[float]
    """Of the median of latencies; None where operations are no requests."""
    p99: Optional[float]
    """Of their 99th percentile."""


def cpu_per_operation(phase: Phase) -> float:
    """Nanoseconds of the process for one operation."""
    return phase.process_cpu_ns / phase.operations


def throughput(phase: Phase) -> float:
    """Operations per second."""
    return phase.operations * 1e9 / (phase.end_ns - phase.start_ns)


def compare(measured: Measured, on: Phase, off: Sequence[Phase]) -> Optional[Pair]:
    """A phase with a profiler, and the mean of those without that it is compared with. None if
    somewhere nothing was done, so that there is no ratio."""
    if any(s.operations == 0 or s.process_cpu_ns == 0 for s in (on, *off)):
        return None
    cell = measured.cell
    base_cpu = sum(map(cpu_per_operation, off)) / len(off)
    base_throughput = sum(map(throughput, off)) / len(off)
    base_p50 = sum(s.p50_ns for s in off) / len(off)
    base_p99 = sum(s.p99_ns for s in off) / len(off)
    return Pair(
        cell.mode, cell.jdk, cell.workload, cell.profiler, cell.round, cpu_per_operation(on) / base_cpu,
        throughput(on) / base_throughput, on.p50_ns / base_p50 if base_p50 > 0 else None,
        on.p99_ns / base_p99 if base_p99 > 0 else None,
    )  # fmt: skip


def settled(phases: Sequence[Phase]) -> Sequence[Phase]:
    """From the first phase without the profiler on that is as fast as those that follow: before, the
    program was warming up, and the mean of two neighbours of a falling curve lies above it. At least
    the later half is kept."""
    for start in range(len(phases) // 2):
        off = [cpu_per_operation(s) for s in phases[start:] if not s.on and s.operations > 0]
        if not phases[start].on and len(off) > 1 and off[0] <= SETTLED * statistics.median(off[1:]):
            return phases[start:]
    return phases[len(phases) // 2 :]


def toggle_pairs(measured: Measured) -> list[Pair]:
    """Each phase that is on against the two beside it, once the program has settled.

    Neighbours only: the machine's own drift over a run is larger than what is to be measured, and
    mostly cancels between a phase and what is around it.
    """
    phases = settled(measured.phases)
    found = [
        compare(measured, phases[i], (phases[i - 1], phases[i + 1]))
        for i in range(1, len(phases) - 1)
        if phases[i].on and not phases[i - 1].on and not phases[i + 1].on
    ]
    return [pair for pair in found if pair is not None]


def fresh_pairs(all_measured: Iterable[Measured]) -> list[Pair]:
    """Each fresh JVM against the same round's JVM without a profiler."""
    rounds: dict[tuple[int, str, int], dict[str, Measured]] = defaultdict(dict)
    for measured in all_measured:
        cell = measured.cell
        if cell.mode == FRESH and measured.phases:
            rounds[(cell.jdk, cell.workload, cell.round)][cell.profiler] = measured
    pairs = []
    for by_profiler in rounds.values():
        base = by_profiler.get("base")
        for name, measured in by_profiler.items():
            if base is not None and name != "base":
                pairs.append(compare(measured, measured.phases[0], base.phases))
    return [pair for pair in pairs if pair is not None]


def all_pairs(all_measured: Sequence[Measured]) -> list[Pair]:
    """Everything that can be compared."""
    toggled = [pair for m in all_measured if m.cell.mode == TOGGLE for pair in toggle_pairs(m)]
    return toggled + fresh_pairs(all_measured)
