"""Sets of hypotheses as ascending ranges [low, high], as files tell them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from replical.errors import BadCertificate

Indices = NDArray[np.int64]


class HypothesisSet(TypedDict):
    """Hypotheses as ascending ranges [low, high], and how many there are."""

    count: int
    ranges: list[list[int]]


def set_of(indices: Indices) -> HypothesisSet:
    """A set of hypotheses as ranges.

    Examples
    --------
    >>> set_of(np.array([1, 2, 3, 7]))
    {'count': 4, 'ranges': [[1, 3], [7, 7]]}
    """
    breaks = np.flatnonzero(np.diff(indices) > 1)
    starts = indices[np.concatenate(([0], breaks + 1))] if len(indices) else indices
    ends = indices[np.concatenate((breaks, [len(indices) - 1]))] if len(indices) else indices
    ranges = [[int(low), int(high)] for low, high in zip(starts, ends, strict=True)]
    return {"count": len(indices), "ranges": ranges}


def indices_of(entry: Mapping[str, Any], n: int) -> Indices:
    """The set that `set_of` wrote; anything else is refused."""
    ranges = ranges_of(entry, n)
    return np.concatenate([np.arange(low, high + 1, dtype=np.int64) for low, high in ranges] or [np.zeros(0, np.int64)])


def ranges_of(entry: Mapping[str, Any], n: int) -> list[tuple[int, int]]:
    """The set that `set_of` wrote, as ascending ranges of indices below `n`, both ends included."""
    try:
        ranges = [(int(low), int(high)) for low, high in entry["ranges"]]
        count = entry["count"]
    except (KeyError, TypeError, ValueError) as error:
        raise BadCertificate("a set of hypotheses is written as ranges [low, high] with their count") from error
    before = -2
    for low, high in ranges:
        if not before + 1 < low <= high < n:
            raise BadCertificate(f"the range [{low}, {high}] is not ascending, apart from the last, and below {n}")
        before = high
    if sum(high - low + 1 for low, high in ranges) != count:
        raise BadCertificate(f"the ranges do not hold {count} hypotheses")
    return ranges


def within(inner: Sequence[tuple[int, int]], outer: Sequence[tuple[int, int]]) -> bool:
    """Are the numbers of ascending ranges that lie apart all in others of the kind?

    Examples
    --------
    >>> within([(1, 2), (5, 5)], [(0, 2), (4, 9)]), within([(1, 5)], [(0, 2), (4, 9)])
    (True, False)
    """
    starts = [low for low, _ in outer]
    places = [bisect_right(starts, low) - 1 for low, _ in inner]
    return all(place >= 0 and high <= outer[place][1] for place, (_, high) in zip(places, inner, strict=True))


def overlap(one: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The numbers that two lists of ascending ranges have in common.

    Examples
    --------
    >>> overlap([(1, 4), (7, 9)], [(0, 2), (4, 8)])
    [(1, 2), (4, 4), (7, 8)]
    """
    found, i, j = [], 0, 0
    while i < len(one) and j < len(other):
        low, high = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if low <= high:
            found.append((low, high))
        i, j = (i + 1, j) if one[i][1] < other[j][1] else (i, j + 1)
    return found
