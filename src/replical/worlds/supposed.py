"""Worlds that are supposed while nobody knows the labels, from a lab's own pool.

The pool stands in for the population. Worlds of a prediction table are drawn from its candidates' votes
(`replical.worlds.votes`); of other classes, hypotheses take turns as the truth, the most central one first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from replical.classes.prior import UNIFORM, Prior
from replical.classes.table import PredictionTable
from replical.core.randomness import PrivateRandomness
from replical.errors import PoolExhausted, ValueOutOfRange
from replical.pools.labels.base import Labels
from replical.pools.pool import AnyPool, Pool
from replical.worlds.noise import BoundaryNoise, Noise
from replical.worlds.population import Population
from replical.worlds.votes import MOST_ITEMS, Votes, guess_of

FEWEST = 50  # items from which candidates can be compared at all


@dataclass(frozen=True, kw_only=True)
class SupposedWorld:
    """Where one pair of labs lives.

    Attributes
    ----------
    population, answers
        What pools are drawn from, and who answers for the items of one.
    best
        The best hypothesis.
    private
        Where the randomness of its labs comes from.
    """

    population: Population
    answers: Callable[[Pool, PrivateRandomness], Labels]
    best: int
    private: PrivateRandomness


class SupposedWorlds:
    """Worlds in place of the one that a pool is from.

    Parameters
    ----------
    pool
        A lab's unlabelled items.
    prior
        What is public about the candidates; uniform if left out.
    noise
        The error of the best candidate of a table, or how labels of other classes are flipped, where somebody knows it.
    certain
        Is the best hypothesis of every world always right?

    Attributes
    ----------
    by_votes
        Are worlds drawn from votes?

    Raises
    ------
    PoolExhausted
        If the pool of a table has fewer than 50 items.
    ValueOutOfRange
        If a table is given noise near a decision boundary.
    """

    def __init__(
        self, pool: Pool, prior: Prior = UNIFORM, *, noise: Noise | None = None, certain: bool = False
    ) -> None:
        self._pool, self._noise, self._certain = pool, noise, certain
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

    def __call__(self, number: int) -> SupposedWorld:
        """World `number` (0, 1, ..): always the same."""
        private = PrivateRandomness.simulated("forecast", number)
        generator, C = private.generator("world"), self._pool.C
        if self.by_votes:
            assert not isinstance(self._noise, BoundaryNoise), "refused before"
            each = self._votes.draw(generator)
            if self._noise is not None:  # then it says whether anyone leads
                each = replace(each, lead=0.0)
            world = self._votes.world(each, nu=self._noise, certain=self._certain)
            return SupposedWorld(population=self._plain, answers=world.answers, best=world.best, private=private)
        target = central(self._pool) if number == 0 else int(generator.integers(len(C)))
        population = self._population(target, self._noise or 0.0)
        return SupposedWorld(population=population, answers=population.labels, best=target, private=private)

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
    sample = np.asarray(pool.items[pool.tail(Fraction(1))[:MOST_ITEMS]])
    return Votes(sample, len(pool.C.labels), guess_of(prior, len(pool.C)))


def central(pool: Pool) -> int:
    """The hypothesis with the smallest mean distance to all others, on at most 2,000 items."""
    items, everyone = pool.tail(Fraction(1))[:MOST_ITEMS], np.arange(len(pool.C), dtype=np.int64)
    votes = pool.predictions.votes(everyone, items)
    return int(np.argmin(pool.predictions.errors(items, votes, everyone)))
