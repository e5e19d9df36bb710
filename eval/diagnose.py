"""Does the report name the real bottleneck?

The programs of `java/diagnose` have one planted bottleneck each, a switch that removes it, and
regular expressions that a finding must match to name it; some have none, and then nothing of the
kind may be said. Each is recorded by `headway run` from its start and by `headway record` while it
runs. A case counts if the first finding names the cause; a finding that matches what must never be
said of the program counts as a false statement. Where other processes had most of the CPU time, a
finding that says so may come first: it is true, and the judge counts such cases.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
JAR = ROOT / "java/diagnose/target/headway-diagnose.jar"
# Every part of it is in ./hw test: programs that need nothing but the JDK and differ in kind.
SUBSET = (
    "sleep-under-monitor", "reentrant-lock", "write-lock-reload", "executor-too-small", "queue-full",
    "semaphore", "wait-notify-pool", "future-of-one-thread", "healthy", "cpu-bound",
)
WAYS = ("run", "attach")


@dataclass(frozen=True)
class Program:
    """A program, as `--list` of the jar describes it."""

    name: str
    library: str
    cause: tuple[str, ...]
    never: tuple[str, ...]


@dataclass
class Verdict:
    """What one recording's report says about a program."""

    program: Program
    way: str
    release: str
    # Place of the first finding that names the cause, from 1; 0 if none does.
    place: int = 0
    # True if a finding comes first that other processes had the CPUs: places are those of the others.
    is_short_of_cpus: bool = False
    false: list[str] = field(default_factory=list)
    first: str = ""

    @property
    def is_right(self) -> bool:
        """The cause stands first, or there is none to name; nothing false is said."""
        return not self.false and (not self.program.cause or self.place == 1)


def programs(java: str) -> list[Program]:
    """All programs of the jar."""
    listed = subprocess.run([java, "-jar", str(JAR), "--list"], check=True, capture_output=True, text=True).stdout
    found = []
    for line in listed.splitlines():
        name, library, cause, never = line.split("\t")
        found.append(Program(name, library, words(cause), words(never)))
    return found


def words(text: str) -> tuple[str, ...]:
    """Regular expressions with `;;` between."""
    return tuple(part for part in text.split(";;") if part)


def judge(program: Program, way: str, release: str, findings: list[dict[str, object]]) -> Verdict:
    """Compares findings with what is known about the program."""
    verdict = Verdict(program, way, release)
    if findings and had_by_others(findings[0]):
        verdict.is_short_of_cpus = True
        findings = findings[1:]
    verdict.first = str(findings[0]["text"]) if findings else ""
    for place, finding in enumerate(findings, start=1):
        details = finding.get("details", [])
        text = "\n".join([str(finding["text"]), *(str(one) for one in details if isinstance(details, list))])
        if program.cause and not verdict.place and all(re.search(one, text) for one in program.cause):
            verdict.place = place
        # "Nothing stands out" says of what there is little.
        if finding.get("kind") != "nothing":
            verdict.false += [str(finding["text"]) for one in program.never if re.search(one, str(finding["text"]))]
    return verdict


def had_by_others(finding: dict[str, object]) -> bool:
    """Whether a finding says that threads had no CPU because other processes had most of them."""
    evidence = finding.get("evidence", [])
    assert isinstance(evidence, list)
    return any(one["what"] == "cpu-of-other-processes" for one in evidence)


def operations(output: str) -> float:
    """Operations a second, from what a program prints at its end."""
    match = re.search(r"operations (\d+) seconds ([\d.]+)", output)
    if match is None:
        raise RuntimeError(f"the program printed no operations: {output[-300:]!r}")
    return int(match[1]) / float(match[2])


class Trials:
    """Runs programs of one JDK."""

    def __init__(self, headway: str, java: str, release: str, seconds: int) -> None:
        self.headway, self.java, self.release, self.seconds = headway, java, release, seconds

    def command(self, program: Program, fixed: bool = False, longer: int = 0) -> list[str]:
        """The command of a program."""
        command = [self.java, "-Xmx512m", "-jar", str(JAR), program.name, "--seconds", str(self.seconds + longer)]
        return [*command, "--fixed"] if fixed else command

    def gain(self, program: Program, pairs: int) -> tuple[float, float, float]:
        """Throughput with the fix over that without: median and range of pairs, alternately."""
        ratios = []
        for _ in range(pairs):
            rates = [operations(run_quietly(self.command(program, fixed))) for fixed in (False, True)]
            ratios.append(rates[1] / max(rates[0], 1e-9))
        return statistics.median(ratios), min(ratios), max(ratios)

    def record(self, program: Program, way: str, into: Path) -> None:
        """Records a program."""
        into.unlink(missing_ok=True)
        if way == "run":
            run_quietly([self.headway, "run", "-o", str(into), "--", *self.command(program)])
        else:
            self.attach(program, into)

    def findings(self, recording: Path) -> list[dict[str, object]]:
        """The findings of a recording."""
        report = run_quietly([self.headway, "report", "--json", str(recording)])
        findings = json.loads(report)["findings"]
        assert isinstance(findings, list)
        return findings

    def attach(self, program: Program, into: Path) -> None:
        """Records a running program, without its first two seconds."""
        # It is killed afterwards, however long attaching took.
        command = self.command(program, longer=60)
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            wait_until_ready(running)
            time.sleep(2)
            length = max(1, self.seconds - 3)
            run_quietly([self.headway, "record", "--quiet", "-d", f"{length}s", "-o", str(into), str(running.pid)])
        finally:
            running.kill()
            running.wait()


def wait_until_ready(running: subprocess.Popen[str]) -> None:
    """Waits for READY. What the program prints is read on: it would wait for room in a full pipe."""
    output = running.stdout
    assert output is not None
    while (line := output.readline()) and "READY" not in line:
        pass

    def read_on() -> None:
        with output:
            while output.read(1 << 16):
                pass

    threading.Thread(target=read_on, daemon=True).start()


def run_quietly(command: list[str]) -> str:
    """Runs a command to its end; its standard output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode not in (0, 143):
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


def jdks(wanted: list[str]) -> Iterator[tuple[str, str]]:
    """Release and `java` of each JDK."""
    for release in wanted:
        home = os.environ.get(f"HEADWAY_JDK{release}")
        if home is None:
            raise SystemExit(f"diagnose: there is no JDK {release} here (HEADWAY_JDK{release} says where one is)")
        yield release, str(Path(home) / "bin/java")


def table(verdicts: list[Verdict], gains: dict[tuple[str, str], tuple[float, float, float]]) -> str:
    """The verdicts in Markdown."""
    lines = ["| program | library | JDK, way | cause named | fix gains | false statements |", "|---|---|---|---|---|---|"]
    for verdict in verdicts:
        program = verdict.program
        place = "none to name" if not program.cause else {0: "**no**", 1: "first"}.get(verdict.place, f"**#{verdict.place}**")
        place += ", after the lack of CPUs" if verdict.is_short_of_cpus and program.cause else ""
        gain = gains.get((program.name, verdict.release))
        gained = f"{gain[0]:.1f} x [{gain[1]:.1f} {gain[2]:.1f}]" if gain and program.cause else ""
        said = "none" if not verdict.false else f"**{len(verdict.false)}**"
        lines.append(f"| {program.name} | {program.library} | {verdict.release}, {verdict.way} | {place} | {gained} | {said} |")
    return "\n".join(lines) + "\n"


def summary(verdicts: list[Verdict]) -> str:
    """One sentence."""
    with_cause = [verdict for verdict in verdicts if verdict.program.cause]
    first = sum(verdict.place == 1 for verdict in with_cause)
    three = sum(1 <= verdict.place <= 3 for verdict in with_cause)
    false = sum(bool(verdict.false) for verdict in verdicts)
    short = sum(verdict.is_short_of_cpus for verdict in with_cause)
    behind = f" ({short} behind a finding that other processes had the CPUs)" if short else ""
    return (
        f"{first} of {len(with_cause)} causes named first{behind}, {three} within the first three; "
        f"false statements in {false} of {len(verdicts)} reports"
    )


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="./hw diagnose", description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--programs", help="names with commas between; default: all")
    parser.add_argument("--subset", action="store_true", help=f"the {len(SUBSET)} programs that ./hw test records")
    parser.add_argument("--jdks", default="17,25", help="releases; default: 17,25")
    parser.add_argument("--ways", default=",".join(WAYS), help="run, attach, or both; default: both")
    parser.add_argument("--seconds", type=int, default=8, help="how long a program runs; default: 8")
    parser.add_argument("--pairs", type=int, default=3, help="pairs with and without the fix, 0 for none; default: 3")
    parser.add_argument("--table", type=Path, help="write the table to this file, too")
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument("--keep", type=Path, metavar="DIR", help="keep recordings in this directory")
    kept.add_argument("--again", type=Path, metavar="DIR", help="judge the recordings kept in this directory, run nothing")
    options = parser.parse_args(arguments)
    if options.again:
        options.pairs = 0
    return options


class Unknown(Exception):
    """A program that was asked for and does not exist."""


def chosen(options: argparse.Namespace, java: str) -> list[Program]:
    """The programs that are asked for."""
    everything = programs(java)
    wanted = SUBSET if options.subset else tuple(options.programs.split(",")) if options.programs else None
    if wanted is None:
        return everything
    unknown = set(wanted) - {program.name for program in everything}
    if unknown:
        raise Unknown(f"there is no program {', '.join(sorted(unknown))}")
    return [program for program in everything if program.name in wanted]


def judged(trials: Trials, program: Program, way: str, recording: Path, is_kept: bool) -> Verdict:
    """Records a program, unless its recording is kept already, judges the report, and says so."""
    if not is_kept:
        trials.record(program, way, recording)
    verdict = judge(program, way, trials.release, trials.findings(recording))
    mark = "ok   " if verdict.is_right else "WRONG"
    print(f"{mark} {program.name} {trials.release} {way}: #{verdict.place} {verdict.first[:150]}", flush=True)
    for sentence in verdict.false:
        print(f"      false: {sentence[:200]}", flush=True)
    return verdict


def main() -> int:
    """See the head of the file."""
    options = parsed()
    headway = os.environ["HEADWAY_BIN"]
    verdicts: list[Verdict] = []
    gains: dict[tuple[str, str], tuple[float, float, float]] = {}
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        directory = options.again or options.keep or Path(scratch)
        directory.mkdir(parents=True, exist_ok=True)
        for release, java in jdks(options.jdks.split(",")):
            trials = Trials(headway, java, release, options.seconds)
            try:
                wanted = chosen(options, java)
            except Unknown as problem:
                print(f"diagnose: {problem}", file=sys.stderr)
                return 2
            for program in wanted:
                for way in options.ways.split(","):
                    recording = directory / f"{program.name}-{release}-{way}.jfr"
                    try:
                        verdicts.append(judged(trials, program, way, recording, options.again is not None))
                    except (RuntimeError, subprocess.TimeoutExpired) as problem:
                        failed += 1
                        print(f"FAILED {program.name} {release} {way}: {problem}", flush=True)
                if options.pairs > 0 and program.cause:
                    gains[program.name, release] = trials.gain(program, options.pairs)
    if options.table:
        options.table.write_text(table(verdicts, gains), encoding="utf-8")
    right = sum(verdict.is_right for verdict in verdicts)
    print(summary(verdicts))
    print(f"{right} passed, {len(verdicts) - right + failed} failed")
    return 0 if right == len(verdicts) and failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
