"""Whole numbers added up by place, exactly and fast."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_EXACT = 2.0**53  # whole numbers below this are exact in doubles, which are added ten times as fast as integers

Amounts = NDArray[np.int64] | NDArray[np.float64]


def summable(amounts: NDArray[np.int64]) -> Amounts:
    """The same `amounts` in the fastest form in which no sum of them is rounded: doubles, or as they are."""
    doubles = amounts.astype(np.float64)
    return doubles if np.abs(doubles).sum() < _EXACT else amounts


def sums_by_place(places: NDArray[np.integer], amounts: Amounts, size: int) -> NDArray[np.int64]:
    """The sum of the `amounts`, made `summable`, at each of `size` places.

    Examples
    --------
    >>> sums_by_place(np.array([2, 0, 2]), summable(np.array([5, 1, -2])), 4).tolist()
    [1, 0, 3, 0]
    """
    if amounts.dtype == np.float64:
        return np.bincount(places, weights=amounts, minlength=size).astype(np.int64)
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, places, amounts)
    return sums
