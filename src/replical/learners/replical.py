"""RepliCAL, realizable: CAL with a shared random threshold on the error and a shared order of the class.

Claim: if some hypothesis makes no error, then with the sizes of its plan two labs that share one random string return
the same hypothesis with probability at least 1-ρ, and its error is at most ε with probability at least 1-δ.
Reference: Algorithm 3, Theorem 1 (plan "paper"); docs/claims/replical.md (both plans, line by line).
"""

from __future__ import annotations

from dataclasses import dataclass

from replical.core.randomness import SharedRandomness
from replical.learners.base import Conversation, check_plan, stop_condition
from replical.learners.result import Result
from replical.plans.replical import RepliCALPlan
from replical.pools.pool import AnyPool


@dataclass(frozen=True)
class RepliCAL:
    """The paper's replicable CAL.

    Parameters
    ----------
    plan
        ``plan("replical", C, epsilon=.., delta=.., rho=.., theta=..)``.

    Raises
    ------
    PlanMismatch
        If the plan was made for another learner.

    Examples
    --------
    >>> from replical import Population, PrivateRandomness, RepliCAL, SharedRandomness, Thresholds, learn, plan
    >>> C = Thresholds(1000)
    >>> world, lab = Population(C, target=314), PrivateRandomness.simulated("doctest")
    >>> pool = world.pool("exact", lab)
    >>> learner = RepliCAL(plan("replical", C, epsilon=.05, delta=.05, rho=.1, theta=2))
    >>> result = learn(learner, pool, world.labels(pool, lab), SharedRandomness("published"))
    >>> result.labels, result.hypothesis, result.unrounded, result.V.size
    (4432780, 312, 291, 7)
    """

    plan: RepliCALPlan

    def __post_init__(self) -> None:
        check_plan(self.plan, RepliCALPlan, "RepliCAL")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Rounds on `pool` while Δ(V) ≥ ε, then a last filter; threshold and order come from `shared`.

        Returns
        -------
        conversation
            It ends with a `Result`. `V`: everyone below the shared threshold in the last filter. `hypothesis`: the
            first of them in the shared order. `unrounded`: the first of those who had survived the loop. `conditions`:
            those of the plan, and whether the loop ended because Δ(V) was small.

        Raises
        ------
        EmptyVersionSpace
            If everyone made too many errors: no hypothesis fits the labels.
        PoolExhausted
            If a finite pool runs out of the items a round needs.
        """
        plan, rounds = self.plan, 0
        pool = pool.reserve(plan.measuring)
        V, scan = pool.version_space(), pool.scan()
        v = plan.threshold(shared)
        while rounds < plan.rounds_most and plan.large(V, scan, shared, rounds):
            S = yield scan.draw(V, plan.k)
            V = V.keep(V.errors(S) <= plan.loop_most(v))
            rounds += 1
        before = V
        most = plan.final_most(V.mass, v)
        query = plan.final_query(scan, V, most)
        if query.total > most:  # otherwise nobody can make more than `most` errors: keep everyone, ask nothing
            S = yield query
            V = V.keep(V.errors(S) <= most)
        return Result(
            hypothesis=V.first(shared, plan.prior),
            unrounded=before.first(shared, plan.prior),
            V=V,
            conditions=(*plan.conditions, stop_condition(before, plan, held=before.mass < plan.reach)),
        )
