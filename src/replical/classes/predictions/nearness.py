"""Who is nearest to whom in a structured class: distances between behaviours on a few items."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Codes, Indices

MEASURED = 1024  # items on which nearness is measured: any number is valid, this one resolves distances to 3%
_RIVALS = 64  # rivals considered at a time; a power of two
_KEPT = 2**27  # bytes of distances that are kept, because rivals come back


class Behaviours(Protocol):
    """What those say who differ on the measured items."""

    def codes(self, h: int) -> Codes:
        """What behaviour `h` is on each item."""
        ...

    def errors(self, items: Indices, counts: NDArray[np.int64], alive: Indices) -> NDArray[np.int64]:
        """How many labels each behaviour of `alive` contradicts."""
        ...


def considered(among: Indices) -> Indices:
    """`among`, or an even selection where they are many.

    Examples
    --------
    >>> considered(np.arange(1000))[:4].tolist()
    [0, 15, 31, 47]
    """
    return among if len(among) <= _RIVALS else among[np.linspace(0, len(among) - 1, _RIVALS).astype(np.int64)]


class StructuredNearness:
    """Hypotheses that say the same on the `items` measured are one behaviour: far fewer distances are needed.

    Parameters
    ----------
    small
        What every behaviour says.
    size, items
        How many behaviours and items there are.
    behaviour
        That of each hypothesis of the class.
    """

    def __init__(self, small: Behaviours, size: int, items: int, behaviour: NDArray[np.int32]) -> None:
        self._small, self._behaviour = small, behaviour
        self._everyone, self._items = np.arange(size, dtype=np.int64), np.arange(items, dtype=np.int64)
        self._known: dict[int, NDArray[np.uint32]] = {}

    def nearest(self, alive: Indices, among: Indices) -> Indices:
        """The places of the nearest survivors among those at `among`, or at an even selection where they are many."""
        among = considered(among)
        behaviour = self._behaviour[alive].astype(np.int64)
        rivals, first = np.unique(behaviour[among], return_index=True)
        rivals, first = rivals[np.argsort(first)], np.sort(first)  # of rivals that say the same the first counts
        compared = self._everyone if len(alive) > len(self._everyone) else behaviour
        best, each = np.full((2, len(compared)), 2**32 - 1, dtype=np.uint32)
        for number, rival in enumerate(rivals.tolist()):
            np.take(self._from(rival), compared, out=each, mode="clip")  # a mode that needs no copy
            np.bitwise_or(each, number, out=each)
            np.minimum(best, each, out=best)  # of equal distances the first
        nearest: Indices = among[first][best & (_RIVALS - 1)]
        return nearest if compared is behaviour else nearest[behaviour]

    def nearest_marked(self, alive: Indices, among: Indices, marks: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Is the nearest marked? Nobody looks for it where all who are considered are, or none is."""
        rivals = marks[considered(among)]
        return np.full(len(alive), rivals[0]) if (rivals == rivals[0]).all() else marks[self.nearest(alive, among)]

    def _from(self, h: int) -> NDArray[np.uint32]:
        """Distances times the number of rivals: room for the number of one."""
        row = self._known.pop(h, None)
        if row is None:
            counts = np.zeros((len(self._items), 2), dtype=np.int64)
            counts[self._items, self._small.codes(h)] = 1
            row = (_RIVALS * self._small.errors(self._items, counts, self._everyone)).astype(np.uint32)
            while self._known and (len(self._known) + 1) * row.nbytes > _KEPT:
                del self._known[next(iter(self._known))]
        self._known[h] = row  # the latest is last
        return row
