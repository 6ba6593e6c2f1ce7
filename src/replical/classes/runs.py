"""Runs of neighbouring cells, ordered by their first cell, then by their last: sides of boxes, and intervals."""

from __future__ import annotations

import numpy as np

from replical.classes.base import Indices


def runs(cells: int) -> int:
    """How many runs so many `cells` have."""
    return cells * (cells + 1) // 2


def offsets(cells: int) -> Indices:
    """The index of the run that is one cell alone, for each of the `cells`."""
    first = np.arange(cells, dtype=np.int64)
    return first * cells - first * (first - 1) // 2


def all_ends(cells: int) -> tuple[Indices, Indices]:
    """First and last cell of every run on so many `cells`."""
    cell = np.arange(cells, dtype=np.int64)
    first = np.repeat(cell, cells - cell)
    return first, np.arange(runs(cells), dtype=np.int64) + (cell - offsets(cells))[first]


def by_last(cells: int) -> Indices:
    """The index of every run on so many `cells`, ordered by its last cell, then by its first.

    Examples
    --------
    >>> by_last(3).tolist()
    [0, 1, 3, 2, 4, 5]
    """
    cell = np.arange(cells, dtype=np.int64)
    last = np.repeat(cell, cell + 1)
    first = np.arange(runs(cells), dtype=np.int64) - (cell * (cell + 1) // 2)[last]
    return offsets(cells)[first] + last - first


def ends(index: Indices, cells: int) -> tuple[Indices, Indices]:
    """First and last cell of the runs of an `index`, on so many `cells`; -1 is a run that ends before it begins.

    Examples
    --------
    >>> [end.tolist() for end in ends(np.arange(6), 3)]
    [[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
    """
    start = offsets(cells)
    first = np.maximum(np.searchsorted(start, index, side="right") - 1, 0)
    return first, first + index - start[first]
