"""Which of a few rows each row differs least from: opponents, if rows are hypotheses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replical.core.bits import Bits, Packed
from replical.core.kernels import choice, threads
from replical.core.kernels.apart import apart
from replical.core.kernels.columns import Indices

_THREAD = 2**19  # words worth a thread
_KEPT = 2**27  # bytes of distances that are kept


class Nearest:
    """Rows of packed matrices ``planes[digit, row, word]``; NumPy keeps distances, because the same few rows come back.

    Examples
    --------
    >>> near = Nearest(np.array([[[0], [1], [6], [7]]], dtype=np.uint64))
    >>> near.of(np.array([1, 2]), np.array([0, 3])).tolist()
    [0, 1]
    >>> near.marked(np.array([1, 2]), np.array([0, 3]), np.array([True, False])).tolist()
    [True, False]
    """

    def __init__(self, planes: Packed) -> None:
        self._planes = planes
        self._known: dict[int, NDArray[np.int32]] = {}

    def of(self, rows: Indices, few: Indices) -> Indices:
        """For each of `rows` the place in `few` of the nearest of these, the first if several are equally near."""
        nearest, places = self._from(int(few[0]))[rows], np.zeros(len(rows), dtype=np.int64)
        for place, row in enumerate(few[1:].tolist(), start=1):
            distances = self._from(row)[rows]
            places[distances < nearest] = place
            np.minimum(nearest, distances, out=nearest)
        return places

    def marked(self, rows: Indices, few: Indices, marks: Bits) -> Bits:
        """For each of `rows`: does the nearest of `few` have a mark? `marks` has one truth value for each of these.

        Where all marks are equal nothing is measured. Otherwise the compiled version looks at the smaller part first and
        then at the others, until one of them is nearer.
        """
        small = np.count_nonzero(marks)
        if small in {0, len(few)}:
            return np.full(len(rows), marks[0])
        if choice.compiles(len(rows) * len(few)):
            from replical.core.kernels import compiled

            common = 2 * small > len(few)
            some, others = np.flatnonzero(marks != common), np.flatnonzero(marks == common)
            found, planes = np.empty(len(rows), dtype=np.bool_), self._planes
            least = max(1, _THREAD // max(1, len(few) * planes.shape[2] * len(planes)))
            threads.share(
                lambda start, stop: compiled.nearest_in(planes, rows, few, some, others, found, start, stop),
                len(rows),
                least,
            )
            return ~found if common else found
        return marks[self.of(rows, few)]

    def _from(self, row: int) -> NDArray[np.int32]:
        if row not in self._known:
            if len(self._known) * self._planes.shape[1] * 4 > _KEPT:
                del self._known[next(iter(self._known))]
            self._known[row] = apart(self._planes, row).astype(np.int32)
        return self._known[row]
