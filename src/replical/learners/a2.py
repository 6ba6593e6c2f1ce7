"""A², agnostic: ask only where survivors disagree, remove a hypothesis only when a better one has proved itself.

Claim: whatever the noise, a best hypothesis h* is never removed except with probability δ; so at the stop Δ(V) ≤ κ every
survivor's error is within κ of the best. No Θ, no ν, no rounds; all labels are reused.
Reference: the paper's Algorithm 2 is `A2Rounds`, with sizes; `A2` is the sharper form, by betting or by paired
elimination (docs/claims/a2.md). Not replicable: "any h in V" is the first in the shared order.
"""

from __future__ import annotations

from dataclasses import dataclass

from replical.core.randomness import SharedRandomness
from replical.learners.base import (
    Conversation,
    Shrinking,
    Shrunk,
    Until,
    at_own_stop,
    made_for,
    masses_known,
    stop_condition,
)
from replical.learners.elimination import Betting, Elimination, Paired
from replical.learners.result import Result
from replical.plans.a2 import A2Plan, A2RoundsPlan
from replical.pools.pool import AnyPool
from replical.pools.query import Answers, Indices
from replical.pools.version_space import VersionSpace


@dataclass(frozen=True)
class A2:
    """A² by elimination.

    Parameters
    ----------
    plan
        ``plan("a2", C, epsilon=.., delta=..)`` (betting) or ``plan("a2-paired", ..)``.
    """

    plan: A2Plan

    def __post_init__(self) -> None:
        made_for(self.plan, A2Plan, "A2")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Ask, listen, return."""
        return at_own_stop(self, pool, shared)

    def shrink(self, pool: AnyPool, until: Until) -> Shrinking:
        """Whoever a better one has beaten is dropped."""
        plan, asked, scanned = self.plan, 0, 0
        heard: list[Answers] = []
        tail = self.measuring(pool)
        V, scan = pool.version_space(), pool.scan(sparing=len(tail))
        test = self.test(V, tail)
        while not until(V) and plan.opens(asked):
            query = scan.some(V, plan.opens(asked))
            asked, scanned = asked + query.total, scanned + query.scanned
            if query.total == 0:  # the pool is used up
                break
            S = yield query
            mask = test.after(V, S)
            V = V.keep(mask)
            test.keep(mask)
            heard.append(S)
        return Shrunk(V=V, heard=tuple(heard), scanned=scanned)

    def measuring(self, pool: AnyPool) -> Indices:
        """Items that measure nearness and are never asked: a choice that looks at items still to come is not fair."""
        return pool.tail(self.plan["part"])

    def test(self, V: VersionSpace, tail: Indices) -> Elimination:
        """The test of the plan."""
        return (
            Betting(V, V.predictions.nearness(tail), self.plan) if self.plan.test == "betting" else Paired(V, self.plan)
        )


@dataclass(frozen=True)
class A2Rounds:
    """Algorithm 2, with confidence bounds LB and UB.

    Parameters
    ----------
    plan
        ``plan("a2-rounds", C, epsilon=.., delta=.., theta=.., nu=..)``.
    """

    plan: A2RoundsPlan

    def __post_init__(self) -> None:
        made_for(self.plan, A2RoundsPlan, "A2Rounds")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Ask, listen, return."""
        plan, rounds = self.plan, 0
        V, scan = pool.version_space(), pool.scan()
        while V.mass >= plan.stop_mass and rounds < plan.rounds_most:
            S = yield scan.draw(V, plan.k)
            errors = V.errors(S)
            V = V.keep(errors <= plan.loop_most(int(errors.min())))
            rounds += 1
        conditions = (*plan.conditions, stop_condition(V, plan, held=V.mass < plan.stop_mass), masses_known(pool))
        if V.mass > 0:
            S = yield scan.draw(V, plan.final_size(V.mass))
            errors = V.errors(S)
            V = V.keep(errors == errors.min())
        h = V.first(shared, plan.prior)
        return Result(hypothesis=h, unrounded=h, V=V, conditions=conditions)
