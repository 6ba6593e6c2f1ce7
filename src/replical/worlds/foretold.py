"""What confirming a published answer will take and how it may end, before the first label.

A lab confirms the answer in supposed worlds (`replical.worlds.supposed`), which know nothing of the certificate: only how
the answer stands among the candidates' votes. Nothing here is a bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from replical.classes.prior import UNIFORM, Prior
from replical.core.randomness import SharedRandomness
from replical.errors import PlanMismatch, ValueOutOfRange
from replical.learners.base import learn
from replical.learners.confirm import Confirm
from replical.pools.pool import Pool
from replical.worlds.forecast import SPREAD, Progress
from replical.worlds.pair import ONE_BY_ONE, quick_batch
from replical.worlds.supposed import SupposedWorlds

DRAWS = 24
_MANY = 1000  # labels from which on an answer is called close to the margin


@dataclass(frozen=True, kw_only=True)
class Foretold:
    """A forecast of a confirmation, made without labels; nothing in it is a bound.

    Attributes
    ----------
    labels_low, labels_median, labels_high
        Labels it would take: a range that should hold four times in five, and its middle.
    confirmed, refuted, undecided
        In which shares of the worlds it would end so, with this pool and budget.
    draws
        Worlds looked at.

    Examples
    --------
    >>> Foretold(labels_low=9, labels_median=30, labels_high=80, confirmed=1.0, refuted=0.0, undecided=0.0, draws=24).close
    False
    """

    labels_low: float
    labels_median: float
    labels_high: float
    confirmed: float
    refuted: float
    undecided: float
    draws: int

    @property
    def close(self) -> bool:
        """Are a thousand labels or more to be expected? The answer then lies close to the margin."""
        return self.labels_median >= _MANY

    @property
    def open_end(self) -> bool:
        """Will pool or budget probably end it undecided?"""
        return self.undecided >= 0.5


def foretell(
    learner: Confirm,
    pool: Pool,
    *,
    prior: Prior = UNIFORM,
    noise: float | None = None,
    draws: int = DRAWS,
    progress: Progress | None = None,
) -> Foretold:
    """Forecast a confirmation from unlabelled items of a prediction table.

    Parameters
    ----------
    learner
        What would confirm the answer.
    pool
        This lab's unlabelled items.
    prior
        What the protocol says about the candidates.
    noise
        The error of the best candidate, where somebody knows it.
    draws
        Worlds looked at, each with one lab.
    progress
        Called with (worlds done, worlds in all).

    Returns
    -------
    foretold
        The forecast.

    Raises
    ------
    PoolExhausted
        If the pool has fewer than 50 items.
    PlanMismatch
        If errors are not all alike.
    ValueOutOfRange
        If `draws` is below 1.
    """
    if draws < 1:
        raise ValueOutOfRange(f"a forecast looks at 1 world or more, got {draws!r}")
    if learner.plan.losses is not None:
        raise PlanMismatch("forecasts count errors, all alike, and the protocol has weights or candidates that abstain")
    worlds, shared = SupposedWorlds(pool, prior, noise=noise), SharedRandomness("a confirmation shares nothing")
    ends: list[str] = []
    labels: list[int] = []
    for number in range(draws):
        world = worlds(number)
        private = world.private.derived("A")
        own = world.population.pool(len(pool), private)
        assert isinstance(own, Pool), "it has a size"
        result = learn(learner, own, world.answers(own, private), shared)
        assert result.confirmation is not None, "Confirm says so"
        ends.append(result.confirmation.outcome)
        labels.append(result.labels)
        if number + 1 == ONE_BY_ONE:
            batch = quick_batch(learner.plan.batch, labels)
            learner = replace(learner, plan=replace(learner.plan, batch=batch))
        if progress is not None:
            progress(number + 1, draws)
    low, middle, high = np.quantile(labels, [0.1, 0.5, 0.9])
    most = max(*labels, ceil(pool.version_space().mass * len(pool)))
    most = most if learner.plan.max_labels is None else min(most, learner.plan.max_labels)
    return Foretold(
        labels_low=float(low / SPREAD),
        labels_median=float(middle),
        labels_high=float(min(high * SPREAD, most)),
        confirmed=ends.count("confirmed") / draws,
        refuted=ends.count("refuted") / draws,
        undecided=ends.count("undecided") / draws,
        draws=draws,
    )
