"""The certificate: a bound on how often two labs differ that one lab proves from its own pool, without labels.

Lab s measures score(h) = d̂(h, ĥ) on its U items, ĥ any labelling of them, and knows d̂(ĥ, h*) ≤ κ. Scores give an interval
[L_h, R_h] for every true distance d(h, h*); inside these intervals the worst contribution of h to the disagreement of
two labs is a binomial number. The sum is Γ̂. Statement and proof: docs/claims/certificate.md (Theorems L1-L3).

All bounds are rigorous: cells in p and bins in v are rectangles on which the binomial distribution function is bounded
at a corner (it falls in p and rises in v), by the inequalities of Zubkov and Serov (2013).
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
_KEPT = 200e6  # bytes of looks that are kept; one takes 0.3 MB on a coarse grid of 10⁵ items, 5 MB on a fine one of 10⁶


@dataclass(frozen=True, kw_only=True, eq=False)
class Certificate:
    """What a lab knows when it certifies.

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
        Compare this lab with the ideal answer instead of with another lab of the same size.
    """

    U: int
    a: float
    b: float
    beta: float
    masses: Masses | None = None
    places: Counts | None = None
    alone: bool = False

    def gamma(self, scores: Counts, kappa: int, least: float = 1.0, *, step: float = FINE) -> float:
        """Γ̂ for scores and slack κ in items; `least` is the smallest mass the best hypothesis may have.

        Examples
        --------
        >>> one = Certificate(U=100_000, a=.0225, b=.045, beta=log(2 * 100_000 / .0005))
        >>> scores = np.abs(np.arange(-50_000, 50_000))  # thresholds, one an item, seen from the middle
        >>> round(one.gamma(scores, 0), 3), round(one.gamma(scores, 40), 3)
        (0.039, 0.08)
        """
        if kappa >= self.U * self.a:
            return inf
        look = _look(self.U, self.a, self.b, self.beta, kappa, step, self.alone)
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
    most = beyond
    while most < U and _low(U, beta, np.array([most - kappa]))[0] * U <= beyond:
        most = min(U, most + ceil(4 * sqrt(beta * most)) + kappa + 1)
    counts = np.arange(min(most, U) + 1, dtype=np.int64)
    x, b = np.minimum((counts + kappa) / U, 1.0), beta / U
    return _low(U, beta, counts - kappa), np.minimum(x + b + np.sqrt(b * b + 2 * x * b), 1.0)


def _low(U: int, beta: float, counts: Counts) -> Floats:
    y = np.maximum(counts, 0) / U
    low: Floats = np.maximum(0.0, y - np.sqrt(2 * y * beta / U))
    return low


class _Look:
    """A grid and the intervals of all scores on it: everything about a look at a certificate but the scores.

    Attributes
    ----------
    high
        R for scores 0, 1, ..; the last stands for all larger ones.
    surely
        For each bin, how many scores have R below it.
    """

    def __init__(self, U: int, a: float, b: float, beta: float, kappa: int, step: float, alone: bool) -> None:
        self.grid = _Grid(U, a, b, kappa, step, alone=alone)
        low, self.high = _intervals(U, beta, floor(U * self.grid.top) + 2, kappa)
        self.surely = np.searchsorted(self.high[:-1], self.grid.bin_low, side="right")
        self._begin, self._end = self.grid.places(low, 1 - 1e-12), self.grid.places(self.high, 1 + 1e-12)
        self.bytes = self.grid.bytes + 4 * self.high.nbytes

    def worst(self, weights: Floats, scores: Counts) -> Floats:
        """max over p in [L, R] of Σ_v weight·π(p, v) for each of the scores."""
        return _range_maximum(self.grid.summed(weights), self._begin[scores], self._end[scores])


def _look(U: int, a: float, b: float, beta: float, kappa: int, step: float, alone: bool) -> _Look:
    """Labs of one size look at the same grids again and again, most of all at the one without slack."""
    key = (U, a, b, beta, kappa, step, alone)
    with _looking:
        look = _looks.pop(key, None)
    new = look or _Look(*key)
    with _looking:
        if look is None:
            while _looks and new.bytes + sum(each.bytes for each in _looks.values()) > _KEPT:
                del _looks[next(iter(_looks))]
        _looks[key] = new  # the latest is last
    return new


_looks: dict[tuple[int, float, float, float, int, float, bool], _Look] = {}
_looking = Lock()  # workers of a cluster may have several threads


class _Grid:
    """Cells of p and bins of v on one grid, uniform in the square root, where every binomial has the same width."""

    def __init__(self, U: int, a: float, b: float, kappa: int, step: float, *, alone: bool) -> None:
        self._unit = step / (2 * sqrt(U))
        slack, band = kappa / U, ceil(_BAND / step)
        first, last = floor(sqrt(a) / self._unit), ceil(sqrt(b) / self._unit)
        bins = np.arange(first, last)
        edges = self._edge(bins)
        self.bin_low, bin_high = np.maximum(edges, a), np.minimum(self._edge(bins + 1), b)
        self.widths = np.maximum(bin_high - self.bin_low, 0.0)
        left = band + 1 + ceil((sqrt(a) - sqrt(max(0.0, a - slack))) / self._unit)
        right = band + 1 + ceil((sqrt(a + slack) - sqrt(a)) / self._unit)
        self._first, self._count, self._near = first - left, last - first + left + right, left + right + 1
        self.top = min(1.0, float(self._edge(np.array([last + right]))[0]))
        # A row for each cell, with the bins it is near to, from the first to the last: cell c is the j-th near bin c - j.
        self._by_cell = np.zeros((self._count, self._near))
        self._worst[:] = self._bound(U, kappa, bin_high, alone=alone)
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

    def _bound(self, U: int, kappa: int, bin_high: Floats, *, alone: bool) -> Floats:
        """What `_worst` is."""
        edges = _Logs.of(self._edge(np.arange(self._first, self._first + self._count + 1)))
        cells, next_cells = edges.windows(0, self._near, len(bin_high)), edges.windows(1, self._near, len(bin_high))
        surely = _lower_tail(U, np.floor(U * self.bin_low - 1e-6)[:, None] - kappa, next_cells, upper=False)
        maybe = _lower_tail(U, np.floor(U * bin_high + 1e-6)[:, None] + kappa, cells, upper=True)
        above = bin_high[:, None] <= cells.p  # v < p throughout
        if alone:
            inside, outside = 1 - surely, maybe
            below = next_cells.p <= self.bin_low[:, None]  # v >= p throughout
            bound = np.where(above, outside, np.where(below, inside, np.maximum(inside, outside)))
        else:
            surely *= surely  # both labs
            inside, outside = 1 - surely, 1 - (1 - maybe) ** 2
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
class _Logs:
    """Probabilities with the logarithms of p and 1-p."""

    p: Floats
    log_p: Floats
    log_q: Floats

    @classmethod
    def of(cls, p: Floats) -> _Logs:
        with np.errstate(divide="ignore"):
            return cls(p, np.log(p), np.log1p(-p))

    def windows(self, first: int, width: int, count: int) -> _Logs:
        """Row i holds the `width` of them that begin with number first + i; nothing is copied."""
        rows = slice(first, first + count)
        return _Logs(*(sliding_window_view(each, width)[rows] for each in (self.p, self.log_p, self.log_q)))


def _lower_tail(U: int, m: Floats, at: _Logs, *, upper: bool) -> Floats:
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
    at, low, high = _Logs.of(np.array([p])), -1, U
    while high - low > 1:
        middle = (low + high) // 2
        small = _lower_tail(U, np.array([float(middle)]), at, upper=True)[0] <= failure
        low, high = (middle, high) if small else (low, middle)
    return low


def _range_maximum(values: Floats, begin: Counts, end: Counts) -> Floats:
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
    found: Floats = np.maximum(table[depth, begin], table[depth, end - (1 << depth.astype(np.int64)) + 1])
    return found


def gamma_unlimited(scores: Floats, kappa: float, a: float, b: float, masses: Masses | None, least: float) -> float:
    """Γ̂ of a pool without end: what is left of the bound when only labels are missing.

    Distances are then known up to κ, and h matters for thresholds within κ of its distance.
    """
    if kappa >= a:
        return inf
    weights = np.ones(len(scores)) if masses is None else masses
    surely = scores + kappa  # h is inside from here on
    order = np.argsort(surely, kind="stable")
    starts, cumulated = surely[order], np.cumsum(weights[order])
    points = np.unique(np.concatenate(([a, b], starts[(starts > a) & (starts < b)])))
    inside = np.maximum(np.concatenate(([0.0], cumulated))[np.searchsorted(starts, points[:-1], side="right")], least)
    integral = np.concatenate(([0.0], np.cumsum(np.diff(points) / inside)))
    p = np.clip(a + kappa, scores - kappa, scores + kappa)  # 1/N falls with v: the worst p is the smallest that fits
    reach = np.interp(np.clip(p + kappa, a, b), points, integral) - np.interp(
        np.clip(p - kappa, a, b), points, integral
    )
    return float((weights * reach).sum()) / (b - a)


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
