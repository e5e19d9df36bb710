"""Medians, quartiles, geometric means and their intervals.

Intervals are 95 % bootstrap intervals (scipy): what the figure would have been,
had the machine dealt other samples of the same kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

import numpy as np
import pandas as pd
from scipy import stats

RESAMPLES = 2000
SEED = 7
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


def median_interval(values: Sequence[float]) -> Interval:
    """The median; of fewer than three values nothing can be said, so that the interval is endless."""
    data = np.asarray(values, dtype=float)
    middle = float(np.median(data))
    if data.size < 3:
        return Interval(middle, -np.inf, np.inf)
    if np.ptp(data) == 0:
        return Interval(middle, middle, middle)
    found = stats.bootstrap(
        (data,), np.median, n_resamples=RESAMPLES, method="percentile", rng=np.random.default_rng(SEED)
    ).confidence_interval
    return Interval(middle, float(found.low), float(found.high))


def geometric_mean_interval(groups: Sequence[Sequence[float]]) -> Interval:
    """Geometric mean of the groups' medians: each program counts once, however often it was measured.
    Every group is sampled anew for itself, so that the interval is about these programs, not about others.
    It is endless where a group has fewer than three values."""
    data = [np.asarray(group, dtype=float) for group in groups if len(group) > 0]
    if not data:
        return Interval(np.nan, np.nan, np.nan)
    chance = np.random.default_rng(SEED)
    value = float(np.exp(np.mean([np.log(np.median(group)) for group in data])))
    if min(group.size for group in data) < 3:
        return Interval(value, -np.inf, np.inf)
    logs = np.zeros(RESAMPLES)
    for group in data:
        drawn = chance.choice(group, size=(RESAMPLES, group.size), replace=True)
        logs += np.log(np.median(drawn, axis=1)) / len(data)
    low, high = np.quantile(np.exp(logs), [0.025, 0.975])
    return Interval(value, float(low), float(high))


def table(pairs: pd.DataFrame, measure: str) -> pd.DataFrame:
    """One line per program and profiler: median, quartiles, interval, number of pairs."""
    rows = []
    known = pairs.dropna(subset=[measure])
    for key, group in known.groupby(KEYS, sort=False):
        values = group[measure].to_numpy()
        lower, upper = np.quantile(values, [0.25, 0.75])
        interval = median_interval(values)
        rows.append((*key, interval.value, lower, upper, interval.low, interval.high, len(values)))
    return pd.DataFrame(rows, columns=[*KEYS, "median", "lower", "upper", "low", "high", "pairs"])


def summary(pairs: pd.DataFrame, measure: str) -> pd.DataFrame:
    """One line per profiler: the geometric mean over the programs."""
    rows = []
    known = pairs.dropna(subset=[measure])
    for (mode, jdk, profiler), group in known.groupby(["mode", "jdk", "profiler"], sort=False):
        by_program = [part[measure].to_numpy() for _, part in group.groupby("workload")]
        interval = geometric_mean_interval(by_program)
        rows.append((mode, jdk, profiler, interval.value, interval.low, interval.high, len(by_program)))
    return pd.DataFrame(rows, columns=["mode", "jdk", "profiler", "mean", "low", "high", "programs"])
