"""Compares what causal profiling predicts with what happens when the change is really made.

    python3 eval/causal_predictions.py --headway target/release/headway --jar java/workloads/target/headway-workloads.jar

Each program runs with and without the change in turn, without an agent; the gain is that of the
medians, its interval that of the ratios of neighbours. Then it runs once under `headway causal run`.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

GAINS = "io.headway.workloads.causal.Gains"

# Scenario and what is sped up.
PROGRAMS = [
    ("backoff", GAINS + ".backOff"),
    ("stock", "lock:Gains.STOCK"),
    ("stock", GAINS + ".critical"),
    ("halves", GAINS + ".serial"),
    ("pause", GAINS + ".pause"),
    ("pipe", GAINS + ".serve"),
    ("socket", GAINS + ".serve"),
]


def rate(java, jar, scenario, seconds, faster):
    """Pieces of work per second of one run."""
    command = [java, "-jar", jar, "causal", scenario, "--seconds", str(seconds), "--faster", str(faster)]
    said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return said["done"] / said["seconds"]


def measured(java, jar, scenario, seconds, faster, pairs):
    """Gains of pairs of runs: the part of the time per piece of work that the change takes away."""
    gains = []
    for _ in range(pairs):
        before = rate(java, jar, scenario, seconds, 0)
        after = rate(java, jar, scenario, seconds, faster)
        gains.append(1 - before / after)
    return sorted(gains)


def predicted(arguments, scenario, target):
    """The gain that one run of experiments predicts, with its interval."""
    with tempfile.TemporaryDirectory() as directory:
        recording = str(pathlib.Path(directory) / "run.jfr")
        command = [arguments.headway, "causal", "run", "-o", recording, "--progress", GAINS + ".done"]
        command += ["--target", target, "--speedups", str(arguments.faster), "--"]
        command += [arguments.java, "-jar", arguments.jar, "causal", scenario, "--seconds", str(arguments.experiment)]
        subprocess.run(command, check=True, capture_output=True)
        report = subprocess.run(
            [arguments.headway, "causal", "report", "--json", recording], check=True, capture_output=True, text=True
        )
    point = json.loads(report.stdout)["targets"][0]["points"][0]
    return point["gain"], point["ci95"]


def main():
    """Prints a line for each program; exit code 1 if a prediction is off."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--headway", required=True)
    parser.add_argument("--jar", required=True)
    parser.add_argument("--java", default=os.path.join(os.environ.get("JAVA_HOME", "/usr"), "bin", "java"))
    parser.add_argument("--faster", type=int, default=50, help="percent")
    parser.add_argument("--seconds", type=int, default=8, help="length of a run without experiments")
    parser.add_argument("--experiment", type=int, default=60, help="length of a run with experiments")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("scenarios", nargs="*")
    arguments = parser.parse_args()
    off = 0
    print(f"{'program':9} {'target':40} {'measured':>24} {'predicted':>24}")
    for scenario, target in PROGRAMS:
        if arguments.scenarios and scenario not in arguments.scenarios:
            continue
        gains = measured(
            arguments.java, arguments.jar, scenario, arguments.seconds, arguments.faster, arguments.pairs
        )
        gain, interval = predicted(arguments, scenario, target)
        low, high = interval or (float("nan"), float("nan"))
        truth = statistics.median(gains)
        agrees = low <= gains[-1] and gains[0] <= high
        off += not agrees
        print(
            f"{scenario:9} {target.replace(GAINS, 'Gains'):40} {truth:6.3f} ({gains[0]:6.3f} to {gains[-1]:6.3f}) "
            f"{gain:6.3f} ({low:6.3f} to {high:6.3f}){'' if agrees else '  off'}",
            flush=True,
        )
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())
