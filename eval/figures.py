"""Medians, quartiles and geometric means of pairs, with their intervals."""

from __future__ import annotations

import math
from typing import Sequence

import numpy as np
import pandas as pd

from intervals import Interval, Rounds, interval

KEYS = ["mode", "jdk", "workload", "profiler"]


def geometric_mean(programs: Sequence[Rounds]) -> Interval:
    """Over programs: each counts once, however often it was measured. The interval is about these programs, not about
    others: theirs are put together as those of values that have nothing to do with each other. It is endless where
    one of them is."""
    known = [one for one in map(interval, programs) if not math.isnan(one.value)]
    if not known:
        return Interval(np.nan, np.nan, np.nan)
    value = math.exp(sum(math.log(one.value) for one in known) / len(known))
    if not all(one.is_known() and one.low > 0 for one in known):
        return Interval(value, -np.inf, np.inf)
    below = math.sqrt(sum(math.log(one.value / one.low) ** 2 for one in known)) / len(known)
    above = math.sqrt(sum(math.log(one.high / one.value) ** 2 for one in known)) / len(known)
    return Interval(value, value * math.exp(-below), value * math.exp(above))


def by_round(pairs: pd.DataFrame, measure: str) -> Rounds:
    """Values of a program and profiler, by JVM."""
    known = pairs.dropna(subset=[measure])
    return [part.to_numpy() for _, part in known.groupby("round")[measure]]


def table(pairs: pd.DataFrame, measure: str) -> pd.DataFrame:
    """One line per program and profiler: median, quartiles, interval, number of pairs."""
    rows = []
    known = pairs.dropna(subset=[measure])
    for key, group in known.groupby(KEYS, sort=False):
        values = group[measure].to_numpy()
        lower, upper = np.quantile(values, [0.25, 0.75])
        rounds = by_round(group, measure)
        found = interval(rounds)
        rows.append((*key, found.value, lower, upper, found.low, found.high, len(values), len(rounds)))
    return pd.DataFrame(rows, columns=[*KEYS, "median", "lower", "upper", "low", "high", "pairs", "jvms"])


def summary(pairs: pd.DataFrame, measure: str) -> pd.DataFrame:
    """One line per profiler: the geometric mean over the programs."""
    rows = []
    known = pairs.dropna(subset=[measure])
    for (mode, jdk, profiler), group in known.groupby(["mode", "jdk", "profiler"], sort=False):
        by_program = [by_round(part, measure) for _, part in group.groupby("workload")]
        found = geometric_mean(by_program)
        rows.append((mode, jdk, profiler, found.value, found.low, found.high, len(by_program)))
    return pd.DataFrame(rows, columns=["mode", "jdk", "profiler", "mean", "low", "high", "programs"])
