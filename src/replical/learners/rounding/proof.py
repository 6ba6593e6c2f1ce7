"""One lab's own proof: when may it stop, and what has it proven?"""

from __future__ import annotations

from math import ceil, inf, log

import numpy as np
from numpy.typing import NDArray

from replical.bounds.estimate import estimate
from replical.bounds.planned import gamma_unlimited
from replical.bounds.tails import COARSE, FINE, FINEST
from replical.learners.base import Shrunk
from replical.learners.findings import Rounding
from replical.learners.rounding.centre import Centre
from replical.learners.rounding.looks import Looks
from replical.learners.rounding.own import OwnBound, least_mass
from replical.plans.rounded import RoundedPlan
from replical.pools.pool import AnyPool
from replical.pools.version_space import VersionSpace

# Grids from coarse to fine, and how far each may overstate the bound that the next one finds.
_GRIDS = ((COARSE, 1.4), (FINE, 1.1), (FINEST, 1.0))
_SOME = 16  # survivors, and hypotheses near the threshold, from which the centre's own error is estimated


class Proof(Looks):
    """A bound Γ̂ from this lab's own items."""

    def __init__(self, plan: RoundedPlan, pool: AnyPool, centre: Centre | None = None) -> None:
        self._U, self._accurate = pool.size, plan.kappa_most(pool.size)
        most = min(self._accurate, ceil(plan["a"] * self._U) - 1) if plan.finish == "distance" else -1
        super().__init__(plan, pool, centre or Centre(pool.version_space()), self._U, most)
        self._own = OwnBound(plan, self._U)

    def _passes(self, V: VersionSpace, kappa: int) -> bool:
        rho, scores, smallest = float(self._plan["rho"]), self._centre.distances(V), self._least(V)
        bound, step = 1.0, COARSE
        for step, overstated in _GRIDS if kappa else _GRIDS[1:]:  # without slack no label would improve it
            bound = self._own.rho(scores, kappa, smallest, step=step)
            if bound <= rho and step != COARSE:
                self._proven = bound
                return True
            if bound > overstated * rho:
                break
        if V.size <= 2:  # one survivor has no slack, and is always looked at
            return False
        least = self._own.sum(scores, 0, smallest, step=step)  # the bound grows about linearly with the slack
        self._later(kappa, (rho - least) / (bound - least) if least < min(rho, bound) else 0.0)
        return False

    def _least(self, V: VersionSpace) -> float:
        return least_mass(self._own.gamma.masses, V)

    def conclude(self, shrunk: Shrunk) -> Rounding:
        """The figures at the end."""
        plan, V, U = self._plan, shrunk.V, self._U
        kappa, scores = self._centre.radius(V), self._centre.distances(V)
        a, b, rho, gamma = float(plan["a"]), float(plan["b"]), float(plan["rho"]), self._own.gamma
        rho_proven = rho_predicted = supports = pool_needed = None
        sufficient = certified = False
        if plan.finish == "distance":
            rho_proven = (
                self._proven if V is self._last and self._proven else self._own.rho(scores, kappa, self._least(V))
            )
            certified = rho_proven <= rho and kappa <= self._accurate
            unlimited = inf
            if not certified and kappa < U * (plan.epsilon - plan["b"]) and gamma.places is None:
                share = float(plan.shift)
                unlimited = gamma_unlimited(scores / U, kappa / U, a, b, gamma.masses, self._least(V), share)
            sufficient = certified or self._own.with_failures(unlimited) <= rho
            # With a larger slack a ball need not hold the truth, and no lab sees how far populations differ.
            if gamma.places is None and kappa < U * plan["a"] and not plan.shift:
                variance = self._variance(shrunk, scores)
                rho_predicted = estimate(scores / U, U, a, b, variance=variance, masses=gamma.masses, labs=plan.labs)
            if not certified:
                supports = self._own.rho(scores, 0, self._least(V))
                pool_needed = plan.pool_needed(scores / U)
        return Rounding(
            rho_proven=rho_proven,
            labels_sufficient=sufficient,
            rho_predicted=rho_predicted,
            certified=certified,
            kappa=kappa,
            kappa_most=self._accurate,
            accurate=kappa <= self._accurate,
            accuracy=(kappa / U, self._accurate / U),
            supports=supports,
            pool_needed=pool_needed,
            scores=scores,
            range=(a, b),
            items=U,
            spent=self._spent(shrunk),
        )

    def _variance(self, shrunk: Shrunk, scores: NDArray[np.int64]) -> float:
        """Variance of what the centre's own error adds to a score: survivors stand for the truth, by their likelihood."""
        V, U, plan = shrunk.V, self._U, self._plan
        near = np.flatnonzero((scores >= U * float(plan["a"])) & (scores <= U * float(plan["b"])))
        if V.size == 1 or len(near) == 0:
            return 0.0
        truths, shares = _likely(shrunk)
        sample = near[np.linspace(0, len(near) - 1, min(_SOME, len(near))).astype(np.int64)]
        items = V.disputed
        home = V.predictions.errors(items, V.weighted(items, V.vote), sample)
        moved = [
            V.predictions.errors(items, V.weighted(items, V.predictions.codes(int(t), items)), sample) for t in truths
        ]
        squares = [float((there - home) / U @ ((there - home) / U)) / len(sample) for there in moved]
        return float(np.dot(shares, squares))


def _likely(shrunk: Shrunk) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Some survivors with their likelihoods if labels are flipped at the rate of the best of them."""
    V, errors = shrunk.V, shrunk.errors
    rate = min((errors.min() + 0.5) / (shrunk.asked + 1), 0.5)
    likelihood = np.exp((errors - errors.min()) * log(rate / (1 - rate))) if errors.max() else np.ones(V.size)
    reached = np.cumsum(likelihood) / likelihood.sum()
    chosen = np.unique(np.searchsorted(reached, (np.arange(_SOME) + 0.5) / _SOME))
    return V.indices[chosen], likelihood[chosen] / likelihood[chosen].sum()
