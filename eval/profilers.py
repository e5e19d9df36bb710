"""The profilers of the evaluation, and how each is switched inside a running JVM
or given to a fresh one.

All recordings go to files, and thresholds are 0; still not all do the same work: async-profiler records no
waits and no parks that are no locks, JFR no releases and no unparks.
Switching goes through the JVM's own diagnostic commands (see ``Switchboard`` in
``java/eval-workloads``), so that no second process takes processor time.
"""

from __future__ import annotations

import os
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Sequence

Command = Sequence[str]
"""A diagnostic command: its operation and arguments."""

ASYNC_PROFILER_LIBRARY = "libasyncProfiler.so"

BUFFERS = {"256k": 0.25, "1m": 1.0, "16m": 16.0, "64m": 64.0}
"""Bounds of the agent's event buffers in MiB, by the end of the profiler's name."""
DEFAULT_BUFFERS = "16m"
"""That of ``headway-lock`` itself."""

THRESHOLD_EVENTS = (
    "jdk.JavaMonitorEnter",
    "jdk.JavaMonitorWait",
    "jdk.ThreadPark",
)


class ProfilerError(Exception):
    """A profiler could not be used; the message says which and why."""


@dataclass(frozen=True)
class Place:
    """Where things are on this machine."""

    agent: Path
    """libheadway.so"""
    async_profiler_jar: Optional[Path]
    scratch: Path
    """Settings, libraries and recordings go there."""
    headers: Path
    """A directory with jni.h."""
    headway: Path
    """The command, which reads recordings."""


class Profiler:
    """Something that can be switched on and off in a JVM. This one does nothing: what is
    measured for it is what neighbouring phases, or two runs, differ by anyhow."""

    def __init__(self, name: str, about: str, oldest_jdk: int = 17) -> None:
        self.name = name
        self.about = about
        self.oldest_jdk = oldest_jdk

    def prepare(self, place: Place) -> None:
        """Makes what on and off need; called once per JVM."""

    def once(self) -> Sequence[Command]:
        """What comes before the first ``on`` in a JVM."""
        return ()

    def on(self, file: Path) -> Command:
        """Begins a recording."""
        del file
        return ("vmUptime",)

    def off(self, file: Path) -> Command:
        """Ends it."""
        del file
        return ("vmUptime",)

    def at_start(self, file: Path) -> list[str]:
        """Options with which a fresh JVM records from its first moment on."""
        del file
        return []

    def suffix(self) -> str:
        """Of its recordings."""
        return ".jfr"

    def threads(self) -> tuple[str, ...]:
        """How the names of its own threads in the JVM begin."""
        return ()

    def records(self) -> bool:
        """True if it leaves recordings."""
        return False


def agent_load(library: Path, options: str) -> Command:
    """Loads a JVMTI agent, or talks to one that is loaded; the quotes keep ``=`` from the command's parser."""
    return ("jvmtiAgentLoad", str(library), f'"{options}"')


class AgentProfiler(Profiler):
    """A profiler that is a JVMTI agent."""

    def __init__(self, name: str, about: str, start: str, stop: str, oldest_jdk: int = 17) -> None:
        super().__init__(name, about, oldest_jdk)
        self.start = start
        self.stop = stop
        self.library: Optional[Path] = None

    def on(self, file: Path) -> Command:
        return agent_load(self.loaded(), self.start.format(file=file))

    def off(self, file: Path) -> Command:
        return agent_load(self.loaded(), self.stop.format(file=file))

    def at_start(self, file: Path) -> list[str]:
        return [f"-agentpath:{self.loaded()}={self.start.format(file=file)}"]

    def loaded(self) -> Path:
        """The library, which prepare found."""
        if self.library is None:
            raise ProfilerError(f"{self.name} was not prepared")
        return self.library


class Headway(AgentProfiler):
    """Headway with some of its events. A mechanism that is missing is a failure: with less, it costs less."""

    def __init__(self, name: str, about: str, options: str = "", suffix: str = ".jfr") -> None:
        super().__init__(name, about, "start,strict,force,file={file}" + options, "stop")
        self.recording_suffix = suffix

    def once(self) -> Sequence[Command]:
        # The VM finds the natives of the agent's class only once the agent has been loaded.
        return (agent_load(self.loaded(), "status"),)

    def suffix(self) -> str:
        return self.recording_suffix

    def threads(self) -> tuple[str, ...]:
        return ("headway-",)

    def records(self) -> bool:
        return True

    def prepare(self, place: Place) -> None:
        if not place.agent.is_file():
            raise ProfilerError(f"there is no agent at {place.agent}")
        self.library = place.agent


class ParkStatistics(Headway):
    """Headway counting parks for each blocker, and recording nothing."""

    def __init__(self, name: str, about: str) -> None:
        super().__init__(name, about)
        self.start = "parks"
        self.stop = "parks,end"

    def records(self) -> bool:
        return False


class AsyncProfiler(AgentProfiler):
    """async-profiler from its Maven artifact."""

    def __init__(self, name: str, about: str, options: str) -> None:
        super().__init__(name, about, f"start,{options},file={{file}}", "stop,file={file}")

    def prepare(self, place: Place) -> None:
        if place.async_profiler_jar is None:
            raise ProfilerError("async-profiler's jar is not there; ./hw eval fetches it")
        self.library = place.scratch / ASYNC_PROFILER_LIBRARY
        if not self.library.exists():
            self.library.write_bytes(library_in(place.async_profiler_jar))

    def threads(self) -> tuple[str, ...]:
        return ("Async-profiler",)

    def records(self) -> bool:
        return True


class Busy(AgentProfiler):
    """A known cost: a loop that takes so much CPU time beside what the program itself uses."""

    def __init__(self, name: str, percent: float) -> None:
        super().__init__(name, f"nothing but a loop that adds {percent:g} % to the program's CPU time", f"on {percent * 10:g}", "off")

    def prepare(self, place: Place) -> None:
        self.library = compile_agent(Path(__file__).with_name("busy_agent.c"), place)


class Interrupt(AgentProfiler):
    """What every sampler pays at least: the clock's interrupt, and nothing done in it."""

    def __init__(self, name: str, period_ns: int) -> None:
        super().__init__(name, "the bare interrupt: a clock per thread, no stack, nobody reads", f"on {period_ns}", "off")

    def prepare(self, place: Place) -> None:
        self.library = compile_agent(Path(__file__).with_name("interrupt_agent.c"), place)


class GetEnv(AgentProfiler):
    """The least that an agent can do: what the VM itself charges for one that is loaded."""

    def __init__(self) -> None:
        super().__init__("getenv", "an agent that only asks for a JVMTI environment (fresh JVMs only)", "", "")

    def prepare(self, place: Place) -> None:
        self.library = compile_agent(Path(__file__).with_name("getenv_agent.c"), place)

    def on(self, file: Path) -> Command:
        raise ProfilerError("an agent cannot be taken out of a JVM again: getenv is for fresh JVMs")


class Idle(Headway):
    """Headway loaded, told to say how it is, and nothing else: it records nothing."""

    def __init__(self) -> None:
        super().__init__("headway-idle", "Headway loaded, nothing enabled (fresh JVMs only)")

    def at_start(self, file: Path) -> list[str]:
        return [f"-agentpath:{self.loaded()}=status"]

    def records(self) -> bool:
        return False


class Jfr(Profiler):
    """The JDK's flight recorder."""

    def __init__(self, name: str, about: str, settings: str, oldest_jdk: int = 17) -> None:
        super().__init__(name, about, oldest_jdk)
        self.settings = settings

    def prepare(self, place: Place) -> None:
        if self.settings.endswith(".jfc"):
            file = place.scratch / Path(self.settings).name
            file.write_text(settings_text(file.stem), encoding="utf-8")
            self.settings = str(file)

    def on(self, file: Path) -> Command:
        del file
        return ("jfrStart", "name=eval", f"settings={self.settings}")

    def off(self, file: Path) -> Command:
        return ("jfrStop", "name=eval", f"filename={file}")

    def at_start(self, file: Path) -> list[str]:
        return [f"-XX:StartFlightRecording=name=eval,filename={file},settings={self.settings}", "-Xlog:jfr*=off"]

    def threads(self) -> tuple[str, ...]:
        return ("JFR ",)

    def records(self) -> bool:
        return True


def settings_text(kind: str) -> str:
    """A JFR configuration: ``locks`` (all lock events, threshold 0) or ``cpu-time-10ms`` (JDK 25's samples)."""
    if kind == "locks":
        bodies = [
            f'<event name="{name}"><setting name="enabled">true</setting>'
            '<setting name="stackTrace">true</setting><setting name="threshold">0 ns</setting></event>'
            for name in THRESHOLD_EVENTS
        ]
    elif kind.startswith("cpu-time-"):
        bodies = [
            '<event name="jdk.CPUTimeSample"><setting name="enabled">true</setting>'
            f'<setting name="stackTrace">true</setting><setting name="throttle">{kind.rsplit("-", 1)[1]}</setting></event>'
        ]
    else:
        raise ProfilerError(f"there are no JFR settings {kind}")
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<configuration version="2.0" label="{kind}" description="{kind}" provider="Headway">\n'
        + "\n".join(bodies)
        + "\n</configuration>\n"
    )


def compile_agent(source: Path, place: Place) -> Path:
    """Compiles one of our small agents."""
    library = place.scratch / f"lib{source.stem}.so"
    if library.exists():
        return library
    command = [
        os.environ.get("CC", "cc"), "-O2", "-fPIC", "-shared", "-I", str(place.headers), "-I",
        str(place.headers / "linux"), "-o", str(library), str(source), "-lrt",
    ]  # fmt: skip
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ProfilerError(f"{source.name} does not compile: {done.stderr}")
    return library


def library_in(jar: Path) -> bytes:
    """async-profiler's library for this machine."""
    folder = {"x86_64": "linux-x64", "aarch64": "linux-arm64"}.get(os.uname().machine, "")
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if name.endswith(f"{folder}/{ASYNC_PROFILER_LIBRARY}"):
                return archive.read(name)
    raise ProfilerError(f"{jar} has no {ASYNC_PROFILER_LIBRARY} for {os.uname().machine}")


def all_profilers() -> dict[str, Profiler]:
    """Every profiler and setting by name, in the order of the tables."""
    ms = 1_000_000
    profilers = (
        Profiler("none", "no profiler, compared with no profiler"),
        Busy("busy-5", 5),
        Interrupt("interrupt-10ms", 10 * ms),
        Interrupt("interrupt-1ms", ms),
        Interrupt("interrupt-100us", ms // 10),
        GetEnv(),
        Idle(),
        Headway("headway", "Headway as it is by default: monitors, parks, stolen time, within a budget of 1 %", ",budget=0.01"),
        Headway("headway-lock", "monitors and parks", ",events=monitor+park"),
        Headway("headway-lock-zst", "monitors and parks, packed as they are written", ",events=monitor+park", ".jfr.zst"),
        *(Headway(f"headway-lock-{size}", f"monitors and parks with event buffers of {mib:g} MiB, not {BUFFERS[DEFAULT_BUFFERS]:g}",
                  f",events=monitor+park,memory={int(mib * 2**20)}") for size, mib in BUFFERS.items() if size != DEFAULT_BUFFERS),
        Headway("headway-lock-no-chains", "monitors and parks without call chains", ",events=monitor+park,disable=chains"),
        ParkStatistics("headway-park-statistics", "the park statistics alone, no recording"),
        Headway("headway-pressure", "windows and phases of pressure only", ",events=pressure"),
        Headway("headway-steal", "CPU, stolen and run-queue time of threads once a second", ",events=steal"),
        Headway("headway-steal-100ms", "the same ten times a second", f",events=steal,steal_interval={100 * ms}"),
        Headway("headway-steal-10ms", "the same a hundred times a second", f",events=steal,steal_interval={10 * ms}"),
        Headway("headway-cpu-10ms", "samples of running threads", f",events=cpu,interval={10 * ms}"),
        Headway("headway-cpu-1ms", "samples of running threads", f",events=cpu,interval={ms}"),
        Headway("headway-cpu-100us", "samples of running threads", f",events=cpu,interval={ms // 10}"),
        Headway("headway-wall-10ms", "samples of all threads", f",events=wall,interval={10 * ms}"),
        Headway("headway-signal-1ms", "running threads by a signal that copies the stack", f",events=cpu,interval={ms},engine=signal"),
        Headway("headway-agct-1ms", "running threads by AsyncGetCallTrace", f",events=cpu,interval={ms},engine=agct"),
        Headway("headway-jvmti-10ms", "running threads at safepoints, by JVMTI", f",events=cpu,interval={10 * ms},engine=jvmti"),
        Headway("headway-handshake-10ms", "running threads one by one, by handshakes", f",events=cpu,interval={10 * ms},engine=handshake"),
        Headway("headway-handshake-1ms", "running threads one by one, by handshakes", f",events=cpu,interval={ms},engine=handshake"),
        AsyncProfiler("async-lock", "every contended lock, threshold 1 ns", "event=lock,lock=1"),
        AsyncProfiler("async-cpu-10ms", "samples of running threads", f"event=cpu,interval={10 * ms}"),
        AsyncProfiler("async-cpu-1ms", "samples of running threads", f"event=cpu,interval={ms}"),
        AsyncProfiler("async-cpu-100us", "samples of running threads", f"event=cpu,interval={ms // 10}"),
        AsyncProfiler("async-wall-10ms", "samples of all threads", f"event=wall,interval={10 * ms}"),
        Jfr("jfr-lock", "every contended lock and park, threshold 0", "locks.jfc"),
        Jfr("jfr-default", "the JDK's default.jfc", "default"),
        Jfr("jfr-profile", "the JDK's profile.jfc", "profile"),
        Jfr("jfr-cpu-10ms", "CPU-time samples", "cpu-time-10ms.jfc", oldest_jdk=25),
        Jfr("jfr-cpu-1ms", "CPU-time samples", "cpu-time-1ms.jfc", oldest_jdk=25),
    )
    return {profiler.name: profiler for profiler in profilers}


FRESH_ONLY = ("getenv", "headway-idle")
TOGGLE_ONLY = ("headway-park-statistics",)
QUICK = ("none", "busy-5", "headway", "headway-cpu-1ms", "async-lock", "async-cpu-1ms", "jfr-lock")
