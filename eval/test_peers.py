"""What is read of the peers' outputs, and the rule by which it is judged."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from typing import Sequence

import peers
from judging import Program
from peers import JFR, JMC, LOCK, WALL, PeerRuns, said

GATE = Program("gate", "jdk", ("Gate", "pass"), ("[Dd]eadlock",))
HEALTHY = Program("healthy", "jdk", (), ("^(hot-lock|JavaBlocking) ",))

VIEW = """
                   Contention by Site

StackTrace                                 Count   Avg.
------------------------------------------ ----- ------
com.acme.Idle.sweep()                          9 900 ms
com.acme.Main.run()
com.acme.Gate.serve()                          2 100 ms
com.acme.Gate.pass(Object)

                   Contention by Thread

Thread                                     Count   Avg.
------------------------------------------ ----- ------
request-1                                      9 900 ms
"""

RULES = """BufferLost OK - Nothing of Gate.pass.
CompareCpu WARNING 96.2 Other processes had the CPUs.
Late INFO - Gate and its pass.
JavaBlocking WARNING 80.5 Threads were blocked.
Allocations INFO 60 Much was allocated.
Sockets NA 100 There are no events.
"""

STACKS = """java/lang/Thread.run;com/acme/Idle.sweep 60
java/lang/Thread.run;com/acme/Gate.serve;com/acme/Gate.pass 40
java/lang/Thread.run;com/acme/Gate.serve;com/acme/Gate.pass 50
"""


class Reading(unittest.TestCase):
    def test_a_row_of_a_view_has_its_whole_stack(self) -> None:
        by_site, by_thread = peers.views(VIEW)
        self.assertEqual([row.split()[0] for row in by_site], ["com.acme.Idle.sweep()", "com.acme.Gate.serve()"])
        self.assertTrue(by_site[0].endswith("com.acme.Main.run()"))
        self.assertTrue(by_site[1].endswith("com.acme.Gate.pass(Object)"))
        self.assertEqual(len(by_thread), 1)
        self.assertEqual(peers.views("No events found for 'Contention by Site'.\n"), [])

    def test_results_of_rules_are_ranked_by_score(self) -> None:
        self.assertEqual(peers.rules(RULES), [
            ["JavaBlocking Threads were blocked.", "Allocations Much was allocated.", "Late Gate and its pass."],
        ])  # fmt: skip

    def test_the_same_stack_is_one_row(self) -> None:
        ranking = peers.stacks(STACKS)[0]
        self.assertEqual(len(ranking), 2)
        self.assertTrue(ranking[0].endswith("com/acme/Gate.pass"))
        self.assertEqual(peers.stacks(""), [[]])


class Judging(unittest.TestCase):
    def test_all_of_the_cause_must_be_in_one_row(self) -> None:
        self.assertEqual(said(GATE, JFR, VIEW), "in the first three")
        self.assertEqual(said(GATE, JFR, VIEW.replace("Gate.pass", "Gate.other")), "no")
        self.assertEqual(said(GATE, LOCK, STACKS), "first")

    def test_the_best_ranking_of_a_peer_counts(self) -> None:
        self.assertEqual(said(GATE, JFR, VIEW.replace("request-1 ", "Gate pass ")), "first")

    def test_a_place_behind_the_third_does_not_count(self) -> None:
        self.assertEqual(said(GATE, JMC, RULES), "in the first three")
        self.assertEqual(said(GATE, JMC, RULES + "More WARNING 99 Something else.\n"), "no")

    def test_of_a_program_without_a_bottleneck_nothing_false_may_be_printed(self) -> None:
        self.assertEqual(said(HEALTHY, JMC, RULES), "**false**")
        self.assertEqual(said(HEALTHY, JMC, RULES.replace("JavaBlocking WARNING", "JavaBlocking OK")), "none to name")
        self.assertEqual(said(GATE, JMC, RULES + "Deadlocks WARNING 99 A deadlock at Gate.pass.\n"), "**false**")

    def test_what_only_ranks_says_nothing_of_a_program_without_a_bottleneck(self) -> None:
        self.assertEqual(said(HEALTHY, LOCK, STACKS), "-")
        self.assertEqual(said(HEALTHY, JFR, VIEW), "-")


class Running(unittest.TestCase):
    def test_what_is_kept_is_not_recorded_again(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            runs = PeerRuns(Path("/jdk/bin/java"), "25", Path("jmc.jar"), Path, Path(directory))
            for peer in (LOCK, WALL):
                runs.kept("gate", peer).write_text(STACKS, encoding="utf-8")
            self.assertEqual(set(runs.outputs("gate")), {LOCK, WALL})
            commands: list[Sequence[str]] = []

            def run(command: Sequence[str]) -> str:
                commands.append(command)
                return f"output of {command[-1]}\n"

            runs.record("gate", ["/jdk/bin/java", "-jar", "programs.jar", "gate"], run)
            self.assertEqual(commands[0][-3:], ["-jar", "programs.jar", "gate"])
            self.assertTrue(commands[0][1].startswith("-XX:StartFlightRecording:filename="))
            self.assertEqual([command[-2] for command in commands[1:-1]], list(peers.VIEWS))
            self.assertEqual(commands[-1][-1], "--rules")
            self.assertEqual(runs.outputs("gate")[JMC], "output of --rules\n")
            commands.clear()
            runs.record("gate", ["/jdk/bin/java"], run)
            self.assertEqual(commands, [])


if __name__ == "__main__":
    unittest.main()
