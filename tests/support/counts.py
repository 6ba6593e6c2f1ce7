"""Finite pools of any size by counts: what a learner that scans sees of them, without their items.

On independent items a scan enters a run of ReplicA² through three kinds of numbers: how many of the items that measure
fell into each cell, how many were scanned until k disputed ones were found (a negative binomial number), and how many
of the items asked fell into each cell. They are drawn here; the learner and its plan are the product's own. In pools of
10⁹ items no cell runs out, and that is all that differs.
"""

import numpy as np

from replical import Population
from replical.core.randomness import PrivateRandomness
from replical.pools.pool import ExactPool
from replical.pools.query import multinomial
from replical.pools.scan import ExactScan
from replical.pools.version_space import VersionSpace


class CountedPopulation(Population):
    """A population whose pools have any number of independent items."""

    def pool(self, size: int | str, private: PrivateRandomness) -> "CountedPool":
        return CountedPool(self.C, self.cells, self.weights, private, self.predictions)


class CountedPool(ExactPool):
    """A pool whose masses are measured on the items set aside, and whose other items never run out."""

    exact = False
    size = 2**62
    measured = None  # a pool of which nothing is set aside is large enough to know its masses

    def reserve(self, measuring: int) -> "CountedPool":
        if measuring == 0:
            return self
        pool = CountedPool(self.C, self.items, self.weights, self._private, self.predictions)
        pool.measured = multinomial(self._private.generator("measuring"), measuring, self.weights)
        return pool

    def version_space(self) -> VersionSpace:
        weights = self.weights if self.measured is None else self.measured
        return VersionSpace.whole(self.C, self.items, weights, self.predictions)

    def scan(self, *, sparing: int = 0) -> "CountedScan":
        return CountedScan(self.weights, self._private.generator("draws"))


class CountedScan(ExactScan):
    """Draws with the masses of the population, whatever the version space has measured."""

    def mass(self, V):
        return self._weights[V.disputed].sum() / self._weights.sum()

    def draw(self, V, k):
        scanned = k + int(self._generator.negative_binomial(k, self.mass(V)))
        return self._draw(V, V.disputed, k, scanned=scanned)

    def inside(self, V, count):
        return int(np.asarray(self._generator.binomial(count, self.mass(V))))
