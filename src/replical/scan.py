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
from replical.query import Counts, Indices, Query
from replical.version_space import VersionSpace

LARGEST_DRAW = 2**62  # one multinomial draw: its counts fit into 63 bits
_MOST_PARTS = 1024  # beyond 2**72 draws a single round would take minutes
_FIRST_LOOK = 256  # items looked at first when searching for the next disputed one; doubled until found


class Scan(Protocol):
    """One pass over a pool; it remembers what it has used up."""

    def draw(self, V: VersionSpace, k: int) -> Query:
        """The next `k` items inside DIS(V); none if DIS(V) is empty."""
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
        """The next `k` items inside DIS(V); none if DIS(V) is empty."""
        if len(V.disputed) == 0:
            return _query(V, V.disputed, scanned=0)
        disputed, start = V.disagreement, self._at
        found: list[Indices] = []
        missing, look = k, max(_FIRST_LOOK, 2 * k)
        while missing and self._at < len(self._order):
            ahead = self._order[self._at : self._at + look]
            hits = np.flatnonzero(disputed[ahead])[:missing]
            found.append(ahead[hits])
            missing -= len(hits)
            self._at += len(ahead) if missing else int(hits[-1]) + 1
            look *= 2
        if missing:
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
        inside = sum(int(self._generator.binomial(part, float(V.mass))) for part in _parts(M))
        return self._draw(V, V.disputed, inside, scanned=M)

    def anywhere(self, V: VersionSpace, k: int) -> Query:
        """`k` draws from D."""
        return self._draw(V, np.flatnonzero(self._weights), k, scanned=k)

    def _draw(self, V: VersionSpace, region: Indices, k: int, *, scanned: int) -> Query:
        if k == 0:
            return _query(V, region[:0], scanned=scanned)
        weights = self._weights[region]
        if k < len(region):  # few draws: find their cells instead of visiting every cell
            ticks = self._generator.integers(int(weights.sum()), size=k)
            return _query(V, region[np.searchsorted(np.cumsum(weights), ticks, side="right")], scanned=scanned)
        p = weights / weights.sum()
        counts = _sum([self._generator.multinomial(part, p).astype(np.int64) for part in _parts(k)])
        return _query(V, region, counts, scanned=scanned)


def _parts(k: int) -> list[int]:
    """Split a size into draws NumPy can make."""
    full, rest = divmod(k, LARGEST_DRAW)
    if full >= _MOST_PARTS:
        raise ValueOutOfRange(
            f"one round of {k:.3g} labels cannot be simulated: ask for fewer than 2**72, e.g. by a larger rho"
        )
    return [LARGEST_DRAW] * full + [rest]


def _sum(draws: list[NDArray[np.int64]]) -> Counts:
    if len(draws) == 1:
        return draws[0]
    wide: NDArray[np.object_] = np.zeros(len(draws[0]), dtype=object)
    for draw in draws:
        wide = wide + draw
    return wide


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
