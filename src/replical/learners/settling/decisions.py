"""What each hypothesis would decide if it were the best one, from unlabelled items and the string alone.

The ideal answer by distance is the first hypothesis in the shared order that differs from the best one on at most a share v
of all items. If t were the best, how often others differ from it could be counted without a label: whoever differs too
often is rejected, and the first who is not is the answer if it differs rarely enough; else t is undecided. Only the
decision of the true best one matters, so it does not cost any probability to ask everybody.
"""

from __future__ import annotations

from functools import cached_property
from math import floor

import numpy as np
from numpy.typing import NDArray

from replical.core.randomness import SharedRandomness
from replical.plans.settled_distance import SettledDistancePlan
from replical.pools.pool import AnyPool
from replical.pools.version_space import VersionSpace

Counts = NDArray[np.int64]

_WORTH = 0.95  # nothing has changed before V has shrunk by a twentieth


class Decisions:
    """Decisions of everybody in a version space; `place` is the answer on which all of them agree, None if they do not."""

    def __init__(self, plan: SettledDistancePlan, pool: AnyPool, shared: SharedRandomness) -> None:
        self._plan, self._items = plan, pool.size
        self.v, self.order = plan.threshold(shared), plan.prior.order_of(shared, "order", n=plan.n)
        self.whole = pool.version_space()
        self._measured, self._rows = self.whole, list[tuple[Counts, int]]()  # whose distances those are
        self._size = float("inf")
        self.place: int | None = None

    @cached_property
    def _farther(self) -> int:
        return self._plan.farther(self.v, self._items)

    def reached(self, V: VersionSpace) -> bool:
        """May a run stop here? Asked again only when V has shrunk."""
        if V.size > _WORTH * self._size:
            return False
        self._size = V.size
        return self.alike(V)

    def alike(self, V: VersionSpace) -> bool:
        """Do all of V decide alike? Or does none of them decide, whatever is asked, and all are as good as asked for?"""
        undecided, pending, self.place = False, np.arange(V.size), None
        for place in range(self._plan.n):
            apart, nearer = self._apart(V, place)
            near, far = apart[pending] <= nearer, apart[pending] >= self._farther
            if near.any():
                self.place = place if near.all() and not undecided else None
                return self.place is not None
            undecided, pending = undecided or not far.all(), pending[far]
            if undecided and V.mass > self._plan.epsilon:
                return False
            if len(pending) == 0:
                break
        return True

    def alike_to(self, V: VersionSpace, place: int) -> float:
        """The share of V that leads to whoever stands at a place, if distances on this pool are taken for true ones."""
        pending, most = np.arange(V.size), floor(self.v * self._items)
        for earlier in range(place):
            pending = pending[self._apart(V, earlier)[0][pending] > most]
        return int(np.count_nonzero(self._apart(V, place)[0][pending] <= most)) / int(V.size)

    def _apart(self, V: VersionSpace, place: int) -> tuple[Counts, int]:
        """Items on which each of V differs from whoever stands at a place, and on how many one may to be near to it."""
        if V is not self._measured:
            stay = np.isin(self._measured.indices, V.indices, assume_unique=True)
            nested = np.count_nonzero(stay) == V.size
            self._rows = [(apart[stay], nearer) for apart, nearer in self._rows] if nested else []
            self._measured = V
        while len(self._rows) <= place:
            at = len(self._rows)
            apart = V.distances(int(self.order[at]))
            self._rows.append((apart, self._plan.nearer(self.v, self._items, at)))
        return self._rows[place]
