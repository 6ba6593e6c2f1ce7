"""The passive replicable learner for finite classes: label k items, keep everyone below a shared random threshold.

Claim: with k from the plan, two labs return the same hypothesis with probability at least 1-ρ, and its error is at most
ε (realizable, ν = 0) or ν+ε (agnostic) with probability at least 1-δ.
Reference: the paper's "Replicable Learner for Finite Classes", after Bun et al. (2023); docs/claims/replicable_erm.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from replical.core.randomness import SharedRandomness
from replical.learners.base import Conversation, check_plan
from replical.learners.result import Result
from replical.plans.replica2 import ReplicableERMPlan
from replical.pools.pool import AnyPool


@dataclass(frozen=True)
class ReplicableERM:
    """Passive and replicable.

    Parameters
    ----------
    plan
        ``plan("replicable-erm", C, epsilon=.., delta=.., rho=.., nu=..)``.

    Raises
    ------
    PlanMismatch
        If the plan was made for another learner.

    Examples
    --------
    >>> from replical import Population, PrivateRandomness, ReplicableERM, SharedRandomness, Thresholds, learn, plan
    >>> C = Thresholds(1000)
    >>> world, lab = Population(C, target=314), PrivateRandomness.simulated("doctest")
    >>> pool = world.pool("exact", lab)
    >>> learner = ReplicableERM(plan("replicable-erm", C, epsilon=.05, delta=.05, rho=.1, nu=0))
    >>> result = learn(learner, pool, world.labels(pool, lab), SharedRandomness("published"))
    >>> result.labels, result.hypothesis, result.unrounded, result.V.size
    (19039421, 305, 314, 29)
    """

    plan: ReplicableERMPlan

    def __post_init__(self) -> None:
        check_plan(self.plan, ReplicableERMPlan, "ReplicableERM")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Label k items drawn from all of `pool`; threshold and order come from `shared`.

        Returns
        -------
        conversation
            It ends with a `Result`. `V`: everyone below the shared threshold. `hypothesis`: the first of them in the
            shared order. `unrounded`: the first of those with fewest errors. `conditions`: those of the plan.

        Raises
        ------
        EmptyVersionSpace
            If ν = 0 and everyone made too many errors: no hypothesis fits the labels.
        PoolExhausted
            If a finite pool holds fewer than k items.
        """
        plan, V = self.plan, pool.version_space()
        S = yield pool.scan().anywhere(V, plan.k)
        errors = V.errors(S)
        fewest = int(errors.min())
        best, V = V.keep(errors == fewest), V.keep(errors <= plan.most(shared, fewest))
        return Result(
            hypothesis=V.first(shared, plan.prior),
            unrounded=best.first(shared, plan.prior),
            V=V,
            conditions=plan.conditions,
        )
