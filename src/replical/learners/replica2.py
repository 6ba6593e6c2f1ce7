"""ReplicA², agnostic: A² with a shared random threshold on the error and a shared order of the class.

Claim: if the best hypothesis errs at most ν, then with the sizes of its plan two labs that share one random string
return the same hypothesis with probability at least 1-ρ, and its error is at most ν+ε with probability at least 1-δ.
Reference: Algorithm 4, Theorem 2 (plan "paper"); docs/claims/replica2.md (both plans, line by line).
"""

from __future__ import annotations

from dataclasses import dataclass

from replical.core.randomness import SharedRandomness
from replical.learners.base import Conversation, made_for, stop_condition
from replical.learners.result import Result
from replical.plans.replica2 import ReplicA2Plan
from replical.pools.pool import AnyPool


@dataclass(frozen=True)
class ReplicA2:
    """The paper's replicable A².

    Parameters
    ----------
    plan
        ``plan("replica2", C, epsilon=.., delta=.., rho=.., theta=.., nu=..)``.
    """

    plan: ReplicA2Plan

    def __post_init__(self) -> None:
        made_for(self.plan, ReplicA2Plan, "ReplicA2")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Ask, listen, return."""
        plan, rounds = self.plan, 0
        V, scan = pool.version_space(), pool.scan()
        position = plan.position(shared)
        while rounds < plan.rounds_most and plan.large(V, scan, shared, rounds):
            S = yield scan.draw(V, plan.k)
            V = V.keep(V.errors(S) <= plan.loop_most(V.mass, position))
            rounds += 1
        before = V
        if V.mass > 0:
            S = yield scan.draw(V, plan.final_size(V.mass))
            errors = V.errors(S)
            V = V.keep(errors <= plan.final_most(V.mass, position, int(errors.min())))
        return Result(
            hypothesis=V.first(shared, plan.prior),
            unrounded=before.first(shared, plan.prior),
            V=V,
            conditions=(*plan.conditions, stop_condition(before, plan, held=before.mass < plan.reach)),
        )
