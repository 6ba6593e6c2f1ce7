"""Settled by distance, agnostic: distances need no labels, so ask only until all who may be the best lead to one answer.

The string fixes a threshold v and an order. The ideal answer is the first hypothesis that differs from the best one on at
most a share v of all items. A² keeps V, everyone who may still be the best. For each of them unlabelled items tell which
answer it would lead to, or that they do not suffice to tell; labels are asked until V is of one mind.

    V <- C
    repeat as A²:
      every t in V: reject h, in the shared order, while h differs from t too often; l <- the first who is not rejected
                    t decides for l if l differs from t rarely enough, else t is undecided
      all decide for one l: return l, CERTIFIED
      all are undecided: no label helps; stop when Δ(V) ≤ ε
    uncertified: the first in the shared order within v of the centre of V

Claim: whatever the noise, the pool and the budget, Pr[certified, answer not ideal] ≤ β; so K certified labs differ with
probability at most Kβ ≤ ρ, and Pr[certified, error above ν+ε] ≤ β ≤ δ.
Reference: ours, docs/claims/settled_distance.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

import numpy as np

from replical.core.randomness import SharedRandomness
from replical.learners.base import Conversation, Shrinks, Shrunk, check_base, check_plan
from replical.learners.findings import Settling
from replical.learners.result import Result
from replical.learners.rounding.centre import Centre
from replical.learners.settled import conditions
from replical.learners.settling.decisions import Counts, Decisions
from replical.learners.settling.estimates import same_answer
from replical.learners.settling.outcome import up
from replical.learners.settling.verdict import verdict_by_distance
from replical.plans.settled_distance import SettledDistancePlan
from replical.pools.pool import AnyPool


@dataclass(frozen=True)
class SettledDistance:
    """Ask until everyone who may be the best leads to one answer.

    Parameters
    ----------
    base
        The learner that shrinks the version space, ``A2(plan.base)``.
    plan
        ``plan("settled-distance", C, epsilon=.., delta=.., rho=.., pool="finite")``.

    Raises
    ------
    PlanMismatch
        If the plan was made for another learner.

    Examples
    --------
    >>> from replical import A2, Population, PrivateRandomness, SettledDistance, SharedRandomness, Thresholds, learn, plan
    >>> C = Thresholds(1000)
    >>> world, lab = Population(C, target=314, noise=.1), PrivateRandomness.simulated("doctest")
    >>> pool = world.pool(50_000, lab)
    >>> p = plan("settled-distance", C, epsilon=.1, delta=.05, rho=.1, pool="finite")
    >>> result = learn(SettledDistance(A2(p.base), p), pool, world.labels(pool, lab), SharedRandomness("published"))
    >>> result.hypothesis, result.settling.certified, result.labels
    (236, True, 214)
    """

    base: Shrinks
    plan: SettledDistancePlan

    def __post_init__(self) -> None:
        check_plan(self.plan, SettledDistancePlan, "SettledDistance")
        check_base(self.base, self.plan, "SettledDistance")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Shrink V on `pool` until everyone in it decides alike, with the `shared` string.

        Returns
        -------
        conversation
            It ends with a `Result`. `hypothesis`: the ideal answer, if `settling` says that it is certified; else the first
            in the shared order within v of the centre of V. `unrounded`: the first of V in the shared order. `V`: what the
            base left. `conditions`: those of the plan, and whether the answer is proven.
        """
        decisions = Decisions(self.plan, pool, shared)
        shrunk = yield from self.base.shrink(pool, decisions.reached)
        hopeless = decisions.alike(shrunk.V) and decisions.place is None
        scores = Centre(decisions.whole).distances(shrunk.V)
        near = np.flatnonzero(scores <= floor(decisions.v * pool.size))
        ball = near if len(near) else shrunk.V.indices
        if decisions.place is not None:
            ball = decisions.order[[decisions.place]]
        h = self.plan.prior.first(shared, "order", indices=ball)
        place = int(np.flatnonzero(decisions.order == h)[0])
        unlabelled = int(np.count_nonzero(shrunk.V.disagreement[pool.unasked]))
        certified = decisions.place is not None and unlabelled <= shrunk.asked  # what nobody can label shows nothing
        settling = self._settling(decisions, shrunk, scores[decisions.order], place, pool.size, certified=certified)
        return Result(
            hypothesis=h,
            unrounded=shrunk.V.first(shared, self.plan.prior),
            V=shrunk.V,
            conditions=(*self.plan.conditions, *conditions(settling, unlabelled)),
            settling=settling,
            verdict=verdict_by_distance(self.plan, settling, items=pool.size, unlabelled=unlabelled, hopeless=hopeless),
            ball=ball,
        )

    def _settling(
        self, decisions: Decisions, shrunk: Shrunk, apart: Counts, place: int, items: int, *, certified: bool
    ) -> Settling:
        """What a lab knows; `apart` from the centre is everyone on so many of the items, by place."""
        plan, v = self.plan, float(decisions.v)
        counts = np.stack([items - apart, apart, np.zeros_like(apart)])
        return Settling(
            certified=certified,
            doubt=float(plan["beta"]) if certified else 1.0,
            beta=float(plan["beta"]),
            levels=(float(plan["delta_A"]), float(plan["delta_I"])),
            v=decisions.v,
            place=place,
            asked=shrunk.asked,
            scanned=shrunk.scanned,
            labs=plan.integer("labs"),
            excess=round(int(apart[place]) / items, 6),
            excess_upper=up(v) if certified else None,
            agreement_estimate=float(
                round(same_answer(v, counts[:, :place], counts[:, [place]]) * decisions.alike_to(shrunk.V, place), 6)
            ),
            labels_left=None,
            items_left=None,
        )
