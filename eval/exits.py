"""How long a program takes to end under the default recording, and what it does until then.

    python3 eval/exits.py --java-home JDK --workload derby --pairs 20 --seconds 12

Runs a program of the evaluation without and with Headway in turn, from the JVM's
start. Prints for each run the operations per second in its last `--seconds`, and
the time from the moment it is asked to exit (its standard input ends, whereupon it
calls System.exit) until its process has ended; then medians, and the ratio of
neighbouring runs. Exits with 1 if a run took longer than `--limit` seconds to end.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Optional

from workloads import WORKLOADS, Workload

ROOT = Path(__file__).resolve().parents[1]
HEAP = ("-Xms512m", "-Xmx512m")
# Longest time that a program may take to end before it is killed.
GIVE_UP_S = 300


@dataclass(frozen=True)
class Life:
    """One life of the program."""

    per_second: float
    exit_s: float


class Ended(RuntimeError):
    """The program did not answer."""


def say(process: "subprocess.Popen[str]") -> tuple[float, int]:
    """Asks the program how far it is: its time in seconds, and operations."""
    assert process.stdin is not None
    process.stdin.write("mark\n")
    process.stdin.flush()
    words = wait_for(process, "mark").split()
    return int(words[1]) / 1e9, int(words[2])


def wait_for(process: "subprocess.Popen[str]", word: str) -> str:
    """The next line that begins with a word."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(word):
            return line
    raise Ended(f"the program ended with {process.wait()} before it said {word}")


def live(command: list[str], warm_up_s: float, seconds: float) -> Life:
    """Runs a program once."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        wait_for(process, "READY")
        time.sleep(warm_up_s)
        begin, before = say(process)
        time.sleep(seconds)
        end, after = say(process)
        assert process.stdin is not None
        asked = time.monotonic()
        process.stdin.close()
        code = process.wait(GIVE_UP_S)
        exit_s = time.monotonic() - asked
    finally:
        process.kill()
    if code != 0:
        raise Ended(f"{command} ended with {code}")
    return Life((after - before) / (end - begin), exit_s)


def agent_option(headway: Path, recording: Path) -> str:
    """The JVM's option that loads Headway and records from the start."""
    return f"-agentpath:{headway.with_name('libheadway.so')}=start,file={recording}"


def run(options: argparse.Namespace, workload: Workload, directory: Path) -> bool:
    """Prints the runs and their medians; false if one took too long to end."""
    plain, with_it = [], []
    java = str(options.java_home / "bin" / "java")
    rest = [*HEAP, *workload.jvm_options, *workload.main(), "--threads", str(workload.threads)]
    print(f"{'pair':>4} {'plain/s':>9} {'recorded/s':>10} {'ratio':>6} {'plain exit s':>12} {'recorded exit s':>15}")
    for pair in range(1, options.pairs + 1):
        recording = directory / "recording.jfr"
        recording.unlink(missing_ok=True)
        plain.append(live([java, *rest], options.warm_up, options.seconds))
        with_it.append(live([java, agent_option(options.headway, recording), *rest], options.warm_up, options.seconds))
        if not recording.exists() or recording.stat().st_size == 0:
            raise Ended("nothing was recorded")
        a, b = plain[-1], with_it[-1]
        print(
            f"{pair:>4} {a.per_second:>9.0f} {b.per_second:>10.0f} {b.per_second / a.per_second:>6.2f}"
            f" {a.exit_s:>12.2f} {b.exit_s:>15.2f}",
            flush=True,
        )
    ratios = [b.per_second / a.per_second for a, b in zip(plain, with_it)]
    spread = f" ({quantiles(ratios, n=4)[0]:.2f}-{quantiles(ratios, n=4)[2]:.2f})" if len(ratios) > 1 else ""
    longest = max(one.exit_s for one in with_it)
    late = sum(one.exit_s > options.limit for one in with_it)
    print(f"throughput with the default recording: {median(ratios):.2f} of plain{spread}")
    print(
        f"exit: median {median(one.exit_s for one in with_it):.2f} s, longest {longest:.2f} s, "
        f"plain {median(one.exit_s for one in plain):.2f} s; {late} of {len(with_it)} longer than {options.limit} s"
    )
    return late == 0


def parse(arguments: list[str]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    home: Optional[str] = os.environ.get("JAVA_HOME")
    parser.add_argument("--java-home", type=Path, default=home, required=home is None)
    parser.add_argument("--workload", choices=sorted(WORKLOADS), default="derby", help="default: %(default)s")
    parser.add_argument("--pairs", type=int, default=20, help="default: %(default)s")
    parser.add_argument("--seconds", type=float, default=12.0, help="measured part (default: %(default)s)")
    parser.add_argument("--warm-up", type=float, default=6.0, help="seconds before it (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=1.0, help="longest exit in seconds (default: %(default)s)")
    parser.add_argument("--headway", type=Path, default=os.environ.get("HEADWAY_BIN", ROOT / "target/release/headway"))
    options = parser.parse_args(arguments)
    if options.pairs < 1 or options.seconds <= 0 or options.warm_up < 0 or options.limit <= 0:
        parser.error("--pairs takes at least 1, --seconds and --limit more than 0, --warm-up 0 or more")
    jar = WORKLOADS[options.workload].jar
    if not jar.is_file():
        parser.error(f"{jar} is missing; `mvn -f java -Peval -pl {jar.parents[1].name} -am -DskipTests package` builds it")
    return options


def main(arguments: list[str]) -> int:
    """Runs the pairs."""
    options = parse(arguments)
    with tempfile.TemporaryDirectory() as directory:
        try:
            return 0 if run(options, WORKLOADS[options.workload], Path(directory)) else 1
        except (Ended, subprocess.TimeoutExpired) as problem:
            print(f"exits: {problem}", file=sys.stderr)
            return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
