"""When a lab looks at its own proof during a run: as often as it pays, since repetition costs no probability."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, inf

from replical.core.randomness import SharedRandomness
from replical.learners.base import Shrunk
from replical.learners.findings import Rounding
from replical.learners.rounding.centre import Centre
from replical.plans.rounded import RoundedPlan
from replical.pools.pool import AnyPool
from replical.pools.version_space import VersionSpace

_WORTH = 0.95  # nothing has changed before V has shrunk by a twentieth
_SOONEST, _LATEST = 0.9, 0.4  # look again when the slack has shrunk by a tenth, or as much more as seems needed
_EARLY = 1.15  # rather a little too early than too late: a look costs milliseconds, a label money
_DIGITS = 10**6  # bounds are rounded up to this, so that two machines decide alike


class Looks:
    """A proof that may end a run. Whoever makes one says whether it passes, and what it says at the end.

    Parameters
    ----------
    plan, pool
        The plan and the lab's own items.
    centre
        Finds centre and slack, on the items that distances are measured on.
    items
        How many these are.
    most
        With more slack than this, in items, nothing can be proven.
    """

    def __init__(self, plan: RoundedPlan, pool: AnyPool, centre: Centre, items: int, most: int) -> None:
        self._plan, self._centre, self._most = plan, centre, most
        self._slack = int(plan.slack * items) if plan.slack else -1
        self._size, self._last = inf, pool.version_space()  # V at the last look
        self._proven: float | None = None  # the bound at the last look
        self._next = inf  # slack at which the bound is worth another look

    def reached(self, V: VersionSpace) -> bool:
        """May the run stop here?"""
        return self.worth(V.size, lambda: self._centre.at_least(self.seen(V))) and self.look(V)

    def worth(self, size: int, at_least: Callable[[], int]) -> bool:
        """Is a version space of this size, and of at least this radius, worth a look?"""
        if size > _WORTH * self._size:
            return False
        self._size, self._proven = size, None
        return at_least() <= max(self._slack, min(self._most, self._next))

    def look(self, V: VersionSpace) -> bool:
        """May the run stop here?"""
        self._last, seen = V, self.seen(V)
        kappa = self._centre.radius(seen)
        if kappa <= self._slack:
            return True
        return kappa <= min(self._most, self._next) and self._passes(seen, kappa)

    def _later(self, kappa: int, share: float) -> None:
        """Look again when about this share of the slack is left."""
        self._next = kappa * min(_SOONEST, max(_LATEST, _EARLY * share))

    def _spent(self, shrunk: Shrunk) -> bool:
        return self._plan.max_labels is not None and shrunk.asked >= self._plan.max_labels

    def seen(self, V: VersionSpace) -> VersionSpace:
        """The survivors on the items that distances are measured on: the lab's own, if nothing else is said."""
        return V

    def judged(self, rounding: Rounding, V: VersionSpace, answer: int, shared: SharedRandomness) -> Rounding:
        """The figures, now that answer and string are known."""
        return rounding

    def _passes(self, V: VersionSpace, kappa: int) -> bool:
        raise NotImplementedError

    def conclude(self, shrunk: Shrunk) -> Rounding:
        """The figures at the end."""
        raise NotImplementedError


def up(bound: float | Fraction) -> float:
    """Rounded up to six digits."""
    return ceil(bound * _DIGITS) / _DIGITS
