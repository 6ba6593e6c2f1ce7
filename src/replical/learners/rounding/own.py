"""What a lab proves from its own items, once scores and slack are known: docs/claims/certificate.md, many_labs.md."""

from __future__ import annotations

from dataclasses import replace
from math import comb, log, sqrt

import numpy as np
from numpy.typing import NDArray

from replical.bounds.tails import FINE
from replical.core.exact import fraction
from replical.learners.findings import Rounding
from replical.learners.rounding.looks import up
from replical.plans.rounded import RoundedPlan
from replical.pools.version_space import VersionSpace

Scores = NDArray[np.int64]

_SHIFTS = 1000  # a shift is told in thousandths


class OwnBound:
    """rho_proven of a `plan` on `U` items, for labs whose populations differ by a `shift`; the plan's if left out."""

    def __init__(self, plan: RoundedPlan, U: int, shift: float | None = None) -> None:
        self._plan, self.alone = plan, plan.items is None
        gamma = plan.gamma(U)
        self.gamma = gamma if shift is None else replace(gamma, shift=shift)
        # Without slack Λ(0) is one number, and only two labs that both misjudge it go wrong (docs/claims/certificate.md).
        rho, delta_A, pairs = float(plan["rho"]), float(plan["delta_A"]), comb(plan.labs, 2)
        loose = min(0.1, sqrt(rho / pairs) - delta_A)
        self.exact = None if self.alone else replace(self.gamma, beta=log(2 * plan.n / loose))
        self.misjudged = min(rho, up(pairs * (fraction(loose) + plan["delta_A"]) ** 2))  # so often by some two at most

    def rho(self, scores: Scores, kappa: int, least: float, step: float = FINE) -> float:
        """Γ̂ and every way in which it may not hold; without slack not less than what two labs misjudge."""
        bound = self.sum(scores, kappa, least, step=step)
        if kappa or self.exact is None or bound >= self.misjudged:
            return bound
        return min(self.misjudged, self.with_failures(self.gamma.bound(scores, 0, least, step=step)))

    def sum(self, scores: Scores, kappa: int, least: float, step: float) -> float:
        """Γ̂ and what is added to it."""
        gamma = self.gamma if kappa or self.exact is None else self.exact
        return self.with_failures(gamma.bound(scores, kappa, least, step=step))

    def with_failures(self, gamma: float) -> float:
        """All labs may lose the best hypothesis or misjudge distances; alone, each counts against the ideal."""
        labs = self._plan.labs
        failures = labs * float(self._plan["delta_A"] + self._plan["delta_C"])
        return min(1.0, up((labs if self.alone else 1) * gamma + failures)) if gamma < 1 else 1.0


def least_mass(masses: NDArray[np.float64] | None, V: VersionSpace) -> float:
    """The best hypothesis is a survivor, so the ideal ball has at least the smallest mass of a survivor."""
    return 1.0 if masses is None else float(masses[V.indices].min())


def shift_most(plan: RoundedPlan, rounding: Rounding, V: VersionSpace) -> float | None:
    """The largest shift, in thousandths, at which a certified lab proves ρ too; None where shifts mean nothing to it.

    The bound grows with the shift. For every fixed g: that two labs are told g or more and yet differ has probability at
    most ρ where their populations differ by a shift of at most g.

    Examples
    --------
    >>> from replical import Population, PrivateRandomness, SharedRandomness, Thresholds, learn, learner_for, plan
    >>> C = Thresholds(1000)
    >>> world, lab = Population(C, target=314), PrivateRandomness.simulated("doctest")
    >>> p = plan("rounded-cal", C, epsilon=.2, delta=.05, rho=.2, pool="finite", items=50_000, shift=.01)
    >>> pool = world.pool(50_000, lab)
    >>> result = learn(learner_for(p), pool, world.labels(pool, lab), SharedRandomness("published"))
    >>> shift_most(p, result.rounding, result.V)
    0.019
    """
    if not rounding.certified or plan.yardstick is not None:
        return None

    def proves(thousandths: int) -> bool:
        own = OwnBound(plan, rounding.items, thousandths / _SHIFTS)
        return own.rho(rounding.scores, rounding.kappa, least_mass(own.gamma.masses, V)) <= float(plan["rho"])

    low = int(plan.shift * _SHIFTS)  # proven, on a finer grid perhaps
    high = low + 1
    while high < _SHIFTS and proves(high):
        low, high = high, min(_SHIFTS, 2 * high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if proves(middle) else (low, middle)
    return max(float(plan.shift), low / _SHIFTS)
