"""Tests of what is read of programs that know their own answer."""

from __future__ import annotations

import unittest

import known
from profilers import ProfilerError


class KnownTest(unittest.TestCase):
    """Figures, and which checks there are."""

    def test_figures_are_those_of_the_last_line(self) -> None:
        told = known.figures_of('warming up\n{"coverage":0.99,"coverage_ge_1ms":null,"contentions":7}\n')
        self.assertEqual(told, {"coverage": 0.99, "contentions": 7.0})

    def test_anything_else_is_told(self) -> None:
        for text in ("", "no\n", "[1]\n", '{"coverage":"high"}\n'):
            with self.assertRaisesRegex(ProfilerError, "did not print figures"):
                known.figures_of(text)

    def test_peers_answer_the_same_question(self) -> None:
        checks = known.all_known()
        self.assertEqual([checks[name].profiler for name in ("waits-20us", "waits-20us@jfr", "shares@async")],
                         ["headway", "jfr", "async"])  # fmt: skip
        self.assertEqual({checks[name].program for name in ("waits-20us", "waits-20us@async")}, {"waits-20us"})
        self.assertEqual(checks["shares@jfr"].program, checks["shares"].program)


if __name__ == "__main__":
    unittest.main()
