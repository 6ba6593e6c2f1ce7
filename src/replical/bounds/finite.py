"""What a finite list may lose against the infinite class that it stands for.

Thresholds on the real line become cuts at public quantiles, half-spaces a random net. Both lose a little: the best of the
list errs more than the best of the class by at most η, except with probability β over whatever the list was drawn from.
Claim: docs/claims/finite.md.
"""

from __future__ import annotations

from math import ceil, log, pi, sin

import numpy as np

from replical.core.exact import in_open, lower_tail
from replical.errors import ValueOutOfRange

_DIGITS = 10**6  # losses are rounded up to this
_NODES = 48  # of the quadrature over angles
_HALVINGS = 40  # of [0, 8], in which offsets are looked for
_STEPS = 24  # halvings of [0, 1/2]


def quantile_loss(rows: int, bins: int, level: float) -> float:
    """How much the best cut at public quantiles may err more than the best cut on the real line.

    Parameters
    ----------
    rows
        Public rows, independent draws from the population of the labs.
    bins
        Cuts: every ⌈rows/bins⌉ consecutive rows, in ascending order, have one of them.
    level
        With what probability, over the public rows, it may err more than that.

    Returns
    -------
    eta
        The least share, rounded up to six digits, in which fewer than ⌈rows/bins⌉ of the rows lie with probability at most
        `level`.

    Raises
    ------
    ValueOutOfRange
        If there is no row or no cut, or `level` is not between 0 and 1.

    Examples
    --------
    >>> quantile_loss(1000, 1000, 0.05), quantile_loss(100_000, 50, 0.05)
    (0.002992, 0.020734)
    """
    from scipy.special import betaincinv

    in_open("level", level, 0, 1)
    if rows < 1 or bins < 1:
        raise ValueOutOfRange(f"quantiles need at least one row and one cut, got {rows} rows and {bins} cuts")
    apart = step(rows, bins)
    eta = ceil(float(betaincinv(apart, rows - apart + 1, 1 - level)) * _DIGITS) / _DIGITS
    return eta if lower_tail(apart - 1, rows, eta) <= level else eta + 1 / _DIGITS


def step(rows: int, bins: int) -> int:
    """So many consecutive rows always have a cut among them."""
    return -(-rows // min(bins, rows))


def cap_share(dimensions: int, eta: float) -> float:
    """The share of all directions within the angle π·`eta` of a given one: their half-spaces differ on a share `eta`.

    That is so for half-spaces through the origin, under every law that no rotation changes.

    Examples
    --------
    >>> round(cap_share(2, 0.05), 12), f"{log(20) / cap_share(10, 0.05):.2g}"
    (0.05, '4.1e+08')
    """
    from scipy.special import betainc

    _check_net(dimensions, eta)
    return 0.5 * float(betainc((dimensions - 1) / 2, 0.5, sin(pi * eta) ** 2))


def net_share(dimensions: int, eta: float) -> float:
    """The share of a net of half-spaces, directions and offsets, that differs from a given one on at most a share `eta`.

    Features are standard normal and the given half-space ends in their middle, which is where the fewest are near. A
    half-space at the angle α with offset b differs from it on the share ½ - 2T(b, cot α), T Owen's function.

    Examples
    --------
    >>> round(net_share(2, 0.05), 5), f"{net_share(10, 0.05):.1e}"
    (0.0043, '3.5e-10')
    """
    from scipy.special import betaln, ndtr, owens_t

    _check_net(dimensions, eta)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    s = (nodes + 1) / 2  # α = πη(1 - s²): the integrand has no root at its end then
    angle = pi * eta * (1 - s**2)
    low, high = np.zeros(_NODES), np.full(_NODES, 8.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        near = 0.5 - 2 * owens_t(middle, 1 / np.tan(angle)) <= eta
        low, high = np.where(near, middle, low), np.where(near, high, middle)
    density = np.exp((dimensions - 2) * np.log(np.sin(angle)) - betaln((dimensions - 1) / 2, 0.5))
    share = density * (2 * ndtr(low) - 1) * 2 * pi * eta * s
    return float((weights / 2 * share).sum())


def net_size(dimensions: int, eta: float, beta: float) -> int:
    """So many half-spaces of a random net have one that differs from a given one on a share `eta`, except with `beta`.

    Examples
    --------
    >>> net_size(2, 0.05, 0.05), f"{net_size(10, 0.05, 0.05):.1e}"
    (697, '8.6e+09')
    """
    in_open("beta", beta, 0, 1)
    return ceil(log(1 / beta) / net_share(dimensions, eta))


def net_reach(dimensions: int, count: int, beta: float) -> float:
    """The least share on which some half-space of a net of `count` differs from a given one, except with `beta`.

    Examples
    --------
    >>> round(net_reach(2, 697, 0.05), 3), round(net_reach(10, 2000, 0.05), 2)
    (0.05, 0.24)
    """
    in_open("beta", beta, 0, 1)
    low, high = 0.0, 0.5
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if count * net_share(dimensions, middle) >= log(1 / beta) else (middle, high)
    return high


def _check_net(dimensions: int, eta: float) -> None:
    if dimensions < 2:
        raise ValueOutOfRange(f"a net of half-spaces has at least two dimensions, got {dimensions}")
    in_open("eta", eta, 0, 0.5)
