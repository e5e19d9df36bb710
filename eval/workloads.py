"""The programs of the evaluation: what each does, and what is known about it.

They are in Maven modules of ``java/``, nearly all in ``eval-workloads``; each name is one that the module's jar takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from profilers import ProfilerError

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Workload:
    """One program, and how it is run."""

    name: str
    threads: int
    about: str
    """What its threads do, which locks are known to be contended, and where its time goes."""
    kind: str
    """``worst`` (a worst case for some profiler), ``compute`` (CPU-bound, threads share nothing), ``published``,
    ``suite`` (named on the command line), ``cost`` (no program: what it costs to record one thing)."""
    oldest_jdk: int = 17
    newest_jdk: Optional[int] = None
    """The last one on which it runs, if it does not run on all that came after."""
    jvm_options: tuple[str, ...] = ()
    cpu_bound: bool = False
    """True if its threads hardly ever wait, so that what sampling costs shows."""
    warms_up_s: float = 0.0
    """Seconds that it needs before it is as fast as later on, beyond what all programs get."""
    needs_compiler: bool = False
    """True if it needs a JDK, not only a runtime."""
    module: str = "eval-workloads"
    """The module of ``java/`` that has it. One that draws in much has one of its own, which is built if it is asked for."""

    @property
    def jar(self) -> Path:
        """What ``./hw eval`` builds it into."""
        return ROOT / "java" / self.module / "target" / f"headway-{self.module}.jar"

    def main(self) -> list[str]:
        """What follows the JVM's options on the command line."""
        return ["-jar", str(self.jar), self.name]

    def runs_on(self, jdk: int) -> bool:
        """True if its packages and what it shows are for this release."""
        return self.oldest_jdk <= jdk and (self.newest_jdk is None or jdk <= self.newest_jdk)

    def why_not(self, jdk: int, has_compiler: bool) -> str:
        """Why it cannot be run there; empty if it can."""
        if jdk < self.oldest_jdk:
            return f"needs {self.oldest_jdk} or later"
        if not self.runs_on(jdk):
            return f"{self.newest_jdk} is the last it runs on"
        return "no compiler there" if self.needs_compiler and not has_compiler else ""


# Until most of a larger program is compiled on two processors.
LONG_S = 6.0

WORKLOADS: dict[str, Workload] = {
    w.name: w
    for w in (
        Workload("hot-monitor", 4, "one monitor, taken all the time, held for 10 ns; mostly taken in passing", "worst"),
        Workload("queued-monitor", 8, "one monitor, held for 5 us; threads leave after it, so that it is queued for", "worst"),
        Workload("hot-reentrant-lock", 4, "one ReentrantLock, taken all the time, held for 10 ns", "worst"),
        Workload("park-ping-pong", 4, "two pairs of threads that unpark each other: parks and nothing else", "worst"),
        Workload("park-deep", 1, "a thread that gives itself the permit and parks, under 40 frames: what recording it takes", "cost",
                 jvm_options=("-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,io.headway.eval.worst.ParkDeep::down")),
        Workload("wait-notify", 4, "two pairs of threads that wait for and notify each other", "worst"),
        Workload("many-locks", 8, "10000 monitors taken at random, held for 3 us; low ones are wanted by many", "worst"),
        Workload("deep-enter", 8, "queued-monitor under 500 frames", "worst"),
        Workload("class-storm", 2, "hidden classes defined, called 1000 times, forgotten", "worst"),
        Workload("virtual-threads", 2, "virtual threads that live for a moment, a hundred at a time", "worst", oldest_jdk=21),
        Workload("kernels", 2, "Fourier transform, relaxation, sparse product, elimination, random points", "compute",
                 cpu_bound=True),
        Workload("megamorphic", 2, "calls with eight receivers at one place", "compute", cpu_bound=True),
        Workload("exceptions", 2, "exceptions with stack traces, thrown under 20 frames", "compute", cpu_bound=True),
        Workload("deep-calls", 2, "arithmetic under 500 frames", "compute", cpu_bound=True),
        # The VM would replace its native reflection by generated code: the older by calls, the newer by flag.
        Workload("native-calls", 2, "zlib, CRC and native reflection: several native segments in a stack", "compute",
                 jvm_options=("-Dsun.reflect.inflationThreshold=2147483647", "-Djdk.reflect.useNativeAccessorOnly=true"),
                 cpu_bound=True),
        Workload("javac", 2, "the JDK's compiler over Apache Commons Lang, file by file, one compiler per thread", "published",
                 cpu_bound=True, needs_compiler=True, warms_up_s=LONG_S),
        Workload("pmd", 2, "PMD's rules of good practice over Apache Commons Lang, an analysis per thread", "published",
                 cpu_bound=True, warms_up_s=LONG_S),
        Workload("xalan", 4, "Xalan, one compiled style sheet for all threads; XSLT key look-ups and number formats",
                 "published", cpu_bound=True, warms_up_s=LONG_S),
        Workload("fop", 2, "Apache FOP, documents of some pages set as PDF, one factory for all", "published", cpu_bound=True,
                 warms_up_s=LONG_S),
        Workload("h2", 8, "order mix on an H2 database in memory; Inventory.lock is held long by a re-indexing thread",
                 "published", warms_up_s=LONG_S),
        Workload("derby", 8, "TPC-B on Apache Derby in memory, one branch: its row is wanted by all; tens of thousands of "
                 "short-lived lock objects in a second; time goes into transactions", "published", warms_up_s=LONG_S),
        Workload("lucene", 4, "Lucene, a quarter changes and three quarters searches on one index in memory", "published",
                 warms_up_s=LONG_S),
        Workload("jetty", 4, "Jetty with clients in the same JVM; a page cache behind one monitor", "published", warms_up_s=LONG_S),
        Workload("pekko", 4, "Apache Pekko, rings of actors on the default dispatcher; workers wait for their tokens",
                 "published", warms_up_s=LONG_S),
        Workload("virtual-server", 8, "the JDK's HTTP server, a virtual thread per request; four ReentrantLocks, and sleeps",
                 "published", oldest_jdk=21, warms_up_s=LONG_S),
        # Its 5.0 is for 11 and 17. It installs a security manager, and takes apart buffers and file descriptors.
        Workload("cassandra", 8, "a node of Apache Cassandra and its driver's clients, over the loopback; half reads, half "
                 "updates of records, some wanted often; a hundred threads, most of them idle pools; parks for replies and for "
                 "other stages' work; time goes into waking threads; monitors of selectors hardly, of class loading at first",
                 "published", newest_jdk=17, module="eval-cassandra",
                 jvm_options=("--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
                              "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
                              "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
                              "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
                              "--add-opens=java.base/java.io=ALL-UNNAMED"), warms_up_s=LONG_S),
    )
}

QUICK = ("queued-monitor", "hot-reentrant-lock", "kernels", "javac", "h2", "xalan")

# Threads that a suite's benchmark starts are its own affair.
SUITE_THREADS = 1


@dataclass(frozen=True)
class Suite(Workload):
    """A benchmark of somebody's suite: its main class is called, and the iterations that it reports are counted."""

    suite_jar: str = ""
    arguments: str = ""

    def main(self) -> list[str]:
        return [
            f"-Dheadway.suite.jar={self.suite_jar}", f"-Dheadway.suite.arguments={self.arguments}",
            "-cp", f"{self.jar}:{self.suite_jar}", "io.headway.eval.Main", "suite",
        ]  # fmt: skip


def suite(text: str) -> Suite:
    """From ``JAR BENCHMARK OPTION...``."""
    parts = text.split()
    if len(parts) < 2:
        raise ProfilerError(f"--suite {text!r} must name a jar and a benchmark in it")
    jar = Path(parts[0]).resolve()
    if not jar.is_file():
        raise ProfilerError(f"--suite: there is no file {jar}")
    about = f"{' '.join(parts[1:])} of {jar.name}; an operation is an iteration"
    return Suite(f"{jar.stem}:{parts[1]}", SUITE_THREADS, about, "suite", suite_jar=str(jar), arguments=" ".join(parts[1:]))
