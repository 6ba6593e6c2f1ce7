"""The centre of a version space: the majority vote of its survivors on every item of the pool.

Any labelling ĥ of the pool serves as a centre; what counts is its radius, the largest distance to a survivor. On
settled items the vote is unanimous, so a centre moves only on disputed items, and distances follow it item by item.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import Codes, Indices
from replical.pools.version_space import VersionSpace

Counts = NDArray[np.int64]


class Centre:
    """ĥ for a shrinking version space; distances of all hypotheses of the class to it, kept up to date."""

    def __init__(self, whole: VersionSpace) -> None:
        self._whole = whole
        self._codes: Codes | None = None
        self._scores = np.zeros(0, dtype=np.int64)
        self._scored: VersionSpace | None = None  # whose scores those are

    def at_least(self, V: VersionSpace) -> int:
        """A cheap lower bound on the radius: half the distance of two survivors."""
        if V.size == 1:
            return 0
        disputed, says = V.disputed, V.predictions.codes
        apart = says(int(V.indices[0]), disputed) != says(int(V.indices[-1]), disputed)
        return int(V.weight(disputed) @ apart) // 2

    def radius(self, V: VersionSpace) -> int:
        """κ in items: the largest distance from the centre of V to a survivor."""
        if V.size == 1:
            return 0
        labelled = V.weighted(V.disputed, V.vote)
        return int(V.predictions.errors(V.disputed, labelled, V.indices).max(initial=0))

    def distances(self, V: VersionSpace) -> Counts:
        """Items on which each hypothesis of the class differs from the centre of V."""
        if V is self._scored:  # as at the end of a run that its certificate stopped
            return self._scores
        codes = V.predictions.codes(int(V.indices[0]))
        codes[V.disputed] = V.vote
        if self._codes is None:
            self._scores = self._errors(np.arange(len(codes)), codes)
        else:
            moved = np.flatnonzero(codes != self._codes)
            if len(moved):
                self._scores = self._scores + self._errors(moved, codes) - self._errors(moved, self._codes)
        self._codes, self._scored = codes, V
        return self._scores

    def _errors(self, items: Indices, codes: Codes) -> Counts:
        """Of everyone in the class, on those of the items that occur in the pool."""
        whole = self._whole
        items = items[whole.weight(items) > 0]
        return whole.predictions.errors(items, whole.weighted(items, codes[items]), whole.indices)
