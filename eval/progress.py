"""How far an evaluation is, and how long it will still take."""

from __future__ import annotations

from typing import TextIO

BAR = 30


class Progress:
    """A bar and an estimate, which learns from how long things did take."""

    def __init__(self, expected_s: float, cells: int, output: TextIO) -> None:
        self.expected_s = expected_s
        self.cells = cells
        self.output = output
        self.done = 0
        self.done_expected_s = 0.0
        self.done_took_s = 0.0

    def scaled(self, expected_s: float) -> float:
        """What something expected to take so long will take, as things went so far."""
        factor = self.done_took_s / self.done_expected_s if self.done_expected_s > 0 else 1.0
        return expected_s * factor

    def left_s(self) -> float:
        """The estimate of the rest."""
        return self.scaled(self.expected_s - self.done_expected_s)

    def line(self, what: str) -> str:
        """``[####......] 12/40, 8 min left: what``."""
        full = BAR * self.done // max(1, self.cells)
        return f"[{'#' * full}{'.' * (BAR - full)}] {self.done}/{self.cells}, {self.left_s() / 60:.0f} min left: {what}"

    def begin(self, what: str) -> None:
        """A cell begins."""
        if self.output.isatty():
            self.output.write("\r\x1b[K" + self.line(what))
        elif self.done % 10 == 0:
            self.output.write(self.line(what) + "\n")
        self.output.flush()

    def end(self, expected_s: float, took_s: float, failure: str) -> None:
        """It has ended, with or without a failure."""
        self.done += 1
        self.done_expected_s += expected_s
        self.done_took_s += took_s
        if failure:
            self.output.write(f"\n{failure}\n")
        elif self.output.isatty() and self.done == self.cells:
            self.output.write("\n")
        self.output.flush()
