"""The doubling learner: labs agree whether certified or not, for about 1/ρ items in the mean (docs/claims/doubling.md)."""

import numpy as np
import pytest
from scipy.stats import binom

from replical import mean_interval
from support.doubling import bound, handicaps, lab, stages
from support.sequential import Promise

N, EPSILON, RHO = 8, 0.05, 0.1
WORLDS = {
    "all alike": [0.1] * N,
    "two near the best": [0.1, 0.101, *[0.14] * (N - 2)],
    "one clear": [0.05, *[0.2] * (N - 1)],
}


def pairs(errors, name, *, fewer=1, shared=True):
    """Do two labs differ, what does the first answer, and how many items did it take?"""
    generator = np.random.default_rng(list(name.encode()))
    while True:
        one = handicaps(N, EPSILON, generator)
        two = one if shared else handicaps(N, EPSILON, generator)
        answer, items = lab(errors, one, EPSILON, RHO, generator, fewer=fewer)
        yield answer != lab(errors, two, EPSILON, RHO, generator, fewer=fewer)[0], answer, items


def judged(errors, name, alarm, **broken):
    promise, heard = Promise(RHO, 400, alarm), pairs(errors, name, **broken)
    while promise.open:
        promise.hear(next(heard)[0])
    return promise


@pytest.mark.claim("doubling")
@pytest.mark.parametrize("world", WORLDS)
def test_labs_agree_and_pay_in_the_mean(world, alarm, request, record_property):
    errors = WORLDS[world]
    same = judged(errors, request.node.name, alarm / 2)
    record_property("power", same.told())
    assert same.broken is False
    most = stages(N, EPSILON, RHO)[0][-1]
    heard = pairs(errors, request.node.name)
    found = [next(heard) for _ in range(400)]
    assert mean_interval([items / most for *_, items in found], alarm / 2)[0] * most <= bound(N, EPSILON, RHO)
    assert max(errors[answer] - min(errors) for _, answer, _ in found) <= EPSILON


@pytest.mark.claim("doubling")
@pytest.mark.mutant
@pytest.mark.parametrize(
    "broken", [{"shared": False}, {"fewer": 1000}], ids=["own handicaps", "a thousandth of the items"]
)
def test_the_same_test_catches_mutants(broken, alarm, request):
    assert judged(WORLDS["all alike"], request.node.name, alarm / 2, **broken).broken


@pytest.mark.claim("doubling")
@pytest.mark.parametrize("items", [10, 100, 1000, 10_000])
def test_nobody_decides_between_two_with_less(items):
    """Statement 2 by exact laws, for a threshold of any width: the least product of ρ, ε and the root of m."""
    epsilon = 0.3
    q = np.linspace(-epsilon, epsilon, 401)
    for width in (0.0, 0.1, 0.2):
        t = np.linspace(-width, width, 101)
        above = binom.sf(np.floor(items * (1 + t[:, None]) / 2), items, (1 + q) / 2)  # by string and world
        delta = max(above[:, 0].mean(), 1 - above[:, -1].mean())
        rho = (2 * above * (1 - above)).mean()
        gamma = max(0.0, 1 - 8 * delta)
        assert rho * epsilon * items**0.5 >= 3 / 16 * gamma * (1 - epsilon**2) ** 0.5
