"""Tests of what is read from recordings and compared between them."""

from __future__ import annotations

import unittest
from pathlib import Path

from agreement import keeps, kept_file, pairs
from cells import FRESH, TOGGLE, Cell, Measured
from recordings import Contents, inspect, parse_summary

SUMMARY = """
 Version: 2.1
 Chunks: 1

 Event Type                                   Count  Size (bytes)
==================================================================
 jdk.JavaMonitorEnter                         79941       1598000
 jdk.CheckPoint                                  12         20000
 jdk.types.Method                                 3            90
 headway.MonitorExit                            200          4000
 jdk.Metadata                                     1         90000
 jdk.ThreadPark                                   0             0
"""


class ContentsTest(unittest.TestCase):
    """Types of event."""

    def test_only_events_that_happened_count(self) -> None:
        events = parse_summary(SUMMARY)
        self.assertEqual(list(events.items()), [("jdk.JavaMonitorEnter", 79941), ("headway.MonitorExit", 200)])
        self.assertEqual(Contents(1, 1, events).number(), 80141)

    def test_a_recording_that_is_not_there_holds_nothing(self) -> None:
        self.assertEqual(inspect(Path("/nowhere.jfr"), Path("/nowhere"), Path("/nowhere")), Contents(0, 0))


class AgreementTest(unittest.TestCase):
    """What is compared with what."""

    def cell(self, profiler: str, number: int, mode: str = FRESH) -> Cell:
        """A cell of kernels."""
        return Cell(mode, 25, "kernels", profiler, number)

    def test_headway_with_async_profiler_and_each_with_itself(self) -> None:
        cells = [self.cell(f"{name}-cpu-1ms", number) for number in (0, 1) for name in ("headway", "async")]
        found = {(a.profiler[0] + str(a.round), b.profiler[0] + str(b.round)) for _, a, b in pairs([Measured(c, []) for c in cells])}
        self.assertEqual(found, {("h0", "a0"), ("h1", "a1"), ("h0", "h1"), ("a0", "a1")})

    def test_other_rates_and_failures_are_not_compared(self) -> None:
        measured = [
            Measured(self.cell("headway-cpu-1ms", 0), []), Measured(self.cell("async-cpu-10ms", 0), []),
            Measured(self.cell("async-cpu-1ms", 0), [], failure="it ended"),
        ]  # fmt: skip
        self.assertEqual(pairs(measured), [])

    def test_only_samples_of_fresh_jvms_are_kept(self) -> None:
        self.assertTrue(keeps(self.cell("headway-cpu-1ms", 0)))
        self.assertFalse(keeps(self.cell("headway-cpu-1ms", 0, TOGGLE)))
        self.assertFalse(keeps(self.cell("headway-lock", 0)))
        self.assertFalse(keeps(self.cell("jfr-cpu-1ms", 0)))
        self.assertEqual(kept_file(Path("out"), self.cell("async-cpu-1ms", 2), ".jfr"),
                         Path("out/recordings/fresh-25-kernels-async-cpu-1ms-2.jfr"))  # fmt: skip


if __name__ == "__main__":
    unittest.main()
