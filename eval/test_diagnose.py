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

POOL = diagnose.Program("pool", "HikariCP", ("Orders", "audit"), ("deadlock",))
HEALTHY = diagnose.Program("healthy", "jdk", (), ("blocked",))


def finding(text: str, *details: str) -> dict[str, object]:
    return {"text": text, "details": list(details)}


class Judging(unittest.TestCase):
    def test_the_place_is_that_of_the_first_finding_that_names_all_of_the_cause(self) -> None:
        findings = [finding("CPU is short"), finding("waits in Orders"), finding("waits in Orders", "for audit")]
        verdict = diagnose.judge(POOL, "run", "17", findings)
        self.assertEqual((verdict.place, verdict.is_right), (3, False))
        self.assertTrue(diagnose.judge(POOL, "run", "17", findings[2:]).is_right)
        self.assertEqual(diagnose.judge(POOL, "run", "17", []).place, 0)

    def test_that_other_processes_had_the_cpus_may_come_first(self) -> None:
        def short(what: str) -> dict[str, object]:
            return {**finding("no CPU"), "evidence": [{"what": "run-queue"}, {"what": what}]}

        others = [short("cpu-of-other-processes"), finding("waits in Orders for audit")]
        verdict = diagnose.judge(POOL, "run", "17", others)
        self.assertEqual((verdict.place, verdict.is_right, verdict.is_short_of_cpus), (1, True, True))
        self.assertIn("first, after the lack of CPUs", diagnose.table([verdict], {}))
        self.assertIn("1 of 1 causes named first (1 behind a finding", diagnose.summary([verdict]))
        own = diagnose.judge(POOL, "run", "17", [short("cpu"), finding("waits in Orders for audit")])
        self.assertEqual((own.place, own.is_right), (2, False))
        false = [short("cpu-of-other-processes"), finding("a deadlock"), finding("waits in Orders for audit")]
        self.assertEqual(len(diagnose.judge(POOL, "run", "17", false).false), 1)

    def test_what_must_not_be_said_makes_any_report_wrong(self) -> None:
        right = finding("Orders: audit")
        verdict = diagnose.judge(POOL, "run", "17", [right, finding("a deadlock of two")])
        self.assertEqual((verdict.place, verdict.is_right, len(verdict.false)), (1, False, 1))
        self.assertTrue(diagnose.judge(HEALTHY, "run", "17", [finding("nothing to see")]).is_right)
        self.assertFalse(diagnose.judge(HEALTHY, "run", "17", [finding("3 threads blocked")]).is_right)
        nothing = {**finding("Nothing stands out: < 0.1 % of the active thread time was blocked"), "kind": "nothing"}
        self.assertTrue(diagnose.judge(HEALTHY, "run", "17", [nothing]).is_right)

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
        self.assertEqual(diagnose.parsed(["--again", "kept"]).pairs, 0)
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            diagnose.parsed(["--again", "kept", "--keep", "kept"])
        with tempfile.TemporaryDirectory() as directory:
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
            diagnose.judge(POOL, "run", "17", [finding("Orders audit")]),
            diagnose.judge(POOL, "run", "17", [finding("x"), finding("Orders audit")]),
            diagnose.judge(HEALTHY, "run", "17", [finding("blocked")]),
        ]
        expected = "1 of 2 causes named first, 2 within the first three; false statements in 1 of 3 reports"
        self.assertEqual(diagnose.summary(verdicts), expected)
        self.assertIn("| pool | HikariCP | 17, run | **#2** |", diagnose.table(verdicts, {}))


if __name__ == "__main__":
    unittest.main()
