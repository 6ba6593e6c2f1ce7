"""The interval of `--measure-error` holds whenever one stops measuring (docs/claims/handicap.md, statement 8)."""

from itertools import count

import numpy as np
import pytest
from scipy.stats import beta

from replical import PrivateRandomness, mean_interval
from replical.bounds.betting import share_interval
from support.sequential import Promise


def fixed_number(wrong, items, level):
    """The exact interval for a number of items that was fixed beforehand."""
    low = beta.ppf(level / 2, wrong, items - wrong + 1) if wrong else 0.0
    return low, beta.ppf(1 - level / 2, wrong + 1, items - wrong) if wrong < items else 1.0


@pytest.mark.claim("handicap")
@pytest.mark.mutant
@pytest.mark.parametrize("broken", [False, True])
def test_the_interval_of_the_error_holds_whenever_one_stops(broken, alarm, request, record_property):
    """Who looks after every item and stops when the interval misses the truth does so with probability .05 at most."""
    interval, promise, p = fixed_number if broken else share_interval, Promise(0.05, 200, alarm), 0.1
    for run in count():
        if not promise.open:
            break
        coins = PrivateRandomness.simulated(request.node.name, run).generator("coins").random(400) < p
        missed = False
        for items, wrong in enumerate(np.cumsum(coins).tolist(), start=1):
            if items % 5 == 0:
                low, high = interval(wrong, items, 0.05)
                missed = missed or not low <= p <= high
        promise.hear(missed)
    record_property("power", promise.told("intervals miss the error"))
    assert promise.broken == broken


def by_deviation(values, level):
    """The usual interval: 1.96 standard errors around the average."""
    around = 1.96 * np.std(values) / np.sqrt(len(values))
    return np.mean(values) - around, np.mean(values) + around


@pytest.mark.claim("handicap")
@pytest.mark.mutant
@pytest.mark.parametrize("broken", [False, True])
def test_the_interval_of_a_mean_holds_whenever_one_stops(broken, alarm, request, record_property):
    """The same of losses of 0, a quarter and 1."""
    interval, promise = by_deviation if broken else mean_interval, Promise(0.05, 200, alarm)
    for run in count():
        if not promise.open:
            break
        generator = PrivateRandomness.simulated(request.node.name, run).generator("losses")
        losses = generator.choice([0.0, 0.25, 1.0], p=[0.6, 0.3, 0.1], size=400)
        intervals = (interval(losses[:items].tolist(), 0.05) for items in range(5, 401, 20))
        promise.hear(any(not low <= 0.175 <= high for low, high in intervals))
    record_property("power", promise.told("intervals miss the mean"))
    assert promise.broken == broken
