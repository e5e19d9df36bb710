"""Checks: targets that are no ratio of a program with a profiler to the program without one.

What reading a large recording takes, what one walk of a stack costs, whether predictions hold on programs
whose answer is known. Each check runs tools of the project, reads what they print and gives figures by
name, with the unit in the name. Beside truths that follow from how a program is written nothing is known
beforehand.

    python3 eval/checks.py NAME [--jdk N]

runs one of them; HEADWAY_JDK17, HEADWAY_JDK21 and HEADWAY_JDK25 say where JDKs are.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Callable, Iterator, Optional, Sequence

import budget
from profilers import ProfilerError, agent_load
from program import Program
from workloads import WORKLOADS, Workload

ROOT = Path(__file__).resolve().parents[1]
RELEASES = (17, 21, 25)
MIB = 1 << 20

Figures = dict[str, float]

# Building what is not built yet included.
BUILD_S = 900.0
# Of tools that read a recording of a gigabyte, on a machine that has other work, too.
READ_S = 900.0


@dataclass(frozen=True)
class Ended:
    """A command that did what it should."""

    stdout: str
    wall_s: float
    cpu_s: float
    """Its own, and that of children that it waited for."""
    most_mib: float
    """Resident memory at most."""


@dataclass(frozen=True)
class Machine:
    """Where things are on this machine."""

    root: Path
    """The project."""
    headway: Path
    agent: Path
    java_homes: dict[int, Path]
    scratch: Path
    """Recordings go there, and are removed again."""
    workloads_jar: Path

    def read(self, command: Sequence[str], timeout_s: float) -> str:
        """Runs a command and gives what it printed."""
        return self.run(command, timeout_s).stdout

    def run(self, command: Sequence[str], timeout_s: float) -> Ended:
        """The same, with what it took. It is ended with all that it started when the time is over."""
        homes = {f"HEADWAY_JDK{release}": str(home) for release, home in self.java_homes.items()}
        places = {"HEADWAY_BIN": str(self.headway), "HEADWAY_WORKLOADS": str(self.workloads_jar)}
        with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
            began = time.monotonic()
            try:
                process = subprocess.Popen(
                    list(command), stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, cwd=self.root,
                    env={**os.environ, **homes, **places}, start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                raise ProfilerError(f"{named(command)} cannot be started: {error.strerror}") from error
            late = threading.Event()

            def end() -> None:
                late.set()
                end_group(process.pid)

            alarm = threading.Timer(timeout_s, end)
            alarm.start()
            try:
                _, status, usage = os.wait4(process.pid, 0)
            except BaseException:  # whoever ends the evaluation ends what it started
                end_group(process.pid)
                raise
            finally:
                alarm.cancel()
            wall_s = time.monotonic() - began
            process.returncode = os.waitstatus_to_exitcode(status)
            if late.is_set():
                raise ProfilerError(f"{named(command)} did not end within {timeout_s:g} s")
            if process.returncode != 0:
                raise ProfilerError(f"{named(command)} ended with {process.returncode}: {last_line(text_of(stderr))}")
            return Ended(text_of(stdout), wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)

    def java(self, jdk: int) -> str:
        """The launcher of a JDK."""
        return str(self.home(jdk) / "bin" / "java")

    def home(self, jdk: int) -> Path:
        """Where a JDK is."""
        if jdk not in self.java_homes:
            raise ProfilerError(f"there is no JDK {jdk} here")
        return self.java_homes[jdk]

    def directory(self) -> "tempfile.TemporaryDirectory[str]":
        """A directory of a check's own, removed behind it."""
        self.scratch.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(dir=self.scratch, prefix="check-")

    def example(self, package: str, name: str, *arguments: str) -> list[str]:
        """The command that runs one of the project's example programs."""
        self.read(cargo("build", package, "--example", name), BUILD_S)
        return [*cargo("run", package, "--example", name), "--", *arguments]


@dataclass(frozen=True)
class Check:
    """Something to measure, on each JDK or once."""

    name: str
    """Of a peer's with ``@PEER`` behind it."""
    about: str
    seconds: float
    """Roughly what it takes on two processors, without building."""
    per_jdk: bool
    """False: no JVM is in it; the JDK that is given does not matter."""
    run: Callable[[Machine, int], Figures]

    @property
    def program(self) -> str:
        """What is checked."""
        return self.name.partition("@")[0]

    @property
    def profiler(self) -> str:
        """Whose answer it is."""
        return self.name.partition("@")[2] or "headway"


def cargo(what: str, package: str, *more: str) -> list[str]:
    """A command of cargo, in release mode."""
    release = [] if what == "bench" else ["--release"]
    return ["cargo", what, *release, "--quiet", "--locked", "-p", package, *more]


def end_group(leader: int) -> None:
    """Kills a command and what it started."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        pass


def text_of(stream: Any) -> str:
    """All that was written to a temporary file."""
    stream.seek(0)
    return str(stream.read().decode("utf-8", errors="replace"))


def named(command: Sequence[str]) -> str:
    """What to call a command in a sentence: without options and paths."""
    for option in ("--example", "--bench"):
        if option in command[:-1]:
            return f"{option[2:]} {command[list(command).index(option) + 1]}"
    words = [Path(command[0]).name]
    for word in command[1:3]:
        if word.startswith("-") or "/" in word:
            break
        words.append(word)
    return " ".join(words)


def last_line(text: str) -> str:
    """Where tools say what was wrong. Rust's hints on how to learn more are left out."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("note:")]
    return lines[-1] if lines else "it said nothing"


def documents(text: str) -> Iterator[Any]:
    """All JSON objects and lists in a text that begin a line, whatever else is printed around them."""
    decoder = json.JSONDecoder()
    at = 0
    while at < len(text):
        if text[at] in "{[" and (at == 0 or text[at - 1] == "\n"):
            try:
                document, at = decoder.raw_decode(text, at)
                yield document
                continue
            except ValueError:
                pass
        after = text.find("\n", at)
        at = len(text) if after < 0 else after + 1


def with_key(text: str, key: str, teller: str) -> dict[str, Any]:
    """The first object in a text that has the key."""
    for document in documents(text):
        if isinstance(document, dict) and key in document:
            return document
    raise ProfilerError(f"{teller} printed no JSON with {key!r}")


def number(document: Any, *keys: "str | int") -> float:
    """A number inside a document."""
    found = document
    for key in keys:
        try:
            found = found[key]
        except (KeyError, IndexError, TypeError):
            raise ProfilerError(f"{'.'.join(map(str, keys))} is missing in what was printed") from None
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        raise ProfilerError(f"{'.'.join(map(str, keys))} is no number but {found!r}")
    return float(found)


# Recordings of any size.


def generated(machine: Machine, directory: str, megabytes: int) -> Path:
    """A recording of that size: contention among 64 threads on 50 locks, 18 bytes an event."""
    machine.read(machine.example("headway-page", "page_recordings", directory, "--mb", str(megabytes)), READ_S)
    return Path(directory) / f"large-{megabytes}.jfr"


def analysis(megabytes: int) -> Callable[[Machine, int], Figures]:
    """What ``headway report`` takes for a recording of that size."""

    def run(machine: Machine, jdk: int) -> Figures:
        del jdk
        with machine.directory() as directory:
            file = generated(machine, directory, megabytes)
            # Read once, it is in the kernel's cache: what is measured is not the disk.
            events = total(machine.read(machine.example("headway-jfr", "events", "--total", str(file)), READ_S))
            report = machine.run([str(machine.headway), "report", "--json", str(file)], READ_S)
            number(with_key(report.stdout, "contentions", "headway report"), "contentions")
            return analysis_figures(events, file.stat().st_size, report)

    return run


def total(text: str) -> int:
    """What the example ``events --total`` printed."""
    if not text.strip().isdecimal() or int(text) == 0:
        raise ProfilerError(f"the number of events is {text.strip()!r}")
    return int(text)


def analysis_figures(events: int, size: int, report: Ended) -> Figures:
    """Events include the definitions of threads, methods, chains and locks: one in a thousand."""
    return {
        "events": float(events), "file_mib": size / MIB, "wall_s": report.wall_s, "cpu_s": report.cpu_s,
        "million_events_per_cpu_s": events / max(report.cpu_s, 1e-3) / 1e6, "most_mib": report.most_mib,
    }  # fmt: skip


def page(machine: Machine, jdk: int) -> Figures:
    """What the page's questions take."""
    del jdk
    with machine.directory() as directory:
        file = generated(machine, directory, 1024)
        return page_figures(machine.read(machine.example("headway-page", "page_queries", str(file), "--json"), READ_S))


def page_figures(text: str) -> Figures:
    """Of what the example ``page_queries`` printed."""
    told = with_key(text, "questions", "page_queries")
    if not told["questions"]:
        raise ProfilerError("page_queries asked nothing")
    first = [number(question, "first_ms") for question in told["questions"]]
    again = [number(question, "again_ms") for question in told["questions"]]
    return {
        "events": number(told, "events"), "open_s": number(told, "read", "s"), "open_cpu_s": number(told, "read", "cpu_s"),
        "worst_first_ms": max(first), "median_first_ms": statistics.median(first),
        "worst_again_ms": max(again), "median_again_ms": statistics.median(again),
        "most_mib": number(told, "read", "most_mib"), "resident_mib": number(told, "read", "mib"),
    }  # fmt: skip


# A call chain at an event.

# 40 frames are looked up by two words each; a park is appended as nine words and a head.
LOOK_UP = "look up, 80-word key, 1000 chains"
LOOK_UP_COLD = "look up, 80-word key, cold"
APPEND = "append, 10 words"
APPEND_COLD = "append, 10 words, cold"
MONITOR = "find a pinned monitor and stamp its lock"
COMPILED, INTERPRETED = "compiled", "interpreted"


def walk(machine: Machine, jdk: int) -> Figures:
    """Walks in that JVM, look-ups and appends in a program of their own."""
    machine.home(jdk)
    costs = machine.read(machine.example("headway-signal", "cost", "--json"), READ_S)
    bench = cargo("bench", "headway-hotspot-probe", "--bench", "walk_cost")
    walks = machine.read([*bench, "--", "--json", "--jdk", str(jdk)], BUILD_S)
    return walk_figures(costs, walks)


def walk_figures(costs: str, walks: str) -> Figures:
    """Parts and sums. Where the last walk is re-used there is no look-up: the same frames are the same chain.
    Cold is each part after 64 MB were written, so what parts have in common is counted more than once."""
    lists = [document for document in documents(costs) if isinstance(document, list)]
    parts = {entry.get("what"): number(entry, "ns") for entry in (lists[0] if lists else [])}
    told = {document.get("code"): document for document in documents(walks) if isinstance(document, dict)}
    for name in (LOOK_UP, LOOK_UP_COLD, APPEND, APPEND_COLD, MONITOR):
        if name not in parts:
            raise ProfilerError(f"cost printed nothing for {name!r}")
    for code in (COMPILED, INTERPRETED):
        if code not in told:
            raise ProfilerError(f"walk_cost printed nothing for {code} code")
    found = {
        "frames": number(told, COMPILED, "frames"),
        "look_up_ns": parts[LOOK_UP], "look_up_cold_ns": parts[LOOK_UP_COLD],
        "append_ns": parts[APPEND], "append_cold_ns": parts[APPEND_COLD], "monitor_look_up_ns": parts[MONITOR],
    }  # fmt: skip
    for code in (COMPILED, INTERPRETED):
        fresh, again, cold, cold_again = (
            number(told, code, f"{which}_ns") for which in ("walk_warm", "rewalk_warm", "walk_cold", "rewalk_cold")
        )
        begin = "" if code == COMPILED else "interpreted_"
        found |= {
            f"{begin}walk_ns": fresh, f"{begin}walk_again_ns": again,
            f"{begin}walk_cold_ns": cold, f"{begin}walk_again_cold_ns": cold_again,
            f"{begin}warm_us": (fresh + parts[LOOK_UP] + parts[APPEND]) / 1e3,
            f"{begin}again_us": (again + parts[APPEND]) / 1e3,
            f"{begin}cold_us": (cold + parts[LOOK_UP_COLD] + parts[APPEND_COLD]) / 1e3,
            f"{begin}again_cold_us": (cold_again + parts[APPEND_COLD]) / 1e3,
        }  # fmt: skip
    return found


# Predictions.

KNOWN = "io.headway.workloads.causal.Known"
SPEEDUP_PERCENT = 50
CAUSAL_S = 60


@dataclass(frozen=True)
class Known:
    """A program whose gain can be computed (``Known.java`` says why)."""

    scenario: str
    about: str
    truth_points: Optional[float]
    """Gain by 50 % in points; None: by the share that the program prints in the end."""


KNOWN_PROGRAMS = (
    Known("lines", "one thread, two thirds of its time in the target", 100 / 3),
    Known("barrier", "two threads that meet, 10 ms and 5 ms; the target is the longer", 50.0),
    Known("lock", "two threads in turn at one lock, one of them the target", 25.0),
    Known("handoff", "two threads in turn by wait and notify, one of them the target", 25.0),
    Known("sleeper", "runs 6 ms and sleeps 4 ms by its own clock; the target is what runs", None),
)


def causal(known: Known) -> Callable[[Machine, int], Figures]:
    """One run of experiments."""

    def run(machine: Machine, jdk: int) -> Figures:
        with machine.directory() as directory:
            command = [
                str(machine.headway), "causal", "run", "--json", "-o", f"{directory}/causal.jfr", "--progress", "round",
                "--target", f"{KNOWN}.longer", "--speedups", str(SPEEDUP_PERCENT), "--",
                machine.java(jdk), "-jar", str(machine.workloads_jar), "causal", known.scenario, "--seconds", str(CAUSAL_S),
            ]  # fmt: skip
            return causal_figures(known, machine.read(command, 2 * CAUSAL_S + 60))

    return run


def causal_figures(known: Known, text: str) -> Figures:
    """What was predicted, beside the truth. Too few experiments for an interval hold no truth."""
    report = with_key(text, "targets", "headway causal")
    targets = [target for target in report["targets"] if target.get("points")]
    if not targets:
        raise ProfilerError(f"headway causal has no experiment with {known.scenario}")
    truth = known.truth_points
    if truth is None:
        truth = SPEEDUP_PERCENT * number(with_key(text, "share", f"the program {known.scenario}"), "share")
    point = targets[0]["points"][0]
    predicted = 100 * number(point, "gain")
    found = {
        "truth_points": truth, "predicted_points": predicted, "error_points": predicted - truth,
        "experiments": number(point, "experiments"), "covered": 0.0,
    }  # fmt: skip
    if point.get("ci95") is not None:
        low, high = 100 * number(point, "ci95", 0), 100 * number(point, "ci95", 1)
        found |= {"low_points": low, "high_points": high, "covered": float(low <= truth <= high)}
    return found


# Switched on and off in one JVM.

TOGGLE_S = 600.0


def toggled(machine: Machine, jdk: int, profilers: str, *options: str) -> list[dict[str, Any]]:
    """What ``toggle.py`` measured of each profiler."""
    with machine.directory() as directory:
        results = Path(directory) / "toggle.json"
        machine.read(
            [sys.executable, "-B", str(machine.root / "eval/toggle/toggle.py"), "--java-home", str(machine.home(jdk)),
             "--headway", str(machine.headway), "--workloads-jar", str(machine.workloads_jar), "--workload", "demo",
             "--profilers", profilers, "--json", str(results), *options], TOGGLE_S,
        )  # fmt: skip
        found = json.loads(results.read_text(encoding="utf-8"))
    if not isinstance(found, list):
        raise ProfilerError("toggle.py wrote no list of results")
    return found


def throughput_lost(results: list[dict[str, Any]], profiler: str) -> tuple[float, float, float]:
    """By how many percent throughput was lower while it was on: median and quartiles."""
    for result in results:
        if result.get("profiler") == profiler:
            if result.get("comparison", {}).get("throughput") is None:
                raise ProfilerError(f"too few pairs of phases of {profiler} were measured")
            low, median, high = (
                100 * (1 - number(result, "comparison", "throughput", name)) for name in ("upper", "median", "lower")
            )
            return low, median, high
    raise ProfilerError(f"toggle.py measured no {profiler}")


def causal_overhead(machine: Machine, jdk: int) -> Figures:
    """A target that nothing lies in: experiments without a delay."""
    return causal_overhead_figures(toggled(machine, jdk, "null,causal", "--pairs", "9"))


def causal_overhead_figures(results: list[dict[str, Any]]) -> Figures:
    """Throughput lost, and what switching nothing loses."""
    low, median, high = throughput_lost(results, "causal")
    null_low, null_median, null_high = throughput_lost(results, "null")
    return {
        "overhead_beyond_delays_percent": median, "low_quartile_percent": low, "high_quartile_percent": high,
        "null_percent": null_median, "null_low_quartile_percent": null_low, "null_high_quartile_percent": null_high,
        "own_threads_percent_of_a_cpu": own_threads(results, "causal"),
    }  # fmt: skip


def own_threads(results: list[dict[str, Any]], profiler: str) -> float:
    """CPU time of the profiler's own threads, median of the phases."""
    shares = [share for result in results if result.get("profiler") == profiler for share in result["own_threads_percent"]]
    if not shares:
        raise ProfilerError(f"toggle.py does not say what the threads of {profiler} took")
    return statistics.median(shares)


def steal_overhead(machine: Machine, jdk: int) -> Figures:
    """50 threads that all work: each is looked at ten times a second."""
    results = toggled(machine, jdk, "null,steal-100ms", "--threads", "50", "--pairs", "8", "--phase", "2")
    return steal_overhead_figures(results, len(os.sched_getaffinity(0)))


def steal_overhead_figures(results: list[dict[str, Any]], processors: int) -> Figures:
    """The draining thread's time against what the program, which takes all processors, uses."""
    own = own_threads(results, "steal-100ms")
    return {
        "own_percent_of_program": own / processors, "own_threads_percent_of_a_cpu": own,
        "throughput_lost_percent": throughput_lost(results, "steal-100ms")[1],
        "null_percent": throughput_lost(results, "null")[1],
    }  # fmt: skip


# What the environment took.

STEAL_S = 180.0


def steal(machine: Machine, jdk: int) -> Figures:
    """CPU time of threads with different patterns, and a crowd of threads for few processors."""
    patterns = stolen(machine, jdk, "patterns")
    return {**pattern_figures(*patterns), **crowd_figures(*stolen(machine, jdk, "crowd"))}


def stolen(machine: Machine, jdk: int, scenario: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the program knows, and what Headway reports of it."""
    with machine.directory() as directory:
        truth, recording = Path(directory) / "truth.json", f"{directory}/steal.jfr"
        machine.read(
            [str(machine.headway), "run", "-q", "-e", "monitor,park,steal", "--steal-interval", "100ms", "-o", recording,
             "--", machine.java(jdk), "-jar", str(machine.workloads_jar), "steal", scenario, "--seconds", "3",
             "--truth", str(truth)], STEAL_S,
        )  # fmt: skip
        command = [str(machine.headway), "report", "--steal", "--json", "--top", "10000", recording]
        report = with_key(machine.read(command, READ_S), "threads", "headway report --steal")
        return json.loads(truth.read_text(encoding="utf-8")), report


def of_thread(report: dict[str, Any], name: str) -> dict[str, Any]:
    """What is reported of a thread."""
    for thread in report["threads"]:
        if thread.get("name") == name:
            return dict(thread)
    raise ProfilerError(f"the report has no thread {name}")


def pattern_figures(truth: dict[str, Any], report: dict[str, Any]) -> Figures:
    """How far the CPU time of each thread is from its own clock's."""
    errors = []
    for thread in truth["threads"]:
        cpu = number(thread, "cpu_ns")
        errors.append(100 * abs(number(of_thread(report, thread["name"]), "cpu_ns") - cpu) / cpu)
    return {"worst_error_percent": max(errors), "median_error_percent": statistics.median(errors)}


def crowd_figures(truth: dict[str, Any], report: dict[str, Any]) -> Figures:
    """What threads computed and lost must add up to the time on the clock."""
    if report.get("run_queue_known") is not True:
        raise ProfilerError("this kernel does not tell how long threads wait for a CPU")
    wall = cpu = lost = 0.0
    for thread in truth["threads"]:
        told = of_thread(report, thread["name"])
        wall, cpu = wall + number(thread, "wall_ns"), cpu + number(thread, "cpu_ns")
        # Where thread times contain stolen time it is in `cpu` already.
        lost += number(told, "run_queue_ns") + (0 if report.get("accounting") == "included" else number(told, "steal_ns"))
    told_percent = 100 * (cpu + lost) / wall
    return {"crowd_told_percent": told_percent, "crowd_error_percent": abs(told_percent - 100)}


# Programs that the agent is switched on and off in.

WARM_UP_S = 3.0
RECORDED_S = 5.0
LOCK_EVENTS = "events=monitor+park"
SAMPLES = "events=cpu,interval=1000000"
PROBED = ("h2", "queued-monitor")
BUSIEST = "queued-monitor"
BUDGET_S = 5 * budget.TURN_S


@dataclass(frozen=True)
class Told:
    """What the agent said of a recording when it ended, and what the program did meanwhile."""

    own_cpu_ns: float
    events: float
    operations: int


def recorded(machine: Machine, program: Program, what: str, file: Path, meanwhile: Callable[[], object]) -> Told:
    """Records until something has been done."""
    reply = file.with_suffix(".json")
    before = program.mark()
    program.command(agent_load(machine.agent, f"start,strict,force,{what},file={file}"))
    meanwhile()
    program.command(agent_load(machine.agent, f"stop,reply={reply}"))
    operations = program.mark().operations - before.operations
    return told_by(reply.read_text(encoding="utf-8"), operations)


def told_by(reply: str, operations: int) -> Told:
    """From the agent's reply to ``stop``."""
    told = with_key(reply, "ok", "the agent")
    if not told["ok"]:
        raise ProfilerError(f"the agent could not end the recording: {told.get('error')}")
    counts = told.get("events") or {}
    events = sum(number(counts, name) for name in counts if not name.startswith("pressure"))
    if operations <= 0:
        raise ProfilerError("the program did nothing while it was recorded")
    return Told(number(told, "own_cpu_ns"), events, operations)


def started(machine: Machine, jdk: int, workload: Workload, directory: str) -> Program:
    """A program of the evaluation, to be warmed up."""
    if not workload.jar.is_file():
        raise ProfilerError(f"{workload.jar.name} is not built; ./hw eval builds it")
    return Program(machine.home(jdk), workload, [], Path(directory) / "stderr.txt")


def warm_up(machine: Machine, program: Program) -> None:
    """The VM finds the natives of the agent's class only once the agent has been loaded."""
    program.await_ready()
    time.sleep(WARM_UP_S)
    program.command(agent_load(machine.agent, "status"))


def budget_kept(machine: Machine, jdk: int) -> dict[str, float]:
    """A budget of 1 % under a load that changes a thousandfold."""
    with machine.directory() as directory:
        return budget.summary(budget.record(machine.headway, machine.home(jdk), Path(directory), BUDGET_S))


def chains(name: str) -> Callable[[Machine, int], Figures]:
    """How often call chains come again in a program."""

    def run(machine: Machine, jdk: int) -> Figures:
        found: Figures = {}
        with machine.directory() as directory:
            locks, samples = Path(directory) / "locks.jfr", Path(directory) / "samples.jfr"
            with started(machine, jdk, WORKLOADS[name], directory) as program:
                warm_up(machine, program)
                recorded(machine, program, LOCK_EVENTS, locks, lambda: time.sleep(RECORDED_S))
                recorded(machine, program, SAMPLES, samples, lambda: time.sleep(RECORDED_S))
            for kind, file in (("lock", locks), ("sample", samples)):
                told = machine.read(machine.example("headway-jfr", "events", "--chains", str(file)), READ_S)
                found |= chain_figures(name, kind, told)
        return found

    return run


def chain_figures(program: str, kind: str, text: str) -> Figures:
    """Events whose chain was known already, and the share of their frames that came in such a chain."""
    told = with_key(text, kind, "events")[kind]
    events, distinct = number(told, "events"), number(told, "chains")
    if events == 0 or distinct == 0:
        raise ProfilerError(f"{program} has no {kind} event with a call chain")
    frames, decoded = number(told, "event_frames"), number(told, "chain_frames")
    return {
        f"{kind}_events": events, f"{kind}_chains": distinct, f"{kind}_chains_known_percent": 100 * (1 - distinct / events),
        f"{kind}_frames_known_percent": 100 * (1 - decoded / max(frames, 1.0)),
    }  # fmt: skip


def online(machine: Machine, jdk: int) -> Figures:
    """The busiest program written to a file, the same with somebody watching, and windows of pressure alone.

    The analysis of the recording under way, which ``status`` asks, has no switch: it is in what the file costs."""
    with machine.directory() as directory:
        file, watched = Path(directory) / "file.jfr", Path(directory) / "watched.jfr"
        live = Path(directory) / "live.jfr"
        with started(machine, jdk, WORKLOADS[BUSIEST], directory) as program:
            warm_up(machine, program)
            top = [str(machine.headway), "top", "--json", "-n", f"{RECORDED_S:.0f}", str(program.process.pid)]
            rest: Callable[[], object] = lambda: time.sleep(RECORDED_S)  # noqa: E731
            told = (
                recorded(machine, program, LOCK_EVENTS, file, rest),
                recorded(machine, program, LOCK_EVENTS, watched, lambda: machine.read(top, 60.0)),
                recorded(machine, program, "events=pressure", live, rest),
            )
        report = machine.run([str(machine.headway), "report", "--json", str(file)], READ_S)
        return online_figures(*told, report)


def online_figures(file: Told, watched: Told, live: Told, report: Ended) -> Figures:
    """CPU time of Headway's own threads, and of the command that analyses the file afterwards."""
    if file.events == 0 or watched.events == 0:
        raise ProfilerError(f"{BUSIEST} had no event of a lock")
    return {
        "events": file.events,
        "file_own_ns_per_event": file.own_cpu_ns / file.events,
        "watched_own_ns_per_event": watched.own_cpu_ns / watched.events,
        "offline_ns_per_event": 1e9 * report.cpu_s / file.events,
        "file_own_ns_per_operation": file.own_cpu_ns / file.operations,
        "live_only_own_ns_per_operation": live.own_cpu_ns / live.operations,
    }


# The one thread of it works all the time, so that with a processor more than that one is free.
ASKED = "kernels"
ANSWERS = {"handshake-10ms": 10_000_000, "handshake-1ms": 1_000_000, "jvmti-1ms": 1_000_000}


def answers(asked: str) -> Callable[[Machine, int], Figures]:
    """How long the VM takes to give the stack of a running thread, where a processor is free: from the request to the
    answer, which is more than the thread stands still. By engine and interval."""

    def run(machine: Machine, jdk: int) -> Figures:
        with machine.directory() as directory:
            file = Path(directory) / "asked.jfr"
            with started(machine, jdk, replace(WORKLOADS[ASKED], threads=1), directory) as program:
                warm_up(machine, program)
                what = f"events=cpu,interval={ANSWERS[asked]},engine={asked.partition('-')[0]}"
                recorded(machine, program, what, file, lambda: time.sleep(2 * RECORDED_S))
            tool = machine.home(jdk) / "bin" / "jfr"
            return answer_figures(machine.read([str(tool), "print", "--json", "--events", "jdk.ActiveSetting", str(file)], READ_S))

    return run


def answer_figures(text: str) -> Figures:
    """From the settings of a recording, as the JDK's tool prints them."""
    told = with_key(text, "recording", "jfr print")["recording"]
    settings = {one["values"]["name"]: one["values"]["value"] for one in told.get("events", [])}
    names = ("stack_requests", "stacks_by_target", "stack_request_p50_ns", "stack_request_p97_5_ns", "stack_request_max_ns")
    missing = [name for name in names if not str(settings.get(name, "")).isdigit()]
    if missing:
        raise ProfilerError(f"the recording does not tell {', '.join(missing)}")
    asked, by_target, *took_ns = (float(settings[name]) for name in names)
    if asked == 0:
        raise ProfilerError("no thread was asked for its stack")
    median, most, longest = (ns / 1000 for ns in took_ns)
    return {"requests": asked, "by_the_thread_itself_percent": 100 * by_target / asked, "median_us": median, "p97_5_us": most,
            "longest_us": longest}  # fmt: skip


CHECKS: dict[str, Check] = {
    check.name: check
    for check in (
        Check("analysis-64m", "headway report on a recording of 64 MB", 3, False, analysis(64)),
        Check("analysis-256m", "headway report on a recording of 256 MB", 12, False, analysis(256)),
        Check("analysis-1024m", "headway report on a recording of 1 GB", 45, False, analysis(1024)),
        Check("page-1024m", "the page's questions on a recording of 1 GB", 60, False, page),
        Check("walk", "a call chain of 40 frames at an event: walk, look-up, append; nothing of a program in it", 20, True, walk),
        *(Check(f"causal-{known.scenario}", f"predicted gain: {known.about}", CAUSAL_S + 2, True, causal(known))
          for known in KNOWN_PROGRAMS),
        Check("causal-overhead", "throughput of the demo program under experiments without delays", 120, True, causal_overhead),
        Check("steal", "CPU time and lost time of threads against the program's own clocks", 35, True, steal),
        Check("steal-overhead", "CPU, stolen and run-queue time of 50 working threads every 100 ms", 120, True, steal_overhead),
        *(Check(f"chains-{name}", f"how often call chains of lock events and samples come again in {name}", 20, True, chains(name))
          for name in PROBED),
        *(Check(f"answers-{asked}", "how long the VM takes to give the stack of the one running thread", 18, True, answers(asked))
          for asked in ANSWERS),
        Check("budget", "a budget of 1 % under a load that changes a thousandfold every 20 s", BUDGET_S + 5, True, budget_kept),
        Check("online", "Headway's own CPU time while a program runs, and that of an analysis afterwards", 25, True, online),
    )
}  # fmt: skip


def here(scratch: Path) -> Machine:
    """This machine, by what ``./hw eval`` tells in the environment."""
    homes = {release: os.environ.get(f"HEADWAY_JDK{release}") for release in RELEASES}
    return Machine(
        root=ROOT, headway=Path(os.environ.get("HEADWAY_BIN", ROOT / "target/release/headway")),
        agent=Path(os.environ.get("HEADWAY_AGENT", ROOT / "target/release/libheadway.so")),
        java_homes={release: Path(home) for release, home in homes.items() if home}, scratch=scratch,
        workloads_jar=Path(os.environ.get("HEADWAY_WORKLOADS", ROOT / "java/workloads/target/headway-workloads.jar")),
    )  # fmt: skip


def main() -> int:
    """Runs one check and prints its figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=CHECKS)
    parser.add_argument("--jdk", type=int, help="default: the newest that is here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headway-check-") as scratch:
        machine = here(Path(scratch))
        jdk = options.jdk or max(machine.java_homes, default=0)
        print(json.dumps({name: round(value, 4) for name, value in CHECKS[options.name].run(machine, jdk).items()}, indent=1))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ProfilerError as error:
        print(f"checks: {error}", file=sys.stderr)
        sys.exit(1)
