"""What a protocol will cost and how likely a proof is, before the first label.

Pairs of labs run the protocol's own learner in worlds that the lab's unlabelled items leave possible
(`replical.worlds.vote_worlds`). Nothing here is a bound, and nothing touches a run: it stops where it stops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Any, cast

import numpy as np

from replical.classes.base import HypothesisClass
from replical.classes.grading import Scores, loss_of
from replical.classes.outputs import OutputRows
from replical.classes.prior import UNIFORM, Prior
from replical.classes.table import PredictionTable
from replical.core.randomness import SharedRandomness
from replical.errors import PlanMismatch, ReplicalError, ValueOutOfRange
from replical.learners.base import Course
from replical.learners.catalogue import Record, find
from replical.learners.plan import Plan
from replical.learners.planning import learner_for, plan
from replical.learners.result import SPREAD, Outcomes
from replical.pools.pool import Pool
from replical.worlds.vote_worlds import PossibleWorld, PossibleWorlds

Progress = Callable[[int, int], None]

DRAWS = 50  # worlds looked at, each with two labs
FARTHEST = 4  # times the items of a lab: so far labs are simulated


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """A forecast of labels, proofs and agreement, made without labels; nothing in it is a bound.

    Attributes
    ----------
    items, epsilon, beta
        Items in each lab's pool, the plan's ε, and the level of a lab that proves something, else 0.
    labels_low, labels_median, labels_high
        Labels a lab would ask for: a range that should hold four times in five, with the median inside it.
    labs, wider
        Where simulated labs with `FARTHEST` times as many items ended, at ε and at 2ε; None where the learner proves
        nothing, or there is no plan for 2ε.
    disagreement_mean
        How often two labs would differ, in the mean over the worlds looked at. None where labs prove something: see `same`.
    draws
        Worlds looked at.
    method
        How worlds were drawn: ``"votes"`` of the candidates, or ``"resampled"``, with hypotheses as truths.
    counted
        What is forecast: ``"labels"``, or ``"judgements"`` where every output gets a score.
    """

    items: int
    epsilon: float
    beta: float
    labels_low: float
    labels_median: float
    labels_high: float
    labs: Outcomes | None = field(compare=False)
    wider: Outcomes | None = field(compare=False)
    disagreement_mean: float | None
    draws: int
    method: str
    counted: str = "labels"

    @property
    def certified_fraction(self) -> float | None:
        """Labs that would end with a proof, with the items they have; None where the learner proves nothing."""
        return None if self.labs is None else self.labs.chance(items=self.items)

    @property
    def same(self) -> float | None:
        """At least so often two labs are both certified with one answer, if p is as forecast (docs/claims/handicap.md)."""
        p = self.certified_fraction
        return None if p is None else max(0.0, p**2 - 2 * self.beta)


def predict_agreement(
    C: HypothesisClass,
    pool: Pool,
    epsilon: float,
    learner: str = "handicap",
    *,
    delta: float = 0.05,
    rho: float = 0.1,
    noise: float | None = None,
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
    >>> forecast.labels_median, forecast.certified_fraction, forecast.labs.chance()
    (238.0, 0.5, 0.875)
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
    noise: float | None = None,
    draws: int = DRAWS,
    far: bool = True,
    progress: Progress | None = None,
) -> Prediction:
    """Forecast labels and agreement of a plan (`learner`, `options`).

    `published` is that plan, where it has been made. `size` is the number of items in each lab's pool; as many as this pool
    holds if left out. How `far`: also with more items, and at 2ε?
    """
    record = find(learner)
    if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 1:
        raise ValueOutOfRange(f"a forecast looks at 1 world or more, got {draws!r}")
    U = size or len(pool)
    certain = record.setting == "realizable" or (record.infers and options.get("nu") == 0)
    loss = loss_of(pool.C)
    if loss is not None and loss.source is not None:
        raise PlanMismatch("forecasts compare outputs with each other, and a loss of your own may need right answers")
    makers = PossibleWorlds(pool, options.get("prior", UNIFORM), noise=noise, certain=certain)
    if loss is None and options.get("losses") is not None:
        raise PlanMismatch("forecasts count errors, all alike, and the protocol counts losses")
    for option, here in (("table", "the table is the population"), ("groups", "some belong together")):
        if options.get(option):
            raise PlanMismatch(f"forecasts suppose that items are independent draws, and here {here}")
    published = published or plan(learner, pool.C, pool="finite", **options)
    wide = far and published.may_spend
    pairs = simulate(published, makers, FARTHEST * U if wide else U, U, draws, progress)
    wider = None
    if wide:
        with suppress(ReplicalError):  # there is no such plan
            coarse = plan(learner, pool.C, pool="finite", **{**options, "epsilon": 2 * options["epsilon"]})
            wider = simulate(coarse, makers, FARTHEST * U, U, draws)
    return _figures(pool, record, published, pairs, wider, U)


def _figures(
    pool: Pool, record: Record, chosen: Plan, pairs: list[Pair], wider: list[Pair] | None, U: int
) -> Prediction:
    labels = np.array([lab.labels_own for pair in pairs for lab in pair])
    low, middle, high = np.quantile(labels, [0.1, 0.5, 0.9])
    disputed = pool.version_space().mass if record.active else Fraction(1)
    if scored := isinstance(loss_of(pool.C), Scores):
        outputs = cast(OutputRows, pool.items).outputs
        disputed = Fraction(sum(len(said) for said in outputs if len(said) > 1), len(pool))
    most = max(ceil(disputed * U), int(labels.max()))
    most = most if chosen.max_labels is None else min(most, chosen.max_labels)
    labs = _outcomes(pairs)
    differ = sum(one.hypothesis != two.hypothesis or one.hypothesis is None for one, two in pairs)
    return Prediction(
        items=U,
        epsilon=float(chosen.epsilon),
        beta=0.0 if labs is None else float(chosen["beta"]),
        labels_low=float(low / SPREAD),
        labels_median=float(middle),
        labels_high=float(min(high * SPREAD, most)),
        labs=labs,
        wider=None if wider is None else _outcomes(wider),
        disagreement_mean=differ / len(pairs) if labs is None else None,
        draws=len(pairs),
        method="votes" if isinstance(pool.C, PredictionTable) else "resampled",
        counted="judgements" if scored else "labels",
    )


@dataclass(frozen=True, kw_only=True)
class SimulatedLab:
    """What a lab did."""

    hypothesis: int | None
    labels_own: int  # or judgements; with as many items as a lab has
    items: int
    labels: int
    proven: bool | None  # None where the learner proves nothing


Pair = tuple[SimulatedLab, SimulatedLab]


def simulate(
    published: Plan, makers: PossibleWorlds, items: int, U: int, draws: int, progress: Progress | None = None
) -> list[Pair]:
    """Two labs in each of so many worlds, with so many `items`; `U` are a lab's own."""
    pairs: list[Pair] = []
    for number in range(draws):
        world, shared = makers(number), SharedRandomness(f"forecast / pair {number}")
        one, two = (simulate_lab(published.in_haste(), world, shared, items, U, name) for name in "AB")
        pairs.append((one, two))
        if progress is not None:
            progress(number + 1, draws)
    return pairs


def simulate_lab(
    chosen: Plan, world: PossibleWorld, shared: SharedRandomness, items: int, U: int, name: str
) -> SimulatedLab:
    """A lab with items of a world."""
    private = world.private.derived(name)
    pool = world.population.pool(items, private)
    assert isinstance(pool, Pool), "it has a size"
    course, answers, asked = Course(learner_for(chosen), pool, shared), world.answers(pool, private), list[int]()
    while course.query is not None:
        asked.append(course.query.judgements)
        course.tell(answers.answer(course.query))
    result, own, scanned = course.result(), course.judged, items
    if result.proof is not None and result.proof.scanned is not None:
        scanned = result.proof.scanned
        passed = np.cumsum([0, *(each.scanned for each in result.rounds)])
        looked_at = passed[1:] * scanned / max(1, passed[-1])  # rounds leave out what passed unasked
        own = int(np.array(asked, dtype=np.int64)[looked_at <= U].sum())
    return SimulatedLab(
        hypothesis=result.hypothesis,
        labels_own=own,
        items=scanned,
        labels=course.judged,
        proven=None if result.proof is None else result.proof.certified,
    )


def _outcomes(pairs: list[Pair]) -> Outcomes | None:
    """Where labs ended; None where they prove nothing."""
    labs = [lab for pair in pairs for lab in pair]
    if any(lab.proven is None for lab in labs):
        return None
    items, labels, proven = (np.array([getattr(lab, name) for lab in labs]) for name in ("items", "labels", "proven"))
    return Outcomes(items=items, labels=labels, proven=proven)
