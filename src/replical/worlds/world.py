"""What both labs of every pair of an audit live in: a class, a population for any target, and the size of their pools."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import HypothesisClass, Items
from replical.classes.predictions import Predictions, predictions_of
from replical.errors import ValueOutOfRange
from replical.worlds.noise import Noise
from replical.worlds.population import Population


@dataclass(frozen=True, kw_only=True)
class World:
    """What both labs of every pair live in.

    Attributes
    ----------
    C
        The class.
    cells
        Checked items, one a cell; the class's own cells if left out.
    weights
        Integer masses of the cells; equal if left out.
    noise
        Probability that a label is replaced by another one, or `BoundaryNoise`.
    pool_size
        Items in each lab's pool, or ``"exact"``: the distribution itself.
    law
        Probabilities of the labels, one row a cell, instead of a target and noise.
    shift
        How far labs' populations are apart: labs with even and with odd numbers have masses tilted in opposite directions,
        by factors within 1 ± `shift` (`replical.worlds.shift`). Not with a law, whose best hypothesis might change.

    Raises
    ------
    ValueOutOfRange
        If there is a shift and a law.

    Examples
    --------
    >>> from replical import Thresholds
    >>> World(C=Thresholds(11), noise=.1).population(target=4).error(7)
    Fraction(17, 50)
    """

    C: HypothesisClass
    cells: Items | None = None
    weights: NDArray[np.int64] | None = None
    noise: Noise = 0.0
    pool_size: int | str = "exact"
    law: NDArray[np.float64] | None = None
    shift: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what leaves labs without a best hypothesis in common."""
        if self.shift and self.law is not None:
            raise ValueOutOfRange(
                f"labs that differ by a shift of {self.shift:g} have one best hypothesis, and under a law it may change: "
                "give noise instead of the law, or no shift"
            )

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
        if self.law is not None:
            return Population(
                self.C, cells=self.cells, weights=self.weights, law=self.law, predictions=self.predictions
            )
        return Population(
            self.C,
            target=target,
            cells=self.cells,
            weights=self.weights,
            noise=self.noise,
            predictions=self.predictions,
        )

    def light(self) -> World:
        """The same world for a journey: without what whoever gets it can compute."""
        cells = self.cells
        own = None if cells is None else self.C.cells()
        known = cells is not None and own is not None and np.array_equal(own, cells)
        return replace(self, cells=None if known else cells)
