"""Does the report name the real bottleneck?

The programs of `java/diagnose` have one planted bottleneck each, a switch that removes it, and
regular expressions that a finding must match to name it; some have none, and then nothing of the
kind may be said. Each is recorded by `headway run` from its start and by `headway record` while it
runs. A case counts if the first finding names the cause; a finding that matches what must never be
said of the program counts as a false statement. Where other processes had most of the CPU time, a
finding that says so may come first: it is true, and the judge counts such cases. Beside that stand what the
fix gains, and what other profilers print about the same program, judged by the same rule.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import causes
from gains import Gains, shown
from judging import Program, Verdict, judge
from outcome import Outcome
from peers import JFR_VIEW_SINCE, PeerRuns, said
from profilers import ProfilerError

ROOT = Path(__file__).resolve().parent.parent
JAR = ROOT / "java/diagnose/target/headway-diagnose.jar"
JMC = ROOT / "java/jmc-check/target/headway-jmc-check.jar"
# Every part of it is in ./hw test: programs that need nothing but the JDK and differ in kind.
SUBSET = (
    "sleep-under-monitor", "reentrant-lock", "write-lock-reload", "executor-too-small", "queue-full",
    "semaphore", "wait-notify-pool", "future-of-one-thread", "healthy", "cpu-bound",
)
WAYS = ("run", "attach")


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


def operations(output: str) -> float:
    """Operations a second, from what a program prints at its end."""
    match = re.search(r"operations (\d+) seconds ([\d.]+)", output)
    if match is None:
        raise RuntimeError(f"the program printed no operations: {output[-300:]!r}")
    return int(match[1]) / float(match[2])


class Trials:
    """Runs programs of one JDK."""

    def __init__(self, headway: str, java: str, release: str, seconds: int, options: Sequence[str] = ()) -> None:
        """`options` are those of `headway run` and `headway record`."""
        self.headway, self.java, self.release, self.seconds, self.options = headway, java, release, seconds, options

    def command(self, program: Program, fixed: bool = False, longer: int = 0) -> list[str]:
        """The command of a program."""
        command = [self.java, "-Xmx512m", "-jar", str(JAR), program.name, "--seconds", str(self.seconds + longer)]
        return [*command, "--fixed"] if fixed else command

    def rate(self, program: Program, is_fixed: bool) -> float:
        """Operations per second with the fix or without, not recorded."""
        return operations(run_quietly(self.command(program, is_fixed)))

    def record(self, program: Program, way: str, into: Path) -> None:
        """Records a program."""
        into.unlink(missing_ok=True)
        if way == "run":
            run_quietly([self.headway, "run", *self.options, "-o", str(into), "--", *self.command(program)])
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
            command = [self.headway, "record", "--quiet", *self.options, "-d", f"{length}s", "-o", str(into)]
            run_quietly([*command, str(running.pid)])
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


def run_quietly(command: Sequence[str]) -> str:
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


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="./hw diagnose", description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--programs", help="names with commas between; default: all")
    parser.add_argument("--subset", action="store_true", help=f"the {len(SUBSET)} programs that ./hw test records")
    parser.add_argument(
        "--catalogue", action="store_true",
        help="instead: provoke each known cause of the catalogue; of the other options only --programs (ids), --jdks, --keep, --again and --table",
    )  # fmt: skip
    parser.add_argument("--jdks", default="17,25", help="releases; default: 17,25")
    parser.add_argument("--ways", type=ways, default=WAYS, help="run, attach, both with a comma, or none; default: run,attach")
    parser.add_argument("--seconds", type=int, default=8, help="how long a program runs; default: 8")
    parser.add_argument(
        "--options", type=shlex.split, default=(), metavar="OPTIONS",
        help="options of the recordings in one word, as in --options='--budget 1'; default: none, everything is recorded",
    )  # fmt: skip
    parser.add_argument("--pairs", type=int, default=3, help="pairs with and without the fix, 0 for none; default: 3")
    parser.add_argument("--peers", metavar="JDK", help="what JFR, Mission Control and async-profiler print on this one of --jdks")
    parser.add_argument("--table", type=Path, help="write the table to this file, too")
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument(
        "--keep", type=Path, metavar="DIR",
        help="keep everything in this directory; pairs and outputs of peers that are there already are not made again",
    )  # fmt: skip
    kept.add_argument("--again", type=Path, metavar="DIR", help="judge what is kept in this directory, run nothing")
    options = parser.parse_args(arguments)
    if options.peers and options.peers not in options.jdks.split(","):
        parser.error(f"--peers {options.peers}: it is not one of --jdks {options.jdks}")
    if options.peers and int(options.peers) < JFR_VIEW_SINCE:
        parser.error(f"--peers {options.peers}: `jfr view` comes with JDK {JFR_VIEW_SINCE} and later")
    if options.again:
        if not options.again.is_dir():
            parser.error(f"--again {options.again}: there is no such directory")
        options.pairs = 0
    return options


def ways(text: str) -> tuple[str, ...]:
    """How programs are recorded."""
    named = () if text == "none" else tuple(text.split(","))
    if not set(named) <= set(WAYS):
        raise argparse.ArgumentTypeError(f"{text!r} is not {', '.join(WAYS)}, both with a comma, or none")
    return named


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


class Diagnosis:
    """Runs and judges programs, and keeps what came of it."""

    def __init__(self, options: argparse.Namespace, directory: Path, headway: str) -> None:
        self.options, self.directory, self.headway = options, directory, headway
        self.outcome = Outcome()
        self.gains = Gains(directory / "gains.json")

    def of_jdk(self, release: str, java: str) -> None:
        """All that is asked for on one JDK."""
        trials = Trials(self.headway, java, release, self.options.seconds, self.options.options)
        peers = PeerRuns(Path(java), release, JMC, async_profiler, self.directory) if self.options.peers == release else None
        for program in chosen(self.options, java):
            self.outcome.programs[program.name] = program
            for way in self.options.ways:
                self.attempt(f"{program.name} {release} {way}", partial(self.judge, trials, program, way))
            if program.cause:
                self.attempt(f"{program.name} {release} gain", partial(self.gain, trials, program))
            if peers:
                self.attempt(f"{program.name} {release} peers", partial(self.ask, peers, trials, program))

    def attempt(self, what: str, work: Callable[[], None]) -> None:
        """Does something; that it fails is said and counted, and the next thing is done."""
        try:
            work()
        except (RuntimeError, ProfilerError, subprocess.TimeoutExpired) as problem:
            self.outcome.failed += 1
            print(f"FAILED {what}: {problem}", flush=True)

    def judge(self, trials: Trials, program: Program, way: str) -> None:
        """One recording."""
        recording = self.directory / f"{program.name}-{trials.release}-{way}.jfr"
        verdict = judged(trials, program, way, recording, self.options.again is not None)
        self.outcome.verdicts[program.name, trials.release, way] = verdict

    def gain(self, trials: Trials, program: Program) -> None:
        """What the fix gains, from the pairs measured now and before."""
        self.gains.measure(program.name, trials.release, self.options.pairs, partial(trials.rate, program))
        gain = self.gains.interval(program.name, trials.release)
        if gain:
            self.outcome.gains[program.name, trials.release] = gain
            print(f"gain  {program.name} {trials.release}: {shown(gain)}", flush=True)

    def ask(self, peers: PeerRuns, trials: Trials, program: Program) -> None:
        """What the peers say."""
        if not self.options.again:
            peers.record(program.name, trials.command(program), run_quietly)
        for peer, output in peers.outputs(program.name).items():
            cell = said(program, peer, output)
            self.outcome.peers[program.name, peer] = cell
            print(f"peer  {program.name} {trials.release} {peer.name}: {cell}", flush=True)


def async_profiler() -> Path:
    """The jar with its library."""
    jars = sorted((ROOT / "java/diagnose/target/lib").glob("async-profiler-*.jar"))
    if not jars:
        raise ProfilerError("async-profiler's jar is not there; ./hw diagnose --peers fetches it")
    return jars[-1]


def main() -> int:
    """See the head of the file."""
    options = parsed()
    with tempfile.TemporaryDirectory() as scratch:
        directory = options.again or options.keep or Path(scratch)
        directory.mkdir(parents=True, exist_ok=True)
        if options.catalogue:
            wanted = options.programs.split(",") if options.programs else []
            catalogue = causes.Catalogue(os.environ["HEADWAY_BIN"], directory, options.again is not None)
            return causes.provoke(catalogue, jdks(options.jdks.split(",")), wanted, options.table)
        diagnosis = Diagnosis(options, directory, os.environ["HEADWAY_BIN"])
        try:
            for release, java in jdks(options.jdks.split(",")):
                diagnosis.of_jdk(release, java)
        except Unknown as problem:
            print(f"diagnose: {problem}", file=sys.stderr)
            return 2
    if options.table:
        options.table.write_text(diagnosis.outcome.table(), encoding="utf-8")
    print(*diagnosis.outcome.sentences(), sep="\n")
    return 0 if diagnosis.outcome.is_right() else 1


if __name__ == "__main__":
    sys.exit(main())
