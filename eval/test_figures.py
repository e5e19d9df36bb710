"""Tests of the figures and of the report, with numbers whose answers are known."""

from __future__ import annotations

import math
import random
import tempfile
import unittest
from pathlib import Path

from cells import TOGGLE, Cell, Measured, Phase
from figures import geometric_mean
from intervals import interval
from report import Report


def noisy(profiler: str, workload: str, cost: float, seed: int) -> Measured:
    """A cell whose profiler costs so much, with 3 % of noise in every phase."""
    chance = random.Random(seed)
    phases = []
    for i in range(61):
        done = 1_000_000 * chance.gauss(1, 0.03) / (cost if i % 2 else 1)
        phases.append(Phase(i % 2 == 1, i * 10**8, (i + 1) * 10**8, int(done), 2 * 10**8, 10**8))
    return Measured(Cell(TOGGLE, 25, workload, profiler, 0), phases, [0, 10**6], [0, 10**6], 3 * 2**20, 2**26)


class FiguresTest(unittest.TestCase):
    """Intervals."""

    def test_a_median_lies_in_its_interval_and_more_values_narrow_it(self) -> None:
        chance = random.Random(1)
        values = [chance.gauss(1, 0.1) for _ in range(400)]
        few, many = interval([values[:20]]), interval([values])
        self.assertLess(many.high - many.low, few.high - few.low)
        self.assertTrue(many.contains(many.value) and many.contains(1.0))

    def test_of_few_values_nothing_can_be_said(self) -> None:
        self.assertTrue(interval([[1.0, 2.0, 2.1, 2.2, 2.3]]).contains(1e9))
        self.assertFalse(interval([[1.0, 2.0, 2.1, 2.2, 2.3, 2.4]]).contains(1e9))

    def test_intervals_hold_the_truth_as_often_as_they_say(self) -> None:
        chance = random.Random(2)
        for rounds, values in ((1, 6), (1, 12), (2, 5), (3, 1), (4, 5)):
            held = 0
            for _ in range(1000):
                jvms = [chance.gauss(0, 0.05 if rounds >= 3 else 0) for _ in range(rounds)]
                drawn = [[math.exp(jvm + chance.gauss(0, 0.02)) for _ in range(values)] for jvm in jvms]
                held += interval(drawn).contains(1.0)
            self.assertTrue(935 <= held, (rounds, values, held))

    def test_several_programs_together_are_told_better_than_each(self) -> None:
        chance = random.Random(3)
        held, narrower = 0, 0
        for _ in range(500):
            programs = [[[math.exp(chance.gauss(0, 0.05)) for _ in range(10)]] for _ in range(5)]
            mean = geometric_mean(programs)
            held += mean.contains(1.0)
            narrower += mean.high - mean.low < min(one.high - one.low for one in map(interval, programs))
        self.assertTrue(465 <= held and narrower > 350, (held, narrower))

    def test_each_program_counts_once(self) -> None:
        mean = geometric_mean([[[2.0] * 6], [[8.0] * 300]])
        self.assertAlmostEqual(mean.value, 4.0)
        self.assertAlmostEqual(mean.low, 4.0)


class ReportTest(unittest.TestCase):
    """The whole way from raw data to the page."""

    def test_a_known_cost_is_found_and_no_cost_is_none(self) -> None:
        measured = [
            noisy(name, workload, cost, seed)
            for seed, workload in enumerate(("kernels", "javac"))
            for name, cost in (("none", 1.0), ("busy-5", 1.05))
        ]
        failed = Measured(Cell(TOGGLE, 25, "h2", "async-lock", 0), [], failure="no library")
        report = Report([*measured, failed], {"processor": "drawn <by hand>"})
        heading, _, summary = report.tables()[0]
        self.assertIn("CPU time", heading)
        found = dict(zip(summary["profiler"], summary["toggle 25"]))
        self.assertTrue(found["busy-5"].endswith(" (2)"), found)
        middle, low, high = (float(x) for x in found["busy-5"].removesuffix(" (2)").replace("[", "").replace("]", "").split())
        self.assertTrue(4 < middle < 6 and low < 5 < high, found)
        _, low, high = (float(x) for x in found["none"].removesuffix(" (2)").replace("[", "").replace("]", "").split())
        self.assertTrue(low <= 0 <= high, found)
        with tempfile.TemporaryDirectory() as name:
            report.write(Path(name))
            page = (Path(name) / "index.html").read_text(encoding="utf-8")
            self.assertIn("<svg", page)
            self.assertIn("drawn &lt;by hand&gt;", page)
            self.assertIn("Not measured: toggle/25/h2/async-lock/0: no library", page)
            self.assertIn("toggle,25,kernels,busy-5", (Path(name) / "cpu.csv").read_text(encoding="utf-8"))
            self.assertTrue((Path(name) / "time.csv").exists())


if __name__ == "__main__":
    unittest.main()
