"""What a protocol will cost and how often two labs will agree, before the first label.

The lab's own pool stands in for the population: pairs of labs draw their pools from it, hypotheses of the class take
turns as the truth, and the learner runs as it would, with simulated labels. Nothing here is a bound, the pool size
neither: it is what the bound gamma would need for the worst truth that was looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import log

import numpy as np

from replical.classes.base import HypothesisClass
from replical.classes.prior import UNIFORM, Prior
from replical.classes.table import PredictionTable
from replical.errors import ValueOutOfRange
from replical.learners.for_plan import learner_for
from replical.learners.result import Result
from replical.plans.catalogue import LEARNERS, find
from replical.plans.plan import plan
from replical.pools.pool import Pool
from replical.worlds.audit import World, run_pair
from replical.worlds.noise import Noise

Progress = Callable[[int, int], None]

_MOST_TIED = 2000  # candidates among which near-ties are looked for: all pairs are compared
_MEASURED = 4096  # items on which they are compared, drawn by the private order


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """A forecast of labels and agreement, made without labels; nothing in it is a bound.

    Attributes
    ----------
    items
        Items each lab would round on.
    disagreement_mean, disagreement_worst, worst
        How often two labs would differ: mean over the truths looked at, the largest, and for which truth.
    labels_low, labels_mean, labels_high
        Labels a lab would ask for: 5%, mean, 95%.
    certified_fraction
        Labs that would end certified.
    pool_for_rho
        About how many items the bound Γ̂ needs to reach ρ for the worst truth, labels permitting; None beyond 10⁷.
    ties
        Groups of candidates that pairwise differ on at most ε of the items: no choice among them costs more than ε.
    prior_log, uniform_log
        1 + ln(1/μ), with μ the prior's mass of the hypotheses within a of the centre, and the same without the prior.
    uniform_disagreement
        How often two labs would differ without the prior: it helps where `disagreement_mean` is no larger.
    method
        How the forecast was made: ``"resampled"``, by labs whose pools are drawn from this one.
    """

    items: int
    disagreement_mean: float
    disagreement_worst: float
    worst: int
    labels_low: float
    labels_mean: float
    labels_high: float
    certified_fraction: float
    pool_for_rho: int | None
    ties: tuple[tuple[int, ...], ...]
    prior_log: float
    uniform_log: float
    uniform_disagreement: float
    method: str = "resampled"

    @property
    def prior_helps(self) -> bool:
        """Does the shared order with this prior split the labs less often than without?"""
        return self.disagreement_mean <= self.uniform_disagreement


def predict_agreement(
    C: HypothesisClass,
    pool: Pool,
    epsilon: float,
    learner: str = "rounded-cal",
    *,
    delta: float = 0.05,
    rho: float = 0.1,
    noise: Noise = 0.0,
    items: int | None = None,
    prior: Prior = UNIFORM,
    max_labels: int | None = None,
    kappa: float | None = None,
    truths: int = 16,
    progress: Progress | None = None,
) -> Prediction:
    """Forecast labels and agreement of a rounded learner from unlabelled items.

    Parameters
    ----------
    C, pool
        The class and this lab's unlabelled items.
    epsilon, delta, rho, prior, max_labels, kappa
        As in the protocol.
    learner
        ``rounded-cal`` or ``rounded-a2``.
    noise
        Share of wrong labels to expect.
    items
        Items each lab would round on; as many as the pool holds if left out.
    truths
        How many hypotheses take their turn as the truth.
    progress
        Called with (truths done, truths in all).

    Returns
    -------
    prediction
        The forecast.

    Raises
    ------
    ValueOutOfRange
        If the learner does not round, or `truths` is below 1.

    Examples
    --------
    >>> from replical import PrivateRandomness, Thresholds
    >>> C = Thresholds(5000)
    >>> X = np.random.default_rng(1).integers(4999, size=20_000)
    >>> forecast = predict_agreement(C, Pool(C, X, PrivateRandomness.simulated("doctest")), .2, truths=4)
    >>> forecast.labels_mean, round(forecast.disagreement_mean, 3), forecast.certified_fraction
    (11.875, 0.024, 1.0)
    """
    if not find(learner).rounds:
        known = " and ".join(record.id for record in LEARNERS.values() if record.rounds)
        raise ValueOutOfRange(f"agreement is predicted for {known}, got {learner}")
    if truths < 1:
        raise ValueOutOfRange(f"at least one hypothesis must take its turn as the truth, got {truths}")
    U = len(pool) if items is None else items
    options = {"prior": prior, "max_labels": max_labels, "kappa": kappa}
    learner_plan = plan(learner, C, epsilon=epsilon, delta=delta, rho=rho, pool="finite", items=U, **options)  # type: ignore[arg-type]
    world = World(C=C, cells=pool.items, weights=pool.weights, noise=noise, pool_size=U)
    active, pairs = learner_for(learner_plan), []
    for number in range(truths):
        population, labs = run_pair(active, world, "prediction", number)
        pairs.append((population.target, _compare(labs[0].result, labs[1].result, prior)))
        if progress is not None:
            progress(number + 1, truths)
    worst, _ = max(pairs, key=lambda each: each[1].difference)
    labels = np.array([count for _, pair in pairs for count in pair.labels])
    low, high = np.quantile(labels, [0.05, 0.95])
    distances = pool.version_space().distances(worst) / len(pool)
    return Prediction(
        items=U,
        disagreement_mean=float(np.mean([pair.difference for _, pair in pairs])),
        disagreement_worst=max(pair.difference for _, pair in pairs),
        worst=worst,
        labels_low=float(low),
        labels_mean=float(labels.mean()),
        labels_high=float(high),
        certified_fraction=float(np.mean([pair.certified for _, pair in pairs])),
        pool_for_rho=learner_plan.pool_needed(distances),
        ties=_ties(pool, epsilon),
        prior_log=float(np.mean([pair.prior_log for _, pair in pairs])),
        uniform_log=float(np.mean([pair.uniform_log for _, pair in pairs])),
        uniform_disagreement=float(np.mean([pair.uniform for _, pair in pairs])),
    )


@dataclass(frozen=True, kw_only=True)
class _Pair:
    difference: float
    uniform: float
    labels: tuple[int, int]
    certified: float
    prior_log: float
    uniform_log: float


def _compare(one: Result, two: Result, prior: Prior) -> _Pair:
    first, second = one.rounding, two.rounding
    assert first is not None, "a rounded learner rounds"
    assert second is not None, "a rounded learner rounds"
    uniform = first.difference(second, UNIFORM)
    near = first.scores <= first.range[0] * first.items
    share = float(prior.masses(len(near))[near].sum()) if prior.kind == "weights" else float(near.mean())
    return _Pair(
        difference=uniform if prior is UNIFORM else first.difference(second, prior),
        uniform=uniform,
        labels=(one.labels, two.labels),
        certified=(first.certified + second.certified) / 2,
        prior_log=1 + log(1 / max(share, 1e-300)),
        uniform_log=1 + log(1 / max(float(near.mean()), 1e-300)),
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
