"""RepliCAL, realizable: CAL with a shared random threshold on the error and a shared order of the class.

Claim: if some hypothesis makes no error, then with the sizes of its plan two labs that share one random string return
the same hypothesis with probability at least 1-ρ, and its error is at most ε with probability at least 1-δ.
Reference: Algorithm 3, Theorem 1 (plan "paper"); docs/claims/replical.md (both plans, line by line).
"""

from __future__ import annotations

from dataclasses import dataclass

from replical.core.randomness import SharedRandomness
from replical.learners.base import Conversation, made_for, stop_condition
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
    """

    plan: RepliCALPlan

    def __post_init__(self) -> None:
        made_for(self.plan, RepliCALPlan, "RepliCAL")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Ask, listen, return."""
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
