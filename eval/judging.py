"""Programs with a known bottleneck, and whether what is said of one names it.

The rule is the same for Headway and for the peers: a statement names the cause if all of the program's regular
expressions match in it. A statement is a finding with its details, or a row that a peer ranks with all the stack
that it prints for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Sequence

# Of the active thread time.
NEGLIGIBLE = 0.01
# Kinds of findings that are no matter of time.
NO_MATTER_HOW_LONG = ("deadlock", "stuck")


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

    def shown(self) -> str:
        """A cell of the table."""
        if self.false:
            return f"**{len(self.false)} false**"
        if not self.program.cause:
            return "none to name"
        place = {0: "**no**", 1: "first"}.get(self.place, f"**#{self.place}**")
        return f"{place}, after the lack of CPUs" if self.is_short_of_cpus else place


def judge(program: Program, way: str, release: str, findings: list[dict[str, object]]) -> Verdict:
    """Compares findings with what is known about the program."""
    verdict = Verdict(program, way, release)
    if findings and had_by_others(findings[0]):
        verdict.is_short_of_cpus = True
        findings = findings[1:]
    verdict.first = str(findings[0]["text"]) if findings else ""
    verdict.place = place(program, [whole(finding) for finding in findings])
    verdict.false = false(program, [f"{finding.get('kind')} {finding['text']}" for finding in findings if claims(finding)])
    return verdict


def place(program: Program, statements: Sequence[str]) -> int:
    """Place of the first statement that names the cause, from 1; 0 if none does, or there is no cause."""
    if program.cause:
        for number, statement in enumerate(statements, start=1):
            if all(re.search(one, statement) for one in program.cause):
                return number
    return 0


def false(program: Program, statements: Sequence[str]) -> list[str]:
    """The statements that match what must never be said of the program, once for each expression."""
    return [statement for statement in statements for one in program.never if re.search(one, statement)]


def claims(finding: dict[str, object]) -> bool:
    """Whether a finding claims that something is wrong: one about a negligible part of the time does not, if time is
    what it is about. "Nothing stands out" says of what there is little."""
    if finding.get("kind") in NO_MATTER_HOW_LONG:
        return True
    share = finding.get("share")
    return finding.get("kind") != "nothing" and not (isinstance(share, float) and share < NEGLIGIBLE)


def whole(finding: dict[str, object]) -> str:
    """A finding with its details."""
    details = finding.get("details", [])
    assert isinstance(details, list)
    return "\n".join([str(finding["text"]), *map(str, details)])


def had_by_others(finding: dict[str, object]) -> bool:
    """Whether a finding says that threads had no CPU because other processes had most of them."""
    evidence = finding.get("evidence", [])
    assert isinstance(evidence, list)
    return any(one["what"] == "cpu-of-other-processes" for one in evidence)


def summary(verdicts: list[Verdict]) -> str:
    """One sentence."""
    with_cause = [verdict for verdict in verdicts if verdict.program.cause]
    first = sum(verdict.place == 1 for verdict in with_cause)
    three = sum(1 <= verdict.place <= 3 for verdict in with_cause)
    with_false = sum(bool(verdict.false) for verdict in verdicts)
    short = sum(verdict.is_short_of_cpus for verdict in with_cause)
    behind = f" ({short} behind a finding that other processes had the CPUs)" if short else ""
    return (
        f"{first} of {len(with_cause)} causes named first{behind}, {three} within the first three; "
        f"false statements in {with_false} of {len(verdicts)} reports"
    )
