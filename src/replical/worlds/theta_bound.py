"""How large may the disagreement coefficient of the population be, given a pool of its items?

On the pool Θ is exact (`theta`), but a pool does not see every item. Claim: docs/claims/theta.md, second part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replical.classes.base import HypothesisClass, Indices
from replical.classes.thresholds import Thresholds
from replical.core.exact import in_open
from replical.core.kernels.balls import Swept
from replical.errors import ValueOutOfRange
from replical.pools.pool import Pool
from replical.worlds.measured import Measured, measure
from replical.worlds.theta import Progress

Floats = NDArray[np.float64]

_STEP = 1e-9  # relative step to the safe side, doubled until the tail is as small as it has to be


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
    in_open("confidence", confidence, 0, 1)
    if centre is not None and not 0 <= centre < len(C):
        raise ValueOutOfRange(f"the centre must be one of the {len(C)} hypotheses, got {centre}")
    n, measured = len(C), measure(C, pool)
    if isinstance(C, Thresholds) or n == 1:  # two reaches of at most r each; nobody to differ from
        return ThetaBound(value=float(min(2, max(1, n - 1))), centre=None, r0=r0, confidence=confidence)
    centres = np.arange(n) if centre is None else np.array([centre])
    limits = _Limits(measured, r0, (1 - confidence) / 2, pairs=len(centres) * (n - 1) // min(2, len(centres)),
                     balls=len(centres) * (n - 1))  # fmt: skip
    best, where, done, reach = 1.0, int(centres[0]), 0, limits.reach(1.0)
    for block, distances in measured.distances(centres):
        for i, h in enumerate(block.tolist()):
            found = limits.ratio(measured.sweep(h, distances[i], reach))
            if found > best:
                best, where, reach = found, h, limits.reach(found)
        done += len(block)
        if progress is not None:
            progress(done, len(centres))
    return ThetaBound(value=best, centre=where, r0=r0, confidence=confidence)


def _below(a: Indices, b: Indices, level: float) -> Floats:
    """Where Beta(a, b) has at most this mass below it: scipy's inverse, checked, and moved if need be."""
    from scipy.special import betainc, betaincinv

    x: Floats = np.asarray(betaincinv(a, b, level) * (1 - _STEP), dtype=np.float64)
    step = _STEP
    while (above := betainc(a, b, x) > level).any():
        x[above] *= 1 - step
        step = min(2 * step, 0.5)
    return x


class _Known:
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


class _Limits:
    """What counts on a pool say about the population: distances from below, disputed masses from above."""

    def __init__(self, measured: Measured, r0: float, failure: float, *, pairs: int, balls: int) -> None:
        self._total, self._whole, self._r0 = measured.total, measured.whole, r0
        self._pair, self._ball = failure / pairs, failure / balls
        self._least, self._most = _Known(self.distance, self._total), _Known(self.mass, self._total)

    def distance(self, counts: Indices) -> Floats:
        """Below the true distance of a pair that differs on so many items, or below r0 never."""
        least = np.zeros(len(counts))
        some = counts > 0
        least[some] = _below(counts[some], self._total - counts[some] + 1, self._pair)
        return np.maximum(least, self._r0)

    def mass(self, counts: Indices) -> Floats:
        """Above the true mass of what so many items fell into."""
        most = np.ones(len(counts))
        some = counts < self._total
        most[some] = 1 - _below(self._total - counts[some], counts[some] + 1, self._ball)
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
