"""The centre of a version space: the majority vote of its survivors on every item of the pool.

Any labelling ĥ of the pool serves as a centre; what counts is its radius, the largest distance to a survivor. On
settled items the vote is unanimous, so a centre moves only on disputed items, and distances follow it item by item.

When a lab looks at its own proof during a run: as often as it pays, since repetition costs no probability.

What a lab proves from its own items, once scores and slack are known: docs/claims/certificate.md, many_labs.md.

One lab's own proof: when may it stop, and what has it proven?

One lab's own proof where all labs measure distances on public items: docs/claims/yardstick.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import ceil, comb, inf, log, sqrt

import numpy as np
from numpy.typing import NDArray

from replical.bounds.gamma import COARSE, FINE, FINEST, estimate, gamma_unlimited
from replical.bounds.yardstick import Counts
from replical.classes.base import Codes, Indices
from replical.core.exact import fraction
from replical.core.randomness import SharedRandomness
from replical.learners.base import Shrinkage
from replical.learners.result import Rounding
from replical.learners.rounded.plan import RoundedPlan
from replical.pools.pool import AnyPool
from replical.pools.version_space import VersionSpace


class Centre:
    """ĥ for a shrinking version space; distances of all hypotheses of the class to it, kept up to date."""

    def __init__(self, whole: VersionSpace) -> None:
        self._whole = whole
        self._codes: Codes | None = None
        self._scores = np.zeros(0, dtype=np.int64)
        self._scored: VersionSpace | None = None  # whose scores those are

    def at_least(self, V: VersionSpace) -> int:
        """A cheap lower bound on the radius: half the distance of two survivors."""
        if V.size == 1:
            return 0
        disputed, says = V.disputed, V.predictions.codes
        apart = says(int(V.indices[0]), disputed) != says(int(V.indices[-1]), disputed)
        return int(V.weight(disputed) @ apart) // 2

    def radius(self, V: VersionSpace) -> int:
        """κ in items: the largest distance from the centre of V to a survivor."""
        if V.size == 1:
            return 0
        labelled = V.label_counts(V.disputed, V.vote)
        return int(V.predictions.errors(V.disputed, labelled, V.indices).max(initial=0))

    def distances(self, V: VersionSpace) -> Counts:
        """Items on which each hypothesis of the class differs from the centre of V."""
        if V is self._scored:  # as at the end of a run that its certificate stopped
            return self._scores
        codes = V.predictions.codes(int(V.indices[0]))
        codes[V.disputed] = V.vote
        if self._codes is None:
            self._scores = self._errors(np.arange(len(codes)), codes)
        else:
            moved = np.flatnonzero(codes != self._codes)
            if len(moved):
                self._scores = self._scores + self._errors(moved, codes) - self._errors(moved, self._codes)
        self._codes, self._scored = codes, V
        return self._scores

    def _errors(self, items: Indices, codes: Codes) -> Counts:
        """Of everyone in the class, on those of the items that occur in the pool."""
        whole = self._whole
        items = items[whole.weight(items) > 0]
        return whole.predictions.errors(items, whole.label_counts(items, codes[items]), whole.indices)


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

    def _spent(self, shrunk: Shrinkage) -> bool:
        return self._plan.max_labels is not None and shrunk.labels >= self._plan.max_labels

    def seen(self, V: VersionSpace) -> VersionSpace:
        """The survivors on the items that distances are measured on: the lab's own, if nothing else is said."""
        return V

    def judged(self, rounding: Rounding, V: VersionSpace, answer: int, shared: SharedRandomness) -> Rounding:
        """The figures, now that answer and string are known."""
        return rounding

    def _passes(self, V: VersionSpace, kappa: int) -> bool:
        raise NotImplementedError

    def conclude(self, shrunk: Shrinkage) -> Rounding:
        """The figures at the end."""
        raise NotImplementedError


def up(bound: float | Fraction) -> float:
    """Rounded up to six digits."""
    return ceil(bound * _DIGITS) / _DIGITS


Scores = NDArray[np.int64]


class OwnBound:
    """rho_proven of a `plan` on `U` items."""

    def __init__(self, plan: RoundedPlan, U: int) -> None:
        self._plan, self.alone, self.gamma = plan, plan.items is None, plan.gamma(U)
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


# Grids from coarse to fine, and how far each may overstate the bound that the next one finds.
_GRIDS = ((COARSE, 1.4), (FINE, 1.1), (FINEST, 1.0))
_SOME = 16  # survivors, and hypotheses near the threshold, from which the centre's own error is estimated


class Proof(Looks):
    """A bound Γ̂ from this lab's own items."""

    def __init__(self, plan: RoundedPlan, pool: AnyPool, centre: Centre | None = None) -> None:
        self._U, self._accurate = pool.size, plan.kappa_most(pool.size)
        most = min(self._accurate, ceil(plan["a"] * self._U) - 1)
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

    def conclude(self, shrunk: Shrinkage) -> Rounding:
        """The figures at the end."""
        plan, V, U = self._plan, shrunk.V, self._U
        kappa, scores = self._centre.radius(V), self._centre.distances(V)
        a, b, rho, gamma = float(plan["a"]), float(plan["b"]), float(plan["rho"]), self._own.gamma
        proven = self._proven if V is self._last and self._proven else self._own.rho(scores, kappa, self._least(V))
        certified, unlimited, predicted = proven <= rho and kappa <= self._accurate, inf, None
        if not certified and kappa < U * (plan.epsilon - plan["b"]) and gamma.places is None:
            unlimited = gamma_unlimited(scores / U, kappa / U, a, b, gamma.masses, self._least(V))
        # With a larger slack a ball need not hold the truth.
        if gamma.places is None and kappa < U * plan["a"]:
            variance = self._variance(shrunk, scores)
            predicted = estimate(scores / U, U, a, b, variance=variance, masses=gamma.masses, labs=plan.labs)
        return Rounding(
            rho_proven=proven,
            labels_sufficient=certified or self._own.with_failures(unlimited) <= rho,
            rho_predicted=predicted,
            certified=certified,
            kappa=kappa,
            kappa_most=self._accurate,
            accurate=kappa <= self._accurate,
            accuracy=(kappa / U, self._accurate / U),
            supports=None if certified else self._own.rho(scores, 0, self._least(V)),
            pool_needed=None if certified else plan.pool_needed(scores / U),
            scores=scores,
            range=(a, b),
            items=U,
            spent=self._spent(shrunk),
        )

    def _variance(self, shrunk: Shrinkage, scores: NDArray[np.int64]) -> float:
        """Variance of what the centre's own error adds to a score: survivors stand for the truth, by their likelihood."""
        V, U, plan = shrunk.V, self._U, self._plan
        near = np.flatnonzero((scores >= U * float(plan["a"])) & (scores <= U * float(plan["b"])))
        if V.size == 1 or len(near) == 0:
            return 0.0
        truths, shares = _likely(shrunk)
        sample = near[np.linspace(0, len(near) - 1, min(_SOME, len(near))).astype(np.int64)]
        items = V.disputed
        home = V.predictions.errors(items, V.label_counts(items, V.vote), sample)
        moved = [
            V.predictions.errors(items, V.label_counts(items, V.predictions.codes(int(t), items)), sample)
            for t in truths
        ]
        squares = [float((there - home) / U @ ((there - home) / U)) / len(sample) for there in moved]
        return float(np.dot(shares, squares))


def _likely(shrunk: Shrinkage) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Some survivors with their likelihoods if labels are flipped at the rate of the best of them."""
    V, errors = shrunk.V, shrunk.errors
    rate = min((errors.min() + 0.5) / (shrunk.labels + 1), 0.5)
    likelihood = np.exp((errors - errors.min()) * log(rate / (1 - rate))) if errors.max() else np.ones(V.size)
    reached = np.cumsum(likelihood) / likelihood.sum()
    chosen = np.unique(np.searchsorted(reached, (np.arange(_SOME) + 0.5) / _SOME))
    return V.indices[chosen], likelihood[chosen] / likelihood[chosen].sum()


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
            self._on_yardstick = larger.restrict(V.indices)
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

    def conclude(self, shrunk: Shrinkage) -> Rounding:
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
