"""Programs that know their own answer: waits that they measured of themselves and who held the lock
meanwhile, and what share of the processor each of two methods had. Each is recorded by Headway and by
its peers; ``headway-accuracy`` of ``crates/e2e`` runs them and compares."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Callable

from checks import BUILD_S, Check, Machine, cargo
from profilers import ASYNC_PROFILER_LIBRARY, ProfilerError, library_in

WAITS_S = 6
SHARES_S = 12
# Of the predictable programs of java/workloads, as the accuracy tests run them.
WAITS = {
    "50ms": ("holds of 50 ms", ("chains", "--hold-us", "50000", "--pause-us", "20000")),
    "2.5ms": ("holds of 2.5 ms under 40 frames", ("chains", "--hold-us", "2500", "--depth", "40")),
    "200us": ("holds of 200 us, 8 threads", ("chains", "--hold-us", "200", "--threads", "8")),
    "20us": ("holds of 20 us", ("chains", "--hold-us", "20", "--pause-us", "20")),
    "barging": ("an owner that takes its lock again before those who queue", ("barging", "--hold-us", "2500")),
    "inlined": ("owners inlined into one frame", ("inlined", "--hold-us", "2500")),
    "deep": ("waits below the method that holds the lock", ("deepwait", "--threads", "6", "--hold-us", "2500")),
}
PEERS = ("headway", "async", "jfr")
TIMEOUT_S = 240.0


def accuracy(*arguments: str) -> Callable[[Machine, int], dict[str, float]]:
    """Runs ``headway-accuracy``; its figures."""

    def run(machine: Machine, jdk: int) -> dict[str, float]:
        what, *rest = arguments
        binary = ("headway-e2e", "--bin", "headway-accuracy")
        machine.read(cargo("build", *binary), BUILD_S)
        command = [*cargo("run", *binary), "--", what, "--jdk", str(jdk)]
        if "async" in rest:
            command += ["--async-library", str(library(machine))]
        return figures_of(machine.read([*command, *rest], TIMEOUT_S))

    return run


def figures_of(text: str) -> dict[str, float]:
    """Of its last line. A figure that is null could not be told: of contentions of a millisecond, say, where there was none."""
    try:
        told = json.loads(text.strip().splitlines()[-1])
        return {name: float(value) for name, value in told.items() if value is not None}
    except (IndexError, ValueError, AttributeError, TypeError) as error:
        raise ProfilerError(f"headway-accuracy did not print figures but {text[-200:]!r}") from error


def library(machine: Machine) -> Path:
    """async-profiler's, out of its Maven artifact."""
    file = machine.scratch / ASYNC_PROFILER_LIBRARY
    if not file.exists():
        jars = sorted((machine.root / "java/eval-workloads/target/lib").glob("async-profiler-*.jar"))
        if not jars:
            raise ProfilerError("async-profiler's jar is not there; ./hw eval fetches it")
        file.write_bytes(library_in(jars[-1]))
    return file


def all_known() -> dict[str, Check]:
    """By name; a peer's is ``NAME@PEER``."""
    found: dict[str, Check] = {}
    for name, (about, scenario) in WAITS.items():
        for peer in PEERS:
            run = accuracy("waits", "--profiler", peer, "--seconds", str(WAITS_S), "--", *scenario)
            check = Check(f"waits-{name}", f"recorded against self-measured waits: {about}", WAITS_S + 6.0, True, run)
            key = check.name if peer == "headway" else f"{check.name}@{peer}"
            found[key] = replace(check, name=key)
    for peer in PEERS:
        run = accuracy("shares", "--profiler", peer, "--seconds", str(SHARES_S))
        key = "shares" if peer == "headway" else f"shares@{peer}"
        found[key] = Check(key, "samples of two methods whose shares are known", SHARES_S + 6.0, True, run)
    return found
