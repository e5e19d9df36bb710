"""Does the budget hold under a load that changes by a factor of a thousand at once?

A program uses one monitor calmly for 20 s and a thousand times as often for 20 s, in turn (``ChangingLoad`` in
``java/eval-workloads``). It is recorded with a budget of 1 %, and ``headway status`` is asked twice a second what was spent.

    python3 eval/budget.py [--jdk N] [--seconds N] [--chart FILE.svg]

prints what it measured as JSON; ``./hw eval --checks budget`` makes the same measurement.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

from charts import spent_chart
from profilers import ProfilerError
from program import Program
from workloads import Workload

WORKLOAD = Workload("changing-load", 4, "one monitor, used calmly and a thousand times as often in turn", "cost")
TURN_S = 20.0
BUDGET = 0.01
READ_EVERY_S = 0.5
"""Time between two readings."""
HELD_S = 10.0
"""The time over which the budget has to hold."""
RISE_S = 1.0
"""A second of which is looked at to see since when the budget is kept after the load grew."""
MIN_CPUS = 1.0
"""A process that uses less has the budget of this many CPUs."""


@dataclass(frozen=True)
class Reading:
    """What had been spent at a moment since the recording began, and how much the program had done."""

    at_s: float
    process_s: float
    own_s: float
    """The agent's threads and its hooks."""
    operations: int
    window_ms: float
    """0 where everything is recorded."""


def share(before: Reading, after: Reading) -> float:
    """The part of the budget that was spent: 1 if wholly."""
    allowed = BUDGET * max(after.process_s - before.process_s, MIN_CPUS * (after.at_s - before.at_s))
    return (after.own_s - before.own_s) / allowed


def over(readings: Sequence[Reading], seconds: float) -> list[tuple[Reading, float]]:
    """For each reading that has one, what was spent in the time of that length before it."""
    found = []
    first = 0
    for reading in readings:
        while reading.at_s - readings[first].at_s > seconds + READ_EVERY_S:
            first += 1
        if reading.at_s - readings[first].at_s >= seconds:
            found.append((reading, share(readings[first], reading)))
    return found


def rises(readings: Sequence[Reading]) -> list[float]:
    """When the load grew: operations are a hundred times as many a second as in the interval before."""
    rates = [(after.at_s, (after.operations - before.operations) / (after.at_s - before.at_s))
             for before, after in zip(readings, readings[1:])]  # fmt: skip
    found: list[float] = []
    for (_, before), (at, after) in zip(rates, rates[1:]):
        if after > 30 * max(before, 1.0) and (not found or at - found[-1] > TURN_S / 2):
            found.append(at)
    return found


def settled(readings: Sequence[Reading], rise: float) -> float:
    """How long after the load grew the last second began that exceeds the budget, in seconds."""
    late = [reading.at_s - RISE_S - rise for reading, spent in over(readings, RISE_S)
            if rise <= reading.at_s < rise + TURN_S - RISE_S and spent > 1.0]  # fmt: skip
    return max([0.0, *late])


def turns(readings: Sequence[Reading], begin: float, end: float) -> int:
    """How often windows became longer and then shorter again, or the other way round, between two moments."""
    windows = [reading.window_ms for reading in readings if begin <= reading.at_s < end]
    steps = [after > before for before, after in zip(windows, windows[1:]) if after != before]
    return sum(before != after for before, after in zip(steps, steps[1:]))


def summary(readings: Sequence[Reading]) -> dict[str, float]:
    """What is measured, by name; shares are of the budget."""
    held = over(readings, HELD_S)
    grew = rises(readings)
    if not held or not grew:
        raise ProfilerError("the program was recorded too briefly for its load to change")
    return {
        "rises": float(len(grew)),
        "most_of_budget_in_10s_percent": 100 * max(spent for _, spent in held),
        "settled_s": max(settled(readings, rise) for rise in grew),
        "turns": float(max(turns(readings, rise, rise + TURN_S - 1) for rise in grew)),
    }


def reading(answer: dict[str, object], start: float, operations: int) -> Reading:
    """From what ``headway status --json`` prints."""

    def ns(name: str) -> float:
        value = answer.get(name)
        if not isinstance(value, (int, float)):
            raise ProfilerError(f"headway status does not say {name}")
        return float(value)

    return Reading(
        time.monotonic() - start, ns("process_cpu_ns") / 1e9, (ns("own_cpu_ns") + ns("hook_cpu_ns")) / 1e9,
        operations, ns("sampling_window_ns") / 1e6,
    )  # fmt: skip


def record(headway: Path, java_home: Path, directory: Path, seconds: float) -> list[Reading]:
    """Records the program, and asks twice a second what that costs."""
    if not WORKLOAD.jar.is_file():
        raise ProfilerError(f"{WORKLOAD.jar.name} is not built; ./hw eval builds it")

    def run(*arguments: str) -> str:
        ended = subprocess.run([str(headway), *arguments], capture_output=True, text=True, timeout=60, check=False)
        if ended.returncode != 0:
            raise ProfilerError(f"headway {arguments[0]} ended with {ended.returncode}: {ended.stderr.strip()}")
        return ended.stdout

    readings = []
    with Program(java_home, WORKLOAD, [], directory / "stderr.txt") as program:
        program.await_ready()
        pid = str(program.process.pid)
        run("start", pid, "--budget", f"{100 * BUDGET:g}", "-o", str(directory / "budget.jfr"))
        start = time.monotonic()
        while time.monotonic() < start + seconds:
            answer = json.loads(run("status", "--json", pid))
            readings.append(reading(answer, start, program.mark().operations))
            time.sleep(READ_EVERY_S)
        run("stop", pid)
    return readings


def main() -> int:
    """Measures once."""
    from checks import here

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jdk", type=int, default=25)
    parser.add_argument("--seconds", type=float, default=5 * TURN_S)
    parser.add_argument("--chart", type=Path, help="write a chart there")
    options = parser.parse_args()
    machine = here(Path("."))
    try:
        with machine.directory() as directory:
            readings = record(machine.headway, machine.home(options.jdk), Path(directory), options.seconds)
        if options.chart:
            ten = over(readings, HELD_S)
            one = over(readings, RISE_S)
            options.chart.write_text(spent_chart(
                [(r.at_s, 100 * spent) for r, spent in one], [(r.at_s, 100 * spent) for r, spent in ten],
                [(r.at_s, r.window_ms) for r in readings], rises(readings)), encoding="utf-8")  # fmt: skip
        print(json.dumps(summary(readings)))
    except ProfilerError as error:
        print(f"budget: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
