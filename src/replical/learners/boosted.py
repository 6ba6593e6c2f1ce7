"""Boosting in ρ: run a replicable learner many times with each of a few strings, return the first frequent winner.

Claim: if a run with one string agrees with another with probability at least .99, two labs return the same hypothesis
with probability at least 1-ρ, whatever small ρ is asked for, and never one that no string favours: without a heavy
hitter there is no answer.
Reference: the paper's boosting paragraphs, after Bun et al. (2023); docs/claims/boosting.md. The plan says which of two
ways is meant: the paper's, rHeavyHitters on data sets that all strings share, or ours, modes of fresh runs. A reference
implementation: its label bills are beyond anybody's means, its runs are not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass
from fractions import Fraction

from replical.bounds.subroutines import heavy_hitters
from replical.core.randomness import SharedRandomness
from replical.errors import EmptyVersionSpace, PlanMismatch
from replical.learners.base import Conversation, Learner, check_base, check_plan
from replical.learners.fast.bulk import fits, in_bulk
from replical.learners.findings import Boosting
from replical.learners.heard import Heard
from replical.learners.result import Result
from replical.plans.base import Condition
from replical.plans.boosted import BoostedPlan, HeavyHittersPlan
from replical.plans.catalogue import find
from replical.pools.pool import AnyPool, ExactPool
from replical.pools.query import Answers, Query
from replical.pools.version_space import VersionSpace

FREQUENT = "a heavy hitter: some string's winner is frequent enough"

Runs = Generator[Query, Answers, Counter[int]]


@dataclass(frozen=True)
class Winner:
    """The most frequent answer with one string, and how frequent it had to be."""

    h: int
    frequency: Fraction
    v: Fraction

    @property
    def frequent(self) -> bool:
        """Is it the answer?"""
        return self.frequency >= self.v


@dataclass(frozen=True)
class Boosted:
    """A replicable learner, run many times with each of K strings.

    Parameters
    ----------
    base
        The learner of one run, e.g. ``RepliCAL(plan.base)``.
    plan
        ``plan("boosted-replical", C, epsilon=.., delta=.., rho=.., theta=..)``.

    Raises
    ------
    PlanMismatch
        If the plan was made for another learner, or the learner of one run is not replicable.

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
        if not find(self.base.plan.learner).replicable:
            raise PlanMismatch(
                f"Boosted needs a replicable learner, such as {self.plan.base.learner}, and {self.base.plan.learner} is not"
            )
        check_base(self.base, self.plan, "Boosted")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Run the base on `pool` often with each string made from `shared`, until one has a frequent winner.

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
        plan, tried, heard = self.plan, [], Heard()
        for string in range(plan.strings):
            if isinstance(plan, HeavyHittersPlan):
                winner = yield from self._heavy_hitter(plan, pool, shared, string, heard)
            else:
                winner = yield from self._mode(pool, shared, string)
            tried.append(winner)
            if winner.frequent:
                break
        return Result(
            hypothesis=winner.h if winner.frequent else None,
            unrounded=tried[0].h,
            V=_only(pool, winner.h) if winner.frequent else pool.version_space(),
            conditions=(
                *plan.conditions,
                Condition(name=FREQUENT, value=float(winner.frequency), bound=float(winner.v), held=winner.frequent),
            ),
            boosting=Boosting(
                runs=plan.runs * len(tried),
                strings=len(tried),
                frequency=winner.frequency if winner.frequent else None,
            ),
        )

    def _heavy_hitter(
        self, plan: HeavyHittersPlan, pool: AnyPool, shared: SharedRandomness, string: int, heard: Heard
    ) -> Generator[Query, Answers, Winner]:
        """The paper's: rHeavyHitters on the answers A(S_1; r), A(S_2; r), ..; the data sets S_i are those of all strings."""
        r, v, sizes, used = shared.derived("string", string), plan.frequency(shared, string), plan.sizes, 0
        broken: list[EmptyVersionSpace] = []

        def draw(count: int) -> Runs:
            nonlocal used
            sets, used = range(used, used + count), used + count
            try:
                return (yield from self._runs(pool, r, sets, of=plan.runs, name=("data sets", sets.start), heard=heard))
            except EmptyVersionSpace as error:  # nobody wins any of these runs
                broken.append(error)
                return Counter()

        heavy, counted = yield from heavy_hitters(draw, sizes, v)  # v' is above one half: at most one is in the list
        if len(broken) == 2:
            raise broken[0]
        h, times = _most_frequent(Counter({h: counted[h] for h in heavy}) or counted)
        return Winner(h, Fraction(times, sizes.counted), v)

    def _mode(self, pool: AnyPool, shared: SharedRandomness, string: int) -> Generator[Query, Answers, Winner]:
        """Ours: the most frequent of T answers, each from a data set that no other run has."""
        T, everything = self.plan.runs, self.plan.strings * self.plan.runs
        sets, r = range(string * T, (string + 1) * T), shared.derived("string", string)
        wins = yield from self._runs(pool, r, sets, of=everything, name=("string", string))
        h, times = _most_frequent(wins)
        return Winner(h, Fraction(times, T), self.plan.frequency(shared, string))

    def _runs(
        self,
        pool: AnyPool,
        r: SharedRandomness,
        sets: range,
        *,
        of: int,
        name: tuple[str | int, ...],
        heard: Heard | None = None,
    ) -> Runs:
        """How often each hypothesis wins with the string `r`, one run on each data set; known distributions by `name`."""
        base, wins = self.base, Counter[int]()
        if isinstance(pool, ExactPool) and fits(base.plan, pool):
            return (yield from in_bulk(base.plan, pool, r, len(sets), name))
        broken = None
        for i in sets:
            run = base.run(pool.part(i, of=of), r)
            try:
                h = (yield from run if heard is None or pool.exact else heard.asking_once(run, i)).hypothesis
            except EmptyVersionSpace as error:  # a run that keeps nobody wins for nobody
                h, broken = None, error
            if h is not None:
                wins[h] += 1
        if not wins and broken is not None:
            raise broken
        return wins


def _most_frequent(wins: Counter[int]) -> tuple[int, int]:
    """The smaller index if tied."""
    return min(wins.items(), key=lambda win: (-win[1], win[0]), default=(0, 0))


def _only(pool: AnyPool, h: int) -> VersionSpace:
    V = pool.version_space()
    return V.keep(V.indices == h)
