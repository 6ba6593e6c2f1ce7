"""Rounded: replicability for an additive price in labels.

Shrink a version space with CAL or A² further than accuracy needs, take its centre, and return the first hypothesis in
the shared order within a shared distance v of it. The last step costs no labels. The run stops as soon as this lab's own
bound gamma, computed without labels, proves that two labs are both certified and different with probability at most ρ.

Claim: for every fixed ρ, Pr[both labs certified and their answers differ] ≤ ρ, and Pr[certified, error above ν+ε] ≤ δ; over
CAL under realizability, over A² whatever the noise. Reference: ours, Theorems L1-L2 (docs/claims/certificate.md).
"""

from __future__ import annotations

from dataclasses import dataclass

from replical.core.randomness import SharedRandomness
from replical.learners.base import Conversation, Shrinks, Shrunk, check_base, check_plan
from replical.learners.findings import Rounding
from replical.learners.result import Result
from replical.learners.rounding.finishes import finish
from replical.learners.rounding.looks import Looks
from replical.learners.rounding.proof import Proof
from replical.learners.rounding.verdict import verdict
from replical.learners.rounding.yardstick import YardstickProof
from replical.plans.base import Condition
from replical.plans.rounded import RoundedPlan
from replical.pools.pool import AnyPool
from replical.pools.version_space import VersionSpace

CERTIFIED = "this lab's certificate proves rho"
ACCURATE = "slack is small enough for the error bound"
NEAR = "the answer is near enough to every survivor for the error bound"


@dataclass(frozen=True)
class Rounded:
    """A base learner, stopped by its lab's own proof of ρ and rounded without labels.

    Parameters
    ----------
    base
        The learner that shrinks the version space: ``CAL(plan.base)`` or ``A2(plan.base)``, whichever the plan is for.
        The proof is about ``plan.base``, so a base with any other plan is refused.
    plan
        ``plan("rounded-cal", C, epsilon=.., delta=.., rho=.., pool="finite")`` or ``"rounded-a2"``.

    Raises
    ------
    PlanMismatch
        If the plan was made for another learner, or the base follows another plan than ``plan.base``.

    Examples
    --------
    >>> from replical import CAL, Population, PrivateRandomness, Rounded, SharedRandomness, Thresholds, learn, plan
    >>> C = Thresholds(1000)
    >>> world, lab = Population(C, target=314), PrivateRandomness.simulated("doctest")
    >>> pool = world.pool(50_000, lab)
    >>> p = plan("rounded-cal", C, epsilon=.1, delta=.05, rho=.1, pool="finite", items=50_000)
    >>> learner = Rounded(CAL(p.base), p)
    >>> result = learn(learner, pool, world.labels(pool, lab), SharedRandomness("published"))
    >>> result.labels, result.hypothesis, result.rounding.certified, result.rounding.rho_proven
    (12, 340, True, 0.089425)
    """

    base: Shrinks
    plan: RoundedPlan

    def __post_init__(self) -> None:
        check_plan(self.plan, RoundedPlan, "Rounded")
        check_base(self.base, self.plan, "Rounded")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Shrink V on `pool` until this lab's own proof holds, then round by `shared`.

        Returns
        -------
        conversation
            It ends with a `Result`. `hypothesis`: the answer of the plan's finish, by default the first in the shared
            order within a shared distance of the centre of V. `unrounded`: the first of V in the shared order. `V`:
            what the base left. `conditions`: those of the plan, whether ρ is proven, and whether the slack is small
            enough for the error bound. `rounding`: what this lab has proven.

        Raises
        ------
        EmptyVersionSpace
            Over CAL, if everyone was wrong: no hypothesis fits the labels.
        """
        pool = pool.first(self.plan.items)
        proof = self.proof(pool)
        shrunk = yield from self.base.shrink(pool, proof.reached)
        return self.conclude(proof, shrunk, shared)

    def proof(self, pool: AnyPool) -> Looks:
        """How this lab proves ρ: on the plan's yardstick, or on the items of its `pool`."""
        return Proof(self.plan, pool) if self.plan.yardstick is None else YardstickProof(self.plan, pool)

    def conclude(self, proof: Looks, shrunk: Shrunk, shared: SharedRandomness) -> Result:
        """Round `shrunk`, what the base left, without labels; `proof` is this lab's own, `shared` the published randomness.

        Returns
        -------
        result
            As `run` ends with.
        """
        plan = self.plan
        rounding = proof.conclude(shrunk)
        ball = plan.ball(shared, rounding.scores, rounding.items, shrunk.V.indices)
        answer = finish(plan, shared, ball, shrunk)
        rounding = proof.judged(rounding, shrunk.V, answer, shared)
        return Result(
            hypothesis=answer,
            unrounded=shrunk.V.first(shared, plan.prior),
            V=shrunk.V,
            conditions=(*plan.conditions, *_conditions(plan, rounding)),
            rounding=rounding,
            verdict=verdict(plan, rounding),
            ball=ball,
        )

    def repeatable(self, items: int) -> bool:
        """Does the proof follow from so many `items` and the survivors? Not where labels decide, or some items did."""
        return self.plan.choice == "ball" and self.plan.items in (None, items)

    def again(self, pool: AnyPool, V: VersionSpace, shared: SharedRandomness) -> Result:
        """What the survivors `V` prove on this `pool` with the `shared` string, without labels."""
        proof = self.proof(pool)
        proof.reached(V)
        return self.conclude(proof, Shrunk(V=V, answers=(), scanned=0), shared)


def _conditions(plan: RoundedPlan, rounding: Rounding) -> tuple[Condition, Condition]:
    proven, rho = rounding.rho_proven, float(plan["rho"])
    return (
        Condition(
            name=CERTIFIED,
            value=1.0 if proven is None else proven,
            bound=rho,
            held=proven is not None and proven <= rho,
        ),
        Condition(
            name=ACCURATE if plan.yardstick is None else NEAR,
            value=rounding.accuracy[0],
            bound=rounding.accuracy[1],
            held=rounding.accurate,
        ),
    )
