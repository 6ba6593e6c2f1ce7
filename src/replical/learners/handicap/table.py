"""The bets of Handicap where the table is the whole population: its items are drawn without replacement.

What a difference must come to on the items that are left is known from what it came to so far, so that small margins are
proven near the end of the table. Claim: docs/claims/handicap.md.
"""

from __future__ import annotations

import numpy as np

from replical.classes.base import Indices
from replical.learners.handicap.bets import Bets, Block, Floats, Mask
from replical.learners.handicap.handicaps import UNIT

_NEAR = 1e-3  # of the bound; doubles are off by far less


class TableBets(Bets):
    """The accounts of the members of S, on a table of so many `items` that is scanned in a random order."""

    def __init__(self, c: Indices, places: Indices, stakes: tuple[float, ...], unit: int, items: int) -> None:
        super().__init__(c, places, stakes, unit)
        self._items = items

    def settle(self, m: int, block: Block) -> None:
        """Settle every member's bet against the favourite `m`, item by item: in a block the last one alone is asked."""
        assert len(block.losses) <= 1, "plans for a table ask one item at a time"
        owed, left = self._debt(m), self._items - self.scanned
        none = np.zeros((sum(times for _, times in block.quiet), len(self.c)))
        for differences in [*none, *((losses[m] - losses) / self._unit for losses in block.losses)]:
            theta = owed / left
            less = 1 - np.minimum(theta, 0)  # where it is below 0 the stake is smaller, so that no bet loses everything
            for row, stake in enumerate(self._stakes):
                self.wealth[row] *= 1 + stake / less * (theta - differences)
            owed, left = owed - differences, left - 1
        for losses in block.losses:
            self.lost += losses
        self.scanned = self._items - left
        self._take_means()

    def _debt(self, m: int) -> Floats:
        """N(c_g - c_m) less what m has lost more than g: if g is ideal, m loses so much more on what is left, or more."""
        owed: Floats = self._items * ((self.c - self.c[m]) / UNIT) - (self.lost[m] - self.lost) / self._unit
        return owed

    def stays(self, m: int, leaves_at: float) -> Mask:
        """Who stays: not those to whom more is owed by anyone than there are items left. Whole numbers decide that.

        The favourite leaves too where whoever it owes so much stays.
        """
        stays, left = super().stays(m, leaves_at), self._items - self.scanned
        h = int(np.argmin(self._debt(m)))  # to whom least is owed: all others are behind it
        owed = self._debt(h)
        behind = owed > left + _NEAR
        for g in np.flatnonzero(np.abs(owed - left) <= _NEAR).tolist():
            more = self._items * int(self.c[g] - self.c[h]) * self._unit - int(self.lost[h] - self.lost[g]) * UNIT
            behind[g] = more > left * self._unit * UNIT
        behind[m] &= stays[h]
        return stays & ~behind
