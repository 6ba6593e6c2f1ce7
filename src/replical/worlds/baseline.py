"""Three ways to choose among models, side by side: the public favourite, the usual way, and `handicap`.

Several labs share a text and some labelled public items, which put the models in an order. Everything about text number i
follows from the seed and i alone, so the figures are always the same, however many processes compute them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.classes.prior import Prior
from replical.core.randomness import PrivateRandomness, SharedRandomness
from replical.learners.handicap.proof import HandicapProof
from replical.learners.planning import learner_for, plan
from replical.pools.pool import AnyPool
from replical.pools.query import Labels
from replical.worlds.labs import run_lab
from replical.worlds.world import Population, World

WAYS = {"favourite": "favourite", "usual": "usual way", "handicap": "handicap"}  # parts of an `Outcome`
_LABS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
Counts = NDArray[np.int64]


def usual_way(pool: AnyPool, labels: Labels, asked: int, public_errors: Counts) -> int:
    """The model with the fewest errors on a lab's own labels and the public ones together.

    The lab labels the first `asked` items of its own on which the models differ, as others cannot tell who is best. Ties go
    to the first in the public order: fewest public errors, then by name (`Prior.by_errors`).
    """
    everyone = pool.version_space()
    errors = public_errors + everyone.errors(labels.answer(pool.scan().some(everyone, asked)))
    places = Prior.by_errors(pool.C, public_errors).values
    assert places is not None, "an order has places"
    return int(np.lexsort((places, errors))[0])


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What one lab chose."""

    model: int  # its index
    labels: int  # that the lab asked for
    excess_error: float  # how much more often the model errs than the best one
    proof: HandicapProof | None = None  # None where nothing is proven

    @property
    def certified(self) -> bool:
        """Did the lab prove that this is the answer the text asks for?"""
        return self.proof is not None and self.proof.certified


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """All labs with one text, which choose in three ways."""

    favourite: tuple[Choice, ...]  # the first of the public order, without a label
    usual: tuple[Choice, ...]  # `usual_way`, with as many labels as `handicap` asked for
    handicap: tuple[Choice, ...]  # by the protocol


def identical(choices: Sequence[Choice]) -> bool:
    """Did all labs choose one and the same model?"""
    return len({choice.model for choice in choices}) == 1


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Call it with 0, 1, 2, .. for one text after the other.

    Examples
    --------
    >>> from replical.worlds.datasets import flight_worlds
    >>> labs, alike, _ = flight_worlds(20_000, 100)
    >>> first = Comparison(world=labs, public=alike, seed="doctest")(0)
    >>> [choice.certified for choice in first.handicap], identical(first.handicap), identical(first.usual)
    ([True, True, True], True, False)
    """

    world: World  # where the labs' items are from
    public: World  # where the public items are from, new ones for every text
    seed: str  # from which the texts and everything random are made
    labs: int = 3
    epsilon: float = 0.05
    delta: float = 0.05
    rho: float = 0.1

    def __call__(self, number: int) -> Outcome:
        """All labs with text `number`."""
        population, errors = self.world.population(), self._public_errors(number)
        C, text = self.world.C, SharedRandomness(f"{self.seed} / text {number}")
        prior = Prior.by_errors(C, errors)
        numbers: dict[str, Any] = {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho, "labs": self.labs}
        learner = learner_for(plan("handicap", C, pool="finite", prior=prior, **numbers))
        handicap, usual = [], []
        for lab in _LABS[: self.labs]:
            name = self.seed, number, lab
            found = run_lab(learner, population, self.world.pool_size, text, name).result
            assert isinstance(found.proof, HandicapProof)
            assert found.hypothesis is not None, "handicap always has an answer"
            handicap.append(_choice(population, found.hypothesis, found.labels, found.proof))
            private = PrivateRandomness.simulated(*name)
            pool = population.pool(self.world.pool_size, private)
            best = usual_way(pool, population.labels(pool, private), found.labels, errors)
            usual.append(_choice(population, best, found.labels))
        favourite = _choice(population, prior.first(text, "order", indices=np.arange(len(C))), 0)
        return Outcome(favourite=(favourite,) * self.labs, usual=tuple(usual), handicap=tuple(handicap))

    def _public_errors(self, number: int) -> Counts:
        """How often each model errs on the public items."""
        population, nobody = self.public.population(), PrivateRandomness.simulated(self.seed, number, "public")
        pool = population.pool(self.public.pool_size, nobody)
        everyone = pool.version_space()
        errors = everyone.errors(population.labels(pool, nobody).answer(pool.scan().anywhere(everyone, pool.size)))
        return errors.astype(np.int64)


def _choice(population: Population, model: int, labels: int, proof: HandicapProof | None = None) -> Choice:
    excess = population.error(model) - population.nu
    return Choice(model=model, labels=labels, excess_error=float(excess), proof=proof)


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What one way came to, with all texts."""

    texts: int
    same: int  # texts with which all labs chose one model
    labs: int
    proven: int  # labs that proved their answer
    labels: float  # per lab
    mean: float  # excess error
    median: float

    @classmethod
    def of(cls, ways: Sequence[Sequence[Choice]]) -> Figures:
        """The choices of all labs, for one text after the other."""
        labs = [choice for choices in ways for choice in choices]
        excess = [choice.excess_error for choice in labs]
        return cls(
            texts=len(ways),
            same=sum(map(identical, ways)),
            labs=len(labs),
            proven=sum(choice.certified for choice in labs),
            labels=fmean(choice.labels for choice in labs),
            mean=fmean(excess),
            median=median(excess),
        )
