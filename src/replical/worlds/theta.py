"""The disagreement coefficient Θ: exactly, from unlabelled items.

Θ(h) = sup over r > 0 of Δ(B(h, r))/r, over closed balls; Θ = max over centres h. The ratio can only peak at a radius
that some hypothesis attains (or at the smallest one looked at, r0), so a sweep over attained radii is exact. Reference:
the paper's section "Disagreement Coefficient"; docs/claims/theta.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from replical.classes.base import HypothesisClass, Indices
from replical.core.exact import fraction
from replical.core.kernels.balls import Tops
from replical.errors import ValueOutOfRange
from replical.pools.pool import ExactPool
from replical.worlds.measured import Measurable, measure, one
from replical.worlds.population import Population

_CONFIDENCE = 0.05  # failure probability of the stated sampling error
_ROUNDING = 1e-9  # ratios that may be the highest are compared as fractions; doubles are far closer than this

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
    centres = np.arange(len(C), dtype=np.int64) if centre is None else one(C, centre)
    smallest = fraction(r0) * measured.total
    best, done = _Peak(ratio=Fraction(0), centre=-1, radius=Fraction(0), disputed=0), 0
    for block, distances in measured.distances(centres):
        tops = measured.tops(block, distances, math.floor(smallest), float(best.ratio) * (1 - _ROUNDING))
        for peak in _peaks(block, tops, smallest, best):
            best = max(best, peak, key=lambda each: each.ratio)
        done += len(block)
        if progress is not None:
            progress(done, len(centres))
        if best.ratio >= measured.highest(smallest):
            break
    if progress is not None:
        progress(len(centres), len(centres))
    exact = isinstance(over, Population | ExactPool)
    return best.scaled(measured.total, 0.0 if exact else _sampling_error(len(C), measured.total))


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
