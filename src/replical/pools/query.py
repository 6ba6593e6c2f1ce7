"""What a learner says and hears: items it wants labelled, and how often each label came back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from replical.errors import BadLabel

Indices = NDArray[np.int64]
# int64 while a query asks for fewer than 2**62 labels, Python integers (dtype object) beyond.
Counts = NDArray[np.int64] | NDArray[np.object_]

_NONE: Indices = np.zeros(0, dtype=np.int64)
_LIMB = 40  # bits of a part: 2**22 parts of 40 bits still add up inside 63 bits


@dataclass(frozen=True, kw_only=True, eq=False)
class Query:
    """What a learner asks, with the state of the version space V that asks.

    Attributes
    ----------
    items
        Items to label, as numbers of the pool.
    counts
        How many labels each of them needs.
    scanned
        Unlabelled items looked at to find these.
    disagreement
        Mass of DIS(V), the items on which survivors differ, when asking; as [count, total].
    survivors
        Hypotheses in V when asking.
    known
        Disputed items among those looked at that need not be asked, because their labels are known.
    unlabelled
        Disputed items among those looked at that nobody can label.

    Examples
    --------
    >>> asked = Query(items=np.array([7]), counts=np.array([2]), scanned=9, disagreement=(30, 100), survivors=4)
    >>> asked.total
    2
    """

    items: Indices
    counts: Counts
    scanned: int
    disagreement: tuple[int, int]
    survivors: int
    known: Indices = field(default_factory=lambda: _NONE)
    unlabelled: Indices = field(default_factory=lambda: _NONE)

    @cached_property
    def total(self) -> int:
        """How many labels this asks for."""
        return total(self.counts)


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """What a learner hears.

    Attributes
    ----------
    items
        The items that were asked.
    counts
        How often each label code (column) came back for each item (row).

    Examples
    --------
    >>> asked = Query(items=np.array([7]), counts=np.array([2]), scanned=9, disagreement=(30, 100), survivors=4)
    >>> Answers.unanimous(asked, np.array([1], dtype=np.uint16), labels=2).counts.tolist()
    [[0, 2]]
    """

    items: Indices
    counts: Counts

    @classmethod
    def unanimous(cls, query: Query, codes: NDArray[np.uint16], labels: int) -> Answers:
        """Answers to `query` where every copy of an item came back with its one label.

        Parameters
        ----------
        query
            What was asked.
        codes
            The label code of each item asked.
        labels
            How many labels there are.

        Returns
        -------
        answers
            Each code as often as its item was asked.
        """
        counts = blank_counts((len(query.items), labels), query.counts)
        counts[np.arange(len(query.items)), codes] = query.counts
        return cls(items=query.items, counts=counts)

    def check(self, query: Query, labels: int) -> Answers:
        """Refuse answers that do not belong to `query`, with so many `labels` in the label set; these, if they do.

        Raises
        ------
        BadLabel
            If the items are others, or one is not answered as often as it was asked.
        """
        same = self.items is query.items or np.array_equal(self.items, query.items)
        if self.counts.shape != (len(query.items), labels) or not same:
            raise BadLabel(f"the answers do not match the {len(query.items)} items asked for")
        if (self.counts.sum(axis=1) != query.counts).any() or self.counts.min(initial=0) < 0:
            raise BadLabel("every item must be answered exactly as often as it was asked")
        return self

    def single(self) -> Iterator[tuple[int, int, int]]:
        """One label at a time: its item, its code, and how many copies of the item have it."""
        for row, label in np.argwhere(self.counts != 0).tolist():
            yield int(self.items[row]), label, int(self.counts[row, label])

    def parts(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Counts as int64 summands with their scales, so that integers of any size can be added up exactly."""
        if self.counts.dtype != object:
            yield 1, self.counts.astype(np.int64, copy=False)
            return
        rest = self.counts.copy()
        shift = 0
        while rest.any():
            yield 2**shift, (rest % 2**_LIMB).astype(np.int64)
            rest = rest // 2**_LIMB
            shift += _LIMB


def blank_counts(shape: tuple[int, ...], like: Counts) -> Counts:
    """Zeros of this `shape` that can hold integers as large as `like` does."""
    return np.zeros(shape, dtype=object) if like.dtype == object else np.zeros(shape, dtype=np.int64)


def total(counts: Counts) -> int:
    """Sum of `counts` as a Python integer."""
    return int(counts.sum()) if counts.size else 0
