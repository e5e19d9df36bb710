"""Tests of what is made of the agent's counts."""

from __future__ import annotations

import json
import unittest
from pathlib import Path

import completeness
from completeness import Case, Counted, cases, counted, parse, row
from profilers import ProfilerError
from workloads import WORKLOADS

HOMES = {17: Path("/nowhere/17"), 25: Path("/nowhere/25")}


class CountedTest(unittest.TestCase):
    """Shares and causes."""

    def test_every_cause_counts_once_and_what_is_no_stack_does_not(self) -> None:
        losses = {"sample_short": 3, "sample_native": 1, "sample_lost": 50, "sample_unattributed": 7, "buffer_full": 9}
        found = counted(json.dumps({"ok": True, "events": {"cpu_sample": 1000, "park": 5}, "losses": losses}))
        self.assertEqual(found.incomplete, 4)
        self.assertAlmostEqual(found.percent, 99.6)
        self.assertEqual(
            found.causes(), "lost 50, no virtual thread 7, deeper than the copy 3, native code without tables 1"
        )

    def test_a_share_below_the_target_is_marked(self) -> None:
        case = Case(WORKLOADS["kernels"], 25, "G1")
        self.assertIn("**below**", row(case, Counted(1000, {"sample_undecodable": 6})))
        self.assertNotIn("**below**", row(case, Counted(1000, {"sample_undecodable": 5})))
        self.assertIn("**below**", row(case, Counted(0)))

    def test_a_recording_that_failed_is_no_figure(self) -> None:
        with self.assertRaisesRegex(ProfilerError, "no recording is under way"):
            counted('{"ok": false, "error": "no recording is under way"}')


class CasesTest(unittest.TestCase):
    """What is run."""

    def test_programs_run_where_they_can(self) -> None:
        options = parse(["--workloads", "kernels,javac,virtual-server,cassandra", "--collectors", "G1"], HOMES)
        found = [(case.workload.name, case.jdk) for case in cases(options, HOMES)]
        # No compiler in either, virtual threads only in one, Cassandra only in the other.
        self.assertEqual(found, [("kernels", 17), ("kernels", 25), ("virtual-server", 25), ("cassandra", 17)])

    def test_wrong_words_are_named(self) -> None:
        for wrong in (["--workloads", "nonsense"], ["--jdks", "11"], ["--collectors", "Epsilon"], ["--seconds", "0"]):
            with self.assertRaisesRegex(ProfilerError, wrong[1]):
                parse(wrong, HOMES)

    def test_all_default_programs_exist(self) -> None:
        self.assertLessEqual(set(completeness.PROGRAMS), set(WORKLOADS))


if __name__ == "__main__":
    unittest.main()
