"""Exact binomial tails and intervals, used by plans, audits and tests alike."""

from __future__ import annotations

from replical.errors import ValueOutOfRange


def lower_tail(count: int, trials: int, p: float) -> float:
    """Pr[Bin(trials, p) <= count].

    Parameters
    ----------
    count, trials, p
        Successes, trials, and the probability of success.

    Returns
    -------
    tail
        The probability of at most `count` successes.

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

    Parameters
    ----------
    count, trials, p
        Successes, trials, and the probability of success.

    Returns
    -------
    tail
        The probability of at least `count` successes.

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

    Parameters
    ----------
    successes, trials
        What was observed.
    level
        Confidence.

    Returns
    -------
    low, high
        The ends of the interval.

    Raises
    ------
    ValueOutOfRange
        If there are no trials, or more successes than trials.

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

    Parameters
    ----------
    trials
        How often it is tried.
    rho
        The failure probability that is claimed.
    alarm
        How often the test may reject a true claim.

    Returns
    -------
    failures
        The fewest that reject.

    Examples
    --------
    >>> rejects_at(200, 0.1, 1e-6)
    44
    """
    return next(count for count in range(trials + 2) if upper_tail(count, trials, rho) <= alarm)


def detects(trials: int, rho: float, alarm: float, power: float = 0.99) -> float:
    """The failure probability that the test of `rejects_at` finds with probability `power`.

    Parameters
    ----------
    trials, rho, alarm
        As for `rejects_at`.
    power
        How often a false claim must be found out.

    Returns
    -------
    rate
        The smallest failure probability for which that holds; 1 where the test is empty.

    Examples
    --------
    >>> round(detects(1000, 0.1, 1e-6), 3)
    0.176
    """
    from scipy.special import betaincinv

    count = rejects_at(trials, rho, alarm)
    return 1.0 if count > trials else float(betaincinv(count, trials - count + 1, power))
