"""How many labels are left, while people label: the forecast in the light of the labels heard so far.

Possible truths about the candidates are drawn from what votes and labels say together, by a Markov chain; in each of them
the rest of the run is played on the lab's own items. Nothing here touches the run itself: it stops where it stops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from numpy.typing import NDArray

from replical.core.randomness import SharedRandomness
from replical.core.words import count, rounded
from replical.errors import PlanMismatch
from replical.learners.base import Learner, learn
from replical.plans.catalogue import find
from replical.pools.pool import Pool
from replical.worlds.vote_world import Numbers, Table, VoteLabels, law, shares
from replical.worlds.votes import Possible, Votes

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
