"""The evaluation: programs x profilers x JDKs, in fresh JVMs and by switching inside one.

./hw eval builds what this needs and runs it. What was measured is kept in raw.jsonl in the
output directory; run again with the same directory, it goes on where it was ended, however
that was.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import sys
from pathlib import Path
from typing import NoReturn, Optional, Sequence, TypeVar

import agreement
import checks as known_checks
import completeness
import known
import machine
import profilers as known_profilers
import results
import workloads as known_workloads
from cells import CHECK, FRESH, TOGGLE, Cell, RawData, plan, plan_checks
from checks import Check
from completeness import why_not
from measure import Bench, Pace
from profilers import Place, Profiler, ProfilerError
from progress import Progress
from report import Report
from running import run_all

ROOT = Path(__file__).resolve().parents[1]
# Always built: peers' packages are beside it, too.
MODULE = "eval-workloads"
# Programs that know their own answers.
CHECKED = "workloads"
RELEASES = (17, 21, 25)
QUICK = Pace(warm_up_s=4.0, pairs=6, phase_s=0.7, fresh_s=8.0)
FULL = Pace(warm_up_s=6.0, pairs=10, phase_s=1.0, fresh_s=10.0)
# Another measurement altogether.
COMPLETENESS = "--completeness"
# JVMs of each kind. Within a toggled one phases repeat; a fresh one is one figure.
QUICK_ROUNDS = {TOGGLE: 1, FRESH: 1, CHECK: 1}
FULL_ROUNDS = {TOGGLE: 1, FRESH: 3, CHECK: 3}
# Of the 20 minutes that --quick may take, what measuring may; the rest is for the report.
QUICK_MINUTES = 18.0
# Of fewer no interval can be told.
FEWEST_PAIRS = 6
MOST_PAIRS = 40

Named = TypeVar("Named")


class Parser(argparse.ArgumentParser):
    """Says what was wrong in one sentence."""

    def error(self, message: str) -> NoReturn:
        raise ProfilerError(f"{message} (./hw eval --help)")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Reads the command line."""
    parser = Parser(prog="./hw eval", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="a few programs and profilers, within 20 minutes (the default)")
    size.add_argument("--full", action="store_true", help="everything: a day for each JDK; goes on when run again")
    parser.add_argument("--workloads", type=words, help=f"of {', '.join(known_workloads.WORKLOADS)}")
    parser.add_argument("--profilers", type=words, help=f"of {', '.join(known_profilers.all_profilers())}")
    parser.add_argument("--jdks", type=words, help="of 17, 21, 25 (default: all that are here; --quick: the newest)")
    parser.add_argument("--modes", type=words, default=None, help=f"{TOGGLE}: switched on and off in one JVM; {FRESH}: JVMs that record from their start; {CHECK}: "
                        f"what has no phases, such as recorded against self-measured waits (default: all; --quick: {TOGGLE})")
    parser.add_argument("--checks", type=words, help=f"in the mode {CHECK}, which is the default with it: of {', '.join(all_checks())}")
    parser.add_argument("--rounds", type=count, help="JVMs of each kind, and times that checks are made (default: 1; --full: 1 toggled, 3 of the others)")
    parser.add_argument("--pairs", type=count, help="phases that are on, in toggling (default: as the time allows)")
    parser.add_argument("--phase", type=seconds, help="seconds per phase, in toggling (default: 0.7; --full: 1)")
    parser.add_argument("--minutes", type=seconds, help="stop measuring after this time (--quick: 18; --full: never)")
    parser.add_argument("--suite", action="append", default=[], metavar="'JAR ARGUMENT...'",
                        help="a benchmark of a suite of yours as one more program: DaCapo's or Renaissance's jar, the "
                        "benchmark's name and its options; give it more iterations than will be needed")  # fmt: skip
    parser.add_argument("--seed", type=int, default=1, help="of the order")
    parser.add_argument("--out", type=Path, default=ROOT / "build/eval", help="default: build/eval")
    parser.add_argument("--report-only", action="store_true", help="measure nothing, make the report anew")
    parser.add_argument("--results", type=Path, metavar="FILE", help="renew the measured part of this file (eval/RESULTS.md)")
    parser.add_argument(COMPLETENESS, action="store_true",
                        help="instead of all this, how many of the copied stacks are decoded to their end; has a --help of its own")
    parser.add_argument("--plan", action="store_true", help="measure nothing, say what would be and how long it would take")
    parser.add_argument("--modules", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def words(text: str) -> list[str]:
    """Names between commas."""
    found = [word for word in text.split(",") if word]
    if not found:
        raise argparse.ArgumentTypeError("needs names, with commas between them")
    return found


def count(text: str) -> int:
    """A number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


def seconds(text: str) -> float:
    """A time above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no time above 0")
    return value


def chosen(names: Sequence[str], known: dict[str, Named], what: str) -> list[Named]:
    """Those of these names."""
    for name in names:
        if name not in known:
            raise ProfilerError(f"there is no {what} {name!r}; there are {', '.join(known)}")
    return [known[name] for name in names]


def all_checks() -> dict[str, Check]:
    """What is measured without phases."""
    return {**known.all_known(), **known_checks.CHECKS}


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


class Evaluation:
    """What is to be measured, and how."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.homes = java_homes()
        suites = {suite.name: suite for suite in map(known_workloads.suite, options.suite)}
        self.workloads = {**known_workloads.WORKLOADS, **suites}
        self.profilers = known_profilers.all_profilers()
        self.left_out: list[str] = []
        """What was asked for and cannot be run, and why."""
        self.cells = self.planned(list(suites))
        self.minutes: Optional[float] = options.minutes or (None if options.full else QUICK_MINUTES)

    def planned(self, suites: list[str]) -> list[Cell]:
        """All cells."""
        options = self.options
        everything = list(self.workloads) if options.full else suites or list(known_workloads.QUICK)
        names = options.workloads + suites if options.workloads else everything
        profilers = options.profilers or list(self.profilers if options.full else known_profilers.QUICK)
        newest = [str(max(self.homes))] if self.homes else []
        modes = options.modes or ([CHECK] if options.checks else [TOGGLE, FRESH, CHECK] if options.full else [TOGGLE])
        chosen(modes, {TOGGLE: 0, FRESH: 0, CHECK: 0}, "mode")
        jdks = chosen(options.jdks or (list(map(str, self.homes)) if options.full else newest),
                      {str(release): release for release in self.homes}, "JDK")  # fmt: skip
        rounds = {mode: options.rounds for mode in modes} if options.rounds else FULL_ROUNDS if options.full else QUICK_ROUNDS
        programs = chosen(names, self.workloads, "program")
        reasons = {(w.name, jdk): why_not(w, jdk, self.homes) for w in programs for jdk in jdks}
        self.left_out = [f"{name} on {jdk} ({why})" for (name, jdk), why in reasons.items() if why]
        with_phases = [mode for mode in modes if mode != CHECK]
        cells = plan(with_phases, jdks, programs, chosen(profilers, self.profilers, "profiler"), rounds, options.seed)
        cells = [cell for cell in cells if not reasons[cell.workload, cell.jdk]]
        if CHECK in modes:
            checks = all_checks()
            cells += plan_checks(chosen(options.checks or list(checks), checks, "check"), jdks, rounds[CHECK], options.seed)
        return cells

    def modules(self) -> list[str]:
        """What must be built of ``java/``."""
        return sorted({MODULE} | {CHECKED if cell.mode == CHECK else self.workloads[cell.workload].module for cell in self.cells})

    def pace(self, left: list[Cell]) -> Pace:
        """How long things take: as many pairs as the time allows, unless their number is given."""
        pace = FULL if self.options.full else QUICK
        pace = Pace(pace.warm_up_s, self.options.pairs or pace.pairs, self.options.phase or pace.phase_s, pace.fresh_s,
                    {(check.program, check.profiler): check for check in all_checks().values()})  # fmt: skip
        if self.options.pairs is None and self.minutes is not None:
            return pace.fitted(left, self.minutes * 60, FEWEST_PAIRS, MOST_PAIRS)
        return pace

    def told(self, left: list[Cell]) -> str:
        """What will be done, in a sentence."""
        pace = self.pace(left)
        expected = sum(map(pace.seconds, left)) / 60
        pairs = f", {pace.pairs} pairs of phases of {pace.phase_s:g} s" if any(c.mode == TOGGLE for c in left) else ""
        text = f"{len(left)} of {len(self.cells)} to measure{pairs}; about {math.ceil(expected)} min"
        if not self.cells:
            text += ": these profilers, programs, modes and JDKs do not go together"
        if self.minutes is not None and expected > self.minutes:
            text += f", of which {self.minutes:g} are given: the rest is left for the next time"
        if self.left_out:
            text += f"\nleft out: {', '.join(self.left_out)}"
        return text

    def run(self, raw: RawData) -> list[Cell]:
        """Measures what is missing; gives what there was no time for."""
        done = raw.done()
        left = [cell for cell in self.cells if cell.key() not in done]
        print(self.told(left), file=sys.stderr)
        pace = self.pace(left)
        bench = Bench(self.homes, self.place(), pace, self.workloads)
        progress = Progress(sum(map(pace.seconds, left)), len(left), sys.stderr)
        base = Profiler("base", "")
        budget = None if self.minutes is None else self.minutes * 60
        return run_all(left, raw, lambda cell: bench.run(cell, self.profilers.get(cell.profiler, base)),
                       pace.seconds, progress, budget)  # fmt: skip

    def place(self) -> Place:
        """Where things are."""
        scratch = self.options.out.resolve() / "scratch"
        scratch.mkdir(parents=True, exist_ok=True)
        jars = sorted((ROOT / "java" / MODULE / "target/lib").glob("async-profiler-*.jar"))
        return Place(agent(), jars[-1] if jars else None, scratch, headers(self.homes), command())


def agent() -> Path:
    """Headway's library."""
    return Path(os.environ.get("HEADWAY_AGENT", ROOT / "target/release/libheadway.so"))


def command() -> Path:
    """Headway's command."""
    return Path(os.environ.get("HEADWAY_BIN", ROOT / "target/release/headway"))


def make_writable(directory: Path) -> None:
    """The output directory must take files."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        probe = directory / ".probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ProfilerError(f"cannot write into {directory}: {error.strerror}") from error


def facts_of(evaluation: Evaluation, file: Path, raw: RawData) -> dict[str, str]:
    """The machine and the build that is measured. Figures of different builds do not mix."""
    library = agent()
    if not library.is_file():
        raise ProfilerError(f"there is no agent at {library}; ./hw eval builds it")
    facts = {**machine.describe(evaluation.homes), "Headway": hashlib.sha256(library.read_bytes()).hexdigest()[:12]}
    if file.exists() and any(True for _ in raw.read()):
        before = json.loads(file.read_text(encoding="utf-8")).get("Headway")
        if before not in (None, facts["Headway"]):
            raise ProfilerError(
                f"{file.parent} has figures of another build of Headway ({before}, this is {facts['Headway']}): "
                "give another --out, or remove it"
            )
    file.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return facts


def write_report(options: argparse.Namespace, raw: RawData, facts: dict[str, str]) -> Report:
    """Everything that is made of the raw data."""
    measured = list(raw.read())
    agreements = agreement.all_agreements(measured, options.out, command(), FULL.warm_up_s if options.full else QUICK.warm_up_s)
    report = Report(measured, facts, agreements)
    report.write(options.out, results.first_parts(report))
    if options.results is not None:
        results.renew(options.results, report)
    return report


def main() -> int:
    """Measures, and writes the report."""
    arguments = [argument for argument in sys.argv[1:] if argument != COMPLETENESS]
    if len(arguments) < len(sys.argv) - 1:
        return completeness.main(arguments)
    options = parse(sys.argv[1:])
    evaluation = Evaluation(options)
    if options.modules:
        print("\n".join(evaluation.modules()))
        return 0
    if options.plan:
        print(evaluation.told(evaluation.cells))
        return 0
    make_writable(options.out)
    raw = RawData(options.out / "raw.jsonl")
    facts_file = options.out / "machine.json"
    left: list[Cell] = []
    if options.report_only:
        if not facts_file.exists():
            raise ProfilerError(f"{options.out} has no measurements yet")
        facts = json.loads(facts_file.read_text(encoding="utf-8"))
    else:
        facts = facts_of(evaluation, facts_file, raw)
        try:
            left = evaluation.run(raw)
        except KeyboardInterrupt:
            print("\nended; the same command goes on from here", file=sys.stderr)
    report = write_report(options, raw, facts)
    for line in report.failures():
        print(line, file=sys.stderr)
    if left:
        print(f"{len(left)} were left out for lack of time; the same command goes on with them", file=sys.stderr)
    print(f"report: {options.out / 'index.html'}")
    return 1 if report.failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ProfilerError as error:
        print(f"hw eval: {error}", file=sys.stderr)
        sys.exit(2)
