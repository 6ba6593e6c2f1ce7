"""One lab's own proof where all labs measure distances on public items: docs/claims/yardstick.md."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from replical.bounds.yardstick import Counts
from replical.core.randomness import SharedRandomness
from replical.learners.base import Shrunk
from replical.learners.findings import Rounding
from replical.learners.rounding.centre import Centre
from replical.learners.rounding.looks import Looks, up
from replical.plans.rounded import RoundedPlan
from replical.pools.pool import AnyPool
from replical.pools.version_space import VersionSpace

_ROUNDING = Fraction(1, 10**9)  # sums of doubles, and thresholds of 53 bits, are off by less


class YardstickProof(Looks):
    """A bound Y from the survivors and public items alone; the lab's own items only judge the answer."""

    def __init__(self, plan: RoundedPlan, pool: AnyPool, centre: Centre | None = None) -> None:
        assert plan.yardstick is not None, "only made for a plan with a yardstick"
        self._whole, self._public = plan.yardstick.version_space(), plan.yardstick_bound(plan.yardstick)
        self._failures = plan["rho"] - plan.rho_string
        self._limit = float(plan.rho_string - Fraction(2, 10**6))  # what may be proven, rounding included
        self._pool, self._on_yardstick = pool, self._whole
        most = self._public.slack_most(self._limit)
        super().__init__(plan, pool, centre or Centre(self._whole), plan.yardstick.size, most)

    def seen(self, V: VersionSpace) -> VersionSpace:
        """The survivors on the yardstick; they become fewer, so what they agreed on they agree on."""
        if V.size != self._on_yardstick.size:
            larger = self._on_yardstick if V.size < self._on_yardstick.size else self._whole
            self._on_yardstick = larger.only(V.indices)
        return self._on_yardstick

    def _passes(self, V: VersionSpace, kappa: int) -> bool:
        bound = self._bound(V, self._centre.distances(V))
        if bound <= self._limit:
            self._proven = self._with_failures(bound)
            return True
        self._later(kappa, self._limit / bound)
        return False

    def _bound(self, V: VersionSpace, scores: Counts) -> float:
        """A bound on Y, from cheap to exact; what is above the limit bounds nothing."""
        cheap = self._public.cheap(V.indices, scores)
        return cheap if cheap <= self._limit else self._public.cover(V.indices, scores, self._from, self._limit)

    def _from(self, t: int) -> Counts:
        return self._whole.distances(t)

    def _with_failures(self, bound: float) -> float:
        """Every lab may lose the best hypothesis."""
        return min(1.0, up(Fraction(bound) + _ROUNDING + self._failures))

    def conclude(self, shrunk: Shrunk) -> Rounding:
        """The figures at the end; whether the answer is accurate is said by `judged`."""
        plan, V = self._plan, self.seen(shrunk.V)
        kappa, scores = self._centre.radius(V), self._centre.distances(V)
        proven = self._proven if shrunk.V is self._last else None
        if proven is None:
            bound = self._bound(V, scores)
            bound = bound if bound <= self._limit else self._public.cheap(V.indices, scores)
            proven = self._with_failures(bound)
        certified = proven <= float(plan["rho"])
        return Rounding(
            rho_proven=proven,
            labels_sufficient=certified,
            rho_predicted=None,
            certified=certified,
            kappa=kappa,
            kappa_most=None,
            accurate=False,
            accuracy=(1.0, 0.0),
            supports=None,
            pool_needed=None,
            scores=scores,
            range=(float(plan["a"]), float(plan["b"])),
            items=self._public.M,
            spent=self._spent(shrunk),
        )

    def judged(self, rounding: Rounding, V: VersionSpace, answer: int, shared: SharedRandomness) -> Rounding:
        """Accurate if on its own items the answer is near every survivor, of whom the best is one."""
        U, apart = self._pool.size, int(V.distances(answer).max())
        most = self._plan.apart_most(U)
        fixed = self._fixed(V, rounding.scores, shared)
        return replace(rounding, accurate=apart <= most, accuracy=(apart / U, most / U), fixed=fixed)

    def _fixed(self, V: VersionSpace, scores: Counts, shared: SharedRandomness) -> bool:
        """Is the first of those whom any certified lab may keep kept by all of them?"""
        plan = self._plan
        reach = self._public.reach(V.indices, scores, float(plan.rho_string + _ROUNDING))
        x = plan.threshold(shared, self._public.M)
        near = np.flatnonzero(scores <= x + reach)
        return bool(len(near) and scores[plan.prior.first(shared, "order", indices=near)] <= x - reach)
