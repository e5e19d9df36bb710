"""Tests of what is compared with what, and of the progress told meanwhile."""

from __future__ import annotations

import io
import unittest
from dataclasses import replace

from cells import FRESH, TOGGLE, Cell, Measured, Phase
from progress import Progress
from ratios import all_pairs


def draw(pattern: str, operations: dict[str, int], drift: int = 0) -> Measured:
    """A toggled cell from text, one phase per character: ``o`` off, ``X`` on; the CPU is always busy."""
    phases = [
        Phase(kind == "X", i * 100, (i + 1) * 100, operations[kind] - drift * i, 200, 150, 1, 10 if kind == "o" else 15, 20)
        for i, kind in enumerate(pattern)
    ]
    return Measured(Cell(TOGGLE, 25, "kernels", "p", 0), phases)


class ToggleTest(unittest.TestCase):
    """Ratios of drawn phases."""

    def test_a_tenth_less_throughput(self) -> None:
        pairs = all_pairs([draw("oXoXo", {"o": 100, "X": 90})])
        self.assertEqual(len(pairs), 2)
        for pair in pairs:
            self.assertAlmostEqual(pair.throughput, 0.9)
            self.assertAlmostEqual(pair.cpu, 100 / 90)
            self.assertEqual(pair.p99, 1.5)

    def test_steady_drift_cancels(self) -> None:
        for pair in all_pairs([draw("oXoXoXo", {"o": 1000, "X": 1000}, drift=50)]):
            self.assertAlmostEqual(pair.throughput, 1.0)

    def test_phases_in_which_a_program_warms_up_do_not_count(self) -> None:
        drawn = draw("oXoXoXoXo", {"o": 100, "X": 100})
        slow = {0: 50, 1: 60, 2: 80}
        phases = [replace(s, operations=slow.get(i, s.operations)) for i, s in enumerate(drawn.phases)]
        pairs = all_pairs([replace(drawn, phases=phases)])
        self.assertEqual([pair.cpu for pair in pairs], [1.0, 1.0])
        unsettled = [replace(s, operations=1000 - 100 * i) for i, s in enumerate(reversed(drawn.phases))]
        self.assertEqual(len(all_pairs([replace(drawn, phases=unsettled)])), 4)
        falling = [replace(s, operations=100 + 50 * i) for i, s in enumerate(drawn.phases)]
        self.assertEqual(len(all_pairs([replace(drawn, phases=falling)])), 2)

    def test_only_neighbours_that_are_off_are_compared_with(self) -> None:
        self.assertEqual(all_pairs([draw("oXXo", {"o": 100, "X": 90})]), [])

    def test_nothing_done_gives_no_ratio(self) -> None:
        self.assertEqual(all_pairs([draw("oXo", {"o": 100, "X": 0})]), [])


class FreshTest(unittest.TestCase):
    """Fresh JVMs are compared within their round."""

    def test_each_round_has_its_own_base(self) -> None:
        def jvm(profiler: str, number: int, operations: int) -> Measured:
            cell = Cell(FRESH, 17, "kernels", profiler, number)
            return Measured(cell, [Phase(profiler == "p", 0, 100, operations, 100, 100)])

        measured = [jvm("base", 0, 100), jvm("p", 0, 50), jvm("base", 1, 10), jvm("p", 1, 5), jvm("p", 2, 7)]
        self.assertEqual([pair.throughput for pair in all_pairs(measured)], [0.5, 0.5])


class ProgressTest(unittest.TestCase):
    """The estimate learns."""

    def test_cells_that_take_twice_as_long_double_the_rest(self) -> None:
        progress = Progress(60, 3, io.StringIO())
        progress.end(20, 40, "")
        self.assertEqual(progress.left_s(), 80)
        self.assertEqual(progress.line("x"), "[##########....................] 1/3, 1 min left: x")


if __name__ == "__main__":
    unittest.main()
