"""Stumps without a matrix: each feature is a line, and an item is its place on every line."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Codes, Indices, Items
from replical.classes.predictions.boxes import MEASURED, StructuredNearness
from replical.classes.stumps import Stumps
from replical.core.bits import bincount, summable

Columns = NDArray[np.unsignedinteger]


class StumpPredictions:
    """Predictions of the stumps `C` on `items`: two or four bytes an item and feature.

    A stump at cut j of its feature says "high" from the cut on (direction 0) where the item has passed more than j cuts,
    and the opposite in direction 1. Its index is ``2 * (cuts of earlier features + j) + direction``.
    """

    def __init__(self, C: Stumps, items: Items) -> None:
        self._columns: Columns = C.positions(items)  # cuts passed, one row a feature
        self._starts = C.starts  # cuts of earlier features; the last is their number

    @classmethod
    def _on(cls, columns: Columns, starts: Indices) -> StumpPredictions:
        some = cls.__new__(cls)
        some._columns, some._starts = columns, starts
        return some

    def take(self, items: Indices) -> StumpPredictions:
        """The predictions on some of the items, `items`."""
        return StumpPredictions._on(self._columns[:, items], self._starts)

    def _features(self, alive: Indices) -> Iterator[tuple[int, slice]]:
        """Features with survivors, and where in `alive` these are."""
        ends = np.searchsorted(alive, 2 * self._starts)
        for feature in np.flatnonzero(np.diff(ends)).tolist():
            yield feature, slice(int(ends[feature]), int(ends[feature + 1]))

    def _cuts(self, feature: int, alive: Indices) -> tuple[Indices, Indices]:
        """The survivors' cuts in one feature, by direction."""
        cuts, up = (alive >> 1) - self._starts[feature], (alive & 1) == 0
        return cuts[up], cuts[~up]

    def _count(self, feature: int) -> int:
        return int(self._starts[feature + 1] - self._starts[feature])

    def _which(self, items: Indices) -> Indices | slice:
        """`items`, or all of them without a copy."""
        everything = len(items) == self._columns.shape[1] and (np.diff(items, prepend=-1) == 1).all()
        return slice(None) if everything else items

    def blank_memory(self, items: int) -> None:
        """An item is looked at once."""

    def disagreement(self, alive: Indices, within: Indices, seen: Indices | None = None) -> NDArray[np.bool_]:
        """Of each feature the outermost survivors decide; items are looked at until both labels were heard."""
        zero, one = np.zeros((2, len(within)), dtype=np.bool_)
        left: Indices | slice = slice(None)
        for feature, survivors in self._features(alive):
            up, down = self._cuts(feature, alive[survivors])
            never = self._count(feature)
            passed = self._columns[feature][within[left]]
            says_one = passed > (int(up[0]) if len(up) else never)
            says_zero = passed > (int(down[0]) if len(down) else never)
            if len(up):
                says_zero |= passed <= int(up[-1])
            if len(down):
                says_one |= passed <= int(down[-1])
            one[left] |= says_one
            zero[left] |= says_zero
            left = np.flatnonzero(~(zero & one))
            if len(left) == 0:
                break
        return zero & one

    def errors(self, items: Indices, counts: NDArray[np.int64], alive: Indices) -> NDArray[np.int64]:
        """Per feature a prefix sum over cuts: wrong are high labels up to the cut and low ones beyond, or vice versa."""
        if len(items) == 1:  # the common case, label by label
            wrong_labels: NDArray[np.int64] = counts[0][1 - self.codes_of_item(int(items[0]), alive)]
            return wrong_labels
        low, both = int(counts[:, 0].sum()), int(counts.sum())
        amounts, which = summable(counts[:, 1] - counts[:, 0]), self._which(items)
        errors = np.empty(len(alive), dtype=np.int64)
        for feature, survivors in self._features(alive):
            cuts = self._count(feature)
            changes = bincount(self._columns[feature][which], amounts, cuts + 1)[:cuts]
            wrong = low + np.cumsum(changes)  # in direction 0
            some = alive[survivors]
            if len(some) == 2 * cuts:
                errors[survivors] = np.stack([wrong, both - wrong], axis=1).ravel()
            else:
                up = wrong[(some >> 1) - self._starts[feature]]
                errors[survivors] = np.where(some & 1, both - up, up)
        return errors

    def votes(self, alive: Indices, within: Indices) -> NDArray[np.int64]:
        """Per feature the survivors behind the high label, for every number of cuts that an item may have passed."""
        high, which = np.zeros(len(within), dtype=np.int64), self._which(within)
        for feature, survivors in self._features(alive):
            up, down = self._cuts(feature, alive[survivors])
            size = self._count(feature) + 1
            steps = np.bincount(up + 1, minlength=size) - np.bincount(down + 1, minlength=size)
            high += (len(down) + np.cumsum(steps))[self._columns[feature][which]]
        return np.stack([len(alive) - high, high], axis=1)

    def codes(self, h: int, within: Indices | None = None) -> Codes:
        """What stump `h` says about every item, or about those of `within`."""
        place, direction = divmod(h, 2)
        feature = int(np.searchsorted(self._starts, place, side="right")) - 1
        column = self._columns[feature] if within is None else self._columns[feature][within]
        passed: NDArray[np.bool_] = column > int(place - self._starts[feature])
        return (passed ^ (direction == 1)).astype(np.uint16)

    def codes_of_item(self, item: int, alive: Indices) -> Codes:
        """In each feature the cuts that the item has passed say their high label, the others their low one."""
        codes = (alive & 1).astype(np.uint16)
        begin = np.searchsorted(alive, 2 * self._starts[:-1])
        end = np.searchsorted(alive, 2 * (self._starts[:-1] + self._columns[:, item]))
        for first, last in zip(begin.tolist(), end.tolist(), strict=True):
            codes[first:last] ^= 1
        return codes

    def nearness(self, items: Indices) -> StructuredNearness:
        """Distances between stumps, measured on (some of) `items` alone: cuts between two neighbours say the same."""
        measured = self._columns[:, items[:MEASURED]]
        ranks, slots, starts = np.empty(measured.shape, dtype=np.uint16), [], [0]
        for feature, column in enumerate(measured):
            passed, ranks[feature] = np.unique(column, return_inverse=True)
            cuts = self._count(feature)
            below = np.cumsum(np.bincount(passed, minlength=cuts + 1))[:cuts]  # places occupied up to each cut
            slots.append(starts[-1] + below)
            starts.append(starts[-1] + len(passed) + 1)
        slot = np.concatenate(slots).astype(np.int32)
        behaviour = np.stack([2 * slot, 2 * slot + 1], axis=1).ravel()
        small = StumpPredictions._on(ranks + np.uint16(1), np.array(starts, dtype=np.int64))
        return StructuredNearness(small, 2 * starts[-1], measured.shape[1], behaviour)
