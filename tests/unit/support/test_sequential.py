"""The sequential test of the guarantees has the error rates it says, computed exactly."""

from itertools import product
from math import comb

import pytest

from replical.core.exact import upper_tail
from support.power import detects, rejects_at
from support.reference import binomial_upper
from support.sequential import POWER, Promise, outcomes

SIZES = [
    (0.1, 1000, 5e-7), (0.05, 2000, 1e-6), (0.05, 800, 5e-7), (0.5, 120, 5e-7), (0.15, 500, 5e-7),
    (0.002, 5000, 1e-6),
]  # fmt: skip
SMALL = (0.2, 20, 0.01)


def at_the_end(promise, p):
    """Exact probabilities of broken, kept and undecided when trials fail with probability `p`."""
    *_, last = outcomes(p, promise.rho, promise.found, promise.alarm, promise.most)
    return last


@pytest.mark.parametrize("size", SIZES)
def test_false_alarms_are_as_rare_as_they_should_be(size):
    """At the promised probability, and below it."""
    promise = Promise(*size)
    for share in (1, 0.9, 0.5):
        assert at_the_end(promise, share * promise.rho)[0] <= promise.alarm
    assert at_the_end(promise, promise.rho)[0] >= promise.alarm / 4  # nothing is given away


@pytest.mark.parametrize("size", SIZES)
def test_it_finds_what_the_exact_test_of_as_many_trials_finds(size):
    rho, trials, alarm = size
    promise = Promise(*size)
    assert promise.found == detects(trials, rho, alarm)
    assert upper_tail(rejects_at(trials, rho, alarm), trials, promise.found) == pytest.approx(POWER)
    for p in (promise.found, min(1.3 * promise.found, 0.95)):
        assert at_the_end(promise, p)[0] >= POWER
    *_, shorter = outcomes(promise.found, rho, promise.found, alarm, promise.most - 1)
    assert shorter[0] < POWER  # `most` is the least


def test_probabilities_are_those_of_every_course():
    """All courses of twelve trials, one by one, through the test itself."""
    p, trials = 0.3, 12
    broken = kept = 0.0
    for course in product((False, True), repeat=trials):
        promise = Promise(*SMALL)
        assert promise.most > trials
        promise.hear(*course)
        weight = p ** sum(course) * (1 - p) ** (trials - sum(course))
        broken, kept = broken + weight * (promise.broken is True), kept + weight * (promise.broken is False)
    *_, told = outcomes(p, promise.rho, promise.found, promise.alarm, trials)
    assert told == pytest.approx((broken, kept, 1 - broken - kept))
    assert broken > 0.01
    assert kept > 0.01


def test_trials_after_the_decision_change_nothing():
    promise = Promise(*SMALL)
    while promise.open:
        promise.hear(True)
    heard = promise.trials
    promise.hear(*[False] * 500)
    assert (promise.broken, promise.trials, promise.failures) == (True, heard, heard)
    assert f"{heard} of {heard} pairs differ" in promise.told()


def test_nothing_is_decided_by_too_few():
    with pytest.raises(AssertionError, match="find nothing"):
        Promise(0.5, 5, 1e-6)
    assert comb(5, 5) * 0.5**5 > 1e-6


def test_rejects_at_is_the_smallest_count_within_the_alarm():
    count = rejects_at(200, 0.125, 1e-6)
    assert float(binomial_upper(count, 200, 0.125)) <= 1e-6 < float(binomial_upper(count - 1, 200, 0.125))
