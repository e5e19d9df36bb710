"""What other profilers print about a program with a known bottleneck.

Each peer records the program from its start and then prints with its own tool. Its output is read as rankings:
lists of rows, the most important first. The place of the cause is the best that it has in any ranking of the peer.
A row is what the tool prints for it, with its whole stack.

- JFR has its `profile` settings, with the thresholds of blocking, waiting, parking and sleeping lowered to 1 us, so
  that it has every event that matters. (At 0 a rule of Mission Control reports the setting itself.) Its rankings are
  the views of `jfr view` about contention, latency and methods, with whole stacks.
- Mission Control's rules read the same recording. Their one ranking are the results from INFO on, by score. A
  rule that other processes had the CPUs may come first, as a finding of Headway's may.
- async-profiler runs twice, since a text output has one event: contended locks (threshold 1 ns, by total time), and
  the wall clock of all threads, without those of the VM and of `java.lang.ref`, which only wait. Stacks with the
  same frames are one row.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Sequence

import judging
from judging import Program
from profilers import ASYNC_PROFILER_LIBRARY, library_in

JFR_EVENTS = ("JavaMonitorEnter", "JavaMonitorWait", "ThreadPark", "ThreadSleep")
JFR_SETTINGS = ",".join(["settings=profile", *(f"jdk.{event}#threshold=1us" for event in JFR_EVENTS)])
JFR_VIEW_SINCE = 21
VIEWS = (
    "contention-by-site", "contention-by-thread", "contention-by-class", "contention-by-address", "latencies-by-type",
    "hot-methods", "native-methods",
)
# As much as a view can show: a recorded stack has at most 64 frames.
VIEW_SIZE = ("--width", "300", "--cell-height", "64")
LOCK_OPTIONS = "event=lock,lock=1,collapsed,total"
# Only threads that run Java code, and of these not those of the JDK that wait for references.
WALL_OPTIONS = "event=wall,collapsed,include=*.run,exclude=java/lang/ref/*"
# The rule that other processes had the CPUs.
OTHERS_HAD_CPUS = "CompareCpu"
# RULE SEVERITY SCORE TEXT, of the results that Mission Control shows as something to look at.
RESULT = re.compile(r"^(\S+) (INFO|WARNING) (\S+) (.*)$", re.MULTILINE)
# The lowest score of each severity, for a result without one.
LOWEST_SCORES = {"INFO": 25.0, "WARNING": 75.0}

Ranking = list[str]
Run = Callable[[Sequence[str]], str]
"""Runs a command to its end; its standard output."""


@dataclass(frozen=True)
class Peer:
    """A tool that ranks what it saw."""

    name: str
    """Ends the names of kept outputs."""
    title: str
    """Heads its column."""
    rankings: Callable[[str], list[Ranking]]
    is_judging: bool = False
    """Whether it says that something is wrong: tables and stacks rank what there is, however little that may be."""


def views(output: str) -> list[Ranking]:
    """The tables of `jfr view`. A row ends where the next one has a value in the last column: stacks go over many lines."""
    found: list[Ranking] = []
    lines = output.splitlines()
    for number, line in enumerate(lines):
        if re.fullmatch(r"-+( -+)+ *", line):
            last_column = line.rstrip().rindex(" ")
            rows: Ranking = []
            for row in lines[number + 1 :]:
                if not row.strip():
                    break
                if row[last_column:].strip():
                    rows.append(row)
                elif rows:
                    rows[-1] += "\n" + row
            found.append(rows)
    return found


def rules(output: str) -> list[Ranking]:
    """Results of Mission Control's rules by score, one that other processes had the CPUs left out."""
    scored = [
        (LOWEST_SCORES[severity] if score == "-" else float(score), f"{rule} {text}")
        for rule, severity, score, text in RESULT.findall(output)
        if rule != OTHERS_HAD_CPUS
    ]
    return [[text for _, text in sorted(scored, key=lambda one: -one[0])]]


def stacks(output: str) -> list[Ranking]:
    """async-profiler's collapsed stacks, heaviest first."""
    weights: Counter[str] = Counter()
    for line in output.splitlines():
        stack, _, weight = line.rpartition(" ")
        if stack:
            weights[stack] += int(weight)
    return [[stack for stack, _ in weights.most_common()]]


JFR = Peer("jfr", "JFR's views", views)
JMC = Peer("jmc", "JMC's rules", rules, is_judging=True)
LOCK = Peer("async-lock", "async-profiler, locks", stacks)
WALL = Peer("async-wall", "async-profiler, wall clock", stacks)
PEERS = (JFR, JMC, LOCK, WALL)


def said(program: Program, peer: Peer, output: str) -> str:
    """A cell of the table: where a peer's output names the cause."""
    rankings = peer.rankings(output)
    if any(judging.false(program, rows) for rows in rankings):
        return "**false**"
    if not program.cause:
        return "none to name" if peer.is_judging else "-"
    places = [place for rows in rankings if (place := judging.place(program, rows))]
    best = min(places, default=0)
    return "first" if best == 1 else "in the first three" if 1 < best <= 3 else "no"


class PeerRuns:
    """Runs the peers on one JDK. Their outputs are kept, and what is kept is not recorded again."""

    def __init__(self, java: Path, release: str, jmc: Path, async_profiler: Callable[[], Path], directory: Path) -> None:
        self.java, self.release, self.jmc, self.async_profiler = java, release, jmc, async_profiler
        self.directory = directory

    def kept(self, program: str, peer: Peer) -> Path:
        """Where a peer's output on a program is kept."""
        return self.directory / f"{program}-{self.release}-{peer.name}.txt"

    def record(self, program: str, command: Sequence[str], run: Run) -> None:
        """Runs the program under each peer whose output is not kept. Its command begins with `java`."""
        missing = {peer for peer in PEERS if not self.kept(program, peer).is_file()}
        with tempfile.TemporaryDirectory() as scratch:
            if missing & {JFR, JMC}:
                self.record_by_jfr(program, command, run, Path(scratch))
            for peer, options in ((LOCK, LOCK_OPTIONS), (WALL, WALL_OPTIONS)):
                if peer in missing:
                    self.record_by_async_profiler(self.kept(program, peer), options, command, run, Path(scratch))

    def outputs(self, program: str) -> dict[Peer, str]:
        """What the peers printed, where it is kept."""
        kept = {peer: self.kept(program, peer) for peer in PEERS}
        return {peer: file.read_text(encoding="utf-8") for peer, file in kept.items() if file.is_file()}

    def record_by_jfr(self, program: str, command: Sequence[str], run: Run, scratch: Path) -> None:
        """Records, and keeps what the views and the rules print."""
        recording = str(scratch / "peer.jfr")
        run([command[0], f"-XX:StartFlightRecording:filename={recording},{JFR_SETTINGS}", "-Xlog:jfr*=off", *command[1:]])
        tool = str(self.java.with_name("jfr"))
        shown = [run([tool, "view", *VIEW_SIZE, view, recording]) for view in VIEWS]
        results = run([str(self.java), "-jar", str(self.jmc), recording, "--rules"])
        self.kept(program, JFR).write_text("\n".join(shown), encoding="utf-8")
        self.kept(program, JMC).write_text(results, encoding="utf-8")

    def record_by_async_profiler(self, kept: Path, options: str, command: Sequence[str], run: Run, scratch: Path) -> None:
        """Records, and keeps the stacks."""
        library = scratch / ASYNC_PROFILER_LIBRARY
        if not library.exists():
            library.write_bytes(library_in(self.async_profiler()))
        output = scratch / "stacks.txt"
        output.unlink(missing_ok=True)
        run([command[0], f"-agentpath:{library}=start,{options},file={output}", *command[1:]])
        printed = output.read_text(encoding="utf-8")
        if options == WALL_OPTIONS and not printed:
            raise RuntimeError("async-profiler sampled no thread")
        kept.write_text(printed, encoding="utf-8")
