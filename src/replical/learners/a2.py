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
    check_plan,
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

    Raises
    ------
    PlanMismatch
        If the plan was made for another learner.

    Examples
    --------
    >>> from replical import A2, Population, PrivateRandomness, SharedRandomness, Thresholds, learn, plan
    >>> C = Thresholds(1000)
    >>> world, lab = Population(C, target=314, noise=.1), PrivateRandomness.simulated("doctest")
    >>> pool = world.pool(5000, lab)
    >>> learner = A2(plan("a2", C, epsilon=.05, delta=.05, pool="finite"))
    >>> result = learn(learner, pool, world.labels(pool, lab), SharedRandomness("published"))
    >>> result.labels, result.V.size, round(float(world.error(result.hypothesis) - world.nu), 3)
    (146, 50, 0.007)
    """

    plan: A2Plan

    def __post_init__(self) -> None:
        check_plan(self.plan, A2Plan, "A2")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Shrink V on `pool` until Δ(V) ≤ κ (ε if none was given), then take the first survivor by `shared`.

        Returns
        -------
        conversation
            It ends with a `Result`. `V`: everyone whom no better one has beaten. `hypothesis`: the first of them in the
            shared order. `unrounded`: the same one. `conditions`: those of the plan, whether Δ(V) ≤ κ was reached, and
            whether masses are known, so that the error bound speaks of the distribution and not only of this pool.
        """
        return at_own_stop(self, pool, shared)

    def shrink(self, pool: AnyPool, until: Until) -> Shrinking:
        """On `pool`, drop whoever a better one has beaten, until V passes the rule `until`.

        It also ends when the pool is used up or the budget is spent.

        Returns
        -------
        shrinking
            It ends with V, the answers heard, and how many items were looked at.
        """
        plan, asked, scanned = self.plan, 0, 0
        answers: list[Answers] = []
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
            answers.append(S)
        return Shrunk(V=V, answers=tuple(answers), scanned=scanned)

    def measuring(self, pool: AnyPool) -> Indices:
        """Items of `pool` that measure nearness and are never asked.

        A choice that looks at items still to come is not fair.
        """
        return pool.tail(self.plan["part"])

    def test(self, V: VersionSpace, tail: Indices) -> Elimination:
        """The plan's test of the hypotheses in `V`, by betting (with nearness measured on `tail`) or by pairs."""
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

    Raises
    ------
    PlanMismatch
        If the plan was made for another learner.

    Examples
    --------
    >>> from replical import A2Rounds, Population, PrivateRandomness, SharedRandomness, Thresholds, learn, plan
    >>> C = Thresholds(1000)
    >>> world, lab = Population(C, target=314, noise=.01), PrivateRandomness.simulated("doctest")
    >>> pool = world.pool("exact", lab)
    >>> learner = A2Rounds(plan("a2-rounds", C, epsilon=.05, delta=.05, theta=2, nu=.01))
    >>> result = learn(learner, pool, world.labels(pool, lab), SharedRandomness("published"))
    >>> result.labels, result.hypothesis, world.error(result.hypothesis)
    (7054, 314, Fraction(1, 100))
    """

    plan: A2RoundsPlan

    def __post_init__(self) -> None:
        check_plan(self.plan, A2RoundsPlan, "A2Rounds")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Rounds on `pool` while Δ(V) ≥ 8Θν̄, then one last sample; `shared` breaks ties.

        Returns
        -------
        conversation
            It ends with a `Result`. `V`: the best on the last sample. `hypothesis`: the first of them in the shared
            order. `unrounded`: the same one. `conditions`: those of the plan, whether the loop ended because Δ(V) was
            small, and whether masses are known.

        Raises
        ------
        PoolExhausted
            If a finite pool runs out of the items a round needs.
        """
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
