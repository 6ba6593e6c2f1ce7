"""Gamma: a bound on how often labs differ that one lab proves from its own pool, without labels.

Lab s measures score(h) = d̂(h, ĥ) on its U items, ĥ any labelling of them, and knows d̂(ĥ, h*) ≤ κ. Scores give an interval
[L_h, R_h] for every true distance d(h, h*); inside these intervals the worst contribution of h to the disagreement of
two labs is a binomial number. The sum is Γ̂. Statement and proof: docs/claims/certificate.md (Theorems L1-L3). More labs
than two, and labs whose populations differ: docs/claims/many_labs.md.

Every step is rigorous: `replical.bounds.tails` has the binomial numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, inf, sqrt
from threading import Lock

import numpy as np

from replical.bounds.tails import FINE, Counts, Floats, Grid, range_maximum
from replical.classes.prior import Masses

_CACHE_BYTES = 200e6  # of looks; one takes 0.3 MB on a coarse grid of 10⁵ items, 5 MB on a fine one of 10⁶


@dataclass(frozen=True, kw_only=True, eq=False)
class Gamma:
    """What a lab knows when it bounds how often it differs from others.

    Attributes
    ----------
    U
        Items of the pool.
    a, b
        Range of the shared threshold.
    beta
        ln(2n/δ_C): each side of each interval [L_h, R_h] fails with probability e^{-β}.
    masses
        Prior masses, one a hypothesis, in any unit; None if all are equal.
    places
        Place of each hypothesis in a strict order of preference, where that is the shared order.
    alone
        Compare this lab with the ideal answer instead of with other labs of the same size.
    labs
        K: the bound is on how often two of so many labs differ. Alone it changes nothing.
    shift
        g: in every lab's population a distance is at most g times itself away from that in one common population.
    """

    U: int
    a: float
    b: float
    beta: float
    masses: Masses | None = None
    places: Counts | None = None
    alone: bool = False
    labs: int = 2
    shift: float = 0.0

    def bound(self, scores: Counts, kappa: int, least: float = 1.0, *, step: float = FINE) -> float:
        """Γ̂ for scores and slack κ in items; `least` is the smallest mass the best hypothesis may have.

        Examples
        --------
        >>> from math import log
        >>> one = Gamma(U=100_000, a=.0225, b=.045, beta=log(2 * 100_000 / .0005))
        >>> scores = np.abs(np.arange(-50_000, 50_000))  # thresholds, one an item, seen from the middle
        >>> round(one.bound(scores, 0), 3), round(one.bound(scores, 40), 3)
        (0.039, 0.08)
        >>> from dataclasses import replace
        >>> round(replace(one, labs=10).bound(scores, 0), 3), round(replace(one, shift=.01).bound(scores, 0), 3)
        (0.088, 0.069)
        """
        if kappa >= self.U * self.a:
            return inf
        look = _look(self.U, self.a, self.b, self.beta, kappa, step, self.alone, self.labs, self.shift)
        grid, last = look.grid, len(look.high) - 1
        if self.places is not None:
            return self._in_order(look, scores)
        mass = np.bincount(np.minimum(scores, last), weights=self.masses, minlength=last + 1)
        below = np.concatenate(([0.0], np.cumsum(mass[:last])))
        inside = np.maximum(below[look.surely], least)
        occurring = np.flatnonzero(mass)
        worst = look.worst(grid.widths / inside / (self.b - self.a), occurring)
        return float((mass[occurring] * worst).sum())

    def intervals(self, beyond: int, kappa: int) -> tuple[Floats, Floats]:
        """L and R for scores 0, 1, .. up to the first whose interval lies above `beyond` items."""
        return _intervals(self.U, self.beta, beyond, kappa, self.shift)

    def _in_order(self, look: _Look, scores: Counts) -> float:
        """A strict order: h counts only where no hypothesis preferred to it is surely inside."""
        assert self.places is not None, "only called for a strict order"
        grid, high = look.grid, look.high
        preferred = np.minimum(scores[np.argsort(self.places)], len(high) - 1)
        before = np.concatenate(([inf], np.minimum.accumulate(high[preferred])[:-1]))
        open_until = np.searchsorted(grid.bin_low, before, side="left")  # bins that begin before that
        total = 0.0
        for bins in np.unique(open_until[open_until > 0]):
            weights = np.where(np.arange(len(grid.widths)) < bins, grid.widths, 0.0) / (self.b - self.a)
            total += float(look.worst(weights, preferred[open_until == bins]).sum())
            if total >= 1:
                break
        return total


def _intervals(U: int, beta: float, beyond: int, kappa: int, shift: float) -> tuple[Floats, Floats]:
    """In the lab's own population first, then in the common one, which may be nearer or farther by the `shift`."""
    most = beyond
    while most < U and _low(U, beta, np.array([most - kappa]))[0] * U <= beyond * (1 + shift):
        most = min(U, most + ceil(4 * sqrt(beta * most)) + kappa + 1)
    counts = np.arange(min(most, U) + 1, dtype=np.int64)
    x, b = np.minimum((counts + kappa) / U, 1.0), beta / U
    low, high = _low(U, beta, counts - kappa), x + b + np.sqrt(b * b + 2 * x * b)
    return low / (1 + shift), np.minimum(high / (1 - shift), 1.0)


def _low(U: int, beta: float, counts: Counts) -> Floats:
    y = np.maximum(counts, 0) / U
    low: Floats = np.maximum(0.0, y - np.sqrt(2 * y * beta / U))
    return low


class _Look:
    """A grid and the intervals of all scores on it: everything about a look but the scores.

    Attributes
    ----------
    high
        R for scores 0, 1, ..; the last stands for all larger ones.
    surely
        For each bin, how many scores have R below it.
    """

    def __init__(
        self, U: int, a: float, b: float, beta: float, kappa: int, step: float, alone: bool, labs: int, shift: float
    ) -> None:
        self.grid = Grid(U, a, b, kappa, step, alone=alone, labs=labs, shift=shift)
        low, self.high = _intervals(U, beta, floor(U * self.grid.top) + 2, kappa, shift)
        self.surely = np.searchsorted(self.high[:-1], self.grid.bin_low, side="right")
        self._begin, self._end = self.grid.places(low, 1 - 1e-12), self.grid.places(self.high, 1 + 1e-12)
        self.bytes = self.grid.bytes + 4 * self.high.nbytes

    def worst(self, weights: Floats, scores: Counts) -> Floats:
        """max over p in [L, R] of Σ_v weight·π(p, v) for each of the scores."""
        return range_maximum(self.grid.summed(weights), self._begin[scores], self._end[scores])


def _look(
    U: int, a: float, b: float, beta: float, kappa: int, step: float, alone: bool, labs: int, shift: float
) -> _Look:
    """Labs of one size look at the same grids again and again, most of all at the one without slack."""
    key = (U, a, b, beta, kappa, step, alone, labs, shift)
    with _looking:
        look = _looks.pop(key, None)
    new = look or _Look(*key)
    with _looking:
        if look is None:
            while _looks and new.bytes + sum(each.bytes for each in _looks.values()) > _CACHE_BYTES:
                del _looks[next(iter(_looks))]
        _looks[key] = new  # the latest is last
    return new


_looks: dict[tuple[int, float, float, float, int, float, bool, int, float], _Look] = {}
_looking = Lock()  # workers of a cluster may have several threads
