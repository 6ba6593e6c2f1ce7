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
from replical.core.kernels.accounts import Kinds

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

_FEW = 256  # bets that are computed one by one: finding equal ones would take longer
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
        if counts.shape[1] <= _FEW or (kinds := Kinds.of(counts)) is None:
            return self._about(counts)
        table = np.empty(kinds.size)
        table[kinds.cells] = self._about(kinds.distinct)
        return table[kinds.places]

    def _about(self, counts: Counts) -> Floats:
        """The same; a product with a single column is rounded in another way than with several."""
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
