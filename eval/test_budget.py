"""What is said of the budget, from readings that are made up."""

import unittest

import budget
from budget import Reading
from profilers import ProfilerError


def played(spent_of_busy: float, late_s: float = 0.0, seconds: float = 60.0) -> list[Reading]:
    """Calm, busy and calm again, 20 s each, on one CPU. Busy ones spend this part of the budget, and ten times as
    much for a while at first."""
    readings, own, operations = [Reading(0.0, 0.0, 0.0, 0, 0.0)], 0.0, 0
    step = 0.5
    for number in range(1, int(seconds / step) + 1):
        at = number * step
        is_busy = 20 < at <= 40
        is_late = is_busy and at <= 20 + late_s
        own += budget.BUDGET * step * (10 * spent_of_busy if is_late else spent_of_busy if is_busy else 0.1)
        operations += 75_000 if is_busy else 80
        readings.append(Reading(at, at, own, operations, 50.0 if is_busy and not is_late else 0.0))
    return readings


class Budget(unittest.TestCase):
    def test_what_stays_below_the_budget_is_settled_at_once(self) -> None:
        found = budget.summary(played(0.5))
        self.assertEqual(found["rises"], 1)
        self.assertAlmostEqual(found["most_of_budget_in_10s_percent"], 50, delta=1)
        self.assertEqual((found["settled_s"], found["turns"]), (0, 0))

    def test_a_burst_counts_in_its_ten_seconds_and_delays_the_settling(self) -> None:
        found = budget.summary(played(0.5, late_s=2.0))
        self.assertAlmostEqual(found["most_of_budget_in_10s_percent"], (2 * 500 + 8 * 50) / 10, delta=5)
        self.assertAlmostEqual(found["settled_s"], 1.5, delta=1.0)

    def test_a_small_process_has_the_budget_of_a_cpu(self) -> None:
        before, after = Reading(0, 0, 0, 0, 0), Reading(10, 0.5, 0.05, 100, 0)
        self.assertAlmostEqual(budget.share(before, after), 0.5)

    def test_windows_that_grow_and_shrink_are_turns(self) -> None:
        windows = [0.0, 5.0, 20.0, 10.0, 20.0]
        readings = [Reading(at, 0, 0, 0, window) for at, window in enumerate(windows)]
        self.assertEqual(budget.turns(readings, 0, 10), 2)
        self.assertEqual(budget.turns(readings, 0, 3), 0)

    def test_a_recording_without_a_change_is_refused(self) -> None:
        with self.assertRaisesRegex(ProfilerError, "too briefly"):
            budget.summary(played(0.5, seconds=15))


if __name__ == "__main__":
    unittest.main()
