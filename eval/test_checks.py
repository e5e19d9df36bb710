"""Tests of what checks make of their tools' words, and of what they say where a tool fails."""

from __future__ import annotations

import json
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

import checks
from checks import CHECKS, KNOWN_PROGRAMS, Ended, Machine, Told, documents, named
from profilers import ProfilerError

COSTS = [
    {"what": checks.LOOK_UP, "ns": 70.0},
    {"what": checks.LOOK_UP_COLD, "ns": 1500.0},
    {"what": checks.APPEND, "ns": 10.0},
    {"what": checks.APPEND_COLD, "ns": 400.0},
    {"what": checks.MONITOR, "ns": 6.0},
]
WALKS = """25 ["-Ddepth=80"] Bench
bench_frames=44
{"jdk": 25, "code": "compiled", "frames": 44, "rewalk_cold_ns": 2600, "rewalk_warm_ns": 170, "walk_cold_ns": 2900, "walk_warm_ns": 470}
{"jdk": 25, "code": "interpreted", "frames": 42, "rewalk_cold_ns": 2500, "rewalk_warm_ns": 160, "walk_cold_ns": 2000, "walk_warm_ns": 210}
"""
KNOWN = {known.scenario: known for known in KNOWN_PROGRAMS}


class InPlace(unittest.TestCase):
    """Tests with a directory in which tools are shell scripts."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)

    def machine(self, headway: str = "exit 0", homes: tuple[int, ...] = (25,)) -> Machine:
        """One whose command does this."""
        script = self.root / "headway"
        script.write_text(f"#!/bin/sh\n{headway}\n", encoding="utf-8")
        script.chmod(0o755)
        jdks = {release: self.root / f"jdk{release}" for release in homes}
        return Machine(self.root, script, self.root / "agent.so", jdks, self.root / "scratch", self.root / "a.jar")

    def refused(self, said: str, *of: Any) -> None:
        """The first of these, called with the others, ends with one sentence that says so."""
        with self.assertRaises(ProfilerError) as caught:
            of[0](*of[1:])
        self.assertIn(said, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))


class RunTest(InPlace):
    """Commands that end in several ways."""

    def test_what_it_printed_and_took(self) -> None:
        ended = self.machine().run(["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done"], 60.0)
        self.assertEqual(ended.stdout, "done\n")
        self.assertGreater(ended.cpu_s, 0.0)
        self.assertGreater(ended.wall_s, 0.0)
        self.assertGreater(ended.most_mib, 0.1)

    def test_much_output_does_not_stop_it(self) -> None:
        self.assertEqual(len(self.machine().read(["head", "-c", "300000", "/dev/zero"], 60.0)), 300_000)

    def test_jdks_are_told(self) -> None:
        self.assertEqual(self.machine().read(["sh", "-c", "echo $HEADWAY_JDK25"], 60.0).strip(), str(self.root / "jdk25"))

    def test_a_failure_says_the_last_line(self) -> None:
        failing = "echo first >&2; echo 'no such lock' >&2; echo 'note: run with RUST_BACKTRACE=1' >&2; exit 3"
        self.refused("headway report ended with 3: no such lock", self.machine(failing).read, [str(self.root / "headway"), "report", "-x"], 60.0)

    def test_silence_and_signals(self) -> None:
        self.refused("sh ended with -9: it said nothing", self.machine().read, ["sh", "-c", "kill -9 $$"], 60.0)

    def test_what_is_not_there(self) -> None:
        self.refused("nowhere cannot be started: No such file", self.machine().read, ["/nowhere"], 60.0)

    def test_what_does_not_end_is_ended_with_its_children(self) -> None:
        began = time.monotonic()
        self.refused("sh did not end within 0.2 s", self.machine().read, ["sh", "-c", "sleep 100 & sleep 100; true"], 0.2)
        self.assertLess(time.monotonic() - began, 50)

    def test_names(self) -> None:
        self.assertEqual(named(["/a/b/headway", "causal", "run", "--json"]), "headway causal run")
        self.assertEqual(named(checks.cargo("run", "headway-jfr", "--example", "events")), "example events")
        self.assertEqual(named(["cargo"]), "cargo")


class FailureTest(InPlace):
    """Where nothing is there, every check says so in a sentence."""

    def test_nothing_is_there(self) -> None:
        nowhere = self.root / "nowhere"
        machine = Machine(self.root, nowhere, nowhere, {}, self.root / "scratch", nowhere)
        for check in CHECKS.values():
            with self.subTest(check.name):
                self.refused("", check.run, machine, 25)

    def test_nothing_is_left_behind(self) -> None:
        self.refused("headway causal run ended with 1: no JVM", CHECKS["causal-lines"].run, self.machine("echo no JVM >&2; exit 1"), 25)
        self.assertEqual(list((self.root / "scratch").iterdir()), [])

    def test_a_jdk_that_is_not_there(self) -> None:
        for name in ("walk", "steal", "causal-lock", "causal-overhead", "steal-overhead"):
            self.refused("there is no JDK 21 here", CHECKS[name].run, self.machine(), 21)

    def test_names_are_their_keys(self) -> None:
        self.assertTrue(all(name == check.name and check.about and check.seconds > 0 for name, check in CHECKS.items()))
        self.assertEqual([name for name, check in CHECKS.items() if not check.per_jdk],
                         ["analysis-64m", "analysis-256m", "analysis-1024m", "page-1024m"])  # fmt: skip


class DocumentsTest(InPlace):
    """JSON among other lines."""

    def test_between_other_lines(self) -> None:
        text = 'Picked up {"a": 0}\n{"a": 1}\n{ no JSON\n[1,\n 2]\n{\n "a": 2\n} end\n'
        self.assertEqual(list(documents(text)), [{"a": 1}, [1, 2], {"a": 2}])
        self.assertEqual(list(documents("")), [])

    def test_numbers(self) -> None:
        self.assertEqual(checks.number({"a": [{"b": 2}]}, "a", 0, "b"), 2.0)
        self.refused("a.1.b is missing", checks.number, {"a": [{"b": 2}]}, "a", 1, "b")
        self.refused("a is no number but None", checks.number, {"a": None}, "a")
        self.refused("a is no number but True", checks.number, {"a": True}, "a")

    def test_a_key_that_nobody_printed(self) -> None:
        self.refused("the tool printed no JSON with 'b'", checks.with_key, '{"a": 1}\n', "b", "the tool")


class RecordingTest(InPlace):
    """Large recordings."""

    def test_events_per_second(self) -> None:
        found = checks.analysis_figures(55_000_000, 1 << 30, Ended("{}", 13.0, 16.5, 287.0))
        self.assertAlmostEqual(found["million_events_per_cpu_s"], 55 / 16.5)
        self.assertEqual((found["file_mib"], found["wall_s"], found["most_mib"]), (1024.0, 13.0, 287.0))

    def test_a_recording_without_events(self) -> None:
        self.assertEqual(checks.total("17\n"), 17)
        for text in ("", "0\n", "PROBLEM: torn\n"):
            self.refused("the number of events is", checks.total, text)

    def test_questions(self) -> None:
        asked = [{"name": "a", "first_ms": 80.0, "again_ms": 10.0}, {"name": "b", "first_ms": 20.0, "again_ms": 30.0},
                 {"name": "c", "first_ms": 40.0, "again_ms": 20.0}]  # fmt: skip
        read = {"s": 20.0, "cpu_s": 25.0, "most_mib": 600, "mib": 200}
        found = checks.page_figures(json.dumps({"events": 5, "read": read, "questions": asked}))
        self.assertEqual((found["worst_first_ms"], found["median_first_ms"]), (80.0, 40.0))
        self.assertEqual((found["worst_again_ms"], found["median_again_ms"]), (30.0, 20.0))
        self.assertEqual((found["open_s"], found["most_mib"], found["resident_mib"]), (20.0, 600.0, 200.0))
        self.refused("asked nothing", checks.page_figures, json.dumps({"events": 5, "read": read, "questions": []}))


class WalkTest(InPlace):
    """Parts and their sums."""

    def test_sums(self) -> None:
        found = checks.walk_figures(json.dumps(COSTS), WALKS)
        self.assertEqual(found["frames"], 44)
        self.assertAlmostEqual(found["warm_us"], 0.55)
        self.assertAlmostEqual(found["again_us"], 0.18)
        self.assertAlmostEqual(found["cold_us"], 4.8)
        self.assertAlmostEqual(found["again_cold_us"], 3.0)
        self.assertAlmostEqual(found["interpreted_warm_us"], 0.29)

    def test_what_is_missing(self) -> None:
        self.refused("cost printed nothing for 'append, 10 words'", checks.walk_figures,
                     json.dumps([cost for cost in COSTS if cost["what"] != checks.APPEND]), WALKS)  # fmt: skip
        self.refused("cost printed nothing", checks.walk_figures, "", WALKS)
        self.refused("walk_cost printed nothing for interpreted code", checks.walk_figures, json.dumps(COSTS),
                     WALKS.replace("interpreted", "other"))  # fmt: skip


class CausalTest(InPlace):
    """Predictions beside truths."""

    def report(self, gain: float, interval: Any) -> str:
        """As the command prints it."""
        point = {"speedup": 0.5, "gain": gain, "ci95": interval, "experiments": 13}
        return json.dumps({"progress": "round", "targets": [{"target": "x", "points": [point]}]}, indent=2) + "\n"

    def test_by_a_run(self) -> None:
        script = f"cat <<'END'\n{self.report(0.27, [0.24, 0.3])}END"
        found = CHECKS["causal-lock"].run(self.machine(script), 25)
        self.assertAlmostEqual(found["error_points"], 2.0)
        self.assertEqual((found["truth_points"], found["covered"], found["experiments"]), (25.0, 1.0, 13.0))
        self.assertAlmostEqual(found["low_points"], 24.0)

    def test_the_truth_that_the_program_prints(self) -> None:
        text = 'Picked up JAVA_TOOL_OPTIONS\n{"share": 0.6375, "seconds": 14.998}\n' + self.report(0.36, [0.33, 0.4])
        found = checks.causal_figures(KNOWN["sleeper"], text)
        self.assertAlmostEqual(found["truth_points"], 31.875)
        self.assertEqual(found["covered"], 0.0)
        self.refused("the program sleeper printed no JSON with 'share'", checks.causal_figures, KNOWN["sleeper"],
                     self.report(0.36, [0.33, 0.4]))  # fmt: skip

    def test_no_interval_covers_nothing(self) -> None:
        found = checks.causal_figures(KNOWN["lines"], self.report(0.33, None))
        self.assertEqual(found["covered"], 0.0)
        self.assertNotIn("low_points", found)

    def test_no_experiment(self) -> None:
        self.refused("no experiment with lines", checks.causal_figures, KNOWN["lines"], '{"targets": []}')
        self.refused("printed no JSON", checks.causal_figures, KNOWN["lines"], "Nothing was sampled.\n")


class ToggleTest(InPlace):
    """What toggle.py writes."""

    def result(self, name: str, lower: float, median: float, upper: float, own: list[float]) -> dict[str, Any]:
        """Of one profiler."""
        quartiles = {"lower": lower, "median": median, "upper": upper, "count": 9}
        return {"profiler": name, "comparison": {"throughput": quartiles}, "own_threads_percent": own}

    def test_experiments(self) -> None:
        results = [self.result("null", 0.98, 1.0, 1.01, [0.0]), self.result("causal", 0.9, 0.94, 0.97, [14.0, 17.0, 18.0])]
        found = checks.causal_overhead_figures(results)
        self.assertAlmostEqual(found["overhead_beyond_delays_percent"], 6.0)
        self.assertAlmostEqual(found["low_quartile_percent"], 3.0)
        self.assertAlmostEqual(found["high_quartile_percent"], 10.0)
        self.assertAlmostEqual(found["null_percent"], 0.0)
        self.assertEqual(found["own_threads_percent_of_a_cpu"], 17.0)

    def test_stolen_time(self) -> None:
        results = [self.result("null", 0.9, 1.0, 1.1, []), self.result("steal-100ms", 0.9, 0.99, 1.1, [0.2, 0.3, 0.28])]
        self.assertAlmostEqual(checks.steal_overhead_figures(results, 2)["own_percent_of_program"], 0.14)

    def test_what_is_missing(self) -> None:
        results = [self.result("null", 0.98, 1.0, 1.01, [0.0])]
        self.refused("toggle.py measured no causal", checks.causal_overhead_figures, results)
        results.append({"profiler": "causal", "comparison": {"throughput": None}, "own_threads_percent": []})
        self.refused("too few pairs of phases of causal", checks.causal_overhead_figures, results)
        self.refused("what the threads of causal took", checks.own_threads, results, "causal")


class StealTest(InPlace):
    """Threads' own clocks."""

    def thread(self, name: str, cpu: int, waited: int, stolen: int) -> dict[str, Any]:
        """As the report has it."""
        return {"name": name, "cpu_ns": cpu, "run_queue_ns": waited, "steal_ns": stolen}

    def test_patterns(self) -> None:
        truth = {"threads": [{"name": "a", "cpu_ns": 100}, {"name": "b", "cpu_ns": 200}, {"name": "c", "cpu_ns": 100}]}
        report = {"threads": [self.thread("a", 97, 0, 0), self.thread("b", 202, 0, 0), self.thread("c", 100, 0, 0)]}
        self.assertEqual(checks.pattern_figures(truth, report), {"worst_error_percent": 3.0, "median_error_percent": 1.0})
        truth["threads"].append({"name": "d", "cpu_ns": 1})
        self.refused("the report has no thread d", checks.pattern_figures, truth, report)

    def test_stolen_time_counts_once(self) -> None:
        truth = {"threads": [{"name": "a", "cpu_ns": 400, "wall_ns": 1000}]}
        report = {"run_queue_known": True, "accounting": "left out", "threads": [self.thread("a", 400, 500, 80)]}
        self.assertAlmostEqual(checks.crowd_figures(truth, report)["crowd_told_percent"], 98.0)
        report["accounting"] = "included"
        self.assertAlmostEqual(checks.crowd_figures(truth, report)["crowd_error_percent"], 10.0)
        self.refused("this kernel does not tell", checks.crowd_figures, truth, {**report, "run_queue_known": False})


class AgentTest(InPlace):
    """Programs with the agent in them."""

    def test_replies(self) -> None:
        reply = {"ok": True, "own_cpu_ns": 500, "events": {"monitor_enter": 3, "park": 2, "pressure_window": 10}}
        self.assertEqual(checks.told_by(json.dumps(reply), 7), Told(500.0, 5.0, 7))
        self.refused("did nothing", checks.told_by, json.dumps(reply), 0)
        self.refused("could not end the recording: no room", checks.told_by, '{"ok": false, "error": "no room"}', 7)

    def test_chains(self) -> None:
        told = {"lock": {"events": 100, "chains": 5, "event_frames": 1000, "chain_frames": 50},
                "sample": {"events": 0, "chains": 0, "event_frames": 0, "chain_frames": 0}}  # fmt: skip
        found = checks.chain_figures("queued-monitor", "lock", json.dumps(told))
        self.assertAlmostEqual(found["lock_chains_known_percent"], 95.0)
        self.assertAlmostEqual(found["lock_frames_known_percent"], 95.0)
        self.refused("h2 has no sample event with a call chain", checks.chain_figures, "h2", "sample", json.dumps(told))

    def test_own_time(self) -> None:
        found = checks.online_figures(Told(4000, 10, 20), Told(5000, 10, 20), Told(100, 3, 50), Ended("", 1.0, 3e-6, 1.0))
        self.assertEqual((found["file_own_ns_per_event"], found["watched_own_ns_per_event"]), (400.0, 500.0))
        self.assertAlmostEqual(found["offline_ns_per_event"], 300.0)
        self.assertEqual((found["file_own_ns_per_operation"], found["live_only_own_ns_per_operation"]), (200.0, 2.0))
        self.refused("had no event of a lock", checks.online_figures, Told(1, 0, 1), Told(1, 1, 1), Told(1, 1, 1),
                     Ended("", 1.0, 1.0, 1.0))  # fmt: skip


class AnswersTest(InPlace):
    """What the VM took to answer, out of a recording's settings."""

    def test_times_are_in_microseconds(self) -> None:
        values = {"stack_requests": 200, "stacks_by_target": 150, "stack_request_p50_ns": 12_000, "stack_request_p97_5_ns": 40_500,
                  "stack_request_max_ns": 2_000_000}  # fmt: skip
        events = [{"type": "jdk.ActiveSetting", "values": {"name": name, "value": str(value)}} for name, value in values.items()]
        self.assertEqual(
            checks.answer_figures(json.dumps({"recording": {"events": events}}, indent=2)),
            {"requests": 200.0, "by_the_thread_itself_percent": 75.0, "median_us": 12.0, "p97_5_us": 40.5, "longest_us": 2000.0},
        )

    def test_recordings_of_other_engines_are_refused(self) -> None:
        events = [{"type": "jdk.ActiveSetting", "values": {"name": "engine", "value": "perf"}}]
        self.refused("does not tell stack_requests", checks.answer_figures, json.dumps({"recording": {"events": events}}))


if __name__ == "__main__":
    unittest.main()
