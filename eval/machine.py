"""The machine that the figures come from."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path


def first(path: str, word: str) -> str:
    """What stands behind a word in a file of the kernel."""
    try:
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            if line.startswith(word):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return "unknown"


def jvm_version(java_home: Path) -> str:
    """The last line of ``java -version``, which names build and VM."""
    done = subprocess.run(
        [str(java_home / "bin" / "java"), "-version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    lines = done.stderr.strip().splitlines()
    return lines[-1] if lines else "unknown"


def describe(java_homes: dict[int, Path]) -> dict[str, str]:
    """Processor, memory, kernel, JVMs, and what profilers may do."""
    facts = {
        "processor": first("/proc/cpuinfo", "model name"),
        "processors": f"{len(os.sched_getaffinity(0))} of {os.cpu_count()}",
        "virtualised": "yes" if "hypervisor" in first("/proc/cpuinfo", "flags").split() else "no",
        "memory": first("/proc/meminfo", "MemTotal"),
        "kernel": f"{platform.system()} {platform.release()}",
        "perf_event_paranoid": one_line("/proc/sys/kernel/perf_event_paranoid"),
        "libc": " ".join(platform.libc_ver()),
        "Python": platform.python_version(),
    }
    for release, home in sorted(java_homes.items()):
        facts[f"JDK {release}"] = jvm_version(home)
    return facts


def one_line(path: str) -> str:
    """A file of the kernel that is one value."""
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return "unknown"
