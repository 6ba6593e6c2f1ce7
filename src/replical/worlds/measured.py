"""How far hypotheses are from each other over given items, and what balls of them dispute; all in units of weight."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import HypothesisClass, Indices
from replical.classes.predictions.packed import PackedPredictions
from replical.classes.thresholds import Thresholds
from replical.core import bits, memory
from replical.core.kernels.balls import Balls, Swept, Tops
from replical.core.kernels.pairs import Distances, Pairs, aligned
from replical.errors import ValueOutOfRange
from replical.pools.pool import ExactPool, Pool
from replical.worlds.population import Population

Measurable = Population | Pool | ExactPool


class Measured(Protocol):
    """Distances of the hypotheses, and balls, over given items; all in units of weight."""

    total: int  # weight of all items
    whole: int  # weight of DIS(C), which no ball exceeds

    def distances(self, centres: Indices) -> Iterator[tuple[Indices, Distances]]:
        """Some of the centres at a time, and how far everyone is from each."""
        ...

    def sweep(self, centre: int, distances: Distances, most: int) -> Swept:
        """The balls around `centre` up to radius `most` at least."""
        ...

    def tops(self, centres: Indices, distances: Distances, inner: int, best: float) -> Tops:
        """The highest ratio disputed/radius of each centre at radii beyond `inner`, if it is `best` or more."""
        ...

    def highest(self, smallest: Fraction) -> Fraction:
        """No ratio at radii from `smallest` on is higher."""
        ...


def measure(C: HypothesisClass, over: Measurable) -> Measured:
    """`C` measured on a population or a pool of it."""
    if over.C.fingerprint != C.fingerprint:
        raise ValueOutOfRange("the population or pool was made for another class")
    items = over.cells if isinstance(over, Population) else over.items
    if isinstance(C, Thresholds):
        return _Line(C.positions(items), over.weights, len(C))
    return _Table(C, items, over.weights)


def one(C: HypothesisClass, centre: int) -> Indices:
    """A single centre, which must be a hypothesis."""
    if not 0 <= centre < len(C):
        raise ValueOutOfRange(f"the centre must be one of the {len(C)} hypotheses, got {centre}")
    return np.array([centre], dtype=np.int64)


class _Line:
    """Thresholds: a ball is everything between two cuts, so what it disputes is left reach plus right reach ≤ 2r."""

    def __init__(self, positions: Indices, weights: NDArray[np.int64], n: int) -> None:
        order = np.argsort(positions, kind="stable")
        mass = np.concatenate(([0], np.cumsum(weights[order])))
        self._depth = mass[np.searchsorted(positions[order], np.arange(n), side="right")]  # below each cut; ascending
        self._places = np.unique(self._depth)
        self.total, self.whole = int(mass[-1]), int(self._depth[-1] - self._depth[0])

    def distances(self, centres: Indices) -> Iterator[tuple[Indices, Distances]]:
        for at in range(len(centres)):
            yield centres[at : at + 1], np.abs(self._depth - self._depth[centres[at]])[None]

    def sweep(self, centre: int, distances: Distances, most: int) -> Swept:
        here, places = self._depth[centre], self._places
        left, right = np.sort(here - places[places <= here]), places[places >= here] - here
        radii = np.unique(np.concatenate((left, right)))
        reach = [side[np.searchsorted(side, radii, side="right") - 1] for side in (left, right)]
        first = np.searchsorted(self._depth, here - radii, side="left")
        return radii, reach[0] + reach[1], np.searchsorted(self._depth, here + radii, side="right") - first

    def tops(self, centres: Indices, distances: Distances, inner: int, best: float) -> Tops:
        return Tops.of(lambda i, _: self.sweep(int(centres[i]), distances[i], self.total), len(centres), inner, best)

    def highest(self, smallest: Fraction) -> Fraction:
        return Fraction(2)


class _Table:
    """Any class: sort the others by distance and OR together where they differ from the centre."""

    def __init__(self, C: HypothesisClass, items: NDArray[np.generic], weights: NDArray[np.int64]) -> None:
        used = np.flatnonzero(weights)
        predictions, weights = PackedPredictions(C, items[used]), weights[used]
        first, kind = predictions.kinds()
        if 2 * len(first) <= len(kind):  # items that no hypothesis tells apart become one
            merged = np.zeros(len(first), dtype=np.int64)
            np.add.at(merged, kind, weights)
            weights = merged
        else:
            first = np.arange(len(kind))
        everyone = np.arange(len(C), dtype=np.int64)
        self.total = int(weights.sum())
        self.whole = int(weights[predictions.disagreement(everyone, first)].sum())
        self._least = int(weights.min())
        _refuse_what_cannot_fit(C, len(first))
        planes, heavy = aligned(predictions.turned(first)), None if (weights == 1).all() else weights
        self._pairs, self._balls = Pairs(planes, heavy), Balls(planes, heavy, whole=self.whole)

    def distances(self, centres: Indices) -> Iterator[tuple[Indices, Distances]]:
        return self._pairs.blocks(centres)

    def sweep(self, centre: int, distances: Distances, most: int) -> Swept:
        return self._balls.sweep(centre, distances, most)

    def tops(self, centres: Indices, distances: Distances, inner: int, best: float) -> Tops:
        return self._balls.tops(centres, distances, inner=inner, best=best)

    def highest(self, smallest: Fraction) -> Fraction:
        return self.whole / max(Fraction(self._least), smallest)  # no positive radius is smaller


def _refuse_what_cannot_fit(C: HypothesisClass, items: int) -> None:
    """Rows of hypotheses are held twice while they are laid out."""
    needed = 2 * bits.planes_for(len(C.labels)) * len(C) * bits.words_for(items) * 8
    memory.check(needed, f"distances of {len(C)} hypotheses on {items} items", lambda _: "use a smaller class or pool")
