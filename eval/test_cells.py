"""Tests of the plan and of what is kept: python3 -m unittest discover eval"""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from cells import CHECK, FRESH, TOGGLE, Cell, Measured, RawData, Phase, plan, plan_checks
from checks import Check
from profilers import Jfr, Profiler, all_profilers
from workloads import WORKLOADS

NONE = Profiler("none", "")
NEW_ONLY = Jfr("new", "", "default", oldest_jdk=25)


def keys(modes: list[str], jdks: list[int], names: list[str], seed: int = 1) -> list[str]:
    """Keys of a plan of one toggled JVM and two fresh ones of each kind."""
    return [c.key() for c in plan(modes, jdks, [WORKLOADS[n] for n in names], [NONE, NEW_ONLY], {TOGGLE: 1, FRESH: 2}, seed)]


class PlanTest(unittest.TestCase):
    """What is measured, and in which order."""

    def test_only_what_a_jdk_has(self) -> None:
        planned = keys([TOGGLE], [17, 25], ["kernels", "virtual-threads"])
        self.assertEqual(
            sorted(planned),
            ["toggle/17/kernels/none/0", "toggle/25/kernels/new/0", "toggle/25/kernels/none/0",
             "toggle/25/virtual-threads/new/0", "toggle/25/virtual-threads/none/0"],
        )  # fmt: skip

    def test_only_on_jdks_that_a_program_runs_on(self) -> None:
        planned = keys([TOGGLE, FRESH], [17, 21, 25], ["cassandra"])
        self.assertEqual({key.split("/")[1] for key in planned}, {"17"})
        cassandra, threads, compiler = (WORKLOADS[name] for name in ("cassandra", "virtual-threads", "javac"))
        self.assertEqual([jdk for jdk in (17, 21, 25) if threads.runs_on(jdk)], [21, 25])
        self.assertEqual([cassandra.why_not(jdk, False) for jdk in (17, 25)], ["", "17 is the last it runs on"])
        self.assertEqual([threads.why_not(jdk, False) for jdk in (17, 25)], ["needs 21 or later", ""])
        self.assertEqual([compiler.why_not(21, has) for has in (True, False)], ["", "no compiler there"])

    def test_fresh_jvms_have_a_base_beside_none(self) -> None:
        planned = keys([FRESH], [17], ["kernels"])
        self.assertEqual(sorted(planned[:2]), ["fresh/17/kernels/base/0", "fresh/17/kernels/none/0"])
        self.assertEqual(sorted(planned[2:]), ["fresh/17/kernels/base/1", "fresh/17/kernels/none/1"])

    def test_some_profilers_belong_to_one_mode_only(self) -> None:
        both = [all_profilers()[name] for name in ("getenv", "headway-park-statistics")]
        planned = plan([TOGGLE, FRESH], [17], [WORKLOADS["kernels"]], both, {TOGGLE: 1, FRESH: 1}, 1)
        self.assertEqual(
            sorted(cell.key() for cell in planned),
            ["fresh/17/kernels/base/0", "fresh/17/kernels/getenv/0", "toggle/17/kernels/headway-park-statistics/0"],
        )

    def test_the_order_is_by_chance_but_repeatable(self) -> None:
        names = list(WORKLOADS)
        self.assertEqual(keys([TOGGLE], [17, 25], names), keys([TOGGLE], [17, 25], names))
        self.assertNotEqual(keys([TOGGLE], [17, 25], names), keys([TOGGLE], [17, 25], names, seed=2))


    def test_fresh_jvms_that_are_compared_follow_each_other(self) -> None:
        planned = keys([TOGGLE, FRESH], [17, 25], ["kernels", "javac", "h2"])
        fresh = [key.rsplit("/", 2)[0] + key[-1] for key in planned if key.startswith("fresh")]
        changes = [one for one, next_ in zip(fresh, [*fresh[1:], ""]) if one != next_]
        self.assertEqual(len(changes), len(set(changes)), fresh)

    def test_checks_without_a_jvm_are_made_once_a_round(self) -> None:
        made = [Check(name, "", 1.0, per_jdk, lambda machine, jdk: {}) for name, per_jdk in (("a@jfr", True), ("b", False))]
        self.assertEqual(
            sorted(cell.key() for cell in plan_checks(made, [17, 25], 2, seed=1)),
            ["check/17/a/jfr/0", "check/17/a/jfr/1", "check/25/a/jfr/0", "check/25/a/jfr/1",
             "check/25/b/headway/0", "check/25/b/headway/1"],
        )  # fmt: skip


class RawDataTest(unittest.TestCase):
    """An evaluation that was killed goes on."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = Path(directory.name) / "raw.jsonl"
        self.raw = RawData(self.path)

    def measured(self, number: int, failure: str = "") -> Measured:
        """A cell of one phase."""
        cell = Cell(TOGGLE, 17, "kernels", "none", number)
        return Measured(cell, [Phase(True, 1, 2, 3, 4, 5)], [6], [7], 8, 9, 0.5, failure)

    def test_what_is_written_is_read(self) -> None:
        self.raw.append(self.measured(0))
        self.raw.append(self.measured(1))
        self.assertEqual(list(self.raw.read()), [self.measured(0), self.measured(1)])

    def test_figures_of_checks_are_kept(self) -> None:
        measured = Measured(Cell(CHECK, 25, "walk", "headway", 0), [], figures={"walk_ns": 300.5})
        self.raw.append(measured)
        self.assertEqual(list(self.raw.read()), [measured])

    def test_failures_are_measured_again(self) -> None:
        self.raw.append(self.measured(0))
        self.raw.append(self.measured(1, "no JVM"))
        self.assertEqual(self.raw.done(), {"toggle/17/kernels/none/0"})

    def test_a_line_that_was_cut_off_does_not_count_and_does_not_spoil_the_next(self) -> None:
        self.raw.append(self.measured(0))
        self.raw.append(self.measured(1))
        self.path.write_bytes(self.path.read_bytes()[:-20])
        self.assertEqual(self.raw.done(), {"toggle/17/kernels/none/0"})
        self.raw.append(self.measured(2))
        self.assertEqual(list(self.raw.read()), [self.measured(0), self.measured(2)])


if __name__ == "__main__":
    unittest.main()
