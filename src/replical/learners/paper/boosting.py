"""Boosting in ρ: run a replicable learner many times with each of a few strings, return the first frequent winner.

Claim: if a run with one string agrees with another with probability at least .99, two labs return the same hypothesis
with probability at least 1-ρ, whatever small ρ is asked for, and never one that no string favours: without a heavy
hitter there is no answer.
Reference: the paper's boosting paragraphs, after Bun et al. (2023): rHeavyHitters on data sets that all strings share;
docs/claims/boosting.md. A reference implementation: its label bills are beyond anybody's means, its runs are not.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from replical.bounds.subroutines import HeavyHitters, heavy_hitters
from replical.classes.prior import Prior
from replical.core.exact import ceil, decimal, fraction, ln
from replical.core.randomness import SharedRandomness
from replical.core.text import amount
from replical.errors import EmptyVersionSpace, PlanMismatch, ValueOutOfRange
from replical.learners.base import Conversation, Learner, check_base, check_plan
from replical.learners.catalogue import find
from replical.learners.paper.bulk import FORMS, fits, in_bulk
from replical.learners.plan import (
    Condition,
    Cost,
    Number,
    Plan,
    Rounds,
    RunReport,
    SamplePlan,
    Setting,
    Task,
    nearest_count,
)
from replical.learners.result import Result
from replical.pools.pool import AnyPool, ExactPool
from replical.pools.query import Answers, Query

FREQUENT = "a heavy hitter: some string's winner is frequent enough"
Runs = Generator[Query, Answers, Counter[int]]


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
    (245026198, 31, Boosting(runs=10, strings=1, frequency=Fraction(1, 1)))
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
        plan, tried, cache, V = self.plan, [], LabelCache(), pool.version_space()
        for string in range(plan.strings):
            winner = yield from self._heavy_hitter(pool, shared, string, cache)
            tried.append(winner)
            if winner.frequent:
                break
        return BoostedResult(
            hypothesis=winner.h if winner.frequent else None,
            unrounded=tried[0].h,
            V=V.keep(V.indices == winner.h) if winner.frequent else V,
            conditions=(
                *plan.conditions,
                Condition(name=FREQUENT, value=float(winner.frequency), bound=float(winner.v), held=winner.frequent),
            ),
            boosting=Boosting(
                runs=plan.runs * len(tried), strings=len(tried), frequency=winner.frequency if winner.frequent else None
            ),
        )

    def _heavy_hitter(
        self, pool: AnyPool, shared: SharedRandomness, string: int, cache: LabelCache
    ) -> Generator[Query, Answers, Winner]:
        """rHeavyHitters on the answers A(S_1; r), A(S_2; r), ..; the data sets S_i are those of all strings."""
        r, v, used = shared.derived("string", string), self.plan.frequency(shared, string), 0
        broken: list[EmptyVersionSpace] = []

        def draw(count: int) -> Runs:
            nonlocal used
            sets, used = range(used, used + count), used + count
            try:
                return (yield from self._runs(pool, r, sets, cache))
            except EmptyVersionSpace as error:  # nobody wins any of these runs
                broken.append(error)
                return Counter()

        sizes = self.plan.sizes
        heavy, counted = yield from heavy_hitters(draw, sizes, v)  # v' is above one half: at most one is in the list
        if len(broken) == 2:
            raise broken[0]
        wins = {h: counted[h] for h in heavy} or counted
        h, times = min(wins.items(), key=lambda win: (-win[1], win[0]), default=(0, 0))  # the smaller index if tied
        return Winner(h, Fraction(times, sizes.counted), v)

    def _runs(self, pool: AnyPool, r: SharedRandomness, sets: range, cache: LabelCache) -> Runs:
        """How often each hypothesis wins with the string `r`, one run on each data set."""
        base, wins, broken = self.base, Counter[int](), None
        if isinstance(pool, ExactPool) and fits(base.plan, pool):
            return (yield from in_bulk(base.plan, pool, r, len(sets), ("data sets", sets.start)))
        for i in sets:
            run = base.run(pool.part(i, of=self.plan.runs), r)
            try:
                h = (yield from run if pool.exact else cache.ask_once(run, i)).hypothesis
            except EmptyVersionSpace as error:  # a run that keeps nobody wins for nobody
                h, broken = None, error
            if h is not None:
                wins[h] += 1
        if not wins and broken is not None:
            raise broken
        return wins


@dataclass(frozen=True, kw_only=True)
class Boosting:
    """How a boosted learner came to its answer.

    Attributes
    ----------
    runs
        Runs made in all.
    strings
        Strings tried.
    frequency
        How often the winner won with the last string; None where no string had a frequent winner.
    """

    runs: int
    strings: int
    frequency: Fraction | None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BoostedResult(Result):
    """A result that tells how it came about.

    Attributes
    ----------
    boosting
        How many runs it took, and how often the winner won.
    """

    boosting: Boosting


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


class LabelCache:
    """The labels heard about each item of each data set, in the order heard.

    An item of a lab has one label. The items of a simulated pool are cells that occur several times: the second time a
    run asks about a cell it hears the cell's second label, so every run hears independent labels, as with fresh ones.
    """

    def __init__(self) -> None:
        self._labels: defaultdict[tuple[int, int], list[NDArray[np.int64]]] = defaultdict(list)

    def ask_once(self, conversation: Conversation, data_set: int) -> Conversation:
        """The same run on a data set of a finite pool; only what no run has heard is asked, and remembered."""
        times: Counter[int] = Counter()
        try:
            query = next(conversation)
            while True:
                places = []
                for item in query.items.tolist():
                    places.append((self._labels[data_set, item], times[item]))
                    times[item] += 1
                new = np.array([time >= len(labels) for labels, time in places], dtype=np.bool_)
                if new.all():
                    answers = yield query
                elif new.any():
                    answers = yield replace(query, items=query.items[new], counts=query.counts[new])
                if new.any():
                    for item, label in zip(answers.items.tolist(), answers.counts, strict=True):
                        self._labels[data_set, item].append(label)
                if not new.all():
                    answers = Answers(items=query.items, counts=np.array([labels[time] for labels, time in places]))
                query = conversation.send(answers)
        except StopIteration as stop:
            result: Result = stop.value
            return result


@dataclass(frozen=True, kw_only=True)
class BoostedPlan(Plan):
    """rHeavyHitters with each of K strings, on Q1+Q2 data sets that all strings share.

    Attributes
    ----------
    base
        The plan of one run.
    labelled_once
        Does every string ask for the same labels of a data set? A passive learner on a pool does.
    """

    base: Plan
    labelled_once: bool = False

    @property
    def strings(self) -> int:
        """K."""
        return self.integer("K")

    @property
    def sizes(self) -> HeavyHitters:
        """Q1 runs that name candidates, Q2 that count them."""
        return HeavyHitters(candidates=self.integer("Q1"), counted=self.integer("Q2"))

    @property
    def runs(self) -> int:
        """Q1+Q2, with each string: one on every data set."""
        return self.sizes.candidates + self.sizes.counted

    @property
    def asks_anywhere(self) -> bool:
        """What was asked for one run is no question of another."""
        return True

    def measured(self, items: int) -> int:
        """Those of one run, or of its share of the pool."""
        return self.base.measured(items // self.runs)

    def askable(self, items: int) -> int:
        """Each run sets aside some of its own."""
        return items

    def check_rounds(self, rounds: Rounds) -> str | None:
        """As many labels as all runs together may ask for."""
        most = self.labels_most
        few = most is None or sum(each["drawn"] for each in rounds) <= most
        return None if few else f"more labels than all runs together ask, {most}"

    def own_conditions(self, report: RunReport) -> tuple[Condition, ...]:
        """How often the last string's winner won, and how often it had to."""
        # Of no winner the last string tells; which one a winner won with is not told.
        bounds = [self.frequency(report.shared, string) for string in range(self.strings)]
        v = next((each for each in bounds if float(each) == report.conditions[FREQUENT]["bound"]), bounds[-1])
        runs = self.sizes.counted
        frequency = Fraction(nearest_count(report.value(FREQUENT), runs), runs)
        return (Condition(name=FREQUENT, value=float(frequency), bound=float(v), held=frequency >= v),)

    def frequency(self, shared: SharedRandomness, string: int) -> Fraction:
        """The shared threshold v' on the frequency of a string's winner."""
        return self["low"] + (self["high"] - self["low"]) * Fraction(shared.uniform("frequency", string))

    @property
    def labels_most(self) -> int | None:
        """Every run of every string, or of one where all ask the same."""
        most = self.base.labels_most
        return None if most is None else self._runs_paid * most

    @property
    def _runs_paid(self) -> int:
        return self.runs if self.labelled_once else self.strings * self.runs

    def cost(self, setting: Setting) -> Cost:
        """Labels of every run, or of one string's where all ask the same; the items of the data sets once."""
        one, strings = self.base.cost(setting), f"each of {self.strings} strings"
        note = f"{self.runs} data sets, run with {strings}; labels that strings share are paid once"
        items = None if one.unlabelled is None else self.runs * one.unlabelled
        return Cost(labels=self._runs_paid * one.labels, kind="most", unlabelled=items, note=note)

    def under(self, prior: Prior, max_labels: int | None) -> BoostedPlan:
        """The prior is every run's; the budget is that of all of them."""
        return replace(super().under(prior, max_labels), base=self.base.under(prior, None))

    def check(self, pool: AnyPool) -> None:
        """Refuse a pool this plan was not made for."""
        super().check(pool)
        self.base.check(pool)
        if pool.exact and self.runs > _SINGLY and self.base.learner in FORMS and not fits(self.base, pool):
            raise PlanMismatch(
                f"{self.learner} would make {self.runs:,} runs of up to {amount(self.base.labels_most or 0)} labels with "
                f"each string: too many labels to make runs side by side, and too many runs to make one by one. Give at "
                f"most {_SINGLY:,} runs, take the plan 'tight', or {self.base.learner} without boosting"
            )


_SINGLY = 2_000  # runs that can be made one by one: some 15 ms each
_RHO_BASE = Decimal("0.01")  # of a run: then a string is bad with probability at most .01/.25 = 1/25
_LOW, _HIGH = Fraction(11, 20), Fraction(7, 10)  # a good string's winner has .75, a tie at most .5
_MIDDLE, _HALF = (_LOW + _HIGH) / 2, (_HIGH - _LOW) / 2  # v and ε of rHeavyHitters


def boost(learner: str, make: Callable[[Task], Plan]) -> Callable[[Task], BoostedPlan]:
    """How the boosted form of a learner is planned, given how its own plan is made."""
    return lambda task: _boosted_plan(learner, make, task)


def _boosted_plan(learner: str, make: Callable[[Task], Plan], task: Task) -> BoostedPlan:
    K = task.strings or ceil(ln(4 / task.rho) / ln(25))
    rho = 3 * fraction(task.rho) / (4 * K)
    proven = HeavyHitters.of(rho=rho, v=_MIDDLE, epsilon=_HALF)
    sizes, needed = _sizes(task.runs, proven), proven.candidates + proven.counted
    own = f"given; the proof asks for {proven.candidates} and {proven.counted}" if task.runs else ""
    strings = "given" if task.strings else "⌈ln(4/ρ)/ln 25⌉ strings: all are bad with probability at most ρ/4"
    delta = Number(
        name="delta_base",
        value=fraction(task.delta) / (K * (sizes.candidates + sizes.counted)),
        source="δ/(K(Q1+Q2)): no run is inaccurate, a union bound over all of them, as in the paper",
    )
    numbers = (
        Number(name="K", value=K, source=strings),
        Number(name="Q1", value=sizes.candidates, source=own or "⌈ln(6/(.55ρ_hh))/.55⌉ runs name candidates"),
        Number(name="Q2", value=sizes.counted, source=own or "⌈4.5 ln(32Q1/ρ_hh)/(.075ρ_hh)²⌉ fresh runs count them"),
        Number(name="rho_hh", value=rho, source="3ρ/(4K): how often rHeavyHitters may differ with one string"),
        Number(name="low", value=_LOW, source="start of the range of the threshold on the frequency"),
        Number(name="high", value=_HIGH, source="its end: a good string's winner has frequency .75 at least"),
        Number(name="rho_base", value=fraction(_RHO_BASE), source="how often two runs with one string may differ"),
        delta,
    )
    base = make(replace(task, rho=_RHO_BASE, delta=decimal(delta.value)))
    return BoostedPlan(
        learner=f"boosted-{learner}",
        name=base.name,
        n=task.n,
        epsilon=base.epsilon,
        numbers=numbers,
        conditions=(*_conditions(task, K, needed), *base.conditions),
        exact_only=base.exact_only,
        base=base,
        labelled_once=isinstance(base, SamplePlan) and not task.exact,
    )


def _sizes(runs: int | None, proven: HeavyHitters) -> HeavyHitters:
    """The user's own number of runs: as many candidates as the proof names, or half of the runs, and the rest counts."""
    if runs is None:
        return proven
    if runs < 2:
        raise ValueOutOfRange(
            f"boosting by heavy-hitters needs runs of at least 2, one to name a candidate and one to count it, got {runs}"
        )
    candidates = min(proven.candidates, runs // 2)
    return HeavyHitters(candidates=candidates, counted=runs - candidates)


def _conditions(task: Task, K: int, needed: int) -> tuple[Condition, ...]:
    """What own numbers of strings and runs may break."""
    bad, few = (
        "all strings are bad with probability at most rho/4",
        "runs with each string are at least what the proof needs",
    )
    failing, bound, runs = (1 / 25) ** K, float(task.rho / 4), task.runs or 0
    own_strings = Condition(name=bad, value=failing, bound=bound, held=failing <= bound)
    own_runs = Condition(name=few, value=runs, bound=needed, held=runs >= needed)
    return (own_strings,) * bool(task.strings) + (own_runs,) * bool(task.runs)
