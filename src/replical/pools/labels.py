"""Who answers a learner's queries; and the simplest such source, labels that are there already, one value an item."""

from __future__ import annotations

from typing import Protocol

from numpy.typing import ArrayLike

from replical.classes.base import HypothesisClass, encode
from replical.errors import BadLabel
from replical.pools.query import Answers, Query


class Labels(Protocol):
    """Whoever answers a learner's queries."""

    def answer(self, query: Query) -> Answers:
        """Label every item of `query` as often as it is asked; what came back is counted in `Answers`."""
        ...


class KnownLabels:
    """A column of label values, one an item of the pool, in the order of its items.

    Parameters
    ----------
    C
        The class, which has the label set.
    column
        The label values.

    Raises
    ------
    BadLabel
        If a value is no label, or `column` is not one value an item.
    BadTable
        If a value is missing.

    Examples
    --------
    >>> from replical import Pool, PrivateRandomness, Thresholds
    >>> C = Thresholds(4)
    >>> labels, pool = KnownLabels(C, [0, 1, 1]), Pool(C, [0, 1, 2], PrivateRandomness.simulated("doctest"))
    >>> query = pool.scan().anywhere(pool.version_space(), 1)
    >>> query.items.tolist(), labels.answer(query).counts.tolist()
    ([1], [[0, 1]])
    """

    def __init__(self, C: HypothesisClass, column: ArrayLike) -> None:
        self._codes = encode(column, C.labels)
        if self._codes.ndim != 1:
            raise BadLabel(f"labels are one value an item, got an array of shape {self._codes.shape}")
        self._labels = len(C.labels)

    def __len__(self) -> int:
        return len(self._codes)

    def answer(self, query: Query) -> Answers:
        """The labels `query` asks for; every copy of an item has the item's label."""
        return Answers.unanimous(query, self._codes[query.items], self._labels)
