"""Do two profilers see the same program? Calling context trees of samples side by side: between
Headway and async-profiler, and between two runs of each, which is what any agreement is to be
measured against. ``headway diff`` reads all recordings and computes both figures (degree of overlap
and hot-edge coverage, T = 0.1); only the program's own threads count, after warming up."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Sequence

from cells import FRESH, Cell, Measured
from recordings import run

# Of the programs' own threads, as `Worker` and the servers call them.
THREADS = "^(worker|qtp|pekko|default-dispatcher|eval)"
RATES = ("cpu-10ms", "cpu-1ms", "cpu-100us")


@dataclass(frozen=True)
class Agreement:
    """How alike two recordings of the same program are; fractions."""

    jdk: int
    workload: str
    rate: str
    first: str
    second: str
    overlap: float
    coverage: float


def kept_file(directory: Path, cell: Cell, suffix: str) -> Path:
    """Where the samples of a fresh JVM are kept."""
    return directory / "recordings" / (cell.key().replace("/", "-") + suffix)


def keeps(cell: Cell) -> bool:
    """True for cells whose recordings are compared."""
    return cell.mode == FRESH and cell.profiler.endswith(RATES) and cell.profiler.startswith(("headway-", "async-"))


def pairs(measured: Sequence[Measured]) -> list[tuple[str, Cell, Cell]]:
    """What is compared with what: Headway with async-profiler in the same round, and each with itself
    in the next."""
    cells = {m.cell.key(): m.cell for m in measured if keeps(m.cell) and not m.failure}
    found: list[tuple[str, Cell, Cell]] = []
    for cell in cells.values():
        name, rate = cell.profiler.split("-", 1)
        others = [Cell(cell.mode, cell.jdk, cell.workload, cell.profiler, cell.round + 1)]
        if name == "headway":
            others.append(Cell(cell.mode, cell.jdk, cell.workload, f"async-{rate}", cell.round))
        found += [(rate, cell, other) for other in others if other.key() in cells]
    return found


def compare(headway: Path, first: Path, second: Path, warm_up_s: float) -> Optional[tuple[float, float]]:
    """Overlap and coverage; None if one of the two has nothing to compare."""
    done = run([
        str(headway), "diff", "--json", "--top", "1", "--of", "cpu", "--samples", "--from", f"{int(warm_up_s * 1000)}ms",
        "--threads", THREADS, str(first), str(second),
    ])  # fmt: skip
    if done is None or done.returncode not in (0, 4):
        return None
    try:
        agreement = json.loads(done.stdout)["agreement"]
        both_ways = (agreement["hot_edge_coverage"] + agreement["hot_edge_coverage_back"]) / 2
        return float(agreement["overlap"]), both_ways
    except (ValueError, KeyError, TypeError):
        return None


def all_agreements(measured: Sequence[Measured], directory: Path, headway: Path, warm_up_s: float) -> list[Agreement]:
    """Compares all pairs whose recordings are there. What was compared before is not compared again."""
    file = directory / "agreement.json"
    known: dict[str, list[float]] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    found: list[Agreement] = []
    for rate, first, second in pairs(measured):
        key = f"{first.key()} {second.key()}"
        if key not in known:
            places = [kept_file(directory, cell, ".jfr") for cell in (first, second)]
            figures = compare(headway, *places, warm_up_s) if all(place.is_file() for place in places) else None
            if figures is None:
                continue
            known[key] = list(figures)
        names = (first.profiler.split("-")[0], second.profiler.split("-")[0])
        found.append(Agreement(first.jdk, first.workload, rate, *names, *known[key]))
    if known:
        file.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    return found
