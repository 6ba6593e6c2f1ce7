"""What a finite list may lose against the infinite class that it stands for.

Thresholds on the real line become cuts at public quantiles, which loses a little: the best of the list errs more than the
best of the class by at most η, except with probability β over the public rows. Claim: docs/claims/finite.md.
"""

from __future__ import annotations

from math import ceil

from replical.core.exact import check_between, lower_tail
from replical.errors import ValueOutOfRange

_DIGITS = 10**6  # losses are rounded up to this


def quantile_loss(rows: int, bins: int, level: float) -> float:
    """How much the best cut at public quantiles may err more than the best cut on the real line, except with `level`.

    `rows` are independent draws from the population of the labs; ⌈rows/bins⌉ consecutive ones always have a cut among them.
    The loss is the least share, rounded up to six digits, in which fewer than so many rows lie with probability at most
    `level`.

    Examples
    --------
    >>> quantile_loss(1000, 1000, 0.05), quantile_loss(100_000, 50, 0.05)
    (0.002992, 0.020734)
    """
    from scipy.special import betaincinv

    check_between("level", level, 0, 1)
    if rows < 1 or bins < 1:
        raise ValueOutOfRange(f"quantiles need at least one row and one cut, got {rows} rows and {bins} cuts")
    apart = step(rows, bins)
    eta = ceil(float(betaincinv(apart, rows - apart + 1, 1 - level)) * _DIGITS) / _DIGITS
    return eta if lower_tail(apart - 1, rows, eta) <= level else eta + 1 / _DIGITS


def step(rows: int, bins: int) -> int:
    """So many consecutive rows always have a cut among them."""
    return -(-rows // min(bins, rows))
