"""How each profiler is switched on and off in a running JVM, so that all do
the same work: every contended monitor enter with its stack, no threshold,
written to a file."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import zipfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Optional

JFR_SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<configuration version="2.0" label="Monitors" description="Every contended monitor enter and wait" provider="Headway">
  <event name="jdk.JavaMonitorEnter">
    <setting name="enabled">true</setting>
    <setting name="stackTrace">true</setting>
    <setting name="threshold">0 ns</setting>
  </event>
  <event name="jdk.JavaMonitorWait">
    <setting name="enabled">true</setting>
    <setting name="stackTrace">true</setting>
    <setting name="threshold">0 ns</setting>
  </event>
</configuration>
"""

ASYNC_PROFILER_LIBRARY = "libasyncProfiler.so"


class ProfilerError(Exception):
    """A profiler could not be switched; the message says which and why."""


def run(command: list[str]) -> str:
    """Runs a command to its end and gives what it printed."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ProfilerError(f"{' '.join(command)} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def said_by(command: list[str]) -> str:
    """What a command printed, however it ended."""
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stdout


class Profiler(ABC):
    """Something that can be switched on and off in a process."""

    OWN_THREADS: tuple[str, ...] = ()
    """How the names of its threads in that process begin."""

    def __init__(self, java_home: Path, directory: Path) -> None:
        self.java_home = java_home
        self.directory = directory
        self.recordings: list[Path] = []

    @abstractmethod
    def on(self, pid: int) -> None:
        """Begins a recording."""

    @abstractmethod
    def off(self, pid: int) -> None:
        """Ends it."""

    def own_cpu_ns(self, pid: int) -> int:
        """CPU time of its threads in the process so far."""
        total = 0
        for task in Path(f"/proc/{pid}/task").iterdir():
            try:
                if (task / "comm").read_text().startswith(self.OWN_THREADS):
                    total += int((task / "schedstat").read_text().split()[0])
            except OSError:
                continue  # it has ended
        return total

    def next_file(self) -> str:
        """Where the next recording goes."""
        file = self.directory / f"{type(self).__name__.lower()}-{len(self.recordings)}.jfr"
        self.recordings.append(file)
        return str(file)

    def recorded_bytes(self) -> int:
        """What all recordings so far take on disk."""
        return sum(file.stat().st_size for file in self.recordings if file.exists())

    def jcmd(self, pid: int, *arguments: str) -> None:
        """Runs a diagnostic command of the JVM."""
        run([str(self.java_home / "bin" / "jcmd"), str(pid), *arguments])


class Null(Profiler):
    """Switches nothing: what neighbouring windows differ by anyhow."""

    def on(self, pid: int) -> None:
        """Runs a command in the JVM that changes nothing, as switching does for others."""
        self.jcmd(pid, "VM.uptime")

    def off(self, pid: int) -> None:
        """Like on."""
        self.jcmd(pid, "VM.uptime")


class Headway(Profiler):
    """Headway, by attaching."""

    OWN_THREADS = ("headway-",)

    def __init__(
        self, java_home: Path, directory: Path, program: Path, events: str = "monitor", more: tuple[str, ...] = ()
    ) -> None:
        super().__init__(java_home, directory)
        self.program = program
        self.events = events
        self.more = more

    def on(self, pid: int) -> None:
        run([str(self.program), "start", "-e", self.events, *self.more, "-o", self.next_file(), str(pid)])

    def off(self, pid: int) -> None:
        stopped = subprocess.run([str(self.program), "stop", str(pid)], capture_output=True, text=True)
        # Of a million events a second the last may take longer to write than the command waits.
        if stopped.returncode != 0 and "writing goes on" not in stopped.stderr:
            raise ProfilerError(f"headway stop ended with {stopped.returncode}: {stopped.stderr}")
        until = time.monotonic() + 60
        while "still being written" in said_by([str(self.program), "status", str(pid)]):
            if time.monotonic() > until:
                raise ProfilerError("the end of the recording is not written within a minute")
            time.sleep(0.05)


class Causal(Profiler):
    """Headway's experiments with a target that nothing lies in: all that they cost but the delays."""

    OWN_THREADS = ("headway-",)
    NOTHING = "io.headway.Nothing.atAll"

    def __init__(self, java_home: Path, directory: Path, program: Path) -> None:
        super().__init__(java_home, directory)
        self.program = program
        self.recording: Optional[subprocess.Popen[str]] = None

    def on(self, pid: int) -> None:
        command = [str(self.program), "causal", "record", "-o", self.next_file(), "--progress", "none"]
        command += ["--target", self.NOTHING, "--speedups", "50", str(pid)]
        self.recording = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        until = time.monotonic() + 20
        # Until the agent is loaded there is nobody to ask.
        while "Recording into" not in said_by([str(self.program), "status", str(pid)]):
            if self.recording.poll() is not None or time.monotonic() > until:
                raise ProfilerError(f"{' '.join(command)} does not record")
            time.sleep(0.05)

    def off(self, pid: int) -> None:
        recording, self.recording = self.recording, None
        if recording is None:
            return
        recording.send_signal(signal.SIGINT)
        said, _ = recording.communicate(timeout=60)
        if recording.returncode not in (0, 1):
            raise ProfilerError(f"headway causal record ended with {recording.returncode}: {said}")


class Jfr(Profiler):
    """The JDK's flight recorder, monitor events only, threshold 0."""

    OWN_THREADS = ("JFR ",)

    def __init__(self, java_home: Path, directory: Path) -> None:
        super().__init__(java_home, directory)
        self.settings = directory / "monitors.jfc"
        self.settings.write_text(JFR_SETTINGS)

    def on(self, pid: int) -> None:
        self.jcmd(pid, "JFR.start", "name=toggle", f"settings={self.settings}")

    def off(self, pid: int) -> None:
        self.jcmd(pid, "JFR.stop", "name=toggle", f"filename={self.next_file()}")


class Floor(Profiler):
    """The VM's own posting of contended enters, to an agent that does nothing with them."""

    def __init__(self, java_home: Path, directory: Path) -> None:
        super().__init__(java_home, directory)
        self.library = directory / "libfloor.so"
        headers = java_home / "include"
        source = Path(__file__).with_name("floor_agent.c")
        run([
            os.environ.get("CC", "cc"), "-O2", "-fPIC", "-shared", "-I", str(headers), "-I", str(headers / "linux"),
            "-o", str(self.library), str(source),
        ])  # fmt: skip

    def on(self, pid: int) -> None:
        self.jcmd(pid, "JVMTI.agent_load", str(self.library), "on")

    def off(self, pid: int) -> None:
        self.jcmd(pid, "JVMTI.agent_load", str(self.library), "off")


class AsyncProfiler(Profiler):
    """async-profiler's lock mode, threshold 1 ns (0 would mean its default)."""

    OWN_THREADS = ("Async-profiler",)

    def __init__(self, java_home: Path, directory: Path, jar: Path) -> None:
        super().__init__(java_home, directory)
        self.library = extract_library(jar, directory)
        self.file = ""

    def on(self, pid: int) -> None:
        self.file = self.next_file()
        self.load(pid, f"start,event=lock,lock=1,file={self.file}")

    def off(self, pid: int) -> None:
        self.load(pid, f"stop,file={self.file}")

    def load(self, pid: int, arguments: str) -> None:
        """Passes a command to the agent."""
        self.jcmd(pid, "JVMTI.agent_load", str(self.library), f'"{arguments}"')


def extract_library(jar: Path, directory: Path) -> Path:
    """Takes the library for this machine out of async-profiler's jar."""
    folder = {"x86_64": "linux-x64", "aarch64": "linux-arm64"}.get(os.uname().machine, "")
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if name.endswith(f"{folder}/{ASYNC_PROFILER_LIBRARY}"):
                target = directory / ASYNC_PROFILER_LIBRARY
                target.write_bytes(archive.read(name))
                target.chmod(0o755)
                return target
    raise ProfilerError(f"{jar} has no {ASYNC_PROFILER_LIBRARY} for {os.uname().machine}")
