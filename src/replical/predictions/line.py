"""Thresholds without a matrix: consensus from the two outermost survivors, errors from prefix sums."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Codes, Indices, Items
from replical.classes.thresholds import Thresholds


class LinePredictions:
    """Predictions of thresholds, O(|C| + |items|) memory and time."""

    def __init__(self, C: Thresholds, items: Items) -> None:
        self._size = len(C)
        self._positions = C.positions(items)

    def take(self, items: Indices) -> LinePredictions:
        """The predictions on some of the items."""
        some = LinePredictions.__new__(LinePredictions)
        some._size, some._positions = self._size, self._positions[items]
        return some

    def disagreement(self, alive: Indices, within: Indices) -> NDArray[np.bool_]:
        """An item is disputed when it lies between the lowest and the highest surviving cut."""
        lowest, highest = alive[0], alive[-1]
        positions = self._positions[within]
        disputed: NDArray[np.bool_] = (lowest < positions) & (positions <= highest)
        return disputed

    def errors(self, items: Indices, counts: NDArray[np.int64], alive: Indices) -> NDArray[np.int64]:
        """h_i is wrong on the low labels above its cut and on the high labels below it."""
        positions = self._positions[items]
        if len(items) == 1:  # one item splits the line in two: the common case, label by label
            errors = np.full(len(alive), counts[0, 1], dtype=np.int64)
            errors[: np.searchsorted(alive, positions[0], side="left")] = counts[0, 0]
            return errors
        if (positions[1:] < positions[:-1]).any():
            order = np.argsort(positions, kind="stable")
            positions, counts = positions[order], counts[order]
        low_above = np.concatenate(([0], np.cumsum(counts[:, 0])))
        high_below = np.concatenate(([0], np.cumsum(counts[:, 1])))
        steps = high_below + (low_above[-1] - low_above)  # errors after passing j items
        passed = np.searchsorted(alive, positions, side="left")  # first survivor whose cut lies above item j
        lengths = np.diff(passed, prepend=0, append=len(alive))
        return np.repeat(steps, lengths)

    def codes(self, h: int) -> Codes:
        """What threshold `h` says about every item."""
        return (h < self._positions).astype(np.uint16)

    def nearness(self, items: Indices) -> LineNearness:
        """Distances between thresholds, measured on these items alone."""
        below = np.cumsum(np.bincount(self._positions[items], minlength=self._size))
        return LineNearness(below[: self._size])


class LineNearness:
    """On a line the nearest threshold is one of the two neighbours."""

    def __init__(self, below: Indices) -> None:
        self._below = below  # measured items below each cut; the distance of two cuts is the difference

    def nearest(self, hypotheses: Indices, among: Indices) -> Indices:
        """For each of `hypotheses`, the nearest member of `among` (ascending), the smallest index if several are."""
        here, there = self._below[hypotheses], self._below[among]
        at = np.searchsorted(among, hypotheses)
        left, right = np.maximum(at - 1, 0), np.minimum(at, len(among) - 1)
        closer = np.where(np.abs(here - there[left]) <= np.abs(there[right] - here), left, right)
        nearest: Indices = among[np.searchsorted(there, there[closer])]
        return nearest
