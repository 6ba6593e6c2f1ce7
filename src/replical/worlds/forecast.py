"""What a protocol will cost and how often two labs will agree, before the first label; and how many labels are left later.

Pairs of labs run the protocol's own learner in worlds that the lab's unlabelled items leave possible
(`replical.worlds.vote_worlds`); so does the rest of a run that has heard some labels (`remaining`). Nothing here is a
bound, and nothing touches a run: it stops where it stops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from replical.classes.base import HypothesisClass
from replical.classes.prior import UNIFORM, Prior
from replical.classes.table import PredictionTable
from replical.core.exact import clopper_pearson
from replical.core.randomness import SharedRandomness
from replical.core.text import count, two_figures
from replical.errors import PlanMismatch, ValueOutOfRange
from replical.learners.base import Learner, learn
from replical.learners.catalogue import Record, find
from replical.learners.plan import Plan
from replical.learners.planning import learner_for, plan
from replical.pools.pool import Pool
from replical.worlds.vote_worlds import (
    PossibleWorld,
    PossibleWorlds,
    VoteLabels,
    Votes,
    posterior,
)
from replical.worlds.world import Noise

Progress = Callable[[int, int], None]

DRAWS = 24  # worlds looked at
REMAINING_DRAWS = 8  # worlds looked at while people wait
SPREAD = 1.3  # what worlds outside the model add to a range of labels, on either side
ONE_BY_ONE = 2  # worlds in which labs run with the batch of their plan
_BATCHES = 32  # batches of the shortest of these runs, afterwards
_MOST = 2000  # candidates among which near-ties are looked for: all pairs are compared
_MEASURED = 4096  # items on which they are compared, drawn by the private order


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """A forecast of labels and agreement, made without labels; nothing in it is a bound.

    Attributes
    ----------
    items
        Items in each lab's pool.
    disagreement_mean
        How often two labs would differ, in the mean over the worlds looked at.
    labels_low, labels_median, labels_high
        Labels a lab would ask for: a range that should hold four times in five, with the median inside it.
    certified_fraction, certified_worst
        Labs that would end certified: mean and smallest share over the worlds; None where the learner proves nothing.
    differ_high
        The largest mean that so few pairs leave plausible: an exact binomial limit at the level 0.1.
    draws
        Worlds looked at.
    ties
        Groups of candidates that pairwise differ on at most ε of the items: no choice among them costs more than ε.
    method
        How worlds were drawn: ``"votes"`` of the candidates, or ``"resampled"``, with hypotheses as truths.
    """

    items: int
    disagreement_mean: float
    differ_high: float
    labels_low: float
    labels_median: float
    labels_high: float
    certified_fraction: float | None
    certified_worst: float | None
    draws: int
    ties: tuple[tuple[int, ...], ...]
    method: str


def predict_agreement(
    C: HypothesisClass,
    pool: Pool,
    epsilon: float,
    learner: str = "handicap",
    *,
    delta: float = 0.05,
    rho: float = 0.1,
    noise: Noise | None = None,
    items: int | None = None,
    prior: Prior = UNIFORM,
    max_labels: int | None = None,
    truths: int = DRAWS,
    progress: Progress | None = None,
) -> Prediction:
    """Forecast labels and agreement from unlabelled items.

    Parameters
    ----------
    C, pool
        The class and this lab's unlabelled items.
    epsilon, delta, rho, prior, max_labels
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
    >>> C = Thresholds(500)
    >>> X = np.random.default_rng(1).integers(499, size=5000)
    >>> forecast = predict_agreement(C, Pool(C, X, PrivateRandomness.simulated("doctest")), .2, truths=4)
    >>> forecast.labels_median, round(forecast.disagreement_mean, 3), forecast.certified_fraction
    (233.0, 0.25, 0.5)
    """
    record = find(learner)
    options: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "prior": prior, "max_labels": max_labels}
    options |= {"rho": rho} if record.uses("rho") else {}
    if pool.C is not C and pool.C.fingerprint != C.fingerprint:
        raise ValueOutOfRange("the pool is for another class than the one given")
    return forecast(pool, learner, options, size=items, noise=noise, draws=truths, progress=progress)


def forecast(
    pool: Pool,
    learner: str,
    options: Mapping[str, Any],
    *,
    published: Plan | None = None,
    size: int | None = None,
    noise: Noise | None = None,
    draws: int = DRAWS,
    progress: Progress | None = None,
) -> Prediction:
    """Forecast labels and agreement of a plan (`learner`, `options`).

    `published` is that plan, where it has been made. `size` is the number of items in each lab's pool; as many as this pool
    holds if left out.
    """
    record = find(learner)
    if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 1:
        raise ValueOutOfRange(f"a forecast looks at 1 world or more, got {draws!r}")
    U = size or len(pool)
    certain = record.setting == "realizable" or (record.infers and options.get("nu") == 0)
    makers = PossibleWorlds(pool, options.get("prior", UNIFORM), noise=noise, certain=certain)
    if options.get("losses") is not None:
        raise PlanMismatch("forecasts count errors, all alike, and the protocol counts losses")
    published = chosen = published or plan(learner, pool.C, pool="finite", **options)
    pairs: list[SimulatedPair] = []
    for number in range(draws):
        if batch := larger_batch(learner, options, pairs):
            chosen = plan(learner, pool.C, pool="finite", **{**options, **batch})
        pairs.append(simulate_pair(chosen, makers(number), U, number))
        if progress is not None:
            progress(number + 1, draws)
    return _figures(pool, record, published, pairs, U, "votes" if makers.by_votes else "resampled")


def _figures(pool: Pool, record: Record, chosen: Plan, pairs: list[SimulatedPair], U: int, method: str) -> Prediction:
    labels = np.array([count for pair in pairs for count in pair.labels])
    low, middle, high = np.quantile(labels, [0.1, 0.5, 0.9])
    disputed = pool.version_space().mass if record.active else Fraction(1)
    most = max(ceil(disputed * U), int(labels.max()))
    most = most if chosen.max_labels is None else min(most, chosen.max_labels)
    differences = [pair.difference for pair in pairs]
    certified = mean_or_none([pair.certified for pair in pairs])
    return Prediction(
        items=U,
        disagreement_mean=float(np.mean(differences)),
        labels_low=float(low / SPREAD),
        labels_median=float(middle),
        labels_high=float(min(high * SPREAD, most)),
        certified_fraction=certified,
        certified_worst=None if certified is None else min(pair.certified or 0.0 for pair in pairs),
        differ_high=clopper_pearson(ceil(sum(differences) - 1e-9), len(pairs), 0.8)[1],
        draws=len(pairs),
        ties=near_ties(pool, float(chosen.epsilon)),
        method=method,
    )


@dataclass(frozen=True, kw_only=True)
class SimulatedPair:
    """What two labs did."""

    difference: float  # 1 if they differ, otherwise 0
    labels: tuple[int, int]
    certified: float | None  # share of the two; None where the learner proves nothing


def simulate_pair(chosen: Plan, world: PossibleWorld, U: int, number: int) -> SimulatedPair:
    """Two labs, each with `U` items of a world, and string `number`."""
    shared, active = SharedRandomness(f"forecast / pair {number}"), learner_for(chosen)
    results = []
    for name in "AB":
        private = world.private.derived(name)
        pool = world.population.pool(U, private)
        assert isinstance(pool, Pool), "it has a size"
        results.append(learn(active, pool, world.answers(pool, private), shared))
    one, two = results
    return SimulatedPair(
        difference=float(one.hypothesis != two.hypothesis or one.hypothesis is None),
        labels=(one.labels, two.labels),
        certified=None if one.proof is None or two.proof is None else (one.stopped + two.stopped) / 2,
    )


def larger_batch(learner: str, options: Mapping[str, Any], pairs: Sequence[SimulatedPair]) -> dict[str, int]:
    """The batch of pairs to come, once the first have run, if it differs from what `options` of the plan say.

    A larger one saves time. It is a thirty-second of the shortest run at most, and so is what a lab then asks too much.
    """
    if len(pairs) != ONE_BY_ONE or not find(learner).uses("batch"):
        return {}
    published = int(options.get("batch") or 1)
    batch = max(published, min(count for pair in pairs for count in pair.labels) // _BATCHES)
    return {"batch": batch} if batch != published else {}


def mean_or_none(values: Sequence[float | None]) -> float | None:
    """The mean, if every value is known."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def near_ties(pool: Pool, epsilon: float) -> tuple[tuple[int, ...], ...]:
    """Groups, formed in the order of the class, in which every two hypotheses differ on at most ε of the items."""
    if not isinstance(pool.C, PredictionTable) or len(pool.C) > _MOST:
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


@dataclass(frozen=True, kw_only=True)
class Remaining:
    """How many labels a run still needs: an estimate.

    Examples
    --------
    >>> Remaining(labels=128, low=230.4, median=351.0, high=519.0).words
    '128 labels; about 350 left (230 to 520)'
    """

    labels: int  # heard so far
    low: float  # labels left: a range that should hold four times in five
    median: float
    high: float

    @property
    def words(self) -> str:
        """In a line."""
        low, median, high = (two_figures(value) for value in (self.low, self.median, self.high))
        return f"{count(self.labels, 'label')}; about {median:,} left ({low:,} to {high:,})"


def remaining(
    learner: Learner,
    pool: Pool,
    shared: SharedRandomness,
    votes: Votes,
    heard: Mapping[int, int],
    *,
    nu: float | None = None,
    draws: int = REMAINING_DRAWS,
) -> Remaining:
    """Play a run to its end in worlds that fit the labels `heard` (codes by item number): an estimate of the labels left."""
    if getattr(learner.plan, "losses", None) is not None:
        raise PlanMismatch("worlds are imagined for errors that are all alike")
    generator = np.random.default_rng([len(heard), len(pool)])  # the same labels, the same estimate
    record = find(learner.plan.learner)
    certain = record.setting == "realizable" or (record.infers and bool(getattr(learner.plan, "noiseless", False)))
    items = np.fromiter(heard, dtype=np.int64, count=len(heard))
    codes = np.fromiter(heard.values(), dtype=np.int64, count=len(heard))
    said = np.asarray(pool.items[items])
    among = (said == codes[:, None]).all(axis=0) if certain else None
    left = []
    for each in posterior(votes, said, codes, generator, draws):
        world = votes.world(each, nu=nu, certain=certain, among=among)
        result = learn(learner, pool, VoteLabels(world, pool, generator, dict(heard)), shared)
        left.append(max(0, result.labels - len(heard)))
    low, median, high = np.quantile(left, [0.1, 0.5, 0.9])
    most = max(*left, ceil(pool.version_space().mass * len(pool)) - len(heard))
    budget = learner.plan.max_labels
    most = most if budget is None else min(most, budget - len(heard))
    return Remaining(
        labels=len(heard),
        low=float(low / SPREAD),
        median=float(median),
        high=float(max(median, min(high * SPREAD, most))),
    )
