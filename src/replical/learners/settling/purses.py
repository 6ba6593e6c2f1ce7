"""Purses and charges: whole numbers from which wealth follows.

A purse is one rival's, staked on one favourite at a time and apart for each: how often the favourite was wrong and the
rival right, the other way round, neither. A rival is settled at the favourite's place when its wealth suffices wherever
behind that place the ideal answer may be, so gains on later favourites never pay for earlier places.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from replical.bounds.betting import Bets
from replical.core.exact import decimals
from replical.learners.settling.compare import Block

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_CLEAR = 1e-6  # doubles are off by far less; what is nearer to its bound is decided in decimals


class Purses:
    """Every rival's purse, by favourite."""

    def __init__(self, n: int, bets: Bets, enough: Decimal) -> None:
        self._n, self.bets, self._enough = n, bets, enough
        self._about_enough = float(enough.ln())
        self._counts: dict[int, Counts] = {}
        self._logs: dict[int, Floats] = {}
        self.best: dict[int, Floats] = {}  # the largest ln of wealth seen so far at a favourite's place

    def settle(self, m: int, rivals: Indices, block: Block) -> Indices:
        """Settle the bets of the favourite `m` against `rivals` on a block of items; who is settled?"""
        counts = self._counts.setdefault(m, np.zeros((3, self._n), dtype=np.int64))
        plus, minus = block.apart(m, rivals)
        _count(counts, rivals, block.scanned, plus, minus)
        logs = self._logs.setdefault(m, np.zeros(self._n))
        logs[rivals] = self.bets.about(counts[:, rivals])
        about = self._about(m, rivals)
        best = self.best.setdefault(m, np.full(self._n, -np.inf))
        best[rivals] = np.maximum(best[rivals], about)
        near = rivals[about >= self._about_enough - _CLEAR]
        return np.array([g for g in near.tolist() if self._suffices(m, g)], dtype=np.int64)

    def counts(self, m: int) -> Counts:
        """On how many items Z was 0, +1 and -1 while `m` was the favourite, for every rival."""
        return self._counts.get(m, np.zeros((3, self._n), dtype=np.int64))

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
        self.counts = np.zeros((3, n), dtype=np.int64)  # on how many items Z was 0, +1 and -1
        self.bets, self._enough = bets, enough
        self._about_enough = float(enough.ln())
        self.best = np.zeros(n)  # the largest ln of wealth seen so far

    def reject(self, o: int, charged: Indices, block: Block) -> Indices:
        """Charge the `charged` against the opponent `o` on a block of items; who is rejected?"""
        counts = self.counts
        minus, plus = block.apart(o, charged)
        _count(counts, charged, block.scanned, plus, minus)
        about = self.bets.about(counts[:, charged])
        self.best[charged] = np.maximum(self.best[charged], about)
        near = charged[about >= self._about_enough - _CLEAR]
        enough = [h for h in near.tolist() if self.bets.wealth(*counts[:, h].tolist()) >= self._enough]
        return np.array(enough, dtype=np.int64)


def _count(counts: Counts, places: Indices, scanned: int, plus: Counts, minus: Counts) -> None:
    """Items on which Z was 0, +1 and -1; on whatever was not asked it is 0."""
    counts[0, places] += scanned - plus - minus
    counts[1, places] += plus
    counts[2, places] += minus
