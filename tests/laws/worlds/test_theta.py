"""The disagreement coefficient equals brute force (docs/claims/theta.md)."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replical import Pool, Population, PredictionTable, PrivateRandomness, Thresholds, ball, curve, theta
from support import reference

radii = st.sampled_from([0.0, 0.05, 0.2, 0.5])


def table(n, m, labels, seed):
    """A random table of predictions with weights, one of them positive at least."""
    generator = np.random.default_rng(seed)
    C = PredictionTable([f"c{i}" for i in range(n)], labels=tuple(range(labels)))
    items, weights = C.items(generator.integers(labels, size=(m, n))), generator.integers(0, 4, size=m)
    weights[0] += 1
    return C, items, weights


def balls_are_those_of_brute_force(C, over, codes, weights):
    for h in range(len(C)):
        found = curve(C, over, h)
        assert list(zip(found.radii, found.disputed, found.members, strict=True)) == reference.curve(codes, weights, h)
        assert found.total == sum(weights)
        assert max(1, found.ratios.max()) == pytest.approx(float(reference.theta(codes, weights, h)))
        for r in (0, 0.05, 0.2, 0.25, 1):
            assert ball(C, over, h, r).tolist() == reference.ball(codes, weights, h, Fraction(str(r)))


def brute(C, items, weights, r0):
    codes = reference.all_codes(C, items)
    return [reference.theta(codes, weights, h, Fraction(str(r0))) for h in range(len(C))]


@pytest.mark.claim("theta")
@given(st.integers(1, 12), st.integers(1, 8), st.sampled_from([2, 3]), st.integers(0, 2**32), radii)
def test_tables_equal_brute_force(n, m, labels, seed, r0):
    C, items, weights = table(n, m, labels, seed)
    world = Population(C, target=0, cells=items, weights=weights)
    expected = brute(C, items, weights, r0)
    assert theta(C, world, r0=r0).value == pytest.approx(float(max(expected)))
    for h in range(n):
        found = theta(C, world, centre=h, r0=r0)
        assert found.value == pytest.approx(float(expected[h]))
        if found.radius[0]:
            ratio = Fraction(*found.disagreement) / Fraction(*found.radius)
            assert float(ratio) == pytest.approx(found.value)


@pytest.mark.claim("theta")
@given(st.integers(1, 15), st.lists(st.integers(-1, 15), min_size=1, max_size=12), radii)
def test_lines_equal_brute_force(n, x, r0):
    C = Thresholds(n)
    pool = Pool(C, x, PrivateRandomness.simulated("p"))
    expected = brute(C, np.array(x), np.ones(len(x), dtype=int), r0)
    assert theta(C, pool, r0=r0).value == pytest.approx(float(max(expected)))
    for h in range(n):
        assert theta(C, pool, centre=h, r0=r0).value == pytest.approx(float(expected[h]))


@pytest.mark.claim("theta")
@given(st.integers(1, 8), st.integers(1, 8), st.sampled_from([2, 3]), st.integers(0, 2**32))
def test_balls_of_tables_equal_brute_force(n, m, labels, seed):
    C, items, weights = table(n, m, labels, seed)
    world = Population(C, target=0, cells=items, weights=weights)
    balls_are_those_of_brute_force(C, world, reference.all_codes(C, items), weights)


@pytest.mark.claim("theta")
@given(st.integers(1, 10), st.lists(st.integers(-1, 10), min_size=1, max_size=10))
def test_balls_on_lines_equal_brute_force(n, x):
    C = Thresholds(n)
    pool = Pool(C, x, PrivateRandomness.simulated("p"))
    balls_are_those_of_brute_force(C, pool, reference.all_codes(C, np.array(x)), np.ones(len(x), dtype=int))


def test_a_sweep_of_many_goes_on_after_everything_is_disputed():
    """More hypotheses than are swept at a time; far ones are still members."""
    C, items, weights = table(700, 6, 2, 5)
    codes = reference.all_codes(C, items)
    world = Population(C, target=0, cells=items, weights=weights)
    found = curve(C, world, 3)
    assert list(zip(found.radii, found.disputed, found.members, strict=True)) == reference.curve(codes, weights, 3)
    assert found.members[-1] == 700
