"""Items that belong together: several images of one patient, questions on one passage, visits of one user.

Groups are draws of their own, their items are not. So a pool is scanned group by group, and what a group says counts once,
with a weight that is known before any label (docs/claims/groups.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isnan
from typing import Any

import numpy as np

from replical.errors import BadSpec, BadTable, ValueOutOfRange
from replical.pools.query import Indices

WEIGHTS = ("item", "group")


@dataclass(frozen=True)
class Groups:
    """How groups count, in public.

    Parameters
    ----------
    largest
        B: no group of any lab has more items.
    weights
        Who counts alike: every ``"item"``, or every ``"group"``, whatever its size.

    Raises
    ------
    ValueOutOfRange, BadSpec
        If the bound is no whole number of at least 1, or the weights are none of these.

    Examples
    --------
    >>> Groups(5).weight(2), Groups(5, "group").weight(2)
    (Fraction(2, 5), Fraction(1, 1))
    """

    largest: int
    weights: str = "item"

    def __post_init__(self) -> None:
        if isinstance(self.largest, bool) or not isinstance(self.largest, int) or self.largest < 1:
            raise ValueOutOfRange(
                f"the most items a group may have is a whole number of at least 1, got {self.largest!r:.40}"
            )
        if self.weights not in WEIGHTS:
            raise BadSpec(f"every 'item' counts alike, or every 'group', got {self.weights!r:.40}")

    def weight(self, size: int) -> Fraction:
        """w: how much a group of this `size` counts, at most 1."""
        return Fraction(size, self.largest) if self.weights == "item" else Fraction(1)

    def parts(self, size: int) -> int:
        """Losses of a group of this `size`, added up, are in so many parts of w times their mean."""
        return self.largest if self.weights == "item" else size

    def counted(self, size: int) -> int:
        """How many items a group of this `size` counts for, where losses are added up."""
        return size if self.weights == "item" else 1

    def check(self, sizes: Indices | Sequence[int]) -> None:
        """Refuse groups of these `sizes` that are larger than the bound.

        Raises
        ------
        BadTable
            If one is.
        """
        if np.max(sizes) > self.largest:
            raise BadTable(
                f"a group has {int(np.max(sizes))} items, and the public bound is {self.largest}: keep so many of them, "
                "drawn by lot before any label is known, or publish a larger bound"
            )


SINGLE = Groups(1)  # every item by itself


def group_codes(values: Sequence[Any], items: int) -> Indices:
    """Which group each of so many `items` is in, as numbers from 0 on in the order of the values as texts."""
    if len(values) != items:
        raise BadTable(f"groups are one value an item: there are {len(values)} for {items} items")
    for place, value in enumerate(values):
        if value is None or value == "" or (isinstance(value, float) and isnan(value)):
            raise BadTable(f"the group of item {place} is missing: every item is in a group, if need be one of its own")
    return np.unique([str(value) for value in values], return_inverse=True)[1].astype(np.int64)


def group_order(groups: Indices, permutation: Indices) -> Indices:
    """The items, group by group, where groups come in the order of a `permutation`.

    Examples
    --------
    >>> group_order(np.array([1, 0, 1, 2]), np.array([2, 1, 0])).tolist()
    [3, 0, 2, 1]
    """
    rank = np.empty(len(permutation), dtype=np.int64)
    rank[permutation] = np.arange(len(permutation))
    return np.argsort(rank[groups], kind="stable").astype(np.int64)
