"""Medians, quartiles, geometric means and their intervals.

Neighbouring pairs of phases share a phase that is off, so that they are not quite independent: intervals of
few phases are a little too narrow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Sequence

import numpy as np
import pandas as pd
from scipy import stats

FEWEST_JVMS = 3
KEYS = ["mode", "jdk", "workload", "profiler"]


@dataclass(frozen=True)
class Interval:
    """A figure, and from where to where it may lie."""

    value: float
    low: float
    high: float

    def contains(self, value: float) -> bool:
        """True if the measurement does not speak against this value."""
        return self.low <= value <= self.high

    def is_known(self) -> bool:
        """False if it is endless."""
        return math.isfinite(self.low) and math.isfinite(self.high)


Rounds = Sequence[Sequence[float]]
"""Values by the JVM that they come from."""


def interval(rounds: Rounds) -> Interval:
    """The median, and a 95 % interval. Of three JVMs and more it is about JVMs (each one's median is a value, the interval
    Student's, of logarithms); of fewer it is about phases inside one JVM: the values between which the median lies with
    95 % and more, whatever their distribution. Of fewer than six values nothing can be said: the interval is endless."""
    data = [np.asarray(values, dtype=float) for values in rounds if len(values) > 0]
    if not data:
        return Interval(np.nan, np.nan, np.nan)
    if len(data) >= FEWEST_JVMS:
        logs = np.log([np.median(values) for values in data])
        half = stats.t.ppf(0.975, len(data) - 1) * np.std(logs, ddof=1) / math.sqrt(len(data))
        middle = float(np.mean(logs))
        return Interval(math.exp(middle), math.exp(middle - half), math.exp(middle + half))
    values = np.sort(np.concatenate(data))
    median = float(np.median(values))
    outside = int(stats.binom.ppf(0.025, values.size, 0.5))
    if outside < 1:
        return Interval(median, -np.inf, np.inf)
    return Interval(median, float(values[outside - 1]), float(values[-outside]))


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
