"""An interval for a share that holds at every moment of counting, so that one may stop counting whenever one likes."""

from __future__ import annotations

from math import ceil, floor, log

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

    enough = betaln(hits + 0.5, items - hits + 0.5) - betaln(0.5, 0.5) + log(level)

    def apart(p: float) -> float:
        """Above 0 where p is plausible."""
        return float(xlogy(hits, p) + xlog1py(items - hits, -p) - enough)

    best = hits / items if items else 0.5
    low = 0.0 if hits == 0 or items == 0 else brentq(apart, 1e-300, best)
    high = 1.0 if hits == items else brentq(apart, best, 1 - 1e-16)
    margin = 1e-9
    return max(0.0, floor((low - margin) * _DIGITS) / _DIGITS), min(1.0, ceil((high + margin) * _DIGITS) / _DIGITS)
