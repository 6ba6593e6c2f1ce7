"""The disagreement coefficient equals brute force (docs/claims/theta.md)."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replical import Pool, Population, PredictionTable, PrivateRandomness, Thresholds, theta
from support import reference

radii = st.sampled_from([0.0, 0.05, 0.2, 0.5])


def brute(C, items, weights, r0):
    codes = reference.all_codes(C, items)
    return [reference.theta(codes, weights, h, Fraction(str(r0))) for h in range(len(C))]


@pytest.mark.claim("theta")
@given(st.integers(1, 12), st.integers(1, 8), st.sampled_from([2, 3]), st.integers(0, 2**32), radii)
def test_tables_equal_brute_force(n, m, labels, seed, r0):
    generator = np.random.default_rng(seed)
    C = PredictionTable([f"c{i}" for i in range(n)], labels=tuple(range(labels)))
    items, weights = C.items(generator.integers(labels, size=(m, n))), generator.integers(0, 4, size=m)
    weights[0] += 1
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
