from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replical import Intervals, Pool, Population, PredictionTable, PrivateRandomness, Star, Thresholds, theta
from replical.errors import ValueOutOfRange
from support import reference

radii = st.sampled_from([0.0, 0.05, 0.2, 0.5])


def brute(C, items, weights, r0):
    codes = reference.all_codes(C, items)
    return [reference.theta(codes, weights, h, Fraction(str(r0))) for h in range(len(C))]


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


@given(st.integers(1, 15), st.lists(st.integers(-1, 15), min_size=1, max_size=12), radii)
def test_lines_equal_brute_force(n, x, r0):
    C = Thresholds(n)
    pool = Pool(C, x, PrivateRandomness.simulated("p"))
    expected = brute(C, np.array(x), np.ones(len(x), dtype=int), r0)
    assert theta(C, pool, r0=r0).value == pytest.approx(float(max(expected)))
    for h in range(n):
        assert theta(C, pool, centre=h, r0=r0).value == pytest.approx(float(expected[h]))


@pytest.mark.parametrize(
    ("C", "value"), [(Thresholds(1000), 2), (Star(64), 64), (Star(1), 1), (Thresholds(1), 1), (Intervals(40), 40)]
)
def test_known_answers(C, value):
    found = theta(C, Population(C, target=0))
    assert found.value == value
    assert found.sampling_error == 0


def test_a_pool_states_its_sampling_error():
    C = Thresholds(50)
    pool = Population(C, target=0).pool(2000, PrivateRandomness.simulated("p"))
    assert 0 < theta(C, pool).sampling_error < 0.1


@pytest.mark.parametrize("arguments", [{"r0": 1.0}, {"r0": -0.1}, {"r0": float("nan")}, {"centre": 5}, {"centre": -1}])
def test_bad_input(arguments):
    C = Thresholds(5)
    with pytest.raises(ValueOutOfRange):
        theta(C, Population(C, target=0), **arguments)
