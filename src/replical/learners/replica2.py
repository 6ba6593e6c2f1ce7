"""ReplicA², agnostic: A² with a shared random threshold on the error and a shared order of the class.

Claim: if the best hypothesis errs at most ν, then with the sizes of its plan two labs that share one random string
return the same hypothesis with probability at least 1-ρ, and its error is at most ν+ε with probability at least 1-δ.
Reference: Algorithm 4, Theorem 2 (plan "paper"); docs/claims/replica2.md (both plans, line by line).
"""

from __future__ import annotations

from dataclasses import dataclass

from replical.core.randomness import SharedRandomness
from replical.learners.base import Conversation, check_plan, stop_condition
from replical.learners.result import Result
from replical.plans.replica2 import ReplicA2Plan
from replical.pools.pool import AnyPool


@dataclass(frozen=True)
class ReplicA2:
    """The paper's replicable A².

    Parameters
    ----------
    plan
        ``plan("replica2", C, epsilon=.., delta=.., rho=.., theta=.., nu=..)``, with ``pool="finite"`` for a lab's items.

    Raises
    ------
    PlanMismatch
        If the plan was made for another learner.

    Examples
    --------
    >>> from replical import Population, PrivateRandomness, ReplicA2, SharedRandomness, Thresholds, learn, plan
    >>> C = Thresholds(1000)
    >>> world, lab = Population(C, target=314, noise=.01), PrivateRandomness.simulated("doctest")
    >>> pool = world.pool("exact", lab)
    >>> learner = ReplicA2(plan("replica2", C, epsilon=.05, delta=.05, rho=.1, theta=2, nu=.01))
    >>> result = learn(learner, pool, world.labels(pool, lab), SharedRandomness("published"))
    >>> result.labels, result.hypothesis, result.unrounded, result.V.size
    (20138735, 305, 236, 39)
    """

    plan: ReplicA2Plan

    def __post_init__(self) -> None:
        check_plan(self.plan, ReplicA2Plan, "ReplicA2")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Rounds on `pool` while Δ(V) ≥ 8Θν̄, then one last sample; threshold and order come from `shared`.

        Where masses are known both are drawn from DIS(V). A finite pool is scanned, and errors count against all items
        scanned, because outside DIS(V) survivors agree.

        Returns
        -------
        conversation
            It ends with a `Result`. `V`: everyone within the shared threshold of the best on the last sample.
            `hypothesis`: the first of them in the shared order. `unrounded`: the first of those who had survived the
            loop. `conditions`: those of the plan, and whether the loop ended because Δ(V) was small.

        Raises
        ------
        EmptyVersionSpace
            If everyone made too many errors: the best hypothesis errs more often than ν.
        PoolExhausted
            If a finite pool runs out of the items a round needs.
        """
        plan, rounds = self.plan, 0
        pool = pool.reserve(plan.measuring)
        V, scan = pool.version_space(), pool.scan()
        position = plan.position(shared)
        while rounds < plan.rounds_most and plan.large(V, scan, shared, rounds):
            query = scan.draw(V, plan.k)
            S = yield query
            V = V.keep(V.errors(S) <= plan.loop_most(V.mass, query.scanned, position))
            rounds += 1
        before = V
        query = plan.final_query(scan, V)
        if query.total:  # otherwise nothing is disputed and everyone stays
            S = yield query
            errors = V.errors(S)
            V = V.keep(errors <= plan.final_most(V.mass, position, int(errors.min())))
        return Result(
            hypothesis=V.first(shared, plan.prior),
            unrounded=before.first(shared, plan.prior),
            V=V,
            conditions=(*plan.conditions, stop_condition(before, plan, held=before.mass < plan.reach)),
        )
