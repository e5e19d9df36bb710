"""What is in a recording: how many events of which types, how many bytes, which samples were lost
and why. Headway's own command reads all profilers' JFR files; the JDK's ``jfr summary`` counts types."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPORT_S = 120.0
PACKING_LEVEL = 6
CHUNK_BYTES = 1 << 20
# `jfr summary`: type, number, bytes.
ROW = re.compile(r"^\s*([\w.$]+)\s+(\d+)\s+(\d+)\s*$")
# Types that a JFR file has in any case: constants and descriptions.
NOT_EVENTS = ("jdk.types.", "jdk.Metadata", "jdk.CheckPoint")


@dataclass(frozen=True)
class Contents:
    """What a recording holds; zeros where it could not be told."""

    bytes: int
    """Of the file as it was written."""
    gzip_bytes: int
    """The same packed by one and the same packer for everybody."""
    events: dict[str, int] = field(default_factory=dict)
    """Number by type."""
    samples: int = 0
    running: int = 0
    """Samples of threads on the CPU."""
    cut_off: int = 0
    """Samples whose stack lacks its root, or has no frames at all."""
    lost: dict[str, int] = field(default_factory=dict)
    """Losses by cause, as the recording tells them."""
    degraded: list[str] = field(default_factory=list)
    """Mechanisms that were not in force."""
    report_cpu_s: float = 0.0
    """CPU time in which ``headway report`` read and analysed it."""

    def number(self) -> int:
        """Events of all types."""
        return sum(self.events.values())


def inspect(file: Path, headway: Path, java_home: Path) -> Contents:
    """Looks into a recording; what cannot be told of it is left at zero."""
    if not file.is_file():
        return Contents(0, 0)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    report = report_of(file, headway)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    samples = report.get("samples") or {}
    return Contents(
        bytes=file.stat().st_size,
        gzip_bytes=gzip_bytes(file),
        events=event_counts(file, headway, java_home),
        samples=samples.get("count", 0),
        running=samples.get("running", 0),
        cut_off=samples.get("truncated", 0) + samples.get("without_stack", 0),
        lost={name: count for name, count in report.get("losses", {}).items() if count > 0},
        degraded=[entry["mechanism"] for entry in report.get("degraded", [])],
        report_cpu_s=round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 3),
    )


def report_of(file: Path, headway: Path) -> dict[str, Any]:
    """``headway report --json``; empty where there is nothing to report."""
    done = run([str(headway), "report", "--json", "--top", "1", str(file)])
    # 4: a damaged recording, whose readable part is reported.
    if done is None or done.returncode not in (0, 4):
        return {}
    try:
        found = json.loads(done.stdout)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def event_counts(file: Path, headway: Path, java_home: Path) -> dict[str, int]:
    """Events by type, most first. The JDK does not read packed recordings: they are unpacked for it."""
    if file.name.endswith(".jfr"):
        return counted(file, java_home)
    plain = file.with_name(file.name + "-unpacked.jfr")
    try:
        run([str(headway), "export", str(file), "-o", str(plain)])
        return counted(plain, java_home)
    finally:
        plain.unlink(missing_ok=True)


def counted(file: Path, java_home: Path) -> dict[str, int]:
    """Of a plain recording."""
    done = run([str(java_home / "bin" / "jfr"), "summary", str(file)])
    return parse_summary(done.stdout) if done is not None and done.returncode == 0 else {}


def parse_summary(text: str) -> dict[str, int]:
    """The table of ``jfr summary``."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        row = ROW.match(line)
        if row is not None and int(row[2]) > 0 and not row[1].startswith(NOT_EVENTS):
            found[row[1]] = int(row[2])
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def gzip_bytes(file: Path) -> int:
    """How long it is when packed."""
    packer = zlib.compressobj(PACKING_LEVEL)
    total = 0
    with file.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            total += len(packer.compress(chunk))
    return total + len(packer.flush())


def run(command: list[str]) -> "subprocess.CompletedProcess[str] | None":
    """Runs a command; None if it is not there or does not end."""
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=REPORT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
