"""Betting against a hypothesis about a mean, with wealth that a few whole numbers determine.

A bet is about Z in [-1, 1] with few values, of errors 0, 1 and -1. For each of a few fixed stakes the wealth is multiplied
by a factor that depends on Z alone, so it is known from how often each value came; what counts is the mean over the stakes.
If no factor has a mean above 1, that wealth is a nonnegative supermartingale from 1 and reaches 1/δ with probability at
most δ, at any time (Ville).

Wealth is compared in decimals, the same to the last digit on every machine; doubles only pass over what is far from its
bound.

`share_interval` and `mean_interval` hold at every moment, so that one may stop counting whenever one likes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, log

import numpy as np
from numpy.typing import NDArray

from replical.core.exact import check_between, decimal, decimals, fraction
from replical.core.kernels.accounts import Kinds
from replical.errors import ValueOutOfRange

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

PLAIN = (Decimal(0), Decimal(1), Decimal(-1))  # of errors
_FEW = 256  # bets that are computed one by one: finding equal ones would take longer
_CLEAR = 1e-6  # doubles are off by far less; what is nearer to its bound is decided in decimals
_MARGIN = Decimal("1e-30")  # relative; 50 digits and a million factors are off by less than 1e-43


@dataclass(frozen=True, kw_only=True, eq=False)
class Bets:
    """The factors of one kind of bet.

    Attributes
    ----------
    factors
        For each stake the factors for every value of Z, all above 0.
    values
        Those values: 0, 1, -1, then perhaps others in pairs, each with its negative behind it.
    """

    factors: Sequence[tuple[Decimal, ...]]
    values: tuple[Decimal, ...] = PLAIN
    _wealth: dict[tuple[int, ...], Decimal] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        assert all(factor > 0 for each in self.factors for factor in each), "a stake that can lose everything is no bet"

    @cached_property
    def _logs(self) -> Floats:
        with decimals():
            return np.array([[float(factor.ln()) for factor in each] for each in self.factors])

    def about(self, counts: Counts) -> Floats:
        """ln of the wealth, in doubles; `counts` has rows for the values of Z, perhaps not the last ones, a column a bet.

        Examples
        --------
        >>> accepting(Decimal("0.05"), [Decimal("0.5")]).about(np.array([[40], [0], [1]])).round(3)
        array([1.41])
        """
        if len(counts) > len(PLAIN) or counts.shape[1] <= _FEW or (kinds := Kinds.of(counts)) is None:
            return self._about(counts)
        table = np.empty(kinds.size)
        table[kinds.cells] = self._about(kinds.distinct)
        return table[kinds.places]

    def _about(self, counts: Counts) -> Floats:
        """The same; a product with a single column is rounded in another way than with several."""
        logs = self._logs[:, : len(counts)] @ counts
        most = logs.max(axis=0)
        about: Floats = most + np.log(np.exp(logs - most).sum(axis=0)) - np.log(len(self.factors))
        return about

    def wealth(self, *counts: int) -> Decimal:
        """The wealth itself, never too large; `counts` of the values of Z, perhaps not of the last ones."""
        if counts not in self._wealth:
            with decimals():
                each = [_product(factors, counts) for factors in self.factors]
                total = sum(each, Decimal(0))
                self._wealth[counts] = total / len(self.factors) * (1 - _MARGIN)
        return self._wealth[counts]

    def reach(self, counts: Counts, enough: Decimal) -> NDArray[np.bool_]:
        """Which bets (columns of `counts`) hold `enough`."""
        about, least = self.about(counts), float(enough.ln())
        reached: NDArray[np.bool_] = about >= least
        for column in np.flatnonzero(np.abs(about - least) < _CLEAR).tolist():
            reached[column] = self.wealth(*counts[:, column].tolist()) >= enough
        return reached


def _product(factors: Sequence[Decimal], counts: Sequence[int]) -> Decimal:
    product = Decimal(1)
    for factor, count in zip(factors, counts, strict=False):
        product *= factor**count
    return product


def accepting(
    v: Decimal,
    stakes: Sequence[Decimal],
    values: tuple[Decimal, ...] = PLAIN,
    weights: tuple[Decimal, ...] | None = None,
) -> Bets:
    """Bets that a difference Z of losses has mean below `v`: factors 1 + λ(wv - Z), for stakes with λ(1-v) < 1.

    Values of Z may have `weights` w, of at most 1: the mean is then that of Z divided by that of w.
    """
    with decimals():
        all_weights = weights or (Decimal(1),) * len(values)
        factors = (tuple(1 + each * (w * v - Z) for Z, w in zip(values, all_weights, strict=True)) for each in stakes)
        return Bets(factors=tuple(factors), values=values)


def rejecting(v: Decimal, stakes: Sequence[Decimal], values: tuple[Decimal, ...] = PLAIN) -> Bets:
    """Bets that it has mean above `v`: factors 1 + λ/(1+v)·(Z - v), for stakes λ < 1."""
    with decimals():
        scaled = [each / (1 + v) for each in stakes]
        return Bets(factors=tuple(tuple(1 + each * (Z - v) for Z in values) for each in scaled), values=values)


_DIGITS = 10**6  # ends are rounded outwards to this, so that two machines publish the same


def share_interval(hits: int, items: int, level: float) -> tuple[float, float]:
    """The shares p that `hits` among `items` leave plausible; the true one is left out at any time with this `level`.

    The likelihood of p is compared with its mean under the prior Beta(½, ½). At the true p that quotient is a nonnegative
    martingale from 1, so it ever reaches 1/level with probability at most `level` (Ville).

    Examples
    --------
    >>> share_interval(10, 100, .05)
    (0.02906, 0.22751)
    """
    from scipy.optimize import brentq
    from scipy.special import betaln, xlog1py, xlogy

    least = betaln(hits + 0.5, items - hits + 0.5) - betaln(0.5, 0.5) + log(level)

    def plausibility(p: float) -> float:
        """Above 0 where p is plausible."""
        return float(xlogy(hits, p) + xlog1py(items - hits, -p) - least)

    best = hits / items if items else 0.5
    low = 0.0 if hits == 0 or items == 0 else brentq(plausibility, 1e-300, best)
    high = 1.0 if hits == items else brentq(plausibility, best, 1 - 1e-16)
    margin = 1e-9
    return max(0.0, floor((low - margin) * _DIGITS) / _DIGITS), min(1.0, ceil((high + margin) * _DIGITS) / _DIGITS)


_HALVINGS = range(1, 13)  # stakes of an interval are 1/2, 1/4, .. of the largest: fine ones for many values


def mean_interval(values: Iterable[float | Fraction], level: float = 0.05) -> tuple[float, float]:
    """A confidence interval for the mean of a law in [0, 1] from which `values` are independent draws, valid at any time.

    Whoever looks after every value and stops whenever they like misses the mean with probability `level` at most.

    Parameters
    ----------
    values
        Losses, scores or shares.
    level
        How often the interval may miss.

    Returns
    -------
    low, high
        Rounded outwards to six digits; 0 and 1 where nothing is known.

    Raises
    ------
    ValueOutOfRange
        If a value is no number from 0 to 1, or the level is not between 0 and 1.

    Notes
    -----
    A mean m is too low where bets against it, of 1 + λ(X/m - 1) a value with stakes λ, hold 2/level on average; m is too
    high where 1-m is too low for 1-X.

    Examples
    --------
    >>> mean_interval([0, 0.5, 1, 0.25] * 25, .05)
    (0.315484, 0.571709)
    """
    check_between("level", level, 0, 1)
    counts = Counter(map(_share, values))
    mirrored = {1 - value: count for value, count in counts.items()}
    low, high = (_too_low(each, decimal(level)) for each in (counts, mirrored))
    return low / _DIGITS, (_DIGITS - high) / _DIGITS


def _share(value: float | Fraction) -> Fraction:
    if not isinstance(value, int | float | Fraction | np.number | np.bool_) or not 0 <= value <= 1:
        raise ValueOutOfRange(f"the values are numbers from 0 to 1, got {value!r:.40}")
    return value if isinstance(value, Fraction) else fraction(float(value))


def _too_low(counts: Mapping[Fraction, int], level: Decimal) -> int:
    """The largest mean that is too low, in parts of a million; it is 0 where none is."""
    X = np.array([float(value) for value in counts])
    times, stakes = np.array([*counts.values()], dtype=np.float64), np.array([0.5**k for k in _HALVINGS])
    with decimals():
        enough = 2 / level
        exact = [decimal(value) for value in counts]
        least = float(enough.ln())

    def plausible(parts: int) -> bool:
        """Do bets against this mean hold too little? Near the bound decimals decide."""
        logs = np.log1p(stakes[:, None] * (X * _DIGITS / parts - 1)) @ times
        about = logs.max() + log(np.exp(logs - logs.max()).mean())
        if abs(about - least) > _CLEAR:
            return bool(about < least)
        with decimals():
            each = [[1 + Decimal(stake) * (x * _DIGITS / parts - 1) for x in exact] for stake in stakes.tolist()]
            wealth = [_product(factors, [*counts.values()]) for factors in each]
            return sum(wealth, Decimal(0)) / len(wealth) < enough

    return bisect_left(range(1, _DIGITS + 1), True, key=plausible)
