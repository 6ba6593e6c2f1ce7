"""Packed predictions that shrink with the version space: the bits of few survivors on few items, gathered.

What is asked about others is asked of the whole matrix, so answers are the same to the bit and only their cost differs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Codes, Indices
from replical.classes.predictions.base import Predictions
from replical.classes.predictions.packed import PackedNearness, PackedPredictions
from replical.core import bits

_SMALL = 2**17  # words, 1 MiB: what stays in the cache is fast as it is
_SHRINKS = 24  # times that the matrix gets smaller, at least
_MOST_MOVED = 2**23  # bits moved at a time: 70 ms of one core if the matrix is far larger than the cache


def gather_survivors(predictions: Predictions, alive: Indices, within: Indices, looked: int) -> Predictions:
    """The same predictions, in a form that answers faster about `alive` (ascending) on `within` once that pays.

    Only packed predictions change. `looked` so many bits could have been moved in the time spent looking
    at them so far: moving never costs more than looking has.
    """
    if isinstance(predictions, SurvivorPredictions):
        return predictions.narrow(alive, within, looked)
    if not isinstance(predictions, PackedPredictions):
        return predictions
    part = _gather(predictions, alive, within, looked)
    return predictions if part is None else SurvivorPredictions(predictions, part, alive, within)


class SurvivorPredictions:
    """Predictions of the whole class, of which `part` holds those of `alive` on `within`.

    Hypotheses and items keep their numbers.
    """

    def __init__(self, whole: PackedPredictions, part: PackedPredictions, alive: Indices, within: Indices) -> None:
        self._whole, self._part = whole, part
        self._column, self._row = (np.full(count, -1, dtype=np.int64) for count in (whole.size, whole.shape[1]))
        self._column[alive], self._row[within] = np.arange(len(alive)), np.arange(len(within))

    def narrow(self, alive: Indices, within: Indices, looked: int) -> SurvivorPredictions:
        """These survivors, or fewer of them moved together once more."""
        columns, rows = self._column[alive], self._row[within]
        part = _gather(self._part, columns, rows, looked) if _holds(columns, rows) else None
        return self if part is None else SurvivorPredictions(self._whole, part, alive, within)

    def blank_memory(self, items: int) -> Indices:
        """Nothing seen of so many items yet."""
        return self._part.blank_memory(items)

    def disagreement(self, alive: Indices, within: Indices, seen: Indices | None = None) -> NDArray[np.bool_]:
        """For each item of `within`: do two hypotheses of `alive` differ on it?"""
        columns, rows = self._column[alive], self._row[within]
        if _holds(columns, rows):
            return self._part.disagreement(columns, rows, seen)
        return self._whole.disagreement(alive, within)

    def errors(self, items: Indices, counts: NDArray[np.int64], alive: Indices) -> NDArray[np.int64]:
        """For each hypothesis of `alive`: how many labels it contradicts, of those in `counts` (`items` × codes)."""
        columns, rows = self._column[alive], self._row[items]
        if _holds(columns, rows):
            return self._part.errors(rows, counts, columns)
        return self._whole.errors(items, counts, alive)

    def votes(self, alive: Indices, within: Indices) -> NDArray[np.int64]:
        """For each item of `within` (rows): how many of `alive` predict each label code (columns)."""
        columns, rows = self._column[alive], self._row[within]
        return self._part.votes(columns, rows) if _holds(columns, rows) else self._whole.votes(alive, within)

    def codes(self, h: int, within: Indices | None = None) -> Codes:
        """What hypothesis `h` says about every item, or about those of `within`."""
        if within is not None and _holds(self._column[h : h + 1], rows := self._row[within]):
            return self._part.codes(int(self._column[h]), rows)
        return self._whole.codes(h, within)

    def codes_of_item(self, item: int, alive: Indices) -> Codes:
        """What each hypothesis of `alive` says about one `item`."""
        columns, row = self._column[alive], int(self._row[item])
        if row >= 0 and columns.min(initial=0) >= 0:
            return self._part.codes_of_item(row, columns)
        return self._whole.codes_of_item(item, alive)

    def take(self, items: Indices) -> PackedPredictions:
        """The predictions of everyone on some of the items, `items`."""
        return self._whole.take(items)

    def nearness(self, items: Indices) -> PackedNearness:
        """Distances between hypotheses, measured on (some of) `items` alone."""
        return self._whole.nearness(items)


def _holds(columns: Indices, rows: Indices) -> bool:
    return bool(columns.min(initial=0) >= 0 and rows.min(initial=0) >= 0)


def _gather(matrix: PackedPredictions, alive: Indices, within: Indices, looked: int) -> PackedPredictions | None:
    """The part of a matrix, if it is time to move it."""
    return matrix.part(alive, within) if pays(matrix.shape, len(alive), len(within), looked) else None


def pays(shape: tuple[int, ...], alive: int, within: int, looked: int) -> bool:
    """Is it time to gather so many survivors and items of a matrix of this `shape`?

    >>> pays((1, 10_000, 1_000), alive=100, within=1_000, looked=10**6)
    True
    >>> pays((1, 10_000, 1_000), alive=100, within=1_000, looked=10**4)
    False

    Of a large matrix few survivors are gathered: whoever labels should not wait.

    >>> [pays((1, 100_000, 1563), alive=alive, within=100_000, looked=10**12) for alive in (80, 90)]
    [True, False]
    """
    digits, items, words = shape
    smaller = _SHRINKS * within * bits.words_for(alive) <= items * words
    moved = digits * within * alive
    return smaller and digits * items * words >= _SMALL and moved <= min(looked, _MOST_MOVED)
