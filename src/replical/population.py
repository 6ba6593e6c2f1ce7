"""A known distribution over cells with noisy labels: the world of a simulation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from replical.classes.base import Codes, HypothesisClass, Items
from replical.errors import ValueOutOfRange
from replical.exact import fraction
from replical.pool import ExactPool, Pool, cell_weights
from replical.query import Answers, Counts, Query, blank_counts
from replical.randomness import PrivateRandomness
from replical.scan import LARGEST_DRAW


class Population:
    """Cells with integer masses; the label of a cell is the target's, flipped with probability `noise`.

    Parameters
    ----------
    C
        The hypothesis class.
    target
        Index of the hypothesis that gives the labels.
    cells
        Checked items (``C.items(X)``), one a cell; the class's own cells if left out.
    weights
        Integer masses of the cells; equal if left out.
    noise
        Probability that a label is replaced by a uniformly chosen other one.

    Examples
    --------
    >>> from replical import Thresholds
    >>> world = Population(Thresholds(11), target=4)
    >>> world.error(7)
    Fraction(3, 10)
    """

    def __init__(
        self,
        C: HypothesisClass,
        *,
        target: int,
        cells: Items | None = None,
        weights: ArrayLike | None = None,
        noise: float = 0.0,
    ) -> None:
        if not 0 <= target < len(C):
            raise ValueOutOfRange(f"the target must be one of the {len(C)} hypotheses, got {target}")
        most = 1 - 1 / len(C.labels)
        if not 0 <= noise < most:
            raise ValueOutOfRange(f"noise must be in [0, {most:g}) so that the target stays the best, got {noise:g}")
        listed = C.cells() if cells is None else cells
        if listed is None:
            raise ValueOutOfRange("this class does not list its cells: give the items of the population")
        self.C, self.cells, self.noise = C, listed, noise
        self.weights = cell_weights(weights, len(listed))
        self.target = target
        self._truth = self.codes(target)

    def codes(self, h: int) -> Codes:
        """What hypothesis `h` says in each cell."""
        codes: Codes = self.C.codes(self.cells, np.array([h]))[0]
        return codes

    def pool(self, size: int | str, private: PrivateRandomness) -> Pool | ExactPool:
        """A lab's sample of `size` independent items, or ``"exact"``: the distribution itself."""
        if not isinstance(private, PrivateRandomness):
            raise ValueOutOfRange(f"a lab draws its pool with private randomness, got {type(private).__name__}")
        if size == "exact":
            return ExactPool(self.C, self.cells, self.weights, private)
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ValueOutOfRange(f"a pool size must be a whole number of at least 1 or 'exact', got {size!r}")
        generator, mass = private.generator("pool"), np.cumsum(self.weights)
        drawn = generator.integers(int(mass[-1]), size=size)
        if (self.weights != 1).any():  # otherwise tick i falls into cell i
            drawn = np.searchsorted(mass, drawn, side="right").astype(np.int64)
        everything = np.arange(max(size, len(self.cells)), dtype=np.int64)
        if size < len(self.cells):  # mostly different cells: hold the items drawn, not every cell
            return Pool.in_order(self.C, self.cells[drawn], ids=drawn, order=everything[:size])
        return Pool.in_order(self.C, self.cells, ids=everything[: len(self.cells)], order=drawn)

    def labels(self, pool: Pool | ExactPool, private: PrivateRandomness) -> PopulationLabels:
        """Answers for the items of a pool that this population gave, from the first one on."""
        return PopulationLabels(
            self._truth[pool.ids], labels=len(self.C.labels), noise=self.noise, generator=private.generator("labels")
        )

    def error(self, h: int) -> Fraction:
        """err(h), exactly."""
        differs = Fraction(int(self.weights[self.codes(h) != self._truth].sum()), int(self.weights.sum()))
        flipped = fraction(self.noise)
        hit = flipped / (len(self.C.labels) - 1)  # where h differs, a flip makes it right this often
        return differs * (1 - hit) + (1 - differs) * flipped


class PopulationLabels:
    """Labels drawn when they are asked for; no item is asked twice, so this equals drawing them beforehand."""

    def __init__(self, truth: Codes, *, labels: int, noise: float, generator: np.random.Generator) -> None:
        self._truth, self._labels, self._noise, self._generator = truth, labels, noise, generator

    def answer(self, query: Query) -> Answers:
        """The target's label, some of them flipped."""
        truth = self._truth[query.items]
        answers = Answers.unanimous(query, truth, self._labels)
        if self._noise:
            flipped, rows = self._flip(query.counts), np.arange(len(truth))
            others = (truth[:, None] + np.arange(1, self._labels)) % self._labels
            answers.counts[rows, truth] -= flipped.sum(axis=1)
            answers.counts[rows[:, None], others] += flipped
        return answers

    def _flip(self, counts: Counts) -> Counts:
        """How many labels of each item become each of the other labels."""
        flipped = blank_counts((len(counts), self._labels - 1), counts)
        rest = counts
        while rest.any():
            part = np.minimum(rest, LARGEST_DRAW).astype(np.int64)
            wrong = self._generator.binomial(part, self._noise)
            flipped += self._generator.multinomial(wrong, [1 / (self._labels - 1)] * (self._labels - 1))
            rest = rest - part
        return flipped
