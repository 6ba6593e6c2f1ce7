"""What each hypothesis would decide if it were the best one, from unlabelled items and the string alone.

The ideal answer by distance is the first hypothesis in the shared order that differs from the best one on at most a share v
of all items. If t were the best, how often others differ from it could be counted without a label: whoever differs too
often is rejected, and the first who is not is the answer if it differs rarely enough; else t is undecided. Only the
decision of the true best one matters, so it does not cost any probability to ask everybody.

Settled by distance, agnostic: distances need no labels, so ask only until all who may be the best lead to one answer.

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
from functools import cached_property
from math import floor

import numpy as np
from numpy.typing import NDArray

from replical.core.randomness import SharedRandomness
from replical.learners.base import Conversation, Shrinkage, Shrinker, check_base, check_plan
from replical.learners.result import Result, Settling
from replical.learners.rounded.proof import Centre
from replical.learners.settled.learner import conditions
from replical.learners.settled.outcome import same_answer, up, verdict_by_distance
from replical.learners.settled.plan import SettledDistancePlan
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

    base: Shrinker
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
        certified = decisions.place is not None and unlabelled <= shrunk.labels  # what nobody can label shows nothing
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
        self, decisions: Decisions, shrunk: Shrinkage, apart: Counts, place: int, items: int, *, certified: bool
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
            asked=shrunk.labels,
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
