"""Binomial tails that are bounds and not approximations, on a grid of probabilities and thresholds.

Cells in p and bins in v are rectangles on which the binomial distribution function is bounded at a corner (it falls in p
and rises in v), by the inequalities of Zubkov and Serov (2013).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor, inf, sqrt

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

# Width of a cell in standard deviations: costs about 35%, 14% and 7% of the part of the bound that sampling makes.
COARSE, FINE, FINEST = 0.25, 0.1, 0.05
_BAND = 6.8  # standard deviations beyond which a distribution function is 0 or 1 up to 10⁻¹¹
_SHIFTED = 20.0  # half standard deviations by which a shift may move a distance before cells are made wider
_ROUNDING = 4e-15  # relative error of a divergence computed in doubles, with room to spare
_LEAST = 1e-300
_FEW = 40  # times the cells of a grid: what building a sparse table costs


class Grid:
    """Cells of p and bins of v on one grid, uniform in the square root, where every binomial has the same width."""

    def __init__(
        self, U: int, a: float, b: float, kappa: int, step: float, *, alone: bool, labs: int = 2, shift: float = 0.0
    ) -> None:
        # Where a shift moves distances far more than sampling does, cells of a hundredth of it lose nothing.
        step *= max(1.0, sqrt(U * b) * (1 / sqrt(1 - shift) - 1) / _SHIFTED)
        self._unit = step / (2 * sqrt(U))
        slack, band = kappa / U, ceil(_BAND / step)
        first, last = floor(sqrt(a) / self._unit), ceil(sqrt(b) / self._unit)
        bins = np.arange(first, last)
        edges = self._edge(bins)
        self.bin_low, bin_high = np.maximum(edges, a), np.minimum(self._edge(bins + 1), b)
        self.widths = np.maximum(bin_high - self.bin_low, 0.0)
        # How far slack and shift move a distance is largest at one end of the range.
        moved_down = max(sqrt(v) - sqrt(max(0.0, v - slack) / (1 + shift)) for v in (a, b))
        moved_up = max(sqrt((v + slack) / (1 - shift)) - sqrt(v) for v in (a, b))
        left, right = (band + 1 + ceil(moved / self._unit) for moved in (moved_down, moved_up))
        self._first, self._count, self._near = first - left, last - first + left + right, left + right + 1
        self.top = min(1.0, float(self._edge(np.array([last + right]))[0]))
        # A row for each cell, with the bins it is near to, from the first to the last: cell c is the j-th near bin c - j.
        self._by_cell = np.zeros((self._count, self._near))
        self._worst[:] = self._bound(U, kappa, bin_high, alone=alone, labs=labs, shift=shift)
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

    def _bound(self, U: int, kappa: int, bin_high: Floats, *, alone: bool, labs: int, shift: float) -> Floats:
        """What `_worst` is."""
        edges, shape = self._edge(np.arange(self._first, self._first + self._count + 1)), (self._near, len(bin_high))
        starts, ends = sliding_window_view(edges, self._near)[:-1], sliding_window_view(edges, self._near)[1:]
        smallest = Logs.of(edges * (1 - shift)).windows(0, *shape)  # in any lab's own population
        largest = Logs.of(np.minimum(edges * (1 + shift), 1.0)).windows(1, *shape)
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
