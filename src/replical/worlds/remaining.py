"""How many labels are left, while people label: the forecast in the light of the labels heard so far.

Possible truths about the candidates are drawn from what votes and labels say together, by a Markov chain; in each of them
the rest of the run is played on the lab's own items. Nothing here touches the run itself: it stops where it stops.

What confirming a published answer will take and how it may end, before the first label.

A lab confirms the answer in supposed worlds (`replical.worlds.vote_worlds`), which know nothing of the certificate: only how
the answer stands among the candidates' votes. Nothing here is a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from numpy.typing import NDArray

from replical.classes.prior import UNIFORM, Prior
from replical.core.randomness import SharedRandomness
from replical.core.text import count, rounded
from replical.errors import PlanMismatch, ValueOutOfRange
from replical.learners.base import Learner, learn
from replical.learners.catalogue import find
from replical.learners.confirm import Confirm
from replical.pools.pool import Pool
from replical.worlds.forecast import ONE_BY_ONE, SPREAD, Progress, quick_batch
from replical.worlds.vote_worlds import Numbers, Possible, SupposedWorlds, Table, VoteLabels, Votes, law, shares

DRAWS = 8
_BURN, _THIN = 60, 8
_POWER = 0.5  # of the likelihood: neighbouring labels tell less than independent ones would
_MOST = 800  # labels that are listened to
_SPREAD = 1.3
_SHRINKS = 40  # of an ellipse, after which the chain stays where it is


@dataclass(frozen=True, kw_only=True)
class Remaining:
    """How many labels a run still needs: an estimate.

    Attributes
    ----------
    labels
        Labels heard so far.
    low, median, high
        Labels left: a range that should hold four times in five, and its middle.

    Examples
    --------
    >>> Remaining(labels=128, low=230.4, median=351.0, high=519.0).words
    '128 labels; about 350 left (230 to 520)'
    """

    labels: int
    low: float
    median: float
    high: float

    @property
    def words(self) -> str:
        """In a line."""
        low, median, high = (rounded(value) for value in (self.low, self.median, self.high))
        return f"{count(self.labels, 'label')}; about {median:,} left ({low:,} to {high:,})"


def remaining(
    learner: Learner,
    pool: Pool,
    shared: SharedRandomness,
    votes: Votes,
    heard: Mapping[int, int],
    *,
    nu: float | None = None,
    draws: int = DRAWS,
) -> Remaining:
    """Play a run to its end in worlds that fit the labels `heard`.

    Parameters
    ----------
    learner, pool, shared
        The run: its learner, the lab's own pool in its private order, and the published string.
    votes
        What the candidates' votes on this pool say.
    heard
        Label codes by item number.
    nu
        The error of the best candidate, where somebody knows it.
    draws
        Worlds looked at.

    Returns
    -------
    remaining
        An estimate of the labels left.
    """
    if getattr(learner.plan, "losses", None) is not None:
        raise PlanMismatch("worlds are imagined for errors that are all alike")
    generator = np.random.default_rng([len(heard), len(pool)])  # the same labels, the same estimate
    certain = find(learner.plan.learner).setting == "realizable"
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
        low=float(low / _SPREAD),
        median=float(median),
        high=float(max(median, min(high * _SPREAD, most))),
    )


def posterior(
    votes: Votes, rows: Table, codes: NDArray[np.int64], generator: np.random.Generator, count: int
) -> Iterator[Possible]:
    """Possible truths in the light of labels.

    Parameters
    ----------
    votes
        What is known without labels.
    rows, codes
        What all candidates say about the labelled items, one row each, and their labels.
    generator
        Where randomness comes from.
    count
        How many.

    Returns
    -------
    truths
        States of one chain, eight steps apart.
    """
    if len(codes) > _MOST:
        chosen = np.linspace(0, len(codes) - 1, _MOST).round().astype(np.int64)
        rows, codes = rows[chosen], codes[chosen]
    voters, places = rows[:, votes.voters], np.arange(len(codes))
    right = (voters == codes[:, None]).astype(np.float64)

    def leaders(each: Possible) -> Numbers:
        """Log of prior times likelihood of the labels, tempered, for every voter as the leader."""
        w = votes.weights(each)
        by_votes = (1 - each.lead) * law(shares(voters, w, votes.labels), each.tau)[places, codes]
        gained = np.log(by_votes + each.lead) - np.log(by_votes)
        found: Numbers = np.log(w) + _POWER * (np.log(by_votes).sum() + gained @ right)
        return found

    def fit(each: Possible) -> float:
        """The same, added up over who leads."""
        return float(np.logaddexp.reduce(leaders(each)))

    state = votes.draw(generator)
    now = fit(state)
    for step in range(_BURN + _THIN * count):
        state, now = _along_an_ellipse(votes, state, now, fit, generator)
        base, sigma, tau = votes.free(generator)
        for change in ({"base": base, "sigma": sigma, "tau": tau}, {"lead": votes.lead(generator)}):
            moved = replace(state, **change)  # type: ignore[arg-type]
            there = fit(moved)
            if np.log(generator.random()) < there - now:
                state, now = moved, there
        if step >= _BURN and (step - _BURN) % _THIN == _THIN - 1:
            chances = np.exp(leaders(state) - now)
            yield replace(state, leader=int(generator.choice(len(chances), p=chances / chances.sum())))


def _along_an_ellipse(
    votes: Votes, state: Possible, now: float, fit: Callable[[Possible], float], generator: np.random.Generator
) -> tuple[Possible, float]:
    """An elliptical slice step on z (Murray, Adams and MacKay, 2010)."""
    other, level = votes.direction(generator), now + np.log(generator.random())
    angle = generator.uniform(0, 2 * np.pi)
    low, high = angle - 2 * np.pi, angle
    for _ in range(_SHRINKS):
        moved = replace(state, z=state.z * np.cos(angle) + other * np.sin(angle))
        there = fit(moved)
        if there > level:
            return moved, there
        low, high = (angle, high) if angle < 0 else (low, angle)
        angle = generator.uniform(low, high)
    return state, now


DRAWS_foretold = 24
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
    draws: int = DRAWS_foretold,
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
