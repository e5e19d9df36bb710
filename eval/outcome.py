"""What `diagnose.py` found, as a table and in sentences."""

from __future__ import annotations

from dataclasses import dataclass, field

import gains
import judging
from intervals import Interval
from judging import Program, Verdict
from peers import PEERS, Peer


@dataclass
class Outcome:
    """Verdicts on recordings, gains of fixes, and what peers say. Only what was measured is in it."""

    programs: dict[str, Program] = field(default_factory=dict)
    verdicts: dict[tuple[str, str, str], Verdict] = field(default_factory=dict)
    """By program, release and way."""
    gains: dict[tuple[str, str], Interval] = field(default_factory=dict)
    """By program and release."""
    peers: dict[tuple[str, Peer], str] = field(default_factory=dict)
    """Cells of the table, by program and peer."""
    failed: int = 0
    """Recordings that could not be made or read, pairs and peers' runs that failed."""

    def table(self) -> str:
        """A row for each program, in Markdown."""
        cases = list(dict.fromkeys((release, way) for _, release, way in self.verdicts))
        releases = list(dict.fromkeys(release for _, release in self.gains))
        peers = [peer for peer in PEERS if any(peer is known for _, known in self.peers)]
        head = ["program", "library", *(f"{release}, {way}" for release, way in cases)]
        head += [f"fix gains, {release}" for release in releases] + [peer.title for peer in peers]
        rows = [head, ["---"] * len(head)]
        for name, program in self.programs.items():
            verdicts = [self.verdicts.get((name, *case)) for case in cases]
            row = [name, program.library, *(verdict.shown() if verdict else "" for verdict in verdicts)]
            row += [gains.shown(self.gains.get((name, release))) for release in releases]
            row += [self.peers.get((name, peer), "") for peer in peers]
            rows.append(row)
        return "".join(f"| {' | '.join(row)} |\n" for row in rows)

    def sentences(self) -> list[str]:
        """The sums, and at the end how many cases passed and failed."""
        verdicts = list(self.verdicts.values())
        lines = [judging.summary(verdicts)] if verdicts else []
        if self.gains:
            raised = sum(map(gains.raises, self.gains.values()))
            lines.append(f"{raised} of {len(self.gains)} fixes raise throughput: the whole 95 % interval is above 1")
        lines += [self.of_peer(peer) for peer in PEERS if any(peer is known for _, known in self.peers)]
        right = sum(verdict.is_right for verdict in verdicts)
        return [*lines, f"{right} passed, {len(verdicts) - right + self.failed} failed"]

    def of_peer(self, peer: Peer) -> str:
        """How often a peer names the cause."""
        cells = [cell for (name, known), cell in self.peers.items() if known is peer and self.programs[name].cause]
        first = cells.count("first")
        return f"{peer.title}: {first} of {len(cells)} causes first, {first + cells.count('in the first three')} within the first three"

    def is_right(self) -> bool:
        """Whether every case passed and nothing failed."""
        return self.failed == 0 and all(verdict.is_right for verdict in self.verdicts.values())
