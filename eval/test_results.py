"""Tests of the measured part of RESULTS.md, from data whose answers are known."""

from __future__ import annotations

import random
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

import contents
import published
import results
from agreement import Agreement
from cells import CHECK, FRESH, TOGGLE, Cell, Measured, Phase
from intervals import Interval
from profilers import ProfilerError
from recordings import Contents
from report import Report


def toggled(profiler: str, workload: str, cost: float, noise: float = 0.001) -> Measured:
    """A cell whose profiler costs so much."""
    chance = random.Random(profiler + workload)
    phases = [
        Phase(i % 2 == 1, i * 10**9, (i + 1) * 10**9, int(10**6 * chance.gauss(1, noise) / (cost if i % 2 else 1)), 10**9, 10**9)
        for i in range(41)
    ]
    return Measured(Cell(TOGGLE, 25, workload, profiler, 0), phases)


def recorded(profiler: str, contents: Contents) -> Measured:
    """A fresh JVM with a recording."""
    return Measured(Cell(FRESH, 25, "queued-monitor", profiler, 0), [Phase(True, 0, 10**9, 10, 10**9, 10**9)],
                    contents=contents, recorded_s=1.0)  # fmt: skip


def checked(name: str, by: str, round_: int = 0, **figures: float) -> Measured:
    """What a check found."""
    return Measured(Cell(CHECK, 25, name, by, round_), [], figures=figures)


class VerdictTest(unittest.TestCase):
    """Only what the intervals decide is decided."""

    def test_limits(self) -> None:
        self.assertEqual(results.verdict(Interval(1.01, 1.0, 1.02), 1.02), results.MET)
        self.assertEqual(results.verdict(Interval(1.03, 1.021, 1.04), 1.02), results.MISSED)
        self.assertEqual(results.verdict(Interval(1.01, 1.0, 1.03), 1.02), results.OPEN)

    def test_alike_is_only_what_cannot_differ_by_much(self) -> None:
        self.assertEqual(results.judged_alike(Interval(1.003, 0.999, 1.008), Interval(0.998, 0.99, 1.004)), results.MET)
        self.assertEqual(results.judged_alike(Interval(1.0, 0.95, 1.05), Interval(1.0, 0.96, 1.04)), results.OPEN)
        self.assertEqual(results.judged_alike(Interval(1.05, 1.03, 1.07), Interval(1.0, 0.99, 1.01)), results.MISSED)
        endless = Interval(1.0, float("-inf"), float("inf"))
        self.assertEqual(results.judged_alike(endless, endless), results.OPEN)

    def test_a_null_run_that_could_hide_much_tells_little(self) -> None:
        self.assertEqual(results.judged_null(Interval(1.0, 0.99, 1.02)), "yes")
        self.assertEqual(results.judged_null(Interval(1.1, 0.98, 1.14)), "yes, but tells little")
        self.assertEqual(results.judged_null(Interval(1.1, 1.01, 1.14)), "**no**")

    def test_a_third_of_a_peer(self) -> None:
        theirs = Interval(1.06, 1.057, 1.063)
        self.assertEqual(results.excess_verdict(Interval(1.015, 1.013, 1.018), theirs, 1 / 3), results.MET)
        self.assertEqual(results.excess_verdict(Interval(1.05, 1.04, 1.06), theirs, 1 / 3), results.MISSED)
        self.assertEqual(results.excess_verdict(Interval(1.02, 1.015, 1.025), theirs, 1 / 3), results.OPEN)
        self.assertEqual(results.excess_verdict(Interval(1.02, float("-inf"), 2.0), theirs, 1 / 3), results.OPEN)


class ResultsTest(unittest.TestCase):
    """The tables."""

    text = ""

    @classmethod
    def setUpClass(cls) -> None:
        held = Contents(30_000, 9_000, {"jdk.JavaMonitorEnter": 1_000, "headway.Flush": 500}, samples=2_000, running=2_000, cut_off=4)
        measured = [
            toggled("none", "kernels", 1.0), toggled("busy-5", "kernels", 1.05), toggled("busy-5", "megamorphic", 1.08),
            toggled("headway-lock", "queued-monitor", 1.2), toggled("async-lock", "queued-monitor", 1.1),
            toggled("headway-cpu-1ms", "kernels", 1.012), toggled("async-cpu-1ms", "kernels", 1.06),
            toggled("interrupt-1ms", "kernels", 1.01),
            recorded("headway-lock", held), recorded("headway-lock-zst", replace(held, bytes=8_000)), recorded("headway-cpu-1ms", held), recorded("async-lock", held),
            toggled("headway-lock-no-chains", "h2", 1.06), toggled("headway-lock", "h2", 1.07),
            *(checked("waits-2.5ms", "headway", i, coverage=0.97, coverage_ge_1ms=long, attributed=0.93, attributable=0.91,
                      wrong=0.0, approximate=0.01) for i, long in enumerate((0.9995, 0.9993))),
            checked("waits-20us", "headway", coverage=0.80, coverage_ge_1ms=0.9, attributed=0.904, attributable=0.9, wrong=0.004,
                    approximate=0.0, missing_ns_per_contention=1500.0),
            checked("waits-20us", "jfr", coverage=0.82, coverage_ge_1ms=0.9),
            checked("answers-handshake-1ms", "headway", median_us=12.0, p97_5_us=140.0),
            checked("answers-handshake-10ms", "headway", median_us=12.0, p97_5_us=40.0),
            checked("causal-lines", "headway", error_points=0.5, covered=1.0),
            checked("causal-lines", "headway", 1, error_points=-3.5, covered=1.0),
        ]  # fmt: skip
        cls.text = results.measured_part(Report(measured, {"processor": "drawn"}))

    def line(self, *words: str) -> str:
        """The first line with all these words."""
        return next(line for line in self.text.splitlines() if all(word in line for word in words))

    def test_controls_are_judged(self) -> None:
        self.assertTrue(self.line("| kernels |").endswith("| yes |"), self.line("| kernels |"))
        self.assertTrue(self.line("| megamorphic |").endswith("| **no** |"), self.line("| megamorphic |"))

    def test_targets_have_figures_peers_and_a_verdict(self) -> None:
        worst = self.line("worst contended")
        self.assertIn("queued-monitor +20.", worst)
        self.assertIn("async-lock +10.", worst)
        self.assertTrue(worst.endswith("**missed** |"), worst)
        self.assertIn("1.5 interrupts: met; a third of async-profiler: met", self.line("CPU sampling at 1 ms"))
        self.assertIn("99.80 %", self.line("samples with a complete stack"))
        packed = self.line("bytes per lock event")
        self.assertTrue(packed.endswith("| queued-monitor 8.0 | async-lock: queued-monitor 9.0 | met |"), packed)
        self.assertIn(results.NOT_HERE, self.line("CPU sampling at 0.1 ms"))

    def test_checks_are_targets_too(self) -> None:
        waits = self.line("recorded / self-measured")
        self.assertIn("| 2.5ms 99.94; 20us 80.00 (-1.5 us each) | jfr 20us 82.00 |", waits)
        self.assertTrue(waits.endswith(">= 1 ms: met; below, not under JFR: **missed** |"), waits)
        owners = self.line("attributed to the right owner")
        self.assertIn("(least 80.0 %, 20us); wrong at least 0.40 % (20us, the most) |", owners)
        self.assertTrue(owners.endswith("**missed** |"), owners)
        asked = self.line("safepoint-based sampling")
        self.assertIn("| 97.5 % within 40 us at 10ms; 97.5 % within 140 us at 1ms |", asked)
        self.assertTrue(asked.endswith("| latency at 10ms: met; latency at 1ms: **missed** |"), asked)
        gains = self.line("error of predicted gains")
        self.assertTrue(gains.endswith("lines +0.5, lines -3.5 points; truth in the interval of 2 of 2 |  | **missed** |"), gains)

    def test_published_figures_stand_beside_ours(self) -> None:
        self.assertIn("headway-lock-no-chains +6.", self.line("without call chains (fig. 12)"))
        self.assertIn("| 6.4 % of 7.8 %; xalan 73 % of 79 % |", self.line("without call chains (fig. 12)"))
        self.assertIn("queued-monitor +20.", self.line("the worst made for it"))
        self.assertIn("handshake: median 12 us, 97.5 % within 140 |", self.line("(fig. 3.27)"))
        self.assertIn("JavaMonitorEnter 100 %", self.line("composition (fig. 11)"))
        self.assertIn(results.NOT_HERE, self.line("steal time each 10 ms"))

    def test_checks_have_tables_of_their_own(self) -> None:
        table = self.text.split("### Waits")[1]
        self.assertIn("| 25 | waits-2.5ms | headway | 0.97 | 0.9994 | 0.93 | 0.91 | 0.0 | 0.01 |", table)

    def test_many_figures_stand_below_each_other(self) -> None:
        many = {f"part{number}_ns": float(number) for number in range(20)}
        table = contents.checked([checked("walk", "headway", **many)])["walk"]
        self.assertEqual(list(table.columns), ["figure", "walk 25"])
        self.assertEqual(table.iloc[3].tolist(), ["part3_ns", 3.0])

    def test_what_full_buffers_dropped_stands_by_their_size(self) -> None:
        def sized(profiler: str, dropped: int) -> Measured:
            return recorded(profiler, Contents(1000, 500, {"headway.Unpark": 900}, lost={"buffer_full": dropped}))

        default, small = sized("headway-lock", 0), sized("headway-lock-256k", 100)
        self.assertTrue(contents.buffers([default]).empty)
        self.assertTrue(contents.buffers([]).empty)
        measured = [default, small, toggled("headway-lock-256k", "queued-monitor", 1.2)]
        table = Report(measured, {}).buffers()
        self.assertEqual(table["buffers_MiB"].tolist(), [0.25, 16.0])
        self.assertEqual(table["dropped_%"].tolist(), [10.0, 0.0])
        self.assertEqual(table["events/s"].tolist(), [1000.0, 900.0])
        self.assertTrue(table["overhead"][0].startswith("+20."), table)
        self.assertEqual(table["overhead"][1], "")
        self.assertIn("0.25 MiB", published.drawings(Report(measured, {}))["buffers"][1])

    def test_samples_and_trees_are_drawn(self) -> None:
        sampled = recorded("headway-cpu-1ms", Contents(1000, 500, {}, samples=100, cut_off=1, lost={"sample_lost": 3}))
        alike = [Agreement(25, "kernels", "cpu-1ms", "headway", "async", 0.9, 0.8)]
        drawn = published.drawings(Report([sampled], {}, alike))
        self.assertEqual(list(drawn), ["incomplete", "overlaps"])
        self.assertIn("lost", drawn["incomplete"][1])
        self.assertIn("headway / async", drawn["overlaps"][1])

    def test_losing_is_told(self) -> None:
        where = self.text.split("costs more than a peer")[1].split("###")[0]
        self.assertIn("queued-monitor | CPU | headway-lock", where)
        self.assertNotIn("kernels", where)


class FailureTest(unittest.TestCase):
    """What could not be measured is told without this machine's directories."""

    def test_files_keep_their_names_only(self) -> None:
        line = 'Not measured: toggle/25/kernels/headway/0: load /some/where/libheadway.so "file=/some/where/else/a.jfr": 1'
        self.assertEqual(
            results.without_directories(line),
            'Not measured: toggle/25/kernels/headway/0: load libheadway.so "file=a.jfr": 1',
        )


class RenewTest(unittest.TestCase):
    """What people wrote stays."""

    def renewed(self, text: str) -> str:
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "RESULTS.md"
            file.write_text(text, encoding="utf-8")
            results.renew(file, Report([toggled("none", "kernels", 1.0)], {}))
            return file.read_text(encoding="utf-8")

    def test_only_the_part_between_the_marks_changes(self) -> None:
        text = self.renewed(f"before\n{results.BEGIN}\nold\n{results.END}\nafter\n")
        self.assertTrue(text.startswith("before\n") and text.endswith("after\n"))
        self.assertNotIn("old\n", text)
        self.assertEqual(self.renewed(text), text)

    def test_charts_lie_beside_and_are_shown(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "RESULTS.md"
            file.write_text(f"{results.BEGIN}\n{results.END}\n", encoding="utf-8")
            lock = [toggled("headway-lock", "h2", 1.2), toggled("async-lock", "h2", 1.1)]
            results.renew(file, Report(lock, {}))
            self.assertIn("](charts/tracing.svg)", file.read_text(encoding="utf-8"))
            self.assertTrue((Path(name) / "charts/tracing.svg").read_text(encoding="utf-8").startswith("<svg"))
            self.assertFalse((Path(name) / "charts/data.svg").exists())

    def test_without_marks_nothing_is_written(self) -> None:
        with self.assertRaises(ProfilerError):
            self.renewed("by hand\n")


if __name__ == "__main__":
    unittest.main()
