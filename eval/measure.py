"""Runs one cell: a JVM with a program, and a profiler in it."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Mapping

import agreement
from cells import CHECK, TOGGLE, Cell, Measured, Phase
from checks import Check, Machine
from profilers import Place, Profiler, ProfilerError
from program import Mark, Program
from recordings import inspect
from workloads import ROOT, WORKLOADS, Workload

# After switching, the first moments belong to neither state: pages and caches are
# cold, and the switching itself used the processor.
SETTLE_S = 0.1
# Programs that know their own answers.
WORKLOADS_JAR = ROOT / "java/workloads/target/headway-workloads.jar"
# What a JVM takes to start, and what a switch or a mark takes, roughly.
START_S = 1.8
SWITCH_S = 0.1
# Looking into a recording and packing it.
INSPECT_S = 2.5


@dataclass(frozen=True)
class Pace:
    """How long things take."""

    warm_up_s: float
    pairs: int
    """Phases that are on, in toggling."""
    phase_s: float
    fresh_s: float
    """The measured phase of a fresh JVM."""
    checks: Mapping[tuple[str, str], Check] = field(default_factory=dict)
    """By program and profiler."""

    def seconds(self, cell: Cell) -> float:
        """What a cell will take, roughly: it is corrected by what cells did take."""
        if cell.mode == CHECK:
            return self.checks[(cell.workload, cell.profiler)].seconds
        if cell.mode == TOGGLE:
            return START_S + self.warm_up(cell.workload) + (2 * self.pairs + 3) * (self.phase_s + SETTLE_S) + 2 * self.pairs * SWITCH_S
        return START_S + self.warm_up(cell.workload) + self.fresh_s + (INSPECT_S if cell.profiler not in ("none", "base") else 0)

    def warm_up(self, workload: str) -> float:
        """Seconds until what a program does counts."""
        return self.warm_up_s + (WORKLOADS[workload].warms_up_s if workload in WORKLOADS else 0.0)

    def fitted(self, cells: list[Cell], budget_s: float, fewest: int, most: int) -> "Pace":
        """The same with as many pairs as the time allows; the fewest may be too many for it."""
        for pairs in range(most, fewest, -1):
            pace = replace(self, pairs=pairs)
            if sum(map(pace.seconds, cells)) <= budget_s:
                return pace
        return replace(self, pairs=fewest)


def phase_between(on: bool, begin: Mark, end: Mark) -> Phase:
    """What was done between two marks."""
    return Phase(
        on=on, start_ns=begin.at_ns, end_ns=end.at_ns, operations=end.operations - begin.operations,
        process_cpu_ns=end.process_cpu_ns - begin.process_cpu_ns,
        threads_cpu_ns=end.threads_cpu_ns - begin.threads_cpu_ns,
        p50_ns=end.p50_ns, p99_ns=end.p99_ns, max_ns=end.max_ns, own_cpu_ns=end.own_cpu_ns - begin.own_cpu_ns,
    )  # fmt: skip


class Bench:
    """Everything that cells have in common."""

    def __init__(
        self, java_homes: dict[int, Path], place: Place, pace: Pace, workloads: Mapping[str, Workload]
    ) -> None:
        self.java_homes = java_homes
        self.place = place
        self.pace = pace
        self.workloads = workloads

    def run(self, cell: Cell, profiler: Profiler) -> Measured:
        """Measures a cell; what goes wrong is in the result."""
        for old in self.place.scratch.glob("recording*"):
            old.unlink()
        try:
            if cell.mode == CHECK:
                return self.check(cell)
            profiler.prepare(self.place)
            return self.toggle(cell, profiler) if cell.mode == TOGGLE else self.fresh(cell, profiler)
        except (ProfilerError, OSError) as error:
            return Measured(cell, [], failure=str(error))

    def check(self, cell: Cell) -> Measured:
        """Something that has no phases: its figures."""
        machine = Machine(ROOT, self.place.headway, self.place.agent, self.java_homes, self.place.scratch, WORKLOADS_JAR)
        figures = self.pace.checks[(cell.workload, cell.profiler)].run(machine, cell.jdk)
        return Measured(cell, [], load_average=os.getloadavg()[0], figures=figures)

    def program(self, cell: Cell, options: list[str]) -> Program:
        """Starts the cell's JVM."""
        home = self.java_homes[cell.jdk]
        return Program(home, self.workloads[cell.workload], options, self.place.scratch / "errors.txt")

    def toggle(self, cell: Cell, profiler: Profiler) -> Measured:
        """Switches the profiler on and off in one JVM; each phase is measured."""
        phases: list[Phase] = []
        on_ns: list[int] = []
        off_ns: list[int] = []
        recorded = 0
        with self.program(cell, []) as program:
            program.await_ready()
            time.sleep(self.pace.warm_up(cell.workload))
            for command in profiler.once():
                program.command(command)
            for number in range(self.pace.pairs + 1):
                file = self.recording(profiler, number)
                if number > 0:  # once for nothing: the first time loads classes and libraries
                    phases.append(self.phase(program, profiler, False))
                on_ns.append(program.command(profiler.on(file)))
                phases.append(self.phase(program, profiler, True))
                off_ns.append(program.command(profiler.off(file)))
                recorded += file.stat().st_size if number > 0 and file.exists() else 0
                file.unlink(missing_ok=True)
            del phases[0]
            phases.append(self.phase(program, profiler, False))
            resident = program.resident_bytes()
        return Measured(cell, phases, on_ns, off_ns, recorded, resident, os.getloadavg()[0])

    def phase(self, program: Program, profiler: Profiler, on: bool) -> Phase:
        """Lets time pass, and measures the part of it that counts."""
        time.sleep(SETTLE_S)
        begin = program.mark(profiler.threads())
        time.sleep(self.pace.phase_s)
        return phase_between(on, begin, program.mark(profiler.threads()))

    def fresh(self, cell: Cell, profiler: Profiler) -> Measured:
        """A JVM that records from its first moment; one phase after warming up."""
        file = self.recording(profiler, 0)
        with self.program(cell, profiler.at_start(file)) as program:
            started = time.monotonic()
            program.await_ready()
            time.sleep(self.pace.warm_up(cell.workload))
            begin = program.mark(profiler.threads())
            time.sleep(self.pace.fresh_s)
            measured = phase_between(profiler.name not in ("none", "base"), begin, program.mark(profiler.threads()))
            resident = program.resident_bytes()
            if profiler.records():
                program.command(profiler.off(file))
            recorded_s = time.monotonic() - started
        load = os.getloadavg()[0]
        if not profiler.records():
            return Measured(cell, [measured], [], [], 0, resident, load)
        contents = inspect(file, self.place.headway, self.java_homes[cell.jdk])
        if agreement.keeps(cell):
            kept = agreement.kept_file(self.place.scratch.parent, cell, profiler.suffix())
            kept.parent.mkdir(exist_ok=True)
            shutil.move(file, kept)
        return Measured(cell, [measured], [], [], contents.bytes, resident, load, "", contents, recorded_s)

    def recording(self, profiler: Profiler, number: int) -> Path:
        """Where a recording goes."""
        return self.place.scratch / f"recording{number}{profiler.suffix()}"
