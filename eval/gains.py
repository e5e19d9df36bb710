"""What removing a program's bottleneck gains: throughput with the fix over that without, in pairs.

The two runs of a pair follow each other, and each pair begins with the other one than the pair before, so that
what the machine does meanwhile favours neither. The interval is Student's, of the logarithms of the pairs' ratios.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Callable, Optional

from intervals import Interval, interval

Rate = Callable[[bool], float]
"""Runs a program with the fix or without it: operations per second."""


@dataclass(frozen=True)
class Pair:
    """A run of a program without the fix, and one with it; both in operations per second."""

    program: str
    release: str
    number: int
    planted: float
    fixed: float
    load_average: float
    """Of the machine, before it."""


class Gains:
    """Pairs of programs, kept in a file as they are measured."""

    def __init__(self, file: Path) -> None:
        self.file = file
        kept = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
        self.pairs = [Pair(**pair) for pair in kept]

    def measure(self, program: str, release: str, pairs: int, rate: Rate) -> None:
        """Measures the pairs that are not in the file yet."""
        known = {pair.number for pair in self.of(program, release)}
        for number in sorted(set(range(pairs)) - known):
            load = os.getloadavg()[0]
            rates = {is_fixed: rate(is_fixed) for is_fixed in ((False, True) if number % 2 == 0 else (True, False))}
            if min(rates.values()) <= 0:
                raise RuntimeError(f"{program} completed no operation: there is no ratio")
            self.keep(Pair(program, release, number, rates[False], rates[True], load))

    def keep(self, pair: Pair) -> None:
        """Adds a pair. The file is replaced, so that it is whole whenever this ends."""
        self.pairs.append(pair)
        written = self.file.with_suffix(".new")
        written.write_text(json.dumps([asdict(one) for one in self.pairs], indent=1), encoding="utf-8")
        written.replace(self.file)

    def of(self, program: str, release: str) -> list[Pair]:
        """Those of a program on a JDK."""
        return [pair for pair in self.pairs if (pair.program, pair.release) == (program, release)]

    def ratios(self, program: str, release: str) -> list[float]:
        """Of each pair, the throughput with the fix over that without."""
        return [pair.fixed / pair.planted for pair in self.of(program, release)]

    def interval(self, program: str, release: str) -> Optional[Interval]:
        """Of the ratios: geometric mean and 95 % interval, endless for fewer than three pairs; None without a pair."""
        found = self.ratios(program, release)
        return interval([[ratio] for ratio in found]) if found else None


def raises(gain: Interval) -> bool:
    """Whether the fix raises throughput beyond doubt: the whole interval is above 1."""
    return gain.is_known() and gain.low > 1


def shown(gain: Optional[Interval]) -> str:
    """A gain in a table: bold if the fix may not raise throughput at all."""
    if gain is None:
        return ""
    if not gain.is_known():
        return f"{digits(gain.value)} (too few pairs)"
    text = f"{digits(gain.value)} [{digits(gain.low)}, {digits(gain.high)}]"
    return text if raises(gain) else f"**{text}**"


def digits(value: float) -> str:
    """Three digits, without an exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 0.01 else f"{value:.4f}"
