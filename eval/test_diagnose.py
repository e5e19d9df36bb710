"""What `diagnose.py` concludes from findings."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import diagnose
import gains
import judging
from gains import Gains
from intervals import Interval
from judging import Program, Verdict
from outcome import Outcome
from peers import JFR, LOCK

POOL = Program("pool", "HikariCP", ("Orders", "audit"), ("deadlock",))
HEALTHY = Program("healthy", "jdk", (), ("^(hot-lock|waiting) ",))


def finding(text: str, *details: str) -> dict[str, object]:
    return {"text": text, "details": list(details)}


def outcome(*verdicts: Verdict) -> Outcome:
    """What was found, of verdicts on different cases."""
    found = Outcome(programs={verdict.program.name: verdict.program for verdict in verdicts})
    for verdict in verdicts:
        found.verdicts[verdict.program.name, verdict.release, verdict.way] = verdict
    return found


class Judging(unittest.TestCase):
    def test_the_place_is_that_of_the_first_finding_that_names_all_of_the_cause(self) -> None:
        findings = [finding("CPU is short"), finding("waits in Orders"), finding("waits in Orders", "for audit")]
        verdict = judging.judge(POOL, "run", "17", findings)
        self.assertEqual((verdict.place, verdict.is_right), (3, False))
        self.assertTrue(judging.judge(POOL, "run", "17", findings[2:]).is_right)
        self.assertEqual(judging.judge(POOL, "run", "17", []).place, 0)

    def test_that_other_processes_had_the_cpus_may_come_first(self) -> None:
        def short(what: str) -> dict[str, object]:
            return {**finding("no CPU"), "evidence": [{"what": "run-queue"}, {"what": what}]}

        others = [short("cpu-of-other-processes"), finding("waits in Orders for audit")]
        verdict = judging.judge(POOL, "run", "17", others)
        self.assertEqual((verdict.place, verdict.is_right, verdict.is_short_of_cpus), (1, True, True))
        self.assertIn("first, after the lack of CPUs", outcome(verdict).table())
        self.assertIn("1 of 1 causes named first (1 behind a finding", judging.summary([verdict]))
        own = judging.judge(POOL, "run", "17", [short("cpu"), finding("waits in Orders for audit")])
        self.assertEqual((own.place, own.is_right), (2, False))
        false = [short("cpu-of-other-processes"), finding("a deadlock"), finding("waits in Orders for audit")]
        self.assertEqual(len(judging.judge(POOL, "run", "17", false).false), 1)

    def test_what_must_not_be_said_makes_any_report_wrong(self) -> None:
        right = finding("Orders: audit")
        verdict = judging.judge(POOL, "run", "17", [right, finding("a deadlock of two")])
        self.assertEqual((verdict.place, verdict.is_right, len(verdict.false)), (1, False, 1))
        self.assertTrue(judging.judge(HEALTHY, "run", "17", [finding("nothing to see")]).is_right)
        lock = {**finding("3 threads were blocked"), "kind": "hot-lock"}
        self.assertFalse(judging.judge(HEALTHY, "run", "17", [lock]).is_right)
        nothing = {**finding("No thread was blocked in a deadlock"), "kind": "nothing"}
        self.assertTrue(judging.judge(POOL, "run", "17", [right, nothing]).is_right)

    def test_a_finding_about_a_negligible_time_claims_no_bottleneck(self) -> None:
        def lock(share: float) -> dict[str, object]:
            return {**finding("3 threads were blocked"), "kind": "hot-lock", "share": share}

        self.assertTrue(judging.judge(HEALTHY, "run", "17", [lock(0.009)]).is_right)
        self.assertFalse(judging.judge(HEALTHY, "run", "17", [lock(0.01)]).is_right)
        circle = {**finding("Two threads in a circle"), "kind": "deadlock", "share": 0.001}
        self.assertFalse(judging.judge(POOL, "run", "17", [finding("Orders audit"), circle]).is_right)

    def test_operations_are_read_from_what_a_program_prints(self) -> None:
        self.assertEqual(diagnose.operations("READY\noperations 600 seconds 2.000\n"), 300)
        with self.assertRaises(RuntimeError):
            diagnose.operations("READY\n")

    def test_a_program_may_print_more_than_a_pipe_holds(self) -> None:
        prints = "print('begins'); print('READY', flush=True); print('x' * (1 << 20), flush=True)"
        running = subprocess.Popen([sys.executable, "-c", prints], stdout=subprocess.PIPE, text=True)
        try:
            diagnose.wait_until_ready(running)
            self.assertEqual(running.wait(timeout=300), 0)
        finally:
            running.kill()

    def test_kept_recordings_are_judged_again_and_no_program_runs(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            self.assertEqual(diagnose.parsed(["--again", directory]).pairs, 0)
            missing = str(Path(directory) / "missing")
            for wrong in (["--again", missing], ["--again", directory, "--keep", directory]):
                with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                    diagnose.parsed(wrong)
            headway = Path(directory) / "headway"
            headway.write_text(
                "#!/bin/sh\n[ $1 = report ] && echo '{\"findings\": [{\"text\": \"Orders: audit\", \"details\": []}]}'\n",
                encoding="utf-8",
            )
            headway.chmod(0o755)
            trials = diagnose.Trials(str(headway), "/nowhere/java", "17", 1)
            with contextlib.redirect_stdout(io.StringIO()) as said:
                verdict = diagnose.judged(trials, POOL, "attach", Path("pool-17-attach.jfr"), is_kept=True)
            self.assertTrue(verdict.is_right)
            self.assertIn("ok    pool 17 attach: #1 Orders: audit", said.getvalue())

    def test_the_summary_counts_only_what_has_a_cause(self) -> None:
        verdicts = [
            judging.judge(POOL, "run", "17", [finding("Orders audit")]),
            judging.judge(POOL, "run", "17", [finding("x"), finding("Orders audit")]),
            judging.judge(HEALTHY, "run", "17", [{**finding("x"), "kind": "hot-lock"}]),
        ]
        expected = "1 of 2 causes named first, 2 within the first three; false statements in 1 of 3 reports"
        self.assertEqual(judging.summary(verdicts), expected)
        self.assertIn("| pool | HikariCP | **#2** |\n", outcome(verdicts[1]).table())

    def test_the_table_has_a_row_for_each_program_and_a_column_for_what_was_measured(self) -> None:
        right = finding("Orders audit")
        found = outcome(
            judging.judge(POOL, "run", "17", [right]),
            judging.judge(POOL, "attach", "25", [right, finding("a deadlock")]),
            judging.judge(HEALTHY, "run", "17", []),
        )
        found.gains = {("pool", "17"): Interval(4.0, 3.5, 4.5), ("pool", "25"): Interval(1.1, 0.9, 1.4)}
        found.peers = {("pool", JFR): "no", ("pool", LOCK): "first", ("healthy", JFR): "none to name"}
        self.assertEqual(found.table().splitlines(), [
            "| program | library | 17, run | 25, attach | fix gains, 17 | fix gains, 25 | JFR's views | async-profiler, locks |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |",
            "| pool | HikariCP | first | **1 false** | 4 [3.5, 4.5] | **1.1 [0.9, 1.4]** | no | first |",
            "| healthy | jdk | none to name |  |  |  | none to name |  |",
        ])  # fmt: skip
        self.assertEqual(found.sentences()[1:], [
            "1 of 2 fixes raise throughput: the whole 95 % interval is above 1",
            "JFR's views: 0 of 1 causes first, 0 within the first three",
            "async-profiler, locks: 1 of 1 causes first, 1 within the first three",
            "2 passed, 1 failed",
        ])  # fmt: skip
        self.assertFalse(found.is_right())

    def test_what_fails_is_counted_and_the_next_is_done(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            diagnosis = diagnose.Diagnosis(diagnose.parsed(["--ways", "none"]), Path(directory), "/nowhere/headway")

            def fail() -> None:
                raise RuntimeError("no operations")

            with contextlib.redirect_stdout(io.StringIO()) as printed:
                diagnosis.attempt("pool 17 gain", fail)
                diagnosis.attempt("pool 17 peers", lambda: None)
        self.assertEqual(printed.getvalue(), "FAILED pool 17 gain: no operations\n")
        self.assertEqual(diagnosis.outcome.sentences(), ["0 passed, 1 failed"])
        self.assertFalse(diagnosis.outcome.is_right())

    def test_ways_and_peers_are_checked_before_anything_runs(self) -> None:
        self.assertEqual(diagnose.parsed([]).ways, ("run", "attach"))
        self.assertEqual(diagnose.parsed(["--ways", "attach"]).ways, ("attach",))
        self.assertEqual(diagnose.parsed(["--ways", "none"]).ways, ())
        self.assertEqual(diagnose.parsed(["--jdks", "25", "--peers", "25"]).peers, "25")
        for wrong in (["--ways", "walk"], ["--peers", "21"], ["--peers", "17"]):
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                diagnose.parsed(wrong)


class Gaining(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.file = Path(scratch.name) / "gains.json"
        self.runs: list[bool] = []

    def rate(self, is_fixed: bool) -> float:
        self.runs.append(is_fixed)
        return 800.0 if is_fixed else 100.0 + len(self.runs)

    def test_the_order_within_a_pair_alternates(self) -> None:
        Gains(self.file).measure("pool", "17", 3, self.rate)
        self.assertEqual(self.runs, [False, True, True, False, False, True])

    def test_pairs_in_the_file_are_not_measured_again(self) -> None:
        Gains(self.file).measure("pool", "17", 1, self.rate)
        again = Gains(self.file)
        again.measure("pool", "17", 3, self.rate)
        again.measure("pool", "25", 1, self.rate)
        self.assertEqual(len(self.runs), 2 * 4)
        self.assertEqual(len(Gains(self.file).ratios("pool", "17")), 3)

    def test_the_interval_is_students_of_logarithms(self) -> None:
        rates = iter([10.0, 20.0, 80.0, 20.0, 15.0, 60.0])
        measured = Gains(self.file)
        measured.measure("pool", "17", 3, lambda _: next(rates))
        # The ratios are 2, 4 and 4; t with 2 degrees of freedom is 4.3027, the standard error 0.2310.
        gain = measured.interval("pool", "17")
        assert gain is not None
        self.assertAlmostEqual(gain.value, 32 ** (1 / 3), places=6)
        self.assertAlmostEqual(gain.low, 1.1748, places=3)
        self.assertAlmostEqual(gain.high, 8.5797, places=3)
        self.assertTrue(gains.raises(gain))

    def test_a_gain_is_marked_where_the_interval_includes_1_or_is_endless(self) -> None:
        self.assertEqual(gains.shown(Interval(8.123, 7.97, 8.2)), "8.12 [7.97, 8.2]")
        self.assertEqual(gains.shown(Interval(1.2, 0.99, 1.4)), "**1.2 [0.99, 1.4]**")
        self.assertEqual(gains.shown(Interval(1820.4, 1500, 2200)), "1820 [1500, 2200]")
        self.assertEqual(gains.shown(None), "")
        measured = Gains(self.file)
        self.assertIsNone(measured.interval("pool", "17"))
        measured.measure("pool", "17", 2, self.rate)
        two = measured.interval("pool", "17")
        assert two is not None
        self.assertIn("(too few pairs)", gains.shown(two))
        self.assertFalse(gains.raises(two))

    def test_a_run_that_completes_nothing_gives_no_ratio(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "pool completed no operation"):
            Gains(self.file).measure("pool", "17", 1, lambda is_fixed: 5.0 if is_fixed else 0.0)
        self.assertEqual(Gains(self.file).ratios("pool", "17"), [])


if __name__ == "__main__":
    unittest.main()
