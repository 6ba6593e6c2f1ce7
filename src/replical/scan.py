"""One pass of a learner over a pool: which items it gets to ask about.

A finite pool is scanned once, in a private order fixed before any label; an item is asked if and only if it lies in
DIS(V) when it is scanned, and never twice. Where the distribution itself is known, a pass draws from it: k draws
enter only through multinomial counts, so 10**17 labels cost no more than ten.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from replical.errors import PoolExhausted, ValueOutOfRange
from replical.query import Counts, Indices, Query, blank_counts, total
from replical.version_space import VersionSpace

# One binomial draw. NumPy's sampler is visibly wrong from 2**60 on (measured: variance 8% too large at 2**62, clean up
# to 2**59), so larger numbers are drawn in parts and added.
LARGEST_DRAW = 2**56
_SUMS_FIT = 2**62  # fewer labels than this can be added up in 63 bits
_MOST_PARTS = 4096  # beyond 2**68 draws a single round would take minutes
_FIRST_LOOK = 256  # items looked at first when searching for the next disputed one; doubled until found


class Scan(Protocol):
    """One pass over a pool; it remembers what it has used up."""

    def draw(self, V: VersionSpace, k: int) -> Query:
        """The next `k` items inside DIS(V); none if no item of the pool lies there."""
        ...

    def among(self, V: VersionSpace, M: int) -> Query:
        """Those of the next `M` items that lie in DIS(V)."""
        ...

    def anywhere(self, V: VersionSpace, k: int) -> Query:
        """The next `k` items, wherever they lie."""
        ...


class FiniteScan:
    """A pass over item numbers in a fixed order."""

    def __init__(self, order: Indices) -> None:
        self._order = order
        self._at = 0

    def draw(self, V: VersionSpace, k: int) -> Query:
        """The next `k` items inside DIS(V); none if no item of the pool lies there."""
        disputed, start = V.disagreement, self._at
        found = [self._order[:0]]
        missing, look = k, max(_FIRST_LOOK, 2 * k)
        while missing and self._at < len(self._order):
            ahead = self._order[self._at : self._at + look]
            hits = np.flatnonzero(disputed[ahead])[:missing]
            found.append(ahead[hits])
            missing -= len(hits)
            self._at += len(ahead) if missing else int(hits[-1]) + 1
            look *= 2
        if missing and disputed[self._order].any():
            raise PoolExhausted(
                f"{k} fresh items inside the disagreement region are needed, but the pool has only {k - missing} left: "
                f"{missing} missing, so bring a larger pool or give smaller sizes"
            )
        return _query(V, np.concatenate(found), scanned=self._at - start)

    def among(self, V: VersionSpace, M: int) -> Query:
        """Those of the next `M` items that lie in DIS(V)."""
        ahead = self._take(M)
        return _query(V, ahead[V.disagreement[ahead]], scanned=M)

    def anywhere(self, V: VersionSpace, k: int) -> Query:
        """The next `k` items, wherever they lie."""
        return _query(V, self._take(k), scanned=k)

    def _take(self, k: int) -> Indices:
        left = len(self._order) - self._at
        if k > left:
            raise PoolExhausted(
                f"{k} fresh items are needed, but the pool has only {left} left: {k - left} missing, "
                "so bring a larger pool or give smaller sizes"
            )
        self._at += k
        return self._order[self._at - k : self._at]


class ExactScan:
    """Independent draws from a known distribution; fresh items never run out."""

    def __init__(self, weights: NDArray[np.int64], generator: np.random.Generator) -> None:
        self._weights = weights
        self._generator = generator

    def draw(self, V: VersionSpace, k: int) -> Query:
        """`k` draws from D restricted to DIS(V); none if it has no mass."""
        return self._draw(V, V.disputed, k if V.disagreement_weight else 0, scanned=k)

    def among(self, V: VersionSpace, M: int) -> Query:
        """Those of `M` draws that fall into DIS(V)."""
        inside = int(self._binomial(np.array([M], dtype=object), np.array([float(V.mass)]))[0])
        return self._draw(V, V.disputed, inside, scanned=M)

    def anywhere(self, V: VersionSpace, k: int) -> Query:
        """`k` draws from D."""
        return self._draw(V, np.flatnonzero(self._weights), k, scanned=k)

    def _draw(self, V: VersionSpace, region: Indices, k: int, *, scanned: int) -> Query:
        region = region[self._weights[region] > 0]
        if k == 0:
            return _query(V, region[:0], scanned=scanned)
        weights = self._weights[region]
        if k < len(region):  # few draws: find their cells instead of visiting every cell
            ticks = self._generator.integers(int(weights.sum()), size=k)
            return _query(V, region[np.searchsorted(np.cumsum(weights), ticks, side="right")], scanned=scanned)
        return _query(V, region, self._multinomial(k, weights), scanned=scanned)

    def _multinomial(self, k: int, weights: NDArray[np.int64]) -> Counts:
        """Split `k` down a binary tree over the cells, so that rounding does not add up from cell to cell."""
        height = max(0, (len(weights) - 1).bit_length())
        level = np.zeros(2**height, dtype=np.int64)
        level[: len(weights)] = weights
        sums = [level]
        while len(sums[-1]) > 1:
            sums.append(sums[-1][::2] + sums[-1][1::2])
        counts: Counts = np.array([k], dtype=object)
        for below, here in zip(sums[-2::-1], sums[:0:-1], strict=True):
            left = self._binomial(counts, below[::2] / np.maximum(here, 1))
            split = blank_counts((2 * len(counts),), counts)
            split[::2], split[1::2] = left, counts - left
            counts = split if split.max() > LARGEST_DRAW else split.astype(np.int64)
        # Sums over 2**62 labels need Python integers again.
        return counts[: len(weights)].astype(object if k >= _SUMS_FIT else np.int64)

    def _binomial(self, counts: Counts, p: NDArray[np.float64]) -> Counts:
        """Binomial numbers of any size."""
        if total(counts) >= _MOST_PARTS * LARGEST_DRAW:
            raise ValueOutOfRange(
                f"one round of {float(total(counts)):.3g} labels cannot be simulated: ask for fewer than 2**68, "
                "e.g. by a larger rho or sizes of your own"
            )
        drawn = blank_counts(counts.shape, counts)
        rest = counts
        while rest.any():
            part = np.minimum(rest, LARGEST_DRAW).astype(np.int64)
            drawn = drawn + self._generator.binomial(part, p)
            rest = rest - part
        return drawn


def _query(V: VersionSpace, items: Indices, counts: Counts | None = None, *, scanned: int) -> Query:
    """Ask for single items in the order found, or for each item as often as `counts` says."""
    if counts is None:
        counts = np.ones(len(items), dtype=np.int64)
    drawn = counts != 0
    return Query(
        items=items[drawn],
        counts=counts[drawn],
        scanned=scanned,
        disagreement=(V.disagreement_weight, V.total),
        survivors=V.size,
    )
