"""Windows of a running workload, phases in which a profiler is on or off, and
the ratios of neighbouring phases."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Optional, Sequence


@dataclass(frozen=True)
class Window:
    """What the workload did in one short window; times on CLOCK_MONOTONIC."""

    start_ns: int
    end_ns: int
    operations: int
    process_cpu_ns: int
    threads_cpu_ns: int

    @staticmethod
    def parse(line: str) -> Optional["Window"]:
        """A line ``window START END OPERATIONS PROCESS_CPU THREADS_CPU``; None for others."""
        words = line.split()
        if len(words) != 6 or words[0] != "window":
            return None
        return Window(*(int(word) for word in words[1:]))


@dataclass(frozen=True)
class Phase:
    """A time in which the profiler was on, or off, throughout."""

    on: bool
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Rates:
    """What a phase's windows say, per second and per operation."""

    operations_per_s: float
    process_cpu_ns_per_operation: float
    threads_cpu_ns_per_operation: float


def rates(phase: Phase, windows: Sequence[Window]) -> Optional[Rates]:
    """Rates over the windows that lie wholly inside a phase; None if nothing was done in them."""
    inside = [w for w in windows if w.start_ns >= phase.start_ns and w.end_ns <= phase.end_ns]
    operations = sum(w.operations for w in inside)
    duration = sum(w.end_ns - w.start_ns for w in inside)
    if operations == 0 or duration == 0:
        return None
    return Rates(
        operations_per_s=operations * 1e9 / duration,
        process_cpu_ns_per_operation=sum(w.process_cpu_ns for w in inside) / operations,
        threads_cpu_ns_per_operation=sum(w.threads_cpu_ns for w in inside) / operations,
    )


@dataclass(frozen=True)
class Quartiles:
    """Median and quartiles of ratios on/off."""

    lower: float
    median: float
    upper: float
    count: int

    @staticmethod
    def of(values: Sequence[float]) -> Optional["Quartiles"]:
        """None if there are fewer than three values, of which nothing can be said."""
        if len(values) < 3:
            return None
        lower, median, upper = statistics.quantiles(values, n=4, method="inclusive")
        return Quartiles(lower, median, upper, len(values))

    def __str__(self) -> str:
        return f"{self.median:.4f} [{self.lower:.4f} {self.upper:.4f}] n={self.count}"


@dataclass(frozen=True)
class Comparison:
    """Ratios on/off. Throughput below 1 and CPU above 1 are cost."""

    throughput: Optional[Quartiles]
    process_cpu: Optional[Quartiles]
    threads_cpu: Optional[Quartiles]


def compare(phases: Sequence[Phase], windows: Sequence[Window]) -> Comparison:
    """Each phase that is on, against the mean of the phases beside it that are off.

    Neighbours only: the machine's own drift over a run is larger than what is
    to be measured, and mostly cancels between a phase and what is around it.
    """
    measured = [rates(phase, windows) for phase in phases]
    throughput: list[float] = []
    process_cpu: list[float] = []
    threads_cpu: list[float] = []
    for i in range(1, len(phases) - 1):
        before, on, after = measured[i - 1], measured[i], measured[i + 1]
        if not phases[i].on or before is None or on is None or after is None:
            continue
        throughput.append(2 * on.operations_per_s / (before.operations_per_s + after.operations_per_s))
        off = before.process_cpu_ns_per_operation + after.process_cpu_ns_per_operation
        if off > 0:
            process_cpu.append(2 * on.process_cpu_ns_per_operation / off)
        off = before.threads_cpu_ns_per_operation + after.threads_cpu_ns_per_operation
        if off > 0:
            threads_cpu.append(2 * on.threads_cpu_ns_per_operation / off)
    return Comparison(Quartiles.of(throughput), Quartiles.of(process_cpu), Quartiles.of(threads_cpu))
