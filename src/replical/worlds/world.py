"""The world of a simulation: a known distribution over cells with noisy labels, and the pools that labs draw from it.

A `World` is a class, a `Population` for any target, and the size of the pools. Probabilities of labels are held as whole
parts of a billion, so that errors and the best error ν are exact fractions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replical.classes.base import Codes, HypothesisClass, Items
from replical.classes.predictions.base import Predictions, predictions_of
from replical.core.randomness import PrivateRandomness
from replical.errors import BadSpec, ValueOutOfRange
from replical.pools.pool import ExactPool, Pool, cell_weights
from replical.pools.query import Answers, Query, binomial, blank_counts
from replical.pools.version_space import VersionSpace


def parse_noise(text: str) -> float:
    """Read a rate such as ``0.05``."""
    try:
        return float(text)
    except ValueError:
        raise BadSpec(
            f"malformed noise {text!r}; write a rate such as 0.05 (replical.World(law=..) takes any probabilities)"
        ) from None


_PARTS = 10**9  # probabilities are multiples of a billionth

Law = NDArray[np.int64]


class Population:
    """Cells with integer masses, each with a distribution of labels.

    Parameters
    ----------
    C
        The hypothesis class.
    target
        Index of the hypothesis that gives the labels before noise; not with `law`.
    cells
        Checked items (``C.items(X)``), one a cell; the class's own cells if left out.
    weights
        Integer masses of the cells; equal if left out.
    noise
        Probability that a label is replaced by a uniformly chosen other one.
    law
        Probabilities of the labels, one row a cell, instead of a target and noise: any distribution can be written
        down. The target is then a best hypothesis.
    predictions
        What every hypothesis says in each cell, where that is known already.

    Raises
    ------
    ValueOutOfRange
        If there is not exactly one of `target` and `law`, the target is no hypothesis, noise is so strong that the
        target is not the best, the law holds no probabilities, or the class lists no cells and none are given.

    Examples
    --------
    >>> from replical import Thresholds
    >>> world = Population(Thresholds(11), target=4, noise=0.1)
    >>> world.nu, world.error(7)
    (Fraction(1, 10), Fraction(17, 50))
    """

    def __init__(
        self,
        C: HypothesisClass,
        *,
        target: int | None = None,
        cells: Items | None = None,
        weights: ArrayLike | None = None,
        noise: float = 0.0,
        law: ArrayLike | None = None,
        predictions: Predictions | None = None,
    ) -> None:
        listed = C.cells() if cells is None else cells
        if listed is None:
            raise ValueOutOfRange("this class does not list its cells: give the items of the population")
        self.C, self.cells, self.noise = C, listed, noise
        self.weights = cell_weights(weights, len(listed))
        self.predictions = predictions_of(C, listed) if predictions is None else predictions
        if (target is None) == (law is None):
            raise ValueOutOfRange("a population needs either a target or a law of the labels")
        self._law = None if law is None else _whole_parts(law, (len(listed), len(C.labels)))
        self.target = self._best() if target is None else self._check_target(target)

    def _check_target(self, target: int) -> int:
        if isinstance(target, bool) or not isinstance(target, int | np.integer) or not 0 <= target < len(self.C):
            raise ValueOutOfRange(f"the target must be one of the {len(self.C)} hypotheses, got {target}")
        most = 1 - 1 / len(self.C.labels)
        if not 0 <= self.noise < most:
            raise ValueOutOfRange(
                f"noise must be in [0, {most:g}) so that the target stays the best, got {self.noise:g}"
            )
        if self.noise:
            self._law = _noisy_law(self.predictions.codes(target), self.noise, len(self.C.labels))
        return int(target)

    def _best(self) -> int:
        """The first hypothesis of smallest error."""
        assert self._law is not None, "only called where the law is given"
        V = VersionSpace.whole(self.C, self.cells, self.weights, self.predictions)
        counts = self.weights.astype(object)[:, None] * self._law
        return int(np.argmin(V.errors(Answers(items=np.arange(len(self.cells)), counts=counts))))

    def codes(self, h: int) -> Codes:
        """What hypothesis `h` says in each cell."""
        return self.predictions.codes(h)

    def pool(self, size: int | str, private: PrivateRandomness) -> Pool | ExactPool:
        """A lab's own pool.

        Parameters
        ----------
        size
            Independent items to draw, or ``"exact"``: the distribution itself.
        private
            This lab's own randomness.

        Returns
        -------
        pool
            A `Pool` in the order drawn, or an `ExactPool`.

        Raises
        ------
        ValueOutOfRange
            If `size` is neither, or `private` is not private randomness.
        """
        if not isinstance(private, PrivateRandomness):
            raise ValueOutOfRange(f"a lab draws its pool with private randomness, got {type(private).__name__}")
        if isinstance(size, str) and size == "exact":
            return ExactPool(self.C, self.cells, self.weights, private, self.predictions)
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or not 1 <= size < 2**40:
            raise ValueOutOfRange(f"a pool size must be a whole number of at least 1 or 'exact', got {size!r}")
        generator, mass = private.generator("pool"), np.cumsum(self.weights)
        drawn = generator.integers(int(mass[-1]), size=int(size))
        if (self.weights != 1).any():  # otherwise tick i falls into cell i
            drawn = np.searchsorted(mass, drawn, side="right").astype(np.int64)
        if size < len(self.cells):  # mostly different cells: hold the items drawn, not every cell
            chosen = self.predictions.take(drawn)
            return Pool.in_order(self.C, self.cells[drawn], drawn, np.arange(int(size), dtype=np.int64), chosen)
        return Pool.in_order(self.C, self.cells, np.arange(len(self.cells), dtype=np.int64), drawn, self.predictions)

    def labels(self, pool: Pool | ExactPool, private: PrivateRandomness) -> PopulationLabels:
        """A source of labels for the items of a `pool` that this population gave; `private` draws the noise."""
        return PopulationLabels(
            self.codes(self.target)[pool.ids],
            law=None if self._law is None else self._law[pool.ids],
            labels=len(self.C.labels),
            private=private,
        )

    def error(self, h: int) -> Fraction:
        """The error of hypothesis `h`, exactly.

        Raises
        ------
        ValueOutOfRange
            If there is no such hypothesis.
        """
        if not 0 <= h < len(self.C):
            raise ValueOutOfRange(f"the class has {len(self.C)} hypotheses, numbered from 0, got {h}")
        total, says = int(self.weights.sum()), self.codes(h)
        if self._law is None:
            return Fraction(int(self.weights[says != self.codes(self.target)].sum()), total)
        parts = int(self._law[0].sum())
        right = self._law[np.arange(len(says)), says]
        wide = self.weights if total < 2**62 // parts else self.weights.astype(object)
        return 1 - Fraction(int((wide * right).sum()), total * parts)

    @cached_property
    def nu(self) -> Fraction:
        """ν, the smallest error of the class, exactly: the target's, because noise leaves it the best everywhere."""
        return self.error(self.target)


def _whole_parts(law: ArrayLike, shape: tuple[int, int]) -> Law:
    """Probabilities as whole parts of a billion that add up."""
    probabilities = np.asarray(law, dtype=np.float64)
    if probabilities.shape != shape:
        raise ValueOutOfRange(
            f"a law needs {shape[0]} rows of {shape[1]} probabilities, got shape {probabilities.shape}"
        )
    if not ((probabilities >= 0).all() and (np.abs(probabilities.sum(axis=1) - 1) < 1e-9).all()):
        raise ValueOutOfRange("every row of a law must be probabilities that add up to 1")
    parts = np.rint(probabilities * _PARTS).astype(np.int64)
    parts[np.arange(len(parts)), parts.argmax(axis=1)] += _PARTS - parts.sum(axis=1)
    return parts


def _noisy_law(truth: Codes, rate: float, labels: int) -> Law:
    """The target's label, replaced by a uniformly chosen other one at this rate."""
    flips = round(rate * _PARTS)
    law = np.full((len(truth), labels), flips, dtype=np.int64)
    law[np.arange(len(truth)), truth] = (_PARTS - flips) * (labels - 1)
    return law


class PopulationLabels:
    """Labels drawn when they are asked for; no item is asked twice, so this equals drawing them beforehand.

    Made by `Population.labels`.

    Parameters
    ----------
    truth
        The target's label code of each item.
    law
        Parts of each label, one row an item; None where labels are never flipped.
    labels
        How many labels there are.
    private
        This lab's own randomness.
    """

    def __init__(self, truth: Codes, *, law: Law | None, labels: int, private: PrivateRandomness) -> None:
        self._truth, self._law, self._labels, self._private = truth, law, labels, private

    @cached_property
    def _generator(self) -> np.random.Generator:
        return self._private.generator("labels")

    @property
    def truth(self) -> Codes | None:
        """The label of each item, where no other ever comes back."""
        return self._truth if self._law is None else None

    def answer(self, query: Query) -> Answers:
        """Labels for `query`, drawn with their probabilities."""
        if self._law is None:
            return Answers.unanimous(query, self._truth[query.items], self._labels)
        law = self._law[query.items]
        counts = blank_counts((len(query.items), self._labels), query.counts)
        rest, left = query.counts, law.sum(axis=1)
        for label in range(self._labels - 1):
            counts[:, label] = binomial(self._generator, rest, law[:, label] / np.maximum(left, 1))
            rest, left = rest - counts[:, label], left - law[:, label]
        counts[:, -1] = rest
        return Answers(items=query.items, counts=counts)


@dataclass(frozen=True, kw_only=True)
class World:
    """What the labs of an audit draw their items and labels from.

    Attributes
    ----------
    C
        The class.
    cells
        Checked items, one a cell; the class's own cells if left out.
    weights
        Integer masses of the cells; equal if left out.
    noise
        Probability that a label is replaced by another one.
    pool_size
        Items in each lab's pool, or ``"exact"``: the distribution itself.
    law
        Probabilities of the labels, one row a cell, instead of a target and noise.

    Examples
    --------
    >>> from replical import Thresholds
    >>> World(C=Thresholds(11), noise=.1).population(target=4).error(7)
    Fraction(17, 50)
    """

    C: HypothesisClass
    cells: Items | None = None
    weights: NDArray[np.int64] | None = None
    noise: float = 0.0
    pool_size: int | str = "exact"
    law: NDArray[np.float64] | None = None

    @cached_property
    def predictions(self) -> Predictions:
        """What every hypothesis says in each cell: computed once a process, used by every pair.

        Raises
        ------
        ValueOutOfRange
            If the class does not list its cells and none are given.
        """
        listed = self.C.cells() if self.cells is None else self.cells
        if listed is None:
            raise ValueOutOfRange("this class does not list its cells: give the items of the world")
        return predictions_of(self.C, listed)

    def population(self, target: int = 0) -> Population:
        """The world with one `target`; where a law is given, the target is a best hypothesis instead."""
        return Population(
            self.C,
            target=target if self.law is None else None,
            cells=self.cells,
            weights=self.weights,
            noise=self.noise,
            law=self.law,
            predictions=self.predictions,
        )

    def light(self) -> World:
        """The same world for a journey: without what whoever gets it can compute."""
        cells = self.cells
        own = None if cells is None else self.C.cells()
        known = cells is not None and own is not None and np.array_equal(own, cells)
        return replace(self, cells=None if known else cells)
