"""Purses and charges: whole numbers from which wealth follows.

A purse is one rival's, staked on one favourite at a time and apart for each: how often the favourite was wrong and the
rival right, the other way round, neither. A rival is settled at the favourite's place when its wealth suffices wherever
behind that place the ideal answer may be, so gains on later favourites never pay for earlier places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.bounds.betting import Bets, mirrored
from replical.core.exact import decimals
from replical.core.kernels.accounts import add
from replical.learners.settling.compare import Block

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

_CLEAR = 1e-6  # doubles are off by far less; what is nearer to its bound is decided in decimals
_FEW = 32  # so many are decided one by one: finding equal counts would take longer


class Purses:
    """Every rival's purse, by favourite."""

    def __init__(self, n: int, bets: Bets, enough: Decimal) -> None:
        self._n, self.bets, self._enough = n, bets, enough
        self._about_enough = float(enough.ln())
        self._counts: dict[int, Counts] = {}
        self._logs: dict[int, Floats] = {}
        self.best: dict[int, Floats] = {}  # the largest ln of wealth seen so far at a favourite's place

    def begin(self, m: int) -> None:
        """Purses for the favourite `m`, if it has none."""
        if m not in self._counts:
            self._counts[m], self._logs[m], self.best[m] = (
                np.zeros((len(self.bets.values), self._n), np.int64),
                *np.zeros((2, self._n)),
            )

    def settle(self, m: int, among: Mask, block: Block) -> Indices:
        """Settle the bets of the favourite `m` against the rivals `among` those compared in a block; who is settled?"""
        self.begin(m)
        which = np.flatnonzero(among)
        rivals = block.places[which]
        counts = add(self._counts[m], rivals, block.at_worst(m, which))
        self._logs[m][rivals] = self.bets.about(counts)
        about = self._about(m, rivals)
        self.best[m][rivals] = np.maximum(self.best[m][rivals], about)
        near = rivals[np.flatnonzero(about >= self._about_enough - _CLEAR)]
        if len(near) == 0:
            return near
        history = [np.where(k < near, each[:, near], -1) for k, each in self._counts.items()]
        return _who(near, np.concatenate(history), lambda g: self._suffices(m, g))

    def arrays(self) -> Iterator[NDArray[Any]]:
        """Whatever is remembered of each candidate."""
        yield from (*self._counts.values(), *self._logs.values(), *self.best.values())

    def counts(self, m: int) -> Counts:
        """On how many items Z had each value while `m` was the favourite, for every rival."""
        return self._counts.get(m, np.zeros((len(self.bets.values), self._n), dtype=np.int64))

    def _about(self, m: int, rivals: Indices) -> Floats:
        """ln of the least wealth over all places behind m at which the ideal answer may be."""
        total, least = np.zeros(len(rivals)), np.zeros(len(rivals))
        for k in sorted(self._logs):
            if k <= m:
                total += self._logs[k][rivals]
                least = total.copy()
            else:
                total += np.where(k < rivals, self._logs[k][rivals], 0.0)
                least = np.minimum(least, total)
        return least

    def _suffices(self, m: int, g: int) -> bool:
        """The same in decimals."""
        with decimals():
            wealth = Decimal(1)
            for k in sorted(self._counts):
                if k >= g:
                    break
                wealth *= self.bets.wealth(*self._counts[k][:, g].tolist())
                if k >= m and wealth < self._enough:
                    return False
            return wealth >= self._enough


class Charges:
    """Every candidate's charge against the opponents it was compared with."""

    def __init__(self, n: int, bets: Bets, enough: Decimal) -> None:
        self.counts = np.zeros((len(bets.values), n), dtype=np.int64)  # on how many items Z had each value
        self.bets, self._enough = bets, enough
        self._about_enough = float(enough.ln())
        self.best = np.zeros(n)  # the largest ln of wealth seen so far

    def reject(self, o: int, among: Mask, block: Block) -> Indices:
        """Charge those `among` the compared against the opponent `o` on a block of items; who is rejected?"""
        which = np.flatnonzero(among)
        charged = block.places[which]
        apart = block.apart(o, which)
        counts = add(
            self.counts, charged, [apart[row] for row in mirrored(len(apart))]
        )  # Z is about their losses, not the opponent's
        about = self.bets.about(counts)
        self.best[charged] = np.maximum(self.best[charged], about)
        near = np.flatnonzero(about >= self._about_enough - _CLEAR)
        return _who(charged[near], counts[:, near], self._suffices)

    def _suffices(self, h: int) -> bool:
        return self.bets.wealth(*self.counts[:, h].tolist()) >= self._enough

    def arrays(self) -> Iterator[NDArray[Any]]:
        """Whatever is remembered of each candidate."""
        yield from (self.counts, self.best)


def _who(places: Indices, counts: Counts, enough: Callable[[int], bool]) -> Indices:
    """Those who have enough; whoever has the same counts (columns) has it too."""
    firsts = alike = np.arange(len(places))
    if len(places) > _FEW:
        _, firsts, alike = np.unique(counts, axis=1, return_index=True, return_inverse=True)
    have = np.array([enough(place) for place in places[firsts].tolist()], dtype=np.bool_)
    return places[have[alike.reshape(-1)]]  # NumPy 2.0 gives the inverse two axes
