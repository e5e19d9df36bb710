"""What a profiler costs, measured by switching it on and off inside one JVM.

    python3 eval/toggle/toggle.py --java-home JDK --workload demo --profilers null,headway,jfr,async

Each profiler gets a JVM of its own, in which it is switched on and off every
second or two; each phase that is on is compared with the phases beside it.
Prints medians and quartiles of the ratios, with a null run beside them:
a difference smaller than that of the null run is no difference.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import quantiles
from typing import Optional

from profilers import AsyncProfiler, Causal, Floor, Headway, Jfr, Null, Profiler, ProfilerError
from windows import Comparison, Phase, Window, compare

ROOT = Path(__file__).resolve().parents[2]
WORKLOADS = ("demo", "hotlock", "queue", "chain40", "idle", "vthreads", "monitors", "reentrantlocks", "vparks")
STEAL_INTERVALS = {"steal-1s": "1s", "steal-100ms": "100ms", "steal-10ms": "10ms"}
ASYNC_PROFILER = ".m2/repository/tools/profiler/async-profiler/4.1/async-profiler-4.1.jar"

# After switching, the first moments belong to neither state: pages and caches
# are cold, and the command itself used the processor.
SETTLE_S = 0.25


@dataclass(frozen=True)
class Options:
    """What the command line said."""

    java_home: Path
    workload: str
    profilers: list[str]
    threads: int
    pairs: int
    phase_s: float
    warm_up_s: float
    window_ms: int
    jvm_options: list[str]
    headway: Path
    workloads_jar: Path
    async_profiler_jar: Path
    json_file: Optional[Path]


class RunningWorkload:
    """The workload's JVM, and the windows that it has reported so far."""

    def __init__(self, options: Options) -> None:
        phases = 2 * options.pairs + 3
        # Generous: switching takes time too. It is killed when it is no longer needed.
        seconds = options.warm_up_s + phases * (options.phase_s + 10)
        command = [
            str(options.java_home / "bin" / "java"), *options.jvm_options, "-jar", str(options.workloads_jar),
            "toggle", options.workload, "--seconds", str(seconds), "--threads", str(options.threads),
            "--window-ms", str(options.window_ms),
        ]  # fmt: skip
        self.windows: list[Window] = []
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        self.ready = threading.Event()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self) -> None:
        """Reads lines until the process ends."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("READY"):
                self.ready.set()
            window = Window.parse(line)
            if window is not None:
                self.windows.append(window)

    def await_ready(self) -> None:
        """Waits until it works."""
        if not self.ready.wait(timeout=60):
            self.process.kill()
            raise ProfilerError("the workload did not become ready")

    def end(self) -> None:
        """Ends the process; what it would still do is of no interest."""
        if self.process.poll() not in (None, 0):
            raise ProfilerError(f"the workload ended with {self.process.returncode} while it was measured")
        self.process.kill()
        self.process.wait()
        self.reader.join()


def make_profiler(name: str, options: Options, directory: Path) -> Profiler:
    """The profiler of this name."""
    if name == "null":
        return Null(options.java_home, directory)
    if name == "headway":
        return Headway(options.java_home, directory, options.headway)
    if name == "default":
        return Headway(options.java_home, directory, options.headway, "lock,steal")
    if name == "sampled":
        return Headway(options.java_home, directory, options.headway, "lock,steal", ("--sampling-window", "20ms"))
    if name == "budget":
        return Headway(options.java_home, directory, options.headway, "lock,steal", ("--budget", "1"))
    if name == "pressure":
        return Headway(options.java_home, directory, options.headway, "pressure")
    if name in STEAL_INTERVALS:
        more = ("--steal-interval", STEAL_INTERVALS[name])
        return Headway(options.java_home, directory, options.headway, "steal", more)
    if name == "causal":
        return Causal(options.java_home, directory, options.headway)
    if name == "floor":
        return Floor(options.java_home, directory)
    if name == "jfr":
        return Jfr(options.java_home, directory)
    if name == "async":
        return AsyncProfiler(options.java_home, directory, options.async_profiler_jar)
    raise ProfilerError(
        f"there is no profiler {name}; there are null, floor, headway, default, sampled, budget, pressure, steal-1s, steal-100ms, "
        "steal-10ms, causal, jfr, async"
    )


def phase(on: bool, seconds: float) -> Phase:
    """Lets time pass, and says which part of it counts."""
    time.sleep(SETTLE_S)
    start = time.monotonic_ns()
    time.sleep(seconds)
    return Phase(on, start, time.monotonic_ns())


@dataclass(frozen=True)
class Result:
    """What one profiler cost."""

    profiler: str
    comparison: Comparison
    recorded_bytes: int
    operations_per_s: float
    own_threads_percent: list[float]
    """CPU time of the profiler's own threads in each phase that is on, in % of one processor."""


def measure(name: str, options: Options, directory: Path) -> Result:
    """Runs the workload once and toggles one profiler in it."""
    profiler = make_profiler(name, options, directory)
    workload = RunningWorkload(options)
    try:
        workload.await_ready()
        pid = workload.process.pid
        time.sleep(options.warm_up_s)
        # Once for nothing: the first time loads classes and libraries.
        profiler.on(pid)
        time.sleep(options.phase_s)
        profiler.off(pid)
        phases = [phase(False, options.phase_s)]
        own: list[float] = []
        for _ in range(options.pairs):
            profiler.on(pid)
            time.sleep(SETTLE_S)
            before_ns = profiler.own_cpu_ns(pid)
            phases.append(phase(True, options.phase_s))
            spent_ns = profiler.own_cpu_ns(pid) - before_ns
            own.append(100 * spent_ns / (phases[-1].end_ns - phases[-1].start_ns + SETTLE_S * 1e9))
            profiler.off(pid)
            phases.append(phase(False, options.phase_s))
    finally:
        workload.end()
    duration = sum(w.end_ns - w.start_ns for w in workload.windows) or 1
    operations = sum(w.operations for w in workload.windows)
    return Result(name, compare(phases, workload.windows), profiler.recorded_bytes(), operations * 1e9 / duration, own)


def print_result(result: Result) -> None:
    """One line per ratio."""
    comparison = result.comparison
    print(
        f"{result.profiler}: {result.operations_per_s:.0f} operations/s on and off together, "
        f"{result.recorded_bytes} bytes recorded"
    )
    print(f"  throughput on/off            {comparison.throughput}")
    print(f"  process CPU per op on/off    {comparison.process_cpu}")
    print(f"  workload's CPU per op on/off {comparison.threads_cpu}")
    own = result.own_threads_percent
    low, middle, high = quantiles(own, n=4, method="inclusive") if len(own) > 1 else own * 3
    print(f"  profiler's own threads       {middle:.3f} ({low:.3f} to {high:.3f}) % of a processor")
    sys.stdout.flush()


def parse(arguments: list[str]) -> Options:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--java-home", type=Path, default=os.environ.get("JAVA_HOME"), help="default: JAVA_HOME")
    parser.add_argument("--workload", choices=WORKLOADS, default="demo")
    parser.add_argument("--profilers", default="null,headway,jfr,async")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--pairs", type=int, default=15, help="phases that are on")
    parser.add_argument("--phase", type=float, default=1.5, help="seconds per phase")
    parser.add_argument("--warm-up", type=float, default=8.0, help="seconds before the first phase")
    parser.add_argument("--window-ms", type=int, default=100)
    parser.add_argument("--jvm-option", action="append", default=[], help="may be repeated")
    parser.add_argument("--headway", type=Path, default=os.environ.get("HEADWAY_BIN", ROOT / "target/release/headway"))
    parser.add_argument(
        "--workloads-jar", type=Path,
        default=os.environ.get("HEADWAY_WORKLOADS", ROOT / "java/workloads/target/headway-workloads.jar"),
    )  # fmt: skip
    parser.add_argument("--async-profiler-jar", type=Path, default=Path.home() / ASYNC_PROFILER)
    parser.add_argument("--json", type=Path, help="also write the results there")
    given = parser.parse_args(arguments)
    if given.java_home is None:
        parser.error("--java-home is needed where JAVA_HOME is not set")
    return Options(
        java_home=Path(given.java_home), workload=given.workload, profilers=given.profilers.split(","),
        threads=given.threads, pairs=given.pairs, phase_s=given.phase, warm_up_s=given.warm_up,
        window_ms=given.window_ms, jvm_options=given.jvm_option, headway=Path(given.headway),
        workloads_jar=Path(given.workloads_jar), async_profiler_jar=given.async_profiler_jar, json_file=given.json,
    )  # fmt: skip


def main() -> int:
    """Measures each profiler in turn."""
    options = parse(sys.argv[1:])
    print(f"{options.workload}, {options.threads} threads, {options.java_home}, {options.pairs} x {options.phase_s} s on")
    results: list[Result] = []
    for name in options.profilers:
        with tempfile.TemporaryDirectory(prefix="headway-toggle-") as directory:
            try:
                results.append(measure(name, options, Path(directory)))
            except ProfilerError as error:
                print(f"{name}: {error}", file=sys.stderr)
                return 1
            print_result(results[-1])
    if options.json_file is not None:
        options.json_file.write_text(json.dumps([asdict(result) for result in results], indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
