"""Tables of what profilers take and leave: memory, their own threads' CPU, bytes, events, samples, and
how far they agree about the program."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from typing import Sequence

import pandas as pd

from agreement import Agreement
from cells import CHECK, FRESH, Measured
from profilers import BUFFERS, DEFAULT_BUFFERS

GROUP = ["mode", "jdk", "workload", "profiler"]
MOST_TYPES = 4
# More than these do not fit beside each other.
MOST_COLUMNS = 18
# Written at times, whatever the program does.
OWN_NOTES = ("headway.Flush", "headway.Loss", "headway.Pressure", "jdk.ActiveSetting", "jdk.NativeLibrary", "jdk.InitialSystemProperty")


def resources(measured: Sequence[Measured]) -> pd.DataFrame:
    """Memory, own CPU and what switching takes; medians over JVMs."""
    base = base_resident(measured)
    rows = []
    for m in measured:
        cell = m.cell
        if cell.mode == CHECK:
            continue
        on = [s for s in m.phases if s.on]
        cpu = sum(s.process_cpu_ns for s in on)
        plain = base.get((cell.jdk, cell.workload, cell.round)) if cell.mode == FRESH else None
        rows.append(
            (cell.mode, cell.jdk, cell.workload, cell.profiler, m.resident_bytes / 2**20,
             None if plain is None else (m.resident_bytes - plain) / 2**20,
             100 * sum(s.own_cpu_ns for s in on) / cpu if cpu else None,
             median_ms(m.switch_on_ns[1:]), median_ms(m.switch_off_ns[1:]), m.load_average)
        )  # fmt: skip
    names = [*GROUP, "resident_MiB", "above_base_MiB", "own_threads_%", "on_ms", "off_ms", "load"]
    return medians(pd.DataFrame(rows, columns=names), 2)


def base_resident(measured: Sequence[Measured]) -> dict[tuple[int, str, int], int]:
    """Resident memory of fresh JVMs without a profiler, by JDK, program and round."""
    return {(m.cell.jdk, m.cell.workload, m.cell.round): m.resident_bytes
            for m in measured if m.cell.mode == FRESH and m.cell.profiler == "base"}  # fmt: skip


def recordings(measured: Sequence[Measured]) -> pd.DataFrame:
    """Events and bytes of fresh JVMs' recordings; medians over JVMs."""
    rows = []
    for m in measured:
        held = m.contents
        if held is None or m.recorded_s <= 0:
            continue
        events = held.number()
        rows.append(
            (m.cell.mode, m.cell.jdk, m.cell.workload, m.cell.profiler, events / m.recorded_s,
             held.bytes / m.recorded_s / 1024, held.gzip_bytes / m.recorded_s / 1024,
             held.bytes / events if events else None, held.gzip_bytes / events if events else None,
             held.report_cpu_s * 1e9 / events if events else None)
        )  # fmt: skip
    names = [*GROUP, "events/s", "KiB/s", "gzip_KiB/s", "bytes/event", "gzip_bytes/event", "report_ns/event"]
    return medians(pd.DataFrame(rows, columns=names), 1)


def samples(measured: Sequence[Measured]) -> pd.DataFrame:
    """Samples taken, complete and lost; sums over JVMs."""
    sums: dict[tuple[int, str, str], list[int]] = defaultdict(lambda: [0, 0])
    causes: dict[tuple[int, str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for m in measured:
        held = m.contents
        if held is None or held.samples == 0:
            continue
        key = (m.cell.jdk, m.cell.workload, m.cell.profiler)
        sums[key][0] += held.samples
        sums[key][1] += held.cut_off
        for cause, number in held.lost.items():
            causes[key][cause] += number
    rows = []
    for key, (taken, cut_off) in sorted(sums.items()):
        lost = causes[key].get("sample_lost", 0)
        told = ", ".join(f"{cause} {number}" for cause, number in sorted(causes[key].items(), key=lambda item: -item[1]))
        rows.append((*key, taken, round(100 * (taken - cut_off) / taken, 3), cut_off, lost, told))
    return pd.DataFrame(rows, columns=["jdk", "workload", "profiler", "samples", "complete_%", "cut_off", "lost", "losses by cause"])


def composition(measured: Sequence[Measured]) -> pd.DataFrame:
    """The types of event that recordings are made of."""
    sums: dict[tuple[int, str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for m in measured:
        for name, number in (m.contents.events if m.contents is not None else {}).items():
            sums[(m.cell.jdk, m.cell.workload, m.cell.profiler)][name] += number
    rows = []
    for key, types in sorted(sums.items()):
        total = sum(types.values())
        most = sorted(types.items(), key=lambda item: -item[1])[:MOST_TYPES]
        rows.append((*key, total, ", ".join(f"{name} {100 * number / total:.0f} %" for name, number in most)))
    return pd.DataFrame(rows, columns=["jdk", "workload", "profiler", "events", "most of them"])


def event_shares(measured: Sequence[Measured]) -> pd.DataFrame:
    """Events by program and type, without the agent's own notes."""
    rows = [(m.cell.workload, name, number) for m in measured if m.contents is not None
            for name, number in m.contents.events.items() if not name.startswith(OWN_NOTES)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["workload", "type", "events"])
    return frame.groupby(["workload", "type"], sort=False, as_index=False)["events"].sum()


def buffers(measured: Sequence[Measured]) -> pd.DataFrame:
    """Lock recordings of fresh JVMs by the size of the event buffers, of programs that have more than one: what is dropped
    because they are full."""
    sizes = {"headway-lock" if size == DEFAULT_BUFFERS else f"headway-lock-{size}": mib for size, mib in BUFFERS.items()}
    rows = []
    for m in measured:
        mib = sizes.get(m.cell.profiler)
        if mib is None or m.contents is None or m.recorded_s <= 0:
            continue
        dropped = m.contents.lost.get("buffer_full", 0)
        all_events = m.contents.number() + dropped
        rows.append((m.cell.mode, m.cell.jdk, m.cell.workload, m.cell.profiler, mib, all_events / m.recorded_s,
                     100 * dropped / all_events if all_events else None))  # fmt: skip
    frame = medians(pd.DataFrame(rows, columns=[*GROUP, "buffers_MiB", "events/s", "dropped_%"]), 2)
    frame["events/s"] = frame["events/s"].round().astype("int64")
    several = frame.groupby(["jdk", "workload"])["buffers_MiB"].transform("nunique") > 1
    return frame[several].sort_values(["jdk", "workload", "buffers_MiB"]).reset_index(drop=True)


def degraded(measured: Sequence[Measured]) -> pd.DataFrame:
    """Mechanisms that were not in force."""
    found = {(m.cell.jdk, m.cell.profiler, name) for m in measured if m.contents is not None for name in m.contents.degraded}
    return pd.DataFrame(sorted(found), columns=["jdk", "profiler", "mechanism"])


def agreements(found: Sequence[Agreement]) -> pd.DataFrame:
    """Medians of both figures, in per cent, by what was compared."""
    frame = pd.DataFrame([asdict(one) for one in found])
    if frame.empty:
        return frame
    frame["compared"] = frame["first"] + " / " + frame["second"]
    frame[["overlap", "coverage"]] *= 100
    grouped = frame.groupby(["jdk", "workload", "rate", "compared"], sort=True, as_index=False)
    return grouped.agg(overlap=("overlap", "median"), coverage=("coverage", "median"), n=("overlap", "size")).round(1)


def checked(measured: Sequence[Measured]) -> dict[str, pd.DataFrame]:
    """A table for each kind of check, which is what its name begins with: medians over rounds, and their number."""
    rows: dict[str, dict[tuple[int, str, str], list[dict[str, float]]]] = defaultdict(lambda: defaultdict(list))
    for m in measured:
        if m.cell.mode == CHECK and m.figures:
            key = (m.cell.jdk, m.cell.workload, m.cell.profiler)
            rows[m.cell.workload.split("-")[0]][key].append(m.figures)
    found = {}
    for kind, by_key in rows.items():
        lines = []
        for (jdk, name, profiler), figures in by_key.items():
            values = pd.DataFrame(figures).median().map(significant).to_dict()
            lines.append({"jdk": jdk, "check": name, "by": profiler, **values, "n": len(figures)})
        frame = pd.DataFrame(lines).sort_values(["check", "jdk", "by"], kind="stable")
        frame = frame[[column for column in frame.columns if column != "n"] + ["n"]].astype(object).fillna("")
        found[kind] = frame if len(frame.columns) <= MOST_COLUMNS else on_its_side(frame)
    return found


def on_its_side(frame: pd.DataFrame) -> pd.DataFrame:
    """A line for each figure, a column for each check and JDK."""
    names = [f"{check} {jdk}" + ("" if by == "headway" else f" {by}") for jdk, check, by in frame[["jdk", "check", "by"]].to_numpy()]
    turned = frame.drop(columns=["jdk", "check", "by"]).T
    turned.columns = names
    return turned.reset_index(names="figure")


def significant(value: float) -> float:
    """With four digits that tell something, or all before the point."""
    return float(f"{value:.4g}") if abs(value) < 1000 else float(round(value))


def medians(frame: pd.DataFrame, digits: int) -> pd.DataFrame:
    """One line for all JVMs of a kind."""
    if frame.empty:
        return frame
    values = frame.columns.drop(GROUP)
    frame[values] = frame[values].apply(pd.to_numeric)
    return frame.groupby(GROUP, sort=True, as_index=False).median().round(digits)


def median_ms(values: Sequence[int]) -> float:
    """Median of nanoseconds, in milliseconds."""
    return float(pd.Series(values).median() / 1e6) if len(values) else float("nan")
