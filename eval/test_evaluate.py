"""Tests of what is chosen by the command line."""

from __future__ import annotations

import os
import unittest
from unittest import mock

from evaluate import Evaluation, parse
from profilers import ProfilerError

HOMES = {f"HEADWAY_JDK{release}": f"/nowhere/{release}" for release in (17, 21, 25)}


def evaluation(*arguments: str) -> Evaluation:
    """An evaluation with runtimes of all JDKs, none of which has a compiler."""
    with mock.patch.dict(os.environ, HOMES):
        return Evaluation(parse(["--profilers", "none", *arguments]))


class ChosenTest(unittest.TestCase):
    """Programs and JDKs."""

    def test_what_cannot_be_run_is_left_out_and_told(self) -> None:
        found = evaluation("--workloads", "cassandra,javac,kernels", "--jdks", "17,25")
        self.assertEqual(
            sorted(cell.key() for cell in found.cells),
            ["toggle/17/cassandra/none/0", "toggle/17/kernels/none/0", "toggle/25/kernels/none/0"],
        )
        self.assertIn(
            "left out: cassandra on 25 (17 is the last it runs on), javac on 17 (no compiler there), "
            "javac on 25 (no compiler there)",
            found.told(found.cells),
        )

    def test_all_that_was_asked_for_is_run(self) -> None:
        found = evaluation("--workloads", "kernels", "--jdks", "17")
        self.assertNotIn("left out", found.told(found.cells))

    def test_only_what_is_run_is_built(self) -> None:
        self.assertEqual(evaluation("--quick").modules(), ["eval-workloads"])
        self.assertEqual(evaluation("--workloads", "cassandra", "--jdks", "25").modules(), ["eval-workloads"])
        for asked in (["--workloads", "cassandra", "--jdks", "17"], ["--full"]):
            self.assertEqual(evaluation(*asked).modules(), ["eval-cassandra", "eval-workloads"] + (["workloads"] if asked == ["--full"] else []))

    def test_checks_alone_are_made_where_they_are_named(self) -> None:
        found = evaluation("--checks", "walk,waits-20us@jfr", "--jdks", "17,25", "--rounds", "1")
        self.assertEqual(
            sorted(cell.key() for cell in found.cells),
            ["check/17/waits-20us/jfr/0", "check/17/walk/headway/0", "check/25/waits-20us/jfr/0", "check/25/walk/headway/0"],
        )
        self.assertEqual(found.modules(), ["eval-workloads", "workloads"])
        self.assertIn("4 of 4 to measure", found.told(found.cells))
        with self.assertRaisesRegex(ProfilerError, "there is no check 'nothing'"):
            evaluation("--checks", "nothing")

    def test_nothing_to_run_is_no_failure(self) -> None:
        found = evaluation("--workloads", "cassandra", "--jdks", "21,25")
        self.assertEqual(found.cells, [])
        self.assertIn("left out: cassandra on 21 (17 is the last it runs on), cassandra on 25", found.told([]))


if __name__ == "__main__":
    unittest.main()
