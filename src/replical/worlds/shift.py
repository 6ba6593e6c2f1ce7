"""Labs whose populations differ: one world, tilted two ways, as far apart as a shift allows."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

import numpy as np
from numpy.typing import NDArray

from replical.errors import ValueOutOfRange
from replical.pools.version_space import VersionSpace
from replical.worlds.population import Population

_PARTS = 10**9  # laws are held in billionths: docs/decisions/0008
_SOME = 256  # hypotheses from whom we learn which cells are near the target


@dataclass(frozen=True)
class Tilted:
    """Two populations with one target, for labs with even and with odd numbers."""

    one: Population
    other: Population

    def of(self, lab: int) -> Population:
        """Where lab number `lab` lives."""
        return self.other if lab % 2 else self.one


def tilted(population: Population, shift: float) -> Tilted:
    """Two tilts of a `population`: in each every cell has its mass times a factor within 1 ± `shift`.

    Half of the mass, the cells nearest to the target, is heavier in one and lighter in the other, so that distances to the
    target are about 1 + `shift` and 1 - `shift` times what they were: about the worst that such populations can do. The
    target and the labels of a cell stay.

    Raises
    ------
    ValueOutOfRange
        If the masses are too large to be tilted.

    Examples
    --------
    >>> from replical import Thresholds
    >>> two = tilted(Population(Thresholds(11), target=5), 0.1)
    >>> [round(float(world.error(7)), 3) for world in (two.one, two.other)]  # of 2 cells in 10
    [0.22, 0.18]
    """
    if shift == 0:
        return Tilted(population, population)
    near = _near(population)
    return Tilted(*(_tilt(population, near, sign * max(0, floor(shift * _PARTS) - 2)) for sign in (1, -1)))


def _near(population: Population) -> NDArray[np.bool_]:
    """The cells on which hypotheses close to the target differ from it, nearest first, up to half of the mass."""
    weights, truth = population.weights, population.codes(population.target)
    whole = VersionSpace.whole(population.C, population.cells, weights, population.predictions)
    nearest = np.argsort(whole.distances(population.target), kind="stable")
    near, half = np.zeros(len(weights), dtype=np.bool_), int(weights.sum()) // 2
    for h in nearest[np.unique(np.linspace(0, len(nearest) - 1, min(len(nearest), _SOME)).astype(np.int64))]:
        grown = near | (population.codes(int(h)) != truth)
        if int(weights[grown].sum()) > half:
            break
        near = grown
    return near


def _tilt(population: Population, near: NDArray[np.bool_], parts: int) -> Population:
    """Near cells heavier by so many billionths, the others lighter by as much mass in all.

    Both factors are rounded to billionths, so the sum may be off by a billionth of itself; the two that `tilted` leaves out
    keep every density ratio within the shift all the same.
    """
    weights = population.weights
    total, inside = int(weights.sum()), int(weights[near].sum())
    if total >= 2**62 // (2 * _PARTS):
        raise ValueOutOfRange(
            f"a world whose cells have a mass of {total} in all cannot be tilted: give smaller weights"
        )
    lighter = parts * inside // max(1, total - inside)  # the near cells are at most half of the mass
    factors = np.where(near, _PARTS + parts, _PARTS - lighter)
    return Population(
        population.C,
        target=population.target,
        cells=population.cells,
        weights=weights * factors,
        noise=population.noise,
        predictions=population.predictions,
    )
