"""Measures cell after cell, keeps each at once, and stops when the time is over."""

from __future__ import annotations

import time
from typing import Callable, Optional, Sequence

from cells import Cell, Measured, RawData
from progress import Progress


def run_all(
    cells: Sequence[Cell],
    raw: RawData,
    measure: Callable[[Cell], Measured],
    expected_s: Callable[[Cell], float],
    progress: Progress,
    budget_s: Optional[float] = None,
) -> list[Cell]:
    """Measures these cells in their order; gives those for which no time was left.

    A cell is begun only if, as cells went so far, it will end within the budget. What was measured is
    on disk before the next cell begins, so that whatever ends this, the same call goes on from there.
    """
    began = time.monotonic()
    for number, cell in enumerate(cells):
        if budget_s is not None and number > 0:
            if time.monotonic() - began + progress.scaled(expected_s(cell)) > budget_s:
                return list(cells[number:])
        progress.begin(cell.key())
        cell_began = time.monotonic()
        measured = measure(cell)
        raw.append(measured)
        progress.end(expected_s(cell), time.monotonic() - cell_began, measured.failure)
    return []
