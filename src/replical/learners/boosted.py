"""Boosting in ρ: run a replicable learner many times with each of a few strings, return the first frequent winner.

Claim: if a run with one string agrees with another with probability at least .99, two labs return the same hypothesis
with probability at least 1-ρ, whatever small ρ is asked for, and never one that no string favours: without a heavy
hitter there is no answer.
Reference: the paper's boosting paragraphs, after Bun et al. (2023); docs/claims/boosting.md. A reference
implementation: its label bills are beyond anybody's means, its runs are not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction

from replical.core.randomness import SharedRandomness
from replical.errors import EmptyVersionSpace
from replical.learners.base import Conversation, Learner, check_plan
from replical.learners.fast.bulk import fits, in_bulk
from replical.learners.result import Boosting, Result
from replical.plans.base import Condition
from replical.plans.boosted import BoostedPlan
from replical.pools.pool import AnyPool, ExactPool
from replical.pools.query import Answers, Query
from replical.pools.version_space import VersionSpace

FREQUENT = "a heavy hitter: some string's winner is frequent enough"


@dataclass(frozen=True)
class Boosted:
    """A replicable learner, run with K strings T times each.

    Parameters
    ----------
    base
        The learner of one run, e.g. ``RepliCAL(plan.base)``.
    plan
        ``plan("boosted-replical", C, epsilon=.., delta=.., rho=.., theta=..)``.

    Raises
    ------
    PlanMismatch
        If the plan was made for another learner.

    Examples
    --------
    >>> from replical import Boosted, Population, PrivateRandomness, RepliCAL, SharedRandomness, Thresholds, learn, plan
    >>> C = Thresholds(100)
    >>> world, lab = Population(C, target=31), PrivateRandomness.simulated("doctest")
    >>> pool = world.pool("exact", lab)
    >>> p = plan("boosted-replical", C, epsilon=.1, delta=.1, rho=.3, theta=2, strings=2, runs=10)
    >>> learner = Boosted(RepliCAL(p.base), p)
    >>> result = learn(learner, pool, world.labels(pool, lab), SharedRandomness("published"))
    >>> result.labels, result.hypothesis, result.boosting
    (684650944, 31, Boosting(runs=10, strings=1, frequency=Fraction(1, 1)))
    """

    base: Learner
    plan: BoostedPlan

    def __post_init__(self) -> None:
        check_plan(self.plan, BoostedPlan, "Boosted")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Run the base on `pool` T times with each string made from `shared`, until one has a frequent winner.

        Returns
        -------
        conversation
            It ends with a `Result`. `hypothesis`: the frequent winner; None if no string has one. `unrounded`: the
            winner with the first string. `V`: the winner alone; all of C if there is none. `conditions`: those of the
            plan, and whether a winner was frequent enough. `boosting`: runs, strings, and how often the winner won.

        Raises
        ------
        EmptyVersionSpace
            If with some string no run keeps anybody.
        PoolExhausted
            If a finite pool is too small to be shared among the runs, or a run needs more than its share.
        """
        plan, v = self.plan, self.plan.frequency(shared)
        winners: list[tuple[int, Fraction]] = []
        for string in range(plan.strings):
            wins = yield from self._runs(pool, shared.derived("string", string), string)
            h, times = min(wins.items(), key=lambda win: (-win[1], win[0]), default=(0, 0))
            winners.append((h, Fraction(times, plan.runs)))
            if winners[-1][1] >= v:
                break
        winner, frequency = winners[-1]
        frequent = frequency >= v
        return Result(
            hypothesis=winner if frequent else None,
            unrounded=winners[0][0],
            V=_only(pool, winner) if frequent else pool.version_space(),
            conditions=(
                *plan.conditions,
                Condition(name=FREQUENT, value=float(frequency), bound=float(v), held=frequent),
            ),
            boosting=Boosting(
                runs=plan.runs * len(winners), strings=len(winners), frequency=frequency if frequent else None
            ),
        )

    def _runs(self, pool: AnyPool, shared: SharedRandomness, string: int) -> Generator[Query, Answers, Counter[int]]:
        """How often each hypothesis wins with one string; every run has fresh items of its own."""
        runs, base = self.plan.runs, self.base
        if isinstance(pool, ExactPool) and fits(base.plan, pool):
            return (yield from in_bulk(base.plan, pool, shared, runs, ("string", string)))
        wins: Counter[int] = Counter()
        everything, broken = self.plan.strings * runs, None
        for run in range(runs):
            part = pool.part(string * runs + run, of=everything)
            try:
                h = (yield from base.run(part, shared)).hypothesis
            except EmptyVersionSpace as error:  # a run that keeps nobody wins for nobody
                h, broken = None, error
            if h is not None:
                wins[h] += 1
        if not wins and broken is not None:
            raise broken
        return wins


def _only(pool: AnyPool, h: int) -> VersionSpace:
    V = pool.version_space()
    return V.keep(V.indices == h)
