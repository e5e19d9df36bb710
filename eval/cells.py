"""What is measured: cells, in an order by chance, and what is known of them from
runs before, so that an evaluation that was ended goes on where it was."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping, Optional, Sequence

from checks import Check
from profilers import FRESH_ONLY, TOGGLE_ONLY, Profiler
from recordings import Contents
from workloads import Workload

TOGGLE = "toggle"
FRESH = "fresh"
CHECK = "check"


@dataclass(frozen=True)
class Cell:
    """One JVM to run: a profiler switched on and off in it, or on from its start; or a check, which
    is no program of the evaluation: its name stands for the program."""

    mode: str
    jdk: int
    workload: str
    profiler: str
    round: int

    def key(self) -> str:
        """Its name in the raw data."""
        return f"{self.mode}/{self.jdk}/{self.workload}/{self.profiler}/{self.round}"


@dataclass(frozen=True)
class Phase:
    """What a program did between two marks."""

    on: bool
    start_ns: int
    end_ns: int
    operations: int
    process_cpu_ns: int
    threads_cpu_ns: int
    p50_ns: int = 0
    p99_ns: int = 0
    max_ns: int = 0
    own_cpu_ns: int = 0
    """CPU time of the profiler's own threads; part of that of the process."""


@dataclass(frozen=True)
class Measured:
    """All that was learned from one cell: what every value is made of."""

    cell: Cell
    phases: list[Phase]
    switch_on_ns: list[int] = field(default_factory=list)
    switch_off_ns: list[int] = field(default_factory=list)
    recorded_bytes: int = 0
    resident_bytes: int = 0
    load_average: float = 0.0
    failure: str = ""
    """Why there is nothing, if there is nothing."""
    contents: Optional[Contents] = None
    """What is in the recording of a fresh JVM."""
    recorded_s: float = 0.0
    """How long that JVM recorded."""
    figures: dict[str, float] = field(default_factory=dict)
    """What a check found, by name."""


def plan(
    modes: Sequence[str],
    jdks: Iterable[int],
    workloads: Sequence[Workload],
    profilers: Sequence[Profiler],
    rounds: Mapping[str, int],
    seed: int,
) -> list[Cell]:
    """All cells, round by round (so many of each mode), each round in an order of its own: what the machine does to one
    profiler in the morning it does to another at noon. In fresh JVMs ``none`` is the base, so it runs
    twice: ``base`` is what others are divided by, ``none`` is compared with it like any profiler. Fresh JVMs of a program
    follow each other, in an order by chance, since what is compared should not lie hours apart."""
    chance = random.Random(seed)
    cells: list[Cell] = []
    releases = list(jdks)
    for number in range(max(map(rounds.__getitem__, modes), default=0)):
        of_round: list[list[Cell]] = []
        for mode in (mode for mode in modes if number < rounds[mode]):
            for jdk in releases:
                for workload in workloads:
                    names = [p.name for p in profilers if p.oldest_jdk <= jdk]
                    if mode == TOGGLE:
                        names = [name for name in names if name not in FRESH_ONLY]
                    else:
                        names = [name for name in names if name not in TOGGLE_ONLY] + ["base"]
                    together = [Cell(mode, jdk, workload.name, name, number) for name in names if workload.runs_on(jdk)]
                    chance.shuffle(together)
                    of_round += [together] if mode == FRESH else [[cell] for cell in together]
        chance.shuffle(of_round)
        cells += [cell for together in of_round for cell in together]
    return cells


def plan_checks(checks: Iterable[Check], jdks: Sequence[int], rounds: int, seed: int) -> list[Cell]:
    """Checks, each round in an order of its own; those without a JVM in them once a round."""
    chance = random.Random(seed)
    found = list(checks)
    cells: list[Cell] = []
    for number in range(rounds):
        of_round = [Cell(CHECK, jdk, check.program, check.profiler, number) for jdk in jdks for check in found
                    if check.per_jdk or jdk == max(jdks)]  # fmt: skip
        chance.shuffle(of_round)
        cells += of_round
    return cells


class RawData:
    """A file of JSON lines, one per cell, only ever appended to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Iterator[Measured]:
        """Everything so far. The last line may be cut off by the end of an earlier run: it does not count."""
        if not self.path.exists():
            return
        with self.path.open(encoding="utf-8") as lines:
            for line in lines:
                if line.endswith("\n"):
                    yield measured_from(json.loads(line))

    def done(self) -> set[str]:
        """Keys of the cells that need not be measured again."""
        return {measured.cell.key() for measured in self.read() if not measured.failure}

    def append(self, measured: Measured) -> None:
        """Adds a cell. A line that was cut off is closed first."""
        text = json.dumps(asdict(measured), separators=(",", ":")) + "\n"
        with self.path.open("a+b") as file:
            end = file.seek(0, 2)
            if end > 0:
                file.seek(end - 1)
                if file.read(1) != b"\n":
                    self.drop_cut_line(file, end)
            file.write(text.encode())

    def drop_cut_line(self, file: Any, end: int) -> None:
        """Takes away what follows the last line's end."""
        file.seek(0)
        whole = file.read(end)
        file.truncate(whole.rfind(b"\n") + 1)


def measured_from(record: dict[str, Any]) -> Measured:
    """From its JSON."""
    values = dict(record)
    values["cell"] = Cell(**values["cell"])
    # Files of before have another name for them.
    phases = values.pop("stretches", None) or values["phases"]
    values["phases"] = [Phase(**phase) for phase in phases]
    if values.get("contents") is not None:
        values["contents"] = Contents(**values["contents"])
    return Measured(**values)
