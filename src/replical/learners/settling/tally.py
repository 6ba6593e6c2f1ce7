"""Errors of every candidate, heard where it was compared and supposed where it was not.

Only choices depend on them (who is the favourite, who the opponent), never the proof. Doubles are added, multiplied and
divided one by one, so two machines choose alike.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


class Tally:
    """Errors E by place, after t items."""

    def __init__(self, n: int) -> None:
        self.E = np.zeros(n)
        self.t = 0

    @property
    def excess(self) -> NDArray[np.float64]:
        """Errors above the fewest, of anyone in the class."""
        excess: NDArray[np.float64] = self.E - self.E.min()
        return excess

    def add(self, S: Mask, errors: NDArray[np.int64], scanned: int, favourite: int) -> None:
        """A block of items: who is in S was heard, everyone else goes on erring at the rate at which it left.

        Without that a bad candidate that nobody compares any more would collect no errors and look best in the end.
        """
        before, t = self.E[favourite], self.t
        self.t += scanned
        behind = self.E - before
        self.E[S] += errors
        if t and not S.all():
            supposed = behind * float(self.t) / float(t)
            self.E[~S] = (self.E[favourite] + supposed)[~S]
