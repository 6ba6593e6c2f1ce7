"""The upper bound on Θ holds as often as it says: every pool there can be, with its probability (docs/claims/theta.md)."""

from itertools import combinations, pairwise
from math import exp, lgamma, log

import numpy as np
import pytest

from replical import Pool, Population, PredictionTable, PrivateRandomness, theta, theta_bound
from replical.worlds.theta_bound import _Limits

ITEMS = 10
C = PredictionTable([f"c{i}" for i in range(7)], labels=(0, 1))
# Four cells and what seven hypotheses say there; the last cell is not disputed.
PREDICTIONS = C.items([[0, 1, 0, 0, 1, 0, 1], [0, 0, 1, 0, 1, 1, 0], [0, 0, 0, 1, 0, 1, 1], [0, 0, 0, 0, 0, 0, 0]])
WORLDS = {"distances decide": ((10, 10, 4, 1), 0.1), "masses decide": ((2, 2, 2, 4), 0.3)}


def counts_of(items, cells):
    """Every way in which so many items fall into the cells."""
    for bars in combinations(range(items + cells - 1), cells - 1):
        ends = (-1, *bars, items + cells - 1)
        yield [after - before - 1 for before, after in pairwise(ends)]


def how_often_it_fails(weights, r0, confidence, centre):
    """The exact probability that the bound lies below Θ of the population."""
    world = Population(C, target=0, cells=PREDICTIONS, weights=np.array(weights))
    truth, failing = theta(C, world, r0=r0, centre=centre).value, 0.0
    for counts in counts_of(ITEMS, len(weights)):
        pool = Pool(C, PREDICTIONS[np.repeat(np.arange(4), counts)], PrivateRandomness.simulated("p"))
        if theta_bound(C, pool, r0=r0, confidence=confidence, centre=centre).value < truth:
            logs = [
                count * log(weight / sum(weights)) - lgamma(count + 1)
                for count, weight in zip(counts, weights, strict=True)
            ]
            failing += exp(lgamma(ITEMS + 1) + sum(logs))
    return failing


@pytest.mark.claim("theta")
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize(("centre", "confidence"), [(None, 0.95), (0, 0.95), (0, 0.5)])
def test_the_bound_holds_as_often_as_it_says(world, centre, confidence):
    assert how_often_it_fails(*WORLDS[world], confidence, centre) <= 1 - confidence


@pytest.mark.claim("theta")
@pytest.mark.mutant
@pytest.mark.parametrize(("world", "broken"), [("distances decide", "distance"), ("masses decide", "mass")])
def test_the_same_test_catches_a_pool_that_is_believed(world, broken, monkeypatch):
    """Distances, or masses, taken as they are on the pool."""
    weights, r0 = WORLDS[world]
    least = r0 if broken == "distance" else 0.0
    monkeypatch.setattr(_Limits, broken, lambda limits, counts: np.maximum(counts / ITEMS, least))
    assert how_often_it_fails(weights, r0, 0.95, 0) > 0.2
