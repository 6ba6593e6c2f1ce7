"""The version space: the hypotheses still alive, seen on one pool."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import HypothesisClass, Indices, Items
from replical.classes.predictions.base import Predictions, predictions_of
from replical.classes.prior import UNIFORM, Prior
from replical.core.randomness import SharedRandomness
from replical.errors import EmptyVersionSpace
from replical.pools.query import Answers, Counts


class VersionSpace:
    """An immutable set V of hypotheses on weighted items; `keep` makes a smaller one.

    Masses are integers: `disagreement_weight` of `total`, so that two machines decide alike. `VersionSpace.whole` and
    ``pool.version_space()`` make one.

    Parameters
    ----------
    predictions
        What every hypothesis says about every item.
    weights
        How many items of the pool each item stands for.
    indices
        The hypotheses still alive, ascending.
    undecided
        Items on which a larger version space disagreed; all others are settled.
    labels
        How many labels there are.

    Examples
    --------
    >>> from replical import Thresholds
    >>> V = VersionSpace.whole(Thresholds(5), np.arange(4), np.ones(4, dtype=np.int64))
    >>> V = V.keep(V.indices >= 2)
    >>> V.size, V.mass, V.disagreement.tolist()
    (3, Fraction(1, 2), [False, False, True, True])
    """

    def __init__(
        self, *, predictions: Predictions, weights: NDArray[np.int64], indices: Indices, undecided: Indices, labels: int
    ) -> None:
        self.predictions = predictions
        self._seen: Indices | None = None  # how far, at each undecided item
        self._weights = weights
        self._undecided = undecided  # items on which a larger version space disagreed; all others are settled
        self._labels = labels
        self.indices = indices

    @classmethod
    def whole(
        cls, C: HypothesisClass, items: Items, weights: NDArray[np.int64], predictions: Predictions | None = None
    ) -> VersionSpace:
        """V = C, everyone alive.

        Parameters
        ----------
        C
            The class.
        items
            Checked items.
        weights
            How many items of the pool each of them stands for.
        predictions
            What every hypothesis says about every item, where that is known already.

        Returns
        -------
        V
            The version space of the whole class.
        """
        return cls(
            predictions=predictions_of(C, items) if predictions is None else predictions,
            weights=weights,
            indices=np.arange(len(C), dtype=np.int64),
            undecided=np.arange(len(weights), dtype=np.int64),
            labels=len(C.labels),
        )

    @property
    def size(self) -> int:
        """|V|."""
        return len(self.indices)

    @cached_property
    def _disputed_mask(self) -> NDArray[np.bool_]:
        """Which undecided items are disputed."""
        if self._seen is None:
            self._seen = self.predictions.blank_memory(len(self._undecided))
        return self.predictions.disagreement(self.indices, self._undecided, self._seen)

    @cached_property
    def total(self) -> int:
        """Weight of all items."""
        return int(self._weights.sum())

    @cached_property
    def _settled_items(self) -> Indices:
        """Items on which only the larger version space disagreed: often none, so that most stays as it was there."""
        return self._undecided[np.flatnonzero(~self._disputed_mask)]

    @cached_property
    def _undecided_mask(self) -> NDArray[np.bool_]:
        mask = np.zeros(len(self._weights), dtype=np.bool_)
        mask[self._undecided] = True
        return mask

    @cached_property
    def _undecided_weight(self) -> int:
        return int(self._weights[self._undecided].sum())

    @cached_property
    def _disputed_places(self) -> Indices:
        """Where among the undecided items DIS(V) is; picking by places is faster than by a mask."""
        return np.flatnonzero(self._disputed_mask)

    @cached_property
    def disputed(self) -> Indices:
        """DIS(V) as item numbers."""
        return self._undecided[self._disputed_places] if len(self._settled_items) else self._undecided

    @cached_property
    def disagreement(self) -> NDArray[np.bool_]:
        """DIS(V) as a mask over the items."""
        mask = self._undecided_mask
        if len(self._settled_items):
            mask = mask.copy()
            mask[self._settled_items] = False
        return mask

    @cached_property
    def disagreement_weight(self) -> int:
        """Weight of DIS(V)."""
        return self._undecided_weight - int(self._weights[self._settled_items].sum())

    @property
    def mass(self) -> Fraction:
        """Δ(V), exactly."""
        return Fraction(self.disagreement_weight, self.total)

    def errors(self, S: Answers) -> Counts:
        """How many of the labels in `S` each survivor contradicts, in the order of `indices`."""
        sums = [
            (scale, self.predictions.errors(S.items, counts, self.indices))
            for scale, counts in S.parts()
            if len(S.items)
        ]
        if not sums:
            return np.zeros(self.size, dtype=np.int64)
        if len(sums) == 1 and sums[0][0] == 1:
            return sums[0][1]
        big: NDArray[np.object_] = np.zeros(self.size, dtype=object)
        for scale, errors in sums:
            big = big + errors.astype(object) * scale
        return big

    def contradicted(
        self, items: Indices, codes: NDArray[Any], survivors: Indices | None = None, *, times: Any = 1
    ) -> NDArray[np.int64]:
        """How many of the labels `codes`, so many `times` one for each of `items`, some `survivors` contradict, or all."""
        among = self.indices if survivors is None else survivors
        if len(items) == 0:
            return np.zeros(len(among), dtype=np.int64)
        counts = np.zeros((len(items), self._labels), dtype=np.int64)
        counts[np.arange(len(items)), codes] = times
        return self.predictions.errors(items, counts, among)

    def distances(self, h: int) -> NDArray[np.int64]:
        """Weight of the items on which each survivor differs from `h`: its errors if `h` gave the labels."""
        items = np.flatnonzero(self._weights)
        return self.contradicted(items, self.predictions.codes(h, items), times=self._weights[items])

    def keep(self, mask: NDArray[np.bool_]) -> VersionSpace:
        """The version space of the survivors marked in `mask`.

        Raises
        ------
        EmptyVersionSpace
            If nobody is: what was assumed of the labels does not hold.
        """
        survivors = np.count_nonzero(mask)
        if survivors == self.size:
            return self
        if not survivors:
            raise EmptyVersionSpace(
                f"none of the {self.size} surviving hypotheses fits the labels: what was assumed of them does not hold (in "
                "the realizable setting that some hypothesis makes no error, in the agnostic one that the best errs at "
                "most nu), so use an agnostic learner or a larger nu"
            )
        return self.restrict(self.indices[np.flatnonzero(mask)])

    def restrict(self, indices: Indices) -> VersionSpace:
        """The version space of `indices` alone, ascending, who disagree nowhere that this one does not."""
        smaller = VersionSpace(
            predictions=self.predictions,
            weights=self._weights,
            indices=indices,
            undecided=self.disputed,
            labels=self._labels,
        )
        smaller.total, smaller._undecided_weight = self.total, self.disagreement_weight
        if "disagreement" in vars(self):
            smaller._undecided_mask = self.disagreement
        if self._seen is not None:
            smaller._seen = (
                self._seen.take(self._disputed_places, axis=1) if len(self._settled_items) else self._seen.copy()
            )
        return smaller

    def first(self, shared: SharedRandomness, prior: Prior = UNIFORM) -> int:
        """The first survivor in the one order of C that `shared` and `prior` make.

        Permuting V itself would not be replicable.
        """
        return prior.first(shared, "order", indices=self.indices)
