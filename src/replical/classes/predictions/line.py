"""Thresholds without a matrix: consensus from the two outermost survivors, errors from prefix sums."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Codes, Indices, Items
from replical.classes.thresholds import Thresholds


class LinePredictions:
    """Predictions of the thresholds `C` on `items`, O(|C| + |items|) memory and time."""

    def __init__(self, C: Thresholds, items: Items) -> None:
        self.size = len(C)  # cuts
        self.positions = C.positions(items)  # the first cut above each item

    def take(self, items: Indices) -> LinePredictions:
        """The predictions on some of the items, `items`."""
        some = LinePredictions.__new__(LinePredictions)
        some.size, some.positions = self.size, self.positions[items]
        return some

    def blank_memory(self, items: int) -> None:
        """An item is looked at once."""

    def disagreement(self, alive: Indices, within: Indices, seen: Indices | None = None) -> NDArray[np.bool_]:
        """An item is disputed when it lies between the lowest and the highest surviving cut."""
        lowest, highest = alive[0], alive[-1]
        positions = self.positions[within]
        disputed: NDArray[np.bool_] = (lowest < positions) & (positions <= highest)
        return disputed

    def errors(self, items: Indices, counts: NDArray[np.int64], alive: Indices) -> NDArray[np.int64]:
        """h_i is wrong on the low labels above its cut and on the high labels below it."""
        positions = self.positions[items]
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

    def votes(self, alive: Indices, within: Indices) -> NDArray[np.int64]:
        """The cuts below an item predict the high label."""
        high = np.searchsorted(alive, self.positions[within], side="left")
        return np.stack([len(alive) - high, high], axis=1).astype(np.int64)

    def codes(self, h: int, within: Indices | None = None) -> Codes:
        """What threshold `h` says about every item, or about those of `within`."""
        positions = self.positions if within is None else self.positions[within]
        return (h < positions).astype(np.uint16)

    def codes_of_item(self, item: int, alive: Indices) -> Codes:
        """The cuts below the item predict the high label."""
        codes = np.zeros(len(alive), dtype=np.uint16)
        codes[: np.searchsorted(alive, self.positions[item], side="left")] = 1
        return codes

    def starts(self, alive: Indices) -> Indices:
        """The places in `alive` where stretches begin that no item parts."""
        below = np.searchsorted(np.unique(self.positions), alive, side="right")
        return np.flatnonzero(np.diff(below, prepend=-1))

    def nearness(self, items: Indices) -> LineNearness:
        """Distances between thresholds, measured on `items` alone."""
        below = np.cumsum(np.bincount(self.positions[items], minlength=self.size))
        return LineNearness(below[: self.size])


class LineNearness:
    """On a line the nearest threshold is one of the two neighbours."""

    def __init__(self, below: Indices) -> None:
        self._below = below  # measured items below each cut; the distance of two cuts is the difference

    def nearest(self, alive: Indices, among: Indices) -> Indices:
        """The places of the nearest survivors among those at `among`, the first if several are equally near."""
        there = self._below[alive[among]]
        new = np.diff(there, prepend=-1) > 0
        firsts = among[np.maximum.accumulate(np.where(new, np.arange(len(among)), 0))]  # of those at the same place
        nearest = np.empty(len(alive), dtype=np.int64)
        nearest[among] = firsts
        nearest[: among[0]], nearest[among[-1] :] = firsts[0], firsts[-1]
        gaps = np.flatnonzero(np.diff(among) > 1)
        beyond = np.searchsorted(self._below, (there[gaps] + there[gaps + 1]) // 2, side="right")
        turns = np.clip(
            np.searchsorted(alive, beyond), among[gaps] + 1, among[gaps + 1]
        )  # nearer to the right from here
        for gap, turn in zip(gaps.tolist(), turns.tolist(), strict=True):
            nearest[among[gap] + 1 : turn] = firsts[gap]
            nearest[turn : among[gap + 1]] = firsts[gap + 1]
        return nearest

    def nearest_marks(self, alive: Indices, among: Indices, marks: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Is the nearest marked?"""
        return marks[self.nearest(alive, among)]
