"""Binomial tails that are bounds and not approximations, on a grid of probabilities and thresholds.

Cells in p and bins in v are rectangles on which the binomial distribution function is bounded at a corner (it falls in p
and rises in v), by the inequalities of Zubkov and Serov (2013).

Gamma in closed form: of a pool without end, and before any label. docs/claims/certificate.md (Theorem L3).

Gamma: a bound on how often labs differ that one lab proves from its own pool, without labels.

Lab s measures score(h) = d̂(h, ĥ) on its U items, ĥ any labelling of them, and knows d̂(ĥ, h*) ≤ κ. Scores give an interval
[L_h, R_h] for every true distance d(h, h*); inside these intervals the worst contribution of h to the disagreement of
two labs is a binomial number. The sum is Γ̂. Statement and proof: docs/claims/certificate.md (Theorems L1-L3). More labs
than two: docs/claims/many_labs.md.

Every step is rigorous: `replical.bounds.gamma` has the binomial numbers.

How often labs will differ, estimated: the mean Jaccard distance of their balls around the truth.

A lab's score of h is its true distance plus sampling error, of variance d(1-d)/U, plus what its centre is off. Taking
scores as normal and independent between labs, h is in lab s's ball of radius v with probability C = Φ((v-d)/sd), and
J(v) ≈ Σ_h 2C(1-C) / Σ_h (1-(1-C)²); of all balls of K labs Σ_h (1-C^K-(1-C)^K) / Σ_h (1-(1-C)^K). An estimate, never a
bound; `replical.bounds.gamma` has the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor, inf, log, sqrt
from threading import Lock

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from replical.classes.prior import Masses

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

# Width of a cell in standard deviations: costs about 35%, 14% and 7% of the part of the bound that sampling makes.
COARSE, FINE, FINEST = 0.25, 0.1, 0.05
_BAND = 6.8  # standard deviations beyond which a distribution function is 0 or 1 up to 10⁻¹¹
_ROUNDING = 4e-15  # relative error of a divergence computed in doubles, with room to spare
_LEAST = 1e-300
_FEW = 40  # times the cells of a grid: what building a sparse table costs


class Grid:
    """Cells of p and bins of v on one grid, uniform in the square root, where every binomial has the same width."""

    def __init__(self, U: int, a: float, b: float, kappa: int, step: float, *, alone: bool, labs: int = 2) -> None:
        self._unit = step / (2 * sqrt(U))
        slack, band = kappa / U, ceil(_BAND / step)
        first, last = floor(sqrt(a) / self._unit), ceil(sqrt(b) / self._unit)
        bins = np.arange(first, last)
        edges = self._edge(bins)
        self.bin_low, bin_high = np.maximum(edges, a), np.minimum(self._edge(bins + 1), b)
        self.widths = np.maximum(bin_high - self.bin_low, 0.0)
        # How far slack moves a distance is largest at one end of the range.
        moved_down = max(sqrt(v) - sqrt(max(0.0, v - slack)) for v in (a, b))
        moved_up = max(sqrt(v + slack) - sqrt(v) for v in (a, b))
        left, right = (band + 1 + ceil(moved / self._unit) for moved in (moved_down, moved_up))
        self._first, self._count, self._near = first - left, last - first + left + right, left + right + 1
        self.top = min(1.0, float(self._edge(np.array([last + right]))[0]))
        # A row for each cell, with the bins it is near to, from the first to the last: cell c is the j-th near bin c - j.
        self._by_cell = np.zeros((self._count, self._near))
        self._worst[:] = self._bound(U, kappa, bin_high, alone=alone, labs=labs)
        self.bytes = self._by_cell.nbytes

    @property
    def _worst(self) -> Floats:
        """max of π over each rectangle; rows are bins, columns the cells near them: a diagonal view of `_by_cell`."""
        row, one = self._by_cell.strides
        shape, corner = (len(self.widths), self._near), (self._near - 1) * one
        worst: Floats = np.ndarray(shape, np.float64, self._by_cell, offset=corner, strides=(row, row - one))
        return worst

    def _edge(self, index: Counts) -> Floats:
        return np.minimum((np.maximum(index, 0) * self._unit) ** 2, 1.0)

    def _bound(self, U: int, kappa: int, bin_high: Floats, *, alone: bool, labs: int) -> Floats:
        """What `_worst` is."""
        edges, shape = self._edge(np.arange(self._first, self._first + self._count + 1)), (self._near, len(bin_high))
        starts, ends = sliding_window_view(edges, self._near)[:-1], sliding_window_view(edges, self._near)[1:]
        smallest, largest = (Logs.of(edges).windows(side, *shape) for side in (0, 1))
        surely = lower_tail(U, np.floor(U * self.bin_low - 1e-6)[:, None] - kappa, largest, upper=False)
        maybe = lower_tail(U, np.floor(U * bin_high + 1e-6)[:, None] + kappa, smallest, upper=True)
        above = bin_high[:, None] <= starts  # v < p throughout
        if alone:
            inside, outside = 1 - surely, maybe
            below = ends <= self.bin_low[:, None]  # v >= p throughout
            bound = np.where(above, outside, np.where(below, inside, np.maximum(inside, outside)))
        else:
            surely **= labs  # all of them
            inside, outside = 1 - surely, 1 - (1 - maybe) ** labs
            bound = np.where(above, outside - surely, inside)
        self._outside = np.maximum(inside[:, 0], outside[:, -1])  # p further away: both fall with the distance
        return np.maximum(bound, 0.0)

    def summed(self, weights: Floats) -> Floats:
        """Σ_v weight·π(p, v) at most, for each cell of p; the first and the last stand for all p below and above."""
        beyond = float((weights * self._outside).sum())
        padded = np.zeros(len(weights) + 2 * self._near)
        padded[self._near : self._near + len(weights)] = weights
        one = padded.itemsize  # every row sees the weights of its bins through a window
        windows: Floats = np.ndarray((self._count, self._near), padded.dtype, padded, offset=one, strides=(one, one))
        return np.concatenate(([beyond], np.einsum("cj,cj->c", self._by_cell, windows) + beyond, [beyond]))

    def places(self, p: Floats, rounding: float) -> Counts:
        """The cells of `summed` in which these p lie; `rounding` moves those on an edge to the safe side."""
        places: Counts = (np.floor(np.sqrt(p) / self._unit * rounding) - self._first + 1).astype(np.int64)
        return np.minimum(np.maximum(places, 0), self._count + 1)


@dataclass(frozen=True, eq=False)
class Logs:
    """Probabilities with the logarithms of p and 1-p."""

    p: Floats
    log_p: Floats
    log_q: Floats

    @classmethod
    def of(cls, p: Floats) -> Logs:
        """Of these probabilities; 0 and 1 included."""
        with np.errstate(divide="ignore"):
            return cls(p, np.log(p), np.log1p(-p))

    def windows(self, first: int, width: int, count: int) -> Logs:
        """Row i holds the `width` of them that begin with number first + i; nothing is copied."""
        rows = slice(first, first + count)
        return Logs(*(sliding_window_view(each, width)[rows] for each in (self.p, self.log_p, self.log_q)))


def lower_tail(U: int, m: Floats, at: Logs, *, upper: bool) -> Floats:
    """A rigorous bound of Pr[Bin(U, p) ≤ m] from above or below (Zubkov and Serov): Φ(z(m+1)) or Φ(z(m))."""
    from scipy.special import ndtr, xlogy

    x = np.clip(m + 1 if upper else m, 0, U) / U
    with np.errstate(invalid="ignore"):  # 0 · ∞ where p is 0 or 1: nothing diverges
        z: Floats = xlogy(x, x) + xlogy(1 - x, 1 - x) - x * at.log_p - (1 - x) * at.log_q  # the divergence
    np.fmax(z, 0.0, out=z)  # in place from here on: fresh memory for each step would cost more than the step
    z *= 2 * U
    np.sqrt(z, out=z)
    error = 2 * U * _ROUNDING
    slip = error / (z + sqrt(error))
    np.negative(z, out=z, where=x <= at.p)
    z += slip if upper else -slip
    tail: Floats = ndtr(z, out=z)
    if upper:
        np.maximum(tail, _LEAST, out=tail)  # a bound from above does not underflow to nothing
    return tail if m.min() >= 0 and m.max() < U else np.where(m >= U, 1.0, np.where(m < 0, 0.0, tail))


@lru_cache(maxsize=64)
def largest_count(U: int, p: float, failure: float) -> int:
    """The largest m with Pr[Bin(U, p) ≤ m] at most `failure`, by a rigorous bound; -1 if there is none.

    Examples
    --------
    >>> largest_count(100_000, .05, 2.5e-8)
    4627
    """
    at, low, high = Logs.of(np.array([p])), -1, U
    while high - low > 1:
        middle = (low + high) // 2
        small = lower_tail(U, np.array([float(middle)]), at, upper=True)[0] <= failure
        low, high = (middle, high) if small else (low, middle)
    return low


def range_maximum(values: Floats, begin: Counts, end: Counts) -> Floats:
    """max of values[begin..end], both ends included: one by one if they are few, else from a sparse table."""
    if int((end - begin).sum()) < _FEW * len(values):
        ends = np.stack([begin, end + 1], axis=1).ravel()
        one_by_one: Floats = np.maximum.reduceat(np.append(values, -inf), ends)[::2]
        return one_by_one
    levels = [values]
    while 2 ** len(levels) <= len(values):
        half = 2 ** (len(levels) - 1)
        levels.append(np.maximum(levels[-1][:-half], levels[-1][half:]))
    table = np.full((len(levels), len(values)), -inf)
    for level, row in enumerate(levels):
        table[level, : len(row)] = row
    depth = np.frexp((end - begin + 1).astype(np.float64))[1] - 1
    maxima: Floats = np.maximum(table[depth, begin], table[depth, end - (1 << depth.astype(np.int64)) + 1])
    return maxima


def gamma_unlimited(scores: Floats, kappa: float, a: float, b: float, masses: Masses | None, least: float) -> float:
    """Γ̂ of a pool without end: what is left of the bound when only labels are missing.

    Distances are then known up to κ, and h matters for thresholds within κ of its distance.
    """
    if kappa >= a:
        return inf
    weights = np.ones(len(scores)) if masses is None else masses
    low, high = scores - kappa, scores + kappa
    surely = high  # h is inside from here on
    order = np.argsort(surely, kind="stable")
    starts, cumulated = surely[order], np.cumsum(weights[order])
    points = np.unique(np.concatenate(([a, b], starts[(starts > a) & (starts < b)])))
    inside = np.maximum(np.concatenate(([0.0], cumulated))[np.searchsorted(starts, points[:-1], side="right")], least)
    integral = np.concatenate(([0.0], np.cumsum(np.diff(points) / inside)))

    p = np.clip(a + kappa, low, high)  # 1/N falls with v: the smallest that fits
    last, first = (np.interp(np.clip(end, a, b), points, integral) for end in (p + kappa, p - kappa))
    return float((weights * (last - first)).sum()) / (b - a)


def planned(distances: Floats, *, U: int, kappa: float, a: float, b: float, failure: float) -> float:
    """Theorem L3: a bound on the disagreement around one centre before any label, in closed form.

    Examples
    --------
    >>> line = np.abs(np.linspace(-.5, .5, 1_000_001))
    >>> [round(planned(line, U=U, kappa=0, a=.0225, b=.045, failure=.0005), 3) for U in (10**5, 10**6, 10**7)]
    [0.074, 0.016, 0.005]
    """
    lam = log(4 * len(distances) / failure)
    t = sqrt(2 * (b + kappa) * lam / U) + 3 * lam / U
    reach = t + kappa
    if reach > a:
        return inf
    ordered = np.sort(distances)

    def count(x: Floats | float) -> Floats:
        return np.searchsorted(ordered, x, side="right").astype(np.float64)

    near, inside = ordered[(ordered > a) & (ordered <= b + reach)], max(1.0, float(count(a)))
    # N(x+t')/N(x) is largest at x = a or where its numerator jumps, at x = d - t'.
    jumps = count(near) / np.maximum(count(np.maximum(a, near - reach)), 1.0)
    growth = max(float(count(a + reach)) / inside, float(jumps.max(initial=1.0)))
    g = 1 - float(count(a - reach)) / inside + growth * log(float(count(b + reach)) / inside)
    return g / (b - a) * (2 * kappa + 1.92 * sqrt((b + reach) / U)) + failure


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
    """

    U: int
    a: float
    b: float
    beta: float
    masses: Masses | None = None
    places: Counts | None = None
    alone: bool = False
    labs: int = 2

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
        >>> round(replace(one, labs=10).bound(scores, 0), 3)
        0.088
        """
        if kappa >= self.U * self.a:
            return inf
        look = _look(self.U, self.a, self.b, self.beta, kappa, step, self.alone, self.labs)
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
        return _intervals(self.U, self.beta, beyond, kappa)

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


def _intervals(U: int, beta: float, beyond: int, kappa: int) -> tuple[Floats, Floats]:
    """L and R for scores 0, 1, .. up to the first whose interval lies above `beyond` items."""
    most = beyond
    while most < U and _low(U, beta, np.array([most - kappa]))[0] * U <= beyond:
        most = min(U, most + ceil(4 * sqrt(beta * most)) + kappa + 1)
    counts = np.arange(min(most, U) + 1, dtype=np.int64)
    x, b = np.minimum((counts + kappa) / U, 1.0), beta / U
    low, high = _low(U, beta, counts - kappa), x + b + np.sqrt(b * b + 2 * x * b)
    return low, np.minimum(high, 1.0)


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
        self, U: int, a: float, b: float, beta: float, kappa: int, step: float, alone: bool, labs: int
    ) -> None:
        self.grid = Grid(U, a, b, kappa, step, alone=alone, labs=labs)
        low, self.high = _intervals(U, beta, floor(U * self.grid.top) + 2, kappa)
        self.surely = np.searchsorted(self.high[:-1], self.grid.bin_low, side="right")
        self._begin, self._end = self.grid.places(low, 1 - 1e-12), self.grid.places(self.high, 1 + 1e-12)
        self.bytes = self.grid.bytes + 4 * self.high.nbytes

    def worst(self, weights: Floats, scores: Counts) -> Floats:
        """max over p in [L, R] of Σ_v weight·π(p, v) for each of the scores."""
        return range_maximum(self.grid.summed(weights), self._begin[scores], self._end[scores])


def _look(U: int, a: float, b: float, beta: float, kappa: int, step: float, alone: bool, labs: int) -> _Look:
    """Labs of one size look at the same grids again and again, most of all at the one without slack."""
    key = (U, a, b, beta, kappa, step, alone, labs)
    with _looking:
        look = _looks.pop(key, None)
    new = look or _Look(*key)
    with _looking:
        if look is None:
            while _looks and new.bytes + sum(each.bytes for each in _looks.values()) > _CACHE_BYTES:
                del _looks[next(iter(_looks))]
        _looks[key] = new  # the latest is last
    return new


_looks: dict[tuple[int, float, float, float, int, float, bool, int], _Look] = {}
_looking = Lock()  # workers of a cluster may have several threads


_THRESHOLDS = 48  # midpoints at which J is evaluated: doubling them moves the estimate by less than 1%
_FAR = 6.0  # standard deviations from which on a hypothesis is inside or outside for certain
_GROUPS = 3000  # distances told apart; more would be closer together than a tenth of a standard deviation


def estimate(
    distances: Floats,
    U: int,
    a: float,
    b: float,
    *,
    variance: float = 0.0,
    masses: Masses | None = None,
    labs: int = 2,
) -> float:
    """E[J] of labs with `U` items each, for distances to the truth and a centre off by a `variance`.

    Parameters
    ----------
    distances
        Of all hypotheses from the truth, as fractions of the items.
    U
        Items in each lab's pool.
    a, b
        The range of the shared threshold, as fractions.
    variance
        Variance of what the centre's own error adds to a score.
    masses
        The prior's weights; equal if left out.
    labs
        How many labs there are.

    Returns
    -------
    rho_predicted
        An estimate of how often two of the labs differ.

    Examples
    --------
    >>> line = np.abs(np.linspace(-.5, .5, 1_000_001))
    >>> [round(estimate(line, U, .0225, .045), 4) for U in (10**5, 10**6)]
    [0.0192, 0.0061]
    >>> round(estimate(line, 10**5, .0225, .045, labs=10), 4)
    0.0515
    """
    reach = _FAR * np.sqrt(b / U + variance)
    near = np.flatnonzero((distances >= a - reach) & (distances <= b + reach))
    if len(near) == 0:
        return 0.0
    surely = distances < a - reach
    sure = float(np.count_nonzero(surely)) if masses is None else float(masses[surely].sum())
    d, m = _grouped(distances[near], np.ones(len(near)) if masses is None else masses[near])
    sd = np.sqrt(np.maximum(d * (1 - d) / U + variance, 1e-300))
    v = a + (b - a) * (np.arange(_THRESHOLDS) + 0.5) / _THRESHOLDS
    from scipy.special import ndtr

    inside = ndtr((v[:, None] - d) / sd)
    outside = 1 - inside
    mixed = 2 * inside * outside if labs == 2 else 1 - inside**labs - outside**labs
    apart = mixed @ m
    union = sure + (1 - outside**labs) @ m
    return float(np.divide(apart, union, out=np.zeros_like(apart), where=union > 0).mean())


def _grouped(d: Floats, m: Masses) -> tuple[Floats, Masses]:
    """Distances close together count as one, with their masses added."""
    if len(d) <= _GROUPS:
        return d, m
    low, high = float(d.min()), float(d.max())
    place = np.minimum(((d - low) / max(high - low, 1e-300) * _GROUPS).astype(np.int64), _GROUPS - 1)
    mass: Masses = np.bincount(place, weights=m, minlength=_GROUPS).astype(np.float64)
    mean = np.bincount(place, weights=m * d, minlength=_GROUPS)[mass > 0] / mass[mass > 0]
    return mean, mass[mass > 0]
