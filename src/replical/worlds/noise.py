"""Label noise of a simulated world: where labels are flipped, and how often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import HypothesisClass, Items
from replical.errors import BadSpec, ValueOutOfRange

Rates = NDArray[np.float64]


@runtime_checkable
class HasMargin(Protocol):
    """A class whose hypotheses have a decision boundary."""

    def margin(self, items: Items, h: int) -> Rates:
        """Distance of each of `items` from the boundary of `h`."""
        ...


@dataclass(frozen=True, kw_only=True)
class BoundaryNoise:
    """Labels are flipped near the target's boundary only.

    Attributes
    ----------
    rate
        Probability that a label there is replaced by another one.
    radius
        How near: distance from the boundary, as the class measures it.

    Examples
    --------
    >>> from replical import Population, Thresholds
    >>> Population(Thresholds(11), target=4, noise=BoundaryNoise(rate=.25, radius=.1)).nu
    Fraction(1, 20)
    """

    rate: float
    radius: float


Noise = float | BoundaryNoise


def parse_noise(text: str) -> Noise:
    """Read ``0.05`` or ``boundary:RATE,RADIUS``.

    Parameters
    ----------
    text
        What was written.

    Returns
    -------
    noise
        A rate, or boundary noise.

    Raises
    ------
    BadSpec
        If it is written otherwise.

    Examples
    --------
    >>> parse_noise("boundary:0.3,0.1")
    BoundaryNoise(rate=0.3, radius=0.1)
    """
    kind, _, rest = text.rpartition(":")
    try:
        numbers = [float(part) for part in rest.split(",")]
    except ValueError:
        numbers = []
    if kind == "" and len(numbers) == 1:
        return numbers[0]
    if kind == "boundary" and len(numbers) == 2:
        return BoundaryNoise(rate=numbers[0], radius=numbers[1])
    raise BadSpec(f"malformed noise {text!r}; write a rate such as 0.05, or boundary:RATE,RADIUS")


def flip_rates(noise: Noise, C: HypothesisClass, cells: Items, target: int) -> Rates:
    """How often the label of each of `cells` is flipped by `noise`, where hypothesis `target` of `C` gives the labels.

    Raises
    ------
    ValueOutOfRange
        If the target would not stay the best, the radius is not positive, or the class has no boundary.
    """
    rate = float(noise.rate if isinstance(noise, BoundaryNoise) else noise)
    most = 1 - 1 / len(C.labels)
    if not 0 <= rate < most:
        raise ValueOutOfRange(f"noise must be in [0, {most:g}) so that the target stays the best, got {rate:g}")
    if not isinstance(noise, BoundaryNoise):
        return np.full(len(cells), rate)
    if not 0 < noise.radius < np.inf:
        raise ValueOutOfRange(f"the radius of boundary noise must be positive and finite, got {noise.radius:g}")
    if not isinstance(C, HasMargin):
        raise ValueOutOfRange(f"{type(C).__name__} has no decision boundary: give noise as a single rate")
    return np.where(C.margin(cells, target) <= noise.radius, rate, 0.0)
