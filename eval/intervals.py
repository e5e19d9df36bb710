"""Intervals of medians and of means.

Neighbouring pairs of phases share a phase that is off, so that they are not quite independent: intervals of
few phases are a little too narrow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Sequence

import numpy as np
from scipy import stats

FEWEST_JVMS = 3


@dataclass(frozen=True)
class Interval:
    """A value, and from where to where it may lie."""

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
