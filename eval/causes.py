"""Which known causes are provoked, and is each recognized?

The catalogue of known causes (`crates/analysis/src/advice/catalogue.txt`) says what it means that threads
wait on a stack like this. `java/causes` has a small program for each entry, which makes threads wait there in the
library that the entry is about. Each program is recorded by `headway run --exact`; its entry is recognized if a finding of the
report gives its advice. An entry without a program has a line in `eval/unprovoked.txt` that says why.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CATALOGUE = ROOT / "crates/analysis/src/advice/catalogue.txt"
UNPROVOKED = ROOT / "eval/unprovoked.txt"
SOURCES = ROOT / "java/causes/src/main/java"
JAR = ROOT / "java/causes/target/headway-causes.jar"
# Programs that run at a time. They mostly sleep.
AT_ONCE = 2
# Some waits come by chance, on a busy machine all the more.
TRIES = 3
# Findings that are shown where none of them gives the advice.
SHOWN = 5


def entries() -> list[str]:
    """The ids of the catalogue, in its order."""
    return re.findall(r"^id: (\S+)$", CATALOGUE.read_text(encoding="utf-8"), re.MULTILINE)


def without_program() -> dict[str, str]:
    """Entries without a program, and why they have none."""
    lines = UNPROVOKED.read_text(encoding="utf-8").splitlines()
    pairs = (line.split(": ", 1) for line in lines if line and not line.startswith("#"))
    return {one: reason for one, reason in pairs}


def with_program() -> list[str]:
    """Entries that the sources have a program for."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(SOURCES.rglob("*.java")))
    return re.findall(r'Cause\.of\(\s*"([a-z0-9-]+)"', text)


@dataclass(frozen=True)
class Trial:
    """What came of one program."""

    entry: str
    # The finding that gives its advice, among those about locks and waits, from 1; 0 if none does.
    place: int
    # What the report said instead, or how the program failed.
    instead: Sequence[str] = ()
    tries: int = 1

    @property
    def is_recognized(self) -> bool:
        """A finding gives the advice of the entry."""
        return self.place > 0


def programs(java: str, release: int) -> list[str]:
    """The entries whose programs are for this JDK."""
    listed = subprocess.run([java, "-jar", str(JAR), "--list"], check=True, capture_output=True, text=True).stdout
    rows = (line.split("\t") for line in listed.splitlines())
    return [entry for entry, until in rows if release <= int(until)]


def place(report: Mapping[str, object], entry: str) -> int:
    """Which finding about a lock or a wait gives this entry as advice, from 1; 0 if none does."""
    findings = report["findings"]
    assert isinstance(findings, list)
    with_stacks = [finding for finding in findings if finding.get("stacks")]
    for at, finding in enumerate(with_stacks, start=1):
        if (finding.get("advice") or {}).get("id") == entry:
            return at
    return 0


def said(report: Mapping[str, object]) -> list[str]:
    """What a report says, and on which stacks."""
    findings = report["findings"]
    assert isinstance(findings, list)
    lines = []
    for finding in findings[:SHOWN]:
        known = finding.get("advice") or {}
        lines.append(f"[{known.get('id', '-')}] {finding['text'][:200]}")
        for stack in finding.get("stacks", []):
            lines.append(f"    {stack['whose']}: {' < '.join(stack['frames'][:14])}")
    return lines


def record(headway: str, java: str, entry: str, recording: Path) -> Trial | None:
    """Provokes a known cause, recorded; how it failed, if it did."""
    recording.unlink(missing_ok=True)
    command = [headway, "run", "--exact", "-o", str(recording), "--", java, "-Xmx512m", "-jar", str(JAR), entry]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    except subprocess.TimeoutExpired:
        return Trial(entry, 0, ("the program did not end",))
    return None if done.returncode == 0 else Trial(entry, 0, (f"ended with {done.returncode}: {done.stderr[-2000:]}",))


def judged(headway: str, entry: str, recording: Path) -> Trial:
    """Looks for a known cause in the report of its program's recording."""
    asked = subprocess.run([headway, "report", "--json", str(recording)], capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        return Trial(entry, 0, (f"no report: {asked.stderr[-500:]}",))
    report = json.loads(asked.stdout)
    return Trial(entry, place(report, entry), said(report))


@dataclass
class Catalogue:
    """What came of the programs, by JDK and entry."""

    headway: str
    # Where recordings are; they are made again unless they are kept.
    directory: Path
    is_kept: bool = False
    trials: dict[str, dict[str, Trial]] = field(default_factory=dict)

    def run(self, release: str, java: str, wanted: Sequence[str]) -> None:
        """Runs what is wanted of this JDK, and says what came of each."""
        chosen = [entry for entry in programs(java, int(release)) if not wanted or entry in wanted]
        one = partial(self.one, release, java)
        with ThreadPoolExecutor(AT_ONCE) as running:
            for trial in running.map(one, chosen):
                self.add(release, trial)
                mark = "ok   " if trial.is_recognized else "WRONG"
                print(f"{mark} {trial.entry} {release}: #{trial.place}, tries: {trial.tries}", flush=True)
                for line in () if trial.is_recognized else trial.instead:
                    print(f"      {line}", flush=True)

    def one(self, release: str, java: str, entry: str) -> Trial:
        """One program."""
        recording = self.directory / f"{entry}-{release}.jfr"
        if self.is_kept:
            return judged(self.headway, entry, recording)
        tries = 0
        while True:
            tries += 1
            failed = record(self.headway, java, entry, recording)
            trial = failed or judged(self.headway, entry, recording)
            if trial.is_recognized or tries == TRIES:
                return replace(trial, tries=tries)

    def add(self, release: str, trial: Trial) -> None:
        """Keeps what came of a program."""
        self.trials.setdefault(release, {})[trial.entry] = trial

    def is_right(self) -> bool:
        """Every program's entry was recognized."""
        return all(trial.is_recognized for one in self.trials.values() for trial in one.values())

    def sentences(self, known: Sequence[str]) -> list[str]:
        """How many entries were provoked and recognized, and at the end how many programs passed and failed."""
        lines = []
        for release, trials in self.trials.items():
            right = sum(trial.is_recognized for trial in trials.values())
            first = sum(trial.place == 1 for trial in trials.values())
            recognized = f"JDK {release}: {right} of {len(trials)} known causes recognized"
            lines.append(f"{recognized}, {first} by the first finding about a lock or wait")
        everywhere = {entry for trials in self.trials.values() for entry, one in trials.items() if one.is_recognized}
        lines.append(f"{len(everywhere)} of the {len(known)} entries of the catalogue provoked and recognized")
        ran = [trial.is_recognized for trials in self.trials.values() for trial in trials.values()]
        return [*lines, f"{sum(ran)} passed, {len(ran) - sum(ran)} failed"]

    def table(self, known: Iterable[str], reasons: Mapping[str, str]) -> str:
        """A row for each entry, in Markdown."""
        head = ["entry", *(f"JDK {release}" for release in self.trials)]
        rows = [head, ["---"] * len(head)]
        for entry in known:
            cells = [shown(trials.get(entry), reasons.get(entry)) for trials in self.trials.values()]
            rows.append([entry, *cells])
        return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def shown(trial: Trial | None, reason: str | None) -> str:
    """A cell of the table."""
    if trial is None:
        return f"no program: {reason}" if reason else "not on this JDK"
    return ("not recognized", "first", "second", "third")[trial.place] if trial.place < 4 else f"number {trial.place}"


def provoke(catalogue: Catalogue, jdks: Iterable[tuple[str, str]], wanted: Sequence[str], table: Path | None) -> int:
    """See the file's head; the exit code."""
    known = entries()
    unknown = set(wanted) - set(with_program())
    if unknown:
        print(f"diagnose: there is no program for {', '.join(sorted(unknown))}")
        return 2
    for release, java in jdks:
        catalogue.run(release, java, wanted)
    if table:
        table.write_text(catalogue.table(known, without_program()), encoding="utf-8")
    print(*catalogue.sentences(known), sep="\n")
    return 0 if catalogue.is_right() else 1
