"""Several labs with one published text: what `handicap` lets them choose, beside the most accurate model on as many labels.

Everything about text number i follows from the seed and i alone, so the figures are always the same, however many
processes compute them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from replical.classes.prior import UNIFORM, Prior
from replical.core.randomness import PrivateRandomness, SharedRandomness
from replical.learners.base import Learner
from replical.learners.planning import learner_for, plan
from replical.learners.result import Verdict
from replical.worlds.audit import run_lab
from replical.worlds.vote_worlds import order_from
from replical.worlds.world import Population, World

_LABS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What one lab chose."""

    model: int | None  # its index
    labels: int  # that the lab asked for
    excess_error: float  # how much more often the model errs than the best one
    verdict: Verdict | None = None  # what the lab proved; None where it proves nothing

    @property
    def certified(self) -> bool:
        """Did the lab prove that this is the answer the text asks for?"""
        return self.verdict is not None and self.verdict.certified


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """All labs with one text."""

    text: str  # what was published
    handicap: tuple[Choice, ...]  # what each lab chose by the protocol
    argmax: tuple[Choice, ...]  # fewest errors on as many labels of its own; of several the first in the list
    in_order: tuple[Choice, ...]  # the same; of several the first in the order that the labs share

    @property
    def proven(self) -> bool:
        """Is every lab certified, and all have the identical model?"""
        return identical(self.handicap) and all(choice.certified for choice in self.handicap)


def identical(choices: tuple[Choice, ...]) -> bool:
    """Did all labs choose one and the same model?"""
    return len({choice.model for choice in choices}) == 1


@dataclass(frozen=True, kw_only=True)
class ArgmaxComparison:
    """Call it with 0, 1, 2, .. for one text after the other.

    Examples
    --------
    >>> from replical.worlds.datasets import twelve_models
    >>> first = ArgmaxComparison(world=twelve_models(2000), seed="doctest")(0)
    >>> first.proven, identical(first.argmax)
    (True, False)
    """

    world: World
    seed: str  # from which the texts and everything random are made
    labs: int = 3
    public: int | None = (
        100  # labelled items of nobody, new for every text, that order the models; None: random handicaps
    )
    epsilon: float = 0.05
    delta: float = 0.05
    rho: float = 0.1

    def __call__(self, number: int) -> Outcome:
        """All labs with text `number`."""
        population, text = self.world.population(), f"{self.seed} / text {number}"
        prior = UNIFORM if self.public is None else self._order(population, number)
        handicap = self._learner("handicap", prior, rho=self.rho, labs=self.labs)
        labs = {lab: self._choice(handicap, population, text, number, lab) for lab in _LABS[: self.labs]}
        listed = Prior.order(self.world.C, range(len(self.world.C)))

        def fewest(ties: Prior) -> tuple[Choice, ...]:
            return tuple(
                self._choice(self._learner("erm", ties, k_final=choice.labels), population, text, number, lab)
                for lab, choice in labs.items()
            )

        return Outcome(text=text, handicap=tuple(labs.values()), argmax=fewest(listed), in_order=fewest(prior))

    def _order(self, population: Population, number: int) -> Prior:
        nobody = PrivateRandomness.simulated(self.seed, number, "public")
        assert self.public is not None, "asked only where there are public items"
        pool = population.pool(self.public, nobody)
        return order_from(pool, population.labels(pool, nobody))

    def _learner(self, name: str, prior: Prior, **options: Any) -> Learner:
        options |= {"epsilon": self.epsilon, "delta": self.delta}
        return learner_for(plan(name, self.world.C, pool="finite", prior=prior, **options))

    def _choice(self, learner: Learner, population: Population, text: str, number: int, lab: str) -> Choice:
        name = self.seed, number, lab
        ran = run_lab(learner, population, self.world.pool_size, SharedRandomness(text), name)
        result = ran.result
        return Choice(
            model=result.hypothesis,
            labels=int(result.labels),
            excess_error=float(ran.excess_error),
            verdict=result.verdict,
        )
