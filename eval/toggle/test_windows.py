"""Tests of the comparison of windows: python3 -m unittest discover eval/toggle"""

from __future__ import annotations

import unittest

from windows import Phase, Quartiles, Window, compare, rates


def draw(pattern: str, operations: dict[str, int]) -> tuple[list[Phase], list[Window]]:
    """Phases from text, one character per window of 100 ns: ``o`` off, ``X`` on, ``|`` ends a phase."""
    phases: list[Phase] = []
    windows: list[Window] = []
    time = 0
    for part in pattern.split("|"):
        start = time
        for kind in part:
            windows.append(Window(time, time + 100, operations[kind], 100, 50))
            time += 100
        phases.append(Phase(part[0] == "X", start, time))
    return phases, windows


class WindowsTest(unittest.TestCase):
    """Ratios of drawn phases."""

    def test_lines_of_the_workload(self) -> None:
        self.assertEqual(Window.parse("window 1 2 3 4 5\n"), Window(1, 2, 3, 4, 5))
        self.assertIsNone(Window.parse("READY\n"))

    def test_a_tenth_less_throughput(self) -> None:
        phases, windows = draw("oooo|XXXX|oooo|XXXX|oooo|XXXX|oooo", {"o": 100, "X": 90})
        comparison = compare(phases, windows)
        self.assertEqual(comparison.throughput, Quartiles(0.9, 0.9, 0.9, 3))
        assert comparison.process_cpu is not None
        self.assertAlmostEqual(comparison.process_cpu.median, 100 / 90)

    def test_steady_drift_cancels(self) -> None:
        phases = [Phase(i % 2 == 1, i * 100, i * 100 + 100) for i in range(7)]
        windows = [Window(p.start_ns, p.end_ns, 1000 - 50 * i, 100, 50) for i, p in enumerate(phases)]
        comparison = compare(phases, windows)
        assert comparison.throughput is not None
        self.assertAlmostEqual(comparison.throughput.median, 1.0)

    def test_windows_that_reach_out_of_a_phase_do_not_count(self) -> None:
        windows = [Window(0, 100, 10, 1, 1), Window(100, 200, 20, 1, 1), Window(190, 290, 1000, 1, 1)]
        inside = rates(Phase(True, 50, 250), windows)
        assert inside is not None
        self.assertAlmostEqual(inside.operations_per_s, 20 * 1e9 / 100)

    def test_too_few_pairs_say_nothing(self) -> None:
        phases, windows = draw("oo|XX|oo", {"o": 100, "X": 90})
        self.assertIsNone(compare(phases, windows).throughput)


if __name__ == "__main__":
    unittest.main()
