"""The disagreement coefficient Θ, exactly, from unlabelled items.

Θ(h) = sup over r > 0 of Δ(B(h, r))/r, with closed balls B(h, r) = {h' : d(h, h') ≤ r}; Θ = max over centres h. The
ratio can only peak at a radius that some hypothesis attains (or at the smallest one looked at, r0), so a sweep over
attained radii is exact. Reference: the paper's section "Disagreement Coefficient".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

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
    over: Population | Pool | ExactPool,
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
    if over.C.fingerprint != C.fingerprint:
        raise ValueOutOfRange("the population or pool was made for another class")
    if centre is not None and not 0 <= centre < len(C):
        raise ValueOutOfRange(f"the centre must be one of the {len(C)} hypotheses, got {centre}")
    items = over.cells if isinstance(over, Population) else over.items
    weights = over.weights
    centres = np.arange(len(C)) if centre is None else np.array([centre])
    smallest = fraction(r0) * int(weights.sum())
    if isinstance(C, Thresholds):
        peaks = _line_peaks(C.positions(items), weights, len(C), centres, smallest)
    else:
        peaks = _matrix_peaks(C, items, weights, centres, smallest)
    best = next(peaks)
    for done, peak in enumerate(peaks, start=2):
        best = max(best, peak, key=lambda each: each.ratio)
        if progress is not None:
            progress(done, len(centres))
    if progress is not None:
        progress(len(centres), len(centres))
    exact = isinstance(over, Population | ExactPool)
    return best.scaled(int(weights.sum()), 0.0 if exact else _sampling_error(len(C), int(weights.sum())))


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


def _peak(centre: int, radii: Indices, disputed: Indices, smallest: Fraction) -> _Peak:
    """The best of the ratios disputed/radius; radii ascend, and the ball at `smallest` holds all below it."""
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


def _line_peaks(
    positions: Indices, weights: NDArray[np.int64], n: int, centres: Indices, smallest: Fraction
) -> Iterator[_Peak]:
    """Thresholds: a ball is everything between two cuts, so its disputed mass is left reach plus right reach ≤ 2r."""
    order = np.argsort(positions, kind="stable")
    mass = np.concatenate(([0], np.cumsum(weights[order])))
    depth = mass[np.searchsorted(positions[order], np.arange(n), side="right")]  # weight below each cut; ascending
    places = np.unique(depth)
    for centre in centres:
        here = depth[centre]
        left, right = np.sort(here - places[places <= here]), places[places >= here] - here
        radii = np.unique(np.concatenate((left, right)))
        radii = radii[radii > 0]
        reach = [side[np.searchsorted(side, radii, side="right") - 1] for side in (left, right)]
        peak = _peak(int(centre), radii, reach[0] + reach[1], smallest)
        yield peak
        if peak.ratio == 2:  # no line has more
            return


def _matrix_peaks(
    C: HypothesisClass, items: NDArray[np.generic], weights: NDArray[np.int64], centres: Indices, smallest: Fraction
) -> Iterator[_Peak]:
    """Any class: sort the others by distance and OR together where they differ from the centre."""
    used = np.flatnonzero(weights)
    codes, weights = _merged(C.codes(items[used], np.arange(len(C), dtype=np.int64)), weights[used])
    planes = np.stack([bits.pack((codes >> digit) & 1 == 1) for digit in range(bits.planes_for(len(C.labels)))])
    whole = int(weights[(codes != codes[:1]).any(axis=0)].sum())
    best = Fraction(1)
    nearest = max(Fraction(int(weights.min())), smallest)  # no positive radius that matters is smaller
    for centre, distances in zip(centres, _distances(codes, planes, weights, centres), strict=True):
        radii, disputed = _sweep(planes, int(centre), distances, weights, whole, best)
        peak = _peak(int(centre), radii, disputed, smallest)
        best = max(best, peak.ratio)
        yield peak
        if best >= whole / nearest:  # no ball disputes more than DIS(C), no radius is smaller
            return


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


def _distances(
    codes: NDArray[np.uint16], planes: NDArray[np.uint64], weights: NDArray[np.int64], centres: Indices
) -> Iterator[Indices]:
    """Weight of the items on which everyone differs from each centre; whole numbers, because weights stay below 2**53."""
    if (weights == weights[0]).all():
        for centre in centres:
            yield _weights_of(_differs(planes, slice(None), int(centre)), weights)
        return
    for start in range(0, len(centres), _CENTRES):
        block = centres[start : start + _CENTRES]
        same = np.zeros((len(block), len(codes)))
        for label in np.unique(codes):
            says = (codes == label).astype(np.float64)
            same += (says[block] * weights) @ says.T
        yield from int(weights.sum()) - np.rint(same).astype(np.int64)


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


def _sweep(
    planes: NDArray[np.uint64], centre: int, distances: Indices, weights: NDArray[np.int64], whole: int, best: Fraction
) -> tuple[Indices, Indices]:
    """Attained radii and the weight disputed in each closed ball, until a ball disputes everything DIS(C) holds.

    Larger radii cannot give a higher ratio after that, nor once ``whole / radius`` falls to the best ratio so far.
    """
    order = np.argsort(distances, kind="stable")
    order = order[distances[order] > 0]
    radii: list[Indices] = []
    disputed: list[Indices] = []
    ball = np.zeros(planes.shape[2], dtype=np.uint64)
    for start in range(0, len(order), _SWEEP):
        added = order[start : start + _SWEEP]
        differs = _differs(planes, added, centre)
        differs[0] |= ball
        balls = np.bitwise_or.accumulate(differs, axis=0)
        ball = balls[-1]
        radii.append(distances[added])
        disputed.append(_weights_of(balls, weights))
        if disputed[-1][-1] == whole or whole <= best * int(radii[-1][-1]):
            break
    if not radii:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    swept, mass = np.concatenate(radii), np.concatenate(disputed)
    last = np.flatnonzero(np.diff(swept, append=-1))  # the ball of a radius holds everyone at that radius
    return swept[last], mass[last]
