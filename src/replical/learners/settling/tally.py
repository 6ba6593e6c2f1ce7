"""Errors of every candidate, heard where it was compared and supposed where it was not.

Only choices depend on them (who is the favourite, who the opponent), never the proof. Doubles are added, multiplied and
divided one by one, so two machines choose alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]


class Tally:
    """Errors E by place, after t items."""

    def __init__(self, n: int) -> None:
        self.E = np.zeros(n)
        self.t = 0

    def of(self, heads: Indices) -> NDArray[np.float64]:
        """Errors of the `heads`, without a copy where everyone is one."""
        return self.E if len(heads) == len(self.E) else self.E[heads]

    def add(self, heads: Indices, S: Indices, errors: NDArray[Any], scanned: int, favourite: int) -> None:
        """A block of items: who is in S was heard, every other head goes on erring at the rate at which it left.

        Without that a bad candidate that nobody compares any more would collect no errors and look best in the end.
        """
        E, t = self.E, self.t
        self.t += scanned
        before, of_S = E[favourite], E[S] + errors
        if t and len(S) < len(heads):
            after = of_S[np.searchsorted(S, favourite)]
            supposed = self.of(heads) - before
            supposed *= float(self.t)
            supposed /= float(t)
            supposed += after
            E[heads if len(heads) < len(E) else slice(None)] = supposed
        E[S] = of_S
