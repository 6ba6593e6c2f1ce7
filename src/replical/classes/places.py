"""How many of some ascending cuts a number has reached: looked up, not searched for, where cuts lie about evenly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_BUCKETS = 2  # a cut
_MOST_STEPS = 4  # cuts in one bucket, up to which looking up beats a search


class Places:
    """Equal buckets between the outermost of `cuts`; inside a bucket cuts are passed one by one.

    Rounding may put a number into another bucket than exact arithmetic would, but it never swaps two numbers: a cut in an
    earlier bucket is smaller, one in a later bucket larger, so the answer is exact.

    Examples
    --------
    >>> Places(np.array([.25, .5, .75])).of(np.array([-1, .25, .3, .74, 9])).tolist()
    [0, 1, 1, 2, 3]
    """

    def __init__(self, cuts: Floats) -> None:
        self._cuts, self._low, self._last = np.append(cuts, np.inf), float(cuts[0]), _BUCKETS * len(cuts) - 1
        with np.errstate(over="ignore", divide="ignore"):
            self._scale = float(self._last / np.subtract(cuts[-1], cuts[0]))
        self._steps = _MOST_STEPS + 1
        if 0 < self._scale < np.inf:
            buckets = self._bucket(cuts)
            self._first = np.searchsorted(buckets, np.arange(self._last + 1)).astype(np.int32)  # cut of each bucket
            self._steps = int(np.bincount(buckets).max())

    def _bucket(self, values: Floats) -> NDArray[np.int32]:
        with np.errstate(over="ignore"):
            scaled = (values - self._low) * self._scale
        bucket: NDArray[np.int32] = np.clip(scaled, 0, self._last).astype(np.int32)
        return bucket

    def of(self, values: Floats) -> NDArray[np.integer]:
        """How many cuts each of `values` has reached."""
        if self._steps > _MOST_STEPS:
            return np.searchsorted(self._cuts, values, side="right")
        place = self._first[self._bucket(values)]
        for _ in range(self._steps):
            place += self._cuts[place] <= values
        return place
