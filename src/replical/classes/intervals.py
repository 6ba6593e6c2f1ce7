"""Intervals on a grid: all runs of neighbouring cells, and the empty one.

Runs are ordered by their first cell, then by their last; sides of boxes are runs too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replical.classes.base import Codes, Indices, Items, Label, Listed, cell_numbers, class_size, two_labels
from replical.classes.recipe import Recipe, Section
from replical.core.canonical import fingerprint


class Intervals(Listed):
    """The empty set (index 0) and every ``[first, last]`` on `grid` cells, by first cell, then by last.

    Parameters
    ----------
    grid
        Number of cells; there are ``grid (grid + 1) / 2 + 1`` intervals.
    labels
        What is said outside and inside.

    Raises
    ------
    ValueOutOfRange
        If `grid` is not a positive whole number, or there are more than 2⁴⁰ intervals.
    BadLabel
        If there are not two distinct labels.

    Examples
    --------
    >>> C = Intervals(3)
    >>> len(C), C.describe(0), C.describe(5)
    (7, '0 everywhere', '1 on cells 1 to 2, else 0')
    """

    def __init__(self, grid: int, *, labels: Sequence[Label] = (0, 1)) -> None:
        self.grid = class_size("the number of cells", grid)
        self._size = class_size("the number of intervals", runs(self.grid) + 1)
        self.labels = two_labels(labels)

    def __len__(self) -> int:
        return self._size

    @property
    def fingerprint(self) -> str:
        """A hash of everything that defines the class."""
        return fingerprint({"kind": "intervals", "grid": self.grid, "labels": list(self.labels)})

    def ends(self, hypotheses: Indices) -> tuple[Indices, Indices]:
        """First and last cell of each of `hypotheses`; the empty one has its last before its first."""
        return ends(np.asarray(hypotheses, dtype=np.int64) - 1, self.grid)

    def describe(self, h: int) -> str:
        """Hypothesis `h` in words."""
        first, last = (int(end[0]) for end in self.ends(np.array([h])))
        low, high = self.labels
        return f"{low} everywhere" if last < first else f"{high} on cells {first} to {last}, else {low}"

    def items(self, X: ArrayLike) -> Items:
        """Check `X`, a list of cell numbers.

        Raises
        ------
        BadTable
            If it holds anything but cell numbers.
        """
        return cell_numbers(X, self.grid)

    def codes(self, items: Items, hypotheses: Indices) -> Codes:
        """Label codes of `hypotheses` (rows) on checked `items` (columns)."""
        first, last = self.ends(hypotheses)
        return ((first[:, None] <= items) & (items <= last[:, None])).astype(np.uint16)

    def cells(self) -> Items:
        """The grid itself."""
        return np.arange(self.grid, dtype=np.int64)


def recipe(section: Section) -> Recipe:
    """From a protocol: cells of a range, or cell numbers as they are."""
    name, labels, bins = section.feature, section.labels, section.whole("bins")
    C = Intervals(bins, labels=labels)
    if "range" not in section.content:
        return Recipe(C=C, columns=(name,), to_items=lambda columns: columns[0])
    ((low, high),) = section.ranges()

    def cells(columns: list[NDArray[Any]]) -> NDArray[np.int64]:
        scaled = (np.asarray(columns[0], dtype=np.float64) - low) / (high - low) * bins
        return np.clip(np.floor(scaled), 0, bins - 1).astype(np.int64)

    def in_words(h: int) -> str:
        first, last = (int(end[0]) for end in C.ends(np.array([h])))
        if last < first:
            return C.describe(h)
        left, right = (low + (high - low) * end / bins for end in (first, last + 1))
        inside = name if first == 0 else f"{left:g} <= {name}"  # the outermost cells have no end
        inside += "" if last == bins - 1 else f" < {right:g}"
        return f"{labels[1]} if {inside} else {labels[0]}" if inside != name else f"{labels[1]} everywhere"

    return Recipe(C=C, columns=(name,), to_items=cells, in_words=in_words)


# ---- runs ----


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


def order_by_last(cells: int) -> Indices:
    """The index of every run on so many `cells`, ordered by its last cell, then by its first.

    >>> order_by_last(3).tolist()
    [0, 1, 3, 2, 4, 5]
    """
    cell = np.arange(cells, dtype=np.int64)
    last = np.repeat(cell, cell + 1)
    first = np.arange(runs(cells), dtype=np.int64) - (cell * (cell + 1) // 2)[last]
    return offsets(cells)[first] + last - first


def ends(index: Indices, cells: int) -> tuple[Indices, Indices]:
    """First and last cell of the runs of an `index`, on so many `cells`; -1 is a run that ends before it begins.

    >>> [end.tolist() for end in ends(np.arange(6), 3)]
    [[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
    """
    start = offsets(cells)
    first = np.maximum(np.searchsorted(start, index, side="right") - 1, 0)
    return first, first + index - start[first]
