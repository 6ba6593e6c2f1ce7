"""Balls around a hypothesis, and how much they dispute as they grow.

B(h, r) = {h' : d(h, h') ≤ r} is closed. Reference: the paper's section "Disagreement Coefficient"; docs/claims/theta.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import HypothesisClass, Indices
from replical.core.exact import fraction
from replical.errors import ValueOutOfRange
from replical.worlds.measured import Measurable, measure, one


def ball(C: HypothesisClass, over: Measurable, h: int, r: float) -> Indices:
    """B(h, r): the hypotheses that differ from `h` on at most `r` of the mass.

    Parameters
    ----------
    C, over
        As for `theta`.
    h
        The centre.
    r
        The radius, read as the decimal it prints as; the ball is closed.

    Returns
    -------
    hypotheses
        Their indices, in order; `h` is one of them.

    Raises
    ------
    ValueOutOfRange
        If `r` is not in [0, 1], `h` is no hypothesis, or `over` is of another class.

    Examples
    --------
    >>> from replical import Population, Thresholds
    >>> C = Thresholds(11)
    >>> ball(C, Population(C, target=0), 5, .2)
    array([3, 4, 5, 6, 7])
    """
    if not 0 <= r <= 1:
        raise ValueOutOfRange(f"a radius must be in [0, 1], got {r:g}")
    measured = measure(C, over)
    _, distances = next(measured.distances(one(C, h)))
    inside: Indices = np.flatnonzero(distances[0] <= math.floor(fraction(r) * measured.total))
    return inside


@dataclass(frozen=True, kw_only=True)
class Curve:
    """The balls around one hypothesis, from the smallest to the largest; `curve` makes it.

    Attributes
    ----------
    centre
        The hypothesis.
    radii
        Every distance that some hypothesis has from it, ascending, as weights of items; the first is 0.
    disputed
        The weight of the items on which members of the ball of that radius differ.
    members
        How many hypotheses are in it, the centre included.
    total
        The weight of all items: a radius is ``radii / total``.
    """

    centre: int
    radii: Indices
    disputed: Indices
    members: Indices
    total: int

    @cached_property
    def ratios(self) -> NDArray[np.float64]:
        """Δ(B(h, r))/r at every radius; 0 at radius 0."""
        ratios: NDArray[np.float64] = np.zeros(len(self.radii))
        np.divide(self.disputed, self.radii, out=ratios, where=self.radii > 0)
        return ratios


def curve(C: HypothesisClass, over: Measurable, h: int) -> Curve:
    """The curve r ↦ Δ(B(h, r))/r, whose highest point is Θ(h), at every radius where the ball grows.

    Parameters
    ----------
    C, over
        As for `theta`.
    h
        The centre.

    Returns
    -------
    curve
        Radii, what each ball disputes, and how many hypotheses are in it.

    Raises
    ------
    ValueOutOfRange
        If `h` is no hypothesis, or `over` is of another class.

    Examples
    --------
    >>> from replical import Population, Star
    >>> C = Star(4)
    >>> found = curve(C, Population(C, target=0), 0)
    >>> found.radii, found.disputed, found.ratios
    (array([0, 1]), array([0, 4]), array([0., 4.]))
    """
    measured = measure(C, over)
    _, distances = next(measured.distances(one(C, h)))
    swept = measured.sweep(h, distances[0], measured.total)
    return Curve(centre=h, radii=swept[0], disputed=swept[1], members=swept[2], total=measured.total)
