"""The evaluation: programs x profilers x JDKs, in fresh JVMs and by switching inside one.

./hw eval builds what this needs and runs it. What was measured is kept in raw.jsonl in the
output directory; run again with the same directory, it goes on where it was ended.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Sequence, TypeVar

import machine
import profilers as known_profilers
import workloads as known_workloads
from cells import FRESH, TOGGLE, Cell, RawData, plan
from measure import Bench, Pace
from profilers import Place, ProfilerError
from progress import Progress
from report import Report

ROOT = Path(__file__).resolve().parents[1]
JAR = ROOT / "java/eval-workloads/target/headway-eval-workloads.jar"
RELEASES = (17, 21, 25)
QUICK = Pace(warm_up_s=4.0, pairs=12, phase_s=0.2, fresh_s=4.0)
FULL = Pace(warm_up_s=8.0, pairs=30, phase_s=0.2, fresh_s=10.0)

Named = TypeVar("Named")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(prog="./hw eval", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="a few programs and profilers, within 20 minutes (the default)")
    size.add_argument("--full", action="store_true", help="everything, in several rounds: a night")
    parser.add_argument("--workloads", type=words, help=f"of {', '.join(known_workloads.WORKLOADS)}")
    parser.add_argument("--profilers", type=words, help=f"of {', '.join(known_profilers.all_profilers())}")
    parser.add_argument("--jdks", type=words, help="of 17, 21, 25 (default: all that are here; --quick: the newest)")
    parser.add_argument("--modes", type=words, default=None, help=f"of {TOGGLE}, {FRESH} (default: both; --quick: {TOGGLE})")
    parser.add_argument("--rounds", type=int, help="JVMs of each kind (default: 1; --full: 5)")
    parser.add_argument("--pairs", type=int, help="phases that are on, in toggling")
    parser.add_argument("--phase", type=float, help="seconds per phase, in toggling")
    parser.add_argument("--seed", type=int, default=1, help="of the order")
    parser.add_argument("--out", type=Path, default=ROOT / "build/eval", help="default: build/eval")
    parser.add_argument("--report-only", action="store_true", help="measure nothing, make the report anew")
    return parser.parse_args(arguments)


def words(text: str) -> list[str]:
    """Names between commas."""
    return [word for word in text.split(",") if word]


def chosen(names: list[str], known: dict[str, Named], what: str) -> list[Named]:
    """Those of these names."""
    for name in names:
        if name not in known:
            raise ProfilerError(f"there is no {what} {name}; there are {', '.join(known)}")
    return [known[name] for name in names]


def java_homes() -> dict[int, Path]:
    """JDKs that ./hw found."""
    homes = {release: os.environ.get(f"HEADWAY_JDK{release}") for release in RELEASES}
    return {release: Path(home) for release, home in homes.items() if home}


def headers(homes: dict[int, Path]) -> Path:
    """A directory with jni.h, for our small agents."""
    for home in homes.values():
        if (home / "include/jvmti.h").is_file():
            return home / "include"
    raise ProfilerError("none of the JDKs has include/jvmti.h; a JDK (not only a runtime) is needed")


def cells_of(options: argparse.Namespace, homes: dict[int, Path]) -> list[Cell]:
    """The plan."""
    workloads = options.workloads or list(known_workloads.WORKLOADS if options.full else known_workloads.QUICK)
    profilers = options.profilers or list(known_profilers.all_profilers() if options.full else known_profilers.QUICK)
    newest = [str(max(homes))] if homes else []
    jdks = [int(jdk) for jdk in options.jdks or (map(str, homes) if options.full else newest)]
    for jdk in jdks:
        if jdk not in homes:
            raise ProfilerError(f"there is no JDK {jdk} here; HEADWAY_JDK{jdk} says where one is")
    return plan(
        options.modes or ([TOGGLE, FRESH] if options.full else [TOGGLE]), jdks,
        chosen(workloads, known_workloads.WORKLOADS, "program"), chosen(profilers, known_profilers.all_profilers(), "profiler"),
        options.rounds or (5 if options.full else 1), options.seed,
    )  # fmt: skip


def pace_of(options: argparse.Namespace) -> Pace:
    """How long things take."""
    pace = FULL if options.full else QUICK
    return Pace(pace.warm_up_s, options.pairs or pace.pairs, options.phase or pace.phase_s, pace.fresh_s)


def place_of(options: argparse.Namespace, homes: dict[int, Path]) -> Place:
    """Where things are."""
    scratch = options.out.resolve() / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    jars = sorted((JAR.parent / "lib").glob("async-profiler-*.jar"))
    agent = Path(os.environ.get("HEADWAY_AGENT", ROOT / "target/release/libheadway.so"))
    return Place(agent, jars[-1] if jars else None, scratch, headers(homes))


def run(options: argparse.Namespace, homes: dict[int, Path], raw: RawData) -> None:
    """Measures what is missing."""
    pace = pace_of(options)
    bench = Bench(homes, JAR, place_of(options, homes), pace)
    done = raw.done()
    left = [cell for cell in cells_of(options, homes) if cell.key() not in done]
    progress = Progress(sum(map(pace.seconds, left)), len(left), sys.stderr)
    for cell in left:
        progress.begin(cell.key())
        began = time.monotonic()
        measured = bench.run(cell, known_profilers.all_profilers().get(cell.profiler, known_profilers.Profiler("base", "")))
        raw.append(measured)
        progress.end(pace.seconds(cell), time.monotonic() - began, measured.failure)


def main() -> int:
    """Measures, and writes the report."""
    options = parse(sys.argv[1:])
    homes = java_homes()
    options.out.mkdir(parents=True, exist_ok=True)
    raw = RawData(options.out / "raw.jsonl")
    facts_file = options.out / "machine.json"
    if not options.report_only:
        facts_file.write_text(json.dumps(machine.describe(homes), indent=1) + "\n", encoding="utf-8")
        try:
            run(options, homes, raw)
        except KeyboardInterrupt:
            print("\nended; the same command goes on from here", file=sys.stderr)
    facts = json.loads(facts_file.read_text(encoding="utf-8")) if facts_file.exists() else {}
    report = Report(list(raw.read()), facts)
    report.write(options.out)
    for line in report.failures():
        print(line, file=sys.stderr)
    print(f"report: {options.out / 'index.html'}")
    return 1 if report.failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ProfilerError as error:
        print(f"hw eval: {error}", file=sys.stderr)
        sys.exit(2)
