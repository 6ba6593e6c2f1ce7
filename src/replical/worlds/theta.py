"""Balls, how much they dispute, and the disagreement coefficient Θ: exactly, from unlabelled items.

B(h, r) = {h' : d(h, h') ≤ r} is closed; Θ(h) = sup over r > 0 of Δ(B(h, r))/r; Θ = max over centres h. The ratio can
only peak at a radius that some hypothesis attains (or at the smallest one looked at, r0), so a sweep over attained radii
is exact. Reference: the paper's section "Disagreement Coefficient"; docs/claims/theta.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import HypothesisClass, Indices
from replical.classes.thresholds import Thresholds
from replical.core import bits
from replical.core.exact import fraction
from replical.errors import ValueOutOfRange
from replical.pools.pool import ExactPool, Pool
from replical.worlds.population import Population

_CENTRES = 64  # centres whose distances are computed at a time
_SWEEP = 256  # hypotheses added to a ball at a time
_CONFIDENCE = 0.05  # failure probability of the stated sampling error

Progress = Callable[[int, int], None]
Measurable = Population | Pool | ExactPool


@dataclass(frozen=True, kw_only=True)
class DisagreementCoefficient:
    """Θ and where it is attained.

    Attributes
    ----------
    value
        Θ, rounded up.
    centre
        The hypothesis h whose ball attains it.
    radius
        The radius r of that ball, as [count, total].
    disagreement
        Δ(B(h, r)), the mass of items on which hypotheses in the ball differ, as [count, total].
    sampling_error
        By how much any measured distance may be off, at 95% confidence; 0 where masses are known.
    """

    value: float
    centre: int
    radius: tuple[int, int]
    disagreement: tuple[int, int]
    sampling_error: float


def theta(
    C: HypothesisClass,
    over: Measurable,
    *,
    centre: int | None = None,
    r0: float = 0.0,
    progress: Progress | None = None,
) -> DisagreementCoefficient:
    """The disagreement coefficient of `C` over a population or a pool.

    Parameters
    ----------
    C
        The class.
    over
        A population or pool of this class, by which masses and distances are measured; no label is used.
    centre
        One hypothesis; the maximum over all of them if left out.
    r0
        Smallest radius that matters.
    progress
        Called with (centres done, centres in all).

    Returns
    -------
    coefficient
        Θ, where it is attained, and how far sampling may have moved it.

    Raises
    ------
    ValueOutOfRange
        If `r0` is not in [0, 1), `centre` is no hypothesis, or `over` is of another class.

    Examples
    --------
    >>> from replical import Population, Thresholds
    >>> C = Thresholds(1000)
    >>> theta(C, Population(C, target=0)).value
    2.0
    """
    if not 0 <= r0 < 1:
        raise ValueOutOfRange(f"r0 must be in [0, 1), got {r0:g}")
    measured = measure(C, over)
    centres = np.arange(len(C)) if centre is None else np.array([_one(C, centre)])
    smallest = fraction(r0) * measured.total
    best: _Peak | None = None
    for done, (h, distances) in enumerate(zip(centres.tolist(), measured.distances(centres), strict=True), start=1):
        most = measured.total if best is None else math.floor(measured.whole / best.ratio)  # no larger ball has more
        peak = _peak(h, measured.sweep(h, distances, most), smallest)
        best = peak if best is None else max(best, peak, key=lambda each: each.ratio)
        if progress is not None:
            progress(done, len(centres))
        if best.ratio >= measured.highest(smallest):
            break
    assert best is not None, "a class has a hypothesis"
    if progress is not None:
        progress(len(centres), len(centres))
    exact = isinstance(over, Population | ExactPool)
    return best.scaled(measured.total, 0.0 if exact else _sampling_error(len(C), measured.total))


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
    distances = next(measured.distances(np.array([_one(C, h)])))
    inside: Indices = np.flatnonzero(distances <= math.floor(fraction(r) * measured.total))
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
    distances = next(measured.distances(np.array([_one(C, h)])))
    swept = measured.sweep(h, distances, measured.total)
    return Curve(centre=h, radii=swept[0], disputed=swept[1], members=swept[2], total=measured.total)


def _one(C: HypothesisClass, centre: int) -> int:
    if not 0 <= centre < len(C):
        raise ValueOutOfRange(f"the centre must be one of the {len(C)} hypotheses, got {centre}")
    return centre


Swept = tuple[Indices, Indices, Indices]  # attained radii from 0 on, weight disputed in each closed ball, its members


class Measured(Protocol):
    """Distances of the hypotheses, and balls, over given items; all in units of weight."""

    total: int  # weight of all items
    whole: int  # weight of DIS(C), which no ball exceeds

    def distances(self, centres: Indices) -> Iterator[Indices]:
        """For each centre, how far everyone is."""
        ...

    def sweep(self, centre: int, distances: Indices, most: int) -> Swept:
        """The balls around `centre` up to radius `most` at least."""
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


@dataclass(frozen=True, kw_only=True)
class _Peak:
    """The highest ratio of one centre, in units of weight."""

    ratio: Fraction
    centre: int
    radius: Fraction
    disputed: int

    def scaled(self, total: int, sampling_error: float) -> DisagreementCoefficient:
        radius = self.radius / total
        attained = self.radius.denominator == 1
        value = float(self.ratio)
        if Fraction(value) < self.ratio:  # plans use it as an upper bound
            value = math.nextafter(value, math.inf)
        return DisagreementCoefficient(
            value=value,
            centre=self.centre,
            radius=(int(self.radius), total) if attained else (radius.numerator, radius.denominator),
            disagreement=(self.disputed, total),
            sampling_error=sampling_error,
        )


def _sampling_error(n: int, total: int) -> float:
    """Hoeffding for all n² distances at once."""
    return math.sqrt(math.log(2 * n * n / _CONFIDENCE) / (2 * total))


def _peak(centre: int, swept: Swept, smallest: Fraction) -> _Peak:
    """The best of the ratios disputed/radius; radii ascend, and the ball at `smallest` holds all below it."""
    radii, disputed, _ = (each[1:] for each in swept)  # all but radius 0
    inside = int(np.searchsorted(radii, math.floor(smallest), side="right"))
    radius, mass = Fraction(0), 0
    ratio = Fraction(1)
    if smallest > 0 and inside and Fraction(int(disputed[inside - 1])) / smallest > ratio:
        ratio, radius, mass = Fraction(int(disputed[inside - 1])) / smallest, smallest, int(disputed[inside - 1])
    if inside < len(radii):
        at = inside + int(np.argmax(disputed[inside:] / radii[inside:]))
        attained = Fraction(int(disputed[at]), int(radii[at]))
        if attained > ratio or mass == 0:
            ratio, radius, mass = attained, Fraction(int(radii[at])), int(disputed[at])
    return _Peak(ratio=ratio, centre=centre, radius=radius, disputed=mass)


class _Line:
    """Thresholds: a ball is everything between two cuts, so what it disputes is left reach plus right reach ≤ 2r."""

    def __init__(self, positions: Indices, weights: NDArray[np.int64], n: int) -> None:
        order = np.argsort(positions, kind="stable")
        mass = np.concatenate(([0], np.cumsum(weights[order])))
        self._depth = mass[np.searchsorted(positions[order], np.arange(n), side="right")]  # below each cut; ascending
        self._places = np.unique(self._depth)
        self.total, self.whole = int(mass[-1]), int(self._depth[-1] - self._depth[0])

    def distances(self, centres: Indices) -> Iterator[Indices]:
        for centre in centres:
            yield np.abs(self._depth - self._depth[centre])

    def sweep(self, centre: int, distances: Indices, most: int) -> Swept:
        here, places = self._depth[centre], self._places
        left, right = np.sort(here - places[places <= here]), places[places >= here] - here
        radii = np.unique(np.concatenate((left, right)))
        reach = [side[np.searchsorted(side, radii, side="right") - 1] for side in (left, right)]
        first = np.searchsorted(self._depth, here - radii, side="left")
        return radii, reach[0] + reach[1], np.searchsorted(self._depth, here + radii, side="right") - first

    def highest(self, smallest: Fraction) -> Fraction:
        return Fraction(2)


class _Table:
    """Any class: sort the others by distance and OR together where they differ from the centre."""

    def __init__(self, C: HypothesisClass, items: NDArray[np.generic], weights: NDArray[np.int64]) -> None:
        used = np.flatnonzero(weights)
        codes, weights = _merged(C.codes(items[used], np.arange(len(C), dtype=np.int64)), weights[used])
        self._codes, self._weights = codes, weights
        self._planes = np.stack(
            [bits.pack((codes >> digit) & 1 == 1) for digit in range(bits.planes_for(len(C.labels)))]
        )
        self.total, self.whole = int(weights.sum()), int(weights[(codes != codes[:1]).any(axis=0)].sum())

    def distances(self, centres: Indices) -> Iterator[Indices]:
        """Whole numbers, because weights stay below 2**53."""
        codes, weights = self._codes, self._weights
        if (weights == weights[0]).all():
            for centre in centres:
                yield _weights_of(_differs(self._planes, slice(None), int(centre)), weights)
            return
        for start in range(0, len(centres), _CENTRES):
            block = centres[start : start + _CENTRES]
            same = np.zeros((len(block), len(codes)))
            for label in np.unique(codes):
                says = (codes == label).astype(np.float64)
                same += (says[block] * weights) @ says.T
            yield from self.total - np.rint(same).astype(np.int64)

    def sweep(self, centre: int, distances: Indices, most: int) -> Swept:
        order = np.argsort(distances, kind="stable")
        order = order[: np.searchsorted(distances[order], max(0, most), side="right")]
        radii, disputed = distances[order], np.full(len(order), self.whole)  # what the last balls dispute
        ball = np.zeros(self._planes.shape[2], dtype=np.uint64)
        for start in range(0, len(order), _SWEEP):
            differs = _differs(self._planes, order[start : start + _SWEEP], centre)
            differs[0] |= ball
            balls = np.bitwise_or.accumulate(differs, axis=0)
            ball = balls[-1]
            disputed[start : start + _SWEEP] = _weights_of(balls, self._weights)
            if disputed[min(start + _SWEEP, len(order)) - 1] == self.whole:
                break
        last = np.flatnonzero(np.diff(radii, append=-1))  # the ball of a radius holds everyone at that radius
        return radii[last], disputed[last], last + 1

    def highest(self, smallest: Fraction) -> Fraction:
        return self.whole / max(Fraction(int(self._weights.min())), smallest)  # no positive radius is smaller


def _merged(codes: NDArray[np.uint16], weights: NDArray[np.int64]) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """Items that no hypothesis tells apart become one, where that at least halves their number."""
    columns = np.ascontiguousarray(codes.T)
    keys = columns.view(np.dtype((np.void, columns.dtype.itemsize * columns.shape[1]))).ravel()
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    if 2 * len(first) > len(keys):
        return codes, weights
    merged = np.zeros(len(first), dtype=np.int64)
    np.add.at(merged, which.ravel(), weights)
    return codes[:, first], merged


def _differs(planes: NDArray[np.uint64], hypotheses: Indices | slice, centre: int) -> NDArray[np.uint64]:
    """Packed items on which each hypothesis differs from the centre: some binary digit of the label does."""
    differs: NDArray[np.uint64] = np.bitwise_or.reduce(planes[:, hypotheses] ^ planes[:, centre][:, None], axis=0)
    return differs


def _weights_of(rows: NDArray[np.uint64], weights: NDArray[np.int64]) -> Indices:
    """Weight of the items marked in each packed row."""
    if (weights == weights[0]).all():
        count: Indices = np.bitwise_count(rows).sum(axis=1, dtype=np.int64) * int(weights[0])
        return count
    return np.rint(bits.unpack(rows, len(weights)) @ weights.astype(np.float64)).astype(np.int64)
