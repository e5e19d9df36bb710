"""How many of the copied stacks are decoded to their end: programs x JDKs x collectors, one JVM each.

./hw eval --completeness builds what this needs and runs it. Each program works for some seconds,
is sampled for some more, and what the recording says it could not make out is counted by cause.
The table goes to standard output and to completeness.md in the output directory.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator, NoReturn, Sequence

from profilers import ProfilerError, agent_load
from program import Program
from workloads import WORKLOADS, Workload

ROOT = Path(__file__).resolve().parents[1]
RELEASES = (17, 21, 25)
COLLECTORS = {"G1": "-XX:+UseG1GC", "Parallel": "-XX:+UseParallelGC", "Z": "-XX:+UseZGC"}
PROGRAMS = ("kernels", "h2", "xalan", "javac", "pmd", "virtual-server", "native-calls")
# Of a stack that ends too soon, why; what the recording calls it.
CAUSES = {
    "sample_short": "deeper than the copy",
    "sample_code_gone": "code replaced meanwhile",
    "sample_native": "native code without tables",
    "sample_undecodable": "frame not made out",
    "sample_in_heap": "frames in the heap",
    "chain_truncated": "more frames than fit",
}
# Not a stack that ends too soon, but no stack, or nobody's.
BESIDE = {"sample_lost": "lost", "sample_unattributed": "no virtual thread"}
TARGET_PERCENT = 99.5


@dataclass(frozen=True)
class Case:
    """One JVM."""

    workload: Workload
    jdk: int
    collector: str


@dataclass(frozen=True)
class Counted:
    """What one recording says of itself."""

    samples: int
    losses: dict[str, int] = field(default_factory=dict)

    @property
    def incomplete(self) -> int:
        """Stacks that end too soon."""
        return sum(self.losses.get(cause, 0) for cause in CAUSES)

    @property
    def percent(self) -> float:
        """Of the samples, those with a complete stack."""
        return 100.0 * (1 - self.incomplete / self.samples) if self.samples else float("nan")

    def causes(self) -> str:
        """Why stacks are not complete, most frequent first."""
        found = [(self.losses.get(name, 0), told) for name, told in (CAUSES | BESIDE).items()]
        return ", ".join(f"{told} {number}" for number, told in sorted(found, reverse=True) if number)


def counted(reply: str) -> Counted:
    """From the agent's reply to ``stop``."""
    told = json.loads(reply)
    if not told.get("ok"):
        raise ProfilerError(f"the agent could not end the recording: {told.get('error')}")
    return Counted(int(told.get("events", {}).get("cpu_sample", 0)), {name: int(n) for name, n in told.get("losses", {}).items()})


def measure(case: Case, home: Path, library: Path, options: argparse.Namespace) -> Counted:
    """Runs one program and samples it."""
    scratch = options.out.resolve() / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    file, reply = scratch / "completeness.jfr", scratch / "completeness.json"
    jvm_options = [COLLECTORS[case.collector]]
    if case.jdk == 21 and case.collector == "Z":
        jvm_options.append("-XX:+ZGenerational")
    with Program(home, case.workload, jvm_options, scratch / "stderr.txt") as program:
        program.await_ready()
        time.sleep(options.warm_up)
        interval = round(options.interval_ms * 1e6)
        program.command(agent_load(library, f"start,events=cpu,interval={interval},file={file}"))
        time.sleep(options.seconds)
        program.command(agent_load(library, f"stop,reply={reply}"))
        found = counted(reply.read_text(encoding="utf-8"))
    file.unlink(missing_ok=True)
    reply.unlink(missing_ok=True)
    return found


def row(case: Case, found: Counted) -> str:
    """A line of the table."""
    mark = "" if found.percent >= TARGET_PERCENT else " **below**"
    return f"| {case.workload.name} | {case.jdk} | {case.collector} | {found.samples} | {found.percent:.2f}{mark} | {found.causes()} |"


HEAD = "| program | JDK | collector | samples | complete % | not complete, and not counted |\n|---|---|---|---|---|---|"


class Parser(argparse.ArgumentParser):
    """Says what was wrong in one sentence."""

    def error(self, message: str) -> NoReturn:
        raise ProfilerError(f"{message} (./hw eval --completeness --help)")


def words(text: str) -> list[str]:
    """Names between commas."""
    return [word for word in text.split(",") if word]


def above_zero(text: str) -> float:
    """A number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return value


def parse(arguments: Sequence[str], homes: dict[int, Path]) -> argparse.Namespace:
    """Reads the command line."""
    parser = Parser(prog="./hw eval --completeness", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", type=words, default=list(PROGRAMS), help=f"default: {','.join(PROGRAMS)}")
    parser.add_argument("--jdks", type=words, default=[str(release) for release in homes], help="default: all that are here")
    parser.add_argument("--collectors", type=words, default=list(COLLECTORS), help=f"of {', '.join(COLLECTORS)} (default: all)")
    parser.add_argument("--interval-ms", type=above_zero, default=1.0, help="CPU time between samples (default: 1)")
    parser.add_argument("--warm-up", type=above_zero, default=3.0, help="seconds before sampling (default: 3)")
    parser.add_argument("--seconds", type=above_zero, default=10.0, help="seconds of sampling (default: 10)")
    parser.add_argument("--out", type=Path, default=ROOT / "build/eval", help="default: build/eval")
    parser.add_argument("--plan", action="store_true", help="measure nothing, say how many JVMs there would be")
    parser.add_argument("--modules", action="store_true", help="measure nothing, name the modules of java/ that this needs")
    options = parser.parse_args(arguments)
    check(options.workloads, list(WORKLOADS), "program")
    check(options.jdks, [str(release) for release in homes], "JDK")
    check(options.collectors, list(COLLECTORS), "collector")
    return options


def check(names: Sequence[str], known: Sequence[str], what: str) -> None:
    """All names must be known."""
    for name in names:
        if name not in known:
            raise ProfilerError(f"there is no {what} {name!r}; there are {', '.join(known)}")


def cases(options: argparse.Namespace, homes: dict[int, Path]) -> Iterator[Case]:
    """Everything that can be run here."""
    for name in options.workloads:
        workload = WORKLOADS[name]
        for release in map(int, options.jdks):
            if not why_not(workload, release, homes):
                yield from (Case(workload, release, collector) for collector in options.collectors)


def why_not(workload: Workload, release: int, homes: dict[int, Path]) -> str:
    """Why a program cannot be run on a JDK; empty if it can."""
    return workload.why_not(release, (homes[release] / "bin" / "javac").is_file())


def main(arguments: Sequence[str]) -> int:
    """Prints the table; 1 if a JVM failed."""
    found = {release: os.environ.get(f"HEADWAY_JDK{release}") for release in RELEASES}
    homes = {release: Path(home) for release, home in found.items() if home}
    options = parse(arguments, homes)
    wanted = list(cases(options, homes))
    if options.modules:
        print("\n".join(sorted({case.workload.module for case in wanted})))
        return 0
    for name, release in ((name, int(release)) for name in options.workloads for release in options.jdks):
        if why := why_not(WORKLOADS[name], release, homes):
            print(f"left out: {name} on {release} ({why})", file=sys.stderr)
    if options.plan:
        print(f"{len(wanted)} JVMs, about {len(wanted) * (options.warm_up + options.seconds + 3) / 60:.0f} min")
        return 0
    library = Path(os.environ.get("HEADWAY_AGENT", ROOT / "target/release/libheadway.so"))
    if not library.is_file():
        raise ProfilerError(f"there is no agent at {library}; ./hw eval builds it")
    lines, failed = [HEAD], 0
    print(HEAD)
    for case in wanted:
        try:
            line = row(case, measure(case, homes[case.jdk], library, options))
        except ProfilerError as error:
            failed += 1
            line = f"| {case.workload.name} | {case.jdk} | {case.collector} | | | failed: {str(error).splitlines()[0]} |"
        lines.append(line)
        print(line, flush=True)
    (options.out / "completeness.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ProfilerError as error:
        print(f"hw eval: {error}", file=sys.stderr)
        sys.exit(2)
