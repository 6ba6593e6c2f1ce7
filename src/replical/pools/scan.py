"""One pass of a learner over a pool: which items it gets to ask about.

A finite pool is scanned once, in a private order fixed before any label; an item is asked if and only if it lies in
DIS(V) when it is scanned, and never twice. Where the distribution itself is known, a pass draws from it: k draws
enter only through multinomial counts, so 10**17 labels cost no more than ten.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from replical.errors import PoolExhausted
from replical.pools.query import Counts, Indices, Query, binomial, multinomial
from replical.pools.version_space import VersionSpace

_FIRST_LOOK = 256  # items looked at first when searching for the next disputed one; doubled until found


class FiniteScan:
    """A pass over item numbers in a fixed `order`."""

    def __init__(self, order: Indices) -> None:
        self._order = order
        self._at = 0

    def draw(self, V: VersionSpace, k: int) -> Query:
        """The next `k` items inside DIS(V); none if no item of the pool lies there.

        Raises
        ------
        PoolExhausted
            If DIS(V) holds fewer items that were not looked at yet.
        """
        query = self.some(V, k)
        missing = k - query.total
        if missing and V.disagreement[self._order].any():
            raise PoolExhausted(
                f"{k} fresh items inside the disagreement region are needed, but the pool has only {query.total} left: "
                f"{missing} missing, so bring a larger pool or give smaller sizes"
            )
        return query

    def some(self, V: VersionSpace, k: int) -> Query:
        """The next `k` items inside DIS(V), or as many as are left."""
        disputed, start = V.disagreement, self._at
        pieces: list[Indices] = []
        missing, look = k, max(_FIRST_LOOK, 2 * k)
        while missing and self._at < len(self._order):
            ahead = self._order[self._at : self._at + look]
            hits = disputed[ahead].nonzero()[0][:missing]
            pieces.append(ahead[hits])
            missing -= len(hits)
            self._at += len(ahead) if missing else int(hits[-1]) + 1
            look *= 2
        items = pieces[0] if len(pieces) == 1 else np.concatenate([self._order[:0], *pieces])
        return _query(V, items, scanned=self._at - start)

    def among(self, V: VersionSpace, M: int) -> Query:
        """Those of the next `M` items that lie in DIS(V); `PoolExhausted` is raised if fewer are left."""
        ahead = self._take(M)
        return _query(V, ahead[V.disagreement[ahead]], scanned=M)

    def anywhere(self, V: VersionSpace, k: int) -> Query:
        """The next `k` items, wherever they lie; `PoolExhausted` is raised if fewer are left."""
        return _query(V, self._take(k), scanned=k)

    def inside(self, V: VersionSpace, count: int) -> int:
        """How many of the next `count` items lie in DIS(V); `PoolExhausted` is raised if fewer are left."""
        return int(np.count_nonzero(V.disagreement[self._take(count)]))

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
    """Independent draws from a known distribution of cells with `weights`; fresh items never run out."""

    def __init__(self, weights: NDArray[np.int64], generator: np.random.Generator) -> None:
        self._weights = weights
        self._generator = generator

    def draw(self, V: VersionSpace, k: int) -> Query:
        """`k` draws from D restricted to DIS(V); none if it has no mass."""
        return self._draw(V, V.disputed, k if V.disagreement_weight else 0, scanned=k)

    def some(self, V: VersionSpace, k: int) -> Query:
        """`k` draws from D restricted to DIS(V) one by one, in the order drawn; none if it has no mass."""
        region = V.disputed[self._weights[V.disputed] > 0]
        return self._singly(V, region, k if len(region) else 0, scanned=k)

    def among(self, V: VersionSpace, M: int) -> Query:
        """Those of `M` draws that fall into DIS(V)."""
        return self._draw(V, V.disputed, self.inside(V, M), scanned=M)

    def anywhere(self, V: VersionSpace, k: int) -> Query:
        """`k` draws from D."""
        return self._draw(V, np.flatnonzero(self._weights), k, scanned=k)

    def inside(self, V: VersionSpace, count: int) -> int:
        """How many of `count` draws fall into DIS(V)."""
        return int(binomial(self._generator, np.array([count], dtype=object), np.array([float(V.mass)]))[0])

    def _draw(self, V: VersionSpace, region: Indices, k: int, *, scanned: int) -> Query:
        region = region[self._weights[region] > 0]
        if k == 0:
            return _query(V, region[:0], scanned=scanned)
        weights = self._weights[region]
        if k < len(region):  # few draws: find their cells instead of visiting every cell
            return self._singly(V, region, k, scanned=scanned)
        return _query(V, region, multinomial(self._generator, k, weights), scanned=scanned)

    def _singly(self, V: VersionSpace, region: Indices, k: int, *, scanned: int) -> Query:
        mass = np.cumsum(self._weights[region])
        ticks = self._generator.integers(int(mass[-1]), size=k) if k else np.zeros(0, dtype=np.int64)
        return _query(V, region[np.searchsorted(mass, ticks, side="right")], scanned=scanned)


Scan = FiniteScan | ExactScan  # one pass over a pool; it remembers what it has used up


class FiniteBlocks:
    """Blocks of a fixed `order`; items that nobody can label are scanned like any other and never asked.

    No block goes beyond one of the `ends`, so a pool to which items are added is scanned as it was before. `unlabelled`
    counts items so far that would have been asked if anybody could label them.
    """

    def __init__(self, order: Indices, unasked: Indices, ends: Sequence[int] = ()) -> None:
        self._order, self._at, self.unlabelled = order, 0, 0
        self._ends = (*ends, len(order))
        self._askable = np.ones(len(order), dtype=np.bool_) if len(unasked) == 0 else ~np.isin(order, unasked)

    @property
    def left(self) -> int:
        """Items not scanned yet."""
        return len(self._order) - self._at

    @property
    def place(self) -> tuple[int, int]:
        """How many items have been scanned, and how many of them nobody could label."""
        return self._at, self.unlabelled

    @place.setter
    def place(self, place: tuple[int, int]) -> None:
        self._at, self.unlabelled = place

    def next(
        self, S: VersionSpace, most: int, *, idle: int, V: VersionSpace | None = None, room: int | None = None
    ) -> Query:
        """Items up to the `most`-th in DIS(S), and in DIS(V) where there is one, or until `idle` in a row were not."""
        disputed, start = S.disagreement, self._at
        undecided = disputed if V is None else V.disagreement
        end = next((each for each in self._ends if each > start), start)
        asked: list[int] = []
        while len(asked) < most and self._at < end:
            ahead = slice(self._at, min(self._at + idle, end))
            items = self._order[ahead]
            hits = (disputed[items] & undecided[items] & self._askable[ahead]).nonzero()[0]
            if len(hits) == 0:
                self._at = ahead.stop
                break
            asked.append(int(items[hits[0]]))
            self._at += int(hits[0]) + 1
        passed = slice(start, self._at)
        items = self._order[passed]
        apart, is_open = disputed[items], undecided[items]
        unlabelled = items[apart & is_open & ~self._askable[passed]]
        self.unlabelled += len(unlabelled)
        query = _query(S if V is None else V, np.array(asked, dtype=np.int64), scanned=self._at - start)
        return replace(query, known=items[apart & ~is_open], unlabelled=unlabelled)


class GroupBlocks(FiniteBlocks):
    """Blocks of whole groups, which are neighbours in the `order`: `groups` says in which every item is."""

    def __init__(self, order: Indices, unasked: Indices, ends: Sequence[int], groups: Indices) -> None:
        super().__init__(order, unasked, ends)
        borders = np.flatnonzero(np.diff(groups[order])) + 1
        self._stops = [*borders.tolist(), len(order)]  # where groups end

    def next(
        self, S: VersionSpace, most: int, *, idle: int, V: VersionSpace | None = None, room: int | None = None
    ) -> Query:
        """Groups until `most` items in DIS(S) or more were found, or until `idle` in a row were not.

        A group is asked as a whole or not at all: one with more such items than there is `room` for is not begun.
        """
        assert V is None, "plans that infer labels refuse groups"
        start, quiet = self._at, 0
        end = next((each for each in self._ends if each > start), start)
        asked, sizes, owners = list[int](), list[int](), list[int]()
        while len(asked) < most and self._at < end and quiet < idle:
            stop = self._stops[bisect_right(self._stops, self._at)]
            items = self._order[self._at : stop]
            apart, askable = S.disagreement[items], self._askable[self._at : stop]
            hits = items[apart & askable].tolist()
            if room is not None and len(asked) + len(hits) > room:
                break
            self.unlabelled += int(np.count_nonzero(apart & ~askable))
            asked, owners = asked + hits, owners + [len(sizes)] * len(hits)
            sizes.append(len(items))
            quiet, self._at = 0 if hits else quiet + len(items), stop
        query = _query(S, np.array(asked, dtype=np.int64), scanned=self._at - start)
        return replace(query, sizes=np.array(sizes, dtype=np.int64), owners=np.array(owners, dtype=np.int64))


class ExactBlocks:
    """Blocks of independent draws: a disputed one comes after a geometric number of others."""

    unlabelled = 0
    left, place = None, (0, 0)  # draws never run out, and are not made again

    def __init__(self, weights: NDArray[np.int64], generator: np.random.Generator) -> None:
        self._weights, self._generator = weights, generator

    def next(
        self, S: VersionSpace, most: int, *, idle: int, V: VersionSpace | None = None, room: int | None = None
    ) -> Query:
        """Draws up to the `most`-th inside DIS(S), or until `idle` in a row were not."""
        assert V is None, "plans that infer labels refuse a known distribution"
        region = S.disputed[self._weights[S.disputed] > 0]
        if len(region) == 0:
            return _query(S, region, scanned=idle)
        mass, scanned = np.cumsum(self._weights[region]), 0
        asked: list[int] = []
        while len(asked) < most:
            passed = int(self._generator.geometric(float(S.mass))) - 1
            if passed >= idle:
                scanned += idle
                break
            scanned += passed + 1
            tick = self._generator.integers(int(mass[-1]))
            asked.append(int(region[np.searchsorted(mass, tick, side="right")]))
        return _query(S, np.array(asked, dtype=np.int64), scanned=scanned)


Blocks = FiniteBlocks | ExactBlocks  # one pass in blocks: every item scanned counts, asked or not


def _query(V: VersionSpace, items: Indices, counts: Counts | None = None, *, scanned: int) -> Query:
    """Ask for single items in the order found, or for each item as often as `counts` says."""
    if counts is None:
        counts = np.ones(len(items), dtype=np.int64)
    else:
        drawn = counts != 0
        items, counts = items[drawn], counts[drawn]
    return Query(
        items=items, counts=counts, scanned=scanned, disagreement=(V.disagreement_weight, V.total), survivors=V.size
    )
