"""How many labels CAL asks for over a whole pool, in the mean: Theorem R1 (docs/claims/rounded.md)."""

from __future__ import annotations

from math import log


def scanning(n: int, theta: float, items: int) -> float:
    """At most 2 + A(1 + ln(U/A)) labels of U items in the mean, A = Θ(1 + ln n).

    Parameters
    ----------
    n
        Hypotheses.
    theta
        Disagreement coefficient.
    items
        U.

    Examples
    --------
    >>> round(scanning(1000, 2, 100_000))
    156
    """
    A = min(theta * (1 + log(n)), items)
    return 2 + A * (1 + log(items / A))
