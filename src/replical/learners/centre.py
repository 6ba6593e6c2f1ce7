"""The centre of a version space: the majority vote of its survivors on every item of the pool.

Any labelling ĥ of the pool serves as a centre; what counts is its radius, the largest distance to a survivor. On
settled items the vote is unanimous, so a centre moves only on disputed items, and distances follow it item by item.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Codes, Indices
from replical.version_space import VersionSpace

Counts = NDArray[np.int64]


class Centre:
    """ĥ for a shrinking version space; distances of all hypotheses of the class to it, kept up to date."""

    def __init__(self, whole: VersionSpace) -> None:
        self._whole = whole
        self._codes: Codes | None = None
        self._scores = np.zeros(0, dtype=np.int64)

    def at_least(self, V: VersionSpace) -> int:
        """A cheap lower bound on the radius: half the distance of two survivors."""
        one, two = (V.predictions.codes(int(V.indices[end]), V.disputed) for end in (0, -1))
        return int(V.weight(V.disputed)[one != two].sum()) // 2

    def radius(self, V: VersionSpace) -> int:
        """κ in items: the largest distance from the centre of V to a survivor."""
        votes = V.predictions.votes(V.indices, V.disputed)
        labelled = weighted(V, V.disputed, votes.argmax(axis=1).astype(np.uint16), votes.shape[1])
        return int(V.predictions.errors(V.disputed, labelled, V.indices).max(initial=0))

    def distances(self, V: VersionSpace) -> Counts:
        """Items on which each hypothesis of the class differs from the centre of V."""
        whole, votes = self._whole, V.predictions.votes(V.indices, V.disputed)
        codes = V.predictions.codes(int(V.indices[0]))
        codes[V.disputed] = votes.argmax(axis=1)
        if self._codes is None:
            items = np.flatnonzero(whole.weight(np.arange(len(codes))))
            self._scores = _errors(whole, items, codes, votes.shape[1])
        else:
            moved = np.flatnonzero(codes != self._codes)
            moved = moved[whole.weight(moved) > 0]
            if len(moved):
                gained = _errors(whole, moved, codes, votes.shape[1])
                self._scores = self._scores + gained - _errors(whole, moved, self._codes, votes.shape[1])
        self._codes = codes
        return self._scores


def _errors(V: VersionSpace, items: Indices, codes: Codes, labels: int) -> Counts:
    return V.predictions.errors(items, weighted(V, items, codes[items], labels), V.indices)


def weighted(V: VersionSpace, items: Indices, codes: Codes, labels: int) -> Counts:
    """The items labelled by `codes`, each as often as it occurs in the pool."""
    counts = np.zeros((len(items), labels), dtype=np.int64)
    counts[np.arange(len(items)), codes] = V.weight(items)
    return counts
