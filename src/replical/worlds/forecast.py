"""What a protocol will cost and how often two labs will agree, before the first label.

Pairs of labs run the protocol's own learner in supposed worlds (`replical.worlds.supposed`). Nothing here is a bound, the
pool size neither: it is what the bound gamma would need for the worst truth that was looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from replical.classes.base import HypothesisClass
from replical.classes.prior import UNIFORM, Prior
from replical.core.binomial import clopper_pearson
from replical.errors import PlanMismatch, ValueOutOfRange
from replical.plans.base import Plan
from replical.plans.catalogue import Record, find
from replical.plans.plan import plan
from replical.plans.rounded import RoundedPlan
from replical.pools.pool import Pool
from replical.worlds.noise import Noise
from replical.worlds.pair import Pair, larger_batch, mean_or_none, run_both
from replical.worlds.supposed import FEWEST, SupposedWorld, SupposedWorlds, central, order_from, votes_on
from replical.worlds.ties import near_ties
from replical.worlds.trade_off import TradeOff, changes, differs, half_of_the_budget, row_of, summary

__all__ = [
    "DRAWS",
    "FEWEST",
    "Prediction",
    "Progress",
    "TradeOff",
    "central",
    "forecast",
    "order_from",
    "predict_agreement",
    "votes_on",
]

Progress = Callable[[int, int], None]

DRAWS = 24  # worlds looked at
SPREAD = 1.3  # what worlds outside the model add to a range of labels, on either side


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
    makers = SupposedWorlds(pool, options.get("prior", UNIFORM), noise=noise, certain=record.setting == "realizable")
    if options.get("losses") is not None:
        raise PlanMismatch("forecasts count errors, all alike, and the protocol has weights or candidates that abstain")
    published = chosen = plan(learner, pool.C, pool="finite", **options)
    half = max(1, draws // 2)
    others = list(changes(pool.C, record, options)) if trade_off else []
    total, done = draws + half * (len(others) + bool(others)), 0

    def tick() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    worlds: list[SupposedWorld] = []
    pairs: list[Pair] = []
    for number in range(draws):
        world = makers(number)
        if batch := larger_batch(learner, options, pairs):
            chosen = plan(learner, pool.C, pool="finite", **{**options, **batch})
        pairs.append(run_both(chosen, world, U, number))
        tick()
        if others and number < half:
            worlds.append(world)
    found = replace(_figures(pool, record, published, pairs, U), method="votes" if makers.by_votes else "resampled")
    if not others:
        return found
    base = summary("as published", published, pairs[:half])
    others.append(half_of_the_budget(options, base))
    rows = [row_of(change, learner, options, worlds, U, tick) for change in others]
    return replace(found, trade_off=(base, *(row for row in rows if row is not None and differs(row, base))))


def _figures(pool: Pool, record: Record, chosen: Plan, pairs: list[Pair], U: int) -> Prediction:
    labels = np.array([count for pair in pairs for count in pair.labels])
    low, middle, high = np.quantile(labels, [0.1, 0.5, 0.9])
    disputed = pool.version_space().mass if record.active else Fraction(1)
    most = max(ceil(disputed * U), int(labels.max()))
    most = most if chosen.max_labels is None else min(most, chosen.max_labels)
    worst = max(pairs, key=lambda pair: pair.difference)
    differences = [pair.difference for pair in pairs]
    certified = mean_or_none([pair.certified for pair in pairs])
    needed = None
    if isinstance(chosen, RoundedPlan) and chosen.choice == "ball":
        needed = chosen.pool_needed(pool.version_space().distances(worst.best) / len(pool))
    return Prediction(
        items=U,
        disagreement_mean=float(np.mean(differences)),
        disagreement_worst=worst.difference,
        worst=worst.best,
        labels_low=float(low / SPREAD),
        labels_median=float(middle),
        labels_mean=float(labels.mean()),
        labels_high=float(min(high * SPREAD, most)),
        certified_fraction=certified,
        certified_worst=None if certified is None else min(pair.certified or 0.0 for pair in pairs),
        differ_high=clopper_pearson(ceil(sum(differences) - 1e-9), len(pairs), 0.8)[1],
        draws=len(pairs),
        pool_for_rho=needed,
        ties=near_ties(pool, float(chosen.epsilon)),
        prior_log=mean_or_none([pair.prior_log for pair in pairs]),
        uniform_log=mean_or_none([pair.uniform_log for pair in pairs]),
        uniform_disagreement=mean_or_none([pair.uniform for pair in pairs]),
    )
