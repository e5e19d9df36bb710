"""The programs of the evaluation: what each does, and what is known about it.

They are in ``java/eval-workloads``; each name is one that its jar takes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Workload:
    """One program, and how it is run."""

    name: str
    threads: int
    about: str
    """What its threads do, which locks are known to be contended, and where its time goes."""
    kind: str
    """``worst`` (a worst case for some profiler), ``compute`` (CPU-bound, threads share nothing), ``published``."""
    oldest_jdk: int = 17


WORKLOADS: dict[str, Workload] = {
    w.name: w
    for w in (
        Workload("hot-monitor", 4, "one monitor, taken all the time, held for 10 ns; mostly taken in passing", "worst"),
        Workload("queued-monitor", 8, "one monitor, held for 5 us; threads leave after it, so that it is queued for", "worst"),
        Workload("hot-reentrant-lock", 4, "one ReentrantLock, taken all the time, held for 10 ns", "worst"),
        Workload("park-ping-pong", 4, "two pairs of threads that unpark each other: parks and nothing else", "worst"),
        Workload("wait-notify", 4, "two pairs of threads that wait for and notify each other", "worst"),
        Workload("many-locks", 8, "10000 monitors taken at random, held for 3 us; low ones are wanted by many", "worst"),
        Workload("deep-enter", 8, "queued-monitor under 500 frames", "worst"),
        Workload("class-storm", 2, "hidden classes defined, called 1000 times, forgotten", "worst"),
        Workload("virtual-threads", 2, "virtual threads that live for a moment, a hundred at a time", "worst", oldest_jdk=21),
        Workload("kernels", 2, "Fourier transform, relaxation, sparse product, elimination, random points", "compute"),
        Workload("megamorphic", 2, "calls with eight receivers at one place", "compute"),
        Workload("exceptions", 2, "exceptions with stack traces, thrown under 20 frames", "compute"),
        Workload("javac", 2, "the JDK's compiler over Apache Commons Lang, file by file, one compiler per thread", "published"),
        Workload("h2", 8, "order mix on an H2 database in memory; Inventory.lock is held long by a re-indexing thread", "published"),
        Workload("xalan", 4, "Xalan, one compiled style sheet for all threads; XSLT key look-ups and number formats", "published"),
        Workload("lucene", 4, "Lucene, a quarter changes and three quarters searches on one index in memory", "published"),
        Workload("jetty", 4, "Jetty with clients in the same JVM; a page cache behind one monitor", "published"),
        Workload("pmd", 2, "PMD's rules of good practice over Apache Commons Lang, an analysis per thread", "published"),
    )
}

QUICK = ("queued-monitor", "hot-reentrant-lock", "kernels", "javac", "h2", "xalan")
