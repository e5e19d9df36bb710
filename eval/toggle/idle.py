"""What an agent costs that is loaded but records nothing.

    python3 eval/toggle/idle.py --java-home JDK --workload vthreads --rounds 10

A loaded agent cannot be taken out of a JVM again, so this cannot be toggled:
JVMs of three kinds take turns (none: no agent; getenv: an agent that only asks
for a JVMTI environment; headway: Headway, attached, started once and stopped),
and each round's rates are compared with the same round's rate without an agent.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from profilers import Headway, ProfilerError, run
from toggle import ROOT, WORKLOADS
from windows import Quartiles, Window

KINDS = ("none", "getenv", "headway")


def build_getenv_agent(jdk_with_headers: Path, directory: Path) -> Path:
    """Compiles the agent that does nothing."""
    library = directory / "libgetenv.so"
    include = jdk_with_headers / "include"
    run([
        os.environ.get("CC", "cc"), "-O2", "-fPIC", "-shared", "-I", str(include), "-I", str(include / "linux"),
        "-o", str(library), str(Path(__file__).parent.with_name("getenv_agent.c")),
    ])  # fmt: skip
    return library


def rate(kind: str, options: argparse.Namespace, directory: Path, getenv_agent: Path) -> float:
    """Operations per second of one JVM: the median of its windows after warming up."""
    command = [str(options.java_home / "bin" / "java")]
    if kind == "getenv":
        command.append(f"-agentpath:{getenv_agent}")
    seconds = options.warm_up + options.seconds + 5
    command += ["-jar", str(options.workloads_jar), "toggle", options.workload]
    command += ["--threads", str(options.threads), "--seconds", str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        while not process.stdout.readline().startswith("READY"):
            if process.poll() is not None:
                raise ProfilerError(f"the workload ended with {process.returncode}")
        if kind == "headway":
            headway = Headway(options.java_home, directory, options.headway)
            headway.on(process.pid)
            headway.off(process.pid)
        begin = time.monotonic_ns() + int(options.warm_up * 1e9)
        end = begin + int(options.seconds * 1e9)
        rates: list[float] = []
        for line in process.stdout:
            window = Window.parse(line)
            if window is not None and window.start_ns >= begin:
                rates.append(window.operations * 1e9 / (window.end_ns - window.start_ns))
            if window is not None and window.end_ns > end:
                break
    finally:
        process.kill()
        process.wait()
    return statistics.median(rates)


def main() -> int:
    """Lets the kinds take turns and prints the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--java-home", type=Path, required=True)
    parser.add_argument("--headers", type=Path, help="a JDK with jvmti.h, if the other has none")
    parser.add_argument("--workload", choices=WORKLOADS, default="vthreads")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--warm-up", type=float, default=3.0)
    parser.add_argument("--headway", type=Path, default=os.environ.get("HEADWAY_BIN", ROOT / "target/release/headway"))
    parser.add_argument(
        "--workloads-jar", type=Path,
        default=os.environ.get("HEADWAY_WORKLOADS", ROOT / "java/workloads/target/headway-workloads.jar"),
    )  # fmt: skip
    options = parser.parse_args()
    ratios: dict[str, list[float]] = {kind: [] for kind in KINDS[1:]}
    bases: list[float] = []
    with tempfile.TemporaryDirectory(prefix="headway-idle-") as name:
        directory = Path(name)
        getenv_agent = build_getenv_agent(options.headers or options.java_home, directory)
        for number in range(options.rounds):
            # The order changes, so that drift and what the round before left do not favour one kind.
            order = [KINDS[(number + i) % len(KINDS)] for i in range(len(KINDS))]
            measured = {kind: rate(kind, options, directory, getenv_agent) for kind in order}
            bases.append(measured["none"])
            for kind, values in ratios.items():
                values.append(measured[kind] / measured["none"])
    print(f"{options.workload}, {options.threads} threads, {options.java_home}: {statistics.median(bases):.0f} operations/s")
    for kind, values in ratios.items():
        print(f"  {kind} / none     {Quartiles.of(values)}")
    against = [a / b for a, b in zip(ratios["headway"], ratios["getenv"])]
    print(f"  headway / getenv  {Quartiles.of(against)}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ProfilerError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
