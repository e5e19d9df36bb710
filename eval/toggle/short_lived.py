"""What 10^2 to 10^6 short-lived locks or virtual threads cost a program and Headway.

    python3 eval/toggle/short_lived.py --java-home JDK --what monitors,reentrantlocks,vparks --most 1000000

For each number one program runs without and with the default recording, in turn,
`--pairs` times. Prints medians over the pairs: operations per second without and
with it and their ratio with quartiles, CPU time of the draining thread per event,
the time from the program's last line to the end of its process, resident memory
above the program's own, and how many events were dropped. An operation is one
contention, or one park of a virtual thread.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Optional

ROOT = Path(__file__).resolve().parents[2]
WHAT = ("monitors", "reentrantlocks", "vparks")
# Fewer operations than this say little about a rate.
OPERATIONS = 100_000
HEAP = ["-Xms512m", "-Xmx512m"]
# Longest life of one program.
LIMIT_S = 600


@dataclass(frozen=True)
class Run:
    """One life of the program."""

    operations: int
    elapsed_s: float
    exit_s: float
    resident_mb: float


@dataclass(frozen=True)
class Recorded:
    """What a recording says of itself."""

    events: int
    own_cpu_ns: int
    dropped: int


def run(command: list[str], truth: Path) -> Run:
    """Runs the program to its end.

    Raises RuntimeError if it fails or does not end.
    """
    deadline = time.monotonic() + LIMIT_S
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > deadline:
                process.kill()
                raise RuntimeError(f"{command} did not end within {LIMIT_S} s")
            time.sleep(0.005)
        ended = time.monotonic_ns()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    done = [line.split()[1] for line in text.splitlines() if line.startswith("DONE ")]
    if process.returncode != 0 or not done:
        raise RuntimeError(f"{command} ended with {process.returncode}:\n{text[-2000:]}")
    said = json.loads(truth.read_text())
    resident = usage.ru_maxrss / 1024
    return Run(said["operations"], said["elapsed_ns"] / 1e9, (ended - int(done[0])) / 1e9, resident)


def recorded(headway: Path, recording: Path) -> Recorded:
    """Reads what the recording cost, and what is not in it."""
    output = subprocess.run([headway, "report", "--json", recording], check=True, capture_output=True, text=True)
    report = json.loads(output.stdout)
    summary = report["recording"]
    # Folded by the analysis, which keeps to its bound: recorded all the same.
    dropped = sum(count for cause, count in report["losses"].items() if cause != "analysis_full")
    return Recorded(summary["events"], summary.get("own_cpu_ns", 0), dropped)


def spread(values: list[float]) -> str:
    """Median and quartiles."""
    if len(values) < 2:
        return f"{values[0]:.2f}"
    low, _, high = quantiles(values, n=4, method="inclusive")
    return f"{median(values):.2f} ({low:.2f}-{high:.2f})"


def measure(options: argparse.Namespace, what: str, number: int, directory: Path) -> None:
    """Prints one row."""
    truth, recording = directory / "truth.json", directory / "recording.jfr"
    java = [str(options.java_home / "bin" / "java"), *HEAP, "-jar", str(options.workloads_jar), "many", what]
    java += ["--number", str(number), "--operations", str(max(number, OPERATIONS)), "--truth", str(truth)]
    plain, with_it, facts = [], [], []
    for _ in range(options.pairs):
        plain.append(run(java, truth))
        recording.unlink(missing_ok=True)
        with_it.append(run([str(options.headway), "run", "-q", "-o", str(recording), "--", *java], truth))
        facts.append(recorded(options.headway, recording))

    def rate(runs: list[Run]) -> list[float]:
        return [one.operations / one.elapsed_s for one in runs]

    ratios = [b / a for a, b in zip(rate(plain), rate(with_it))]
    per_event = [fact.own_cpu_ns / max(fact.events, 1) for fact in facts]
    above = [b.resident_mb - a.resident_mb for a, b in zip(plain, with_it)]
    print(
        f"{what:<15} {number:>8} {median(rate(plain)):>9.0f} {median(rate(with_it)):>9.0f} {spread(ratios):>18}"
        f" {median(per_event):>9.0f} {max(one.exit_s for one in with_it):>7.2f} {median(above):>7.0f}"
        f" {sum(fact.dropped for fact in facts):>8}",
        flush=True,
    )


def parse(arguments: list[str]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    home: Optional[str] = os.environ.get("JAVA_HOME")
    parser.add_argument("--java-home", type=Path, default=home, required=home is None)
    parser.add_argument("--what", default=",".join(WHAT), help="default: %(default)s; vparks needs JDK 21 or later")
    parser.add_argument("--most", type=int, default=1_000_000, help="largest number (default: %(default)s)")
    parser.add_argument("--pairs", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--headway", type=Path, default=os.environ.get("HEADWAY_BIN", ROOT / "target/release/headway"))
    jar = ROOT / "java/workloads/target/headway-workloads.jar"
    parser.add_argument("--workloads-jar", type=Path, default=jar)
    options = parser.parse_args(arguments)
    options.what = options.what.split(",")
    unknown = [what for what in options.what if what not in WHAT]
    if unknown or options.most < 100 or options.pairs < 1:
        parser.error(f"--what takes {', '.join(WHAT)}; --most at least 100; --pairs at least 1")
    return options


def main(arguments: list[str]) -> int:
    """Prints the table."""
    options = parse(arguments)
    print("operations/s without and with the default recording; ns of CPU time of the draining thread per event;")
    print("longest time from the program's last line to its end; MB of resident memory above plain; events dropped")
    print(
        f"{'what':<15} {'number':>8} {'plain':>9} {'recorded':>9} {'ratio (quartiles)':>18}"
        f" {'ns/event':>9} {'exit s':>7} {'MB':>7} {'dropped':>8}"
    )
    with tempfile.TemporaryDirectory() as directory:
        for what in options.what:
            number = 100
            while number <= options.most:
                measure(options, what, number, Path(directory))
                number *= 10
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
