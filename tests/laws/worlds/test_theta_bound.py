"""The upper bound on Θ holds as often as it says: every pool there can be, with its probability (docs/claims/theta.md)."""

from itertools import combinations, pairwise
from math import exp, lgamma, log

import numpy as np
import pytest

from replical import Pool, Population, PredictionTable, PrivateRandomness, theta, theta_bound
from replical.worlds.theta import _below, _Limits

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


@pytest.mark.claim("theta")
@pytest.mark.parametrize(("centre", "pairs", "balls"), [(None, 21, 42), (0, 6, 6)])
def test_every_pair_and_every_ball_has_its_share_of_the_failures(centre, pairs, balls, monkeypatch):
    """Half of what may fail is for distances, half for masses; seven hypotheses are 21 pairs and 42 balls."""
    seen = []
    ratio = _Limits.ratio
    monkeypatch.setattr(_Limits, "ratio", lambda limits, swept: seen.append(limits) or ratio(limits, swept))
    pool = Pool(C, PREDICTIONS[np.arange(8) % 4], PrivateRandomness.simulated("p"))
    theta_bound(C, pool, centre=centre, confidence=0.9)
    assert seen[0]._pair * pairs == pytest.approx(0.05)
    assert seen[0]._ball * balls == pytest.approx(0.05)


@pytest.mark.claim("theta")
def test_interval_ends_are_on_the_safe_side_on_huge_pools():
    """The inverse alone is off near a count of 1000 on pools of 10**8 items and more."""
    from scipy.special import betainc

    counts = np.arange(980, 1020)
    for U in (10**8, 10**9):
        x = _below(counts, U - counts + 1, 1e-6)
        assert (betainc(counts, U - counts + 1, x) <= 1e-6).all()
        assert (x > 0.5 * counts / U).all()
