"""The exact binomial test of "the failure probability is at most ρ": when it rejects, and what it finds."""

from scipy.special import betaincinv

from replical.core.exact import upper_tail


def rejects_at(trials, rho, alarm):
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


def detects(trials, rho, alarm, power=0.99):
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
    count = rejects_at(trials, rho, alarm)
    return 1.0 if count > trials else float(betaincinv(count, trials - count + 1, power))
