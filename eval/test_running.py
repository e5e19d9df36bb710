"""Tests of an evaluation that is killed, or has too little time: with cells that only pretend."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from cells import TOGGLE, Cell, Measured, RawData
from progress import Progress
from running import run_all

CELLS = [Cell(TOGGLE, 25, "kernels", "none", number) for number in range(12)]
HERE = Path(__file__).parent
PATIENCE_S = 60.0


def pretend(directory: Path, quick: int = len(CELLS)) -> None:
    """Measures what is missing, noting each beginning. After so many quick cells one takes until it is killed."""
    raw = RawData(directory / "raw.jsonl")
    done = raw.done()

    def measure(cell: Cell) -> Measured:
        with (directory / "begun").open("a", encoding="utf-8") as log:
            log.write(cell.key() + "\n")
        if len(raw.done()) - len(done) >= quick:
            time.sleep(600)
        return Measured(cell, [])

    left = [cell for cell in CELLS if cell.key() not in done]
    run_all(left, raw, measure, lambda cell: 1.0, Progress(len(left), len(left), io.StringIO()))


class KilledTest(unittest.TestCase):
    """kill -9 in the middle loses the cell under way and nothing else."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        self.raw = RawData(self.directory / "raw.jsonl")

    def begun(self) -> list[str]:
        """Cells in the order in which they were begun, over all runs."""
        log = self.directory / "begun"
        return log.read_text(encoding="utf-8").split() if log.exists() else []

    def killed_after(self, cells: int) -> None:
        """Runs until so many are done and one more is under way, then kills.

        The process waits there for its end, however late this one looks: a busy machine may take half a minute.
        """
        program = f"import pathlib, test_running; test_running.pretend(pathlib.Path({str(self.directory)!r}), {cells})"
        process = subprocess.Popen([sys.executable, "-B", "-c", program], cwd=HERE)
        deadline = time.monotonic() + PATIENCE_S
        try:
            while len(self.raw.done()) < cells or len(self.begun()) <= len(self.raw.done()):
                self.assertIsNone(process.poll(), "it ended before it could be killed")
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.001)
        finally:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()

    def test_it_goes_on_where_it_was(self) -> None:
        self.killed_after(3)
        done = list(self.raw.done())
        pretend(self.directory)
        keys = [measured.cell.key() for measured in self.raw.read()]
        self.assertEqual(keys, [cell.key() for cell in CELLS])
        begun = self.begun()
        for key in done:
            self.assertEqual(begun.count(key), 1, f"{key} was done, and measured again")

    def test_half_a_line_is_measured_again(self) -> None:
        pretend(self.directory)
        whole = self.raw.path.read_bytes()
        self.raw.path.write_bytes(whole[: len(whole) - 10])
        pretend(self.directory)
        self.assertEqual([measured.cell.key() for measured in self.raw.read()], [cell.key() for cell in CELLS])
        self.assertEqual(self.begun().count(CELLS[-1].key()), 2)


class BudgetTest(unittest.TestCase):
    """What does not fit the time is left, and told."""

    def left(self, expected_s: float, budget_s: float) -> int:
        """How many of the cells, which take no time but are expected to, are left."""
        with tempfile.TemporaryDirectory() as name:
            raw = RawData(Path(name) / "raw.jsonl")
            progress = Progress(1, len(CELLS), io.StringIO())
            return len(run_all(CELLS, raw, lambda cell: Measured(cell, []), lambda cell: expected_s, progress, budget_s))

    def test_the_first_cell_is_measured_in_any_case(self) -> None:
        self.assertEqual(self.left(expected_s=1e9, budget_s=1e-9), len(CELLS) - 1)

    def test_enough_time_is_enough(self) -> None:
        self.assertEqual(self.left(expected_s=1.0, budget_s=1e6), 0)


if __name__ == "__main__":
    unittest.main()
