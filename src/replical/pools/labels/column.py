"""Labels that are already there: one value an item, revealed only as it is asked for."""

from __future__ import annotations

from numpy.typing import ArrayLike

from replical.classes.base import HypothesisClass, encode
from replical.errors import BadLabel
from replical.pools.query import Answers, Query


class KnownLabels:
    """A column of label values, one an item of the pool, in the order of its items.

    Examples
    --------
    >>> from replical import Thresholds
    >>> labels = KnownLabels(Thresholds(4), [0, 1, 1])
    """

    def __init__(self, C: HypothesisClass, column: ArrayLike) -> None:
        self._codes = encode(column, C.labels)
        if self._codes.ndim != 1:
            raise BadLabel(f"labels are one value an item, got an array of shape {self._codes.shape}")
        self._labels = len(C.labels)

    def __len__(self) -> int:
        return len(self._codes)

    def answer(self, query: Query) -> Answers:
        """Every copy of an item has the item's label."""
        return Answers.unanimous(query, self._codes[query.items], self._labels)
