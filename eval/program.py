"""A program of the evaluation in a JVM of its own, and how far it is at a moment."""

from __future__ import annotations

import os
import selectors
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

from profilers import Command, ProfilerError
from workloads import Workload

# A heap that neither grows nor shrinks and is there from the start: what is resident beyond it can be compared.
HEAP = ("-Xms512m", "-Xmx512m", "-XX:+AlwaysPreTouch")
# How long an answer may take: switching off writes a recording.
ANSWER_S = 60.0


@dataclass(frozen=True)
class Mark:
    """How far a program was at a moment of CLOCK_MONOTONIC; counts are from its beginning."""

    at_ns: int
    operations: int
    process_cpu_ns: int
    threads_cpu_ns: int
    """CPU time of the threads that work, without the profiler's own."""
    p50_ns: int
    p99_ns: int
    max_ns: int
    """Latencies since the mark before; 0 where operations are no requests."""
    own_cpu_ns: int = 0
    """CPU time of the profiler's threads."""


def parse_mark(line: str, process_cpu_ns: int, own_cpu_ns: int = 0) -> Mark:
    """A line ``mark NOW OPERATIONS THREADS_CPU P50 P99 MAX``."""
    words = line.split()
    if len(words) != 7 or words[0] != "mark":
        raise ProfilerError(f"the program answered {line!r} where a mark was asked for")
    at, operations, threads_cpu, p50, p99, most = (int(word) for word in words[1:])
    return Mark(at, operations, process_cpu_ns, threads_cpu, p50, p99, most, own_cpu_ns)


class Program:
    """A running program; ends with the ``with`` block."""

    def __init__(self, java_home: Path, workload: Workload, jvm_options: Sequence[str], errors: Path) -> None:
        self.temporary = errors.parent / "temporary"
        self.empty_temporary()
        self.temporary.mkdir()
        command = [
            str(java_home / "bin" / "java"), *HEAP, f"-Djava.io.tmpdir={self.temporary}", "-XX:+EnableDynamicAgentLoading", *workload.jvm_options,
            *jvm_options, *workload.main(), "--threads", str(workload.threads),
        ]  # fmt: skip
        self.name = workload.name
        self.error_file = errors
        with errors.open("wb") as stderr:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, cwd=errors.parent
            )
        assert self.process.stdout is not None
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)
        self.unread = b""

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *exception: object) -> None:
        self.process.kill()
        self.process.wait()
        self.selector.close()
        self.empty_temporary()

    def empty_temporary(self) -> None:
        """It is killed, so it cannot remove its files itself: databases, libraries unpacked from jars."""
        shutil.rmtree(self.temporary, ignore_errors=True)

    def await_ready(self) -> None:
        """Waits until it works. A profiler that starts with the JVM may print lines of its own before."""
        while self.line() != "READY":
            pass

    def line(self) -> str:
        """The next line that it prints."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + ANSWER_S
        while b"\n" not in self.unread:
            if not self.selector.select(max(0.0, deadline - time.monotonic())):
                raise ProfilerError(f"{self.name} did not answer within {ANSWER_S:g} s")
            read = os.read(self.process.stdout.fileno(), 65536)
            if not read:
                told = self.error_file.read_text(encoding="utf-8", errors="replace")[-2000:]
                raise ProfilerError(f"{self.name} ended with {self.process.wait()} while it was measured: {told}")
            self.unread += read
        line, self.unread = self.unread.split(b"\n", 1)
        return line.decode("utf-8", errors="replace").strip()

    def ask(self, question: str) -> str:
        """Writes a line, and gives the line that answers it."""
        assert self.process.stdin is not None
        self.process.stdin.write(question.encode() + b"\n")
        self.process.stdin.flush()
        while True:
            answer = self.line()
            if answer.split(" ", 1)[0] in ("mark", "done", "failed"):
                return answer

    def mark(self, profilers_threads: Sequence[str] = ()) -> Mark:
        """How far it is, and how much CPU time the threads took whose names begin so."""
        own = threads_cpu_ns(self.process.pid, profilers_threads) if profilers_threads else 0
        return parse_mark(self.ask("mark"), process_cpu_ns(self.process.pid), own)

    def command(self, command: Command) -> int:
        """Runs a diagnostic command in the JVM; how long that took, in nanoseconds."""
        answer = self.ask("\t".join(command))
        verdict, ns, told = (answer.split(" ", 2) + ["", ""])[:3]
        refused = "return code:" in told and not told.endswith("return code: 0")
        if verdict != "done" or refused:
            raise ProfilerError(f"{' '.join(command)}: {told}")
        return int(ns)

    def resident_bytes(self) -> int:
        """Physical memory that it has now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        for line in status.splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        return 0


def threads_cpu_ns(pid: int, names: Sequence[str]) -> int:
    """CPU time so far of the threads of a process whose names begin with one of these. The kernel keeps
    15 characters of a name."""
    begins = tuple(name[:15] for name in names)
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            if (task / "comm").read_text(encoding="utf-8", errors="replace").startswith(begins):
                total += int((task / "schedstat").read_text(encoding="ascii").split()[0])
        except OSError:
            pass  # it ended meanwhile
    return total


def process_cpu_ns(pid: int) -> int:
    """CPU time of a process with all its threads: finer than what the process can read of itself.

    Processes' clocks have numbers made of their ids: see clock_getcpuclockid(3).
    """
    return time.clock_gettime_ns((~pid << 3) | 2)
