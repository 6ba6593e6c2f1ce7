"""What a protocol will cost and how often two labs will agree, before the first label.

The lab's own pool stands in for the population: pairs of labs draw their pools from it, a world gives the labels, and the
learner runs as it would. Worlds of a prediction table are drawn from its candidates' votes (`replical.worlds.votes`); of
other classes, hypotheses take turns as the truth, the most central one first. Nothing here is a bound, the pool size
neither: it is what the bound gamma would need for the worst truth that was looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, log
from typing import Any

import numpy as np

from replical.classes.base import HypothesisClass
from replical.classes.prior import UNIFORM, Prior
from replical.classes.table import PredictionTable
from replical.core.binomial import clopper_pearson
from replical.core.randomness import PrivateRandomness, SharedRandomness
from replical.errors import PoolExhausted, ReplicalError, ValueOutOfRange
from replical.learners.base import learn
from replical.learners.fast.line import along_a_line
from replical.learners.for_plan import learner_for
from replical.learners.result import Result
from replical.plans.base import Plan
from replical.plans.catalogue import Record, find
from replical.plans.plan import plan
from replical.plans.rounded import RoundedPlan
from replical.pools.labels.base import Labels
from replical.pools.pool import AnyPool, Pool
from replical.worlds.noise import BoundaryNoise, Noise
from replical.worlds.population import Population
from replical.worlds.votes import MOST_ITEMS, Votes, guess_of

Progress = Callable[[int, int], None]

DRAWS = 24  # worlds looked at
FEWEST = 50  # items from which candidates can be compared at all
_SPREAD = 1.3  # what worlds outside the model add to a range of labels, on either side
_PUBLIC = 100  # labelled public items that an order is supposed to be made from
_CHANGED = (0.15, 0.1)  # a change is worth a row from this share of labels, or this much of a probability, on
_MOST_TIED = 2000  # candidates among which near-ties are looked for: all pairs are compared
_MEASURED = 4096  # items on which they are compared, drawn by the private order


@dataclass(frozen=True, kw_only=True)
class TradeOff:
    """What another protocol would cost, in the same worlds.

    Attributes
    ----------
    change
        What is different, in words; "as published" where nothing is.
    epsilon, labels_median, certified, differ
        Its ε, the median labels a lab, the share of labs certified (None where the learner proves nothing), how often two
        labs differ.
    """

    change: str
    epsilon: float
    labels_median: float
    certified: float | None
    differ: float


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """A forecast of labels and agreement, made without labels; nothing in it is a bound.

    Attributes
    ----------
    items
        Items in each lab's pool.
    disagreement_mean, disagreement_worst, worst
        How often two labs would differ: mean over the worlds looked at, the largest, and the best hypothesis there.
    labels_low, labels_median, labels_mean, labels_high
        Labels a lab would ask for: a range that should hold four times in five, with the median and the mean inside it.
    certified_fraction, certified_worst
        Labs that would end certified: mean and smallest share over the worlds; None where the learner proves nothing.
    differ_high
        The largest mean that so few pairs leave plausible: an exact binomial limit at the level 0.1.
    draws
        Worlds looked at.
    pool_for_rho
        About how many items the bound Γ̂ needs to reach ρ for the worst truth, labels permitting; None beyond 10⁷, and
        where no pool size is what a proof waits for.
    ties
        Groups of candidates that pairwise differ on at most ε of the items: no choice among them costs more than ε.
    prior_log, uniform_log
        1 + ln(1/μ), with μ the prior's mass of the hypotheses within a of the centre, and the same without the prior; None
        where nothing is rounded by distance.
    uniform_disagreement
        How often two labs would differ without the prior; None where nothing is rounded by distance.
    method
        How worlds were drawn: ``"votes"`` of the candidates, or ``"resampled"``, with hypotheses as truths.
    trade_off
        What changes of the protocol would do, the protocol itself first; empty if that was not asked for.
    """

    items: int
    disagreement_mean: float
    disagreement_worst: float
    worst: int
    labels_low: float
    labels_mean: float
    labels_high: float
    certified_fraction: float | None
    pool_for_rho: int | None
    ties: tuple[tuple[int, ...], ...]
    prior_log: float | None
    uniform_log: float | None
    uniform_disagreement: float | None
    method: str = "resampled"
    labels_median: float = 0.0
    certified_worst: float | None = None
    differ_high: float = 1.0
    draws: int = 0
    trade_off: tuple[TradeOff, ...] = ()

    @property
    def prior_helps(self) -> bool:
        """Does the shared order with this prior split the labs less often than without, as far as that is known?"""
        return self.uniform_disagreement is None or self.disagreement_mean <= self.uniform_disagreement


def predict_agreement(
    C: HypothesisClass,
    pool: Pool,
    epsilon: float,
    learner: str = "rounded-cal",
    *,
    delta: float = 0.05,
    rho: float = 0.1,
    noise: Noise | None = None,
    items: int | None = None,
    prior: Prior = UNIFORM,
    max_labels: int | None = None,
    kappa: float | None = None,
    truths: int = DRAWS,
    progress: Progress | None = None,
) -> Prediction:
    """Forecast labels and agreement from unlabelled items.

    Parameters
    ----------
    C, pool
        The class and this lab's unlabelled items.
    epsilon, delta, rho, prior, max_labels, kappa
        As in the protocol.
    learner
        A learner id; it must run on a finite pool.
    noise
        Share of wrong labels to expect; for a prediction table, the error of the best candidate. Left out: unknown for a
        table, none for other classes.
    items
        Items in each lab's pool; as many as this pool holds if left out.
    truths
        How many worlds are looked at, each with one pair of labs.
    progress
        Called with (worlds done, worlds in all).

    Returns
    -------
    prediction
        The forecast.

    Raises
    ------
    BadSpec
        If there is no such learner.
    ValueOutOfRange
        If `truths` is below 1, or the pool is for another class.
    PoolExhausted
        If the pool of a table has fewer than 50 items, or the learner needs a larger one.

    Examples
    --------
    >>> from replical import PrivateRandomness, Thresholds
    >>> C = Thresholds(5000)
    >>> X = np.random.default_rng(1).integers(4999, size=20_000)
    >>> forecast = predict_agreement(C, Pool(C, X, PrivateRandomness.simulated("doctest")), .2, truths=4)
    >>> forecast.labels_mean, round(forecast.disagreement_mean, 3), forecast.certified_fraction
    (9.75, 0.026, 1.0)
    """
    record = find(learner)
    options: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "prior": prior, "max_labels": max_labels}
    options |= {"rho": rho} if record.uses("rho") else {}
    options |= {"kappa": kappa} if kappa is not None else {}
    options |= {"items": len(pool) if items is None else items} if record.uses("items") else {}
    if pool.C is not C and pool.C.fingerprint != C.fingerprint:
        raise ValueOutOfRange("the pool is for another class than the one given")
    return forecast(pool, learner, options, size=items, noise=noise, draws=truths, progress=progress)


def forecast(
    pool: Pool,
    learner: str,
    options: Mapping[str, Any],
    *,
    size: int | None = None,
    noise: Noise | None = None,
    draws: int = DRAWS,
    trade_off: bool = False,
    progress: Progress | None = None,
) -> Prediction:
    """Forecast labels and agreement of a plan, and what changing it would do.

    Parameters
    ----------
    pool
        This lab's unlabelled items.
    learner, options
        A learner id and keywords of `replical.plan`, apart from `pool`.
    size
        Items in each lab's pool; the protocol's `items`, or as many as this pool holds, if left out.
    noise, draws, progress
        As `noise`, `truths` and `progress` of `predict_agreement`.
    trade_off
        Run changed protocols too, each in half of the worlds?

    Returns
    -------
    prediction
        The forecast.

    Raises
    ------
    BadSpec
        If there is no such learner.
    ValueOutOfRange
        If `draws` is below 1.
    PoolExhausted
        If the pool of a table has fewer than 50 items, or the learner needs a larger one.
    """
    record = find(learner)
    if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 1:
        raise ValueOutOfRange(f"a forecast looks at 1 world or more, got {draws!r}")
    U = size or options.get("items") or len(pool)
    makers = _Worlds(pool, record, noise, options.get("prior", UNIFORM))
    published = _planned(learner, pool.C, options)
    half = max(1, draws // 2)
    changes = list(_changes(pool.C, record, options)) if trade_off else []
    total, done = draws + half * (len(changes) + bool(changes)), 0

    def tick() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    pairs = [_pair(published, makers(number), U, number, tick) for number in range(draws)]
    found = _figures(pool, record, published, pairs, U)
    if changes:
        base = _row("as published", published, pairs[:half])
        changes.append(_budget(options, base))
        rows = [_changed(pool.C, learner, options, change, makers, U, half, tick) for change in changes]
        found = replace(found, trade_off=(base, *(row for row in rows if row is not None and _differs(row, base))))
    return replace(found, method="votes" if makers.by_votes else "resampled")


@dataclass(frozen=True, kw_only=True)
class _World:
    """Where one pair of labs lives."""

    population: Population  # what pools are drawn from
    answers: Callable[[Pool, PrivateRandomness], Labels]
    best: int
    private: PrivateRandomness


class _Worlds:
    """World number 0, 1, ..: the same for the same pool, prior and noise."""

    def __init__(self, pool: Pool, record: Record, noise: Noise | None, prior: Prior) -> None:
        self._pool, self._record, self._noise = pool, record, noise
        self.by_votes = isinstance(pool.C, PredictionTable)
        if self.by_votes:
            votes = votes_on(pool, prior)
            if votes is None:
                raise PoolExhausted(
                    f"a forecast needs at least {FEWEST} unlabelled items to compare the candidates on, and the pool holds "
                    f"{len(pool)}: bring more items, they need no labels"
                )
            if isinstance(noise, BoundaryNoise):
                raise ValueOutOfRange("candidates of a table have no decision boundary: give noise as a single rate")
            self._votes, self._plain = votes, self._population(0)

    def __call__(self, number: int) -> _World:
        private = PrivateRandomness.simulated("forecast", number)
        generator, C = private.generator("world"), self._pool.C
        if self.by_votes:
            assert not isinstance(self._noise, BoundaryNoise), "refused before"
            certain = self._record.setting == "realizable"
            world = self._votes.world(self._votes.draw(generator), nu=self._noise, certain=certain)
            return _World(population=self._plain, answers=world.answers, best=world.best, private=private)
        target = central(self._pool) if number == 0 else int(generator.integers(len(C)))
        population = self._population(target, self._noise or 0.0)
        return _World(population=population, answers=population.labels, best=target, private=private)

    def _population(self, target: int, noise: Noise = 0.0) -> Population:
        """The pool in place of the population."""
        pool = self._pool
        return Population(
            pool.C, target=target, cells=pool.items, weights=pool.weights, noise=noise, predictions=pool.predictions
        )


def order_from(pool: AnyPool, labels: Labels) -> Prior:
    """The strict order of a class that the labels of a small public `pool` make: fewest errors first."""
    everyone = pool.version_space()
    answers = labels.answer(pool.scan().anywhere(everyone, pool.size))
    return Prior.by_errors(pool.C, everyone.errors(answers))


def votes_on(pool: Pool, prior: Prior = UNIFORM) -> Votes | None:
    """The votes of a table's candidates on a `pool`, with a public `prior`; None where there are fewer than 50 items."""
    if len(pool) < FEWEST:
        return None
    sample = pool.items[pool.tail(Fraction(1))[:MOST_ITEMS]]
    return Votes(sample, len(pool.C.labels), guess_of(prior, len(pool.C)))


def central(pool: Pool) -> int:
    """The hypothesis with the smallest mean distance to all others, on at most 2,000 items."""
    items, everyone = pool.tail(Fraction(1))[:MOST_ITEMS], np.arange(len(pool.C), dtype=np.int64)
    votes = pool.predictions.votes(everyone, items)
    return int(np.argmin(pool.predictions.errors(items, votes, everyone)))


@dataclass(frozen=True, kw_only=True)
class _Pair:
    best: int
    difference: float
    uniform: float | None
    labels: tuple[int, int]
    certified: float | None
    prior_log: float | None
    uniform_log: float | None


def _pair(chosen: Plan, world: _World, U: int, number: int, tick: Callable[[], None]) -> _Pair:
    """Two labs, one string."""
    shared, active = SharedRandomness(f"forecast / pair {number}"), learner_for(chosen)
    results = []
    for name in "AB":
        private = world.private.derived(name)
        pool = world.population.pool(U, private)
        assert isinstance(pool, Pool), "it has a size"
        labels = world.answers(pool, private)
        truth = getattr(labels, "truth", None)
        results.append(along_a_line(active, pool, truth, shared) or learn(active, pool, labels, shared))
    tick()
    return _compare(results[0], results[1], chosen, world.best)


def _compare(one: Result, two: Result, chosen: Plan, best: int) -> _Pair:
    first, second, prior = one.rounding, two.rounding, chosen.prior
    by_ball = first is not None and second is not None and chosen.choice == "ball"
    found = _Pair(
        best=best,
        difference=float(one.hypothesis != two.hypothesis or one.hypothesis is None),
        uniform=None,
        labels=(one.labels, two.labels),
        certified=None if one.proven is None or two.proven is None else (one.stopped + two.stopped) / 2,
        prior_log=None,
        uniform_log=None,
    )
    if not by_ball:
        return found
    assert first is not None, "it rounds"
    assert second is not None, "it rounds"
    uniform = first.difference(second, UNIFORM)
    near = first.scores <= first.range[0] * first.items
    share = float(prior.masses(len(near))[near].sum()) if prior.kind == "weights" else float(near.mean())
    return replace(
        found,
        difference=uniform if prior is UNIFORM else first.difference(second, prior),
        uniform=uniform,
        prior_log=1 + log(1 / max(share, 1e-300)),
        uniform_log=1 + log(1 / max(float(near.mean()), 1e-300)),
    )


def _figures(pool: Pool, record: Record, chosen: Plan, pairs: list[_Pair], U: int) -> Prediction:
    labels = np.array([count for pair in pairs for count in pair.labels])
    low, middle, high = np.quantile(labels, [0.1, 0.5, 0.9])
    disputed = pool.version_space().mass if record.active else Fraction(1)
    most = max(ceil(disputed * U), int(labels.max()))
    most = most if chosen.max_labels is None else min(most, chosen.max_labels)
    worst = max(pairs, key=lambda pair: pair.difference)
    differences = [pair.difference for pair in pairs]
    certified = _mean([pair.certified for pair in pairs])
    needed = None
    if isinstance(chosen, RoundedPlan) and chosen.choice == "ball":
        needed = chosen.pool_needed(pool.version_space().distances(worst.best) / len(pool))
    return Prediction(
        items=U,
        disagreement_mean=float(np.mean(differences)),
        disagreement_worst=worst.difference,
        worst=worst.best,
        labels_low=float(low / _SPREAD),
        labels_median=float(middle),
        labels_mean=float(labels.mean()),
        labels_high=float(min(high * _SPREAD, most)),
        certified_fraction=certified,
        certified_worst=None if certified is None else min(pair.certified or 0.0 for pair in pairs),
        differ_high=clopper_pearson(ceil(sum(differences) - 1e-9), len(pairs), 0.8)[1],
        draws=len(pairs),
        pool_for_rho=needed,
        ties=_ties(pool, float(chosen.epsilon)),
        prior_log=_mean([pair.prior_log for pair in pairs]),
        uniform_log=_mean([pair.uniform_log for pair in pairs]),
        uniform_disagreement=_mean([pair.uniform for pair in pairs]),
    )


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


@dataclass(frozen=True, kw_only=True)
class _Change:
    """Another protocol: what is different, in words and as keywords of `plan`; or an order from public items."""

    words: str
    options: Mapping[str, Any]
    public: int = 0


def _changes(C: HypothesisClass, record: Record, options: Mapping[str, Any]) -> Iterator[_Change]:
    """ε, the range of v, and the order."""
    epsilon = float(options["epsilon"])
    for factor in (0.5, 2.0):
        if epsilon * factor < 0.5:
            scaled = {key: options[key] * factor for key in ("a", "b", "kappa") if options.get(key) is not None}
            yield _Change(words=f"epsilon = {epsilon * factor:g}", options={"epsilon": epsilon * factor, **scaled})
    if record.uses("a") and not record.rounds and options.get("a") is None and options.get("b") is None:
        yield _Change(words=f"a = {epsilon / 2:g}", options={"a": epsilon / 2})
    if options.get("prior", UNIFORM).kind != "uniform":
        yield _Change(words="random order", options={"prior": UNIFORM})
    elif record.replicable and isinstance(C, PredictionTable):
        yield _Change(words=f"order from {_PUBLIC} public labels", options={}, public=_PUBLIC)


def _budget(options: Mapping[str, Any], base: TradeOff) -> _Change:
    """Half of the budget; half of what is usually asked for where there is none."""
    most = max(int((options.get("max_labels") or base.labels_median) / 2), int(options.get("batch") or 1))
    return _Change(words=f"max_labels = {most}", options={"max_labels": most})


def _planned(learner: str, C: HypothesisClass, options: Mapping[str, Any]) -> Plan:
    return plan(learner, C, pool="finite", **options)


def _changed(
    C: HypothesisClass,
    learner: str,
    options: Mapping[str, Any],
    change: _Change,
    makers: _Worlds,
    U: int,
    draws: int,
    tick: Callable[[], None],
) -> TradeOff | None:
    """The row of a change; None where no plan or no run can be made of it."""
    pairs = []
    try:
        chosen = _planned(learner, C, {**options, **change.options})
        for number in range(draws):
            world = makers(number)
            if change.public:
                chosen = _planned(learner, C, {**options, "prior": _public_order(world, change.public)})
            pairs.append(_pair(chosen, world, U, number, tick))
    except ReplicalError:
        return None
    return _row(change.words, chosen, pairs)


def _public_order(world: _World, count: int) -> Prior:
    """The order that so many labelled items of this world would make."""
    private = world.private.derived("public")
    pool = world.population.pool(count, private)
    assert isinstance(pool, Pool), "it has a size"
    return order_from(pool, world.answers(pool, private))


def _row(words: str, chosen: Plan, pairs: list[_Pair]) -> TradeOff:
    return TradeOff(
        change=words,
        epsilon=float(chosen.epsilon),
        labels_median=float(np.median([count for pair in pairs for count in pair.labels])),
        certified=_mean([pair.certified for pair in pairs]),
        differ=float(np.mean([pair.difference for pair in pairs])),
    )


def _differs(row: TradeOff, base: TradeOff) -> bool:
    """Does a change change anything that so few worlds can show?"""
    labels, share = _CHANGED
    return (
        abs(row.labels_median - base.labels_median) > labels * base.labels_median
        or abs((row.certified or 0.0) - (base.certified or 0.0)) >= share
        or abs(row.differ - base.differ) >= share
    )


def _ties(pool: Pool, epsilon: float) -> tuple[tuple[int, ...], ...]:
    """Groups, formed in the order of the class, in which every two hypotheses differ on at most ε of the items."""
    if not isinstance(pool.C, PredictionTable) or len(pool.C) > _MOST_TIED:
        return ()
    n, items = len(pool.C), pool.tail(Fraction(1))[:_MEASURED]
    codes = np.stack([pool.predictions.codes(h, items) for h in range(n)])
    same = np.zeros((n, n))
    for code in range(len(pool.C.labels)):
        votes = (codes == code).astype(np.float64)
        same += votes @ votes.T
    near = len(items) - same <= epsilon * len(items)
    free, groups = np.ones(n, dtype=np.bool_), []
    for h in range(n):
        if not free[h]:
            continue
        group, candidates = [h], near[h] & free
        candidates[: h + 1] = False
        while candidates.any():
            other = int(np.argmax(candidates))
            group.append(other)
            candidates &= near[other]
            candidates[other] = False
        free[group] = False
        if len(group) > 1:
            groups.append(tuple(group))
    return tuple(groups)
