"""The labs of a pair: their runs with the string they share, and controls, which are labs without it.

A control takes from the labs of a pair what they have in common. Strings of their own: nothing is common. A threshold or an
order of their own: one part of the string is not common, the rest is. And labs without any method, which return what errs
least on as many labels, ties by strings of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from replical.classes.prior import UNIFORM
from replical.core.randomness import Indices, PrivateRandomness, SharedRandomness, Words
from replical.errors import ReplicalError
from replical.learners.base import Learner, learn
from replical.learners.catalogue import LEARNERS
from replical.learners.result import Result
from replical.worlds.world import Population

CONTROLLED = 40  # pairs of an audit, the first ones, that are run with controls too
PARTS = ("threshold", "order")  # of the string, whose work is told apart
Name = tuple[str | int, ...]


def pair_string(seed: str, number: int) -> str:
    """The string that the two labs of pair `number` share, in an audit with this `seed`."""
    return f"{seed} / pair {number}"


def run_lab(
    learner: Learner, population: Population, pool_size: int | str, shared: SharedRandomness, name: Name
) -> Lab:
    """One lab: its own pool, its own draws, its own labels."""
    private = PrivateRandomness.simulated(*name)
    pool = population.pool(pool_size, private)
    labels = population.labels(pool, private)
    result = learn(learner, pool, labels, shared)
    error = Fraction(1) if result.hypothesis is None else population.error(result.hypothesis)  # no answer is no use
    return Lab(result=result, excess_error=error - population.nu)


@dataclass(frozen=True, kw_only=True)
class Lab:
    """One lab's run.

    Attributes
    ----------
    result
        What the run returned.
    excess_error
        Error of its answer above ν, the smallest of the class; no answer counts as always wrong.
    """

    result: Result
    excess_error: Fraction


class OwnString(SharedRandomness):
    """A lab's own string in place of the common one, or in place of one `part` of it; `names` are those it was asked for."""

    def __init__(self, common: str, own: str, part: str | None = None) -> None:
        super().__init__(own if part is None else common)
        self._common, self._own, self._part = SharedRandomness(common), SharedRandomness(own), part
        self.names: set[str] = set()

    def derived(self, *name: str | int) -> SharedRandomness:
        """A string made from whichever this name belongs to."""
        return self._source(name).derived(*name)

    def words(self, *name: str | int, start: int = 0, count: int) -> Words:
        """The words of a name."""
        return self._source(name).words(*name, start=start, count=count)

    def ranks(self, *name: str | int, indices: Indices) -> Words:
        """The words of a name at some indices."""
        return self._source(name).ranks(*name, indices=indices)

    def _source(self, name: Name) -> SharedRandomness:
        self.names.add(str(name[0]))
        return self._own if self._part in (None, name[0]) else self._common


@dataclass(frozen=True, kw_only=True)
class Controls:
    """Do the two labs of a pair agree with less in common? None where the learner does not use that part of the string.

    Attributes
    ----------
    own_string
        With strings of their own.
    own_threshold, own_order
        With a threshold or an order of their own, all else of the string in common.
    fewest_errors
        If they return a hypothesis with fewest errors on as many labels, ties by strings of their own.
    """

    own_string: bool
    own_threshold: bool | None
    own_order: bool | None
    fewest_errors: bool


def is_controlled(learner: Learner) -> bool:
    """Does it promise that labs agree, so that controls say something?"""
    record = LEARNERS.get(learner.plan.learner)
    return record is None or record.replicable


def controls(
    learner: Learner,
    population: Population,
    pool_size: int | str,
    seed: str,
    number: int,
    results: tuple[Result, Result],
) -> Controls:
    """The pair with this number again, whose labs had these `results` with a common string.

    The first lab keeps the common string, so that only the second one has to run again with another.
    """
    common, names = pair_string(seed, number), ((seed, number, "A"), (seed, number, "B"))

    def agrees(shared: SharedRandomness) -> bool:
        try:
            answer = run_lab(learner, population, pool_size, shared, names[1]).result.hypothesis
        except ReplicalError:  # e.g. no hypothesis is left: no answer
            return False
        return answer is not None and answer == results[0].hypothesis

    own = OwnString(common, f"{common}, B")
    own_string = agrees(own)
    parts = {
        part: agrees(OwnString(common, f"{common}, B", part)) if part in own.names and len(own.names) > 1 else None
        for part in PARTS
    }
    one, two = (
        fewest_errors(population, pool_size, result.labels, SharedRandomness(f"{common}, {name[2]}"), name)
        for result, name in zip(results, names, strict=True)
    )
    return Controls(
        own_string=own_string, own_threshold=parts["threshold"], own_order=parts["order"], fewest_errors=one == two
    )


def fewest_errors(population: Population, pool_size: int | str, labels: int, own: SharedRandomness, name: Name) -> int:
    """What errs least on so many labels of items on which hypotheses differ; ties by the lab's `own` string."""
    private = PrivateRandomness.simulated(*name)
    pool = population.pool(pool_size, private)
    V, scan = pool.version_space(), pool.scan()
    query = scan.draw(V, labels) if pool.exact else scan.some(V, labels)
    errors = V.errors(population.labels(pool, private).answer(query))
    return V.keep(errors == errors.min()).first(own, UNIFORM)
