"""Estimates at the end of a run of Settled: no bound, no proof, and nothing depends on them but what people are told."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from math import ceil, floor, log10, sqrt

import numpy as np
from numpy.typing import NDArray

from replical.bounds.betting import PLAIN
from replical.learners.settling.purses import Charges, Purses
from replical.plans.settled import SettledPlan

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_MOST = 10**7  # items beyond which nobody goes


def agreement(v: float, purses: Purses, charges: Charges, place: int, heads: Indices) -> float:
    """About how often another lab with such a pool has the same answer.

    It has to see, on data of its own, that everyone before the answer errs more than v above the best, and the answer does
    not. Both labs' means are off by their standard errors. Whoever has the same counts is one and the same to them.
    """
    before, behind = heads[heads < place], heads[heads > place]
    own = np.concatenate([charges.counts[:, place, None], purses.counts(place)[:, behind]], axis=1)
    return same_answer(v, charges.counts[:, before], own, purses.bets.values)


def same_answer(v: float, before: Counts, own: Counts, values: Sequence[Decimal] = PLAIN) -> float:
    """The same from how often Z had each of its `values` (rows) for those before the answer, and for the answer itself."""
    from scipy.special import ndtr

    earlier = float(np.prod(ndtr(_apart(np.unique(before, axis=1), v, values))))
    heard = own[:, own.sum(axis=0) > 0]
    return round(earlier * float(ndtr((-_apart(heard, v, values)).min(initial=np.inf))), 6)


def _apart(counts: Counts, v: float, values: Sequence[Decimal]) -> Floats:
    """How far the mean of Z lies above v, in standard errors of the difference between two labs."""
    items, Z = np.maximum(counts.sum(axis=0), 1), np.array(values, dtype=np.float64)
    mean = Z @ counts / items
    variance = np.maximum(Z**2 @ counts / items - mean**2, 1 / items) / items
    apart: Floats = np.where(counts.sum(axis=0) > 0, (mean - v) / np.sqrt(2 * variance), 0.0)
    return apart


def items_left(
    plan: SettledPlan, v: float, purses: Purses, charges: Charges, place: int, before: Indices, rivals: Indices
) -> int | None:
    """Roughly how many more items a proof takes; None where no comparison has begun.

    Wealth grows like half the square of a gap, in standard deviations. A gap is taken to be a standard error smaller than
    it looks: of many comparisons the one that takes longest decides. What is lost in the noise is taken to be as large as
    the noise, and may be far smaller.
    """
    missing = np.concatenate(
        [
            _missing(purses.counts(place)[:, rivals], v, float(plan.settles_at.ln()), plan.values),
            _missing(charges.counts[:, before], v, float(plan.rejects_at.ln()), plan.values),
        ]
    )
    most = max(float(missing.max(initial=0.0)), float(plan["idle"]))
    if len(missing) == 0 or most > _MOST:
        return None
    unit: int = 10 ** max(0, floor(log10(most)) - 1)  # two digits are more than anybody knows
    return ceil(most / unit) * unit


def _missing(counts: Counts, v: float, enough: float, values: Sequence[Decimal]) -> Floats:
    """Items until the wealth suffices, for each bet that has begun."""
    counts = counts[:, counts.sum(axis=0) > 0]
    items = counts.sum(axis=0)
    apart = np.maximum(np.abs(_apart(counts, v, values)) * sqrt(2) - 1, 1.0)  # in standard errors of the mean
    missing: Floats = np.maximum(2 * enough / apart**2 - 1, 0.0) * items
    return missing
