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
