"""The disagreement coefficient Θ, exactly, from unlabelled items; and how large that of their population may be.

B(h, r) = {h' : d(h, h') ≤ r} is a closed ball, Δ the mass of the items that its members dispute. Θ(h) = sup over r > 0 of
Δ(B(h, r))/r; Θ = max over centres h. The ratio can only peak at a radius that some hypothesis attains (or at the smallest
one looked at, r0), so a sweep over attained radii is exact. A pool does not see every item of its population: `theta_bound`
allows for that. Reference: the paper's section "Disagreement Coefficient"; docs/claims/theta.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import HypothesisClass, Indices
from replical.classes.predictions.packed import PackedPredictions
from replical.classes.thresholds import Thresholds
from replical.core import bits, memory
from replical.core.exact import check_between, fraction
from replical.core.kernels.pairs import Distances, GrowingBalls, Pairs, Swept, Tops, align
from replical.errors import ValueOutOfRange
from replical.pools.pool import ExactPool, Pool
from replical.worlds.world import Population

Measurable = Population | Pool | ExactPool
Progress = Callable[[int, int], None]
Floats = NDArray[np.float64]
_CONFIDENCE = 0.05  # failure probability of the stated sampling error
_ROUNDING = 1e-9  # ratios that may be the highest are compared as fractions; doubles are far closer than this
_STEP = 1e-9  # relative step to the safe side, doubled until the tail is as small as it has to be


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
    metric = measure(C, over)
    centres = np.arange(len(C), dtype=np.int64) if centre is None else single_centre(C, centre)
    smallest = fraction(r0) * metric.total
    best, done = _Peak(ratio=Fraction(0), centre=-1, radius=Fraction(0), disputed=0), 0
    for block, distances in metric.distances(centres):
        tops = metric.tops(block, distances, math.floor(smallest), float(best.ratio) * (1 - _ROUNDING))
        for peak in _peaks(block, tops, smallest, best):
            best = max(best, peak, key=lambda each: each.ratio)
        done += len(block)
        if progress is not None:
            progress(done, len(centres))
        if best.ratio >= metric.highest(smallest):
            break
    if progress is not None:
        progress(len(centres), len(centres))
    off = math.sqrt(
        math.log(2 * len(C) ** 2 / _CONFIDENCE) / (2 * metric.total)
    )  # Hoeffding for all n² distances at once
    return best.coefficient(metric.total, 0.0 if isinstance(over, Population | ExactPool) else off)


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


@dataclass(frozen=True, kw_only=True)
class _Peak:
    """The highest ratio of one centre, in units of weight."""

    ratio: Fraction
    centre: int
    radius: Fraction
    disputed: int

    def coefficient(self, total: int, sampling_error: float) -> DisagreementCoefficient:
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


def _peaks(centres: Indices, tops: Tops, smallest: Fraction, best: _Peak) -> Iterator[_Peak]:
    """The highest ratio, 1 at least, of each centre that may do better than `best` and than the others, in order."""
    ratios = np.maximum(tops.ratios, 1.0)
    if smallest > 0:
        ratios = np.maximum(ratios, tops.inside / float(smallest))
    for at in np.flatnonzero(ratios >= max(float(best.ratio), ratios.max()) * (1 - _ROUNDING)):
        inside, disputed, attained = int(tops.inside[at]), int(tops.disputed[at]), int(tops.radius[at])
        peak = _Peak(ratio=Fraction(1), centre=int(centres[at]), radius=Fraction(0), disputed=0)
        if smallest > 0 and inside > smallest:  # the ball at `smallest` holds all below it
            peak = replace(peak, ratio=inside / smallest, radius=smallest, disputed=inside)
        if attained and (peak.disputed == 0 or Fraction(disputed, attained) > peak.ratio):
            peak = replace(peak, ratio=Fraction(disputed, attained), radius=Fraction(attained), disputed=disputed)
        yield peak


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
    metric = measure(C, over)
    _, distances = next(metric.distances(single_centre(C, h)))
    inside: Indices = np.flatnonzero(distances[0] <= math.floor(fraction(r) * metric.total))
    return inside


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
    metric = measure(C, over)
    _, distances = next(metric.distances(single_centre(C, h)))
    swept = metric.sweep(h, distances[0], metric.total)
    return Curve(centre=h, radii=swept[0], disputed=swept[1], members=swept[2], total=metric.total)


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


def theta_bound(
    C: HypothesisClass,
    pool: Pool,
    *,
    centre: int | None = None,
    r0: float = 0.0,
    confidence: float = 0.95,
    progress: Progress | None = None,
) -> ThetaBound:
    """An upper bound on the disagreement coefficient of the population that `pool` was drawn from.

    Parameters
    ----------
    C
        The class.
    pool
        Independent items from the population; no label is used.
    centre
        One hypothesis; all of them at once if left out.
    r0
        Smallest radius that matters. The larger, the sharper: the smallest balls are those a pool knows least.
    confidence
        How often the bound shall hold.
    progress
        Called with (centres done, centres in all).

    Returns
    -------
    bound
        The bound and where it comes from.

    Raises
    ------
    ValueOutOfRange
        If `r0` is not in [0, 1), `confidence` not in (0, 1), `centre` is no hypothesis, or `pool` is of another class.

    Examples
    --------
    >>> from replical import Population, PrivateRandomness, Star
    >>> C = Star(4)
    >>> pool = Population(C, target=0).pool(10_000, PrivateRandomness.simulated("doctest"))
    >>> round(theta_bound(C, pool).value, 3), round(theta_bound(C, pool, r0=.5).value, 3)
    (4.0, 2.0)
    """
    if not 0 <= r0 < 1:
        raise ValueOutOfRange(f"r0 must be in [0, 1), got {r0:g}")
    check_between("confidence", confidence, 0, 1)
    n, metric = len(C), measure(C, pool)
    centres = np.arange(n) if centre is None else single_centre(C, centre)
    if isinstance(C, Thresholds) or n == 1:  # two reaches of at most r each; nobody to differ from
        return ThetaBound(value=float(min(2, max(1, n - 1))), centre=None, r0=r0, confidence=confidence)
    limits = _Limits(metric, r0, (1 - confidence) / 2, pairs=len(centres) * (n - 1) // min(2, len(centres)),
                     balls=len(centres) * (n - 1))  # fmt: skip
    best, where, done, reach = 1.0, int(centres[0]), 0, limits.reach(1.0)
    for block, distances in metric.distances(centres):
        for i, h in enumerate(block.tolist()):
            found = limits.ratio(metric.sweep(h, distances[i], reach))
            if found > best:
                best, where, reach = found, h, limits.reach(found)
        done += len(block)
        if progress is not None:
            progress(done, len(centres))
    return ThetaBound(value=best, centre=where, r0=r0, confidence=confidence)


@dataclass(frozen=True, kw_only=True)
class ThetaBound:
    """An upper bound on Θ of the population; `theta_bound` makes it.

    Attributes
    ----------
    value
        With the stated confidence Θ at radii from `r0` on is at most this.
    centre
        The hypothesis whose balls made it so large; None where the class alone says it.
    r0
        The smallest radius that matters.
    confidence
        The probability, over the pool, that the bound holds.
    """

    value: float
    centre: int | None
    r0: float
    confidence: float


class _Limits:
    """What counts on a pool say about the population: distances from below, disputed masses from above."""

    def __init__(self, metric: Metric, r0: float, failure: float, *, pairs: int, balls: int) -> None:
        self._total, self._whole, self._r0 = metric.total, metric.whole, r0
        self._pair, self._ball = failure / pairs, failure / balls
        self._least, self._most = _CountCache(self.distance, self._total), _CountCache(self.mass, self._total)

    def distance(self, counts: Indices) -> Floats:
        """Below the true distance of a pair that differs on so many items, or below r0 never."""
        least = np.zeros(len(counts))
        some = counts > 0
        least[some] = _beta_quantile(counts[some], self._total - counts[some] + 1, self._pair)
        return np.maximum(least, self._r0)

    def mass(self, counts: Indices) -> Floats:
        """Above the true mass of what so many items fell into."""
        most = np.ones(len(counts))
        some = counts < self._total
        most[some] = 1 - _beta_quantile(self._total - counts[some], counts[some] + 1, self._ball)
        return most

    def ratio(self, swept: Swept) -> float:
        """The largest Δ(B)/r that these balls leave possible; a ball of m others disputes at most mr."""
        radii, disputed, members = swept
        least = self._least(radii)
        ratios = np.full(len(radii), np.inf)
        np.divide(self._most(disputed), least, out=ratios, where=least > 0)
        return float(np.minimum(ratios, members - 1).max())

    def reach(self, best: float) -> int:
        """Counts beyond which no ball, disputing all there is to dispute, has a ratio above `best`."""
        whole = float(self.mass(np.array([self._whole]))[0])
        low, high = 0, self._total
        while low < high:
            middle = (low + high) // 2
            beyond = whole <= best * float(self.distance(np.array([middle]))[0])
            low, high = (low, middle) if beyond else (middle + 1, high)
        return low


class _CountCache:
    """A function of counts up to `total`, computed once for each count that is asked for."""

    def __init__(self, function: Callable[[Indices], Floats], total: int) -> None:
        self._function, self._values = function, np.full(total + 1, np.nan)

    def __call__(self, counts: Indices) -> Floats:
        found: Floats = self._values[counts]
        if np.isnan(found).any():
            new = np.unique(counts[np.isnan(found)])
            self._values[new] = self._function(new)
            found = self._values[counts]
        return found


def _beta_quantile(a: Indices, b: Indices, level: float) -> Floats:
    """Where Beta(a, b) has at most this mass below it: scipy's inverse, checked, and moved if need be."""
    from scipy.special import betainc, betaincinv

    x: Floats = np.asarray(betaincinv(a, b, level) * (1 - _STEP), dtype=np.float64)
    step = _STEP
    while (above := betainc(a, b, x) > level).any():
        x[above] *= 1 - step
        step = min(2 * step, 0.5)
    return x


def measure(C: HypothesisClass, over: Measurable) -> Metric:
    """`C` measured on a population or a pool of it."""
    if over.C.fingerprint != C.fingerprint:
        raise ValueOutOfRange("the population or pool was made for another class")
    items = over.cells if isinstance(over, Population) else over.items
    if isinstance(C, Thresholds):
        return _LineMetric(C.positions(items), over.weights, len(C))
    return _TableMetric(C, items, over.weights)


def single_centre(C: HypothesisClass, centre: int) -> Indices:
    """A single centre, which must be a hypothesis."""
    if not 0 <= centre < len(C):
        raise ValueOutOfRange(f"the centre must be one of the {len(C)} hypotheses, got {centre}")
    return np.array([centre], dtype=np.int64)


class _LineMetric:
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


class _TableMetric:
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
        needed = 2 * bits.planes_for(len(C.labels)) * len(C) * bits.words_for(len(first)) * 8  # rows are laid out twice
        what = f"distances of {len(C)} hypotheses on {len(first)} items"
        memory.check(needed, what, lambda _: "use a smaller class or pool")
        planes, heavy = align(predictions.transpose(first)), None if (weights == 1).all() else weights
        self._pairs, self._balls = Pairs(planes, heavy), GrowingBalls(planes, heavy, whole=self.whole)

    def distances(self, centres: Indices) -> Iterator[tuple[Indices, Distances]]:
        return self._pairs.blocks(centres)

    def sweep(self, centre: int, distances: Distances, most: int) -> Swept:
        return self._balls.sweep(centre, distances, most)

    def tops(self, centres: Indices, distances: Distances, inner: int, best: float) -> Tops:
        return self._balls.tops(centres, distances, inner=inner, best=best)

    def highest(self, smallest: Fraction) -> Fraction:
        return self.whole / max(Fraction(self._least), smallest)  # no positive radius is smaller


# Distances of the hypotheses, and balls, over given items; all in units of weight. `whole` is the weight of DIS(C), which
# no ball exceeds; ratios at radii from `smallest` on are at most `highest`; `tops` are the highest ratios disputed/radius of
# centres at radii beyond `inner`, where they are `best` or more; `sweep` has the balls up to radius `most` at least.
Metric = _LineMetric | _TableMetric
