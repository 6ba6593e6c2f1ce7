"""Betting against a hypothesis about a mean, with wealth that three whole numbers determine.

A bet is about Z in {-1, 0, 1}. For each of a few fixed stakes the wealth is multiplied by a factor that depends on Z alone,
so it is known from how often each value came; what counts is the mean over the stakes. If no factor has a mean above 1, that
wealth is a nonnegative supermartingale from 1 and reaches 1/δ with probability at most δ, at any time (Ville).

Wealth is compared in decimals, the same to the last digit on every machine; doubles only pass over what is far from its
bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from replical.core.exact import decimals

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_FEW = 256  # bets that are computed one by one: finding equal ones would take longer
_SPARSE = 4  # cells of a table for each bet, at most
_MARGIN = Decimal("1e-30")  # relative; 50 digits and a million factors are off by less than 1e-43


@dataclass(frozen=True, kw_only=True, eq=False)
class Bets:
    """The factors of one kind of bet.

    Attributes
    ----------
    factors
        For each stake the factors for Z = 0, Z = +1 and Z = -1, all above 0.
    """

    factors: Sequence[tuple[Decimal, Decimal, Decimal]]
    _wealth: dict[tuple[int, int, int], Decimal] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        assert all(factor > 0 for each in self.factors for factor in each), "a stake that can lose everything is no bet"

    @cached_property
    def _logs(self) -> Floats:
        with decimals():
            return np.array([[float(factor.ln()) for factor in each] for each in self.factors])

    def about(self, counts: Counts) -> Floats:
        """ln of the wealth, in doubles; `counts` has rows for Z = 0, +1, -1 and a column for each bet.

        Examples
        --------
        >>> accepting(Decimal("0.05"), [Decimal("0.5")]).about(np.array([[40], [0], [1]])).round(3)
        array([1.41])
        """
        if counts.shape[1] <= _FEW or (kinds := _kinds(counts)) is None:
            return self._about(counts)
        distinct, cells, places, size = kinds
        table = np.empty(size)
        table[cells] = self._about(distinct)
        return table[places]

    def _about(self, counts: Counts) -> Floats:
        logs = self._logs @ counts
        most = logs.max(axis=0)
        about: Floats = most + np.log(np.exp(logs - most).sum(axis=0)) - np.log(len(self.factors))
        return about

    def wealth(self, zeros: int, plus: int, minus: int) -> Decimal:
        """The wealth itself, never too large."""
        key = (zeros, plus, minus)
        if key not in self._wealth:
            with decimals():
                each = [nought**zeros * up**plus * down**minus for nought, up, down in self.factors]
                total = sum(each, Decimal(0))
                self._wealth[key] = total / len(self.factors) * (1 - _MARGIN)
        return self._wealth[key]


def _kinds(counts: Counts) -> tuple[Counts, Indices, Indices, int] | None:
    """Columns of which no two are equal, the cell of each in a table of a certain size, and the cell of every column.

    Bets that were made on the same items differ in few ways, so the table is small; None where it would not be. Distinct
    columns are two at least: a product with a single one is rounded in another way.
    """
    _, plus, minus = counts
    total = counts.sum(axis=0)
    (t, spans_t), (p, spans_p), (m, spans_m) = ((int(a.min()), int(np.ptp(a)) + 1) for a in (total, plus, minus))
    size = spans_t * spans_p * spans_m
    if size > _SPARSE * len(total):
        return None
    places = total - t
    for span, row, least in ((spans_p, plus, p), (spans_m, minus, m)):
        places *= span
        places += row
        places -= least
    held = np.zeros(size, dtype=np.bool_)
    held[places] = True
    cells = np.flatnonzero(held)
    if len(cells) == 1:
        cells = np.repeat(cells, 2)
    rest, less = np.divmod(cells, spans_m)
    whole, more = np.divmod(rest, spans_p)
    up, down = more + p, less + m
    return np.stack([whole + t - up - down, up, down]), cells, places, size


def accepting(v: Decimal, stakes: Sequence[Decimal]) -> Bets:
    """Bets that a difference Z of errors has mean below `v`: factors 1 + λ(v - Z), for stakes with λ(1-v) < 1."""
    with decimals():
        return Bets(
            factors=tuple((1 + each * v, 1 - each * (1 - v), 1 + each * (1 + v)) for each in stakes),
        )


def rejecting(v: Decimal, stakes: Sequence[Decimal]) -> Bets:
    """Bets that it has mean above `v`: factors 1 + λ/(1+v)·(Z - v), for stakes λ < 1."""
    with decimals():
        scaled = [each / (1 + v) for each in stakes]
        return Bets(
            factors=tuple((1 - each * v, 1 + each * (1 - v), 1 - each * (1 + v)) for each in scaled),
        )
