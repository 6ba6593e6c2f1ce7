"""Settled, agnostic: find the ideal answer, and bet until it is proven to be it.

The string fixes a threshold v and an order of the class. The ideal answer is the first candidate in that order whose excess
error is at most v: a constant of the distribution and the string. A lab takes the first candidate that looks like it as its
*favourite*, lets it bet against every rival behind it that it errs at most v more, and charges every candidate before it
with erring more than v. When every rival is settled and everyone before is rejected, the favourite is the ideal answer.

Claim: whatever the noise, the pool and the budget, Pr[certified, answer not ideal] ≤ β; so K certified labs differ with
probability at most Kβ ≤ ρ, and Pr[certified, error above ν+ε] ≤ β ≤ δ.
Reference: ours, Theorem S' (docs/claims/settled.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replical.core.randomness import SharedRandomness
from replical.learners.base import Conversation, check_plan
from replical.learners.result import Result, Settling
from replical.learners.settling.choice import favourite, first, opponent
from replical.learners.settling.compare import Region, heard
from replical.learners.settling.outcome import Ending
from replical.learners.settling.purses import Charges, Purses
from replical.learners.settling.tally import Tally
from replical.learners.settling.verdict import verdict
from replical.plans.base import Condition
from replical.plans.settled import SettledPlan
from replical.pools.pool import AnyPool

PROVEN = "the answer is proven to be the ideal one"
LABELLED = "of the items on which candidates differ at least as many were labelled as could not be"


@dataclass(frozen=True)
class Settled:
    """Choose among candidates, certified for any pool.

    Parameters
    ----------
    plan
        ``plan("settled", C, epsilon=.., delta=.., rho=.., pool="finite")``.

    Raises
    ------
    PlanMismatch
        If the plan was made for another learner.

    Examples
    --------
    >>> import numpy as np
    >>> from replical import KnownLabels, Pool, PredictionTable, PrivateRandomness, SharedRandomness, learn, plan
    >>> generator = np.random.default_rng(1)
    >>> C = PredictionTable(["good", "better", "bad"])
    >>> wrong = generator.random((3000, 3)) < [.06, .05, .3]
    >>> pool = Pool(C, wrong.astype(int), PrivateRandomness.simulated("doctest"))
    >>> settled = Settled(plan("settled", C, epsilon=.1, delta=.05, rho=.1, pool="finite"))
    >>> result = learn(settled, pool, KnownLabels(C, np.zeros(3000, dtype=int)), SharedRandomness("published"))
    >>> result.described(C), result.settling.certified, result.labels
    ('good', True, 27)
    """

    plan: SettledPlan

    def __post_init__(self) -> None:
        check_plan(self.plan, SettledPlan, "Settled")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Ask about items of `pool`, listen, and return with the `shared` string.

        Returns
        -------
        conversation
            Its result's ``hypothesis`` is the ideal answer if ``settling.certified``; ``unrounded`` has the fewest errors,
            ``V`` holds who is not rejected, ``conditions`` says at which level the answer is proven.
        """
        plan, n, places = self.plan, self.plan.n, np.arange(self.plan.n)
        v, order = plan.threshold(shared), plan.prior.order_of(shared, "order", n=n)
        tally, is_open, settled_at = Tally(n), np.ones(n, dtype=np.bool_), np.full(n, n)
        purses = Purses(n, plan.purses(v), plan.settles_at)
        charges = Charges(n, plan.charges(v), plan.rejects_at)
        whole, blocks, m, o, asked = pool.version_space(), pool.blocks(), 0, 0, 0
        region, share = Region(whole), 1.0

        def unproven(place: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
            """Who stands before a place and is not rejected, and who behind it is not settled there."""
            return is_open & (places < place), (places > place) & (settled_at > place)

        while True:
            o = opponent(plan, tally, o)
            m = favourite(plan, tally, float(v), is_open, m)
            before, rivals = unproven(m)
            certified = not before.any() and not rivals.any() and blocks.unlabelled <= asked
            if certified or not plan.opens(asked):
                break
            S = before | rivals | (places == m) | ((places == o) & before.any())
            query = blocks.next(region.of(order[S]), plan.opens(asked), idle=plan.integer("idle"))
            if query.scanned == 0:  # the pool is used up
                break
            asked, share = asked + query.total, query.disagreement[0] / query.disagreement[1]
            block = heard(
                whole.predictions, order, np.flatnonzero(S), (yield query) if query.total else None, query.scanned
            )
            settled = purses.settle(m, np.flatnonzero(rivals), block)
            settled_at[settled] = m  # of unsettled ones only, so never later than before
            if S[o]:
                rejected = charges.reject(o, np.flatnonzero(S & is_open), block)
                is_open[rejected[: np.count_nonzero(is_open) - 1]] = False  # never the last
            tally.add(S, block.errors, query.scanned, m)
        place = m if certified else first(tally.excess, float(v) * tally.t, is_open)
        before, rivals = unproven(place)
        settling = Ending(
            plan=plan,
            v=v,
            place=place,
            before=np.flatnonzero(before),
            rivals=np.flatnonzero(rivals),
            purses=purses,
            charges=charges,
            tally=tally,
            asked=asked,
            unlabelled=blocks.unlabelled,
            share=share,
        ).conclude()
        open_ones = np.zeros(n, dtype=np.bool_)
        open_ones[order[is_open]] = True
        return Result(
            hypothesis=int(order[place]),
            unrounded=int(order[np.argmin(tally.E)]),
            V=whole.keep(open_ones),
            conditions=(*plan.conditions, *_conditions(settling, blocks.unlabelled)),
            settling=settling,
            verdict=verdict(plan, settling, left=blocks.left, unlabelled=blocks.unlabelled),
        )


def _conditions(settling: Settling, unlabelled: int) -> tuple[Condition, Condition]:
    """What nobody can label tells candidates apart for nobody; a proof made of that alone would be none."""
    return (
        Condition(name=PROVEN, value=settling.doubt, bound=settling.beta, held=settling.certified),
        Condition(
            name=LABELLED,
            value=float(unlabelled),
            bound=float(settling.asked),
            held=unlabelled <= settling.asked,
        ),
    )
