"""Exact binomial tails and intervals, used by plans, audits and tests alike."""

from __future__ import annotations

from replical.errors import ValueOutOfRange


def lower_tail(count: int, trials: int, p: float) -> float:
    """Pr[Bin(trials, p) <= count].

    Examples
    --------
    >>> round(lower_tail(1, 3, 0.5), 10)
    0.5
    """
    from scipy.special import betainc

    if count < 0:
        return 0.0
    return 1.0 if count >= trials else float(betainc(trials - count, count + 1, 1.0 - p))


def upper_tail(count: int, trials: int, p: float) -> float:
    """Pr[Bin(trials, p) >= count].

    Examples
    --------
    >>> round(upper_tail(2, 3, 0.5), 10)
    0.5
    """
    from scipy.special import betainc

    if count <= 0:
        return 1.0
    return 0.0 if count > trials else float(betainc(count, trials - count + 1, p))


def clopper_pearson(successes: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Exact two-sided confidence interval for a proportion.

    Examples
    --------
    >>> low, high = clopper_pearson(200, 200)
    >>> round(low, 4), high
    (0.9817, 1.0)
    """
    from scipy.special import betaincinv

    if not 0 <= successes <= trials or trials < 1:
        raise ValueOutOfRange(f"an interval needs 0 <= successes <= trials, got {successes} of {trials}")
    tail = (1.0 - level) / 2.0
    failures = trials - successes
    low = 0.0 if successes == 0 else float(betaincinv(successes, failures + 1, tail))
    high = 1.0 if failures == 0 else float(betaincinv(successes + 1, failures, 1.0 - tail))
    return low, high


def rejects_at(trials: int, rho: float, alarm: float) -> int:
    """The fewest failures that contradict "failure probability <= rho" at false-alarm probability `alarm`.

    It may exceed `trials`: then no outcome contradicts the claim and the test would be empty.

    Examples
    --------
    >>> rejects_at(200, 0.1, 1e-6)
    44
    """
    return next(count for count in range(trials + 2) if upper_tail(count, trials, rho) <= alarm)


def detects(trials: int, rho: float, alarm: float, power: float = 0.99) -> float:
    """The failure probability that the test of `rejects_at` finds with probability `power`.

    Examples
    --------
    >>> round(detects(1000, 0.1, 1e-6), 3)
    0.176
    """
    from scipy.special import betaincinv

    count = rejects_at(trials, rho, alarm)
    return 1.0 if count > trials else float(betaincinv(count, trials - count + 1, power))
