"""Charts: one dot per program and profiler, with its interval; bars of amounts and of shares."""

from __future__ import annotations

import io
from typing import Sequence

import matplotlib

matplotlib.use("svg")
# The same data give the same file.
matplotlib.rcParams["svg.hashsalt"] = "headway"

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402 (the drawing back end is chosen first)
from matplotlib import pyplot  # noqa: E402

INCH_PER_LINE = 0.17

Line = Sequence[tuple[float, float]]
"""Points of a line."""


def overhead_chart(rows: pd.DataFrame, title: str) -> str:
    """Overhead in per cent as an SVG: programs above each other, profilers in colours.

    ``rows`` are lines of ``figures.table`` of one mode and JDK, for a ratio of which more than 1 is cost.
    """
    programs = list(dict.fromkeys(rows["workload"]))
    profilers = list(dict.fromkeys(rows["profiler"]))
    height = 1.6 + INCH_PER_LINE * len(programs) * (len(profilers) + 1)
    figure, axes = pyplot.subplots(figsize=(9, height), layout="constrained")
    colours = pyplot.get_cmap("tab20")
    for number, profiler in enumerate(profilers):
        part = rows[rows["profiler"] == profiler]
        at = [programs.index(w) * (len(profilers) + 1) + number for w in part["workload"]]
        middle = (part["median"] - 1) * 100
        # An endless interval has no bar.
        low = (part["median"] - part["low"]).where(np.isfinite(part["low"]), 0) * 100
        high = (part["high"] - part["median"]).where(np.isfinite(part["high"]), 0) * 100
        axes.errorbar(middle, at, xerr=[low, high], fmt="o", ms=4, lw=1, color=colours(number % 20), label=profiler)
    axes.axvline(0, color="0.5", lw=0.8)
    axes.set_yticks([i * (len(profilers) + 1) + (len(profilers) - 1) / 2 for i in range(len(programs))], programs)
    axes.invert_yaxis()
    axes.set_xscale("symlog", linthresh=10)
    axes.set_xlabel("overhead in % (linear up to 10, then logarithmic); bars are 95 % intervals")
    axes.set_title(title)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    return svg(figure)


def bars(frame: pd.DataFrame, title: str, label: str, stacked: bool = False) -> str:
    """A group of bars for each line of the frame, a bar for each column; with ``stacked`` one bar, the columns its parts."""
    height = 1.6 + len(frame) * (0.3 if stacked else INCH_PER_LINE * (len(frame.columns) + 1))
    figure, axes = pyplot.subplots(figsize=(9, height), layout="constrained")
    frame.plot.barh(ax=axes, stacked=stacked, width=0.8, colormap="tab20")
    axes.invert_yaxis()
    axes.set_ylabel("")
    axes.set_xlabel(label)
    axes.set_title(title)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    return svg(figure)


def spent_chart(one: Line, ten: Line, windows: Line, rises: Sequence[float]) -> str:
    """What a recording costs over time as an SVG, in % of its budget: of each second, and of the ten seconds before;
    below it, the length of its windows in ms. A moment at which the load grew is a dotted line. Times are in seconds."""
    drawing, (spent, length) = pyplot.subplots(2, 1, figsize=(9, 4.5), sharex=True, height_ratios=(2, 1), layout="constrained")
    spent.plot(*zip(*one), lw=0.9, color="0.55", label="the second before")
    spent.plot(*zip(*ten), lw=1.8, color="tab:blue", label="the ten seconds before")
    spent.axhline(100, color="tab:red", lw=0.8)
    spent.set_ylim(bottom=0)
    spent.set_ylabel("spent, % of the budget")
    spent.legend(fontsize=7)
    length.step(*zip(*windows), where="post", lw=1.2, color="tab:green")
    length.set_ylabel("window, ms")
    length.set_xlabel("seconds since the recording began; dotted: the load grows a thousandfold")
    for axes in (spent, length):
        for rise in rises:
            axes.axvline(rise, color="0.3", lw=0.8, ls=":")
    return svg(drawing)


def svg(figure: pyplot.Figure) -> str:
    """The drawing as an element."""
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    return drawn.getvalue()[drawn.getvalue().index("<svg") :]
